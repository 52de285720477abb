package feature

// Remember makes x forget sooner: it holds so many levels of nests of each age.
func (x *Extractor) Remember(levels int) { x.known.most = levels }

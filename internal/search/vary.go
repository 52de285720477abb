package search

import "math/rand"

// vary makes a complete node below n that differs a little from guide, or false
// where the change drawn does not apply. Nodes that are no variers keep the guide's
// decisions up to one that is drawn, and sample from there.
func vary(n, guide Node, rng *rand.Rand) (Node, bool) {
	if v, ok := n.(varier); ok {
		return v.Vary(guide, rng)
	}
	var way []Node
	for at := n; !at.Complete(); at = at.Toward(guide) {
		way = append(way, at)
	}
	if len(way) == 0 {
		return nil, false
	}
	leaf := sampleDown(way[rng.Intn(len(way))], rng)
	return leaf, leaf.Key(Exact) != guide.Key(Exact)
}

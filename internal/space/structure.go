package space

// StructuralHash identifies a state as far as its loop nest can be told apart at a
// depth: the hash of Adams et al.'s coarse-to-fine beam search (section 3.2 has the
// idea, their code the levels). States with equal decisions made (Depth) and equal
// structure down to there hash alike, others differ with overwhelming likelihood.
// By depth:
//
//	below 0  nothing but the number of decisions made
//	0        what is stored, computed and inlined at root
//	1        and which loops at root iterate
//	2        and how often, and what is stored, computed and inlined in them
//	3, 4...  and the same of the levels inside, two depths a level
//
// From depth 1 on a level's vectorised loop counts too. Unlike Key it does not tell
// how often a Func is inlined, which levels are parallel and which may be split.
//
// A hash is not remembered: it visits only what its depth shows, and searches ask
// for those of states they go on from, not of all they make.
func (s *State) StructuralHash(depth int) uint64 {
	h := newHash()
	h.add(uint64(s.Depth()))
	s.root.structure(&h, depth)
	return uint64(h)
}

func (n *Nest) structure(h *hasher, depth int) {
	if depth < 0 {
		return
	}
	const end = ^uint64(0)
	for _, f := range n.StoreAt {
		h.add(uint64(f))
	}
	h.add(end)
	for _, c := range n.Children {
		h.add(uint64(c.stageNumber()))
	}
	h.add(end)
	for _, in := range n.Inlined {
		h.add(uint64(in.Func))
	}
	h.add(end)
	if depth == 0 {
		return
	}
	for _, c := range n.Children {
		for _, size := range c.Size {
			if depth == 1 {
				size = min(size, 2)
			}
			h.add(uint64(size))
		}
	}
	h.add(uint64(n.VectorLoop + 1))
	if depth == 1 {
		return
	}
	for _, c := range n.Children {
		c.structure(h, depth-2)
	}
}

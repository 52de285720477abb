package search

// beamHeap is a heap of beam entries, cheapest first. Which of two equally cheap
// ones comes first is not left to chance: it is Floyd's variant of the heap, that
// sifts down to a leaf first and then up, as the C++ library does that Halide's
// wheels are built with, so that a beam prefers what Adams2019's prefers.
type beamHeap []*beamEntry

func (h *beamHeap) push(e *beamEntry) {
	*h = append(*h, e)
	h.up(len(*h)-1, 0, e)
}

func (h *beamHeap) pop() *beamEntry {
	s := *h
	top, last := s[0], len(s)-1
	e := s[last]
	s[last] = nil
	*h = s[:last]
	if last > 0 {
		h.down(0, e)
	}
	return top
}

// order makes a heap again of entries whose costs have changed.
func (h *beamHeap) order() {
	for i := (len(*h) - 2) / 2; i >= 0 && len(*h) > 1; i-- {
		h.down(i, (*h)[i])
	}
}

// up moves the hole at i towards top until e fits into it.
func (h beamHeap) up(i, top int, e *beamEntry) {
	for i > top {
		parent := (i - 1) / 2
		if h[parent].cost <= e.cost {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

// down moves the hole at i to a leaf, always to the cheaper child, the second of
// two equal ones, and then puts e in from there.
func (h beamHeap) down(i int, e *beamEntry) {
	top, n := i, len(h)
	for i < (n-1)/2 {
		child := 2*i + 2
		if h[child].cost > h[child-1].cost {
			child--
		}
		h[i] = h[child]
		i = child
	}
	if n%2 == 0 && i == (n-2)/2 {
		h[i] = h[2*i+1]
		i = 2*i + 1
	}
	h.up(i, top, e)
}

package space

import (
	"slices"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// Numbers of Packing: how many bytes of an input stay close by without a copy, and how
// often each point has to be read for one to pay.
const (
	firstLevel   = 1 << 15
	worthPacking = 16
)

// Packing are the structural directives that give reductions wrappers (in) of the inputs
// they read over and over, as matrix products and convolutions do, none where that goes
// for no input. What a tile needs can then be copied to where it lies side by side: in
// place its rows are a matrix apart, and where that is a power of two they displace each
// other in the caches. Adams et al. take what only loads an input for the input itself.
func (sp *Space) Packing() []schedule.Directive {
	var out []schedule.Directive
	for f := range sp.nodes {
		n := &sp.nodes[f]
		if !n.Input {
			continue
		}
		var readers []int
		for _, c := range n.consumers {
			if !slices.Contains(readers, c.fn) && sp.readsAgain(&c) {
				readers = append(readers, c.fn)
			}
		}
		for _, r := range readers {
			out = append(out, sp.inReader(schedule.In, f, r))
		}
	}
	return out
}

// readsAgain holds where a reduction reads each point of a large Func over and over, at
// places that do not follow from data.
func (sp *Space) readsAgain(c *consumer) bool {
	st := &sp.stages[c.stage]
	if c.idx == 0 || isGather(c.edge) || !slices.ContainsFunc(st.Loops, func(l pipeline.Loop) bool { return l.RVar }) {
		return false
	}
	read := points(sp.root.bounds(c.edge.Producer).computed())
	loops := points(sp.root.bounds(c.fn).Loops(c.idx))
	return read*float64(sp.nodes[c.edge.Producer].BytesPerPoint) > firstLevel && loops*float64(c.edge.Calls) >= worthPacking*read
}

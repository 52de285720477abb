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

// Packing are the structural directives that give readers wrappers (in) of inputs, none where
// that goes for no input: reductions of those that they read over and over, as matrix
// products and convolutions do, if these are large or read by columns, and whatever else reads
// columns of a large one where it writes rows. What a tile needs can then be copied to where
// it lies side by side: in place its rows are a matrix apart, and where that is a power of two
// they displace each other in the caches; and it can be loaded by rows, in vectors, and turned
// in registers. Adams et al. take what only loads an input for the input itself.
func (sp *Space) Packing() []schedule.Directive {
	var out []schedule.Directive
	for f := range sp.nodes {
		n := &sp.nodes[f]
		if !n.Input || len(n.consumers) == 0 {
			continue
		}
		read := points(sp.root.bounds(f).computed())
		large := read*float64(n.BytesPerPoint) > firstLevel
		var readers []int
		for _, c := range n.consumers {
			if slices.Contains(readers, c.fn) || isGather(c.edge) {
				continue
			}
			again, columns := sp.readsAgain(&c, read), sp.readsColumns(&c)
			if again && (large || columns) || large && columns && sp.readsRows(&c) {
				readers = append(readers, c.fn)
			}
		}
		for _, r := range readers {
			out = append(out, sp.inReader(schedule.In, f, r))
		}
	}
	return out
}

// readsColumns holds where a stage reads an input with a stride along its own vectors.
func (sp *Space) readsColumns(c *consumer) bool {
	along := sp.stages[c.stage].loopAlong(sp.nodes[c.fn].vectorDims[0])
	return along >= 0 && slices.ContainsFunc(c.edge.Jacobians, func(j pipeline.Jacobian) bool { return strides(&j, 0, along) })
}

// readsRows holds where a stage reads an input densely along one of its loops over points.
func (sp *Space) readsRows(c *consumer) bool {
	for i, l := range sp.stages[c.stage].Loops {
		dense := func(j pipeline.Jacobian) bool { return isDense(&j, i) }
		if !l.RVar && slices.ContainsFunc(c.edge.Jacobians, dense) {
			return true
		}
	}
	return false
}

// Turning is the dimension of f, a copy of an input, that its readers' vectors move along,
// where that is not the one the input is dense along: stored so it is loaded in vectors. -1
// where there is none.
func (sp *Space) Turning(f int) int {
	return sp.storedAlong(f, func(c *consumer) []int { return []int{sp.stages[c.stage].loopAlong(sp.AlongMemory(c.fn))} })
}

// Dotted is the dimension of f, a copy of an input, along which its readers add up several at
// once (see Dots), where that is not the one the input is dense along: stored so, what a lane
// adds up at once lies side by side. -1 where there is none.
func (sp *Space) Dotted(f int) int {
	return sp.storedAlong(f, func(c *consumer) []int { return sp.stages[c.stage].dots[:] })
}

// storedAlong is the dimension of f, a copy of an input, that most loads of its readers are
// dense in along these of their loops, -1 being none of them, where it is one of its vectors'
// and not the first; -1 where there is none.
func (sp *Space) storedAlong(f int, loops func(c *consumer) []int) int {
	n := &sp.nodes[f]
	if !sp.loadsInput(n) {
		return -1
	}
	loads := make([]int64, n.dims)
	for i := range n.consumers {
		c := &n.consumers[i]
		for _, loop := range loops(c) {
			for k := range c.edge.Jacobians {
				for d := range loads {
					if j := &c.edge.Jacobians[k]; loop >= 0 && isDenseIn(j, d, loop) {
						loads[d] += j.Count
					}
				}
			}
		}
	}
	best := 0
	for d := range loads {
		if loads[d] > loads[best] && slices.Contains(n.vectorDims, d) {
			best = d
		}
	}
	if best == 0 {
		return -1
	}
	return best
}

// readsAgain holds where a reduction reads each of so many points over and over.
func (sp *Space) readsAgain(c *consumer, read float64) bool {
	loops := points(sp.root.bounds(c.fn).Loops(c.idx))
	return c.idx > 0 && sp.stages[c.stage].Reduces() && loops*float64(c.edge.Calls) >= worthPacking*read
}

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
// products and convolutions do, and whatever reads columns where it writes rows. What a tile
// needs can then be copied to where it lies side by side: in place its rows are a matrix
// apart, and where that is a power of two they displace each other in the caches; and it can
// be loaded by rows, in vectors, and turned in registers. Adams et al. take what only loads
// an input for the input itself.
func (sp *Space) Packing() []schedule.Directive {
	var out []schedule.Directive
	for f := range sp.nodes {
		n := &sp.nodes[f]
		if !n.Input {
			continue
		}
		var readers []int
		for _, c := range n.consumers {
			if !slices.Contains(readers, c.fn) && (sp.readsAgain(&c) || sp.readsTurned(&c)) {
				readers = append(readers, c.fn)
			}
		}
		for _, r := range readers {
			out = append(out, sp.inReader(schedule.In, f, r))
		}
	}
	return out
}

// readsTurned holds where a stage reads a large input along its own vectors with a stride,
// and along another of its loops densely, as a transposition does.
func (sp *Space) readsTurned(c *consumer) bool {
	n, st := &sp.nodes[c.fn], &sp.stages[c.stage]
	read := points(sp.root.bounds(c.edge.Producer).computed())
	if isGather(c.edge) || read*float64(sp.nodes[c.edge.Producer].BytesPerPoint) <= firstLevel {
		return false
	}
	pure := func(l pipeline.Loop) bool { return l.Pure && !l.RVar && l.PureDim == n.vectorDims[0] }
	along := slices.IndexFunc(st.Loops, pure)
	for k := range c.edge.Jacobians {
		j := &c.edge.Jacobians[k]
		for i, l := range st.Loops {
			if along >= 0 && i != along && l.Pure && !l.RVar && isDense(j, i) && j.Coeffs[0][along].Num == 0 && moves(j, along) {
				return true
			}
		}
	}
	return false
}

// moves says whether a load moves with a loop.
func moves(j *pipeline.Jacobian, loop int) bool {
	return slices.ContainsFunc(j.Coeffs, func(row []pipeline.Rational) bool { return row[loop].Num != 0 || row[loop].Den == 0 })
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

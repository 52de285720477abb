package space

import (
	"slices"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// Numbers of Cloning: how many loads make a Func too dear to be computed twice; how many
// points a table has at most, and a Func at least for its traffic to matter; in strips of
// how many rows of an output, and how often computed in these, a Func is taken for one
// that they cannot share.
const (
	cheapLoads   = 4
	tablePoints  = 1 << 16
	clonedRows   = 32
	worthCloning = 2
)

// Cloning are the structural directives that give the earliest reader of a Func a copy of
// its own (clone_in), none where that goes for no Func: where it is cheap to compute and
// several Funcs read it, but one of them needs all of it before the output begins.
// Computed once it is written to memory and read back; as two Funcs each is made where it
// is read.
func (sp *Space) Cloning() []schedule.Directive {
	var out []schedule.Directive
	for f := range sp.nodes {
		n := &sp.nodes[f]
		if n.given || n.Output || n.Wrapper || n.BoundaryCondition || !sp.CanInline(f) ||
			points(sp.root.bounds(f).computed()) <= tablePoints || !sp.cheap(f) || !sp.neededBefore(f) {
			continue
		}
		first, last := n.consumers[0].fn, n.consumers[len(n.consumers)-1].fn // consumers first
		if first == last {
			continue
		}
		out = append(out, sp.inReader(schedule.CloneIn, f, last))
	}
	return out
}

// inReader gives one reader of a Func a clone or a wrapper of it.
func (sp *Space) inReader(op schedule.Op, f, reader int) schedule.Directive {
	name, in := sp.nodes[f].Name, sp.nodes[reader].Name
	return schedule.Directive{Op: op, Func: name, Funcs: []string{in}, As: name + "_in_" + in}
}

// cheap holds for a Func of few loads, all of which are of inputs, with a boundary
// condition or without, of single points of other Funcs, or of small tables.
func (sp *Space) cheap(f int) bool {
	loads := 0
	for _, st := range sp.nodes[f].Stages {
		for e := range st.Edges {
			edge := &st.Edges[e]
			loads += edge.Calls
			table := isGather(edge) && points(sp.root.bounds(edge.Producer).computed()) <= tablePoints
			if !sp.isSource(edge.Producer) && !isPoint(edge) && !table {
				return false
			}
		}
	}
	return loads > 0 && loads <= cheapLoads
}

// isSource holds for inputs, and for wrappers and boundary conditions of them.
func (sp *Space) isSource(f int) bool {
	n := &sp.nodes[f]
	if n.Input {
		return true
	}
	for _, st := range n.Stages {
		for _, e := range st.Edges {
			if !n.Wrapper && !n.BoundaryCondition || !sp.isSource(e.Producer) {
				return false
			}
		}
	}
	return true
}

// isGather holds where a load's coordinates follow from data.
func isGather(e *pipeline.Edge) bool {
	for _, j := range e.Jacobians {
		for _, row := range j.Coeffs {
			if slices.ContainsFunc(row, func(c pipeline.Rational) bool { return c.Den == 0 }) {
				return true
			}
		}
	}
	return false
}

// isPoint holds where all loads of an edge are of the same point.
func isPoint(e *pipeline.Edge) bool {
	if len(e.Jacobians) != 1 || isGather(e) {
		return false
	}
	offsets := e.Jacobians[0].Offsets
	return !slices.ContainsFunc(offsets, func(o []int64) bool { return !slices.Equal(o, offsets[0]) })
}

// neededBefore holds where strips of an output would each compute most of f again.
func (sp *Space) neededBefore(f int) bool {
	for o := range sp.nodes {
		last := len(sp.nodes[o].Stages) - 1
		if !sp.nodes[o].Output || !sp.stages[sp.nodes[o].first+last].upstream.has(f) {
			continue
		}
		if strip, ok := sp.Strip(o, last, sp.nodes[o].vectorDims[0], clonedRows); ok && sp.Repeats(f, strip) > worthCloning {
			return true
		}
	}
	return false
}

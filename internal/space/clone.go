package space

import (
	"slices"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// Numbers of Cloning: how many loads make a Func too dear to be computed twice; how many
// points a Func has at most that counts as a table; in strips of how many rows of an
// output, and how often computed in these, a Func is taken for one that they cannot share.
const (
	cheapLoads   = 4
	tablePoints  = 1 << 16
	clonedRows   = 32
	worthCloning = 2
)

// Cloning are the structural directives that give readers of a Func copies of their own
// (clone_in), none where that goes for no Func: where it is cheap to compute and several
// Funcs read it, but one of them needs all of it before the output begins. Computed once
// it is written to memory and read back; as two Funcs each is made where it is read.
func (sp *Space) Cloning() []schedule.Directive {
	var out []schedule.Directive
	for f := range sp.nodes {
		n := &sp.nodes[f]
		if n.given || n.Output || n.MustInline != "" || !sp.CanInline(f) || !sp.cheap(f) || !sp.neededBefore(f) {
			continue
		}
		var readers []int // consumers first
		for _, c := range n.consumers {
			if !slices.Contains(readers, c.fn) {
				readers = append(readers, c.fn)
			}
		}
		for _, r := range readers[min(1, len(readers)):] {
			reader := &sp.nodes[r]
			out = append(out, schedule.Directive{Op: schedule.CloneIn, Func: n.Name, Funcs: []string{reader.Name}, As: n.Name + "_in_" + reader.Name})
		}
	}
	return out
}

// cheap holds for a Func of few loads, all of which are of inputs, of small tables, or of
// another Func's point at one place.
func (sp *Space) cheap(f int) bool {
	loads := 0
	for _, st := range sp.nodes[f].Stages {
		for e := range st.Edges {
			edge := &st.Edges[e]
			loads += edge.Calls
			from := &sp.nodes[edge.Producer]
			if !from.Input && !onePoint(edge) && points(sp.root.bounds(edge.Producer).computed()) > tablePoints {
				return false
			}
		}
	}
	return loads > 0 && loads <= cheapLoads
}

// onePoint holds where all loads of an edge are of the same point.
func onePoint(e *pipeline.Edge) bool {
	if len(e.Jacobians) != 1 {
		return false
	}
	for _, row := range e.Jacobians[0].Coeffs {
		for _, c := range row {
			if c.Den == 0 {
				return false
			}
		}
	}
	for _, o := range e.Jacobians[0].Offsets {
		if !slices.Equal(o, e.Jacobians[0].Offsets[0]) {
			return false
		}
	}
	return true
}

// neededBefore holds where strips of an output would each compute most of f again.
func (sp *Space) neededBefore(f int) bool {
	for o := range sp.nodes {
		last := len(sp.nodes[o].Stages) - 1
		if !sp.nodes[o].Output || !sp.stages[sp.nodes[o].first+last].upstream.has(f) {
			continue
		}
		strip := sp.Extents(o, last)
		if len(strip) < 2 {
			continue
		}
		rows := 1
		for i := range strip {
			if i > 0 && strip[i] > strip[rows] {
				rows = i
			}
		}
		strip[rows] = min(strip[rows], clonedRows)
		if sp.Repeats(f, Place{Func: o, Stage: last, Tile: strip}) > worthCloning {
			return true
		}
	}
	return false
}

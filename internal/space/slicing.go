package space

import (
	"slices"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// slicing is a loop of an output along which the pipeline falls apart: one iteration of
// it needs of some Funcs what no other needs.
type slicing struct {
	fn, dim int
	loop    int    // of the output's stage
	apart   []bool // by Func, the output included
	// single says by stage, of Funcs that fall apart, which of its loops have one
	// iteration in a slice; all others have as many as at root.
	single [][]bool
}

// Slices lists what a state can be sliced by, outermost loops first: decisions of the
// Kind Slice, for a trace to end with. Few pipelines have any.
func (sp *Space) Slices() []Decision {
	var out []Decision
	for _, s := range sp.slicings() {
		out = append(out, Decision{Func: s.fn, Kind: Slice, Dim: s.dim})
	}
	return out
}

func (sp *Space) slicings() []slicing {
	sp.slicingOnce.Do(func() {
		for o := range sp.nodes {
			n := &sp.nodes[o]
			if !n.Output || n.Extern || len(n.Stages) != 1 {
				continue
			}
			for i := len(n.Stages[0].Loops) - 1; i >= 0; i-- {
				if s, ok := sp.slicedBy(o, i); ok {
					sp.sliced = append(sp.sliced, s)
				}
			}
		}
	})
	return sp.sliced
}

// slicedBy finds which Funcs fall apart along a loop of output o, whose only stage it is
// of; false where none does.
func (sp *Space) slicedBy(o, loop int) (slicing, bool) {
	l := sp.nodes[o].Stages[0].Loops[loop]
	whole := sp.root.bounds(o).Loops(0)
	many := whole[loop].Extent()
	if !l.Pure || l.RVar || l.PureDim < 0 || many < 2 || points(whole) < float64(sp.o.SliceLeast*many) {
		return slicing{}, false
	}
	s := slicing{fn: o, dim: l.PureDim, loop: loop, apart: make([]bool, len(sp.nodes)), single: make([][]bool, len(sp.stages))}
	place := Place{Func: o, Tile: sp.Extents(o, 0)}
	place.Tile[loop] = 1
	slice, pieces := sp.inTile(place)
	s.apart[o] = true
	s.single[sp.nodes[o].first] = make([]bool, len(whole))
	s.single[sp.nodes[o].first][loop] = true
	found := false
	for f := o + 1; f < len(sp.nodes); f++ { // consumers come first
		n := &sp.nodes[f]
		if n.given || n.Extern || sp.OnlyRoot(f) || !s.fed(n.consumers) {
			continue
		}
		all, here := sp.root.bounds(f), slice.bounds(f)
		if pieces*points(here.computed()) != points(all.computed()) {
			continue
		}
		single := make([][]bool, len(n.Stages))
		s.apart[f] = true
		for k := range single {
			single[k] = singles(all.Loops(k), here.Loops(k))
			s.apart[f] = s.apart[f] && single[k] != nil
		}
		if s.apart[f] {
			copy(s.single[n.first:], single)
			found = true
		}
	}
	return s, found
}

// fed holds where all that reads a Func falls apart.
func (s *slicing) fed(readers []consumer) bool {
	for _, c := range readers {
		if !s.apart[c.fn] {
			return false
		}
	}
	return len(readers) > 0
}

// singles says which loops have a single iteration of several; nil where one has fewer
// than all but more than one.
func singles(all, here []pipeline.Span) []bool {
	out := make([]bool, len(all))
	for i := range all {
		a, h := all[i].Extent(), here[i].Extent()
		if h != a && h != 1 {
			return nil
		}
		out[i] = h != a
	}
	return out
}

// slice makes the loop of the state's slice the outermost one of the output, each
// iteration after the one before, and computes inside it what is at root and falls apart;
// the parallel loops are those inside. Loops of one iteration there are not among them:
// of two loops made one Halide finds the bounds less exactly, which max_filter's input
// was too small for. A slice is left out where a loop that it needs whole is cut, or is
// one that something is computed in.
func (w *writer) slice(root *Nest, by *Decision) {
	var s *slicing
	for i, all := 0, w.sp.slicings(); i < len(all); i++ {
		if all[i].fn == by.Func && all[i].dim == by.Dim {
			s = &all[i]
		}
	}
	if s == nil {
		return
	}
	st := w.stages[w.sp.nodes[s.fn].first]
	at := slices.IndexFunc(st.vars, func(v loopVar) bool { return v.loop == s.loop && v.there })
	if at < 0 || st.vars[at].vector || st.vars[at].unrolled {
		return
	}
	outer := st.vars[at]
	level := schedule.Level{Func: w.sp.nodes[s.fn].Name, Stage: schedule.AnyStage, Loop: outer.name}
	var moved []int
	for _, c := range root.Children {
		switch {
		case !s.apart[c.Func]:
			continue
		case !w.fallsApart(s, c):
			return
		case c.Func != s.fn:
			moved = append(moved, c.Func)
		}
	}
	for _, p := range w.places {
		if p.compute != nil && *p.compute == level || p.store != nil && *p.store == level {
			return
		}
	}
	if len(moved) == 0 {
		return
	}
	for _, f := range moved {
		w.places[f].compute = &level
	}
	for _, f := range root.StoreAt {
		if p := &w.places[f]; s.apart[f] && p.store == nil {
			p.store = &level
		}
	}
	st.vars = append(slices.Delete(st.vars, at, at+1), outer)
	for k, single := range s.single {
		if st := w.stages[k]; st != nil && single != nil {
			for i := range st.vars {
				if single[st.vars[i].loop] {
					st.vars[i].extent = 1
				}
			}
		}
	}
}

// fallsApart holds where all that is computed in a nest falls apart, and no loop is cut
// that has one iteration in a slice.
func (w *writer) fallsApart(s *slicing, n *Nest) bool {
	if !s.apart[n.Func] {
		return false
	}
	st, single := w.stages[n.stageNumber()], s.single[n.stageNumber()]
	there := make([]int, len(single))
	for _, v := range st.vars {
		if v.there {
			there[v.loop]++
		}
	}
	for i, one := range single {
		if one && there[i] > 1 {
			return false
		}
	}
	for _, c := range n.Children {
		if !w.fallsApart(s, c) {
			return false
		}
	}
	return true
}

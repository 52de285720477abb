package space

import (
	"cmp"
	"slices"

	"github.com/protuner/protuner/internal/pipeline"
)

// Which reductions are unrolled. Adams et al. unroll loops over points alone. Where the taps of
// a filter are a reduction and that is unrolled around a block of sums, what the block's points
// read in common is loaded once, as where the algorithm has the taps written out.

// A loop of longTerms iterations is unrolled at most, manyTerms iterations of all together, and
// termsAtOnce for all points of a block and all that is inlined there: code grows by each.
const (
	longTerms   = 16
	manyTerms   = 64
	termsAtOnce = 256
)

// someTerms is how many iterations of a loop that is longer are unrolled, if code that is written
// out for manyTerms has room for them.
const someTerms = 2

// Terms are how many iterations of its reductions updates of f can have unrolled, by a
// decision of the Kind Terms: those of the innermost short loop, of the innermost two, and so
// on; where none is short, two of the innermost, if they divide it. The slice is shared.
func (sp *Space) Terms(f int) []int64 { return sp.nodes[f].terms }

// Windows says whether f has updates whose reductions, or the innermost of them, are as short as
// a window's.
func (sp *Space) Windows(f int) bool {
	n := &sp.nodes[f]
	return slices.ContainsFunc(sp.stages[n.first:n.first+len(n.Stages)], func(st stage) bool { return st.window })
}

// UnrollsTerms says whether a stage of f has any to unroll.
func (sp *Space) UnrollsTerms(f, stage int) bool { return sp.stages[sp.nodes[f].first+stage].terms }

// findTerms finds them, and which stages of f have any.
func (sp *Space) findTerms(f int) []int64 {
	n := &sp.nodes[f]
	var out []int64
	for s := range n.Stages {
		st := &sp.stages[n.first+s]
		if slices.ContainsFunc(st.Loops, func(l pipeline.Loop) bool { return l.Ragged }) {
			continue // no two points have as many
		}
		bounds := sp.root.bounds(f).Loops(s)
		iterations := make([]int64, len(st.Loops))
		for i, l := range st.Loops {
			switch {
			case l.Pure:
				iterations[i] = 1
			case bounds[i].Constant:
				iterations[i] = bounds[i].Extent()
			}
		}
		st.short(iterations, manyTerms, func(_ int, terms int64) {
			st.window = true
			out = append(out, terms)
		})
		st.terms = st.window
		if !st.window && n.sumBlocks && innermostLong(iterations) >= 0 {
			st.terms = true
			out = append(out, someTerms)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// short goes over loops of so many iterations, innermost first, of which 1 stands for what is
// no reduction and 0 for one whose number is not known, and takes the short reductions that are
// so many together at most, with how many they are by then. No loop goes inside another that is
// not taken where their order counts.
func (st *stage) short(iterations []int64, most int64, take func(loop int, terms int64)) {
	terms := int64(1)
	for i, n := range iterations {
		switch {
		case n == 1:
		case n > 0 && n <= longTerms && terms*n <= most:
			terms *= n
			take(i, terms)
		case st.ordered:
			return
		}
	}
}

// innermostLong is the innermost reduction, of loops of so many iterations as for short, if
// some of it can be unrolled; -1 otherwise.
func innermostLong(iterations []int64) int {
	i := slices.IndexFunc(iterations, func(n int64) bool { return n != 1 })
	if i < 0 || iterations[i] <= longTerms || iterations[i]%someTerms != 0 {
		return -1
	}
	return i
}

// terms unrolls reductions inside the other loops of a group, the innermost loops of a stage
// around vectors, where the state has it so and nothing else is computed in them, around its
// points that are unrolled.
func (w *writer) terms(s *stageLoops, n *Nest, loops int) {
	group := s.vars[:loops]
	st := &w.sp.stages[n.stageNumber()]
	most, ok := w.state.vectorsOf(n.Func, Terms)
	innermost := n
	if !n.Innermost {
		innermost = n.innerLevel()
	}
	if !ok || w.interchanges(n) || !st.terms || !n.bare() {
		return
	}
	code := int64(1)
	for _, in := range innermost.Inlined {
		if !w.sp.nodes[in.Func].Wrapper { // a load, as that of what it would copy
			code += in.Calls
		}
	}
	iterations := make([]int64, len(group))
	for i, v := range group {
		switch {
		case !v.there || v.pure:
			iterations[i] = 1
			if v.unrolled {
				code *= v.extent
			}
		case v.constant && !v.parallel && !v.vector && !v.inside:
			iterations[i] = v.extent
		}
	}
	if st.window {
		st.short(iterations, min(most, termsAtOnce/code), func(loop int, _ int64) { group[loop].unrolled = true })
	} else if i := innermostLong(iterations); i >= 0 && someTerms*code <= manyTerms {
		some := someTerms * w.alongReduction(n, group[i].loop) // of which vectors are made yet
		if group[i].extent%some == 0 {
			in := w.split(s, n, &group[i], some, guard)
			in.unrolled = true
			group[i].extent /= some
			s.vars = slices.Insert(s.vars, i, in)
			group = s.vars[:loops+1]
		}
	}
	slices.SortStableFunc(group, func(a, b loopVar) int { return cmp.Compare(fromVector(&a), fromVector(&b)) })
}

// fromVector is 0 for unrolled points, 1 for unrolled reductions and 2 for all other loops.
func fromVector(v *loopVar) int {
	switch {
	case !v.there || !v.unrolled:
		return 2
	case v.pure:
		return 0
	}
	return 1
}

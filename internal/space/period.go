package space

import (
	"slices"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// mostPeriod is how long a period is at most that a loop is written out for.
const mostPeriod = 7

// Periods is, by Func and dimension, after how many vectors along it what is read was packed
// as before: three where six values of ten bits lie in two words, which are read at x / 3.
// Where as many vectors are unrolled Halide knows which value each lane takes, loads words and
// shuffles them; else it gathers lane by lane. Funcs that are inlined, as inlined says, count
// where they are read. Lengths of vectors are powers of two, so periods are odd; 1 where there
// is none, or a longer one than mostPeriod. Nil where nothing is packed at all, as in most
// pipelines.
func (sp *Space) Periods(inlined func(f int) bool) [][]int64 {
	if !sp.packed {
		return nil
	}
	points := make([][]int64, len(sp.nodes)) // in points, producers before those that read them
	for f := len(sp.nodes) - 1; f >= 0; f-- {
		within := func(g int) []int64 {
			if g == f || !inlined(g) {
				return nil
			}
			return points[g]
		}
		points[f] = make([]int64, sp.nodes[f].dims)
		for dim := range points[f] {
			points[f][dim] = sp.nodes[f].periodAlong(dim, within)
		}
	}
	for _, of := range points {
		for dim := range of {
			for of[dim]%2 == 0 {
				of[dim] /= 2
			}
			if of[dim] > mostPeriod {
				of[dim] = 1
			}
		}
	}
	return points
}

// periodAlong is after how many points along a dimension what all stages load is packed as
// before, with within as for periodOf.
func (n *node) periodAlong(dim int, within func(f int) []int64) int64 {
	period := int64(1)
	for s := range n.Stages {
		if loop := n.Stages[s].PureLoop(dim); loop >= 0 {
			period = lcm(period, periodOf(&n.Stages[s], loop, within))
		}
	}
	return period
}

// periodOf is after how many iterations of a loop what a stage loads is packed as before,
// where within gives the periods of producers that are inlined.
func periodOf(st *pipeline.Stage, loop int, within func(f int) []int64) int64 {
	period := max(st.Loops[loop].Period, 1)
	for e := range st.Edges {
		inside := within(st.Edges[e].Producer)
		for j := range st.Edges[e].Jacobians {
			coeffs := st.Edges[e].Jacobians[j].Coeffs
			for dim := range min(len(coeffs), len(inside)) {
				step := coeffs[dim][loop]
				if inside[dim] == 1 || step.Num == 0 || step.Den == 0 {
					continue // nothing is packed, it does not move, or nobody knows how
				}
				step = step.Reduced()
				period = lcm(period, step.Den*(inside[dim]/pipeline.GCD(step.Num, inside[dim])))
			}
		}
	}
	return period
}

// isPacked holds where any loop has a period.
func (sp *Space) isPacked() bool {
	return slices.ContainsFunc(sp.stages, func(st stage) bool {
		return slices.ContainsFunc(st.Loops, func(l pipeline.Loop) bool { return l.Period > 1 })
	})
}

// longerVectors makes one vector of several that are unrolled where they are whole periods:
// where its length is a multiple of the period, Halide divides lanes that it knows, and finds
// that they are rows of words repeated; of vectors one by one it gathers some. What may be
// left over is not guarded, nor may anything be computed for each of them.
func (w *writer) longerVectors(s *stageLoops, n, around *Nest) {
	if !w.sp.packed || !around.bare() {
		return
	}
	at := slices.IndexFunc(s.vars, func(v loopVar) bool { return v.vectorise })
	vector := s.vars[at]
	same := func(v loopVar) bool { return v.loop == vector.loop && v.there }
	next := at + 1 + slices.IndexFunc(s.vars[at+1:], same)
	made := func(name string) int {
		return slices.IndexFunc(s.directives, func(d schedule.Directive) bool { return d.Op == schedule.Split && d.New[1] == name })
	}
	if next == at || !s.vars[next].unrolled {
		return
	}
	several := s.vars[next]
	one, all := made(vector.name), made(several.name)
	if one < 0 || all < 0 {
		return
	}
	outer := slices.IndexFunc(s.vars[next+1:], same)
	lanes := vector.extent * several.extent
	inlined := func(f int) bool { return !w.state.root.computes(f) }
	period := w.sp.Periods(inlined)[n.Func][n.VectorDim]
	toOne, toAll := &s.directives[one], &s.directives[all]
	if period == 1 || several.extent%period != 0 || toOne.Word == guard || toAll.Word == guard {
		return
	}
	switch {
	case toOne.Vars[0] == several.name && toAll.Ints[0] == lanes:
		// A tile of so many vectors, which is not cut into them.
		s.directives = slices.Delete(s.directives, one, one+1)
		several.extent, several.vectorise, several.unrolled = lanes, true, false
		s.vars[at] = several
	case toOne.Vars[0] == toAll.Vars[0] && outer >= 0 && lanes <= s.vars[next+1+outer].least:
		// A block (see block) of vectors that the loop around has more of.
		toOne.Ints = []int64{lanes}
		s.directives = slices.Delete(s.directives, all, all+1)
		s.vars[at].extent, s.vars[at].least = lanes, lanes
	default:
		return
	}
	s.vars = slices.Delete(s.vars, next, next+1)
}

// computes says whether f is computed somewhere inside the level.
func (n *Nest) computes(f int) bool {
	return slices.ContainsFunc(n.Children, func(c *Nest) bool { return c.Func == f || c.computes(f) })
}

// lcm is 1 beyond what any period of interest is, so that it never overflows.
func lcm(a, b int64) int64 {
	if m := a / pipeline.GCD(a, b) * b; m > 0 && m < 1<<20 {
		return m
	}
	return 1
}

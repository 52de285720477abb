package search

import (
	"slices"

	"github.com/protuner/protuner/internal/space"
)

// These moves say what the vectors of Funcs are made of.

// scalar makes one of the Funcs that diverge point by point, or in vectors again.
func (m *mover) scalar(from, _ *space.State) (*space.State, bool) {
	return m.vectors(from, space.Scalar, factorless(func(sp *space.Space, f int) bool { return len(sp.Divergent(f)) > 0 }))
}

// factorless lists 0, for what is said without a factor, of the Funcs for which this holds.
func factorless(holds func(sp *space.Space, f int) bool) func(sp *space.Space, f int) []int64 {
	return func(sp *space.Space, f int) []int64 {
		if !holds(sp, f) {
			return nil
		}
		return []int64{0}
	}
}

// lanes gives one Func shorter vectors, or those of before.
func (m *mover) lanes(from, _ *space.State) (*space.State, bool) {
	return m.vectors(from, space.Lanes, (*space.Space).Shorter)
}

// dot has one Func add up several iterations at once, or one again.
func (m *mover) dot(from, _ *space.State) (*space.State, bool) {
	return m.vectors(from, space.Dot, (*space.Space).Dots)
}

// across has vectors of one Func along a reduction, or along its points again.
func (m *mover) across(from, _ *space.State) (*space.State, bool) {
	return m.vectors(from, space.Across, (*space.Space).Across)
}

// interchange has reductions of one Func around its points, or inside again.
func (m *mover) interchange(from, _ *space.State) (*space.State, bool) {
	return m.vectors(from, space.Interchange, factorless((*space.Space).Interchanges))
}

// terms unrolls short reductions of one Func, or none of them any more. Some of a long one are
// for where prototypes have them, from whom they can only be taken: of most sums they make only
// more code.
func (m *mover) terms(from, _ *space.State) (*space.State, bool) {
	return m.vectors(from, space.Terms, windowTerms)
}

// vectors says something else of one Func that something of that Kind can be said of: one
// of the factors that there are for it, or nothing.
func (m *mover) vectors(from *space.State, kind space.Kind, factors func(*space.Space, int) []int64) (*space.State, bool) {
	p := planOf(m.base, from)
	funcs := slices.DeleteFunc(p.realised(), func(f int) bool {
		_, said := p.vectors[f][kind]
		return !said && len(factors(p.sp, f)) == 0
	})
	if len(funcs) == 0 {
		return nil, false
	}
	f := funcs[m.rng.Intn(len(funcs))]
	others := slices.Clone(factors(p.sp, f))
	said, ok := p.vectors[f][kind]
	if ok {
		others = slices.DeleteFunc(others, func(n int64) bool { return n == said })
	}
	if i := m.rng.Intn(len(others) + 1); ok && i == len(others) {
		p.drop(f, kind)
	} else {
		p.say(f, kind, others[min(i, len(others)-1)])
	}
	return p.state(), true
}

// fitVectors says of all Funcs what people would of their vectors: what diverges is made
// point by point, sums of products of short integers add up several at once, and a vector
// has no more lanes than its dimension has points, if a shorter one has room for these. Points
// of a few channels, which are a short vector each, are unrolled. Of what is packed a whole
// period is. And rows are shifted one after the other, each of them whole. False where nothing
// is said.
func (p *plan) fitVectors() bool {
	done := false
	periods := p.sp.Periods(func(f int) bool { return p.place[f].Kind == space.Inline })
	for _, f := range p.realised() {
		if periods != nil {
			done = p.wholePeriods(f, periods[f]) || done
		}
		if len(p.sp.Divergent(f)) > 0 {
			p.say(f, space.Scalar, 0)
			done = true
		}
		if p.sp.Shifts(f) {
			p.say(f, space.Interchange, 0)
			done = true
		}
		if dots := p.sp.Dots(f); len(dots) > 0 {
			if _, ok := p.vectors[f][space.Dot]; !ok {
				p.say(f, space.Dot, dots[0])
			}
			done = true
		} else if lanes := p.enoughLanes(f); lanes > 0 {
			p.say(f, space.Lanes, lanes)
			done = true
		}
		done = p.enoughPoints(f) || done
	}
	return done
}

// halves has the vectors of what looks something up, by itself or in what is inlined into it,
// half as long as what it computes with fills, but for sums. False where there is nothing to
// halve, or it is.
func (p *plan) halves() bool {
	done := false
	looksUp := p.sp.LooksUp(func(f int) bool { return p.place[f].Kind == space.Inline })
	for _, f := range p.realised() {
		shorter := p.sp.Shorter(f)
		if !looksUp[f] || len(shorter) == 0 || p.sp.Sums(f) {
			continue
		}
		if half := shorter[len(shorter)-1]; p.vectors[f][space.Lanes] != half {
			p.say(f, space.Lanes, half)
			done = true
		}
	}
	return done
}

// wholePeriods unrolls so many vectors of f that what is packed lies as before, and the
// channels that say where in it to begin. False where nothing is packed.
func (p *plan) wholePeriods(f int, periods []int64) bool {
	dim := p.vector(f)
	if dim < 0 || periods[dim] == 1 {
		return false
	}
	p.unroll(f, dim, periods[dim])
	for _, l := range p.scalarLoops(f) {
		if periods[l.dim] > 1 && l.extent <= periods[l.dim] {
			p.unroll(f, l.dim, l.extent)
		}
	}
	return true
}

// enoughPoints unrolls points around a short vector of f, as of a pixel's four channels, until
// they are as many values as two of its own length, if none are unrolled. False where vectors
// are not short.
func (p *plan) enoughPoints(f int) bool {
	loops := p.scalarLoops(f)
	if len(loops) == 0 || len(p.blocks[f]) > 0 {
		return false
	}
	lanes, factor := p.sp.Lanes(f, 0, p.vector(f)), int64(1)
	if own := int64(p.sp.Pipeline().Funcs[f].Stages[0].VectorSize); lanes < own {
		for factor*lanes < 2*own && 2*factor <= loops[0].extent {
			factor *= 2
		}
		p.unroll(f, loops[0].dim, factor)
	}
	return factor > 1
}

// enoughLanes are the fewest that shorter vectors of f have and hold all points of their
// dimension, 0 where not even whole ones do.
func (p *plan) enoughLanes(f int) int64 {
	if p.vector(f) < 0 {
		return 0
	}
	points, enough := p.pointsAlong(f), int64(0)
	for _, lanes := range p.sp.Shorter(f) { // longest first
		if lanes >= points {
			enough = lanes
		}
	}
	return enough
}

// terms has all Funcs unroll their short reductions. False where none has any.
func (p *plan) terms() bool {
	return p.sayMost(space.Terms, func(f int) []int64 { return windowTerms(p.sp, f) })
}

// windowTerms are the terms of short reductions.
func windowTerms(sp *space.Space, f int) []int64 {
	if !sp.Windows(f) {
		return nil
	}
	return sp.Terms(f)
}

// longTerms has all Funcs unroll some of their reductions, long ones too. False where none has any.
func (p *plan) longTerms() bool { return p.sayMost(space.Terms, p.sp.Terms) }

// across has all Funcs add up along rows that can, as many at once as they can. False where
// none can.
func (p *plan) across() bool { return p.sayMost(space.Across, p.sp.Across) }

// sayMost says of all Funcs that something of that Kind can be said of the last, largest factor
// that there is for it. False where there are none.
func (p *plan) sayMost(kind space.Kind, factors func(f int) []int64) bool {
	done := false
	for _, f := range p.realised() {
		if all := factors(f); len(all) > 0 {
			p.say(f, kind, all[len(all)-1])
			done = true
		}
	}
	return done
}

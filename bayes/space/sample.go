package space

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand"
	"slices"
	"sort"

	"github.com/protuner/protuner/bayes/expr"
)

// Tries bounds how often a configuration is drawn again because constraints
// over reals or very long integer ranges refuse it.
const Tries = 100_000

// ErrSparse is returned when sampling gives up: constraints over reals or very
// long integer ranges refused Tries draws.
var ErrSparse = errors.New("no feasible configuration was drawn")

// Sample draws a feasible configuration, uniformly over all of them: every
// leaf of every tree with equal probability (the unbiased sampling of paper
// section 4.2). Reals and integer ranges too long to list are uniform on the
// scale their distance is measured on.
func (s *Space) Sample(rng *rand.Rand) (Point, error) { return s.sample(rng, false) }

// SampleBiased draws as Rasch et al. do: at each node of a tree, one child
// with equal probability, whatever lies below it.
func (s *Space) SampleBiased(rng *rand.Rand) (Point, error) { return s.sample(rng, true) }

func (s *Space) sample(rng *rand.Rand, biased bool) (Point, error) {
	x := make(Point, s.width)
	for _, g := range s.groups {
		if err := g.sample(x, rng, biased); err != nil {
			return nil, err
		}
	}
	for _, i := range s.free {
		s.draw(x, i, rng)
	}
	return x, nil
}

// draw sets parameter i uniformly, without looking at joint constraints.
func (s *Space) draw(x Point, i int, rng *rand.Rand) {
	p, o := &s.params[i], s.offset[i]
	switch {
	case p.Type == Permutation:
		for k, e := range rng.Perm(p.Size) {
			x[o+k] = float64(e)
		}
	case s.domain[i] != nil:
		x[o] = s.domain[i][rng.Intn(len(s.domain[i]))]
	default:
		x[o] = p.At(rng.Float64())
	}
}

// At maps u in [0, 1] to a value of a Real or Integer, evenly on the scale its
// distance is measured on.
func (p *Param) At(u float64) float64 {
	lo, hi := p.Min, p.Max
	if p.Type == Integer {
		hi++
	}
	v := lo + u*(hi-lo)
	if p.Log {
		v = math.Exp(math.Log(lo) + u*(math.Log(hi)-math.Log(lo)))
	}
	if p.Type == Integer {
		v = math.Floor(v)
	}
	return math.Max(p.Min, math.Min(p.Max, v))
}

func (g *group) sample(x Point, rng *rand.Rand, biased bool) error {
	if g.root == nil {
		return g.search(x, rng)
	}
	var buf []float64
	for range Tries {
		g.walk(x, rng, biased)
		if len(g.rest) == 0 {
			return nil
		}
		for _, i := range g.rest {
			g.s.draw(x, i, rng)
		}
		buf = g.s.evaluation(buf, g.complete(x))
		if !slices.ContainsFunc(g.cons, func(e *expr.Expr) bool { return !e.Holds(buf) }) {
			return nil
		}
	}
	return fmt.Errorf("%w in %d tries: the constraints over %s leave almost nothing", ErrSparse, Tries, g.names(g.rest))
}

// complete returns x with every permutation outside the group a valid one, so
// that x can be evaluated before the other groups are drawn.
func (g *group) complete(x Point) Point {
	y := slices.Clone(x)
	for i := range g.s.params {
		if p := &g.s.params[i]; p.Type == Permutation && !slices.Contains(g.params, i) {
			for k := range p.Size {
				y[g.s.offset[i]+k] = float64(k)
			}
		}
	}
	return y
}

func (g *group) names(params []int) string {
	var out []string
	for _, i := range params {
		out = append(out, g.s.params[i].Name)
	}
	return fmt.Sprint(out)
}

// walk goes from the root to a leaf.
func (g *group) walk(x Point, rng *rand.Rand, biased bool) {
	n := g.root
	for l := 0; l < len(g.levels); l++ {
		if n.vals == nil {
			g.fill(x, l, rng)
			return
		}
		slot := g.s.offset[g.levels[l].param] + g.levels[l].pos
		var k int
		if biased {
			values := g.expand(x, l, n)
			x[slot] = values[rng.Intn(len(values))]
			k = n.find(x[slot])
		} else {
			u := rng.Float64() * n.cum[len(n.cum)-1]
			k = min(sort.Search(len(n.cum), func(i int) bool { return n.cum[i] > u }), len(n.vals)-1)
			if x[slot] = n.vals[k]; x[slot] == other {
				values := g.expand(x, l, n)[len(n.vals)-1:]
				x[slot] = values[rng.Intn(len(values))]
			}
		}
		n = n.kids[k]
	}
}

// expand lists the values of n at level l, with the elements other stands for
// in its place.
func (g *group) expand(x Point, l int, n *node) []float64 {
	if n.vals[len(n.vals)-1] != other {
		return n.vals
	}
	i, pos := g.levels[l].param, g.levels[l].pos
	out := slices.Clone(n.vals[:len(n.vals)-1])
	for _, e := range unused(x[g.s.offset[i]:][:pos], g.s.params[i].Size) {
		if n.named&(1<<int(e)) == 0 {
			out = append(out, e)
		}
	}
	return out
}

// find returns the index of v in vals, or of other.
func (n *node) find(v float64) int {
	if k := slices.Index(n.vals, v); k >= 0 {
		return k
	}
	return len(n.vals) - 1
}

// fill draws the levels from l on, which nothing constrains any more.
func (g *group) fill(x Point, l int, rng *rand.Rand) {
	for l < len(g.levels) {
		i, pos := g.levels[l].param, g.levels[l].pos
		if p := &g.s.params[i]; p.Type == Permutation && pos > 0 {
			part := x[g.s.offset[i]:][:p.Size]
			left := unused(part[:pos], p.Size)
			rng.Shuffle(len(left), func(a, b int) { left[a], left[b] = left[b], left[a] })
			copy(part[pos:], left)
			l += p.Size - pos
			continue
		}
		g.s.draw(x, i, rng)
		l += g.s.params[i].width()
	}
}

func unused(taken []float64, n int) []float64 {
	var out []float64
	for e := range n {
		if !slices.Contains(taken, float64(e)) {
			out = append(out, float64(e))
		}
	}
	return out
}

// searchSteps bounds one depth-first search.
const searchSteps = 1_000_000

// search draws from a group whose tree is too large: a depth-first search that
// takes values in random order and turns back where a constraint fails. It is
// biased as SampleBiased is.
func (g *group) search(x Point, rng *rand.Rand) error {
	a := g.start()
	steps := 0
	open := make([]int, len(g.cons))
	for c := range open {
		open[c] = c
	}
	var down func(l int, open []int) bool
	down = func(l int, open []int) bool {
		if l == len(g.levels) {
			return true
		}
		lv := g.levels[l]
		before := a.save(lv)
		values := a.choices(nil, lv)
		rng.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		for _, v := range values {
			if steps++; steps > searchSteps {
				return false
			}
			a.assign(lv, v)
			if left, ok := a.check(nil, open, lv.param); ok && down(l+1, left) {
				return true
			}
			a.restore(lv, before)
		}
		return false
	}
	if !down(0, open) {
		return fmt.Errorf("%w: the tree of %s is too large to build and a search of %d steps found nothing",
			ErrSparse, g.names(g.params), searchSteps)
	}
	for _, lv := range g.levels {
		o := g.s.offset[lv.param] + lv.pos
		x[o] = a.lo[o]
	}
	if len(g.rest) == 0 {
		return nil
	}
	var buf []float64
	for range Tries {
		for _, i := range g.rest {
			g.s.draw(x, i, rng)
		}
		buf = g.s.evaluation(buf, g.complete(x))
		if !slices.ContainsFunc(g.cons, func(e *expr.Expr) bool { return !e.Holds(buf) }) {
			return nil
		}
	}
	return fmt.Errorf("%w in %d tries", ErrSparse, Tries)
}

// All enumerates the feasible configurations in a fixed order. It yields
// nothing when Size is not a finite number.
func (s *Space) All() iter.Seq[Point] {
	return func(yield func(Point) bool) {
		if n := s.Size(); math.IsInf(n, 0) || n != n {
			return
		}
		x := make(Point, s.width)
		var parts []*group
		parts = append(parts, s.groups...)
		for _, i := range s.free {
			g := &group{s: s, params: []int{i}, root: &node{count: 1}}
			for k := range s.params[i].width() {
				g.levels = append(g.levels, level{i, k})
			}
			parts = append(parts, g)
		}
		var next func(part int) bool
		next = func(part int) bool {
			if part == len(parts) {
				return yield(slices.Clone(x))
			}
			return parts[part].enumerate(x, 0, parts[part].root, func() bool { return next(part + 1) })
		}
		next(0)
	}
}

func (g *group) enumerate(x Point, l int, n *node, yield func() bool) bool {
	if l == len(g.levels) {
		return yield()
	}
	i, pos := g.levels[l].param, g.levels[l].pos
	o := g.s.offset[i] + pos
	var values []float64
	if n.vals != nil {
		values = g.expand(x, l, n)
	} else {
		p := &g.s.params[i]
		switch {
		case p.Type == Permutation:
			values = unused(x[o-pos:o], p.Size)
		case p.Type == Integer && g.s.domain[i] == nil: // too long to be listed
			for x[o] = p.Min; x[o] <= p.Max; x[o]++ {
				v := x[o]
				if !g.enumerate(x, l+1, n, yield) {
					return false
				}
				x[o] = v
			}
			return true
		default:
			values = g.s.domain[i]
		}
	}
	for _, v := range values {
		kid := n
		if n.vals != nil {
			kid = n.kids[n.find(v)]
		}
		x[o] = v
		if !g.enumerate(x, l+1, kid, yield) {
			return false
		}
	}
	return true
}

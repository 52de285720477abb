package space

import (
	"math"
	"math/rand"
	"slices"
)

// StepReal is the standard deviation of a real parameter's neighbours, as a
// part of its range.
const StepReal = 0.03

// drawsReal is how many neighbours a real parameter gives.
const drawsReal = 6

// allOrders is the longest permutation all of whose orders are neighbours;
// longer ones give every exchange of two elements.
const allOrders = 5

// Neighbors appends the feasible configurations that differ from x in one
// parameter (paper section 3.3): all values of a categorical; the next
// feasible value up and down of an ordinal or integer; all orders of a
// permutation of up to 5 elements, else all exchanges; six draws of a
// truncated normal around a real (and around an integer whose range is too
// long to list, besides the next values). rng is only used for those draws.
func (s *Space) Neighbors(dst []Point, x Point, rng *rand.Rand) []Point {
	var buf []float64
	try := func(y Point, i int) bool {
		var ok bool
		if buf, ok = s.feasibleChange(buf, y, i); ok {
			dst = append(dst, slices.Clone(y))
		}
		return ok
	}
	y := slices.Clone(x)
	for i := range s.params {
		p, o := &s.params[i], s.offset[i]
		switch {
		case p.Type == Permutation:
			s.orders(y[o:o+p.Size], func() { try(y, i) })
		case p.Type == Categorical:
			for _, v := range s.domain[i] {
				if v != x[o] {
					y[o] = v
					try(y, i)
				}
			}
		case s.domain[i] != nil:
			at, _ := slices.BinarySearch(s.domain[i], x[o])
			for k := at + 1; k < len(s.domain[i]); k++ {
				if y[o] = s.domain[i][k]; try(y, i) {
					break
				}
			}
			for k := at - 1; k >= 0; k-- {
				if y[o] = s.domain[i][k]; try(y, i) {
					break
				}
			}
		default:
			for _, v := range p.around(x[o], rng) {
				if y[o] = v; v != x[o] {
					try(y, i)
				}
			}
		}
		copy(y[o:o+p.width()], x[o:o+p.width()])
	}
	return dst
}

// around draws values near v.
func (p *Param) around(v float64, rng *rand.Rand) []float64 {
	var out []float64
	if p.Type == Integer {
		if v > p.Min {
			out = append(out, v-1)
		}
		if v < p.Max {
			out = append(out, v+1)
		}
	}
	u := p.Unit(v)
	for range drawsReal {
		w := -1.0
		for w < 0 || w > 1 {
			w = u + StepReal*rng.NormFloat64()
		}
		out = append(out, p.At(w))
	}
	return out
}

// Unit maps a value of a numeric parameter into [0, 1] on the scale its
// distance is measured on; a parameter with one value maps to 0.
func (p *Param) Unit(v float64) float64 {
	lo, hi := p.Min, p.Max
	if p.Type == Ordinal {
		lo, hi = p.Values[0], p.Values[len(p.Values)-1]
	}
	if hi == lo {
		return 0
	}
	if p.Log {
		v, lo, hi = math.Log(v), math.Log(lo), math.Log(hi)
	}
	return math.Max(0, math.Min(1, (v-lo)/(hi-lo)))
}

// orders visits the neighbours of a permutation in place and puts it back.
func (s *Space) orders(perm []float64, visit func()) {
	n := len(perm)
	old := slices.Clone(perm)
	if n > allOrders {
		for a := range n {
			for b := a + 1; b < n; b++ {
				perm[a], perm[b] = perm[b], perm[a]
				visit()
				perm[a], perm[b] = perm[b], perm[a]
			}
		}
		return
	}
	var place func(k int, used uint)
	place = func(k int, used uint) {
		if k == n {
			if !slices.Equal(perm, old) {
				visit()
			}
			return
		}
		for e := range n {
			if used&(1<<e) == 0 {
				perm[k] = float64(e)
				place(k+1, used|1<<e)
			}
		}
	}
	place(0, 0)
	copy(perm, old)
}

// Cross returns a with n parameters, drawn at random, taken from b, or nil
// when that breaks a known constraint.
func (s *Space) Cross(a, b Point, n int, rng *rand.Rand) Point {
	x := slices.Clone(a)
	for _, i := range rng.Perm(len(s.params))[:min(n, len(s.params))] {
		o, w := s.offset[i], s.params[i].width()
		copy(x[o:o+w], b[o:o+w])
	}
	if !s.Feasible(x) {
		return nil
	}
	return x
}

// Redraw returns a with parameter i drawn again, uniformly among what keeps the known
// constraints with the others as they are. Of what cannot be listed it is nil where none of
// so many draws keeps them.
func (s *Space) Redraw(a Point, i, tries int, rng *rand.Rand) Point {
	var buf []float64
	keeps := func(x Point) (ok bool) {
		buf, ok = s.feasibleChange(buf, x, i)
		return ok
	}
	x := slices.Clone(a)
	if domain := s.domain[i]; domain != nil && s.params[i].Type != Permutation {
		var may []float64
		for _, v := range domain {
			if x[s.offset[i]] = v; keeps(x) {
				may = append(may, v)
			}
		}
		if len(may) == 0 {
			return nil // a does not keep them either
		}
		x[s.offset[i]] = may[rng.Intn(len(may))]
		return x
	}
	for range tries {
		if s.draw(x, i, rng); keeps(x) {
			return x
		}
	}
	return nil
}

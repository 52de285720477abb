package gp

import (
	"errors"
	"math"
)

// Input warping (Snoek et al. 2014): a numeric column in [0, 1] is bent by the
// cumulative distribution function of Kumaraswamy, 1 - (1 - x^a)^b, whose two
// parameters are fitted with the others. So the function may change fast at one end
// of a scale and slowly at the other. They use that of the Beta distribution, which
// has the same shapes and no closed form.

// warp is the value and, when slopes are asked for, its derivatives by log a and log b.
func warp(x, a, b float64, slopes bool) (w, byA, byB float64) {
	if x <= 0 || x >= 1 || a == 1 && b == 1 && !slopes {
		return x, 0, 0
	}
	xa := math.Pow(x, a)
	rest := math.Pow(1-xa, b)
	if slopes {
		if xa < 1 { // else it is rounded to the end of the scale
			byA = a * b * rest / (1 - xa) * xa * math.Log(x)
			byB = -b * rest * math.Log1p(-xa)
		}
	}
	return 1 - rest, byA, byB
}

// bend is a warped column of the observations. It is alone in its group.
type bend struct {
	group       int
	raw         []float64
	w, byA, byB []float64
}

func newBends(dims []Dim, x [][]float64) ([]bend, error) {
	var out []bend
	for c, d := range dims {
		if !d.Warp {
			continue
		}
		for other, e := range dims {
			if d.Equal || other != c && e.Group == d.Group {
				return nil, errors.New("gp: a warped column is numeric and has a length scale of its own")
			}
		}
		n := len(x)
		b := bend{group: d.Group, w: make([]float64, n), byA: make([]float64, n), byB: make([]float64, n)}
		for _, row := range x {
			b.raw = append(b.raw, row[c])
		}
		out = append(out, b)
	}
	return out, nil
}

// bendAll recomputes the distances of warped columns.
func (p *Posterior) bendAll(theta []float64) {
	for k, b := range p.bends {
		la, lb := p.warpAt(theta, k)
		for i, x := range b.raw {
			b.w[i], b.byA[i], b.byB[i] = warp(x, math.Exp(la), math.Exp(lb), true)
		}
		pair, to := 0, p.dist[b.group]
		for i, wi := range b.w {
			for _, wj := range b.w[i+1:] {
				to[pair] = (wi - wj) * (wi - wj)
				pair++
			}
		}
	}
}

// warpAt returns log a and log b of warped column k.
func (p *Posterior) warpAt(theta []float64, k int) (a, b float64) {
	first := p.groups + 2 + 2*k
	return theta[first], theta[first+1]
}

// warpPrior is the density of the logarithms, which are normal around 0.
func (p *Posterior) warpPrior(theta []float64) float64 {
	sum := 0.0
	for _, t := range theta[p.groups+2:] {
		z := t / warpSpread
		sum -= z*z/2 + math.Log(warpSpread*math.Sqrt(2*math.Pi))
	}
	return sum
}

// warpSpread is the standard deviation of log a and log b.
const warpSpread = 0.5

// warpGradient needs slope to be weighted.
func (p *Posterior) warpGradient(theta, grad []float64) {
	for k, b := range p.bends {
		s := math.Exp(-2 * theta[b.group])
		sumA, sumB, pair := 0.0, 0.0, 0
		for i := range b.w {
			for j := i + 1; j < len(b.w); j++ {
				d := p.slope[pair] * (b.w[i] - b.w[j])
				sumA += d * (b.byA[i] - b.byA[j])
				sumB += d * (b.byB[i] - b.byB[j])
				pair++
			}
		}
		first := p.groups + 2 + 2*k
		grad[first] = -s*sumA - theta[first]/(warpSpread*warpSpread)
		grad[first+1] = -s*sumB - theta[first+1]/(warpSpread*warpSpread)
	}
}

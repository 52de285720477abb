package gp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// Prior is what is believed of hyperparameters before there are observations; nil
// leaves one free.
type Prior struct {
	Length Density // of every length scale
	Signal Density
}

// Density is Gamma or LogNormal.
type Density interface {
	// logDensity and its derivative by log l.
	logDensity(l float64) (value, slope float64)
}

// LogNormal is the density of a hyperparameter's logarithm, which is normal: it is
// most probable at Median, and Spread is the standard deviation of the logarithm.
type LogNormal struct{ Median, Spread float64 }

func (n LogNormal) logDensity(l float64) (value, slope float64) {
	z := math.Log(l/n.Median) / n.Spread
	return -z*z/2 - math.Log(n.Spread*math.Sqrt(2*math.Pi)), -z / n.Spread
}

// Gamma is the density of a hyperparameter itself, proportional to
// l^(Shape-1) exp(-Rate l).
type Gamma struct{ Shape, Rate float64 }

func (g Gamma) logDensity(l float64) (value, slope float64) {
	lg, _ := math.Lgamma(g.Shape)
	return g.Shape*math.Log(g.Rate) - lg + (g.Shape-1)*math.Log(l) - g.Rate*l, g.Shape - 1 - g.Rate*l
}

// Posterior is the log posterior density of hyperparameters given
// observations, as a function of theta: the logs of the length scales, of the
// signal variance, of the noise variance and of the warped columns' a and b, in this
// order.
type Posterior struct {
	groups int
	n      int
	y      []float64
	extra  []float64
	prior  Prior
	bends  []bend
	dist   [][]float64 // per group: squared distance of each pair i < j

	r2, cov, slope []float64 // per pair
	full           []float64 // n by n
	alpha          []float64
}

// NewPosterior prepares the evaluation for observations y at the rows of x, of which
// each has a variance of its own besides the noise (nil: none).
func NewPosterior(dims []Dim, x [][]float64, y, extra []float64, prior Prior) (*Posterior, error) {
	if err := check(dims, x, y, extra); err != nil {
		return nil, err
	}
	bends, err := newBends(dims, x)
	if err != nil {
		return nil, err
	}
	n := len(x)
	p := &Posterior{n: n, y: y, extra: extra, prior: prior, bends: bends}
	for _, d := range dims {
		p.groups = max(p.groups, d.Group+1)
	}
	pairs := n * (n - 1) / 2
	p.dist = make([][]float64, p.groups)
	for g := range p.dist {
		p.dist[g] = make([]float64, pairs)
	}
	for c, d := range dims {
		at, to := 0, p.dist[d.Group]
		for i := range n {
			for j := i + 1; j < n; j++ {
				t := x[i][c] - x[j][c]
				switch {
				case !d.Equal:
					to[at] += t * t
				case t != 0:
					to[at]++
				}
				at++
			}
		}
	}
	p.r2, p.cov, p.slope = make([]float64, pairs), make([]float64, pairs), make([]float64, pairs)
	p.full, p.alpha = make([]float64, n*n), make([]float64, n)
	return p, nil
}

// Dim returns the length of theta.
func (p *Posterior) Dim() int { return p.groups + 2 + 2*len(p.bends) }

// Theta packs hyperparameters, Unpack is its inverse.
func Theta(h Hyper) []float64 {
	t := make([]float64, 0, len(h.Length)+2+len(h.Warp))
	for _, l := range h.Length {
		t = append(t, math.Log(l))
	}
	t = append(t, math.Log(h.Signal), math.Log(h.Noise))
	for _, w := range h.Warp {
		t = append(t, math.Log(w))
	}
	return t
}

// Unpack makes hyperparameters of theta.
func (p *Posterior) Unpack(theta []float64) Hyper {
	g := p.groups
	h := Hyper{Signal: math.Exp(theta[g]), Noise: math.Exp(theta[g+1])}
	for _, t := range theta[:g] {
		h.Length = append(h.Length, math.Exp(t))
	}
	for _, t := range theta[g+2:] {
		h.Warp = append(h.Warp, math.Exp(t))
	}
	return h
}

// Eval returns the log posterior density (up to nothing: normalised
// likelihood and prior) at theta, and when grad is not nil sets it to the
// gradient. It returns -Inf where the covariance cannot be factored.
func (p *Posterior) Eval(theta, grad []float64) float64 {
	signal, noise := math.Exp(theta[p.groups]), math.Exp(theta[p.groups+1])
	p.bendAll(theta)
	p.covariances(theta, signal)
	chol, ok := p.factor(signal + noise)
	if !ok {
		return math.Inf(-1)
	}
	copy(p.alpha, p.y)
	lapack64.Potrs(chol, blas64.General{Rows: p.n, Cols: 1, Stride: 1, Data: p.alpha})
	value := -0.5*floats.Dot(p.y, p.alpha) - float64(p.n)/2*math.Log(2*math.Pi)
	for i := range p.n {
		value -= math.Log(p.full[i*p.n+i])
	}
	if p.prior.Length != nil {
		for _, t := range theta[:p.groups] {
			v, _ := p.prior.Length.logDensity(math.Exp(t))
			value += v
		}
	}
	if p.prior.Signal != nil {
		v, _ := p.prior.Signal.logDensity(signal)
		value += v
	}
	value += p.warpPrior(theta)
	if grad != nil {
		p.gradient(chol, theta, grad, signal, noise)
	}
	return value
}

// covariances fills cov with the kernel of each pair and slope with its
// derivative by the log of one length scale, short of the factor
// dist_g / length_g^2.
func (p *Posterior) covariances(theta []float64, signal float64) {
	clear(p.r2)
	for g, d := range p.dist {
		floats.AddScaled(p.r2, math.Exp(-2*theta[g]), d)
	}
	for i, d2 := range p.r2 {
		d := math.Sqrt(5 * d2)
		e := signal * math.Exp(-d)
		p.cov[i] = (1 + d + d*d/3) * e
		p.slope[i] = 5.0 / 3 * (1 + d) * e
	}
}

func (p *Posterior) factor(diagonal float64) (blas64.Triangular, bool) {
	first := 0
	for i := range p.n {
		row := p.full[i*p.n:]
		row[i] = diagonal + at(p.extra, i)
		copy(row[i+1:p.n], p.cov[first:first+p.n-i-1])
		first += p.n - i - 1
	}
	return lapack64.Potrf(blas64.Symmetric{N: p.n, Stride: p.n, Data: p.full, Uplo: blas.Upper})
}

// gradient uses d/dt log p(y) = 1/2 tr((alpha alpha' - K^-1) dK/dt)
// (Rasmussen and Williams, eq. 5.9).
func (p *Posterior) gradient(chol blas64.Triangular, theta, grad []float64, signal, noise float64) {
	lapack64.Potri(chol) // p.full's upper triangle becomes K^-1
	diagonal, bySignal, at := 0.0, 0.0, 0
	for i := range p.n {
		row := p.full[i*p.n : (i+1)*p.n]
		diagonal += p.alpha[i]*p.alpha[i] - row[i]
		for j := i + 1; j < p.n; j++ {
			w := p.alpha[i]*p.alpha[j] - row[j]
			bySignal += w * p.cov[at]
			p.slope[at] *= w
			at++
		}
	}
	for g, d := range p.dist {
		grad[g] = floats.Dot(p.slope, d) * math.Exp(-2*theta[g])
		if p.prior.Length != nil {
			_, s := p.prior.Length.logDensity(math.Exp(theta[g]))
			grad[g] += s
		}
	}
	grad[p.groups] = bySignal + 0.5*diagonal*signal
	if p.prior.Signal != nil {
		_, s := p.prior.Signal.logDensity(signal)
		grad[p.groups] += s
	}
	grad[p.groups+1] = 0.5 * diagonal * noise
	p.warpGradient(theta, grad)
}

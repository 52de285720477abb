// Package gp is Gaussian process regression with the Matern 5/2 kernel over
// mixed inputs, as Bayesian optimisation of small data sets needs it.
package gp

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// Dim describes one input column.
type Dim struct {
	// Group is the length scale the column shares, numbered from 0.
	Group int
	// Equal makes the column's distance 0 or 1: same or not.
	Equal bool
	// Warp bends the column, which is in [0, 1] and alone in its group, by Hyper.Warp.
	Warp bool
}

// Hyper are the hyperparameters of the kernel
//
//	k(x, x') = Signal (1 + sqrt(5) d + 5/3 d^2) exp(-sqrt(5) d)
//	d^2 = sum over columns c of dist_c(x, x')^2 / Length[Group(c)]^2
//
// with Noise added on the diagonal for observations. Equation 1 of the paper
// prints the quadratic term as 5 d^2, which is no Matern kernel and not
// positive definite in general; 5/3 is right (Rasmussen and Williams, eq. 4.17).
type Hyper struct {
	Length []float64 // one per group, on the scale of the inputs
	Signal float64   // variance of the function
	Noise  float64   // variance of the observations around it
	// Warp has a and b of each column that is bent, in the order of the columns;
	// nil bends nothing.
	Warp []float64 `json:",omitempty"`
}

// Model is a Gaussian process with zero mean conditioned on observations. Its
// methods are not safe for concurrent use.
type Model struct {
	dims  []Dim
	hyper Hyper
	n     int

	bent  [][2]float64 // per column: a and b
	cols  [][]float64  // column, observation; numeric ones bent and over their length scale
	scale []float64    // per column: 1/length, or 1/length^2 where Equal
	y     []float64
	chol  []float64 // lower Cholesky factor, row i has i+1 entries, packed
	alpha []float64 // (K + noise)^-1 y

	k, v []float64 // scratch
}

// ErrSingular is returned when the covariance of the observations cannot be
// factored.
var ErrSingular = errors.New("gp: the covariance matrix is not positive definite")

// New conditions a process on observations y at the rows of x.
func New(dims []Dim, x [][]float64, y []float64, h Hyper) (*Model, error) {
	return NewNoisy(dims, x, y, nil, h)
}

// NewNoisy is New where observation i has a variance of extra[i] besides h.Noise:
// how precisely it was measured. A nil extra is none.
func NewNoisy(dims []Dim, x [][]float64, y, extra []float64, h Hyper) (*Model, error) {
	if err := check(dims, x, y, extra); err != nil {
		return nil, err
	}
	m := &Model{dims: dims, hyper: h, cols: make([][]float64, len(dims)), scale: make([]float64, len(dims))}
	next := 0
	for c, d := range dims {
		m.bent = append(m.bent, [2]float64{1, 1})
		if d.Warp && h.Warp != nil {
			m.bent[c] = [2]float64(h.Warp[next : next+2])
			next += 2
		}
		m.scale[c] = 1 / h.Length[d.Group]
		if d.Equal {
			m.scale[c] *= m.scale[c]
		}
	}
	for i := range x {
		if err := m.extend(x[i], at(extra, i)); err != nil {
			return nil, err
		}
	}
	m.y = append(m.y, y...)
	m.solve()
	return m, nil
}

// at is element i of what may be nil, for zeros.
func at(v []float64, i int) float64 {
	if v == nil {
		return 0
	}
	return v[i]
}

func check(dims []Dim, x [][]float64, y, extra []float64) error {
	if len(x) != len(y) || len(x) == 0 || extra != nil && len(extra) != len(y) {
		return fmt.Errorf("gp: %d inputs, %d observations, %d variances", len(x), len(y), len(extra))
	}
	for i := range x {
		if len(x[i]) != len(dims) {
			return fmt.Errorf("gp: input %d has %d columns, not %d", i, len(x[i]), len(dims))
		}
		if math.IsNaN(y[i]) || math.IsInf(y[i], 0) {
			return fmt.Errorf("gp: observation %d is %v", i, y[i])
		}
		if v := at(extra, i); !(v >= 0) || math.IsInf(v, 1) {
			return fmt.Errorf("gp: the variance of observation %d is %v", i, v)
		}
	}
	return nil
}

// Hyper returns the hyperparameters in use.
func (m *Model) Hyper() Hyper { return m.hyper }

// Len returns the number of observations.
func (m *Model) Len() int { return m.n }

func matern(d2 float64) float64 {
	d := math.Sqrt(5 * d2)
	return (1 + d + d*d/3) * math.Exp(-d)
}

// cross sets m.k to the covariances of x with the observations.
func (m *Model) cross(x []float64) []float64 {
	k := grow(&m.k, m.n)
	clear(k)
	for c, d := range m.dims {
		col, s := m.cols[c], m.scale[c]
		if d.Equal {
			v := x[c]
			for i := range k {
				if col[i] != v {
					k[i] += s
				}
			}
			continue
		}
		v := m.straight(c, x[c]) * s
		for i := range k {
			t := col[i] - v
			k[i] += t * t
		}
	}
	for i := range k {
		k[i] = m.hyper.Signal * matern(k[i])
	}
	return k
}

// straight is where a value of a numeric column comes to lie.
func (m *Model) straight(c int, x float64) float64 {
	w, _, _ := warp(x, m.bent[c][0], m.bent[c][1], false)
	return w
}

func grow(buf *[]float64, n int) []float64 {
	if cap(*buf) < n {
		*buf = make([]float64, n, 2*n)
	}
	*buf = (*buf)[:n]
	return *buf
}

// row returns row i of the Cholesky factor, i+1 entries.
func (m *Model) row(i int) []float64 { return m.chol[i*(i+1)/2:][:i+1] }

// forward solves L v = k into m.v.
func (m *Model) forward(k []float64) []float64 {
	v := grow(&m.v, len(k))
	for i := range k {
		r := m.row(i)
		v[i] = (k[i] - dot(r[:i], v[:i])) / r[i]
	}
	return v
}

func dot(a, b []float64) float64 {
	if len(a) == 0 {
		return 0
	}
	return blas64.Dot(blas64.Vector{N: len(a), Data: a, Inc: 1}, blas64.Vector{N: len(b), Data: b, Inc: 1})
}

// extend adds an input to the factorisation, in O(n^2).
func (m *Model) extend(x []float64, extra float64) error {
	v := m.forward(m.cross(x))
	rest := m.hyper.Signal + m.hyper.Noise + extra - dot(v, v)
	if !(rest > 1e-12*m.hyper.Signal) {
		return ErrSingular
	}
	m.chol = append(m.chol, v...)
	m.chol = append(m.chol, math.Sqrt(rest))
	for c, d := range m.dims {
		u := x[c]
		if !d.Equal {
			u = m.straight(c, u) * m.scale[c]
		}
		m.cols[c] = append(m.cols[c], u)
	}
	m.n++
	return nil
}

// solve recomputes alpha, in O(n^2).
func (m *Model) solve() {
	a := append(m.alpha[:0], m.forward(m.y)...)
	for i := m.n - 1; i >= 0; i-- {
		r := m.row(i)
		a[i] /= r[i]
		floats.AddScaled(a[:i], -a[i], r[:i])
	}
	m.alpha = a
}

// Append adds an observation under the same hyperparameters, in O(n^2).
func (m *Model) Append(x []float64, y float64) error {
	if err := m.extend(x, 0); err != nil {
		return err
	}
	m.y = append(m.y, y)
	m.solve()
	return nil
}

// Mean returns the expected value of the function at x. Work of Mean is shared
// with a Variance call that follows it.
func (m *Model) Mean(x []float64) float64 { return dot(m.cross(x), m.alpha) }

// Variance returns the variance of the function, without noise, at the x of
// the last Mean call.
func (m *Model) Variance() float64 {
	v := m.forward(m.k)
	return math.Max(m.hyper.Signal-dot(v, v), 1e-12*m.hyper.Signal)
}

// Predict returns mean and variance of the noise-free function at x.
func (m *Model) Predict(x []float64) (mean, variance float64) {
	mean = m.Mean(x)
	return mean, m.Variance()
}

// LogLikelihood returns the log marginal likelihood of the observations.
func (m *Model) LogLikelihood() float64 {
	l := -0.5 * dot(m.y, m.alpha)
	for i := range m.n {
		l -= math.Log(m.row(i)[i])
	}
	return l - float64(m.n)/2*math.Log(2*math.Pi)
}

package gp

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"sort"
)

// Options of Fit. The zero value means the defaults.
type Options struct {
	Prior Prior
	// Samples is how many random hyperparameters are tried; default 20.
	Samples int
	// Refine is how many of the best are improved by L-BFGS; default 3.
	Refine int
	// Evals bounds the likelihood evaluations of each refinement; default 40.
	Evals int
	// FixedNoise, when above 0, keeps the noise variance there.
	FixedNoise float64
	// Extra is a variance of each observation besides the noise; nil: none.
	Extra []float64
	// WarmOnly improves the warm start alone, when there is one.
	WarmOnly bool
}

// Bounds of the hyperparameters: inputs are in [0, 1] and observations have
// variance 1.
const (
	minLength, maxLength = 1e-2, 1e3
	minSignal, maxSignal = 1e-2, 1e2
	minNoise, maxNoise   = 1e-6, 1.0
	maxWarp              = 2.3 // of the logarithms of a and b
)

// Validate reports the first option out of range.
func (o Options) Validate() error {
	switch {
	case o.Samples < 0 || o.Refine < 0 || o.Evals < 0:
		return fmt.Errorf("gp: Samples, Refine and Evals must not be negative")
	case o.FixedNoise < 0 || math.IsNaN(o.FixedNoise):
		return fmt.Errorf("gp: FixedNoise %v", o.FixedNoise)
	}
	return nil
}

// Fit chooses hyperparameters of high posterior density (paper section 3.2)
// and conditions the process on the observations. Random starts are
// lengths and signal 10^U(-1,1), noise 10^U(-5,-2), nothing warped; warm, when not nil, is one
// more start that is always refined. Inputs are expected in [0, 1],
// observations standardised. When ctx ends there is no model but its error.
func Fit(ctx context.Context, rng *rand.Rand, dims []Dim, x [][]float64, y []float64, o Options, warm *Hyper) (*Model, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	post, err := NewPosterior(dims, x, y, o.Extra, o.Prior)
	if err != nil {
		return nil, err
	}
	// The time of one evaluation grows with the cube of the observations, so ctx is looked
	// at before each; one that is not finite lets what follows end by itself.
	eval := func(t, grad []float64) float64 {
		if ctx.Err() != nil {
			return math.Inf(-1)
		}
		return post.Eval(t, grad)
	}
	lo, hi := post.bounds(o.FixedNoise)
	type start struct {
		theta []float64
		value float64
	}
	var starts []start
	samples := defaulted(o.Samples, 20)
	warmed := warm != nil && len(warm.Length) == post.groups && len(warm.Warp) == 2*len(post.bends)
	if warmed && o.WarmOnly {
		samples = 0
	}
	for range samples {
		t := make([]float64, post.Dim())
		for g := range post.groups + 1 {
			t[g] = math.Ln10 * (2*rng.Float64() - 1)
		}
		t[post.groups+1] = math.Ln10 * (3*rng.Float64() - 5)
		project(t, lo, hi)
		starts = append(starts, start{t, -eval(t, nil)})
	}
	sort.SliceStable(starts, func(i, j int) bool { return starts[i].value < starts[j].value })
	starts = starts[:min(len(starts), defaulted(o.Refine, 3))]
	if warmed {
		starts = append([]start{{theta: Theta(*warm)}}, starts...)
	}
	var best []float64
	bestValue := math.Inf(1)
	for _, s := range starts {
		t, v := minimize(func(t, grad []float64) float64 {
			v := eval(t, grad)
			for i := range grad {
				grad[i] = -grad[i]
			}
			return -v
		}, s.theta, lo, hi, defaulted(o.Evals, 40))
		if v < bestValue {
			best, bestValue = t, v
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if best == nil {
		return nil, ErrSingular
	}
	return NewNoisy(dims, x, y, o.Extra, post.Unpack(best))
}

func defaulted(n, def int) int {
	if n == 0 {
		return def
	}
	return n
}

func (p *Posterior) bounds(fixedNoise float64) (lo, hi []float64) {
	for range p.groups {
		lo, hi = append(lo, math.Log(minLength)), append(hi, math.Log(maxLength))
	}
	lo, hi = append(lo, math.Log(minSignal)), append(hi, math.Log(maxSignal))
	least, most := minNoise, maxNoise
	if fixedNoise > 0 {
		least = math.Max(fixedNoise, minNoise)
		most = least
	}
	lo, hi = append(lo, math.Log(least)), append(hi, math.Log(most))
	for range 2 * len(p.bends) {
		lo, hi = append(lo, -maxWarp), append(hi, maxWarp)
	}
	return lo, hi
}

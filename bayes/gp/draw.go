package gp

import (
	"math"
	"math/rand"
)

// Draws says how Draw walks.
const (
	drawStep = 0.7 // standard deviation of a step, of one logarithm
	drawThin = 4   // steps between two draws, times the number of hyperparameters
)

// Draw conditions n processes on the observations, their hyperparameters drawn from
// the posterior by a Metropolis walk over their logarithms, one at a time, which
// begins at from. Averaged, they know how little a few observations say about the
// hyperparameters, where the most probable ones alone are overconfident (Snoek et al.
// 2012, section 3.2; they walk by slice sampling). Under a Gamma prior the density of
// the hyperparameter is taken for that of its logarithm.
func Draw(rng *rand.Rand, dims []Dim, x [][]float64, y []float64, o Options, from Hyper, n int) ([]*Model, error) {
	post, err := NewPosterior(dims, x, y, o.Extra, o.Prior)
	if err != nil {
		return nil, err
	}
	lo, hi := post.bounds(o.FixedNoise)
	at := Theta(from)
	value := post.Eval(at, nil)
	var out []*Model
	for len(out) < n {
		for range drawThin * len(at) {
			i, step, luck := rng.Intn(len(at)), drawStep*rng.NormFloat64(), rng.Float64()
			old := at[i]
			if at[i] += step; at[i] >= lo[i] && at[i] <= hi[i] {
				if v := post.Eval(at, nil); math.Log(luck) < v-value {
					value = v
					continue
				}
			}
			at[i] = old
		}
		m, err := NewNoisy(dims, x, y, o.Extra, post.Unpack(at))
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

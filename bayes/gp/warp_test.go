package gp_test

import (
	"math"
	"math/rand"
	"testing"

	"github.com/protuner/protuner/bayes/gp"
)

// bent has data whose function changes fast at one end of the first column, and a
// variance of its own for each observation.
func bent(rng *rand.Rand, n int) (dims []gp.Dim, x [][]float64, y, extra []float64) {
	dims, x, y = mixed(rng, n)
	dims[0].Warp = true
	for i := range y {
		y[i] = math.Sin(9*math.Pow(x[i][0], 4)) + 0.1*x[i][1]
		extra = append(extra, 0.02*rng.Float64())
	}
	x[0][0], x[1][0] = 0, 1 // the ends stay where they are
	return dims, x, y, extra
}

func TestWarpedGradientAgainstFiniteDifferences(t *testing.T) {
	rng := rand.New(rand.NewSource(5))
	dims, x, y, extra := bent(rng, 25)
	p, err := gp.NewPosterior(dims, x, y, extra, gp.Prior{Length: gp.Gamma{Shape: 1.3, Rate: 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		theta := make([]float64, p.Dim())
		for i := range theta {
			theta[i] = 0.7 * rng.NormFloat64()
		}
		if err := gradientError(p, theta); err != nil {
			t.Error(err)
		}
	}
}

// TestWarpedModel compares with an unwarped model of columns bent by hand.
func TestWarpedModel(t *testing.T) {
	dims, x, y, extra := bent(rand.New(rand.NewSource(6)), 20)
	h := gp.Hyper{Length: []float64{0.5, 1, 2, 1}, Signal: 1.5, Noise: 0.01, Warp: []float64{3, 0.5}}
	m, err := gp.NewNoisy(dims, x, y, extra, h)
	if err != nil {
		t.Fatal(err)
	}
	by := func(v float64) float64 { return 1 - math.Sqrt(1-v*v*v) }
	var hand [][]float64
	for _, r := range x {
		hand = append(hand, append([]float64{by(r[0])}, r[1:]...))
	}
	straight := append([]gp.Dim(nil), dims...)
	straight[0].Warp = false
	flat := h
	flat.Warp = nil
	want, err := gp.NewNoisy(straight, hand, y, extra, flat)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{0, 0.3, 0.9, 1} {
		q := append([]float64{v}, x[3][1:]...)
		mean, variance := m.Predict(q)
		q[0] = by(v)
		wantMean, wantVariance := want.Predict(q)
		if !near(mean, wantMean, 1e-9) || !near(variance, wantVariance, 1e-9) {
			t.Errorf("at %v: %v, %v; by hand %v, %v", v, mean, variance, wantMean, wantVariance)
		}
	}
}

func TestFitFindsTheWarp(t *testing.T) {
	rng := rand.New(rand.NewSource(7))
	dims, x, y, _ := bent(rng, 40)
	fit := func(dims []gp.Dim) *gp.Model {
		m, err := gp.Fit(t.Context(), rand.New(rand.NewSource(1)), dims, x, y, gp.Options{Prior: gp.Prior{Length: gp.Gamma{Shape: 1.3, Rate: 0.1}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	warped := fit(dims)
	plain := append([]gp.Dim(nil), dims...)
	plain[0].Warp = false
	if a, b := warped.LogLikelihood(), fit(plain).LogLikelihood(); a < b+3 {
		t.Errorf("log likelihood %v with a warp, %v without", a, b)
	}
}

func TestWarpIsRefused(t *testing.T) {
	x, y := [][]float64{{0, 1}, {1, 0}}, []float64{0, 1}
	for _, dims := range [][]gp.Dim{{{Group: 0, Warp: true}, {Group: 0}}, {{Group: 0, Warp: true, Equal: true}, {Group: 1}}} {
		if _, err := gp.NewPosterior(dims, x, y, nil, gp.Prior{}); err == nil {
			t.Errorf("%v: not refused", dims)
		}
	}
}

// TestMeasuredNoise: where two measurements disagree, the mean is theirs, weighted by
// their precision.
func TestMeasuredNoise(t *testing.T) {
	x, y := [][]float64{{0.5}, {0.5}}, []float64{1, -1}
	m, err := gp.NewNoisy(separate(1), x, y, []float64{0.01, 0.03}, gp.Hyper{Length: []float64{1}, Signal: 1e6, Noise: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	mean, variance := m.Predict(x[0])
	if !near(mean, 0.5, 1e-4) || !near(variance, 0.0075, 1e-3) {
		t.Errorf("mean %v, variance %v; not 0.5, 0.0075", mean, variance)
	}
	for _, extra := range [][]float64{{0.1}, {-1, 0}, {0, math.NaN()}} {
		if _, err := gp.NewNoisy(separate(1), x, y, extra, m.Hyper()); err == nil {
			t.Errorf("variances %v are not refused", extra)
		}
	}
}

package gp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"testing"

	"github.com/protuner/protuner/bayes/gp"
)

type reference struct {
	Sklearn string
	Cases   []struct {
		X, New         [][]float64
		Y, Length      []float64
		Signal, Noise  float64
		Mean, Variance []float64
		Likelihood     float64
		Gradient       []float64
		Best           *float64
	}
}

func load(t *testing.T) reference {
	t.Helper()
	data, err := os.ReadFile("testdata/sklearn.json")
	if err != nil {
		t.Fatal(err)
	}
	var r reference
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func separate(n int) []gp.Dim {
	dims := make([]gp.Dim, n)
	for i := range dims {
		dims[i].Group = i
	}
	return dims
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*(1+math.Abs(b)) }

func TestAgainstScikitLearn(t *testing.T) {
	for _, c := range load(t).Cases {
		name := fmt.Sprintf("n=%d d=%d", len(c.X), len(c.Length))
		dims := separate(len(c.Length))
		h := gp.Hyper{Length: c.Length, Signal: c.Signal, Noise: c.Noise}
		m, err := gp.New(dims, c.X, c.Y, h)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range c.New {
			mean, variance := m.Predict(x)
			if !near(mean, c.Mean[i], 1e-8) || !near(variance, c.Variance[i], 1e-8) {
				t.Errorf("%s: at %d %v, %v; scikit-learn %v, %v", name, i, mean, variance, c.Mean[i], c.Variance[i])
			}
		}
		if l := m.LogLikelihood(); !near(l, c.Likelihood, 1e-9) {
			t.Errorf("%s: likelihood %v, scikit-learn %v", name, l, c.Likelihood)
		}
		p, err := gp.NewPosterior(dims, c.X, c.Y, nil, gp.Prior{})
		if err != nil {
			t.Fatal(err)
		}
		grad := make([]float64, p.Dim())
		if l := p.Eval(gp.Theta(h), grad); !near(l, c.Likelihood, 1e-9) {
			t.Errorf("%s: posterior's likelihood %v, scikit-learn %v", name, l, c.Likelihood)
		}
		for i := range grad {
			if !near(grad[i], c.Gradient[i], 1e-6) {
				t.Errorf("%s: gradient %d is %v, scikit-learn %v", name, i, grad[i], c.Gradient[i])
			}
		}
		if c.Best != nil {
			m, err := gp.Fit(t.Context(), rand.New(rand.NewSource(1)), dims, c.X, c.Y, gp.Options{Samples: 50, Refine: 10, Evals: 200}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if l := m.LogLikelihood(); l < *c.Best-0.01 {
				t.Errorf("%s: fitted likelihood %v, scikit-learn reaches %v", name, l, *c.Best)
			}
		}
	}
}

// mixed makes data over numeric, shared and equality columns.
func mixed(rng *rand.Rand, n int) (dims []gp.Dim, x [][]float64, y []float64) {
	dims = []gp.Dim{{Group: 0}, {Group: 1}, {Group: 1}, {Group: 2, Equal: true}, {Group: 3, Equal: true}, {Group: 3, Equal: true}}
	for range n {
		r := []float64{rng.Float64(), rng.Float64(), rng.Float64(), float64(rng.Intn(3)), float64(rng.Intn(2)), float64(rng.Intn(4))}
		x = append(x, r)
		y = append(y, math.Sin(3*r[0])+r[1]*r[2]+0.3*r[3]-0.5*r[4]+0.05*rng.NormFloat64())
	}
	return dims, x, y
}

// TestGradientAgainstFiniteDifferences covers shared scales, equality columns
// and the prior, which scikit-learn has not.
func TestGradientAgainstFiniteDifferences(t *testing.T) {
	rng := rand.New(rand.NewSource(4))
	dims, x, y := mixed(rng, 25)
	for _, prior := range []gp.Prior{{}, {Length: gp.Gamma{Shape: 1.3, Rate: 0.1}}, {Length: gp.LogNormal{Median: 2, Spread: 0.8}, Signal: gp.LogNormal{Median: 1, Spread: 1}}} {
		p, err := gp.NewPosterior(dims, x, y, nil, prior)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			theta := make([]float64, p.Dim())
			for i := range theta {
				theta[i] = rng.NormFloat64()
			}
			theta[p.Dim()-1] -= 3
			if err := gradientError(p, theta); err != nil {
				t.Errorf("prior %v: %v", prior, err)
			}
		}
	}
}

// gradientError compares a posterior's gradient with central differences.
func gradientError(p *gp.Posterior, theta []float64) error {
	grad := make([]float64, p.Dim())
	p.Eval(theta, grad)
	for i := range theta {
		const h = 1e-5
		at := append([]float64(nil), theta...)
		at[i] += h
		up := p.Eval(at, nil)
		at[i] -= 2 * h
		down := p.Eval(at, nil)
		if fd := (up - down) / (2 * h); !near(grad[i], fd, 1e-5) {
			return fmt.Errorf("d/dtheta[%d] is %v, differences say %v", i, grad[i], fd)
		}
	}
	return nil
}

func TestGammaPriorIsADensity(t *testing.T) {
	// With one observation of 0 far from everything the likelihood is constant
	// in the length, so the posterior's shape is the prior's: integrate it.
	p, err := gp.NewPosterior(separate(1), [][]float64{{0}}, []float64{0}, nil, gp.Prior{Length: gp.Gamma{Shape: 1.3, Rate: 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	free, err := gp.NewPosterior(separate(1), [][]float64{{0}}, []float64{0}, nil, gp.Prior{})
	if err != nil {
		t.Fatal(err)
	}
	sum, const1 := 0.0, math.Log(1e-3)
	for u := math.Log(1e-6); u < math.Log(1e3); u += 0.001 {
		th := []float64{u, 0, const1}
		sum += 0.001 * math.Exp(p.Eval(th, nil)-free.Eval(th, nil)+u)
	}
	if math.Abs(sum-1) > 1e-3 {
		t.Errorf("the prior integrates to %v", sum)
	}
}

func TestAppendIsNew(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	dims, x, y := mixed(rng, 30)
	h := gp.Hyper{Length: []float64{0.5, 1, 2, 3}, Signal: 1.3, Noise: 0.01}
	whole, err := gp.New(dims, x, y, h)
	if err != nil {
		t.Fatal(err)
	}
	grown, err := gp.New(dims, x[:10], y[:10], h)
	if err != nil {
		t.Fatal(err)
	}
	for i := 10; i < 30; i++ {
		if err := grown.Append(x[i], y[i]); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		_, at, _ := mixed(rng, 1)
		m1, v1 := whole.Predict(at[0])
		m2, v2 := grown.Predict(at[0])
		if !near(m1, m2, 1e-10) || !near(v1, v2, 1e-10) {
			t.Errorf("at %v: %v, %v grown; %v, %v whole", at[0], m2, v2, m1, v1)
		}
	}
}

// TestPriorPullsLengthsIn: an input that does not matter has no finite best
// length; the prior gives it one.
func TestPriorPullsLengthsIn(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	var x [][]float64
	var y []float64
	for range 40 {
		x = append(x, []float64{rng.Float64(), rng.Float64()})
		y = append(y, math.Sin(6*x[len(x)-1][0]))
	}
	fit := func(prior gp.Prior) gp.Hyper {
		m, err := gp.Fit(t.Context(), rand.New(rand.NewSource(1)), separate(2), x, y, gp.Options{Prior: prior, Evals: 100}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m.Hyper()
	}
	with, without := fit(gp.Prior{Length: gp.Gamma{Shape: 1.3, Rate: 0.1}}), fit(gp.Prior{})
	if with.Length[1] > 100 || with.Length[1] >= without.Length[1] {
		t.Errorf("idle input: length %v with the prior, %v without", with.Length[1], without.Length[1])
	}
	if with.Length[0] > with.Length[1] {
		t.Errorf("lengths %v: the first input is the one that matters", with.Length)
	}
}

func TestFitIsDeterministicAndKeepsFixedNoise(t *testing.T) {
	dims, x, y := mixed(rand.New(rand.NewSource(5)), 30)
	fit := func() gp.Hyper {
		m, err := gp.Fit(t.Context(), rand.New(rand.NewSource(9)), dims, x, y, gp.Options{FixedNoise: 1e-4}, &gp.Hyper{Length: []float64{1, 1, 1, 1}, Signal: 1, Noise: 1e-4})
		if err != nil {
			t.Fatal(err)
		}
		return m.Hyper()
	}
	a, b := fit(), fit()
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("two fits differ: %v and %v", a, b)
	}
	if !near(a.Noise, 1e-4, 1e-12) {
		t.Errorf("noise %v", a.Noise)
	}
}

func TestInterruptedFitIsNoModel(t *testing.T) {
	dims, x, y := mixed(rand.New(rand.NewSource(5)), 30)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if m, err := gp.Fit(ctx, rand.New(rand.NewSource(9)), dims, x, y, gp.Options{}, nil); m != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", m, err)
	}
}

func TestBadInput(t *testing.T) {
	h := gp.Hyper{Length: []float64{1}, Signal: 1, Noise: 1e-3}
	for name, c := range map[string]struct {
		x [][]float64
		y []float64
	}{
		"none": {}, "short": {[][]float64{{1}}, nil}, "wide": {[][]float64{{1, 2}}, []float64{1}},
		"nan": {[][]float64{{1}}, []float64{math.NaN()}}, "inf": {[][]float64{{1}}, []float64{math.Inf(1)}},
	} {
		if _, err := gp.New(separate(1), c.x, c.y, h); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	h.Noise = 0
	if _, err := gp.New(separate(1), [][]float64{{1}, {1}}, []float64{0, 1}, h); !errors.Is(err, gp.ErrSingular) {
		t.Errorf("repeated input without noise: %v", err)
	}
	if err := (gp.Options{Samples: -1}).Validate(); err == nil {
		t.Error("negative Samples pass")
	}
}

func BenchmarkEval(b *testing.B) {
	dims, x, y := mixed(rand.New(rand.NewSource(1)), 100)
	p, err := gp.NewPosterior(dims, x, y, nil, gp.Prior{Length: gp.Gamma{Shape: 1.3, Rate: 0.1}})
	if err != nil {
		b.Fatal(err)
	}
	theta := gp.Theta(gp.Hyper{Length: []float64{1, 1, 1, 1}, Signal: 1, Noise: 1e-3})
	grad := make([]float64, len(theta))
	b.Run("value", func(b *testing.B) {
		for range b.N {
			p.Eval(theta, nil)
		}
	})
	b.Run("gradient", func(b *testing.B) {
		for range b.N {
			p.Eval(theta, grad)
		}
	})
}

func BenchmarkPredict(b *testing.B) {
	dims, x, y := mixed(rand.New(rand.NewSource(1)), 100)
	m, err := gp.New(dims, x, y, gp.Hyper{Length: []float64{1, 1, 1, 1}, Signal: 1, Noise: 1e-3})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("mean", func(b *testing.B) {
		for i := range b.N {
			m.Mean(x[i%100])
		}
	})
	b.Run("both", func(b *testing.B) {
		for i := range b.N {
			m.Predict(x[i%100])
		}
	})
}

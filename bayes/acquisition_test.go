package bayes

import (
	"math"
	"math/big"
	"testing"

	"github.com/protuner/protuner/bayes/space"
)

// TestLogEI compares with numerical integration of max(best - f, 0), in high
// precision where the tail needs it.
func TestLogEI(t *testing.T) {
	for _, z := range []float64{3, 1, 0, -1, -3, -4.9, -5.1, -8, -20} {
		// E[(z - u)+] of a standard normal u, around its mass.
		sum := new(big.Float)
		const steps = 40000
		width := 12.0 / (1 + math.Max(0, -z)/3)
		for i := range steps {
			d := width * (float64(i) + 0.5) / steps // z - u
			u := z - d
			// phi(u)/phi(z), so that nothing underflows
			sum.Add(sum, big.NewFloat(d*math.Exp((z*z-u*u)/2)))
		}
		total, _ := sum.Float64()
		want := math.Log(total*width/steps) - z*z/2 - math.Log(math.Sqrt(2*math.Pi))
		for _, sd := range []float64{0.5, 2} {
			got := logEI(1, 1-z*sd, sd)
			if math.Abs(got-want-math.Log(sd)) > 3e-3 {
				t.Errorf("z=%v sd=%v: log EI %v, integration says %v", z, sd, got, want+math.Log(sd))
			}
		}
	}
	if v := logEI(0, 1e6, 1e-3); math.IsNaN(v) {
		t.Error("hopeless: NaN")
	}
	if logEI(0, 0.2, 0.1) >= logEI(0, 0.2, 0.2) || logEI(0, 0.3, 0.1) >= logEI(0, 0.2, 0.1) {
		t.Error("log EI must grow with the deviation and fall with the mean")
	}
}

func TestScorerValue(t *testing.T) {
	s := &scorer{best: []float64{0}}
	if math.Abs(s.value(0, 0, 1)-math.Log(1/math.Sqrt(2*math.Pi))) > 1e-12 {
		t.Errorf("EI of a standard normal at its mean: %v", math.Exp(s.value(0, 0, 1)))
	}
	s.lower = true
	if s.value(0, 1, 4) != kappa*2-1 {
		t.Errorf("lower confidence bound: %v", s.value(0, 1, 4))
	}
}

// told is a surrogate that always says the same.
type told struct{ mean, variance float64 }

func (t told) Mean([]float64) float64 { return t.mean }
func (t told) Variance() float64      { return t.variance }

func TestScoresAddUp(t *testing.T) {
	sp, err := space.New([]space.Param{{Name: "x", Type: space.Real, Min: 0, Max: 1}})
	if err != nil {
		t.Fatal(err)
	}
	x, err := sp.Sample(stream(1, "test", 0))
	if err != nil {
		t.Fatal(err)
	}
	score := func(models ...surrogate) float64 {
		s := &scorer{bayesian: &bayesian{enc: sp.Encoder(space.EncodeOptions{})}, models: models, most: 1, best: make([]float64, len(models))}
		return s.score(x, math.Inf(-1))
	}
	near, far := told{0.1, 0.5}, told{60, 0.01}
	if got, want := score(near, near, near), score(near)+math.Log(3); math.Abs(got-want) > 1e-12 {
		t.Errorf("three times the same: %v, not %v", got, want)
	}
	if got, want := score(near, far), score(near); math.Abs(got-want) > 1e-12 {
		t.Errorf("what expects nothing adds nothing: %v, not %v", got, want)
	}
	if v := score(far, far); math.IsInf(v, 0) || math.IsNaN(v) {
		t.Errorf("where nothing is expected they must still rank: %v", v)
	}
}

// Failures before anything worked are no successes of whoever proposed them.
func TestBanditCountsNoFailures(t *testing.T) {
	var origins []string
	var values []float64
	for range 10 {
		origins, values = append(origins, techniques[0].name), append(values, 0)
	}
	for i, c := range techniques[1:] {
		for k := range 10 {
			origins, values = append(origins, c.name), append(values, 100-float64(10*i+k))
		}
	}
	if got := Pulled(t, origins, values); got == techniques[0].name {
		t.Errorf("%s, of which nothing worked, is the best", got)
	}
}

func TestStreamsAreNamed(t *testing.T) {
	a, b, c := stream(1, "ask", 3).Int63(), stream(1, "ask", 3).Int63(), stream(1, "importance", 3).Int63()
	if a != b || a == c || a == stream(2, "ask", 3).Int63() || a == stream(1, "ask", 4).Int63() {
		t.Error("streams must depend on seed, name and number")
	}
}

package bench

import (
	"encoding/json"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/measure"
)

// TestStatisticsAgreeWithSciPy compares with what testdata/scipy_tests.py wrote.
func TestStatisticsAgreeWithSciPy(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "scipy_tests.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		SciPy       string
		MannWhitney []struct {
			A, B  []float64
			P     float64
			Exact bool
		}
		Holm          []struct{ P, Adjusted []float64 }
		GeometricMean []struct {
			X    []float64
			Mean float64
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.MannWhitney) == 0 || len(all.Holm) == 0 || len(all.GeometricMean) == 0 {
		t.Fatal("the file holds nothing")
	}
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-9*math.Max(1e-3, math.Abs(want)) }
	for _, c := range all.MannWhitney {
		if got := MannWhitney(c.A, c.B); !near(got, c.P) {
			t.Errorf("MannWhitney of %d and %d (exact %v) is %.12g, SciPy %s says %.12g", len(c.A), len(c.B), c.Exact, got, all.SciPy, c.P)
		}
	}
	for _, c := range all.Holm {
		for i, got := range Holm(c.P) {
			if !near(got, c.Adjusted[i]) {
				t.Errorf("Holm(%v)[%d] = %g, want %g", c.P, i, got, c.Adjusted[i])
			}
		}
	}
	for _, c := range all.GeometricMean {
		if got := measure.GeometricMean(c.X); !near(got, c.Mean) {
			t.Errorf("the geometric mean of %v is %g, SciPy says %g", c.X, got, c.Mean)
		}
	}
}

func TestMannWhitneyOfNothing(t *testing.T) {
	for _, c := range [][2][]float64{{nil, {1}}, {{1}, nil}, {{2, 2, 2}, {2, 2}}} {
		if p := MannWhitney(c[0], c[1]); p != 1 {
			t.Errorf("%v: %g", c, p)
		}
	}
}

// An application of parts is compared by the ratio of its sums: where every lap is
// exact, so is the ratio.
func TestPartsAreWeighed(t *testing.T) {
	ratio := func(a, b time.Duration) []float64 { return []float64{float64(a) / float64(b), float64(a) / float64(b)} }
	rng := rand.New(rand.NewSource(1))
	// Ours takes 3 x 10 ms and 1 x 40 ms, the other's 3 x 20 ms and 1 x 20 ms.
	got, draws := weighed(rng, []group{{3 * 0.010, ratio(20, 10)}, {0.040, ratio(20, 40)}})
	if want := 80.0 / 70; math.Abs(got.Value-want) > 1e-12 || math.Abs(got.Low-want) > 1e-12 || math.Abs(got.High-want) > 1e-12 || len(draws) != measure.Resamplings {
		t.Errorf("got %v, want %g", got, want)
	}
	if got, _ := weighed(rng, []group{{1, nil}}); got != nil {
		t.Errorf("of no pairs: %v", got)
	}
}

// The bootstrap interval of one part is the one that measure gives of the same draws.
func TestIntervalsAreMeasures(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	xs := make([]float64, 25)
	for i := range xs {
		xs[i] = 1.5 * math.Exp(0.02*rng.NormFloat64())
	}
	got, _ := weighed(rand.New(rand.NewSource(1)), []group{{1, xs}})
	want := measure.BootstrapMedian(rand.New(rand.NewSource(1)), xs, measure.Confidence)
	if *got != want {
		t.Errorf("got %v, measure says %v", *got, want)
	}
}

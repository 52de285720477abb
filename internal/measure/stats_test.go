package measure

import (
	"encoding/json"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"testing"
)

// scipyStats is what testdata/scipy_stats.py wrote.
type scipyStats struct {
	SciPy, NumPy string
	Wilcoxon     []struct {
		Differences []float64
		P           float64
	}
	Spearman []struct {
		X, Y []float64
		Rho  float64
	}
	Median []struct {
		X      []float64
		Median float64
	}
	Bootstrap []struct {
		X                 []float64
		Median, Low, High float64
	}
}

func readSciPy(t *testing.T) scipyStats {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "scipy_stats.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all scipyStats
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Wilcoxon) == 0 || len(all.Spearman) == 0 || len(all.Median) == 0 || len(all.Bootstrap) == 0 {
		t.Fatal("the file holds nothing")
	}
	return all
}

func TestStatisticsAgreeWithSciPy(t *testing.T) {
	all := readSciPy(t)
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-9*math.Max(1, math.Abs(want)) }
	for _, c := range all.Wilcoxon {
		if got := Wilcoxon(c.Differences); !near(got, c.P) {
			t.Errorf("Wilcoxon(%v) = %.12g, SciPy %.12g", c.Differences, got, c.P)
		}
	}
	for _, c := range all.Spearman {
		if got := Spearman(c.X, c.Y); !near(got, c.Rho) {
			t.Errorf("Spearman(%v, %v) = %.12g, SciPy %.12g", c.X, c.Y, got, c.Rho)
		}
	}
	for _, c := range all.Median {
		if got := Median(c.X); !near(got, c.Median) {
			t.Errorf("Median(%v) = %v, NumPy %v", c.X, got, c.Median)
		}
	}
}

// The bounds of the interval of 2000 resamplings are SciPy's of 99999, or their
// neighbours among the order statistics: the medians of resamplings take few values,
// and where the 2.5% fall close to a step either side of it may be drawn.
func TestBootstrapAgreesWithSciPy(t *testing.T) {
	for _, c := range readSciPy(t).Bootstrap {
		got := BootstrapMedian(rand.New(rand.NewSource(1)), c.X, 0.95)
		between := func(a, b float64) (n int) {
			for _, x := range c.X {
				if min(a, b) < x && x < max(a, b) {
					n++
				}
			}
			return n
		}
		if got.Value != c.Median || between(got.Low, c.Low) > 1 || between(got.High, c.High) > 1 {
			t.Errorf("got %v, SciPy %v [%v, %v]", got, c.Median, c.Low, c.High)
		}
	}
}

func TestBootstrapCovers(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	const trials = 400
	covered := 0
	for range trials {
		xs := make([]float64, 15)
		for i := range xs {
			xs[i] = math.Exp(0.3 + 0.1*rng.NormFloat64())
		}
		if i := BootstrapMedian(rng, xs, 0.95); i.Low <= math.Exp(0.3) && math.Exp(0.3) <= i.High {
			covered++
		}
	}
	// The percentile interval of a median of 15 covers 93 to 96 in a hundred; four
	// standard errors of 400 trials are 4 in a hundred.
	if share := float64(covered) / trials; share < 0.89 {
		t.Errorf("the 95%% interval covers the truth in %.1f%% of trials", 100*share)
	}
}

func TestIntervalsAreWritten(t *testing.T) {
	i := Interval{Value: 1.0239, Low: 0.996, High: 1.25}
	for digits, want := range map[int]string{2: "1.02 [1.00, 1.25]", 3: "1.024 [0.996, 1.250]"} {
		if got := i.Text(digits); got != want {
			t.Errorf("with %d digits %q, want %q", digits, got, want)
		}
	}
}

func TestStatisticsOfNothing(t *testing.T) {
	if !math.IsNaN(Median(nil)) || !math.IsNaN(BootstrapMedian(rand.New(rand.NewSource(1)), nil, 0.95).Value) {
		t.Error("the median of nothing is a number")
	}
	if p := Wilcoxon(nil); p != 1 {
		t.Errorf("Wilcoxon of nothing: %v", p)
	}
	if p := Wilcoxon([]float64{0, 0}); p != 1 {
		t.Errorf("Wilcoxon of zeros: %v", p)
	}
	one := BootstrapMedian(rand.New(rand.NewSource(1)), []float64{2}, 0.95)
	if one != (Interval{2, 2, 2}) || one.HalfWidth() != 0 {
		t.Errorf("of one: %v", one)
	}
	if g := GeometricMean([]float64{1, 4, 16}); math.Abs(g-4) > 1e-12 {
		t.Errorf("geometric mean %v", g)
	}
}

func TestInputsOfStatisticsStay(t *testing.T) {
	xs := []float64{3, 1, 2}
	Median(xs)
	Wilcoxon(xs)
	Spearman(xs, xs)
	BootstrapMedian(rand.New(rand.NewSource(1)), xs, 0.95)
	if xs[0] != 3 || xs[1] != 1 || xs[2] != 2 {
		t.Errorf("changed to %v", xs)
	}
}

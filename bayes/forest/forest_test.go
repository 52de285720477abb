package forest_test

import (
	"math"
	"math/rand"
	"testing"

	"github.com/protuner/protuner/bayes/forest"
)

// sample makes n rows: two ordered columns, one categorical, one idle.
func sample(rng *rand.Rand, n int) [][]float64 {
	x := make([][]float64, n)
	for i := range x {
		x[i] = []float64{rng.Float64(), float64(rng.Intn(8)) / 7, float64(rng.Intn(4)), rng.Float64()}
	}
	return x
}

var equal = []bool{false, false, true, false}

func works(x []float64) bool    { return x[0]+x[1] < 1.2 && x[2] != 3 }
func value(x []float64) float64 { return 3*x[0] + math.Abs(x[1]-0.5) + map[float64]float64{2: 2}[x[2]] }

func TestClassifierLearnsARegion(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	train, test := sample(rng, 300), sample(rng, 1000)
	yes := make([]bool, len(train))
	for i, x := range train {
		yes[i] = works(x)
	}
	f, err := forest.Grow(rng, forest.Classes(train, yes, equal, 0.8, 0.2), forest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range train {
		if p := f.Mean(x); (p > 0.5) != yes[i] || p < 0 || p > 1 {
			t.Fatalf("training row %d (%v) has probability %v", i, yes[i], p)
		}
	}
	right := 0
	for _, x := range test {
		if (f.Mean(x) > 0.5) == works(x) {
			right++
		}
	}
	if right < 930 {
		t.Errorf("%d of 1000 right", right)
	}
	imp := f.Importance(4)
	if imp[3] > 0.1 || imp[0] < imp[3] || imp[2] < imp[3] {
		t.Errorf("importance %v: column 3 is idle", imp)
	}
}

func TestClassWeightsShiftTheProbability(t *testing.T) {
	// Identical rows, half of them feasible: the leaf's weighted share.
	var x [][]float64
	var yes []bool
	for i := range 10 {
		x, yes = append(x, []float64{1}), append(yes, i%2 == 0)
	}
	f, err := forest.Grow(rand.New(rand.NewSource(1)), forest.Classes(x, yes, []bool{false}, 0.8, 0.2), forest.Options{Trees: 3})
	if err != nil {
		t.Fatal(err)
	}
	if p := f.Mean([]float64{0}); math.Abs(p-0.8) > 1e-12 {
		t.Errorf("probability %v, want 0.8", p)
	}
}

func TestRegression(t *testing.T) {
	for name, o := range map[string]forest.Options{
		"best splits":   {Trees: 100, Bootstrap: true},
		"random splits": {Trees: 200, MaxFeatures: 0.5, Bootstrap: true, RandomSplits: true},
		"no bootstrap":  {Trees: 100, MinSplit: 5},
	} {
		rng := rand.New(rand.NewSource(2))
		train, test := sample(rng, 300), sample(rng, 500)
		y := make([]float64, len(train))
		for i, x := range train {
			y[i] = value(x)
		}
		f, err := forest.Grow(rng, forest.Data{X: train, Y: y, Equal: equal}, o)
		if err != nil {
			t.Fatal(err)
		}
		var truth, loss, mean float64
		for _, x := range test {
			mean += value(x) / float64(len(test))
		}
		for _, x := range test {
			m, v := f.Predict(x)
			if v < 0 || m != f.Mean(x) && math.Abs(m-f.Mean(x)) > 1e-9 {
				t.Fatalf("%s: mean %v, %v; variance %v", name, m, f.Mean(x), v)
			}
			loss += (m - value(x)) * (m - value(x))
			truth += (value(x) - mean) * (value(x) - mean)
		}
		if r2 := 1 - loss/truth; r2 < 0.85 {
			t.Errorf("%s: R2 %.3f", name, r2)
		}
	}
}

func TestSameSeedSameForest(t *testing.T) {
	x := sample(rand.New(rand.NewSource(3)), 60)
	y := make([]float64, len(x))
	for i := range x {
		y[i] = value(x[i])
	}
	grow := func(seed int64) float64 {
		f, err := forest.Grow(rand.New(rand.NewSource(seed)), forest.Data{X: x, Y: y, Equal: equal}, forest.Options{Bootstrap: true})
		if err != nil {
			t.Fatal(err)
		}
		return f.Mean([]float64{0.3, 0.4, 1, 0.5})
	}
	if grow(1) != grow(1) {
		t.Error("one seed, two forests")
	}
	if grow(1) == grow(2) {
		t.Error("two seeds, one forest")
	}
}

func TestBadData(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for name, d := range map[string]forest.Data{
		"none":    {},
		"short":   {X: [][]float64{{1}}, Equal: []bool{false}},
		"columns": {X: [][]float64{{1, 2}}, Y: []float64{1}, Equal: []bool{false}},
		"nan":     {X: [][]float64{{1}}, Y: []float64{math.NaN()}, Equal: []bool{false}},
	} {
		if _, err := forest.Grow(rng, d, forest.Options{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := forest.Grow(rng, forest.Data{X: [][]float64{{1}}, Y: []float64{1}, Equal: []bool{false}}, forest.Options{MaxFeatures: 2}); err == nil {
		t.Error("MaxFeatures 2 passes")
	}
}

func BenchmarkGrow(b *testing.B) {
	rng := rand.New(rand.NewSource(1))
	x := sample(rng, 100)
	yes := make([]bool, len(x))
	for i := range x {
		yes[i] = works(x[i])
	}
	d := forest.Classes(x, yes, equal, 0.8, 0.2)
	for range b.N {
		if _, err := forest.Grow(rng, d, forest.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestViews: of two descriptions the one that says it shortly is believed. What decides
// is column 0; column 1 and 2 together say the same, and more that is chance.
func TestViews(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	var d forest.Data
	for range 12 {
		a, b := rng.Intn(2), rng.Intn(2)
		d.X = append(d.X, []float64{float64(a), float64(a ^ b), float64(b)})
		d.Y = append(d.Y, float64(a))
	}
	d.Equal = make([]bool, 3)
	right := func(views [][]int) (n int) {
		d.Views = views
		f, err := forest.Grow(rand.New(rand.NewSource(1)), d, forest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range [][]float64{{1, 0, 0}, {1, 1, 1}, {0, 1, 0}, {0, 0, 1}} { // column 0 against the others
			if math.Abs(f.Mean(x)-x[0]) < 0.1 {
				n++
			}
		}
		return n
	}
	if both, long := right([][]int{{1, 2}, {0}}), right([][]int{{1, 2}}); both != 4 || long != 0 {
		t.Errorf("by the short description %d of 4 are right, by the long one alone %d", both, long)
	}
	d.Views = [][]int{{3}}
	if _, err := forest.Grow(rng, d, forest.Options{}); err == nil {
		t.Error("a view of a column that is not there")
	}
}

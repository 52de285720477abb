package cost_test

import (
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/protuner/protuner/claims/oracle"
	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/nn"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// madeWeights are weights that are nobody's.
func madeWeights() *nn.Weights { return nn.Random(rand.New(rand.NewSource(1))) }

// golden is a schedule that Adams2019 made, with the cost it predicted for it with
// madeWeights on two cores.
type golden struct {
	spacetest.Golden
	cost float64
}

func goldens(t testing.TB) []golden {
	t.Helper()
	var out []golden
	for _, s := range spacetest.Goldens(t) {
		c, err := strconv.ParseFloat(strings.TrimSpace(string(s.File(t, ".cost"))), 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, golden{s, c})
	}
	return out
}

func (g golden) model(t testing.TB) *cost.Model {
	t.Helper()
	m, err := cost.New(madeWeights(), g.State.Pipeline(), 2)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (g golden) features() []feature.Schedule {
	return feature.New(g.State.Space()).Features(g.State, nil)
}

func TestGoldenCosts(t *testing.T) {
	for _, g := range goldens(t) {
		got := g.model(t).Predict(g.features())
		if math.Abs(got-g.cost) > 1e-5*g.cost+oracle.Printed {
			t.Errorf("%s: %g, Adams2019 says %g", g.Name, got, g.cost)
		}
	}
}

// At once, again and term by term: all the same cost.
func TestWaysToPredictAgree(t *testing.T) {
	for _, g := range goldens(t) {
		m, fs := g.model(t), g.features()
		one := m.Predict(fs)
		if part, again := m.Predict(fs[:1]), m.Predict(fs); part >= one || again != one {
			t.Errorf("%s: %g, of one stage %g, then %g", g.Name, one, part, again)
		}
		sum := 0.0
		for _, st := range m.Explain(fs) {
			terms := 0.0
			for k, v := range st.Terms {
				if v < 0 || v > 0 && cost.Terms[k].Name == "" {
					t.Errorf("%s: term %d is %g", g.Name, k, v)
				}
				terms += v
			}
			if math.Abs(terms-st.Cost) > 1e-9*st.Cost {
				t.Errorf("%s: terms add up to %g, not %g", g.Name, terms, st.Cost)
			}
			sum += st.Cost
		}
		if math.Abs(sum-one) > 1e-5*one {
			t.Errorf("%s: stages add up to %g, not %g", g.Name, sum, one)
		}
	}
}

// What cannot be the features of a schedule is never the cheapest one.
func TestImpossibleFeaturesCostInfinitely(t *testing.T) {
	g := goldens(t)[0]
	m, good := g.model(t), g.features()
	for _, bad := range []float64{math.NaN(), math.Inf(1), -1, 1e39, math.MaxFloat32} {
		for k := range feature.NumSchedule {
			if bad == math.MaxFloat32 && k != feature.NumRealizations {
				continue // it is possible, if the cost is: here it is multiplied with others
			}
			fs := slices.Clone(good)
			fs[1][k] = bad
			if c := m.Predict(fs); !math.IsInf(c, 1) {
				t.Errorf("with %g as %s a cost of %g", bad, feature.FeatureName(k), c)
			}
			if e := m.Explain(fs); bad != math.MaxFloat32 && !math.IsInf(e[1].Cost, 1) || math.IsInf(e[0].Cost, 0) {
				t.Errorf("with %g as %s stages cost %g, %g", bad, feature.FeatureName(k), e[0].Cost, e[1].Cost)
			}
		}
	}
}

func TestTermsAre27(t *testing.T) {
	n := 0
	for _, term := range cost.Terms {
		if term.Name != "" {
			n++
		}
	}
	if n != 27 {
		t.Errorf("%d terms", n)
	}
}

func TestPredictDoesNotAllocate(t *testing.T) {
	g := goldens(t)[0]
	m, x := g.model(t), feature.New(g.State.Space())
	fs := x.Features(g.State, nil)
	if n := testing.AllocsPerRun(20, func() { m.Predict(x.Features(g.State, fs[:0])) }); n > 0 {
		t.Errorf("features and cost of one schedule allocate %g times", n)
	}
}

func TestNewRefuses(t *testing.T) {
	p := goldens(t)[0].State.Pipeline()
	if _, err := cost.New(madeWeights(), p, 0); err == nil {
		t.Error("no cores accepted")
	}
	short := *p
	short.Funcs = append([]pipeline.Func(nil), p.Funcs...)
	short.Funcs[0].Stages = []pipeline.Stage{{Name: "s", Features: make([]int32, 10)}}
	if _, err := cost.New(madeWeights(), &short, 2); err == nil || !strings.Contains(err.Error(), "stage s") {
		t.Errorf("a stage with 10 features: %v", err)
	}
}

func BenchmarkPredict(b *testing.B) {
	for _, g := range goldens(b) {
		b.Run(g.Name, func(b *testing.B) {
			m, fs := g.model(b), g.features()
			b.ReportAllocs()
			for b.Loop() {
				m.Predict(fs)
			}
		})
	}
}

// Partial schedules that Adams2019 came by in a greedy search, with the costs it gave
// them; they were printed by a build of Halide 21's with its switch for choosing
// schedules by hand (HALIDE_AUTOSCHEDULER_ALLOW_CYOS).
func TestGoldenPartialCosts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "feature", "testdata", "*.partial"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files of partial schedules (%v)", len(files), err)
	}
	whole := map[string]golden{}
	for _, g := range goldens(t) {
		whole[g.Description()] = g
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g := whole[strings.TrimSuffix(filepath.Base(file), ".partial")]
		sp, m := g.State.Space(), g.model(t)
		x := feature.New(sp)
		for _, part := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
			head, nest, _ := strings.Cut(part, "\n")
			want, err := strconv.ParseFloat(strings.TrimPrefix(head, "cost "), 64)
			if err != nil {
				t.Fatal(err)
			}
			s, err := sp.Import(nest)
			if err != nil {
				t.Errorf("%v\n%s", err, nest)
				continue
			}
			if got := m.Predict(x.Features(s, nil)); math.Abs(got-want) > 1e-5*want {
				t.Errorf("%g, Adams2019 says %g:\n%s", got, want, nest)
			}
		}
	}
}

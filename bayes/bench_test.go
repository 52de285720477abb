package bayes_test

import (
	"context"
	"math"
	"math/rand"
	"os"
	"strings"
	"testing"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/problems"
	"github.com/protuner/protuner/bayes/space"
)

// BenchmarkQuality plays presets on the made-up problems and reports the
// geometric mean over problems and seeds of the best value at 20, 40, 60 and
// 100 evaluations over the best value any of the plays found, and the share of
// hidden-infeasible suggestions after 40. PRESETS selects presets by name;
// each b.N is one seed, so use -benchtime 20x.
func BenchmarkQuality(b *testing.B) {
	names := []string{"default", "uniform", "bandit"}
	if v := os.Getenv("PRESETS"); v != "" {
		names = strings.Split(v, ",")
	}
	list := all(b)
	if v := os.Getenv("PROBLEMS"); v != "" {
		kept := list[:0]
		for _, p := range list {
			if strings.Contains(","+v+",", ","+p.Name+",") {
				kept = append(kept, p)
			}
		}
		list = kept
	}
	best := map[string]float64{}
	for _, p := range list {
		best[p.Name] = optimum(b, p)
	}
	for _, name := range names {
		o, err := bayes.Preset(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			at := []int{20, 40, 60, 100}
			sums := make([]float64, len(at))
			each := make([]float64, len(list))
			late, failed := 0.0, 0.0
			for seed := range b.N {
				for k, p := range list {
					o.Seed, o.NoDefault = int64(seed+1), true
					s := play(b, p, o, nil, 100)
					trace := s.Trace()
					for i, n := range at {
						v := math.Log(trace[n-1] / best[p.Name])
						if math.IsNaN(v) {
							v = math.Log(100)
						}
						sums[i] += v / float64(b.N*len(list))
						if n == 60 {
							each[k] += v / float64(b.N)
						}
					}
					for _, t := range s.Trials()[40:] {
						late++
						if t.Outcome.Status.Failed() {
							failed++
						}
					}
				}
			}
			for i, n := range []string{"@20", "@40", "@60", "@100"} {
				b.ReportMetric(math.Exp(sums[i]), n)
			}
			for k, p := range list {
				b.ReportMetric(math.Exp(each[k]), p.Name+"@60")
			}
			b.ReportMetric(100*failed/late, "%failed")
		})
	}
}

// optimum finds the best value of a problem by steepest descent from many
// random configurations.
func optimum(b *testing.B, p problem) float64 {
	best := math.Inf(1)
	rng := rand.New(rand.NewSource(1))
	value := func(x space.Point) float64 {
		if o := p.Cost(p.Space.Config(x)); o.Status == bayes.OK {
			return o.Value
		}
		return math.Inf(1)
	}
	for range 200 {
		x, err := p.Space.Sample(rng)
		if err != nil {
			b.Fatal(err)
		}
		at := value(x)
		for range 100 { // with reals there is always a little more to gain
			from := at
			for _, y := range p.Space.Neighbors(nil, x, rng) {
				if v := value(y); v < at {
					x, at = y, v
				}
			}
			if at == from {
				break
			}
		}
		best = math.Min(best, at)
	}
	return best
}

// BenchmarkAsk measures the own time of one suggestion with 100 outcomes of 8
// parameters.
func BenchmarkAsk(b *testing.B) {
	ctx := context.Background()
	p := problems.Eight(all(b)[0])
	for _, name := range []string{"default", "paper", "forest", "bandit", "ytopt-forest"} {
		o, err := bayes.Preset(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for i := 0; i < b.N; {
				b.StopTimer()
				o.Seed = int64(i)
				s, err := bayes.Open(ctx, p.Space, o, nil)
				if err != nil {
					b.Fatal(err)
				}
				draw, err := bayes.Open(ctx, p.Space, bayes.Options{Seed: o.Seed, Method: bayes.Uniform}, nil)
				if err != nil {
					b.Fatal(err)
				}
				warm, err := draw.Ask(ctx, 90)
				if err != nil {
					b.Fatal(err)
				}
				for _, t := range warm {
					if err := s.Import(ctx, t.Config, p.Cost(t.Config)); err != nil {
						b.Fatal(err)
					}
				}
				// Ten suggestions before and ten after the hundredth outcome.
				for n := range 20 {
					if n == 10 {
						b.StartTimer()
					}
					t, err := s.Ask(ctx, 1)
					if err != nil {
						b.Fatal(err)
					}
					if err := s.Tell(ctx, t[0].ID, p.Cost(t[0].Config)); err != nil {
						b.Fatal(err)
					}
					if n >= 10 {
						i++
					}
				}
			}
		})
	}
}

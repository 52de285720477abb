package feature_test

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// golden is a schedule of Adams2019's with its own .featurization.
type golden struct {
	spacetest.Golden
	rows []feature.Row
	file []byte
}

func goldens(t testing.TB) []golden {
	t.Helper()
	var out []golden
	for _, s := range spacetest.Goldens(t) {
		g := golden{Golden: s, file: s.File(t, ".featurization")}
		var err error
		if g.rows, err = feature.ParseFeaturization(g.file); err != nil {
			t.Fatalf("%s: %v", g.Name, err)
		}
		out = append(out, g)
	}
	return out
}

func TestGoldenFeatures(t *testing.T) {
	for _, g := range goldens(t) {
		p := g.State.Pipeline()
		got, err := feature.Rows(p, feature.New(g.State.Space()).Features(g.State, nil))
		if err != nil || len(got) != len(g.rows) {
			t.Fatalf("%s: features of %d stages, not %d: %v", g.Name, len(got), len(g.rows), err)
		}
		for i, id := range feature.Stages(p) {
			for k, want := range g.rows[i].Schedule {
				if math.Abs(float64(got[i].Schedule[k]-want)) > 1e-5*float64(want) {
					t.Errorf("%s: %s of %s is %g, not %g", g.Name, feature.FeatureName(k), p.Funcs[id.Func].Stages[id.Stage].Name, got[i].Schedule[k], want)
				}
			}
		}
	}
}

// spaces are all golden descriptions that can be scheduled.
func spaces(t testing.TB) map[string]*space.Space {
	t.Helper()
	out := map[string]*space.Space{}
	for _, name := range pipelinetest.Names(t) {
		out[name] = spacetest.New(t, pipelinetest.Described(t, name), space.Adams(4))
	}
	return out
}

// Along random decisions: partial states have features of what they schedule, all
// finite and none negative.
func TestAlongDecisions(t *testing.T) {
	for name, sp := range spaces(t) {
		t.Run(name, func(t *testing.T) {
			x := feature.New(sp)
			rng := rand.New(rand.NewSource(3))
			stages := len(feature.Stages(sp.Pipeline()))
			for range 4 {
				s := sp.Start()
				for {
					fs := x.Features(s, nil)
					for i := range fs {
						if err := plausible(&fs[i]); err != nil {
							t.Fatalf("stage %d: %v\n%v", i, err, s)
						}
					}
					a, ok := s.Sample(rng)
					if !ok {
						if len(fs) != stages {
							t.Fatalf("features of %d of %d stages of a complete state", len(fs), stages)
						}
						break
					}
					s = s.Next(a)
				}
			}
		})
	}
}

// Where all Funcs are placed before the first tasks are decided about, all stages have
// features from then on.
func TestAllPlacedHaveFeatures(t *testing.T) {
	o := space.Adams(4)
	o.NoSubtiling = true
	sp := spacetest.New(t, pipelinetest.Described(t, "camera_pipe.h21"), o)
	x, rng := feature.New(sp), rand.New(rand.NewSource(2))
	stages := len(feature.Stages(sp.Pipeline()))
	for s := sp.Start(); !s.Complete(); {
		if _, kind := s.Deciding(); kind == space.Tasks {
			if n := len(x.Features(s, nil)); n != stages {
				t.Fatalf("%d of %d stages have features at depth %d", n, stages, s.Depth())
			}
		}
		a, _ := s.Sample(rng)
		s = s.Next(a)
	}
}

// However states follow one another, what is taken over from others is what is
// computed from scratch, to the bit: along random walks with a look at some of the
// children of each state, and back at states left behind, by an extractor that
// remembers all, by one that hardly remembers anything, and by new ones.
func TestIncrementalIsFromScratch(t *testing.T) {
	states := 0
	for _, name := range pipelinetest.Names(t) {
		p := pipelinetest.Described(t, name)
		for _, o := range []space.Options{space.Adams(1), space.Adams(4), space.Defaults(16)} {
			sp := spacetest.New(t, p, o)
			all, few := feature.New(sp), feature.New(sp)
			few.Remember(20)
			rng := rand.New(rand.NewSource(int64(o.Parallelism)))
			check := func(s *space.State) {
				states++
				want := feature.New(sp).Features(s, nil)
				for what, x := range map[string]*feature.Extractor{"all": all, "few": few} {
					if got := x.Features(s, nil); !slices.Equal(got, want) {
						t.Fatalf("%s: an extractor that remembers %s levels gives %v, not %v:\n%v", p.Generator, what, got, want, s)
					}
				}
			}
			var left []*space.State
			for range 2 {
				s := sp.Start()
				for !s.Complete() {
					actions := s.Actions(nil)
					rng.Shuffle(len(actions), func(i, j int) { actions[i], actions[j] = actions[j], actions[i] })
					for _, a := range actions[:min(5, len(actions))] {
						left = append(left, s.Next(a))
						check(left[len(left)-1])
					}
					check(left[rng.Intn(len(left))])
					s = s.Next(actions[0])
				}
			}
		}
	}
	t.Logf("%d states", states)
}

// Sums take three quarters of the target's vector registers, in their own stages and in
// what reads them; all else, and all in Adams et al.'s space, twelve vectors.
func TestSumsUnrollByRegisters(t *testing.T) {
	const few, many = "x86-64-linux-avx-avx2-f16c-fma-sse41", "x86-64-linux-avx-avx2-avx512-avx512_skylake-f16c-fma-sse41"
	for _, c := range []struct {
		name, target string
		o            space.Options
		least, most  float64
	}{
		{"conv_layer.h21", few, space.Defaults(2), 9, 12},
		{"conv_layer.h21", many, space.Defaults(2), 13, 24},
		{"conv_layer.h21", "arm-64-linux", space.Defaults(2), 13, 24},
		{"conv_layer.h21", many, space.Adams(2), 9, 12},
		{"harris.h21", many, space.Defaults(2), 5, 12},
	} {
		p := *pipelinetest.Described(t, c.name)
		p.Target = c.target
		sp := spacetest.New(t, &p, c.o)
		x, rng, most := feature.New(sp), rand.New(rand.NewSource(1)), 0.0
		for range 2000 {
			s := sp.Start().SampleDown(rng)
			for i, f := range x.Features(s, nil) {
				if most = max(most, f[feature.UnrolledLoopExtent]); f[feature.UnrolledLoopExtent] <= 12 {
					continue
				}
				of := feature.Stages(&p)[i]
				if !slices.ContainsFunc(s.Schedule().Directives, func(d schedule.Directive) bool {
					return d.Op == schedule.Unroll && d.Func == p.Funcs[of.Func].Name && d.Stage == of.Stage
				}) {
					t.Fatalf("%s: stage %d of %s is not unrolled, its feature says %g:\n%v", c.name, of.Stage, p.Funcs[of.Func].Name, f[feature.UnrolledLoopExtent], s)
				}
			}
		}
		if most < c.least || most > c.most {
			t.Errorf("%s for %s unrolls up to %g vectors, not %g to %g", c.name, c.target, most, c.least, c.most)
		}
	}
}

// updateOf gives the features of the first update of a Func in the state nearest to a trace.
func updateOf(t *testing.T, sp *space.Space, name, said string) feature.Schedule {
	t.Helper()
	trace, err := sp.ParseTrace(said)
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := sp.Replay(trace, space.Nearest)
	if err != nil {
		t.Fatal(err)
	}
	p := sp.Pipeline()
	for i, f := range feature.New(sp).Features(s, nil) {
		if of := feature.Stages(p)[i]; p.Funcs[of.Func].Name == name && of.Stage == 1 {
			return f
		}
	}
	t.Fatal("the update has no features")
	return feature.Schedule{}
}

// Of shorter vectors there are more, and fewer where each adds up several products at once;
// what adds up none has as many as before.
func TestFeaturesOfOtherVectors(t *testing.T) {
	o := space.Defaults(2)
	o.ShortVectors = false // which would leave no lanes to be said
	sp := spacetest.New(t, pipelinetest.Described(t, "dots.h21"), o)
	update := func(said string) feature.Schedule {
		return updateOf(t, sp, "by_bytes", "by_bytes compute root vector x\nby_words compute root vector x\n"+said)
	}
	plain := update("")
	for said, want := range map[string][2]float64{
		"by_bytes lanes 16\n":                  {plain[feature.NumVectors] * plain[feature.VectorSize] / 16, 16},
		"by_bytes dot 4\n":                     {plain[feature.NumVectors] / 4, plain[feature.VectorSize]},
		"by_bytes lanes 16\nby_bytes dot 2\n":  {plain[feature.NumVectors] * plain[feature.VectorSize] / 32, 16},
		"by_words dot 2\nby_bytes lanes 128\n": {plain[feature.NumVectors], plain[feature.VectorSize]},
	} {
		if got := update(said); got[feature.NumVectors] != want[0] || got[feature.VectorSize] != want[1] {
			t.Errorf("%q: %v vectors of %v, not %v", said, got[feature.NumVectors], got[feature.VectorSize], want)
		}
	}
}

// Vectors along a reduction are as long as those of what is added up, and each ends in a
// scalar.
func TestVectorsAlongReductions(t *testing.T) {
	sp := spacetest.New(t, pipelinetest.Described(t, "softmax.h21"), space.Defaults(2))
	total := func(said string) feature.Schedule {
		return updateOf(t, sp, "total", "total compute root vector y\n"+said)
	}
	plain, got := total(""), total("total across 8\n")
	all := plain[feature.NumVectors] * plain[feature.VectorSize]
	if got[feature.NumVectors] != all/8 || got[feature.VectorSize] != 8 || got[feature.NumScalars] != plain[feature.NumScalars]+all/8 {
		t.Errorf("%v vectors of %v and %v scalars, of %v of %v and %v", got[feature.NumVectors], got[feature.VectorSize], got[feature.NumScalars],
			plain[feature.NumVectors], plain[feature.VectorSize], plain[feature.NumScalars])
	}
	if other := total("total across 64\n"); other != plain {
		t.Error("there are no vectors of 64")
	}
}

// What is imported from a nest's text has the same features, but for the few nests
// that splits in several orders lead to, with other representative iterations.
func TestImportedFeatures(t *testing.T) {
	all, other := 0, 0
	for name, sp := range spaces(t) {
		x := feature.New(sp)
		rng := rand.New(rand.NewSource(3))
		for range 20 {
			s := sp.Start().SampleDown(rng)
			again, err := sp.Import(s.String())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all++
			if !slices.Equal(x.Features(again, nil), x.Features(s, nil)) {
				other++
			}
		}
	}
	if other > all/100 {
		t.Errorf("%d of %d nests have other features once imported", other, all)
	}
}

// plausible checks relations that hold for every stage of every schedule.
func plausible(f *feature.Schedule) error {
	for k, v := range f {
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %g", feature.FeatureName(k), v)
		}
	}
	switch {
	case f[feature.NumProductions] < f[feature.NumRealizations]:
		return fmt.Errorf("%g productions in %g realisations", f[feature.NumProductions], f[feature.NumRealizations])
	case f[feature.NumRealizations] > 0 && f[feature.InlinedCalls] > 0:
		return fmt.Errorf("inlined and realised")
	case f[feature.PointsComputedTotal] != f[feature.NumRealizations]*f[feature.PointsComputedPerRealization]:
		return fmt.Errorf("%g points in all", f[feature.PointsComputedTotal])
	case f[feature.InnermostPureLoopExtent] > max(1, f[feature.InnermostLoopExtent]) && f[feature.InlinedCalls] == 0:
		return fmt.Errorf("the pure loops are more than the loops")
	}
	return nil
}

// In the steady state nothing is allocated: neither for one state again and again
// nor for the children of one in turn.
func TestFeaturesDoNotAllocate(t *testing.T) {
	for _, g := range goldens(t) {
		x := feature.New(g.State.Space())
		fs := x.Features(g.State, nil)
		if n := testing.AllocsPerRun(20, func() { x.Features(g.State, fs[:0]) }); n > 0 {
			t.Errorf("%s: %g allocations", g.Name, n)
		}
	}
	for name, sp := range spaces(t) {
		x := feature.New(sp)
		s := sp.Start()
		rng := rand.New(rand.NewSource(1))
		for range 5 {
			if a, ok := s.Sample(rng); ok {
				s = s.Next(a)
			}
		}
		var children []*space.State
		for _, a := range s.Actions(nil) {
			if len(children) < 50 { // the cache holds as many, if not in its first rounds
				children = append(children, s.Next(a))
			}
		}
		var fs []feature.Schedule
		round := func() {
			for _, c := range children {
				fs = x.Features(c, fs[:0])
			}
		}
		for range 6 {
			round()
		}
		if n := testing.AllocsPerRun(5, round); n > 0 {
			t.Errorf("%s: %g allocations for %d children", name, n, len(children))
		}
	}
}

// Regions that are empty are refused with the Func's name; so are those with so many
// points that features could not hold what is computed of them.
func TestExtentsRefused(t *testing.T) {
	p := *pipelinetest.Described(t, "harris.h21")
	p.Funcs = slices.Clone(p.Funcs)
	estimated := func(extent int64) *pipeline.Pipeline {
		p.Funcs[0].Estimate = slices.Clone(p.Funcs[0].Estimate)
		for d := range p.Funcs[0].Estimate {
			p.Funcs[0].Estimate[d].Max = p.Funcs[0].Estimate[d].Min + extent - 1
		}
		return &p
	}
	if _, err := space.New(estimated(0), space.Adams(2)); err == nil || !strings.Contains(err.Error(), p.Funcs[0].Name) {
		t.Errorf("an empty output: %v", err)
	}
	sp := spacetest.New(t, estimated(1000), space.Adams(2))
	if err := feature.Fits(sp); err != nil {
		t.Error(err)
	}
	sp = spacetest.New(t, estimated(1<<30), space.Adams(2))
	if err := feature.Fits(sp); err == nil || !strings.Contains(err.Error(), p.Funcs[0].Stages[0].Name) {
		t.Errorf("2^60 points: %v", err)
	}
	s := sp.Start()
	s = s.Next(s.Actions(nil)[0])
	if fs := feature.New(sp).Features(s, nil); !math.IsNaN(fs[0][feature.PointsComputedMinimum]) {
		t.Errorf("2^60 points have features: %v", fs[0])
	}
}

func BenchmarkFeatures(b *testing.B) {
	for _, g := range goldens(b) {
		b.Run(g.Name, func(b *testing.B) {
			x := feature.New(g.State.Space())
			fs := x.Features(g.State, nil)
			b.ReportAllocs()
			for b.Loop() {
				x.Features(g.State, fs[:0])
			}
		})
	}
}

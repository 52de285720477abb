package search

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// What has as much in one loop nest as what was given up is hopeless, until as many of
// those were measured after all; what has much less is not.
func TestLateness(t *testing.T) {
	sp := newSpace(t, "camera_pipe.h21", 2)
	var all, apart *space.State
	for _, c := range Prototypes(sp) {
		switch c.Origin {
		case "prototype:strips-32":
			all = c.State
		case "prototype:root":
			apart = c.State
		}
	}
	if 2*fused(all.Root()) < 3*crowd || fused(apart.Root()) != 1 {
		t.Fatalf("%d stages in one nest, %d where all are at root", fused(all.Root()), fused(apart.Root()))
	}
	var l Lateness
	told := func(s *space.State, late bool) { l.learn(Outcome{Candidate: NewCandidate(s, "a test"), Late: late}) }
	for _, step := range []struct {
		state    *space.State
		late     bool
		hopeless bool
	}{{apart, false, false}, {all, true, true}, {apart, false, true}, {all, false, false}, {all, true, true}} {
		told(step.state, step.late)
		if l.hopeless(all) != step.hopeless || l.hopeless(apart) {
			t.Errorf("surplus %v: hopeless %v, at root %v", l.surplus, l.hopeless(all), l.hopeless(apart))
		}
	}
	few, half := all, all
	rng := rand.New(rand.NewSource(1))
	for fused(few.Root()) >= crowd {
		few = sp.Start().SampleDown(rng)
	}
	told(few, true)
	if l.hopeless(few) {
		t.Errorf("%d stages together are hopeless", fused(few.Root()))
	}
	for 3*fused(half.Root()) >= 2*fused(all.Root()) || fused(half.Root()) < crowd {
		half = sp.Start().SampleDown(rng)
	}
	if l.hopeless(half) {
		t.Errorf("%d stages together are hopeless by what became of %d", fused(half.Root()), fused(all.Root()))
	}
	for _, m := range []struct {
		state    *space.State
		seconds  float64
		hopeless bool
	}{{apart, 2, true}, {all, 1, false}, {apart, 0.5, true}} {
		l.learn(Outcome{Candidate: NewCandidate(m.state, "a test"), OK: true, Seconds: m.seconds})
		told(all, true)
		told(all, true)
		if l.hopeless(all) != m.hopeless {
			t.Errorf("after one of %g s the other is hopeless: %v", m.seconds, !m.hopeless)
		}
	}
}

// What would allocate more at once than Halide does is not proposed.
func TestTooLargeToAllocate(t *testing.T) {
	p := *pipelinetest.Described(t, "dots.h21")
	p.Funcs = slices.Clone(p.Funcs)
	words := slices.IndexFunc(p.Funcs, func(f pipeline.Func) bool { return f.Name == "by_words" })
	p.Funcs[words].BytesPerPoint = 1 << 20
	sp := spacetest.New(t, &p, space.Defaults(2))
	evolve := NewEvolve(sp, rand.New(rand.NewSource(1)), EvolveDefaults())
	for range 10 {
		proposed, err := evolve.Propose(t.Context(), 5)
		if err != nil || len(proposed) == 0 {
			t.Fatalf("%d proposed: %v", len(proposed), err)
		}
		for _, c := range proposed {
			if c.State.LargestAllocation() > math.MaxInt32 {
				t.Errorf("%s allocates %g bytes", c.Origin, c.State.LargestAllocation())
			}
			if err := evolve.Observe([]Outcome{{Candidate: c, OK: true, Seconds: 1}}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

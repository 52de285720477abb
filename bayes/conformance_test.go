package bayes_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
)

// small cuts the work of a preset without changing what it is.
func small(t testing.TB, name string) bayes.Options {
	t.Helper()
	o, err := bayes.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	o.Initial = 4
	o.Surrogate.Samples, o.Surrogate.Refine, o.Surrogate.Evals = 3, 1, 8
	o.Acquisition.Candidates, o.Acquisition.Starts = 60, 2
	return o
}

// stores makes one empty store of every kind; calling again opens it again.
func stores(t testing.TB) map[string]func() bayes.Store {
	dir := t.TempDir()
	open := func(s bayes.Store, err error) bayes.Store {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return map[string]func() bayes.Store{
		"jsonl": func() bayes.Store {
			s, err := bayes.OpenJSONLines(filepath.Join(dir, "a.jsonl"), "study")
			return open(s, err)
		},
		"sqlite": func() bayes.Store {
			s, err := bayes.OpenSQLite(context.Background(), filepath.Join(dir, "a b?.db"), "study")
			return open(s, err)
		},
	}
}

func everyPreset(t *testing.T, f func(t *testing.T, o bayes.Options)) {
	names, _ := bayes.Presets()
	for _, name := range names {
		t.Run(name, func(t *testing.T) { f(t, small(t, name)) })
	}
}

func configs(s *bayes.Study) string {
	var b strings.Builder
	for _, t := range s.Trials() {
		fmt.Fprintf(&b, "%d %s %v %v\n", t.ID, t.Origin, t.Config, t.Outcome.Status)
	}
	return b.String()
}

func tiny(t testing.TB) problem {
	s := mustSpace(t, []space.Param{
		{Name: "a", Type: space.Integer, Min: 1, Max: 4}, {Name: "c", Type: space.Categorical, Categories: []string{"x", "y"}},
		{Name: "p", Type: space.Permutation, Size: 3},
	}, "p_0 != 2", "a > 1 or c == 'x'")
	return problem{Name: "tiny", Space: s, Cost: func(c space.Config) bayes.Outcome {
		if c.Int("a") == 3 {
			return bayes.Failure(bayes.Crashed, "three")
		}
		return bayes.Value(float64(c.Int("a")) + float64(c.Order("p")[1]))
	}}
}

func TestSameSeedSameTrials(t *testing.T) {
	p := all(t)[3] // with hidden constraints
	everyPreset(t, func(t *testing.T, o bayes.Options) {
		o.Seed = 1
		a, b := configs(play(t, p, o, nil, 14)), configs(play(t, p, o, nil, 14))
		if a != b {
			t.Errorf("one seed, two searches:\n%s\n%s", a, b)
		}
		o.Seed = 2
		if configs(play(t, p, o, nil, 14)) == a {
			t.Error("two seeds, one search")
		}
	})
}

func TestExhaustion(t *testing.T) {
	p := tiny(t)
	want := int(p.Space.Size())
	everyPreset(t, func(t *testing.T, o bayes.Options) {
		s := play(t, p, o, nil, want+1)
		seen := map[string]bool{}
		for _, tr := range s.Trials() {
			seen[tr.Config.String()] = true
		}
		if len(seen) != want || len(s.Trials()) != want {
			t.Errorf("%d trials of %d configurations; the space has %d", len(s.Trials()), len(seen), want)
		}
		if _, err := s.Ask(context.Background(), 1); !errors.Is(err, bayes.ErrExhausted) {
			t.Errorf("after the last: %v", err)
		}
	})
}

// TestNoDuplicateNoViolation asks in batches, tells out of order and leaves
// some trials open.
func TestNoDuplicateNoViolation(t *testing.T) {
	list := append(all(t)[:6], tiny(t))
	ctx := context.Background()
	everyPreset(t, func(t *testing.T, o bayes.Options) {
		for k, p := range list {
			o.Seed = int64(k)
			s, err := bayes.Open(ctx, p.Space, o, nil)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for len(seen) < 16 {
				batch, err := s.Ask(ctx, 4)
				if err != nil {
					t.Fatal(err)
				}
				for i := len(batch) - 1; i >= 0; i-- {
					c := batch[i].Config
					if seen[c.String()] || !p.Space.Feasible(c.Point()) {
						t.Fatalf("%s: %v is a duplicate or violates a constraint", p.Name, c)
					}
					seen[c.String()] = true
					if i == 2 {
						continue
					}
					if err := s.Tell(ctx, batch[i].ID, p.Cost(c)); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}

func TestEverythingFails(t *testing.T) {
	p := all(t)[0]
	everyPreset(t, func(t *testing.T, o bayes.Options) {
		statuses := []bayes.Status{bayes.Infeasible, bayes.Crashed, bayes.TimedOut, bayes.Lost}
		n := 0
		p.Cost = func(space.Config) bayes.Outcome { n++; return bayes.Failure(statuses[n%len(statuses)], "no") }
		s := play(t, p, o, nil, 20)
		if len(s.Trials()) != 20 {
			t.Errorf("%d trials", len(s.Trials()))
		}
		if _, ok := s.Best(); ok {
			t.Error("there is a best of nothing")
		}
	})
}

func TestConstantObjectiveAndOneWorkingPoint(t *testing.T) {
	p := all(t)[5]
	everyPreset(t, func(t *testing.T, o bayes.Options) {
		p.Cost = func(space.Config) bayes.Outcome { return bayes.Value(-3) }
		play(t, p, o, nil, 12)
		n := 0
		p.Cost = func(space.Config) bayes.Outcome {
			if n++; n == 6 {
				return bayes.Value(1e300)
			}
			return bayes.Failure(bayes.Crashed, "")
		}
		s := play(t, p, o, nil, 14)
		if b, ok := s.Best(); !ok || b.ID != 6 {
			t.Errorf("best %+v %v", b, ok)
		}
	})
}

func TestCancelledAsk(t *testing.T) {
	p := all(t)[0]
	everyPreset(t, func(t *testing.T, o bayes.Options) {
		s, err := bayes.Open(context.Background(), p.Space, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if trials, err := s.Ask(ctx, 1); !errors.Is(err, context.Canceled) || len(trials) != 0 || len(s.Trials()) != 0 {
			t.Errorf("%v, %v", trials, err)
		}
	})
}

// ending is a context that ends when it has been looked at so often.
type ending struct {
	context.Context
	looks int
}

func (e *ending) Err() error {
	if e.looks--; e.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestAskIsInterruptedAnywhere: wherever a fit or the search after it is cut short, nothing
// is asked, and the next trial is what it would have been.
func TestAskIsInterruptedAnywhere(t *testing.T) {
	p := all(t)[0]
	o := small(t, "paper")
	const before = 8
	s := play(t, p, o, nil, before)
	var asked []bayes.Trial
	looks := 0
	for ; len(asked) == 0; looks++ {
		var err error
		asked, err = s.Ask(&ending{context.Background(), looks}, 1)
		if done := err == nil && len(asked) == 1; !done && (!errors.Is(err, context.Canceled) || len(asked) > 0 || len(s.Trials()) != before) {
			t.Fatalf("after %d looks: %v, %v, %d trials", looks, asked, err, len(s.Trials()))
		}
	}
	if least := o.Surrogate.Samples + o.Acquisition.Candidates; looks < least {
		t.Errorf("it looked %d times whether to go on, where it has %d evaluations to make", looks, least)
	}
	if want := play(t, p, o, nil, before+1).Trials()[before]; asked[0].Config.String() != want.Config.String() {
		t.Errorf("after interruptions %v, undisturbed %v", asked[0].Config, want.Config)
	}
}

// TestResumeGoesOn: closing and opening a study between any two calls leaves
// the trials what they would have been. What is resumed depends on the store and on
// the optimiser, but not on both together: the default ones meet in every store.
func TestResumeGoesOn(t *testing.T) {
	p := all(t)[3]
	ctx := context.Background()
	everyPreset(t, func(t *testing.T, o bayes.Options) {
		o.Seed = 5
		const n = 10
		want := configs(play(t, p, o, nil, n))
		for name, open := range stores(t) {
			if name != "jsonl" && !strings.HasSuffix(t.Name(), "/default") {
				continue
			}
			for i := range n {
				s, err := bayes.Open(ctx, p.Space, o, open())
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				asked, err := s.Ask(ctx, 1)
				if err != nil || asked[0].ID != i+1 {
					t.Fatalf("%s: trial %d: %v %v", name, i+1, asked, err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				// The pending trial comes back under its ID.
				if s, err = bayes.Open(ctx, p.Space, o, open()); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				again, err := s.Ask(ctx, 1)
				if err != nil || again[0].ID != i+1 || again[0].Config.String() != asked[0].Config.String() {
					t.Fatalf("%s: pending trial %d came back as %v, %v", name, i+1, again, err)
				}
				if err := s.Tell(ctx, i+1, p.Cost(again[0].Config)); err != nil {
					t.Fatal(err)
				}
				if i == n-1 {
					if got := configs(s); got != want {
						t.Errorf("%s: resumed\n%s\nuninterrupted\n%s", name, got, want)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestMaximize(t *testing.T) {
	p := all(t)[0]
	cost := p.Cost
	for _, name := range []string{"default", "bandit", "ytopt-forest"} {
		p.Cost = func(c space.Config) bayes.Outcome { return bayes.Value(-cost(c).Value) }
		o := small(t, name)
		o.Maximize = true
		o.Surrogate.LogObjective = bayes.Off
		high := play(t, p, o, nil, 25)
		p.Cost = cost
		o = small(t, name)
		o.Surrogate.LogObjective = bayes.Off
		low := play(t, p, o, nil, 25)
		if configs(low) != configs(high) {
			t.Errorf("%s: maximising -f is not minimising f", name)
		}
	}
}

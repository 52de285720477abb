package search

import (
	"context"
	"errors"
	"math/rand"
	"slices"
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

func newSpace(t testing.TB, name string, cores int) *space.Space {
	t.Helper()
	return spacetest.New(t, pipelinetest.Described(t, name), space.Defaults(cores))
}

func newStrategy(t testing.TB, name string, sp *space.Space, seed int64) Strategy {
	t.Helper()
	s, err := New(name, sp, rand.New(rand.NewSource(seed)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pretend is a time that depends on the schedule alone: how much work and how many
// loops there are, made up but not noise.
func pretend(c Candidate) float64 {
	return 1e-3 * float64(1+len(c.Schedule.Directives)) * (1 + float64(c.Hash%97)/100)
}

// run lets a strategy propose and observe, and returns the hashes in order.
func run(t testing.TB, s Strategy, rounds, batch int, judge func(Candidate) Outcome) []uint64 {
	t.Helper()
	var out []uint64
	for range rounds {
		cs, err := s.Propose(context.Background(), batch)
		if err != nil {
			t.Fatal(err)
		}
		if len(cs) > batch {
			t.Fatalf("%d candidates where %d were asked for", len(cs), batch)
		}
		var outcomes []Outcome
		for _, c := range cs {
			out = append(out, c.Hash)
			outcomes = append(outcomes, judge(c))
		}
		if err := s.Observe(outcomes); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func fine(c Candidate) Outcome { return Outcome{Candidate: c, OK: true, Seconds: pretend(c)} }

// Every strategy keeps the promises of the interface.
func TestConformance(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Run("candidates", func(t *testing.T) {
				for _, p := range []string{"harris.h21", "hist.h21", "conv_layer.h21", "scan.h21", "multi_output.h21"} {
					d := pipelinetest.Described(t, p)
					s := newStrategy(t, name, newSpace(t, p, 4), 1)
					run(t, s, 4, 10, func(c Candidate) Outcome {
						if c.State == nil || !c.State.Complete() || c.Origin == "" {
							t.Fatalf("%s: candidate %+v", p, c)
						}
						if c.Hash != c.Schedule.Hash() || c.State.Schedule().Hash() != c.Hash {
							t.Fatalf("%s: the hash is not the schedule's", p)
						}
						if err := c.Schedule.Check(d.Binding()); err != nil {
							t.Fatalf("%s: %v", p, err)
						}
						return fine(c)
					})
				}
			})
			t.Run("same seed same trace", func(t *testing.T) {
				sp := newSpace(t, "harris.h21", 2)
				a := run(t, newStrategy(t, name, sp, 5), 6, 8, fine)
				b := run(t, newStrategy(t, name, sp, 5), 6, 8, fine)
				if !slices.Equal(a, b) || len(a) != 48 {
					t.Error("two runs with one seed differ")
				}
				if c := run(t, newStrategy(t, name, sp, 6), 6, 8, fine); slices.Equal(a, c) {
					t.Error("another seed changes nothing")
				}
			})
			t.Run("nothing twice", func(t *testing.T) {
				seen := map[uint64]bool{}
				for _, h := range run(t, newStrategy(t, name, newSpace(t, "unsharp.h21", 2), 2), 10, 8, fine) {
					if seen[h] {
						t.Fatalf("schedule %016x proposed twice", h)
					}
					seen[h] = true
				}
			})
			t.Run("observed is known", func(t *testing.T) {
				sp := newSpace(t, "harris.h21", 2)
				cs, err := newStrategy(t, name, sp, 3).Propose(context.Background(), 10)
				if err != nil {
					t.Fatal(err)
				}
				s := newStrategy(t, name, sp, 3)
				var told []Outcome
				for _, c := range cs {
					told = append(told, fine(c))
				}
				if err := s.Observe(told); err != nil {
					t.Fatal(err)
				}
				for _, h := range run(t, s, 2, 10, fine) {
					if slices.ContainsFunc(cs, func(c Candidate) bool { return c.Hash == h }) {
						t.Fatalf("schedule %016x was known already", h)
					}
				}
			})
			t.Run("cancellation", func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				cs, err := newStrategy(t, name, newSpace(t, "harris.h21", 2), 1).Propose(ctx, 100)
				if !errors.Is(err, context.Canceled) || len(cs) > 0 {
					t.Errorf("%d candidates, %v", len(cs), err)
				}
			})
			t.Run("all fail", func(t *testing.T) {
				got := run(t, newStrategy(t, name, newSpace(t, "harris.h21", 2), 1), 8, 8, func(c Candidate) Outcome {
					return Outcome{Candidate: c}
				})
				if len(got) != 64 {
					t.Errorf("%d candidates of 64", len(got))
				}
			})
			t.Run("exhaustion", func(t *testing.T) {
				s := newStrategy(t, name, newSpace(t, "constant.h21", 1), 1)
				all := run(t, s, 6, 50, fine)
				if len(all) == 0 {
					t.Fatal("nothing at all was proposed")
				}
				if more := run(t, s, 1, 50, fine); len(more) > 0 {
					t.Errorf("%d schedules, and still %d more, of a space that has few", len(all), len(more))
				}
			})
			t.Run("impossible outcomes", func(t *testing.T) {
				s := newStrategy(t, name, newSpace(t, "harris.h21", 2), 1)
				if err := s.Observe([]Outcome{{OK: true, Seconds: 1}}); err == nil {
					t.Error("an outcome of nothing was taken")
				}
				cs, err := s.Propose(context.Background(), 1)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Observe([]Outcome{{Candidate: cs[0], OK: true}}); err == nil {
					t.Error("a run of no time was taken")
				}
			})
		})
	}
}

func TestUnknownStrategy(t *testing.T) {
	if _, err := New("oracle", newSpace(t, "constant.h21", 1), rand.New(rand.NewSource(1))); err == nil {
		t.Error("the oracle was found")
	}
}

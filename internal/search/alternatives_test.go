package search

import (
	"context"
	"math/rand"
	"testing"

	"github.com/protuner/protuner/internal/space"
)

// Both spaces are tried, then most of what is measured is of the better one, without
// giving the other up; and once the other turns out better it is the other way round.
func TestAlternativesFollowTheFaster(t *testing.T) {
	spaces := []*space.Space{newSpace(t, "softmax.h21", 2), newSpace(t, "softmax_parts.h21", 2)}
	var strategies []Strategy
	for i, sp := range spaces {
		strategies = append(strategies, NewRandom(sp, rand.New(rand.NewSource(int64(i)))))
	}
	a := NewAlternatives(spaces, strategies)
	seconds := []float64{2, 1}
	count := func(rounds int) []int {
		n := make([]int, 2)
		run(t, a, rounds, 1, func(c Candidate) Outcome {
			for i, sp := range spaces {
				if c.State.Space() == sp {
					n[i]++
					return Outcome{Candidate: c, OK: true, Seconds: seconds[i]}
				}
			}
			t.Fatal("a candidate of neither space")
			return Outcome{}
		})
		return n
	}
	if n := count(2 * promptly); n[0] != promptly || n[1] != promptly {
		t.Errorf("it began with %v", n)
	}
	if n := count(170); n[0] >= 12 || n[1] < 150 {
		t.Errorf("half as fast, it had %v", n)
	}
	if n := count(340); n[0] < 15 {
		t.Errorf("the slower one was given up: %v", n)
	}
	seconds[0] = 0.5
	if n := count(400); n[0] < 300 {
		t.Errorf("twice as fast now, it had %v", n)
	}
}

// Where one has no more to propose the other goes on; where none has, that is the end.
func TestAlternativesEnd(t *testing.T) {
	sp := newSpace(t, "harris.h21", 2)
	some, err := NewRandom(sp, rand.New(rand.NewSource(1))).Propose(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	a := NewAlternatives([]*space.Space{newSpace(t, "hist.h21", 2), sp}, []Strategy{silent{}, NewBegun(some, silent{})})
	got, err := a.Propose(t.Context(), 9)
	if err != nil || len(got) != 5 {
		t.Errorf("%d candidates, %v", len(got), err)
	}
	if got, err := a.Propose(t.Context(), 1); err != nil || len(got) != 0 {
		t.Errorf("then %d, %v", len(got), err)
	}
	if err := a.Observe([]Outcome{fine(newCandidate(rollout(newSpace(t, "unsharp.h21", 2).Start(), rand.New(rand.NewSource(1))), "random"))}); err == nil {
		t.Error("an outcome of neither space is taken")
	}
}

// silent has nothing to propose.
type silent struct{}

func (silent) Propose(context.Context, int) ([]Candidate, error) { return nil, nil }
func (silent) Observe([]Outcome) error                           { return nil }

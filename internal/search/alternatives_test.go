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

// Where one has no more to propose the other goes on, and it is asked again once it has been
// told something; where none has, that is the end, but for asking all once more.
func TestAlternativesEnd(t *testing.T) {
	sp, other := newSpace(t, "harris.h21", 2), newSpace(t, "hist.h21", 2)
	some, err := NewRandom(sp, rand.New(rand.NewSource(1))).Propose(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	a := NewAlternatives([]*space.Space{other, sp}, []Strategy{silent{&asked}, NewBegun(some, silent{new(int)})})
	propose := func(n, want, wantAsked int) {
		t.Helper()
		if got, err := a.Propose(t.Context(), n); err != nil || len(got) != want || asked != wantAsked {
			t.Errorf("%d candidates, %v; the one that has none was asked %d times", len(got), err, asked)
		}
	}
	propose(2, 2, 1)
	propose(2, 2, 1)
	if err := a.Observe([]Outcome{fine(NewCandidate(other.Start().SampleDown(rand.New(rand.NewSource(1))), "random"))}); err != nil {
		t.Fatal(err)
	}
	propose(9, 1, 2)
	propose(1, 0, 3)
	if err := a.Observe([]Outcome{fine(NewCandidate(newSpace(t, "unsharp.h21", 2).Start().SampleDown(rand.New(rand.NewSource(1))), "random"))}); err == nil {
		t.Error("an outcome of neither space is taken")
	}
}

// silent has nothing to propose.
type silent struct{ asked *int }

func (s silent) Propose(context.Context, int) ([]Candidate, error) {
	*s.asked++
	return nil, nil
}

func (silent) Observe([]Outcome) error { return nil }

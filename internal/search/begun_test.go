package search

import (
	"context"
	"math/rand"
	"testing"

	"github.com/protuner/protuner/internal/schedule"
)

// What was handed in comes first, nothing comes twice, and the strategy that goes on
// has learned what became of it.
func TestBegunGoesOn(t *testing.T) {
	sp := newSpace(t, "boundary.h21", 4)
	given, err := NewRandom(sp, rand.New(rand.NewSource(9))).Propose(context.Background(), 5)
	if err != nil {
		t.Fatal(err)
	}
	then := NewEvolve(sp, rand.New(rand.NewSource(1)), EvolveDefaults())
	s := NewBegun(append(given, given[0]), then)
	seen := map[uint64]bool{}
	for i := range 20 {
		cs, err := s.Propose(context.Background(), 3)
		if err != nil || len(cs) != 3 {
			t.Fatalf("proposed %d: %v", len(cs), err)
		}
		var outcomes []Outcome
		for k, c := range cs {
			if n := 3*i + k; n < len(given) && c.Hash != given[n].Hash {
				t.Errorf("candidate %d is not the given one", n)
			}
			if seen[c.Hash] {
				t.Errorf("%016x was proposed twice", c.Hash)
			}
			seen[c.Hash] = true
			outcomes = append(outcomes, Outcome{Candidate: c, OK: true, Seconds: pretend(c)})
		}
		if err := s.Observe(outcomes); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range given {
		if !then.seen[c.Hash] {
			t.Errorf("%016x was not learned from", c.Hash)
		}
	}
}

// A schedule that the space cannot say is proposed, and nothing else comes of it.
func TestBegunTakesSchedulesWithoutAState(t *testing.T) {
	sp := newSpace(t, "boundary.h21", 4)
	foreign := Candidate{Schedule: schedule.Schedule{Directives: []schedule.Directive{{Op: schedule.Atomic, Func: "f"}}}}
	foreign.Hash = foreign.Schedule.Hash()
	then := NewEvolve(sp, rand.New(rand.NewSource(1)), EvolveDefaults())
	s := NewBegun([]Candidate{foreign}, then)
	cs, err := s.Propose(t.Context(), 1)
	if err != nil || len(cs) != 1 || cs[0].Hash != foreign.Hash {
		t.Fatalf("proposed %v: %v", cs, err)
	}
	if err := s.Observe([]Outcome{{Candidate: foreign, OK: true, Seconds: 1e-9}}); err != nil {
		t.Fatal(err)
	}
	if then.seen[foreign.Hash] || len(then.best) > 0 {
		t.Error("the other strategy was told")
	}
}

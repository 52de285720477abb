// Package search looks for fast schedules in a space, in two ways. A Strategy proposes
// candidates and learns from what was measured of them (docs/evolve.md). A Searcher walks
// the tree of decisions with nothing but a cost model: the Monte Carlo tree search of
// Haj-Ali et al. 2020, "ProTuner: Tuning Programs with Monte Carlo Tree Search", the beam
// search of Adams et al. 2019, "Learning to Optimize Halide with Tree Search and Random
// Programs", section 3.2, and what these are compared with (docs/search.md).
package search

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
)

// Candidate is a complete schedule worth measuring.
type Candidate struct {
	// State is nil for a schedule that the space cannot say, which only NewBegun takes.
	State    *space.State
	Schedule schedule.Schedule
	// Origin says how it came about: "random", "prototype:strips-32",
	// "chain-slide", ...
	Origin string
	// Hash is the schedule's own hash. A strategy never proposes one twice.
	Hash uint64
}

// Decisions are the state's, as text (space.FormatTrace); empty without one.
func (c Candidate) Decisions() string {
	if c.State == nil {
		return ""
	}
	return c.State.Space().FormatTrace(c.State.Trace())
}

// Outcome is what became of a candidate.
type Outcome struct {
	Candidate Candidate
	// OK says that it compiled, ran and computed the right thing; Seconds is then
	// the time of one run.
	OK      bool
	Seconds float64
	// Late says that it was given up before it was timed: compiling or checking it took
	// too long.
	Late bool
}

// Strategy proposes candidates and is told how they fared. Strategies are used
// from one goroutine. Given the same space, seed and calls they do the same.
type Strategy interface {
	// Propose returns up to n candidates it has not proposed before. Fewer than n,
	// and none at all, mean that it found no more; it may find some again after
	// Observe. The error is the context's.
	Propose(ctx context.Context, n int) ([]Candidate, error)
	// Observe takes outcomes in any order, also of schedules the strategy did not
	// propose, which it then learns from as if it had. An error names an outcome
	// that cannot be one.
	Observe(outcomes []Outcome) error
}

var strategies = map[string]func(*space.Space, *rand.Rand) Strategy{
	"random": func(sp *space.Space, rng *rand.Rand) Strategy { return NewRandom(sp, rng) },
	"evolve": func(sp *space.Space, rng *rand.Rand) Strategy { return NewEvolve(sp, rng, EvolveDefaults()) },
}

// Names lists the strategies New knows.
func Names() []string { return slices.Sorted(maps.Keys(strategies)) }

// New makes the strategy of that name with its defaults.
func New(name string, sp *space.Space, rng *rand.Rand) (Strategy, error) {
	strategy, ok := strategies[name]
	if !ok {
		return nil, fmt.Errorf("search: there is no strategy %q: choose one of %s", name, strings.Join(Names(), ", "))
	}
	return strategy(sp, rng), nil
}

// NewCandidate reads a candidate off a complete state.
func NewCandidate(s *space.State, origin string) Candidate {
	sch := s.Schedule()
	return Candidate{State: s, Schedule: sch, Origin: origin, Hash: sch.Hash()}
}

// seen is the set of schedules proposed or observed so far.
type seen map[uint64]bool

// take reports whether the candidate is new, and notes it.
func (s seen) take(c Candidate) bool {
	if s[c.Hash] {
		return false
	}
	s[c.Hash] = true
	return true
}

// validate refuses outcomes that cannot be.
func validate(o Outcome) error {
	if o.Candidate.State == nil || !o.Candidate.State.Complete() {
		return fmt.Errorf("search: outcome of schedule %016x has no complete state", o.Candidate.Hash)
	}
	if o.OK && !(o.Seconds > 0) {
		return fmt.Errorf("search: outcome of schedule %016x took %g seconds", o.Candidate.Hash, o.Seconds)
	}
	return nil
}

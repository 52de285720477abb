package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/protuner/protuner/internal/space"
)

// Alternatives searches several spaces of one pipeline, a strategy each, and gives most
// proposals to where the fastest schedules are (whoseTurn).
type Alternatives struct {
	spaces     []*space.Space
	strategies []Strategy
	dues       []due
	spent      []bool // found no more when they were asked last
}

// eagerness is the power of the slowdown by which slower spaces get fewer turns
// (whoseTurn).
const eagerness = 4

// NewAlternatives makes a strategy of those for each of the spaces.
func NewAlternatives(spaces []*space.Space, strategies []Strategy) *Alternatives {
	return &Alternatives{spaces, strategies, newDues(slices.Repeat([]int{promptly}, len(spaces))...), make([]bool, len(spaces))}
}

// Propose implements Strategy. A strategy that found no more is not asked again before it is
// told something or no other finds any either: looking costs it more than finding does.
func (a *Alternatives) Propose(ctx context.Context, n int) ([]Candidate, error) {
	var out []Candidate
	if !slices.Contains(a.spent, false) {
		clear(a.spent)
	}
	for len(out) < n {
		next := whoseTurn(a.dues, func(i int) bool { return !a.spent[i] }, eagerness)
		if next < 0 {
			return out, ctx.Err()
		}
		made, err := a.strategies[next].Propose(ctx, 1)
		if err != nil {
			return out, err
		}
		a.dues[next].turns += float64(len(made))
		a.spent[next] = len(made) == 0
		out = append(out, made...)
	}
	return out, nil
}

// Observe implements Strategy.
func (a *Alternatives) Observe(outcomes []Outcome) error {
	for _, o := range outcomes {
		if err := validate(o); err != nil {
			return err
		}
		i := slices.Index(a.spaces, o.Candidate.State.Space())
		if i < 0 {
			return fmt.Errorf("search: outcome of schedule %016x is of none of the spaces", o.Candidate.Hash)
		}
		a.dues[i].learn(o)
		a.spent[i] = false
		if err := a.strategies[i].Observe([]Outcome{o}); err != nil {
			return err
		}
	}
	return nil
}

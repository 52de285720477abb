package search

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/protuner/protuner/internal/space"
)

// Alternatives searches several spaces of one pipeline, a strategy each, and gives most
// proposals to where the fastest schedules are: those that others than the best get are
// fewer by the power of eagerness of how much slower their best is, but one in
// leastTurns of its own at least.
type Alternatives struct {
	of []alternative
}

type alternative struct {
	sp       *space.Space
	strategy Strategy
	turns    float64 // proposals so far
	best     float64 // seconds of its fastest; infinite while nothing worked
}

const (
	eagerness  = 4
	leastTurns = 16
)

// NewAlternatives makes a strategy of those for each of the spaces.
func NewAlternatives(spaces []*space.Space, strategies []Strategy) *Alternatives {
	a := &Alternatives{}
	for i, sp := range spaces {
		a.of = append(a.of, alternative{sp, strategies[i], 0, math.Inf(1)})
	}
	return a
}

// Propose implements Strategy.
func (a *Alternatives) Propose(ctx context.Context, n int) ([]Candidate, error) {
	var out []Candidate
	spent := make([]bool, len(a.of))
	for len(out) < n {
		next := a.next(spent)
		if next < 0 {
			return out, ctx.Err()
		}
		made, err := a.of[next].strategy.Propose(ctx, 1)
		if err != nil {
			return out, err
		}
		a.of[next].turns += float64(len(made))
		spent[next] = len(made) == 0
		out = append(out, made...)
	}
	return out, nil
}

// next is the alternative whose turn it is, -1 where all are spent. All have as many
// until each has been tried promptly.
func (a *Alternatives) next(spent []bool) int {
	best := math.Inf(1)
	early := false
	for i := range a.of {
		best = min(best, a.of[i].best)
		early = early || a.of[i].turns < promptly && !spent[i]
	}
	chosen, least := -1, math.Inf(1)
	for i, o := range a.of {
		share := 1.0
		if !early && !math.IsInf(best, 1) {
			share = max(math.Pow(best/o.best, eagerness), 1.0/leastTurns)
		}
		if had := o.turns / share; !spent[i] && had < least {
			chosen, least = i, had
		}
	}
	return chosen
}

// Observe implements Strategy.
func (a *Alternatives) Observe(outcomes []Outcome) error {
	for _, o := range outcomes {
		if err := validate(o); err != nil {
			return err
		}
		i := slices.IndexFunc(a.of, func(of alternative) bool { return of.sp == o.Candidate.State.Space() })
		if i < 0 {
			return fmt.Errorf("search: outcome of schedule %016x is of none of the spaces", o.Candidate.Hash)
		}
		if o.OK {
			a.of[i].best = min(a.of[i].best, o.Seconds)
		}
		if err := a.of[i].strategy.Observe([]Outcome{o}); err != nil {
			return err
		}
	}
	return nil
}

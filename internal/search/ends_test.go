package search

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
)

// What was costed before a search was cut off counts, also of a batch that is not complete.
func TestDrawsKeepWhatTheyCosted(t *testing.T) {
	for _, workers := range []int{1, 3} {
		ctx, cancel := context.WithCancel(t.Context())
		e := &cutOff{lastCosts: &lastCosts{toyCosts: &toyCosts{}}, after: drawn/2 - 1, cancel: cancel}
		r, err := Draws{}.Search(ctx, Problem{Root: uniform(5, 4, 1).root(), Evaluator: e, Workers: workers}, Budget{Evaluations: 1000}, 1)
		if !errors.Is(err, context.Canceled) || r.Fallback || r.Steps != int64(len(e.costs)) || r.Cost != slices.Min(e.costs) {
			t.Errorf("%d workers: %v, fallback %v, %g after %d of %d draws", workers, err, r.Fallback, r.Cost, r.Steps, len(e.costs))
		}
	}
}

// cutOff ends the search after so many costs.
type cutOff struct {
	mu sync.Mutex
	*lastCosts
	after  int
	cancel context.CancelFunc
}

func (e *cutOff) Evaluate(ctx context.Context, dst []float64, batch []Node) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.costs) == e.after {
		e.cancel()
		return ctx.Err()
	}
	return e.lastCosts.Evaluate(ctx, dst, batch)
}

// inTurn is a search that ends as told, each time otherwise.
type inTurn struct {
	ends []func() (Result, error)
	runs int
}

func (s *inTurn) Search(context.Context, Problem, Budget, int64) (Result, error) {
	s.runs++
	return s.ends[(s.runs-1)%len(s.ends)]()
}

// A run that finds nothing with a cost takes nothing from what other runs found, and ends the
// search only where none did.
func TestRerunsOutliveOneWithoutACost(t *testing.T) {
	toy := uniform(2, 3, 1)
	leaf := finish(toy.root(), newStream(1))
	good := func() (Result, error) {
		x := Solution{leaf, 2}
		return Result{Solution: x, Top: []Solution{x}, Evaluations: 10}, nil
	}
	none := func() (Result, error) {
		x := Solution{leaf, math.Inf(1)}
		return Result{Solution: x, Top: []Solution{x}, Evaluations: 10, Fallback: true}, ErrNoCost
	}
	p := Problem{Root: toy.root(), Evaluator: &toyCosts{}}
	s := &inTurn{ends: []func() (Result, error){good, none, none, good}}
	if r, err := (Rerun{Inner: s}).Search(t.Context(), p, Budget{Evaluations: 50}, 1); err != nil || r.Cost != 2 || s.runs != 5 || r.Fallback {
		t.Errorf("%g, fallback %v, %v after %d runs of 5", r.Cost, r.Fallback, err, s.runs)
	}
	first := &inTurn{ends: []func() (Result, error){good}}
	s = &inTurn{ends: []func() (Result, error){good}}
	if _, err := (Rerun{Inner: s, First: first}).Search(t.Context(), p, Budget{Evaluations: 50}, 1); err != nil || first.runs != 1 || s.runs != 4 {
		t.Errorf("%v after %d runs of the first and %d of the others", err, first.runs, s.runs)
	}
	toy.cost = func([]int) float64 { return math.Inf(1) }
	s = &inTurn{ends: []func() (Result, error){none}}
	if _, err := (Rerun{Inner: s}).Search(t.Context(), p, Budget{Evaluations: 50}, 1); !errors.Is(err, ErrNoCost) || s.runs != 1 {
		t.Errorf("nothing has a cost: %v after %d runs", err, s.runs)
	}
}

// A beam whose passes came to nothing with a cost, and whose last pass is cut off on the way,
// ends with what it falls back on where that has one.
func TestBeamsFallBackOnACost(t *testing.T) {
	toy := uniform(3, 3, 1)
	toy.cost = func(path []int) float64 {
		switch {
		case len(path) < 3:
			return 1 + float64(path[len(path)-1])
		case path[1] == 2: // which a beam of two never comes to
			return 5
		}
		return math.Inf(1)
	}
	finite := 0
	for seed := range int64(30) {
		p := Problem{Root: toy.root(), Evaluator: &toyCosts{}}
		r, err := NewBeam(BeamOptions{Size: 2, Passes: 2, Dropout: 100}).Search(t.Context(), p, Budget{Evaluations: 3 + 6 + 6 + 3}, seed)
		switch cost := toy.cost(r.Node.(toyNode).path); {
		case err == nil && !math.IsInf(r.Cost, 1) && r.Cost == cost && r.Fallback:
			finite++
		case !errors.Is(err, ErrNoCost) || !math.IsInf(cost, 1):
			t.Errorf("seed %d: %v of cost %g: %v", seed, r.Node.(toyNode).path, r.Cost, err)
		}
	}
	if finite == 0 {
		t.Error("nothing to fall back on ever had a cost: nothing was tested")
	}
}

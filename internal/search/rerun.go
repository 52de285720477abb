package search

import (
	"context"
	"errors"
	"math"
)

// Rerun runs a search again and again, each time with another seed, until the
// budget is spent (ProTuner, section 5.4 and figure 9).
type Rerun struct {
	// Inner is every run, or every one but the first where First is set.
	Inner, First Searcher
	// Part is what one run may spend, as a part of the budget: 0 stands for all that
	// is left, for searches that end by themselves.
	Part float64
}

// Search implements Searcher. It needs a budget.
func (r Rerun) Search(ctx context.Context, p Problem, b Budget, seed int64) (Result, error) {
	m, in, end, err := beginSearch(ctx, p, b, true)
	if err != nil {
		return Result{}, err
	}
	defer end()
	found := newShelf(p)
	var fallback *Result
	for run := 0; run == 0 || !m.over(in); run++ {
		each := m.left(b)
		if r.Part > 0 {
			each = b.part(r.Part).least(each)
		}
		inner := r.Inner
		if run == 0 && r.First != nil {
			inner = r.First
		}
		res, e := inner.Search(in, p, each, newStream(seed, uint64(run)).Int63())
		m.searched(res)
		m.steps.Add(res.Steps)
		if !res.Fallback {
			for _, x := range res.Top {
				found.put(x)
			}
		} else if fallback == nil && res.Node != nil {
			fallback = &res
		}
		if errors.Is(e, ErrNoCost) && len(found.kept) > 0 {
			e = nil // another run found some that have one
		}
		// A run that had no evaluation left to spend would go on for ever.
		if err = e; err != nil || res.Evaluations == 0 {
			break
		}
	}
	if fallback != nil && len(found.kept) == 0 && !math.IsInf(fallback.Cost, 1) {
		// It has been costed already.
		found.put(fallback.Solution)
		out, err := m.result(ctx, found, p.Root, seed, err)
		out.Fallback = true
		return out, err
	}
	return m.result(ctx, found, p.Root, seed, err)
}

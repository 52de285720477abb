package search

import (
	"context"
	"math"
)

// Draws samples complete nodes and costs each: the floor that other searches are
// measured against, with a model in place of ProTuner's measurements.
type Draws struct{}

// drawn is how many nodes are sampled at once.
const drawn = 64

// Search implements Searcher. It needs a budget.
func (Draws) Search(ctx context.Context, p Problem, b Budget, seed int64) (Result, error) {
	m, in, end, err := beginSearch(ctx, p, b, true)
	if err != nil {
		return Result{}, err
	}
	defer end()
	found, nodes, costs := newShelf(p), make([]Node, drawn), make([]float64, drawn)
	for at := 0; err == nil && !m.over(in); at += drawn {
		n := drawn
		if b.Evaluations > 0 {
			n = int(min(int64(n), b.Evaluations-m.evals.Load()))
		}
		for i := range costs {
			costs[i] = math.NaN() // of what the end of the time leaves out
		}
		err = eachOf(n, p.Workers, func(i int) error {
			nodes[i] = sampleDown(p.Root, newStream(seed, uint64(at+i)))
			var cost [1]float64
			if err := m.evaluate(in, cost[:], nodes[i:i+1]); err != nil {
				return err
			}
			costs[i] = cost[0]
			return nil
		})
		for i := range n {
			if !math.IsNaN(costs[i]) {
				found.put(Solution{nodes[i], costs[i]})
				m.steps.Add(1)
			}
		}
	}
	return m.result(ctx, found, p.Root, seed, err)
}

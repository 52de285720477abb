package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/search"
)

// least prints the lowest cost of all complete schedules there are, over the beam's,
// unless those are more than most: what no search can pass.
func least(ctx context.Context, t target, beam float64, most int64) {
	best, all := math.Inf(1), int64(0)
	var below func(n search.Node) bool
	below = func(n search.Node) bool {
		var complete []search.Node
		for _, c := range n.Children(nil) {
			if c.Complete() {
				complete = append(complete, c)
			} else if !below(c) {
				return false
			}
		}
		if len(complete) > 0 {
			costs := make([]float64, len(complete))
			claim.Fail(t.p.Evaluator.Evaluate(ctx, costs, complete))
			best = min(best, slices.Min(costs))
			all += int64(len(complete))
		}
		return all <= most
	}
	if !below(t.p.Root) {
		fmt.Printf("%s: more than %d complete schedules\n", t.app, most)
		return
	}
	fmt.Printf("%s: the least of all %d complete schedules is %.3f of the beam's cost\n", t.app, all, best/beam)
}

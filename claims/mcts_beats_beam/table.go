package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/search"
)

// table prints, for the paper's ensemble and for protuner, what each option beyond
// the paper brings: the predicted cost with it over that without it, all else the
// same, in geometric mean over the seeds.
func table(ctx context.Context, targets []target, evaluations int64, seeds int) {
	for _, base := range []string{"mcts", "protuner"} {
		fmt.Printf("| on `%s` |", base)
		for _, t := range targets {
			fmt.Printf(" %s |", t.app)
		}
		fmt.Printf(" geometric mean |\n|---|%s\n", strings.Repeat("---|", len(targets)+1))
		known := map[string][]float64{}
		for _, a := range search.Additions() {
			on := costs(ctx, base, a.On, targets, evaluations, seeds, known)
			off := costs(ctx, base, a.Off, targets, evaluations, seeds, known)
			fmt.Printf("| `%s` |", a.Name)
			sum := 0.0
			for i := range targets {
				fmt.Printf(" %.3f |", math.Exp(on[i]-off[i]))
				sum += (on[i] - off[i]) / float64(len(targets))
			}
			fmt.Printf(" %.3f |\n", math.Exp(sum))
		}
		fmt.Println()
	}
}

// costs are the mean logarithms of the costs found, by target. What is known of the
// same options is not searched for again.
func costs(ctx context.Context, base string, change func(*search.MCTSOptions), targets []target, evaluations int64, seeds int, known map[string][]float64) []float64 {
	var options string
	s, err := search.NewModel(base, func(o *search.MCTSOptions) {
		change(o)
		options = fmt.Sprintf("%+v", *o)
	})
	claim.Fail(err)
	if out := known[options]; out != nil {
		return out
	}
	out := make([]float64, len(targets))
	for i, t := range targets {
		for seed := range seeds {
			r, err := s.Search(ctx, t.p, search.Budget{Evaluations: evaluations}, int64(seed+1))
			claim.Fail(err)
			out[i] += math.Log(r.Cost) / float64(seeds)
		}
	}
	known[options] = out
	return out
}

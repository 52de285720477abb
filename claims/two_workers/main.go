// Claim: with two workers the ensemble costs at least 1.8 times the schedules a
// second that it does with one: interleaved, best of five for each seed, in geometric mean
// over three. Both search the same seed for the same number of evaluations, and so cost the
// very same schedules: within a time, the one that came further would cost other ones. Run
// it on a machine of two cores or more that does nothing else.
//
//	go run ./claims/two_workers [-search protuner] [-app harris] [-evaluations 60000] [-seeds 3]
package main

import (
	"flag"
	"fmt"
	"slices"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/claims/problem"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/search"
)

func main() {
	name := flag.String("search", "protuner", "search")
	app := flag.String("app", "harris", "app")
	evaluations := flag.Int64("evaluations", 60000, "evaluations of one run")
	seeds := flag.Int("seeds", 3, "seeds")
	flag.Parse()
	ctx := claim.Context()
	o, err := problem.Open(ctx, claim.Source(*app), bridge.DefaultVersion, 2)
	claim.Fail(err)
	s, err := search.NewSearcher(*name, nil)
	claim.Fail(err)
	var ratios []float64
	for seed := range *seeds {
		var best [2]float64
		for range 5 {
			for w := range best {
				r, err := s.Search(ctx, o.Problem(w+1), search.Budget{Evaluations: *evaluations}, int64(seed+1))
				claim.Fail(err)
				best[w] = max(best[w], float64(r.Evaluations)/r.Elapsed.Seconds())
			}
		}
		ratio := best[1] / best[0]
		fmt.Printf("seed %d: %.0f schedules costed a second by two workers, %.0f by one: %.2f\n", seed+1, best[1], best[0], ratio)
		ratios = append(ratios, ratio)
	}
	ratio := measure.GeometricMean(ratios)
	claim.Say(ratio >= 1.8, "two workers cost %.2f times the schedules that one does, %s on %s, seeds from %.2f to %.2f", ratio, *name, *app, slices.Min(ratios), slices.Max(ratios))
}

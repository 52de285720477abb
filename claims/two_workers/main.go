// Claim: with two workers the ensemble costs at least 1.8 times the schedules a
// second that it does with one: interleaved, best of five. Both search the same seed
// for the same number of evaluations, and so cost the very same schedules: within a
// time, the one that came further would cost other ones. Run it on a machine of two
// cores or more that does nothing else.
//
//	go run ./claims/two_workers [-search protuner] [-app harris] [-evaluations 60000]
package main

import (
	"flag"
	"fmt"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/claims/problem"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/search"
)

func main() {
	name := flag.String("search", "protuner", "search")
	app := flag.String("app", "harris", "app")
	evaluations := flag.Int64("evaluations", 60000, "evaluations of one run")
	flag.Parse()
	ctx := claim.Context()
	o, err := problem.Open(ctx, claim.Source(*app), bridge.DefaultVersion, 2)
	claim.Fail(err)
	s, err := search.NewModel(*name, nil)
	claim.Fail(err)
	var best [2]float64
	for round := range 5 {
		for w := range best {
			r, err := s.Search(ctx, o.Problem(w+1), search.Budget{Evaluations: *evaluations}, int64(round+1))
			claim.Fail(err)
			rate := float64(r.Evaluations) / r.Elapsed.Seconds()
			fmt.Printf("%d workers: %.0f schedules costed a second\n", w+1, rate)
			best[w] = max(best[w], rate)
		}
	}
	ratio := best[1] / best[0]
	claim.Say(ratio >= 1.8, "two workers cost %.2f times the schedules that one does (%.0f and %.0f a second), %s on %s", ratio, best[1], best[0], *name, *app)
}

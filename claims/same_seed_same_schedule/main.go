// Claim: a seed and a number of evaluations give the same schedule, bit for bit, with
// 1, 2 and 8 workers, and another run gives it again; for every search, on every app.
package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/claims/problem"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/search"
)

func main() {
	evaluations := flag.Int64("evaluations", 4000, "evaluations a search")
	names := flag.String("search", strings.Join(search.SearcherNames(), ","), "searches")
	flag.Parse()
	ctx := claim.Context()
	same, all := 0, 0
	for _, app := range claim.Apps {
		o, err := problem.Open(ctx, claim.Source(app), bridge.DefaultVersion, 2)
		claim.Fail(err)
		for _, name := range strings.Split(*names, ",") {
			if search.Measures(name) {
				continue // goes by times measured
			}
			s, err := search.NewSearcher(name, nil)
			if search.RootTime(name) > 0 {
				s, err = search.NewSearcher(name, func(o *search.MCTSOptions) { o.RootTime = 0 })
			}
			claim.Fail(err)
			first := ""
			good := true
			for _, workers := range []int{1, 2, 8} {
				r, err := s.Search(ctx, o.Problem(workers), search.Budget{Evaluations: *evaluations}, 7)
				claim.Fail(err)
				text := fmt.Sprintf("%x %d\n%s", r.Cost, r.Evaluations, r.Node.(*search.StateNode).State().Schedule())
				if first == "" {
					first = text
				}
				good = good && text == first
			}
			all++
			if good {
				same++
			} else {
				fmt.Printf("%s on %s: schedules differ\n", name, app)
			}
		}
		fmt.Printf("%s: done\n", app)
	}
	if all == 0 {
		claim.Fail(fmt.Errorf("none of %s is a search that goes by the model alone", *names))
	}
	claim.Say(same == all, "%d of %d searches find the same schedule with 1, 2 and 8 workers", same, all)
}

// Claim: what we predict for a schedule is within 0.1% of what Adams2019 prints for it
// with the same weights and cores, on every schedule that it makes, greedily and under
// random dropout, under every Halide tested. At least 300 schedules over at least 12
// pipelines, those of features_match_adams2019. With -made the weights are random ones
// that Adams2019 is given in a .weights file of ours.
//
//	go run ./claims/cost_matches_adams2019 [-seeds 12] [-only harris,hist] [-halide 21.0.0] [-made] [HALIDE_SOURCE]
package main

import (
	"flag"
	"math/rand"
	"strings"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/claims/oracle"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/nn"
)

func main() {
	seeds := flag.Int("seeds", 12, "searches under random dropout for each pipeline, beside the greedy one")
	only := flag.String("only", "", "names of Generators, comma-separated; default all")
	versions := flag.String("halide", strings.Join(bridge.TestedVersions, ","), "versions of Halide")
	made := flag.Bool("made", false, "use random weights, in a .weights file of ours, in place of Halide's own")
	flag.Parse()
	t, pipelines, err := oracle.CompareAll(claim.Context(), strings.Split(*versions, ","), flag.Arg(0), *only, *seeds, func(version string) oracle.Options {
		o := oracle.Defaults(version)
		if *made {
			o.Weights = nn.Random(rand.New(rand.NewSource(1)))
		}
		return o
	})
	claim.Fail(err)
	enough := t.Schedules >= 300 && pipelines >= 12
	claim.Say(enough && t.Near == t.Schedules && t.Unopened == 0, "costs within 0.1%% of Adams2019's on %d of %d schedules over %d pipelines; the worst is off by %.2g%%; %d Generators that ours cannot open (bar 0)",
		t.Near, t.Schedules, pipelines, 100*t.Worst, t.Unopened)
}

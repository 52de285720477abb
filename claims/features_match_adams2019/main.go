// Claim: on every schedule that Adams2019 makes, greedily and under random dropout,
// all 39 features of the schedule and 287 of the algorithm of every stage are within
// 1e-5 of those it writes to its .featurization, under every Halide tested. At least
// 300 schedules over at least 12 pipelines: the Generators of apps/ and the made-up
// ones of halide/testdata, and those of Halide's apps where a folder of its source is
// given.
//
//	go run ./claims/features_match_adams2019 [-seeds 12] [-only harris,hist] [-halide 21.0.0] [HALIDE_SOURCE]
package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/claims/oracle"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/feature"
)

func main() {
	seeds := flag.Int("seeds", 12, "searches under random dropout for each pipeline, beside the greedy one")
	only := flag.String("only", "", "names of Generators, comma-separated; default all")
	versions := flag.String("halide", strings.Join(bridge.TestedVersions, ","), "versions of Halide")
	flag.Parse()
	t, pipelines, err := oracle.CompareAll(claim.Context(), strings.Split(*versions, ","), flag.Arg(0), *only, *seeds, oracle.Defaults)
	claim.Fail(err)
	enough := t.Schedules >= 300 && pipelines >= 12
	fmt.Printf("states made: %d of the .schedule.h, which says one state only; %d of the loop nest that Adams2019 prints; %d of a nest that several states have, one with its features; %d could not be\n",
		t.Origins[oracle.FromSchedule], t.Origins[oracle.FromNest], t.Origins[oracle.FromOpenNest], t.NotImported)
	claim.Say(enough && t.Same == t.Schedules && t.Unopened == 0, "all %d features of every stage within 1e-5 on %d of %d schedules over %d pipelines (%d of %d values differ); %d Generators that ours cannot open (bar 0)",
		feature.NumSchedule+feature.NumPipeline, t.Same, t.Schedules, pipelines, t.Different, t.Values, t.Unopened)
}

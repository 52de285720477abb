// Claim: ProTuner's ensemble that times at each root what its trees find (mcts_cost+real_1s)
// ends with faster schedules, in geometric mean over apps and by all of its interval, than the
// one that asks the model alone (mcts_1s), by the same seed, with a tenth of the paper's times,
// and nowhere with one that is less than 0.9 times as fast. It takes much longer. -dir keeps the
// run, which then goes on where it was stopped.
package main

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bench"
)

const (
	claimed = "iir_blur,unsharp,harris,bilateral_grid,max_filter,camera_pipe"
	least   = 0.9

	timed = "protuner:mcts_cost+real_1s"
	asked = "protuner:mcts_1s"
)

func main() {
	apps := flag.String("apps", claimed, "applications")
	seed := flag.Int64("seed", 1, "seed")
	dir := flag.String("dir", "", "folder to keep the run in")
	flag.Parse()
	o := bench.Defaults()
	o.Apps, o.Methods = strings.Split(*apps, ","), []string{timed, asked}
	o.Divide, o.Seed, o.Budget, o.PeerTime = 10, *seed, 10*time.Minute, 30*time.Minute
	_, s := claim.Bench(claim.Context(), o, "", *dir)
	alone := claim.Method(s, asked)
	slowest := math.Inf(1)
	for _, c := range alone.Cells {
		if ratio := c.Ratio; ratio != nil {
			slowest = min(slowest, ratio.Value)
		}
	}
	mean, raced := alone.Ratio, alone.Apps
	if mean == nil {
		claim.Fail(fmt.Errorf("no application was raced"))
	}
	claim.SayOf(*apps == claimed, mean.Low > 1 && slowest >= least && raced == len(s.Apps),
		"timing at roots (%s) ends at %s times the speed of asking the model alone (%s), in geometric mean over %d of %d applications (bar 1), the least %.3f (bar %g)",
		timed, mean.Text(3), asked, raced, len(s.Apps), slowest, least)
}

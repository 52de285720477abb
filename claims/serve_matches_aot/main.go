// Claim: the time of a schedule in the fork server is within 3% of the same
// schedule compiled ahead of time and run in a fresh process (the median over 10
// schedules of each of the six apps, uncorrected), and the two rank schedules alike
// (Spearman at least .98 over 20 schedules an app that span at least 3x). Both are
// timed in the same rounds. Arguments name other apps.
package main

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
)

const (
	closeTo   = 10 // schedules whose times are compared closely, an app
	ranked    = 20 // schedules that are ranked, an app
	rounds    = 7
	wantSpan  = 3
	tolerance = 0.03
	wantRank  = 0.98
)

func main() {
	ctx := claim.Context()
	holds := true
	var all []float64
	apps := os.Args[1:]
	if len(apps) == 0 {
		apps = claim.Apps
	}
	for _, name := range apps {
		ratios, rank, span := compare(ctx, name)
		median := measure.Median(ratios[:min(closeTo, len(ratios))])
		all = append(all, ratios...)
		ok := math.Abs(median-1) <= tolerance && rank >= wantRank && span >= wantSpan
		holds = holds && ok
		fmt.Printf("%-16s server / ahead of time %.4f (%.4f to %.4f), Spearman %.4f over %d schedules spanning %.1fx\n",
			name, median, slices.Min(ratios), slices.Max(ratios), rank, len(ratios), span)
	}
	claim.Say(holds, "median ratio over all schedules %.4f", measure.Median(all))
}

// compare times schedules of an app both ways, one schedule after the other: in every
// round once in the server and once in a fresh process, in either order. Of each the
// median lap counts: a fresh process has other pages every time, so that its fastest of
// many would be the luckiest of many placements. (Candidates that wait long between their
// laps would be measured as nobody measures them: the kernel takes idle processes' large
// pages apart.)
func compare(ctx context.Context, name string) (ratios []float64, rank, span float64) {
	app := claim.Open(ctx, name)
	defer app.Server.Close()
	dir := claim.TempDir()
	rng := rand.New(rand.NewSource(1))
	var inServer, ahead []float64
	for i, s := range spread(ctx, app) {
		sub := fmt.Sprintf("%s/%d", dir, i)
		claim.Fail(os.Mkdir(sub, 0o755))
		library, err := app.Ahead(ctx, s, sub)
		claim.Fail(err)
		c, err := app.Server.Build(ctx, bridge.BuildRequest{Schedule: s, Check: app.Protocol.Check(0, runtime.NumCPU())})
		claim.Fail(err)
		racers := [2]measure.Racer{measure.InServer{Candidate: c}, app.Fresh(ctx, library)}
		var laps [2][]float64
		for range rounds {
			for _, side := range rng.Perm(2) {
				took, err := racers[side].Lap(ctx, app.Protocol.Run(0))
				claim.Fail(err)
				laps[side] = append(laps[side], took.Seconds())
			}
		}
		c.Drop()
		claim.Fail(os.RemoveAll(sub))
		a, b := measure.Median(laps[0]), measure.Median(laps[1])
		inServer, ahead, ratios = append(inServer, a), append(ahead, b), append(ratios, a/b)
	}
	return ratios, measure.Spearman(inServer, ahead), slices.Max(ahead) / slices.Min(ahead)
}

// spread picks schedules that span a wide range of times: many are screened, then those
// nearest to even steps of the logarithm of time taken, since nothing ranks schedules
// that differ by less than the machine's noise.
func spread(ctx context.Context, app *claim.App) []schedule.Schedule {
	local := measure.Local{Server: app.Server, Lock: measure.NewHostLock(), Threads: runtime.NumCPU()}
	protocol := app.Protocol
	protocol.GiveUp, protocol.Kill = 8, 12
	screener := measure.NewScreener(local, local, protocol, 0)
	type timed struct {
		s schedule.Schedule
		d time.Duration
	}
	var ok []timed
	for _, s := range app.Schedules(ctx, 2*ranked, 1) {
		r, err := screener.Measure(ctx, s)
		claim.Fail(err)
		if r.Status == measure.OK {
			ok = append(ok, timed{s, r.Best()})
		}
	}
	slices.SortFunc(ok, func(a, b timed) int { return int(a.d - b.d) })
	if len(ok) == 0 {
		claim.Fail(fmt.Errorf("no schedule of %s works", app.Name))
	}
	least, most := math.Log(ok[0].d.Seconds()), math.Log(ok[len(ok)-1].d.Seconds())
	var out []schedule.Schedule
	for i := range min(ranked, len(ok)) {
		want := least + (most-least)*float64(i)/(ranked-1)
		near := 0
		for k := range ok {
			if math.Abs(math.Log(ok[k].d.Seconds())-want) < math.Abs(math.Log(ok[near].d.Seconds())-want) {
				near = k
			}
		}
		out = append(out, ok[near].s)
		ok = slices.Delete(ok, near, near+1)
	}
	rand.New(rand.NewSource(1)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

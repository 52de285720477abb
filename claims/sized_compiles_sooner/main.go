// Claim: of a schedule with a version for the estimated sizes that version alone, which is
// what a search compiles and times (docs/beyond.md, "One size apart"), compiles sooner than
// the schedule without, and runs at least as fast: in geometric mean over schedules of
// each app that a search begins with, both in the fork server.
//
//	go run ./claims/sized_compiles_sooner [-schedules 6] [-seed 1] [APP ...]
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
)

// builds is how often each is compiled; the faster time counts.
const builds = 2

// mostRace bounds the race of one schedule.
const mostRace = 20 * time.Second

func main() {
	most := flag.Int("schedules", 6, "of each app, those that work")
	seed := flag.Int64("seed", 1, "of everything random")
	flag.Parse()
	apps := flag.Args()
	if len(apps) == 0 {
		apps = bench.Suite
	}
	ctx := claim.Context()
	rng := rand.New(rand.NewSource(*seed))
	var sooner, faster []float64 // geometric means by app
	for _, name := range apps {
		app := claim.Open(ctx, name)
		var lower, laps []float64
		for _, s := range app.Schedules(ctx, 4**most, *seed) {
			if special, ok := space.Specialized(app.Pipe, s); ok && len(laps) < *most {
				compare(ctx, app, rng, s, special, &lower, &laps)
			}
		}
		app.Server.Close()
		if len(laps) == 0 {
			fmt.Printf("%-16s has no such version, or no schedule that works both ways\n", name)
			continue
		}
		l, r := measure.GeometricMean(lower), measure.GeometricMean(laps)
		sooner, faster = append(sooner, l), append(faster, r)
		fmt.Printf("%-16s compiles in %.2f of the time, runs %.3f times as fast, %d schedules\n", name, 1/l, r, len(laps))
	}
	if len(faster) == 0 {
		claim.Fail(fmt.Errorf("none of the apps can have a version for one size"))
	}
	l, r := measure.GeometricMean(sooner), measure.GeometricMean(faster)
	claim.Say(l > 1 && r >= 1, "a version for the estimated sizes compiles in %.2f of the time and runs %.3f times as fast, in geometric mean over %d apps", 1/l, r, len(faster))
}

// compare appends how many times as soon and as fast special is as plain, where both work.
func compare(ctx context.Context, app *claim.App, rng *rand.Rand, plain, special schedule.Schedule, lower, laps *[]float64) {
	var took [2]time.Duration
	var racers []measure.Racer
	for i, s := range []schedule.Schedule{plain, special} {
		for k := range builds {
			c, err := app.Server.Build(ctx, bridge.BuildRequest{Schedule: s, OnlySpecial: i == 1, Whole: true})
			if err != nil {
				return // a schedule that a search would give up
			}
			defer c.Drop()
			if took[i] == 0 || c.Lower < took[i] {
				took[i] = c.Lower
			}
			if k == 0 {
				racers = append(racers, measure.InServer{Candidate: c})
			}
		}
	}
	o := measure.DefaultRaceOptions()
	o.Protocol, o.MaxTime = app.Protocol, mostRace
	race, err := o.Run(ctx, rng, racers)
	if err != nil || race.Lanes[0].Failure != nil || race.Lanes[1].Failure != nil {
		return
	}
	*lower = append(*lower, float64(took[0])/float64(took[1]))
	*laps = append(*laps, race.Compare(rng, 0, 1).Ratio.Value)
}

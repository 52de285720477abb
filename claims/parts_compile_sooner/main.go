// Claim: a search compiles its schedules sooner where it keeps the bodies of parallel
// loops that it has compiled before (halide/parts.h) than where each schedule is compiled
// whole, in geometric mean over the apps, of which the interval is above 1. Of each app what a
// search of some seconds measures is compiled again in the order in which that did, one
// schedule at a time, both ways in turn in one fork server.
//
//	go run ./claims/parts_compile_sooner [-budget 30s] [-seed 1] [APP ...]
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand"
	"path/filepath"
	"slices"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/tune"
)

func main() {
	budget := flag.Duration("budget", 30*time.Second, "of each app's search")
	seed := flag.Int64("seed", 1, "of everything random")
	flag.Parse()
	apps := flag.Args()
	if len(apps) == 0 {
		apps = bench.Suite
	}
	ctx := claim.Context()
	var sooner []float64
	for _, name := range apps {
		schedules := searched(ctx, name, *budget, *seed)
		app := claim.Open(ctx, name)
		whole, parts, n := compare(ctx, app, schedules)
		app.Server.Close()
		if n == 0 {
			claim.Fail(fmt.Errorf("%s: none of %d schedules compiles both ways", name, len(schedules)))
		}
		sooner = append(sooner, whole.Seconds()/parts.Seconds())
		fmt.Printf("%-16s %3d schedules: %s whole, %s in parts, %.2f times as soon\n", name, n,
			whole.Round(10*time.Millisecond), parts.Round(10*time.Millisecond), sooner[len(sooner)-1])
	}
	mean := claim.AcrossApps(rand.New(rand.NewSource(*seed)), sooner)
	claim.Say(len(apps) >= claim.FewestApps && mean.Low > 1, "in parts %s times as soon, in geometric mean over %d apps (bar: the interval above 1, of %d at least), %.2f to %.2f",
		mean.Text(2), len(apps), claim.FewestApps, slices.Min(sooner), slices.Max(sooner))
}

// searched is what a search measures, in the order in which it does.
func searched(ctx context.Context, name string, budget time.Duration, seed int64) []schedule.Schedule {
	o := tune.Defaults()
	o.Generator.Path, o.Budget, o.Seed = claim.Source(name), budget, seed
	o.DB = filepath.Join(claim.TempDir(), name+".db")
	o.Seeds, o.Baselines = nil, nil
	_, err := tune.Run(ctx, o, tune.Events{}, nil)
	claim.Fail(err)
	var out []schedule.Schedule
	for _, m := range claim.Measured(ctx, o.DB, name) {
		s, err := schedule.Parse(m.Text)
		claim.Fail(err)
		out = append(out, s)
	}
	return out
}

// compare returns how long those that compile both ways take each way, and how many do.
func compare(ctx context.Context, app *claim.App, schedules []schedule.Schedule) (whole, parts time.Duration, n int) {
	for i, s := range schedules {
		var took [2]time.Duration
		for k := range 2 {
			way := (i + k) % 2
			c, err := app.Server.Build(ctx, bridge.BuildRequest{Schedule: s, OnlySpecial: s.Specializes(), Whole: way == 0})
			if err != nil {
				took = [2]time.Duration{}
				break
			}
			took[way] = c.Lower + c.Link
			c.Drop()
		}
		if took[0] > 0 && took[1] > 0 {
			whole, parts, n = whole+took[0], parts+took[1], n+1
		}
	}
	return whole, parts, n
}

// Claim: versions for exactly the estimated sizes pay: over apps, what `tune` finds with them
// is faster in geometric mean than what it finds without, in the same time from nothing, by
// ahead-of-time builds raced in fresh processes, and on none below 0.97 times as fast.
//
//	go run ./claims/specializing_pays [-budget 45s] [-seed 1] [-db DIR] [APP ...]
//
// -db keeps the databases, DIR/APP-with.db and DIR/APP-without.db, and goes on with those
// that are there.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/tune"
)

const wantLeast = 0.97

func main() {
	budget := flag.Duration("budget", 45*time.Second, "of each search")
	seed := flag.Int64("seed", 1, "of everything random")
	db := flag.String("db", "", "folder of databases, which stay there")
	flag.Parse()
	apps := flag.Args()
	if len(apps) == 0 {
		apps = bench.Suite
	}
	dir := claim.TempDir()
	if *db == "" {
		*db = dir
	}
	ctx := claim.Context()
	rng := rand.New(rand.NewSource(*seed))
	var ratios []float64
	for _, name := range apps {
		app := claim.Open(ctx, name)
		var racers []measure.Racer
		for _, with := range []bool{false, true} {
			found := search(ctx, name, filepath.Join(*db, name), *budget, *seed, with)
			sub := filepath.Join(dir, fmt.Sprintf("%s-%v", name, with))
			claim.Fail(os.Mkdir(sub, 0o755))
			library, err := app.Ahead(ctx, found, sub)
			claim.Fail(err)
			racers = append(racers, app.Fresh(ctx, library))
		}
		ro := measure.DefaultRaceOptions()
		ro.Protocol = app.Protocol
		race, err := ro.Run(ctx, rng, racers)
		claim.Fail(err)
		app.Server.Close()
		v := race.Compare(rng, 0, 1)
		floor := race.NoiseFloor(rng)
		ratios = append(ratios, v.Ratio.Value)
		fmt.Printf("%-16s %.3f [%.3f, %.3f], by the fastest laps %.3f; the same twice %.3f [%.3f, %.3f]; %d rounds\n", name,
			v.Ratio.Value, v.Ratio.Low, v.Ratio.High, v.Minima, floor.Value, floor.Low, floor.High, race.Rounds)
	}
	mean, least := measure.GeometricMean(ratios), slices.Min(ratios)
	claim.Say(mean > 1 && least >= wantLeast, "with versions for the estimated sizes what is found is %.3fx as fast in geometric mean over %d apps, at least %.3fx", mean, len(ratios), least)
}

// search is what tune finds for an app from nothing with or without such versions.
func search(ctx context.Context, name, db string, budget time.Duration, seed int64, with bool) schedule.Schedule {
	o := tune.Defaults()
	o.Generator.Path, o.DB = claim.Source(name), db+"-without.db"
	if with {
		o.DB = db + "-with.db"
	}
	o.Budget, o.Seed, o.Seeds, o.Baselines, o.Specialize = budget, seed, nil, nil, with
	r, err := tune.Run(ctx, o, tune.Events{}, nil)
	claim.Fail(err)
	found, err := schedule.Parse(r.Schedule)
	claim.Fail(err)
	return found
}

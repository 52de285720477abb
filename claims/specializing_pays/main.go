// Claim: a second version of what `tune` found, for exactly the estimated sizes, pays:
// over the suite's apps whose sizes are open, code with it is faster in geometric mean,
// by ahead-of-time builds raced in fresh processes, and on none below 0.97 times as
// fast. (`tune` itself hands it out only where a race showed it to be faster.)
//
//	go run ./claims/specializing_pays [-budget 30s] [-seed 1] [-db DIR] [APP ...]
//
// -db takes the best schedules from DIR/APP.db where such a database is there, and
// keeps those that are made.
package main

import (
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
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/tune"
)

const wantLeast = 0.97

func main() {
	budget := flag.Duration("budget", 30*time.Second, "of the search for each app")
	seed := flag.Int64("seed", 1, "of everything random")
	db := flag.String("db", "", "folder of databases, APP.db each, which stay there")
	flag.Parse()
	apps := flag.Args()
	if len(apps) == 0 {
		apps = bench.Suite
	}
	dir, err := os.MkdirTemp("", "claim-")
	claim.Fail(err)
	defer os.RemoveAll(dir)
	if *db == "" {
		*db = dir
	}
	ctx := claim.Context()
	rng := rand.New(rand.NewSource(*seed))
	var ratios []float64
	for _, name := range apps {
		app := claim.Open(ctx, name)
		if app.Ref.Sizes < 2 {
			fmt.Printf("%-16s has its size fixed\n", name)
			app.Server.Close()
			continue
		}
		o := tune.Defaults()
		o.Generator.Path, o.DB = claim.Source(name), filepath.Join(*db, name+".db")
		o.Budget, o.Seed, o.Seeds, o.Baselines, o.Specialize = *budget, *seed, nil, nil, false
		r, err := tune.Run(ctx, o, tune.Events{}, nil)
		claim.Fail(err)
		plain, err := schedule.Parse(r.Schedule)
		claim.Fail(err)
		special, ok := space.Specialized(app.Pipe, plain)
		if !ok {
			fmt.Printf("%-16s cannot have one\n", name)
			app.Server.Close()
			continue
		}
		var racers []measure.Racer
		for i, s := range []schedule.Schedule{plain, special} {
			sub := filepath.Join(dir, fmt.Sprintf("%s-%d", name, i))
			claim.Fail(os.Mkdir(sub, 0o755))
			library, err := app.Ahead(ctx, s, sub)
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
	if len(ratios) == 0 {
		claim.Fail(fmt.Errorf("none of the apps can have a version for one size"))
	}
	mean, least := measure.GeometricMean(ratios), slices.Min(ratios)
	claim.Say(mean > 1 && least >= wantLeast, "a version for the estimated sizes makes code %.3fx as fast in geometric mean over %d apps, at least %.3fx", mean, len(ratios), least)
}

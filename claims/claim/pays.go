package claim

import (
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/tune"
)

// Pays is a claim that one of tune's options pays: over the apps named as arguments, by
// default the suite's, what is found with it from nothing is faster in geometric mean
// (AcrossApps) than what is found without, in the same time, by ahead-of-time builds raced in
// fresh processes, and on none below least times as fast. set turns the option on or off. Flags
// are -budget, -seed and -db, which keeps the databases (Kept) and takes from them what searches
// found that ended.
func Pays(what string, least float64, set func(o *tune.Options, with bool)) {
	budget := flag.Duration("budget", 45*time.Second, "of each search")
	seed := flag.Int64("seed", 1, "of everything random")
	db := flag.String("db", "", "folder of databases, RUN/APP.db each, which stay there")
	flag.Parse()
	apps := flag.Args()
	if len(apps) == 0 {
		apps = bench.Suite
	}
	dir := TempDir()
	if *db == "" {
		*db = dir
	}
	ctx := Context()
	rng := rand.New(rand.NewSource(*seed))
	var ratios []float64
	for _, name := range apps {
		app := Open(ctx, name)
		var racers []measure.Racer
		for _, with := range []bool{false, true} {
			o := tune.Defaults()
			o.Generator.Path = Source(name)
			o.Budget, o.Seed, o.Seeds, o.Baselines = *budget, *seed, nil, nil
			set(&o, with)
			o.DB = Kept(*db, name, o)
			found, err := schedule.Parse(Tuned(ctx, o).Schedule)
			Fail(err)
			sub := filepath.Join(dir, fmt.Sprintf("%s-%v", name, with))
			Fail(os.Mkdir(sub, 0o755))
			library, err := app.Ahead(ctx, found, sub)
			Fail(err)
			racers = append(racers, app.Fresh(ctx, library))
		}
		ro := measure.DefaultRaceOptions()
		ro.Protocol = app.Protocol
		race, err := ro.Run(ctx, rng, racers)
		Fail(err)
		app.Server.Close()
		v := race.Compare(rng, 0, 1)
		floor := race.NoiseFloor(rng)
		ratios = append(ratios, v.Ratio.Value)
		fmt.Printf("%-16s %s, by the fastest laps %.3f; the same twice %s; %d rounds\n", name,
			v.Ratio.Text(3), v.Minima, floor.Text(3), race.Rounds)
	}
	mean, worst := AcrossApps(rng, ratios), slices.Min(ratios)
	Say(len(ratios) >= FewestApps && mean.Low > 1 && worst >= least, "%s what is found is %sx as fast in geometric mean over %d apps (bar: the interval above 1, of %d at least), at least %.3fx", what, mean.Text(3), len(ratios), FewestApps, worst)
}

// FewestApps is how many AcrossApps needs for an interval that says something.
const FewestApps = 5

// AcrossApps is the geometric mean of the applications' ratios, with the 95% percentile
// bootstrap interval over the applications: two searches of one differ by as much as many an
// option brings, which their races' own intervals do not tell.
func AcrossApps(rng *rand.Rand, ratios []float64) measure.Interval {
	means := make([]float64, measure.Resamplings)
	for i := range means {
		means[i] = measure.GeometricMean(measure.Resampled(rng, ratios))
	}
	return measure.PercentileInterval(measure.GeometricMean(ratios), means, measure.Confidence)
}

// Claim: among the schedules that `tune` proposes next, what it has measured until then
// (cost.Online) tells the fast ones from the slow ones better than Adams et al.'s model
// with Halide's weights: the rank correlation (Spearman) with the times measured, over
// stretches of 50 schedules, each after all before it, in the mean over stretches and
// apps. Also printed: what share of the fastest tenth of a stretch each puts into its
// first quarter. The schedules are those of a run without the judge: of a new one, or of
// the last one in DIR/APP.db, DIR being a folder in one that `tune_beats_beam -judge=false
// -keep` keeps.
//
//	go run ./claims/judge_tells_fast [-budget 5m] [-db DIR] [APP ...]
package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/claims/problem"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/tune"
)

const stretch = 50

func main() {
	budget := flag.Duration("budget", 5*time.Minute, "of each app")
	dir := flag.String("db", "", "folder of databases to look at in place of tuning")
	flag.Parse()
	apps := flag.Args()
	if len(apps) == 0 {
		apps = claim.Apps
	}
	ctx := claim.Context()
	if *dir == "" {
		*dir = claim.TempDir()
		for _, app := range apps {
			o := tune.Defaults()
			o.Generator.Path, o.Budget, o.DB = claim.Source(app), *budget, filepath.Join(*dir, app+".db")
			o.Seeds, o.Baselines, o.Judge = nil, nil, false
			// No decisions of the pipeline's own space lead to what these make.
			o.Polish, o.Restructure = false, false
			_, err := tune.Run(ctx, o, tune.Events{}, nil)
			claim.Fail(err)
		}
	}
	var model, judge score
	for _, app := range apps {
		m, j, elsewhere := compare(ctx, app, filepath.Join(*dir, app+".db"))
		fmt.Printf("%-16s %d stretches: model %s; judge %s; %d schedules left out, to which no decisions of the space lead\n", app, m.n, m, j, elsewhere)
		model.add(m)
		judge.add(j)
	}
	claim.Say(judge.n > 0 && judge.rank > model.rank, "over %d stretches of %d schedules the model ranks with %s, what was measured before with %s", model.n, stretch, model, judge)
}

// compare goes through what was measured of an app in the order it was, but for elsewhere
// schedules, which are not of its space.
func compare(ctx context.Context, app, path string) (model, judge score, elsewhere int) {
	all := claim.Measured(ctx, path, app)
	threads := tune.Defaults().Threads
	so := space.Defaults(threads)
	so.Sized = true
	opened, err := problem.OpenFor(ctx, claim.Source(app), bridge.DefaultVersion, "host", so)
	claim.Fail(err)
	sp, x := opened.Space, feature.New(opened.Space)
	var features [][]feature.Schedule
	var sized []bool
	var seconds []float64
	for _, m := range all {
		s := sp.Decided(m.Trace)
		if s == nil {
			elsewhere++
			continue
		}
		features, sized, seconds = append(features, x.Features(s, nil)), append(sized, s.Sized()), append(seconds, m.Best.Seconds())
	}
	online := cost.NewOnline(opened.Model)
	for at := 0; at+stretch <= len(features); at += stretch {
		var byModel, byJudge []float64
		for i, f := range features[at : at+stretch] {
			byModel = append(byModel, opened.Model.Predict(f))
			if mean, _, ok := online.Predict(f, sized[at+i]); ok {
				byJudge = append(byJudge, mean)
			}
		}
		if len(byJudge) == stretch {
			model.take(byModel, seconds[at:at+stretch])
			judge.take(byJudge, seconds[at:at+stretch])
		}
		for i, f := range features[at : at+stretch] {
			online.Observe(f, sized[at+i], seconds[at+i], true)
		}
	}
	return model, judge, elsewhere
}

// score is a mean over stretches.
type score struct {
	n          int
	rank, kept float64
}

func (s score) String() string {
	return fmt.Sprintf("%.2f (%.0f%% of the fastest tenth kept)", s.rank, 100*s.kept)
}

func (s *score) add(o score) {
	if n := s.n + o.n; n > 0 {
		s.rank = (s.rank*float64(s.n) + o.rank*float64(o.n)) / float64(n)
		s.kept = (s.kept*float64(s.n) + o.kept*float64(o.n)) / float64(n)
		s.n = n
	}
}

// take adds one stretch: predictions and times.
func (s *score) take(predicted, seconds []float64) {
	first, fastest := order(predicted)[:len(predicted)/4], order(seconds)[:len(seconds)/10]
	kept := 0
	for _, i := range fastest {
		if slices.Contains(first, i) {
			kept++
		}
	}
	s.add(score{1, measure.Spearman(predicted, seconds), float64(kept) / float64(len(fastest))})
}

// order lists indices, the least value first.
func order(values []float64) []int {
	out := make([]int, len(values))
	floats.ArgsortStable(slices.Clone(values), out)
	return out
}

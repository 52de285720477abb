package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/tune"
)

// measured is `protuner tune --seeds none` with that search for the whole budget: it
// begins from nothing, in a database of its own, so that no method learns from what
// another measured. Each layer of an application begins with what was found for those
// before it (`--seeds earlier`), in a copy of their database: what a layer that was stopped
// had measured is gone with its folder, or it would have more than its budget.
func measured(name string) method {
	return method{random: true, alone: true, make: func(ctx context.Context, j *job) (*made, error) {
		db, seeds := filepath.Join(j.dir, "tune.db"), []string(nil)
		if j.part.of > 1 {
			seeds = []string{"earlier"}
			if err := copyLast(j.before, db); err != nil {
				return nil, err
			}
		}
		o := tune.Defaults()
		o.Generator = j.part.options
		o.Search, o.Budget, o.Seed, o.DB, o.Out = name, j.budget, j.seed, db, j.dir
		o.Weights, o.Threads, o.Finalists = j.o.Weights, j.o.Threads, j.o.Finalists
		o.Seeds, o.Baselines = seeds, nil
		o.CandidateMemory, o.CandidateBuild = candidateMemory, candidateBuild
		r, err := tune.Run(ctx, o, tune.Events{}, nil)
		if err != nil {
			return nil, err
		}
		return &made{schedule: r.Schedule, measured: r.Measured}, nil
	}}
}

// buildFirst builds ahead of time the first of the schedules that computes the right thing.
// When that is not the first of all, the note says so.
func (j *job) buildFirst(ctx context.Context, found []schedule.Schedule) (s schedule.Schedule, note string, err error) {
	var failures error
	for i, s := range found {
		err := j.build(ctx, s)
		if err != nil && ofMachine(err) && ctx.Err() == nil { // which may have passed
			err = j.build(ctx, s)
		}
		if err == nil {
			if i > 0 {
				note = "better ones by the model failed: " + failures.Error()
			}
			return s, note, nil
		}
		if ctx.Err() != nil {
			return s, "", ctx.Err()
		}
		if ofMachine(err) { // which says nothing of this one, the best that is left
			return s, "", err
		}
		failures = errors.Join(failures, err)
	}
	if failures == nil {
		failures = errors.New("the search wrote no schedule")
	}
	return s, "", failures
}

// build builds a schedule and compares what the build computes, in a process of its own as
// in the race, with the reference. What only the model was asked about may compile for as
// long as what other schedulers make.
func (j *job) build(ctx context.Context, what schedule.Schedule) error {
	err := bridge.Within(ctx, max(candidateBuild, j.limits.Time), func(ctx context.Context) error {
		return j.stage.apply(ctx, what, j.dir)
	})
	if refused := (*bridge.GeneratorError)(nil); errors.As(err, &refused) {
		return &bridge.Failure{Status: measure.BuildFailed.String(), Message: refused.Line(), Killed: refused.Killed}
	} else if err != nil {
		return err
	}
	if err := j.link(ctx); err != nil {
		return err
	}
	_, err = j.stage.fresh(filepath.Join(j.dir, racedLibrary), false).Lap(ctx, measure.CheckOnly(j.stage.protocol))
	return err
}

// copyLast makes a database from the last one that there is in folders; from none there is
// none.
func copyLast(folders []string, to string) error {
	for _, dir := range slices.Backward(folders) {
		content, err := os.ReadFile(filepath.Join(dir, filepath.Base(to)))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		return os.WriteFile(to, content, 0o644)
	}
	return nil
}

// clean empties a job's folder.
func clean(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

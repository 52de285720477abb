package tune

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/schedule"
)

// build is an ahead-of-time build that can be raced.
type build struct {
	name    string
	library string // shared, for the runner
	took    time.Duration
	// schedule is the winner's; a baseline has none here.
	schedule schedule.Schedule
}

// standardOutputs are what every build holds.
var standardOutputs = []string{"static_library", "c_header", "schedule", "registration"}

// baseline makes one baseline's build in dir, within limits; other schedulers' with
// their .schedule.h.
func (t *tuner) baseline(ctx context.Context, name, dir string, limits bridge.Limits) (*build, error) {
	start := time.Now()
	function := t.plainName()
	e := bridge.Emission{Dir: dir, Function: function, Outputs: []string{"static_library", "c_header"}}
	scheduler, params := "", []bridge.Param(nil)
	if name != Own {
		scheduler, params = name, []bridge.Param{{Name: "parallelism", Value: strconv.Itoa(t.o.Threads)}}
		e.Outputs = append(e.Outputs, "schedule")
	}
	if err := t.gen.Raced().Emit(ctx, scheduler, params, limits, e); err != nil {
		return nil, err
	}
	library, err := t.gen.Toolchain.Library(ctx, filepath.Join(dir, function+".a"), dir)
	if err != nil {
		return nil, err
	}
	return &build{name: name, library: library, took: time.Since(start)}, nil
}

// baselines makes all that were asked for and are not there as seeds; one that cannot
// be made is told and stands in the report with the reason.
func (t *tuner) baselines(ctx context.Context, dir func() (string, error)) ([]build, error) {
	var out []build
	t.report.Baselines = nil // of a race whose first failed
	names := t.o.Baselines
	if t.ownStands && !slices.Contains(names, Own) {
		names = append(slices.Clone(names), Own)
	}
	if len(names) > 0 {
		t.events.phase("baselines")
	}
	for _, name := range names {
		start := time.Now()
		b, err := t.made[name], error(nil)
		if b == nil {
			d, dirErr := dir()
			if dirErr != nil {
				return nil, dirErr
			}
			b, err = t.baseline(ctx, name, d, t.o.BaselineLimits)
		}
		took := time.Since(start)
		if b != nil {
			took = b.took
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if t.events.Baseline != nil {
			t.events.Baseline(name, took, err)
		}
		line := BaselineReport{Name: name, Made: took.Seconds()}
		if err != nil {
			line.Failure = failureText(err)
		} else {
			t.made[name] = b
			out = append(out, *b)
		}
		t.report.Baselines = append(t.report.Baselines, line)
	}
	return out, nil
}

// failureText says in a line why something could not be had.
func failureText(err error) string {
	var limit *bridge.LimitError
	var generator *bridge.GeneratorError
	switch {
	case errors.As(err, &limit):
		return limit.Error()
	case errors.As(err, &generator) && generator.Killed:
		return "killed by the system, as where memory runs out; give --baseline-memory less than this machine has"
	case errors.As(err, &generator):
		return "its scheduler failed: " + generator.Line()
	}
	return err.Error()
}

package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/search"
)

// stopwatch times an app's schedules, each once: 0 stands for those that fail.
type stopwatch struct {
	app   *claim.App
	local measure.Local
	known map[uint64]float64 // by hash
}

func newStopwatch(ctx context.Context, name string) *stopwatch {
	a := claim.Open(ctx, name)
	return &stopwatch{a, measure.Local{Server: a.Server, Lock: measure.NewHostLock(), Threads: runtime.NumCPU()}, map[uint64]float64{}}
}

// tried is how many of the best schedules of a search may fail: some do not compile.
const tried = 8

// first is the time of the best schedule that runs and computes the right thing.
func (w *stopwatch) first(ctx context.Context, found []search.Candidate) float64 {
	for _, c := range found {
		if s, ok := w.seconds(ctx, c); ok {
			return s
		}
	}
	claim.Fail(fmt.Errorf("%s: none of the best %d schedules runs", w.app.Name, len(found)))
	return 0
}

// seconds is the fastest of a second's executions; false where it fails.
func (w *stopwatch) seconds(ctx context.Context, c search.Candidate) (float64, bool) {
	if s, ok := w.known[c.Hash]; ok {
		return s, s > 0
	}
	p := w.app.Protocol
	p.MinTotal = time.Second
	w.known[c.Hash] = 0
	built, err := w.local.Build(ctx, c.Schedule, p, 0)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s, schedule %s: %v\n", w.app.Name, c.Schedule.HashString(), err)
		return 0, false
	}
	defer built.Drop()
	run, err := w.local.Run(ctx, built, p, 0)
	claim.Fail(err)
	w.known[c.Hash] = slices.Min(run.Samples).Seconds()
	return w.known[c.Hash], true
}

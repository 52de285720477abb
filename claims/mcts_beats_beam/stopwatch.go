package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/search"
)

// stopwatch times an app's schedules, each once.
type stopwatch struct {
	app   *claim.App
	local measure.Local
	known map[uint64]float64 // by hash
}

func newStopwatch(ctx context.Context, name string) *stopwatch {
	a := claim.Open(ctx, name)
	return &stopwatch{a, measure.Local{Server: a.Server, Lock: measure.NewHostLock(), Threads: runtime.NumCPU()}, map[uint64]float64{}}
}

// seconds is the fastest of a second's executions.
func (w *stopwatch) seconds(ctx context.Context, c search.Candidate) float64 {
	if s, ok := w.known[c.Hash]; ok {
		return s
	}
	p := w.app.Protocol
	p.MinTotal = time.Second
	built, err := w.local.Build(ctx, c.Schedule, p, 0)
	if err != nil {
		claim.Fail(fmt.Errorf("%s, schedule %s: %w", w.app.Name, c.Schedule.HashString(), err))
	}
	defer built.Drop()
	run, err := w.local.Run(ctx, built, p, 0)
	claim.Fail(err)
	w.known[c.Hash] = slices.Min(run.Samples).Seconds()
	return w.known[c.Hash]
}

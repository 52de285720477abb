package tune

import (
	"context"
	"fmt"
	"strings"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// Check says whether a schedule computes what the Generator's algorithm does, as Run says it
// of what it hands out: compiled for all sizes, at the estimated one and at another, and where
// floats leave that open with strict floats too. Nothing is searched, timed or stored. read
// gives the schedule once the pipeline is known; its errors are handed on. Of the options
// those about the Generator, its inputs, threads, tolerance and limits count. A schedule that
// does not stand is a *bridge.Failure; where strict floats show it the error says so.
func Check(ctx context.Context, o Options, events Events, read func(*bridge.Generator, *pipeline.Pipeline) (schedule.Schedule, error)) error {
	if err := o.Validate(); err != nil {
		return &UsageError{err}
	}
	t := &tuner{o: o, events: events}
	defer t.cleanUp()
	if err := t.describe(ctx); err != nil {
		return err
	}
	s, err := read(t.gen, t.pipe)
	if err != nil {
		return err
	}
	if err := t.serve(ctx, nil); err != nil {
		return err
	}
	t.events.phase("checking")
	if err := measure.CheckOnce(ctx, t.server, bridge.BuildRequest{Schedule: s}, t.o.Protocol, t.o.Threads); err != nil {
		return t.mayOverflow(err)
	}
	exact := t.newExact()
	defer exact.close()
	return exact.check(ctx, s)
}

// mayOverflow adds to a wrong output which inputs leave integers room, as Run takes them
// where all schedules are wrong.
func (t *tuner) mayOverflow(err error) error {
	status, _ := measure.StatusOf(err)
	_, settings := measure.Narrower(t.pipe, t.inputs)
	if status != measure.WrongOutput || len(settings) == 0 {
		return err
	}
	return fmt.Errorf("%w; where sums of short integers overflow it may be right all the same: --input %s leaves them room", err, strings.Join(settings, " --input "))
}

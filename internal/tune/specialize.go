package tune

import (
	"context"
	"slices"
	"time"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
)

// mostSpecialRace bounds the race of a schedule against its specialized self.
const mostSpecialRace = 30 * time.Second

// specializes says whether schedules may have a version for exactly the estimated sizes
// (schedule.Specialized).
func (t *tuner) specializes() bool { return t.o.Specialize && !t.o.Unmeasured }

// specialize races the first of the schedules with and without a version for the
// estimated sizes. Where that is faster, clearly, and right, at those sizes and at others,
// the one that has it goes first, and the report says by how much. One that was found not to
// work is not raced again.
func (t *tuner) specialize(ctx context.Context, order []schedule.Schedule) ([]schedule.Schedule, error) {
	if len(order) == 0 {
		return nil, nil // none could be built in time
	}
	// The other one comes second: only the first has worked so far.
	other, plain, special := order[0].General(), 1, 0
	if !order[0].Specializes() {
		ok := false
		if other, ok = space.Specialized(t.pipe, order[0]); !ok || !t.specializes() {
			return order, nil
		}
		plain, special = 0, 1
	}
	if refuted, err := t.refuted(ctx, other); err != nil || refuted {
		return order, err
	}
	t.events.phase("specializing")
	o := measure.DefaultRaceOptions()
	o.MaxTime = mostSpecialRace
	rng := Stream(t.o.Seed, "race/specialized")
	race, _, err := t.raceInServer(ctx, o, rng, []schedule.Schedule{order[0], other})
	if err != nil {
		return nil, err
	}
	if race == nil || race.Lanes[1].Failure != nil {
		return order, nil // the code for both may be more than the limits allow
	}
	v := race.Compare(rng, plain, special)
	first := plain
	if v.Faster() {
		first = special
		t.report.Specialized = &v.Ratio
		t.special = []schedule.Schedule{order[0], other}[special].Hash()
	}
	if first == 0 {
		return order, nil
	}
	return slices.Insert(slices.Clone(order), 0, other), nil
}

// refuted holds for a schedule that failed after it was screened, or that is stored as one that
// does not work, unless at a limit, which may be another now.
func (t *tuner) refuted(ctx context.Context, s schedule.Schedule) (bool, error) {
	if t.failed[s.Hash()] != nil {
		return true, nil
	}
	status, err := t.recorder.Status(ctx, s.HashString())
	return status == measure.BuildFailed || status == measure.Crashed || status == measure.WrongOutput, err
}

// sayInputs writes where the inputs lie into what is known of the pipeline: they are the
// sizes that it is timed at, as given or as large as the pipeline needs them.
func (t *tuner) sayInputs(p *pipeline.Pipeline) {
	for i := range p.Params {
		if box, ok := t.ref.Inputs[p.Params[i].Name]; ok {
			p.Params[i].Mins, p.Params[i].Extents = box.Mins, box.Extents
		}
	}
}

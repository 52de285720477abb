package tune

import (
	"context"
	"slices"
	"time"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// mostSpecialRace bounds the race of a schedule against its specialized self.
const mostSpecialRace = 30 * time.Second

// specialize offers the first of the schedules with a second version for exactly the
// estimated sizes (schedule.Specialized). Where that is faster, clearly, and right, at
// those sizes and at others, it goes first, and the report says by how much.
func (t *tuner) specialize(ctx context.Context, order []schedule.Schedule) ([]schedule.Schedule, error) {
	special, ok := Specialized(t.pipe, order[0])
	// Where no other size can be checked there is none, or none that one may hand out.
	if !ok || !t.o.Specialize || t.o.Unmeasured || t.ref.Sizes < 2 {
		return order, nil
	}
	t.events.phase("specializing")
	o := measure.DefaultRaceOptions()
	o.MaxTime = mostSpecialRace
	rng := Stream(t.o.Seed, "race/specialized")
	race, _, err := t.raceInServer(ctx, o, rng, []schedule.Schedule{order[0], special})
	if err != nil {
		return nil, err
	}
	if race == nil || race.Lanes[1].Failure != nil {
		return order, nil // twice the code may be more than the limits allow
	}
	v := race.Compare(rng, 0, 1)
	if !v.Faster() {
		return order, nil
	}
	t.report.Specialized = &v.Ratio
	return slices.Insert(slices.Clone(order), 0, special), nil
}

// Specialized is a schedule with a version for the estimated sizes; false where the
// pipeline has several outputs, or one that is updated or of several values.
func Specialized(p *pipeline.Pipeline, s schedule.Schedule) (schedule.Schedule, bool) {
	var output *pipeline.Func
	for i := range p.Funcs {
		f := &p.Funcs[i]
		if !f.Output {
			continue
		}
		if output != nil || len(f.Types) != 1 || len(f.Stages) != 1 || len(f.Args) == 0 {
			return s, false
		}
		output = f
	}
	var box []int64
	for _, e := range output.Estimate {
		box = append(box, e.Min, e.Extent())
	}
	return s.Specialized(output.Name, output.Args, box), true
}

package tune

import (
	"context"
	"math/rand"
	"slices"
	"time"

	"github.com/protuner/protuner/internal/bridge"
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
	if !ok || !t.o.Specialize || t.o.Unmeasured {
		return order, nil
	}
	t.events.phase("specializing")
	var racers []measure.Racer
	for _, s := range []schedule.Schedule{order[0], special} {
		c, err := t.server.Build(ctx, bridge.BuildRequest{Schedule: s, Check: t.o.Protocol.Check(0, t.o.Threads)})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return order, nil // twice the code may be more than the limits allow
		}
		defer c.Drop()
		racers = append(racers, measure.InServer{Candidate: c})
	}
	o := measure.DefaultRaceOptions()
	o.Protocol, o.MaxTime, o.Progress = t.o.Protocol, mostSpecialRace, t.roundTold(o.MaxRounds)
	rng := Stream(t.o.Seed, "race/specialized")
	race, err := o.Run(ctx, rng, racers)
	if err != nil {
		return nil, err
	}
	v, ok := won(rng, race)
	if !ok {
		return order, nil
	}
	t.report.Specialized = &v.Ratio
	return slices.Insert(slices.Clone(order), 0, special), nil
}

// won says whether the second of a race is clearly faster than the first.
func won(rng *rand.Rand, race *measure.Race) (measure.Verdict, bool) {
	if race.Lanes[1].Failure != nil {
		return measure.Verdict{}, false
	}
	v := race.Compare(rng, 0, 1)
	return v, v.Ratio.Low > 1 && !v.Inconclusive
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

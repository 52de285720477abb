package tune

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
)

// seedShare of the budget bounds the making of each seed, where that is less than
// what bounds a baseline.
const seedShare = 8

// seedOrigin begins the origin of candidates that another scheduler made; nearOrigin
// of the states nearest to one the space cannot say.
const (
	seedOrigin = "seed:"
	nearOrigin = "near-seed:"
)

// earlier is the seed that the database holds: what was found of this Generator at other
// sizes or with other parameters. mostEarlier is how many of those are taken.
const (
	earlier     = "earlier"
	mostEarlier = 4
)

// seeds asks the other schedulers what they would do, as many at once as there are
// threads. What the space can say becomes a state that the search goes on from; of
// anything else the nearest state does, and the schedule itself is measured as it is,
// to win where nothing better is found. An own schedule that directives cannot say is
// raced at the end instead. One that cannot be had stands in the report with the reason.
func (t *tuner) seeds(ctx context.Context, stop <-chan struct{}) ([]search.Candidate, error) {
	if len(t.o.Seeds) == 0 {
		return nil, nil
	}
	t.events.phase("seeds")
	asking, cancel := Stoppable(ctx, stop)
	defer cancel()
	found := make([]foreign, len(t.o.Seeds))
	var group errgroup.Group
	group.SetLimit(t.o.Threads)
	for i, name := range t.o.Seeds {
		group.Go(func() error {
			f := &found[i]
			if name == earlier {
				f.candidates, f.err = t.remember(asking)
			} else {
				*f = t.ask(asking, name)
			}
			return nil
		})
	}
	_ = group.Wait() // each failure is its own seed's
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var out []search.Candidate
	for i, name := range t.o.Seeds {
		f := found[i]
		if name != earlier && f.err == nil {
			t.sow(asking, name, &f)
		}
		if name == earlier && f.err == nil && len(f.candidates) == 0 {
			continue // nothing was
		}
		line := SeedReport{Name: name, Nearest: f.near}
		if f.build != nil {
			t.made[name] = f.build
		}
		if f.partial {
			t.ownStands, line.AsItStands = true, true
		}
		if f.err != nil {
			line.Failure = failureText(f.err)
			if asking.Err() == nil {
				t.events.note("seed %s left out: %s", name, line.Failure)
			}
		}
		out = append(out, f.candidates...)
		t.report.Seeds = append(t.report.Seeds, line)
	}
	return out, nil
}

// foreign is what another scheduler answered.
type foreign struct {
	schedule   schedule.Schedule
	partial    bool   // the schedule says less than the Generator's own
	build      *build // with it, where there is one
	candidates []search.Candidate
	near       bool // the space has none that is the same
	err        error
}

// ask has one scheduler make its schedule.
func (t *tuner) ask(ctx context.Context, name string) (f foreign) {
	limits := t.o.BaselineLimits
	if share := t.o.Budget / seedShare; limits.Time == 0 || share < limits.Time {
		limits.Time = share
	}
	if name == Own {
		f.err = bridge.Within(ctx, limits.Time, func(ctx context.Context) error {
			o, err := t.gen.Own(ctx)
			if err == nil {
				f.schedule, f.partial = o.Schedule, !o.Complete
			}
			return err
		})
		return f
	}
	dir, err := os.MkdirTemp(t.scratch, "seed-")
	if err != nil {
		f.err = err
		return f
	}
	if f.build, f.err = t.baseline(ctx, name, dir, limits); f.err != nil {
		return f
	}
	text, err := os.ReadFile(filepath.Join(dir, t.plainName()+".schedule.h"))
	if err != nil {
		f.err = err
		return f
	}
	f.schedule, f.err = schedule.ParseHalide(text, t.pipe.Binding())
	return f
}

// remember makes candidates of what was found elsewhere: of each the nearest state to the
// same decisions here.
func (t *tuner) remember(ctx context.Context) (out []search.Candidate, err error) {
	found, err := t.recorder.Elsewhere(ctx, mostEarlier)
	if err != nil {
		return nil, err
	}
	for _, m := range found {
		for _, sp := range t.spaces {
			trace, err := sp.ParseTrace(m.Trace)
			if err != nil || len(trace) == 0 {
				continue // its Funcs have other names: it is of another space or an older Generator
			}
			if state, _, err := sp.Replay(trace, space.Nearest); err == nil {
				out = append(out, search.NewCandidate(state, seedOrigin+earlier))
				break
			}
		}
	}
	return out, nil
}

// sow makes candidates of a foreign schedule. One that clones, wraps or factors Funcs is
// looked for in the space of the pipeline as it then is, which is searched, too.
func (t *tuner) sow(ctx context.Context, name string, f *foreign) {
	sp := t.spaces[0]
	if head := f.schedule.Structure(); len(head) > 0 && t.restructures() {
		if there := spaceOf(t.spaces, f.schedule); there != nil {
			sp = there
		} else if of, err := t.spaceAfter(ctx, head); err == nil {
			sp = of
		}
	}
	n, err := sp.NearSchedule(f.schedule)
	f.near = err != nil || !n.Exact || f.partial
	if f.near && !f.partial {
		f.candidates = append(f.candidates, search.Candidate{Schedule: f.schedule, Origin: seedOrigin + name, Hash: f.schedule.Hash()})
	}
	if err != nil {
		return // a partial one may have nothing near it either
	}
	origin := seedOrigin
	if f.near {
		origin = nearOrigin
	}
	f.candidates = append(f.candidates, search.NewCandidate(n.State, origin+name))
	if !slices.Contains(t.spaces, sp) {
		t.spaces = append(t.spaces, sp)
	}
}

// tellSeeds puts the seeds' times into the report: those of earlier runs too.
func (t *tuner) tellSeeds() {
	for i := range t.report.Seeds {
		line := &t.report.Seeds[i]
		for _, r := range t.best {
			if r.candidate.Origin == seedOrigin+line.Name {
				line.Seconds = r.seconds
				break
			}
		}
	}
}

package tune

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/tunedb"
)

// Handout is what of a workload is given on.
type Handout struct {
	Top []tunedb.Measurement // schedules that work, the fastest first
	// Checked tells by hash which schedules tune handed out, after it had checked them to the
	// last.
	Checked map[string]bool
	// Kept is the run that handed the Generator's own schedule back, which was faster than its
	// search's best, and that is all of Top; 0 where there was none.
	Kept int64
}

// HandedOut gives the n fastest schedules of a run's workload. A single one is what was handed
// out last and has not failed since, timed if any was: the fastest of the search may be another
// by luck. The error is the database's, or of a report that cannot be read.
func HandedOut(ctx context.Context, db *tunedb.DB, run tunedb.Run, n int) (*Handout, error) {
	runs, err := db.Runs(ctx, run.Workload.Generator)
	if err != nil {
		return nil, err
	}
	failed, err := db.Failed(ctx, run.Key)
	if err != nil {
		return nil, err
	}
	all, err := db.Fastest(ctx, run.Key, 0)
	if err != nil {
		return nil, err
	}
	out := &Handout{Checked: map[string]bool{}}
	for _, r := range runs {
		if r.Key != run.Key {
			continue
		}
		report, err := Reported(r)
		if err != nil {
			return nil, err
		}
		if report == nil || report.Schedule == "" || failed[report.Hash] {
			continue
		}
		out.Checked[report.Hash] = true
		if len(out.Top) == 0 && (n == 1 && report.Seconds > 0 || len(all) == 0) {
			out.Top = []tunedb.Measurement{{Hash: report.Hash, Text: report.Schedule}}
			if report.Kept {
				out.Kept = r.ID
			}
		}
	}
	if len(out.Top) == 0 {
		out.Top = all[:min(n, len(all))]
		return out, nil
	}
	for _, m := range all {
		if m.Hash == out.Top[0].Hash {
			out.Top[0] = m // with the decisions that lead to it
		}
	}
	return out, nil
}

// Here is the workload of a pipeline on this machine, as far as it is known where nothing is
// run: without inputs and a tolerance.
func Here(g *bridge.Generator, p *pipeline.Pipeline, threads int) (tunedb.Workload, error) {
	return workload(Options{Threads: threads}, g, p, nil)
}

// Sources are the runs that a schedule of the Generator, as it is here, can be taken from, one of
// each workload of its algorithm: the newest that was no import, where there is one. The likest
// come first: those of the same host, target, parameters, estimates and threads, which count in
// this order; of equals those that were no imports, then the newest. Of the workloads of working
// something can be handed out, of those of idle nothing. The error is as HandedOut's.
func Sources(ctx context.Context, db *tunedb.DB, here tunedb.Workload) (working, idle []tunedb.Run, err error) {
	runs, err := db.Runs(ctx, here.Generator)
	if err != nil {
		return nil, nil, err
	}
	runs = slices.DeleteFunc(runs, func(r tunedb.Run) bool { return r.Workload.Algorithm != here.Algorithm })
	slices.SortStableFunc(runs, func(a, b tunedb.Run) int { return unlike(a, here) - unlike(b, here) })
	seen := map[string]bool{}
	for _, r := range runs {
		if seen[r.Key] {
			continue
		}
		seen[r.Key] = true
		ok, err := works(ctx, db, r)
		switch {
		case err != nil:
			return nil, nil, err
		case ok:
			working = append(working, r)
		default:
			idle = append(idle, r)
		}
	}
	return working, idle, nil
}

// unlike is how far a run is from what is here: each of these outweighs all that come after it.
func unlike(r tunedb.Run, here tunedb.Workload) (n int) {
	w := r.Workload
	for _, same := range []bool{
		w.Host == here.Host, w.Target == here.Target, slices.Equal(w.Params, here.Params), slices.Equal(w.Estimates, here.Estimates),
		w.Threads == here.Threads, !r.Imported(),
	} {
		n *= 2
		if !same {
			n++
		}
	}
	return n
}

// works says whether something of a run's workload can be handed out.
func works(ctx context.Context, db *tunedb.DB, run tunedb.Run) (bool, error) {
	top, err := db.Fastest(ctx, run.Key, 1)
	if err != nil || len(top) > 0 {
		return len(top) > 0, err
	}
	out, err := HandedOut(ctx, db, run, 1) // by the model alone, perhaps
	return err == nil && len(out.Top) > 0, err
}

// Said is a stored schedule as a state.
type Said struct {
	State *space.State
	Best  time.Duration // its fastest sample
	Run   int64         // of its workload, as Sources names it
}

// mostRead is how many of the fastest stored schedules are tried to be read.
const mostRead = 50

// FastestSaid gives the fastest schedule that the database has of a space's pipeline and the
// space can say, with a time that was taken as it would be here; nil where there is none. Of
// several workloads it is of the first, as Sources has them. The error is the database's, or of
// a report or schedule in it that is none.
func FastestSaid(ctx context.Context, db *tunedb.DB, here tunedb.Workload, sp *space.Space) (*Said, error) {
	runs, _, err := Sources(ctx, db, here)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if !timedAs(r.Workload, here) {
			continue
		}
		top, err := db.Fastest(ctx, r.Key, mostRead)
		if err != nil {
			return nil, err
		}
		for _, m := range top {
			state := sp.Decided(m.Trace)
			if state == nil || state.Schedule().HashString() != m.Hash {
				s, err := schedule.Parse(m.Text)
				if err != nil {
					return nil, fmt.Errorf("%s: the stored schedule %s: %w", db.Path(), m.Hash, err)
				}
				if state, err = sp.ImportSchedule(s); err != nil {
					continue // with other Funcs
				}
			}
			return &Said{state, m.Best, r.ID}, nil
		}
	}
	return nil, nil
}

// timedAs says whether a workload's times are what they would be here, as far as Here knows.
// Structural directives are the schedule's: they do not tell times of one schedule apart.
func timedAs(w, here tunedb.Workload) bool {
	here.Inputs, here.Structure, here.Tolerance, here.PermitUnroll = w.Inputs, w.Structure, w.Tolerance, w.PermitUnroll
	return w.Key() == here.Key()
}

package tune

import (
	"context"
	"fmt"
	"time"

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

// Said is a stored schedule as a state.
type Said struct {
	State *space.State
	Best  time.Duration // its fastest sample
	Run   int64         // the newest of its workload
}

// mostRead is how many of the fastest stored schedules are tried to be read.
const mostRead = 50

// FastestSaid gives the fastest schedule that the database has of a space's pipeline and the
// space can say, of the newest run of the Generator on its target; nil where there is none. The
// error is the database's, or of a schedule in it that is none.
func FastestSaid(ctx context.Context, db *tunedb.DB, generator string, sp *space.Space) (*Said, error) {
	runs, err := db.Runs(ctx, generator)
	if err != nil {
		return nil, err
	}
	p := sp.Pipeline()
	for _, r := range runs {
		if r.Workload.Algorithm != p.Algorithm || r.Workload.Target != p.Target {
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
		return nil, nil
	}
	return nil, nil
}

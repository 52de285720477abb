package tune

import (
	"context"
	"math"
	"time"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
)

// A RootTimer chooses for a tree search that measures (ProTuner, section 4.2,
// cost+real): at each root it compiles and times the best complete schedule of every
// tree and names the fastest. It does not time a schedule twice. Unlike the paper's it
// can store what it measured, for what goes on from it. Not safe for concurrent use.
type RootTimer struct {
	Measure func(context.Context, schedule.Schedule) (measure.Result, error)
	// Store, if there is one, keeps a measurement before anything is built on it.
	Store func(context.Context, search.Candidate, measure.Result) error
	Width int // schedules measured at once
	Most  int // how many more may be measured
	// Limit, if above 0, is how long it may measure in all. Roots after that are decided by
	// the predicted cost; Untimed counts them.
	Limit   time.Duration
	Untimed int
	// Known are seconds by the schedule's hash, infinite where it failed.
	Known map[uint64]float64
	Name  string // the search's, for where candidates come from

	spent  time.Duration
	chosen search.Solution // by its time, the last one
}

// Choose implements search.MCTSOptions.Choose. Where none of them ran, or none may be
// measured any more, the one of the lowest predicted cost is taken. The error is Store's
// or that of the context's end.
func (c *RootTimer) Choose(ctx context.Context, best []search.Solution) (int, error) {
	if c.Limit > 0 && c.spent >= c.Limit {
		c.Untimed++
		return cheapest(best), nil
	}
	start := time.Now()
	i, err := c.fastest(ctx, best)
	c.spent += time.Since(start)
	if err == nil && !math.IsInf(c.Seconds(best[i]), 1) {
		c.chosen = best[i]
	}
	return i, err
}

// Last is what to take of a search that ended with a solution: where roots were not timed
// any more, the faster of that one and of what was chosen by its time last.
func (c *RootTimer) Last(ctx context.Context, found search.Solution) (search.Solution, error) {
	if c.Untimed == 0 || c.chosen.Node == nil {
		return found, nil
	}
	both := []search.Solution{found, c.chosen}
	i, err := c.fastest(ctx, both)
	return both[i], err
}

func cheapest(of []search.Solution) int {
	first := 0
	for i, x := range of {
		if x.Cost < of[first].Cost {
			first = i
		}
	}
	return first
}

// fastest measures those of the solutions that were not measured, and is the place of the
// fastest.
func (c *RootTimer) fastest(ctx context.Context, best []search.Solution) (int, error) {
	candidates := search.Candidates(best, c.Name)
	if err := c.time(ctx, candidates); err != nil {
		return 0, err
	}
	first, least := 0, c.seconds(candidates[0])
	for i, x := range candidates {
		if s := c.seconds(x); s < least || s == least && best[i].Cost < best[first].Cost {
			first, least = i, s
		}
	}
	return first, nil
}

// time measures those of the candidates that were not measured, as many as may be. The error
// is Store's or that of the context's end.
func (c *RootTimer) time(ctx context.Context, candidates []search.Candidate) error {
	var fresh []search.Candidate
	for _, x := range candidates {
		if _, ok := c.Known[x.Hash]; !ok && len(fresh) < c.Most {
			c.Known[x.Hash] = math.Inf(1)
			fresh = append(fresh, x)
		}
	}
	c.Most -= len(fresh)
	results := make(chan measured, len(fresh))
	slots := make(chan struct{}, c.Width)
	for _, x := range fresh {
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			r, err := c.Measure(ctx, x.Schedule)
			results <- measured{x, r, err}
		}()
	}
	var stopped error // by the context's end, or by Store
	for range fresh {
		if err := c.keep(ctx, <-results); stopped == nil {
			stopped = err
		}
	}
	return stopped
}

// keep stores a measurement that came to its end, whatever becomes of the others.
func (c *RootTimer) keep(ctx context.Context, m measured) error {
	if m.err != nil {
		return m.err // it was never measured
	}
	if m.result.Status == measure.OK {
		c.Known[m.candidate.Hash] = m.result.Best().Seconds()
	}
	if c.Store == nil {
		return nil
	}
	return c.Store(ctx, m.candidate, m.result)
}

// Seconds is how long a solution's schedule was measured to run; infinite where it
// failed or was not measured.
func (c *RootTimer) Seconds(x search.Solution) float64 {
	return c.seconds(search.Candidates([]search.Solution{x}, c.Name)[0])
}

func (c *RootTimer) seconds(x search.Candidate) float64 {
	if s, ok := c.Known[x.Hash]; ok {
		return s
	}
	return math.Inf(1)
}

// rootTimer is what a search that measures chooses with: it shares the database, so that
// what earlier runs timed is not timed again.
func (t *tuner) rootTimer(ctx context.Context) (*RootTimer, error) {
	past, err := t.known(ctx)
	if err != nil {
		return nil, err
	}
	screener := t.screener()
	c := &RootTimer{Measure: screener.Measure, Width: t.o.Threads + 1, Most: math.MaxInt, Known: map[uint64]float64{}, Name: t.o.Search}
	for _, m := range past {
		s, err := schedule.Parse(m.Text)
		if err != nil {
			continue // of a version that said schedules otherwise: measured anew
		}
		c.Known[s.Hash()] = math.Inf(1)
		if m.Status == measure.OK {
			c.Known[s.Hash()] = m.Best.Seconds()
			screener.SetBest(m.Best)
		}
	}
	known := trials(t.rebuilt(past))
	if t.o.Trials > 0 {
		c.Most = max(0, t.o.Trials-known)
	}
	c.Store = func(ctx context.Context, x search.Candidate, r measure.Result) error {
		m := measured{candidate: x, result: r}
		if err := t.take(ctx, nil, m); err != nil {
			return err
		}
		t.tell(m, known)
		return nil
	}
	return c, nil
}

// screener measures on this host. The plainest schedule bounds what is worth waiting
// for from the start.
func (t *tuner) screener() *measure.Screener {
	local := measure.Local{Server: t.server, Lock: measure.NewHostLock(), Threads: t.o.Threads, BuildLimit: t.buildLimit}
	return measure.NewScreener(local, local, t.o.Protocol, t.ref.Time)
}

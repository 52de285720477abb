package tune

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
)

// timing chooses for a tree search that measures (ProTuner, section 4.2, cost+real): at
// each root it compiles and times the best complete schedule of every tree and names
// the fastest. It does not time a schedule twice, nor one that an earlier run timed
// under the same key. Unlike the paper's it also stores what it measured, for the part
// of tuning that goes on from it.
type timing struct {
	measure func(context.Context, schedule.Schedule) (measure.Result, error)
	// store keeps a measurement before anything is built on it.
	store func(context.Context, measured) error
	width int // schedules measured at once
	// most is how many more may be measured.
	most  int
	known map[uint64]float64 // seconds, by the schedule's hash; infinite where it failed
	// name is the search's, for where candidates come from.
	name string
}

// choose implements search.MCTSOptions.Choose. Where none of them ran, or none may be
// measured any more, the one of the lowest predicted cost is taken.
func (c *timing) choose(ctx context.Context, best []search.Solution) (int, error) {
	candidates := search.Candidates(best, c.name)
	var fresh []search.Candidate
	for _, x := range candidates {
		if _, ok := c.known[x.Hash]; !ok && len(fresh) < c.most {
			c.known[x.Hash] = math.Inf(1)
			fresh = append(fresh, x)
		}
	}
	c.most -= len(fresh)
	results := make([]measured, len(fresh))
	slots := make(chan struct{}, c.width)
	var wg sync.WaitGroup
	for i, x := range fresh {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			r, err := c.measure(ctx, x.Schedule)
			results[i] = measured{x, r, err}
		})
	}
	wg.Wait()
	for _, m := range results {
		if m.err != nil {
			return 0, m.err // the context's end
		}
		if err := c.store(ctx, m); err != nil {
			return 0, err
		}
		if m.result.Status == measure.OK {
			c.known[m.candidate.Hash] = m.result.Best().Seconds()
		}
	}
	first, least := 0, c.seconds(candidates[0])
	for i, x := range candidates {
		if s := c.seconds(x); s < least || s == least && best[i].Cost < best[first].Cost {
			first, least = i, s
		}
	}
	return first, nil
}

// seconds are infinite for what was not measured, too.
func (c *timing) seconds(x search.Candidate) float64 {
	if s, ok := c.known[x.Hash]; ok {
		return s
	}
	return math.Inf(1)
}

// timing is what a search that measures chooses with.
func (t *tuner) timing(ctx context.Context) (*timing, error) {
	past, err := t.recorder.Known(ctx)
	if err != nil {
		return nil, err
	}
	screener := t.screener()
	c := &timing{measure: screener.Measure, width: t.o.Threads + 1, most: math.MaxInt, known: map[uint64]float64{}, name: t.o.Search}
	for _, m := range past {
		s, err := schedule.Parse(m.Text)
		if err != nil {
			continue // of a version that said schedules otherwise: measured anew
		}
		c.known[s.Hash()] = math.Inf(1)
		if m.Status == measure.OK.String() {
			c.known[s.Hash()] = m.Best.Seconds()
			screener.SetBest(m.Best)
		}
	}
	if t.o.Trials > 0 {
		c.most = max(0, t.o.Trials-len(past))
	}
	started := time.Now()
	c.store = func(ctx context.Context, m measured) error {
		if err := t.take(ctx, nil, m); err != nil {
			return err
		}
		t.tell(m, len(past), time.Since(started))
		return nil
	}
	return c, nil
}

// screener measures on this host. The plainest schedule bounds what is worth waiting
// for from the start.
func (t *tuner) screener() *measure.Screener {
	local := measure.Local{Server: t.server, Lock: measure.NewHostLock(), Threads: t.o.Threads, BuildLimit: t.buildLimit}
	s := &measure.Screener{Builder: local, Runner: local, Protocol: t.o.Protocol}
	s.SetBest(t.ref.Time)
	return s
}

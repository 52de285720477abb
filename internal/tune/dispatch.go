package tune

import (
	"context"
	"time"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/search"
)

// overtime is how many more schedules are tried after the budget while none has
// worked: an answer that comes late is better than none.
const overtime = 12

// dispatcher has what a strategy proposes measured, several schedules on their way at once.
type dispatcher struct {
	t        *tuner
	strategy search.Strategy
	screener *measure.Screener
	known    int             // so many trials were had before
	work     context.Context // of what is on its way
	cancel   context.CancelFunc
	results  chan measured

	running   int  // on their way
	late      int  // so many were proposed after the budget
	ended     bool // the budget is over
	exhausted bool // the strategy has no more
}

// measured is a candidate that came back.
type measured struct {
	candidate search.Candidate
	result    measure.Result
	err       error
}

// newDispatcher makes one whose measuring ends with work, which cancel ends.
func newDispatcher(t *tuner, strategy search.Strategy, known int, work context.Context, cancel context.CancelFunc) *dispatcher {
	d := &dispatcher{t: t, strategy: strategy, screener: t.screener(), known: known, work: work, cancel: cancel}
	if len(t.best) > 0 {
		d.screener.SetBest(time.Duration(t.best[0].seconds * float64(time.Second)))
	}
	d.results = make(chan measured, d.width())
	return d
}

// width is one more than compile at once, so that one can be timed while the others compile.
func (d *dispatcher) width() int { return d.t.o.Threads + 1 }

// run proposes and takes until nothing is on its way any more.
func (d *dispatcher) run(ctx context.Context) error {
	over := time.NewTimer(max(0, d.t.o.Budget-time.Since(d.t.began)))
	defer over.Stop()
	for {
		for d.wanted() && d.propose() {
		}
		if d.running == 0 {
			return nil
		}
		select {
		case <-over.C:
			d.ended = true
			if len(d.t.best) > 0 {
				d.cancel()
			} else if !d.t.allWrong() {
				d.t.events.note("the budget is over and nothing has been measured yet; going on until something works")
			}
		case m := <-d.results:
			if err := d.take(ctx, m); err != nil {
				return err
			}
		}
	}
}

// wanted holds while there is room and time for another schedule. Where all were wrong so far
// those on their way decide whether the search goes on (undecided).
func (d *dispatcher) wanted() bool {
	trials := d.t.o.Trials
	return d.running < d.width() && !d.exhausted && d.work.Err() == nil &&
		(!d.ended || len(d.t.best) == 0 && d.late < overtime) &&
		(trials == 0 || d.known+d.t.report.Measured+d.running < trials) && d.t.undecided(d.running, d.width())
}

// propose sends one on its way; false where there is none, or the search was stopped.
func (d *dispatcher) propose() bool {
	var proposed []search.Candidate
	err := d.screener.Alone(d.work, func() (err error) {
		proposed, err = d.strategy.Propose(d.work, 1)
		return err
	})
	if err != nil {
		return false
	}
	if len(proposed) == 0 {
		d.exhausted = true
		return false
	}
	d.running++
	if d.ended {
		d.late++
	}
	go func(c search.Candidate) {
		r, err := d.screener.Measure(d.work, c.Schedule)
		d.results <- measured{c, r, err}
	}(proposed[0])
	return true
}

// take notes what became of one.
func (d *dispatcher) take(ctx context.Context, m measured) error {
	d.running--
	if m.err != nil {
		return nil // cut off: it was never measured
	}
	if err := d.screener.Alone(context.WithoutCancel(ctx), func() error { return d.t.take(ctx, d.strategy, m) }); err != nil {
		return err
	}
	d.exhausted = false // it may have ideas again
	d.t.tell(m, d.known)
	if d.ended && len(d.t.best) > 0 {
		d.cancel()
	}
	return nil
}

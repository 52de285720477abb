package measure

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/schedule"
)

// Result is what measuring one schedule gave. Durations are zero where the
// measurement did not get so far.
type Result struct {
	Status  Status
	Message string          // of a failure
	Samples []time.Duration // of single executions, in order
	Lower   time.Duration   // scheduling, lowering, code generation
	Link    time.Duration
	Check   time.Duration // warm-up and comparison with the reference
	Time    time.Duration // spent timing
}

// Best is the fastest sample, the estimator for ranking (Chen and Revels 2016):
// noise only ever adds.
func (r Result) Best() time.Duration {
	if len(r.Samples) == 0 {
		return 0
	}
	return slices.Min(r.Samples)
}

// Screener measures many schedules: builds run concurrently, runs come one after
// the other, each judged against the best time so far.
type Screener struct {
	builder  Builder
	runner   Runner
	protocol Protocol
	turn     chan struct{} // holds one token: the right to run

	mu    sync.Mutex
	best  time.Duration
	whole time.Duration // of the fastest that was compiled whole
	since int           // schedules with a version for one size timed since one was
}

// NewScreener measures under a protocol. best is a time that was measured before, as
// SetBest is told; 0 where there is none.
func NewScreener(b Builder, r Runner, p Protocol, best time.Duration) *Screener {
	s := &Screener{builder: b, runner: r, protocol: p, turn: make(chan struct{}, 1)}
	s.SetBest(best)
	return s
}

// A schedule with a version for one size is compiled whole where it is faster by wholeStep
// than the fastest one that was, and wholeTurn others were not: for large pipelines that
// takes several times as long as that version alone, and what a search begins with is
// soon surpassed.
const (
	wholeStep = 0.9
	wholeTurn = 16
)

// SetBest tells a time that was measured before, so that hopeless candidates are
// given up on from the start.
func (s *Screener) SetBest(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d > 0 && (s.best == 0 || d < s.best) {
		s.best = d
	}
}

func (s *Screener) incumbent() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.best
}

// Measure builds, checks and times one schedule. Called from several goroutines
// at once it keeps all but one of them compiling and one timing. Of a schedule with a
// version for one size that version alone is compiled and timed; now and then, where it is
// clearly faster than all that is known to be right at other sizes, the rest is compiled
// too, and has to be right. Only the context's end is an error; whatever else goes wrong is the
// result's Status.
func (s *Screener) Measure(ctx context.Context, what schedule.Schedule) (Result, error) {
	r, err := s.time(ctx, what)
	if err != nil || r.Status != OK {
		return r, err
	}
	if what.Specializes() {
		if !s.promises(r.Best()) {
			s.SetBest(r.Best())
			return r, nil
		}
		if err := s.builder.Whole(ctx, what, s.protocol); err != nil {
			return s.failed(ctx, err)
		}
	}
	s.SetBest(r.Best())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.whole == 0 || r.Best() < s.whole {
		s.whole = r.Best()
	}
	return r, nil
}

// promises holds for a time after which a schedule is to be compiled whole.
func (s *Screener) promises(d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since++; s.since <= wholeTurn || s.best > 0 && d > s.best || s.whole > 0 && float64(d) > wholeStep*float64(s.whole) {
		return false
	}
	s.since = 0
	return true
}

// time builds, checks and times a schedule when its turn has come.
func (s *Screener) time(ctx context.Context, what schedule.Schedule) (Result, error) {
	a, err := s.builder.Build(ctx, what, s.protocol, s.incumbent())
	if err != nil {
		return s.failed(ctx, err)
	}
	defer a.Drop()
	var run *bridge.Run
	err = s.Alone(ctx, func() (err error) {
		run, err = s.runner.Run(ctx, a, s.protocol, s.incumbent())
		return err
	})
	r := Result{Status: OK}
	if err != nil {
		if r, err = s.failed(ctx, err); err != nil {
			return r, err
		}
	} else {
		r.Samples, r.Time = run.Samples, run.Time
	}
	if c, ok := a.(*bridge.Candidate); ok {
		r.Lower, r.Link, r.Check = c.Lower, c.Link, c.Check
	}
	return r, nil
}

// Alone calls f while nothing is timed and waits for that: what f does besides timing would
// disturb what is. The error is f's, or the context's where that ends first.
func (s *Screener) Alone(ctx context.Context, f func() error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return f()
}

func (s *Screener) failed(ctx context.Context, err error) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	status, message := StatusOf(err)
	return Result{Status: status, Message: message}, nil
}

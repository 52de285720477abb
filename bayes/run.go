package bayes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Evaluator measures one configuration. It returns Lost when ctx ended before
// it could.
type Evaluator interface {
	Evaluate(ctx context.Context, t Trial) Outcome
}

// Preparer is an Evaluator with work that does not disturb measurements, such
// as compiling: Prepare is called for several trials at a time, and Evaluate,
// alone, for those whose preparation was OK.
type Preparer interface {
	Prepare(ctx context.Context, t Trial) Outcome
}

// EvaluatorFunc is a function as an Evaluator.
type EvaluatorFunc func(ctx context.Context, t Trial) Outcome

// Evaluate calls f.
func (f EvaluatorFunc) Evaluate(ctx context.Context, t Trial) Outcome { return f(ctx, t) }

// RunOptions bound a run.
type RunOptions struct {
	// Trials is the number of trials the study has in the end, those of earlier
	// runs included. 0: no bound.
	Trials int
	// Deadline ends the run; trials under way are abandoned. Zero: none.
	Deadline time.Time
	// Parallel trials are prepared at a time; default 1.
	Parallel int
	// OnTrial is told of each trial with its outcome, one at a time, and of the
	// best so far (best.ID is 0 when there is none).
	OnTrial func(t, best Trial)
}

// Validate reports the first option out of range.
func (o RunOptions) Validate() error {
	if o.Trials < 0 || o.Parallel < 0 {
		return fmt.Errorf("run: Trials and Parallel cannot be negative")
	}
	return nil
}

// Stop says why a run ended.
type Stop string

const (
	Spent       Stop = "spent"       // the number of trials is reached
	Exhausted   Stop = "exhausted"   // nothing is left to try
	Expired     Stop = "expired"     // the deadline passed
	Interrupted Stop = "interrupted" // the context was cancelled
	Failed      Stop = "failed"      // the study or its store did, as the error of Run says
)

// Run asks, evaluates and tells until the trials are spent, the space
// exhausted, the deadline passed or ctx cancelled. A trial that was interrupted
// stays pending: it is the first one when the study is opened again. The error
// is that of the study or its store, with Failed; whatever the evaluator meets
// is an outcome.
func Run(ctx context.Context, s *Study, e Evaluator, o RunOptions) (Stop, error) {
	if err := o.Validate(); err != nil {
		return "", err
	}
	parent := ctx
	if !o.Deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, o.Deadline)
		defer cancel()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &runner{study: s, evaluator: e, o: o}
	r.left = o.Trials - s.finished()
	var wg sync.WaitGroup
	for range max(1, o.Parallel) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if !r.work(ctx) {
				cancel()
			}
		}()
	}
	wg.Wait()
	switch {
	case r.err != nil:
		return Failed, r.err
	case r.exhausted && !r.abandoned:
		return Exhausted, nil
	case parent.Err() != nil:
		return Interrupted, nil
	case !o.Deadline.IsZero() && !time.Now().Before(o.Deadline):
		return Expired, nil
	}
	return Spent, nil
}

// finished counts the trials that need no evaluation any more.
func (s *Study) finished() int {
	n := 0
	for _, t := range s.Trials() {
		if t.Outcome.Status != Pending {
			n++
		}
	}
	return n
}

type runner struct {
	study     *Study
	evaluator Evaluator
	o         RunOptions

	alone sync.Mutex // held by the one that measures

	mu        sync.Mutex
	left      int // trials still to begin, when o.Trials is set
	exhausted bool
	abandoned bool // a trial stays pending, so that not everything has been tried
	err       error
}

// work evaluates trials until there is a reason to stop; it returns false when
// the other workers should abandon theirs.
func (r *runner) work(ctx context.Context) bool {
	for ctx.Err() == nil && r.begin() {
		trials, err := r.study.Ask(ctx, 1)
		if errors.Is(err, ErrExhausted) {
			return r.mark(&r.exhausted)
		}
		if err != nil && ctx.Err() != nil {
			return true // the error says no more than that
		}
		if err != nil {
			return r.fail(err)
		}
		t := trials[0]
		t.Outcome = r.evaluate(ctx, t)
		if ctx.Err() != nil && t.Outcome.Status == Lost {
			return r.mark(&r.abandoned)
		}
		// The outcome is there: it is stored even when ctx has just ended, and where it
		// cannot be, so that it will be measured again, that is said.
		if err := r.study.Tell(context.WithoutCancel(ctx), t.ID, t.Outcome); err != nil {
			return r.fail(err)
		}
		r.report(t)
	}
	return true
}

// begin takes one of the trials left.
func (r *runner) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.exhausted || r.err != nil {
		return false
	}
	if r.o.Trials == 0 {
		return true
	}
	r.left--
	return r.left >= 0
}

// mark sets a flag and returns what work does then.
func (r *runner) mark(flag *bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	*flag = true
	return true
}

// fail keeps the first error and returns what work does then.
func (r *runner) fail(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	return false
}

// evaluate turns whatever happens into an outcome that can be told.
func (r *runner) evaluate(ctx context.Context, t Trial) Outcome {
	if p, ok := r.evaluator.(Preparer); ok {
		if o := p.Prepare(ctx, t); o.Status != OK {
			return tellable(o)
		}
	}
	r.alone.Lock()
	defer r.alone.Unlock()
	if ctx.Err() != nil {
		return Failure(Lost, "interrupted")
	}
	return tellable(r.evaluator.Evaluate(ctx, t))
}

// tellable makes an outcome that Tell would refuse a crash.
func tellable(o Outcome) Outcome {
	if err := o.validate(); err != nil {
		return Outcome{Status: Crashed, Message: err.Error(), Elapsed: o.Elapsed}
	}
	return o
}

func (r *runner) report(t Trial) {
	if r.o.OnTrial == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	best, _ := r.study.Best()
	r.o.OnTrial(t, best)
}

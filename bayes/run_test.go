package bayes_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
)

func evaluator(p problem) bayes.Evaluator {
	return bayes.EvaluatorFunc(func(_ context.Context, t bayes.Trial) bayes.Outcome { return p.Cost(t.Config) })
}

func TestRunStops(t *testing.T) {
	ctx := context.Background()
	p := tiny(t)
	s := open(t, p, bayes.Options{}, nil)
	var reported []int
	stop, err := bayes.Run(ctx, s, evaluator(p), bayes.RunOptions{Trials: 7, OnTrial: func(tr, best bayes.Trial) {
		reported = append(reported, tr.ID)
		if tr.Outcome.Status == bayes.Pending || best.ID != 0 && best.Outcome.Status != bayes.OK {
			t.Errorf("reported %+v, best %+v", tr, best)
		}
	}})
	if stop != bayes.Spent || err != nil || len(s.Trials()) != 7 || len(reported) != 7 {
		t.Errorf("%v %v after %d trials, %d reported", stop, err, len(s.Trials()), len(reported))
	}
	stop, err = bayes.Run(ctx, s, evaluator(p), bayes.RunOptions{Trials: 7})
	if stop != bayes.Spent || err != nil || len(s.Trials()) != 7 {
		t.Errorf("again: %v %v after %d trials", stop, err, len(s.Trials()))
	}
	stop, err = bayes.Run(ctx, s, evaluator(p), bayes.RunOptions{})
	if stop != bayes.Exhausted || err != nil || len(s.Trials()) != int(p.Space.Size()) {
		t.Errorf("%v %v after %d trials", stop, err, len(s.Trials()))
	}
	if _, err := bayes.Run(ctx, s, evaluator(p), bayes.RunOptions{Parallel: -1}); err == nil {
		t.Error("Parallel -1 passes")
	}
}

// TestRunInterrupted: what was under way stays pending and comes first later.
func TestRunInterrupted(t *testing.T) {
	p := all(t)[0]
	for _, deadline := range []bool{false, true} {
		s := open(t, p, small(t, "uniform"), nil)
		ctx, cancel := context.WithCancel(context.Background())
		o, want := bayes.RunOptions{Trials: 50}, bayes.Interrupted
		if deadline {
			o.Deadline, want = time.Now().Add(300*time.Millisecond), bayes.Expired
		}
		n := 0
		stop, err := bayes.Run(ctx, s, bayes.EvaluatorFunc(func(ctx context.Context, tr bayes.Trial) bayes.Outcome {
			if n++; n < 4 {
				return p.Cost(tr.Config)
			}
			if !deadline {
				cancel()
			}
			<-ctx.Done()
			return bayes.Failure(bayes.Lost, "interrupted")
		}), o)
		if stop != want || err != nil {
			t.Errorf("stopped %v, %v; want %v", stop, err, want)
		}
		tr := s.Trials()
		// A deadline may pass before the fourth trial on a busy machine.
		if len(tr) != 4 && !deadline {
			t.Errorf("%d trials", len(tr))
		}
		for i, x := range tr {
			if last := i == len(tr)-1; x.Outcome.Status != bayes.OK && !(last && x.Outcome.Status == bayes.Pending) {
				t.Errorf("trial %d: %+v", x.ID, x.Outcome)
			}
		}
		cancel()
	}
}

// TestRunInterruptedAtTheEnd: nothing is left to ask, but what was interrupted has not been
// tried.
func TestRunInterruptedAtTheEnd(t *testing.T) {
	p := problem{Name: "one", Space: mustSpace(t, []space.Param{{Name: "c", Type: space.Categorical, Categories: []string{"x"}}})}
	for want, last := range map[bayes.Stop]bayes.Outcome{
		bayes.Interrupted: bayes.Failure(bayes.Lost, "interrupted"),
		bayes.Exhausted:   bayes.Value(1),
	} {
		s := open(t, p, bayes.Options{Method: bayes.Uniform}, nil)
		exhausted := make(chan struct{})
		bayes.OnExhausted(s, func() { close(exhausted) })
		ctx, cancel := context.WithCancel(context.Background())
		stop, err := bayes.Run(ctx, s, bayes.EvaluatorFunc(func(context.Context, bayes.Trial) bayes.Outcome {
			<-exhausted // the other worker asked
			cancel()
			return last
		}), bayes.RunOptions{Parallel: 2})
		if stop != want || err != nil {
			t.Errorf("stopped %v, %v; want %v", stop, err, want)
		}
		cancel()
	}
}

// staged checks that preparations overlap and measurements do not.
type staged struct {
	p                   problem
	preparing, most     atomic.Int32
	measuring, measured atomic.Int32
	meet                sync.WaitGroup
	once                atomic.Int32
}

func (s *staged) Prepare(_ context.Context, t bayes.Trial) bayes.Outcome {
	n := s.preparing.Add(1)
	defer s.preparing.Add(-1)
	for m := s.most.Load(); n > m && !s.most.CompareAndSwap(m, n); m = s.most.Load() {
	}
	if s.once.Add(1) <= 3 { // the first three wait for each other
		s.meet.Done()
		s.meet.Wait()
	}
	if t.ID%4 == 0 {
		return bayes.Failure(bayes.Crashed, "does not compile")
	}
	return bayes.Outcome{Status: bayes.OK}
}

func (s *staged) Evaluate(_ context.Context, t bayes.Trial) bayes.Outcome {
	if s.measuring.Add(1) != 1 {
		return bayes.Value(math.NaN()) // told as a crash; the test would see it
	}
	defer s.measuring.Add(-1)
	s.measured.Add(1)
	return s.p.Cost(t.Config)
}

func TestRunPreparesInParallelAndMeasuresAlone(t *testing.T) {
	p := all(t)[0]
	s := open(t, p, small(t, "default"), nil)
	e := &staged{p: p}
	e.meet.Add(3)
	stop, err := bayes.Run(context.Background(), s, e, bayes.RunOptions{Trials: 24, Parallel: 3})
	if stop != bayes.Spent || err != nil {
		t.Fatal(stop, err)
	}
	if e.most.Load() != 3 || e.measured.Load() != 18 {
		t.Errorf("%d preparations at a time, %d measurements", e.most.Load(), e.measured.Load())
	}
	for _, tr := range s.Trials() {
		want := bayes.OK
		if tr.ID%4 == 0 {
			want = bayes.Crashed
		}
		if tr.Outcome.Status != want {
			t.Errorf("trial %d: %+v", tr.ID, tr.Outcome)
		}
	}
}

func TestRunTurnsNonsenseIntoFailures(t *testing.T) {
	p := tiny(t)
	s := open(t, p, bayes.Options{}, nil)
	n := 0
	odd := []bayes.Outcome{bayes.Value(math.NaN()), bayes.Value(math.Inf(-1)), {}, {Status: 99}, {Status: bayes.Crashed, Value: 3}}
	stop, err := bayes.Run(context.Background(), s, bayes.EvaluatorFunc(func(context.Context, bayes.Trial) bayes.Outcome {
		n++
		return odd[n-1]
	}), bayes.RunOptions{Trials: len(odd)})
	if stop != bayes.Spent || err != nil {
		t.Fatal(stop, err)
	}
	for _, tr := range s.Trials() {
		if tr.Outcome.Status != bayes.Crashed || tr.Outcome.Message == "" {
			t.Errorf("trial %d: %+v", tr.ID, tr.Outcome)
		}
	}
}

func TestRunReportsAStoreFailure(t *testing.T) {
	p := tiny(t)
	s := open(t, p, bayes.Options{}, &flaky{})
	if stop, err := bayes.Run(context.Background(), s, evaluator(p), bayes.RunOptions{Parallel: 2}); stop != bayes.Failed || !errors.Is(err, errDisk) {
		t.Errorf("stopped %v, error %v", stop, err)
	}
}

// TestRunReportsALostOutcome: an outcome that could not be stored is not passed over because
// the run was to end then.
func TestRunReportsALostOutcome(t *testing.T) {
	p := tiny(t)
	s := open(t, p, bayes.Options{}, &flaky{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop, err := bayes.Run(ctx, s, bayes.EvaluatorFunc(func(_ context.Context, tr bayes.Trial) bayes.Outcome {
		if tr.ID == 3 { // whose outcome is the sixth that is put
			cancel()
		}
		return p.Cost(tr.Config)
	}), bayes.RunOptions{})
	if !errors.Is(err, errDisk) {
		t.Errorf("%s, error %v", stop, err)
	}
	if last := s.Trials()[2]; last.Outcome.Status != bayes.Pending {
		t.Errorf("%+v", last)
	}
}

var errDisk = errors.New("disk full")

// flaky is a store whose disk fills up.
type flaky struct{ puts atomic.Int32 }

func (f *flaky) Begin(_ context.Context, h bayes.Header) (bayes.Header, []bayes.Record, error) {
	return h, nil, nil
}

func (f *flaky) Put(context.Context, bayes.Record) error {
	if f.puts.Add(1) > 5 {
		return errDisk
	}
	return nil
}

func (f *flaky) Close() error { return nil }

package tune

import (
	"context"
	"errors"
	"math/rand"
	"sync"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
	"github.com/protuner/protuner/internal/tunedb"
)

// solutions are complete nodes of harris, no two of them the same, dearer and dearer.
func solutions(t *testing.T, n int) (*space.Space, []search.Solution) {
	sp := spacetest.New(t, pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	rng := rand.New(rand.NewSource(1))
	var out []search.Solution
	known := map[uint64]bool{}
	for len(out) < n {
		node := search.Start(sp)
		for !node.Complete() {
			node = node.Sample(rng)
		}
		x := search.Solution{Node: node, Cost: float64(len(out) + 1)}
		if c := search.Candidates([]search.Solution{x}, "")[0]; !known[c.Hash] {
			known[c.Hash] = true
			out = append(out, x)
		}
	}
	return sp, out
}

// clock pretends to measure: by place among the solutions, seconds, or 0 for a schedule
// that fails.
type clock struct {
	mu      sync.Mutex
	seconds map[uint64]float64
	times   map[uint64]int // each was measured
}

func newClock(of []search.Solution, seconds ...float64) *clock {
	c := &clock{seconds: map[uint64]float64{}, times: map[uint64]int{}}
	for i, x := range search.Candidates(of, "") {
		c.seconds[x.Hash] = seconds[i]
	}
	return c
}

func (c *clock) measure(ctx context.Context, s schedule.Schedule) (measure.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times[s.Hash()]++
	if took := c.seconds[s.Hash()]; took > 0 {
		return measure.Result{Status: measure.OK, Samples: []time.Duration{time.Duration(took * 1e9)}}, ctx.Err()
	}
	return measure.Result{Status: measure.Crashed}, ctx.Err()
}

func TestTheFastestMovesTheRoot(t *testing.T) {
	_, found := solutions(t, 5)
	for name, c := range map[string]struct {
		seconds []float64
		most    int
		want    int
	}{
		"by its time, not its cost":       {[]float64{3, 2, 1, 4, 5}, 9, 2},
		"not one that failed":             {[]float64{0, 2, 0, 1.5, 0}, 9, 3},
		"half of them failed":             {[]float64{0, 7, 0, 8, 0}, 9, 1},
		"all failed: the cheapest":        {[]float64{0, 0, 0, 0, 0}, 9, 0},
		"none may be measured":            {[]float64{3, 2, 1, 4, 5}, 0, 0},
		"only the first may be":           {[]float64{3, 2, 1, 4, 5}, 1, 0},
		"of equally fast ones, the model": {[]float64{3, 1, 1, 1, 5}, 9, 1},
	} {
		clock := newClock(found, c.seconds...)
		stored := 0
		real := &RootTimer{
			Measure: clock.measure, Width: 2, Most: c.most, Known: map[uint64]float64{}, Name: "test",
			Store: func(context.Context, search.Candidate, measure.Result) error { stored++; return nil },
		}
		for again := range 2 {
			if got, err := real.Choose(t.Context(), found); got != c.want || err != nil {
				t.Errorf("%s: chose %d, %v, want %d", name, got, err, c.want)
			}
			if stored != min(c.most, 5) || len(clock.times) != stored {
				t.Errorf("%s: %d measured and %d stored after call %d", name, len(clock.times), stored, again)
			}
		}
		for h, n := range clock.times {
			if n != 1 {
				t.Errorf("%s: %016x was measured %d times", name, h, n)
			}
		}
	}
}

// Once its time is over roots are decided by the model, and what was fast is not given up.
func TestTimingIsOver(t *testing.T) {
	_, found := solutions(t, 5)
	for name, c := range map[string]struct {
		end, want int // by place: what the search ended with, and what is taken
		measured  int
	}{
		"the last found is faster": {4, 4, 3},
		"what was timed is faster": {3, 1, 3},
		"the last found fails":     {2, 1, 3},
		"it is what was timed":     {1, 1, 2},
	} {
		clock := newClock(found, 3, 2, 0, 4, 1)
		real := &RootTimer{Measure: clock.measure, Width: 2, Most: 9, Limit: time.Nanosecond, Known: map[uint64]float64{}, Name: "test"}
		if got, err := real.Choose(t.Context(), found[:2]); got != 1 || err != nil {
			t.Fatalf("%s: chose %d, %v", name, got, err)
		}
		if last, err := real.Last(t.Context(), found[3]); last.Cost != found[3].Cost || err != nil {
			t.Errorf("%s: took %v, %v though all roots were timed", name, last.Cost, err)
		}
		if got, err := real.Choose(t.Context(), []search.Solution{found[4], found[2], found[3]}); got != 1 || err != nil || len(clock.times) != 2 || real.Untimed != 1 {
			t.Errorf("%s: chose %d, %v after %d measured, %d roots untimed", name, got, err, len(clock.times), real.Untimed)
		}
		if last, err := real.Last(t.Context(), found[c.end]); last.Cost != found[c.want].Cost || err != nil || len(clock.times) != c.measured {
			t.Errorf("%s: took %v, %v with %d measured", name, last.Cost, err, len(clock.times))
		}
	}
}

// Where nothing that was timed ever worked, what the search ended with is taken as it is, and
// no time is spent on it.
func TestNothingThatWasTimedWorked(t *testing.T) {
	_, found := solutions(t, 3)
	clock := newClock(found, 0, 0, 1)
	real := &RootTimer{Measure: clock.measure, Width: 2, Most: 9, Limit: time.Nanosecond, Known: map[uint64]float64{}, Name: "test"}
	for call := range 3 { // the first alone is timed
		if got, err := real.Choose(t.Context(), found[:2]); got != 0 || err != nil {
			t.Fatalf("call %d: chose %d, %v", call, got, err)
		}
	}
	for _, end := range found {
		if last, err := real.Last(t.Context(), end); last.Cost != end.Cost || err != nil || len(clock.times) != 2 || real.Untimed != 2 {
			t.Errorf("took %v, not %v, %v with %d measured, %d roots untimed", last.Cost, end.Cost, err, len(clock.times), real.Untimed)
		}
	}
}

// What cannot be stored, and the context's end, end the search.
func TestChoosingFails(t *testing.T) {
	_, found := solutions(t, 2)
	full := errors.New("disk full")
	real := &RootTimer{
		Measure: newClock(found, 1, 2).measure, Width: 2, Most: 9, Known: map[uint64]float64{},
		Store: func(context.Context, search.Candidate, measure.Result) error { return full },
	}
	if _, err := real.Choose(t.Context(), found); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	real.Known = map[uint64]float64{}
	if _, err := real.Choose(ended, found); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// What the trees measured is in the database, is not measured again by the next run
// and is there for the strategy that goes on.
func TestTreesShareTheDatabase(t *testing.T) {
	sp, found := solutions(t, 3)
	db := database(t)
	clock := newClock(found, 3, 0, 1)
	run := func() (*tuner, *RootTimer) {
		u := &tuner{
			o: valid(), spaces: []*space.Space{sp}, recorder: begin(t, db, tunedb.Workload{Generator: "harris"}), ref: &bridge.Reference{},
			report: &Report{Failures: map[measure.Status]int{}},
		}
		real, err := u.rootTimer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		real.Measure = clock.measure
		return u, real
	}
	first, real := run()
	if got, err := real.Choose(t.Context(), found); got != 2 || err != nil {
		t.Fatalf("chose %d, %v", got, err)
	}
	if len(first.early) != 3 || len(first.best) != 2 || first.best[0].seconds != 1 || first.report.Measured != 3 || first.report.Failures[measure.Crashed] != 1 {
		t.Errorf("%d outcomes, %d ranked, report %+v", len(first.early), len(first.best), first.report)
	}

	second, real := run()
	if got, err := real.Choose(t.Context(), found); got != 2 || err != nil {
		t.Errorf("the second run chose %d, %v", got, err)
	}
	past, err := second.recorder.Known(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := second.rebuilt(past)
	if err := second.recall(before, deaf{}); len(before) != 3 || err != nil || second.report.Measured != 0 || len(second.early) != 0 || len(second.best) != 2 {
		t.Errorf("the second run recalled %d, %v, measured %d, ranked %d", len(before), err, second.report.Measured, len(second.best))
	}
	for h, n := range clock.times {
		if n != 1 {
			t.Errorf("%016x was measured %d times", h, n)
		}
	}

	third, _ := run()
	third.o.Trials = 4
	if real, err = third.rootTimer(t.Context()); err != nil || real.Most != 1 {
		t.Errorf("of 4 trials 3 are known, so 1 is left, not %d; %v", real.Most, err)
	}
}

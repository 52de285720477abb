package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
)

// fakeArtifact is a built candidate of which only its schedule's first Func counts.
type fakeArtifact struct {
	name  string
	drops *atomic.Int32
}

func (a fakeArtifact) Drop() { a.drops.Add(1) }

// fakeHost builds and runs as functions say and watches what goes on at once.
type fakeHost struct {
	build func(ctx context.Context, name string) error
	run   func(ctx context.Context, name string, best time.Duration) (*bridge.Run, error)
	whole func(name string) error

	building, running         atomic.Int32
	mostBuilding, mostRunning atomic.Int32
	built, drops              atomic.Int32
}

func enter(now, most *atomic.Int32) func() {
	n := now.Add(1)
	for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
	}
	return func() { now.Add(-1) }
}

func (h *fakeHost) Build(ctx context.Context, s schedule.Schedule, _ Protocol, _ time.Duration) (Artifact, error) {
	defer enter(&h.building, &h.mostBuilding)()
	name := s.Directives[0].Func
	if h.build != nil {
		if err := h.build(ctx, name); err != nil {
			return nil, err
		}
	}
	h.built.Add(1)
	return fakeArtifact{name, &h.drops}, nil
}

func (h *fakeHost) Whole(_ context.Context, s schedule.Schedule, _ Protocol) error {
	return h.whole(s.Directives[0].Func)
}

func (h *fakeHost) Run(ctx context.Context, a Artifact, _ Protocol, best time.Duration) (*bridge.Run, error) {
	defer enter(&h.running, &h.mostRunning)()
	return h.run(ctx, a.(fakeArtifact).name, best)
}

func named(name string) schedule.Schedule {
	return schedule.Schedule{Directives: []schedule.Directive{{Op: schedule.ComputeRoot, Func: name}}}
}

func steady(context.Context, string, time.Duration) (*bridge.Run, error) {
	return &bridge.Run{Samples: []time.Duration{12 * ms, 10 * ms, 11 * ms}, Time: 33 * ms}, nil
}

func TestScreenerTellsResults(t *testing.T) {
	h := &fakeHost{run: steady}
	s := NewScreener(h, h, DefaultProtocol(), 0)
	r, err := s.Measure(t.Context(), named("f"))
	if err != nil || r.Status != OK || r.Best() != 10*ms || r.Time != 33*ms || len(r.Samples) != 3 {
		t.Errorf("got %+v, %v", r, err)
	}
	if h.drops.Load() != 1 {
		t.Errorf("dropped %d times", h.drops.Load())
	}
}

func TestFailuresBecomeStatuses(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		status  Status
		message string
	}{
		"build failed":  {&bridge.Failure{Status: "build_failed", Message: "no loop x"}, BuildFailed, "no loop x"},
		"crashed":       {&bridge.Failure{Status: "crashed", Message: "m"}, Crashed, "m"},
		"timed out":     {&bridge.Failure{Status: "timed_out", Message: "m"}, TimedOut, "m"},
		"out of memory": {&bridge.Failure{Status: "out_of_memory", Message: "m"}, OutOfMemory, "m"},
		"wrong output":  {fmt.Errorf("wrapped: %w", &bridge.Failure{Status: "wrong_output", Message: "m"}), WrongOutput, "m"},
		"ours":          {&bridge.Failure{Status: "infra_failed", Message: "m"}, InfraFailed, "m"},
		"anything else": {errors.New("no lock"), InfraFailed, "no lock"},
		// A failure cannot say that nothing failed, nor what no one knows.
		"a failure that is ok": {&bridge.Failure{Status: "ok", Message: "m"}, InfraFailed, "ok: m"},
		"an invalid failure":   {&bridge.Failure{Status: "invalid", Message: "m"}, InfraFailed, "invalid: m"},
		"an unknown failure":   {&bridge.Failure{Status: "tired", Message: "m"}, InfraFailed, "tired: m"},
	} {
		for _, stage := range []string{"build", "run"} {
			h := &fakeHost{run: func(context.Context, string, time.Duration) (*bridge.Run, error) { return nil, c.err }}
			if stage == "build" {
				h.build = func(context.Context, string) error { return c.err }
			}
			s := NewScreener(h, h, DefaultProtocol(), 0)
			r, err := s.Measure(t.Context(), named("f"))
			if err != nil || r.Status != c.status || r.Message != c.message || r.Best() != 0 {
				t.Errorf("%s in %s: got %+v, %v", name, stage, r, err)
			}
			if h.drops.Load() != h.built.Load() {
				t.Errorf("%s in %s: %d built, %d dropped", name, stage, h.built.Load(), h.drops.Load())
			}
		}
	}
}

func TestTheBestTimeIsShared(t *testing.T) {
	var told []time.Duration
	times := map[string]time.Duration{"slow": 30 * ms, "fast": 10 * ms, "middle": 20 * ms}
	h := &fakeHost{run: func(_ context.Context, name string, best time.Duration) (*bridge.Run, error) {
		told = append(told, best)
		if name == "broken" {
			return nil, &bridge.Failure{Status: "wrong_output"}
		}
		return &bridge.Run{Samples: []time.Duration{times[name]}}, nil
	}}
	s := NewScreener(h, h, DefaultProtocol(), 0)
	s.SetBest(0) // nothing
	for _, name := range []string{"slow", "broken", "fast", "middle", "slow"} {
		if _, err := s.Measure(t.Context(), named(name)); err != nil {
			t.Fatal(err)
		}
	}
	s.SetBest(5 * ms)
	s.SetBest(50 * ms)
	if _, err := s.Measure(t.Context(), named("slow")); err != nil {
		t.Fatal(err)
	}
	want := []time.Duration{0, 30 * ms, 30 * ms, 10 * ms, 10 * ms, 5 * ms}
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("runs were told %v, want %v", told, want)
	}
	if got := NewScreener(h, h, DefaultProtocol(), 7*ms).incumbent(); got != 7*ms {
		t.Errorf("one that begins with 7 ms has %v", got)
	}
}

// Builds overlap, two runs never do.
func TestRunsAreAlone(t *testing.T) {
	const width = 4
	var all sync.WaitGroup
	gate := make(chan struct{})
	var waiting atomic.Int32
	h := &fakeHost{
		build: func(context.Context, string) error {
			if waiting.Add(1) == width {
				close(gate) // all are in their builds at once
			}
			<-gate
			return nil
		},
		run: func(ctx context.Context, name string, best time.Duration) (*bridge.Run, error) {
			time.Sleep(2 * ms) // long enough for another to come in, if one could
			return steady(ctx, name, best)
		},
	}
	s := NewScreener(h, h, DefaultProtocol(), 0)
	for i := range width {
		all.Go(func() {
			for range 5 {
				if _, err := s.Measure(t.Context(), named(fmt.Sprint(i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if h.mostBuilding.Load() != width || h.mostRunning.Load() != 1 {
		t.Errorf("%d built at once, %d ran at once", h.mostBuilding.Load(), h.mostRunning.Load())
	}
	if h.drops.Load() != 5*width {
		t.Errorf("%d dropped of %d", h.drops.Load(), 5*width)
	}
}

// Whoever waits for its turn, builds or runs when the context ends leaves, drops
// what it built and records nothing.
func TestCancelledMeasuringReturns(t *testing.T) {
	for _, stage := range []string{"build", "turn", "run"} {
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan struct{}, 2)
		h := &fakeHost{
			build: func(ctx context.Context, _ string) error {
				if stage == "build" {
					started <- struct{}{}
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			},
			run: func(ctx context.Context, _ string, _ time.Duration) (*bridge.Run, error) {
				started <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}
		s := NewScreener(h, h, DefaultProtocol(), 0)
		n := 1
		if stage == "turn" {
			n = 2
		}
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				if r, err := s.Measure(ctx, named("f")); !errors.Is(err, context.Canceled) || r.Status != Invalid {
					t.Errorf("in %s: got %+v, %v", stage, r, err)
				}
			})
		}
		<-started
		cancel()
		all.Wait()
		if h.drops.Load() != h.built.Load() {
			t.Errorf("in %s: %d built, %d dropped", stage, h.built.Load(), h.drops.Load())
		}
	}
}

func TestProtocols(t *testing.T) {
	if err := DefaultProtocol().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for name, spoil := range map[string]func(*Protocol){
		"negative time":        func(p *Protocol) { p.MinTotal = -1 },
		"no samples":           func(p *Protocol) { p.MinSamples = 0 },
		"fewer than least":     func(p *Protocol) { p.MaxSamples = p.MinSamples - 1 },
		"giving up below 1":    func(p *Protocol) { p.GiveUp = 0.9 },
		"killing first":        func(p *Protocol) { p.Kill = p.GiveUp - 0.1 },
		"no patience":          func(p *Protocol) { p.Patience = 0 },
		"no first limit":       func(p *Protocol) { p.FirstLimit = 0 },
		"negative relative":    func(p *Protocol) { p.Relative = -1 },
		"negative absolute":    func(p *Protocol) { p.Absolute = -1 },
		"negative for integer": func(p *Protocol) { p.IntegerEvery = -1 },
		"and by magnitude":     func(p *Protocol) { p.IntegerRelative = -1 },
		"and by anything":      func(p *Protocol) { p.Stray = -1 },
	} {
		p := DefaultProtocol()
		if spoil(&p); p.Validate() == nil {
			t.Errorf("%s is let through", name)
		}
	}
	p := DefaultProtocol()
	first, later := p.Run(0), p.Run(10*ms)
	if first.GiveUp != 0 || first.Timeout != p.FirstLimit {
		t.Errorf("with no time known: %+v", first)
	}
	if later.GiveUp != 15*ms || later.Timeout != p.Patience+120*ms {
		t.Errorf("with 10 ms known: %+v", later)
	}
	if slow := p.Run(time.Hour); slow.Timeout != p.FirstLimit {
		t.Errorf("the limit grew to %v", slow.Timeout)
	}
	if c := CheckOnly(p); c.MaxSamples != 1 || c.MinTotal != 0 {
		t.Errorf("only to check: %+v", c)
	}
}

// Where nothing is computed with floats all must be exact; where long sums are, the longer
// the less, and what the user allows for integers stands.
func TestWhatIsAllowedByThePipeline(t *testing.T) {
	strict := DefaultProtocol()
	if got := strict.ForPipeline(pipelinetest.Described(t, "dots.h21")); got != strict {
		t.Errorf("of integers alone: %+v", got)
	}
	short, long := pipelinetest.Described(t, "hist.h21"), pipelinetest.Described(t, "softmax.h21")
	if n := long.LongestFloatSum(); n < 100 || short.LongestFloatSum() != 0 {
		t.Fatalf("softmax adds up %d, hist %d", n, short.LongestFloatSum())
	}
	got := strict.ForPipeline(short)
	if got.Integer == 0 || got.Relative <= strict.Relative || got.Relative > 1e-2 || got.Stray == 0 || got.IntegerShare > 0.5 {
		t.Errorf("without long sums: %+v", got)
	}
	sum := &long.Funcs[slices.IndexFunc(long.Funcs, func(f pipeline.Func) bool { return f.Name == "total" })].Stages[1].Loops[0]
	sum.Const = &[2]int64{0, 1 << 21}
	if longer := strict.ForPipeline(long); longer.Relative <= got.Relative || longer.IntegerRelative <= got.IntegerRelative || longer.IntegerShare != 1 {
		t.Errorf("with a long sum: %+v", longer)
	}
	strict.IntegerEvery = 7
	got.IntegerEvery = 7
	if again := strict.ForPipeline(short); again != got {
		t.Errorf("with 7 allowed for each: %+v, want %+v", again, got)
	}
}

// Of a schedule with a version for one size the rest is compiled and checked only where
// it is faster by a tenth than all that is known to be right, and not too often; and it
// counts only if that is right too.
func TestScreenerChecksTheRest(t *testing.T) {
	took := 10 * ms
	var checked []string
	h := &fakeHost{
		run: func(context.Context, string, time.Duration) (*bridge.Run, error) {
			return &bridge.Run{Samples: []time.Duration{took}}, nil
		},
		whole: func(name string) error {
			checked = append(checked, name)
			if name == "wrong" {
				return &bridge.Failure{Status: WrongOutput.String(), Message: "elsewhere"}
			}
			return nil
		},
	}
	s := NewScreener(h, h, DefaultProtocol(), 0)
	measure := func(name string, lap time.Duration, want Status) {
		t.Helper()
		took = lap
		special := named(name).With(schedule.Directive{Op: schedule.Specialize, Func: name, Vars: []string{"x"}, Ints: []int64{0, 8}})
		if r, err := s.Measure(t.Context(), special); err != nil || r.Status != want {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
	wait := func() {
		for range wholeTurn {
			measure("one of many", 20*ms, OK)
		}
	}
	measure("early", 11*ms, OK)
	wait()
	measure("first", 10*ms, OK)
	measure("soon", 8*ms, OK)
	wait()
	measure("slower", 9*ms, OK)
	measure("wrong", 5*ms, WrongOutput)
	wait()
	measure("faster", 7*ms, OK)
	wait()
	measure("little", 6500*time.Microsecond, OK)
	if want := []string{"first", "wrong", "faster"}; !slices.Equal(checked, want) {
		t.Errorf("the rest of %v was checked, want %v", checked, want)
	}
	if s.incumbent() != 6500*time.Microsecond {
		t.Errorf("the best is %v", s.incumbent())
	}
	// Any other is checked when it is built.
	if r, err := s.Measure(t.Context(), named("wrong")); err != nil || r.Status != OK {
		t.Errorf("got %+v, %v", r, err)
	}
}

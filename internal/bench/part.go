package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/tune"
)

// What bounds each candidate and each lap.
const (
	candidateMemory = 8 << 30
	candidateBuild  = time.Minute
)

// stage is a part that is open: with a fork server and the reference that everything
// made of it is compared with.
type stage struct {
	part     *part
	gen      *bridge.Generator
	pipe     *pipeline.Pipeline
	space    *space.Space     // Adams et al.'s, for what only the model is asked about
	model    search.Evaluator // nil where modelErr says why it has none
	modelErr error
	server   *bridge.Server
	ref      *bridge.Reference
	runner   string
	protocol measure.Protocol
	threads  int
}

// inputSeed of all inputs: they belong to the application, not to the seeds.
const inputSeed = 0

// openStage describes the part and computes its reference. What searches of Adams et
// al.'s space or loops around Adams2019 find is built as its schedules are, which may
// leave loops as they are that cannot be unrolled.
func openStage(ctx context.Context, p *part, o Options) (s *stage, err error) {
	s = &stage{part: p, threads: o.Threads}
	options := p.options
	options.Env = []string{bridge.PermitUnroll}
	if s.gen, err = open(ctx, options); err != nil {
		return nil, err
	}
	if s.pipe, err = s.gen.Describe(ctx); err != nil {
		return nil, &unopened{"it cannot be described", err}
	}
	s.protocol = measure.DefaultProtocol().ForPipeline(s.pipe)
	if s.runner, err = s.gen.Toolchain.Runner(ctx, false); err != nil {
		return nil, err
	}
	s.modelErr = s.openModel(o)
	scratch, err := bridge.NewScratch()
	if err != nil {
		return nil, err
	}
	inputs, err := measure.Inputs(s.pipe, nil, inputSeed, scratch)
	if err != nil {
		bridge.RemoveScratch(scratch)
		return nil, err
	}
	s.server, err = s.gen.Serve(ctx, bridge.ServerOptions{
		MemoryBytes: candidateMemory, BuildTime: candidateBuild, Inputs: inputs, CPUs: measure.PhysicalCPUs(o.Threads), Scratch: scratch,
	})
	if err != nil {
		return nil, &unopened{"its fork server does not start", err}
	}
	if s.ref, err = measure.Reference(ctx, s.server, s.pipe); err != nil {
		s.server.Close()
		return nil, &unopened{"its reference cannot be computed", err}
	}
	return s, nil
}

// openModel makes the paper's space and the model. What asks neither can do without.
func (s *stage) openModel(o Options) (err error) {
	if s.space, err = space.New(s.pipe, space.Adams(o.Threads)); err != nil {
		return fmt.Errorf("it has no space of schedules: %w", err)
	}
	weights, err := tune.ReadWeights(s.gen.Toolchain.Halide, o.Weights)
	if err != nil {
		return err
	}
	model, err := cost.New(weights, s.pipe, o.Threads)
	if err != nil {
		return err
	}
	s.model = search.NewModelEvaluator(s.space, model)
	return nil
}

// problem is the search for a schedule of low predicted cost.
func (s *stage) problem() (search.Problem, error) {
	if s.modelErr != nil {
		return search.Problem{}, s.modelErr
	}
	return search.Problem{Root: search.Start(s.space), Evaluator: s.model, Workers: s.threads}, nil
}

// costOf is what the model says of a schedule, in milliseconds; 0 where the paper's
// space cannot say it, or the model nothing of it.
func (s *stage) costOf(ctx context.Context, what schedule.Schedule) float64 {
	if s.modelErr != nil {
		return 0
	}
	state, err := s.space.ImportSchedule(what)
	if err != nil {
		return 0
	}
	out := make([]float64, 1)
	if s.model.Evaluate(ctx, out, []search.Node{search.NewStateNode(state)}) != nil || math.IsInf(out[0], 0) || math.IsNaN(out[0]) {
		return 0
	}
	return out[0]
}

// screener times schedules one after the other, builds beside each other.
func (s *stage) screener() *measure.Screener {
	local := measure.Local{Server: s.server, Lock: measure.NewHostLock(), Threads: s.threads}
	return measure.NewScreener(local, local, s.protocol, s.ref.Time)
}

// fresh is a racer that starts a library anew for every lap.
func (s *stage) fresh(library string, lenient bool) measure.InFresh {
	return measure.Pinned(bridge.Fresh{
		Runner: s.runner, Library: library, Function: s.gen.Name, Data: s.ref.Data, Threads: s.threads, Memory: candidateMemory, Lenient: lenient,
	}, s.ref.Time)
}

// apply builds a schedule ahead of time in a folder.
func (s *stage) apply(ctx context.Context, what schedule.Schedule, dir string) error {
	source, err := what.HalideBody(s.pipe.Binding(), s.pipe.Algorithm, "")
	if err != nil {
		return &bridge.Failure{Status: measure.BuildFailed.String(), Message: err.Error()}
	}
	return s.gen.Apply(ctx, what, source, bridge.Emission{Dir: dir, Function: s.gen.Name, Outputs: []string{"static_library", "c_header", "schedule"}})
}

// unopened says why a part cannot be opened, whoever schedules it.
type unopened struct {
	what string
	err  error
}

func (e *unopened) Error() string { return e.what + ": " + e.err.Error() }

func (e *unopened) Unwrap() error { return e.err }

// open opens a Generator; its error is an *unopened.
func open(ctx context.Context, o bridge.Options) (*bridge.Generator, error) {
	g, err := bridge.Open(ctx, o)
	if err != nil {
		return nil, &unopened{"it cannot be opened", err}
	}
	return g, nil
}

// generators opens each part's Generator once, also where several ask at a time.
type generators struct {
	mu   sync.Mutex
	open map[*part]*opened
}

type opened struct {
	once sync.Once
	gen  *bridge.Generator
	err  error
}

func (g *generators) get(ctx context.Context, p *part) (*bridge.Generator, error) {
	g.mu.Lock()
	if g.open == nil {
		g.open = map[*part]*opened{}
	}
	o := g.open[p]
	if o == nil {
		o = &opened{}
		g.open[p] = o
	}
	g.mu.Unlock()
	o.once.Do(func() { o.gen, o.err = open(ctx, p.options) })
	return o.gen, o.err
}

// failure is a status and what to say of it.
func failure(err error) (measure.Status, string) {
	var limit *bridge.LimitError
	var candidate *bridge.Failure
	var generator *bridge.GeneratorError
	var refused *tune.UsageError
	var shut *unopened
	switch {
	case errors.As(err, &limit) && limit.Limit == "memory":
		return measure.OutOfMemory, limit.Error()
	case errors.As(err, &limit):
		return measure.TimedOut, limit.Error()
	case errors.As(err, &candidate) && candidate.Killed: // perhaps for what others took
		return measure.InfraFailed, candidate.Message
	case errors.As(err, &candidate):
		status, _ := measure.StatusOf(candidate)
		return status, candidate.Message // also of bad input, which is no Status: its words say all
	case errors.As(err, &generator) && generator.Killed:
		return measure.OutOfMemory, "killed by the system, as where memory runs out; begin in another folder with a smaller --peer-memory"
	case errors.As(err, &shut) && errors.As(err, &generator):
		return measure.BuildFailed, shut.what + ": " + generator.Line()
	case errors.As(err, &generator):
		return measure.BuildFailed, "its scheduler failed: " + generator.Line()
	case errors.Is(err, tune.ErrNothingWorked), errors.As(err, &refused):
		return measure.BuildFailed, err.Error()
	}
	return measure.InfraFailed, err.Error()
}

// ofMachine holds for faults of the machine or of protuner: they prove nothing about what was
// made.
func ofMachine(err error) bool {
	status, _ := failure(err)
	return status == measure.InfraFailed
}

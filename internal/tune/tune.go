package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/tunedb"
)

// manifest is what a run can be repeated from.
type manifest struct {
	Options  Options       `json:"options"`
	Space    space.Options `json:"space"`
	Program  string        `json:"program"` // version of protuner
	CPU      string        `json:"cpu"`
	Governor string        `json:"governor,omitempty"`
	SMT      string        `json:"smt,omitempty"`
	Load     string        `json:"load,omitempty"` // at the start
}

func newManifest(o Options, protocol measure.Protocol, so space.Options) manifest {
	o.Protocol = protocol // and not what screening makes of it
	return manifest{Options: o, Space: so, Program: Program(), CPU: CPUModel(), Governor: Governor(), SMT: SMT(), Load: Load()}
}

// tuner is one run.
type tuner struct {
	o            Options          // its Protocol as screening has it
	handedOut    measure.Protocol // what the schedule that is handed out is held to
	events       Events
	gen          *bridge.Generator
	pipe         *pipeline.Pipeline
	spaces       []*space.Space // the pipeline's as it stands, then restructured, then as seeds restructure it
	spaceOptions space.Options  // of each of them
	inputs       []bridge.Input
	scratch      string // everything of this run that nobody keeps
	server       *bridge.Server
	ref          *bridge.Reference
	recorder     *tunedb.Recorder
	made         map[string]*build // other schedulers', by name
	// ownStands says that directives cannot say the Generator's own schedule, which is a
	// seed: it is raced as it stands.
	ownStands bool
	early     []search.Outcome // of what was measured before there was a strategy
	infra     int              // schedules in a row that could not be measured
	wrong     int              // schedules that computed something else than the reference
	best      []ranked         // fastest first
	special   uint64           // the schedule that the report's Specialized is of
	stood     map[uint64]bool  // schedules, by hash, that stood a race compiled whole
	failed    map[uint64]error // why schedules, by hash, that were right until then did not
	late      int              // so many with a version for the estimated sizes took too long for all sizes,
	inTime    bool             // and one did not
	found     tally            // of candidates that the model found
	others    tally            // of all others
	builds    []time.Duration  // of candidates that were built, the quickest first
	typical   atomic.Int64     // three quarters of those are quicker, in nanoseconds
	report    *Report

	began      time.Time // the search
	unrollTold bool      // that Halide refuses to unroll some loops
}

// ranked is a candidate that worked.
type ranked struct {
	candidate search.Candidate // without its state
	decisions string           // that led to it
	seconds   float64
}

// ErrInterrupted says that the run was stopped by its user; what was found until
// then is in the report and in the files.
var ErrInterrupted = errors.New("interrupted")

// ErrNothingWorked says that no candidate ran and computed the right thing.
var ErrNothingWorked = errors.New("no schedule ran and computed the right thing")

// Run tunes one Generator. Closing stop ends what it is at: the best so far is built and
// handed back without the races that were not over, and the error is ErrInterrupted beside a
// report, whose Hash is empty where nothing was found yet. Cancelling ctx abandons everything
// but what is in the database. ErrUnkept and ErrUnwritten come with a report, too.
func Run(ctx context.Context, o Options, events Events, stop <-chan struct{}) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, &UsageError{err}
	}
	t := &tuner{o: o, events: events, made: map[string]*build{}, stood: map[uint64]bool{}, failed: map[uint64]error{}}
	db, err := tunedb.Open(ctx, o.DB)
	if err != nil {
		return nil, &UsageError{err}
	}
	defer db.Close()
	defer t.cleanUp()
	if err := t.prepare(ctx, stop); err != nil {
		return nil, err
	}
	if err := t.find(ctx, db, stop); err != nil {
		return nil, err
	}
	err = t.finish(ctx, stop)
	switch {
	case err == nil:
		err = unkept(t.recorder.End(ctx, t.report))
	case (errors.Is(err, ErrInterrupted) || errors.Is(err, ErrUnwritten)) && t.report.Hash != "":
		err = errors.Join(err, unkept(t.recorder.Report(ctx, t.report)))
	}
	return t.report, err
}

// ErrUnkept says that the report, which is there, could not be put into the database.
var ErrUnkept = errors.New("the report is not in the database")

// ErrUnwritten says that not all of the winner's files are in the user's folder. Its races are
// in the report.
var ErrUnwritten = errors.New("not all of the winner's files could be written")

func unkept(err error) error {
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUnkept, err)
	}
	return err
}

// prepare is all that can be done, or refused, before anything is searched.
func (t *tuner) prepare(ctx context.Context, stop <-chan struct{}) error {
	asking, cancel := Stoppable(ctx, stop)
	defer cancel()
	if err := t.describe(asking); err != nil {
		return interruption(ctx, stop, err)
	}
	if t.o.Out != "" {
		if err := bridge.Writable(t.o.Out); err != nil {
			return &UsageError{fmt.Errorf("cannot write to the folder %s: %w; name one that can be written with -o", t.o.Out, err)}
		}
	}
	if t.o.asksModel() {
		if _, err := ReadWeights(t.gen.Toolchain.Halide, t.o.Weights); err != nil && !t.doWithout(err) {
			return &UsageError{err}
		}
	}
	return nil
}

// doWithout holds for weights that are not there where nobody asked for the model: the default
// works with every Halide.
func (t *tuner) doWithout(err error) bool {
	return errors.Is(err, errNoWeights) && t.o.Search == Defaults().Search && !t.o.Unmeasured
}

// interruption is ErrInterrupted where err is because of a stop, and else err.
func interruption(ctx context.Context, stop <-chan struct{}, err error) error {
	if err != nil && ctx.Err() == nil && stopped(stop) {
		return ErrInterrupted
	}
	return err
}

// cleanUp ends what runs and removes what nobody keeps.
func (t *tuner) cleanUp() {
	if t.server != nil {
		t.server.Close()
	}
	bridge.RemoveScratch(t.scratch)
}

// Stoppable ends with ctx, or once stop is closed.
func Stoppable(ctx context.Context, stop <-chan struct{}) (context.Context, context.CancelFunc) {
	asking, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-stop:
			cancel()
		case <-asking.Done():
		}
	}()
	return asking, cancel
}

// inputSeed makes inputs that no --input names. It is no part of --seed: the data
// belongs to the workload, under whose key searches of all seeds share measurements.
const inputSeed = 0

// A UsageError is the user's to mend: what was asked for cannot be.
type UsageError struct{ error }

func (e *UsageError) Unwrap() error { return e.error }

// describe opens the Generator and makes its inputs.
func (t *tuner) describe(ctx context.Context) (err error) {
	t.events.phase("describing")
	g := t.o.Generator
	g.Threads = t.o.Threads
	if t.gen, err = bridge.Open(ctx, g); err != nil {
		if bridge.Lacking(err) {
			return err
		}
		return &UsageError{err}
	}
	if t.pipe, err = t.gen.Describe(ctx); err != nil {
		return &UsageError{fmt.Errorf("%s cannot be described: %w", t.gen.Name, err)}
	}
	if err := t.gen.CheckFunction(t.function()); err != nil {
		return &UsageError{fmt.Errorf("-f %s: %w", t.function(), err)}
	}
	if len(t.o.Emit) > 0 {
		if err := t.gen.CheckOutputs(ctx, t.o.Emit); err != nil {
			return &UsageError{fmt.Errorf("-e %s: %w", strings.Join(t.o.Emit, ","), err)}
		}
	}
	t.handedOut, t.o.Protocol = t.o.Protocol, t.o.Protocol.ForPipeline(t.pipe)
	if t.scratch, err = bridge.NewScratch(); err != nil {
		return err
	}
	if t.inputs, err = measure.Inputs(t.pipe, t.o.Inputs, inputSeed, t.scratch); err != nil {
		return &UsageError{err}
	}
	return nil
}

// find searches, and where everything is wrong once more with narrower inputs.
func (t *tuner) find(ctx context.Context, db *tunedb.DB, stop <-chan struct{}) error {
	find := t.search
	if t.o.Unmeasured {
		find = t.predict
	}
	for {
		if err := t.serve(ctx, stop); err != nil {
			return err
		}
		if err := t.begin(ctx, db, stop); err != nil {
			return err
		}
		err := find(ctx, stop)
		if !errors.Is(err, errAllWrong) {
			return err
		}
		// As it was before it was said where these inputs lie.
		asking, cancel := Stoppable(ctx, stop)
		t.pipe, err = t.gen.Describe(asking)
		cancel()
		if err != nil {
			return interruption(ctx, stop, err)
		}
		var settings []string
		t.inputs, settings = measure.Narrower(t.pipe, t.inputs)
		t.wrong, t.early = 0, nil
		t.server.Close()
		t.events.note("all of the first %d schedules computed something else than the reference, as they do where short integers overflow: Halide rounds sums without overflow in vectors and with it outside them. From here on inputs leave room (--input %s)", manyWrong, strings.Join(settings, " --input "))
	}
}

// errAllWrong says that the first manyWrong schedules, and those on their way by then, were all
// wrong, and that inputs can be had that leave integers room.
var errAllWrong = errors.New("all are wrong")

const manyWrong = 6

// allWrong holds where that is so of all that came back.
func (t *tuner) allWrong() bool {
	if len(t.best) > 0 || t.wrong < manyWrong {
		return false
	}
	_, settings := measure.Narrower(t.pipe, t.inputs)
	return len(settings) > 0
}

// undecided holds as long as more have to be tried before all count as wrong, of which so many
// are on their way and so many may be at once. A run that goes on tries as many in all as one
// that nothing stopped.
func (t *tuner) undecided(onTheirWay, atOnce int) bool {
	return !t.allWrong() || t.wrong+onTheirWay < manyWrong+atOnce-1
}

func (t *tuner) begin(ctx context.Context, db *tunedb.DB, stop <-chan struct{}) error {
	so := space.Defaults(t.o.Threads)
	so.Sized = t.specializes()
	w, err := workload(t.o, t.gen, t.pipe, t.inputs)
	if err != nil {
		return err
	}
	asking, cancel := Stoppable(ctx, stop)
	defer cancel()
	if err := t.makeSpaces(asking, so); err != nil {
		return interruption(ctx, stop, err)
	}
	if t.recorder, err = db.Begin(ctx, w, newManifest(t.o, t.handedOut, so)); err != nil {
		return err
	}
	t.report = &Report{
		Run: t.recorder.RunID(), DB: db.Path(), Key: w.Key(), Generator: t.gen.Name, Algorithm: t.pipe.Algorithm, Halide: w.Halide,
		Target: w.Target, Host: w.Host, Threads: t.o.Threads, Search: t.o.Search, Seed: t.o.Seed,
		Budget: t.o.Budget.Seconds(), Failures: map[measure.Status]int{}, Started: time.Now(),
	}
	return nil
}

func (t *tuner) serve(ctx context.Context, stop <-chan struct{}) (err error) {
	t.events.phase("reference")
	asking, cancel := Stoppable(ctx, stop)
	defer cancel()
	t.server, err = t.gen.Serve(asking, bridge.ServerOptions{
		MemoryBytes: t.o.CandidateMemory, BuildTime: t.o.CandidateBuild, Inputs: t.inputs,
		CPUs: measure.PhysicalCPUs(t.o.Threads),
	})
	if says := (*bridge.GeneratorError)(nil); errors.As(err, &says) {
		return &UsageError{err}
	} else if err != nil {
		return interruption(ctx, stop, err)
	}
	t.ref, err = measure.Reference(asking, t.server, t.pipe)
	if err != nil {
		return interruption(ctx, stop, unreferenced(t.gen.Name, err))
	}
	if t.server.Sizes() < 2 {
		t.events.note("%s takes outputs of the estimated size only, so schedules are checked at no other", t.gen.Name)
	}
	return nil
}

// unreferenced says why there is no reference. Its failure is no schedule's, so it is no
// *bridge.Failure but where protuner or the machine failed.
func unreferenced(generator string, err error) error {
	var f *bridge.Failure
	status, _ := measure.StatusOf(err)
	switch {
	case errors.As(err, &f) && f.Status == bridge.BadInput:
		return &UsageError{errors.New(f.Message)}
	case status == measure.InfraFailed:
		return fmt.Errorf("the reference of %s cannot be computed: %w", generator, err)
	}
	return fmt.Errorf("the reference of %s cannot be computed: %s", generator, f.Error())
}

// shareOfBudget bounds what one candidate's compiling may take of a short budget, and
// generous how many times as long as others', but never below leastBuild, nor below
// plainly times what the plainest schedule took, which tells how fast this machine compiles
// now: some schedules of large pipelines compile for longer than everything else together.
// Where that was too short for all so far, or for all that the model found, it is doubled
// after every patience of them.
const (
	shareOfBudget = 8
	generous      = 4
	leastBuild    = 10 * time.Second
	plainly       = 5
	patience      = 3
)

// tally is what became of candidates.
type tally struct {
	worked atomic.Bool  // one did
	late   atomic.Int64 // so many took too long
}

// gone says where a search whose fork server is gone goes on, and why it is; nil while it is
// there. Nothing that fails then says anything about a schedule.
func (t *tuner) gone() error {
	if err := t.server.Ended(); err != nil {
		return fmt.Errorf("%w; what was measured is in %s: the same command goes on from there", err, t.o.DB)
	}
	return nil
}

// tallyOf is the one that a candidate counts in.
func (t *tuner) tallyOf(c search.Candidate) *tally {
	if t.o.asksModel() && c.Origin == t.o.Search {
		return &t.found
	}
	return &t.others
}

// mostBuild is how long a build may take in this run, whatever others take, unless all so far
// took too long.
func (t *tuner) mostBuild() time.Duration {
	return min(t.o.CandidateBuild, max(t.o.Budget/shareOfBudget, t.leastBuild()))
}

func (t *tuner) leastBuild() time.Duration { return max(leastBuild, plainly*(t.ref.Lower+t.ref.Link)) }

func (t *tuner) buildLimit() time.Duration {
	limit := t.o.Budget / shareOfBudget
	if typical := time.Duration(t.typical.Load()); typical > 0 {
		limit = min(limit, generous*typical)
	}
	limit = max(limit, t.leastBuild())
	if !t.found.worked.Load() {
		late := t.found.late.Load()
		if !t.others.worked.Load() {
			late += t.others.late.Load()
		}
		limit <<= min(late/patience, 8)
	}
	return min(t.o.CandidateBuild, limit)
}

// notice takes how long a candidate compiled; 0 where it did not end.
func (t *tuner) notice(build time.Duration) {
	if build > 0 {
		at, _ := slices.BinarySearch(t.builds, build)
		t.builds = slices.Insert(t.builds, at, build)
		t.typical.Store(int64(t.builds[3*len(t.builds)/4]))
	}
}

// function is the name of the pipeline's function in what is written.
func (t *tuner) function() string {
	if t.o.Function != "" {
		return t.o.Function
	}
	return t.gen.Name
}

// plainName is what its files are called, and its name in what is raced.
func (t *tuner) plainName() string { return bridge.WithoutNamespaces(t.function()) }

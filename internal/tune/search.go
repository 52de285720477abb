package tune

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/tunedb"
)

// search proposes and measures until the budget, the trials or the strategy's ideas
// are spent, or stop is closed; or until it is plain that everything is wrong with these
// inputs (errAllWrong).
func (t *tuner) search(ctx context.Context, stop <-chan struct{}) error {
	t.began = time.Now()
	past, err := t.known(ctx)
	if err != nil {
		return err
	}
	begin, err := t.seeds(ctx, stop)
	if err != nil {
		return err
	}
	var before []rebuilt
	if err := inParts(ctx, past, func(some []tunedb.Measurement) error {
		before = append(before, t.rebuilt(some)...)
		return nil
	}); err != nil {
		return err
	}
	known := trials(before)
	spent := func() float64 {
		share := float64(time.Since(t.began)) / float64(t.o.Budget)
		if t.o.Trials > 0 {
			share = max(share, float64(known+t.report.Measured)/float64(t.o.Trials))
		}
		return share
	}
	strategy, err := t.strategy(ctx, stop, begin, t.o.Trials > 0 && known >= t.o.Trials, spent)
	if err != nil {
		return err
	}
	t.events.phase("searching")
	if err := inParts(ctx, before, func(some []rebuilt) error { return t.recall(some, strategy) }); err != nil {
		return err
	}
	if known > 0 {
		t.events.note("%d schedules were measured before and are not measured again", known)
	}
	if err := strategy.Observe(t.early); err != nil {
		return err
	}
	work, cancel := Stoppable(ctx, stop)
	defer cancel()
	d := newDispatcher(t, strategy, known, work, cancel)
	if err := d.run(ctx); err != nil {
		return err
	}
	t.report.Searched = time.Since(t.began).Seconds()
	t.tellSeeds()
	t.report.Exhausted = d.exhausted
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if t.allWrong() && !stopped(stop) {
		return errAllWrong
	}
	return nil
}

// strategy makes the one asked for, which begins with what is given, for each of the spaces.
// One guided by the model evolves them and what it found, and judges by what was measured
// what to measure next, and has the numbers of the fastest polished later on. Where the trials
// are done, nobody is asked for more; spent is the share of budget or trials that is.
func (t *tuner) strategy(ctx context.Context, stop <-chan struct{}, begin []search.Candidate, done bool, spent func() float64) (search.Strategy, error) {
	var advised []advice // none where nobody is asked
	if t.o.asksModel() && !done {
		var err error
		advised, err = t.askModel(ctx, stop, begin)
		if t.doWithout(err) {
			t.events.note("%v; measuring from the start", err)
		} else if err != nil {
			return nil, err
		}
	}
	var strategies []search.Strategy
	late := new(search.Lateness)
	for i, sp := range t.spaces {
		random := Stream(t.o.Seed, fmt.Sprintf("search/%s/%d", t.o.Search, i))
		if !t.o.asksModel() {
			s, err := search.New(t.o.Search, sp, random)
			if err != nil {
				return nil, err
			}
			strategies = append(strategies, s)
			continue
		}
		o := search.EvolveDefaults()
		o.Lateness = late
		if advised != nil {
			o.Given = search.Candidates(advised[i].found, t.o.Search)
			if t.o.Judge {
				o.Judge = search.NewJudge(sp, advised[i].model)
			}
		}
		strategies = append(strategies, search.NewEvolve(sp, random, o))
	}
	var found search.Strategy = search.NewBegun(begin, search.NewAlternatives(t.spaces, strategies))
	if t.polishes() {
		found = newPolisher(found, t.spaces, spent, t.events.note, Stream(t.o.Seed, "polish"))
	}
	return found, nil
}

// muchLonger is how many times as long as before builds may take where those that timed out
// are tried again.
const muchLonger = 2

// known is what was measured before under this key, and counts in a run of this budget and
// of these limits.
func (t *tuner) known(ctx context.Context) ([]tunedb.Measurement, error) {
	past, err := t.recorder.Known(ctx)
	longest, most := t.mostBuild(), t.memoryLimit()
	return slices.DeleteFunc(past, func(m tunedb.Measurement) bool {
		if m.Status == measure.OutOfMemory {
			return most > m.MemoryLimit
		}
		return m.BuildLimit > 0 && longest >= muchLonger*m.BuildLimit
	}), err
}

// memoryLimit is how much memory a schedule may have, in bytes.
func (t *tuner) memoryLimit() int64 {
	if t.o.CandidateMemory == 0 {
		return math.MaxInt64
	}
	return t.o.CandidateMemory
}

// atOnce is how many stored schedules are gone through at once: that takes moments, and all of
// a large database's minutes.
const atOnce = 32

// inParts calls f with all, so many at once, until ctx ends.
func inParts[T any](ctx context.Context, all []T, f func(some []T) error) error {
	for some := range slices.Chunk(all, atOnce) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(some); err != nil {
			return err
		}
	}
	return nil
}

// rebuilt is what was measured of schedules that this run may try.
type rebuilt struct {
	candidate   search.Candidate
	measurement tunedb.Measurement
}

// trials counts those that a search tried.
func trials(before []rebuilt) (n int) {
	for _, b := range before {
		if b.measurement.Origin != tunedb.Raced {
			n++
		}
	}
	return n
}

func (t *tuner) rebuilt(past []tunedb.Measurement) (out []rebuilt) {
	for _, m := range past {
		if c, ok := t.rebuild(m); ok {
			out = append(out, rebuilt{c, m})
		}
	}
	return out
}

// recall gives the strategy what earlier runs measured under this key.
func (t *tuner) recall(before []rebuilt, strategy search.Strategy) error {
	for _, b := range before {
		if err := t.observe(strategy, b.candidate, b.measurement); err != nil {
			return err
		}
	}
	t.report.Known += trials(before)
	return nil
}

// rebuild makes the candidate that was measured: of a stored trace the state it leads
// to. A schedule without one was a seed that the space cannot say, or its numbers were
// polished; and a trace as text leaves open how many tiles there are where several numbers give
// the same size, so that it may lead elsewhere. Such a schedule has no state, but is known all
// the same, unless it is not to be had any more; a seed is what its scheduler makes of it.
func (t *tuner) rebuild(m tunedb.Measurement) (search.Candidate, bool) {
	for _, sp := range t.spaces {
		state := sp.Decided(m.Trace)
		if state == nil {
			continue
		}
		if c := search.NewCandidate(state, m.Origin); c.Schedule.HashString() == m.Hash {
			return c, true
		}
	}
	s, err := schedule.Parse(m.Text)
	if err != nil || s.HashString() != m.Hash || (m.Trace != "" || !strings.HasPrefix(m.Origin, seedOrigin)) && !t.offers(s) {
		return search.Candidate{}, false
	}
	return search.Candidate{Schedule: s, Origin: m.Origin, Hash: s.Hash()}, true
}

// offers holds where the pipeline may be structured as the schedule has it, and have a version
// for the estimated sizes if it has one.
func (t *tuner) offers(s schedule.Schedule) bool {
	return (t.specializes() || !s.Specializes()) && spaceOf(t.spaces, s) != nil
}

// observe learns from a measurement, a new one or one of an earlier run.
func (t *tuner) observe(strategy search.Strategy, c search.Candidate, m tunedb.Measurement) error {
	t.notice(m.Lower)
	if m.Status == measure.WrongOutput {
		t.wrong++
	}
	return t.learn(strategy, search.Outcome{
		Candidate: c, OK: m.Status == measure.OK, Seconds: m.Best.Seconds(),
		Late: m.Status == measure.TimedOut && m.Lower == 0, // which is known once it was checked
	})
}

// learn tells the strategy and the ranking of one outcome. Without a strategy yet it is
// told to the one that comes.
func (t *tuner) learn(strategy search.Strategy, o search.Outcome) error {
	if o.OK {
		t.tallyOf(o.Candidate).worked.Store(true)
		r := ranked{candidate: o.Candidate, decisions: o.Candidate.Decisions(), seconds: o.Seconds}
		r.candidate.State = nil // a long run has no memory for the states of all schedules and all that led to them
		at, _ := slices.BinarySearchFunc(t.best, r, func(a, b ranked) int { return cmp.Compare(a.seconds, b.seconds) })
		t.best = slices.Insert(t.best, at, r)
	}
	if strategy == nil {
		t.early = append(t.early, o)
		return nil
	}
	return strategy.Observe([]search.Outcome{o})
}

// mostInfra is how many schedules in a row may fail for what is no fault of theirs before the
// search ends: what is amiss will not mend itself.
const mostInfra = 12

// take stores a measurement before anything is built on it. What could not be measured because
// the fork server is gone is none, and nothing else can be measured then.
func (t *tuner) take(ctx context.Context, strategy search.Strategy, m measured) error {
	r := m.result
	if r.Status == measure.InfraFailed {
		if err := t.gone(); err != nil {
			return err
		}
	}
	row := tunedb.Measurement{
		Hash: m.candidate.Schedule.HashString(), Text: m.candidate.Schedule.String(), Origin: m.candidate.Origin, Status: r.Status, Message: r.Message,
		Samples: r.Samples, Best: r.Best(), Lower: r.Lower, Link: r.Link, Check: r.Check, Time: r.Time, Taken: time.Now(),
		Trace: m.candidate.Decisions(),
	}
	if r.Status == measure.TimedOut && bridge.BuildStopped(r.Message) {
		row.BuildLimit = t.mostBuild()
		t.tallyOf(m.candidate).late.Add(1)
	}
	if r.Status == measure.OutOfMemory {
		row.MemoryLimit = t.memoryLimit()
	}
	if err := t.recorder.Record(context.WithoutCancel(ctx), row); err != nil {
		return err
	}
	t.report.Measured++
	if r.Status != measure.OK {
		t.report.Failures[r.Status]++
	}
	if !t.unrollTold && bridge.UnrollRefused(r.Message) {
		t.unrollTold = true
		t.events.note("Halide refuses schedules that unroll loops of which only the estimates say the extent: set %s, here and for your build, to have such loops kept", bridge.PermitUnroll)
	}
	if r.Status == measure.InfraFailed {
		if t.infra++; t.infra >= mostInfra {
			return fmt.Errorf("nothing can be measured here: %s (the last %d schedules all ended so; what was measured before is in %s)", r.Message, mostInfra, t.o.DB)
		}
		return nil // it says nothing about the schedule
	}
	t.infra = 0
	return t.observe(strategy, m.candidate, row)
}

// tell says where the search stands, known schedules being in the database from the start.
func (t *tuner) tell(m measured, known int) {
	if t.events.Measured == nil {
		return
	}
	p := Progress{
		Status: m.result.Status, Origin: m.candidate.Origin, Seconds: m.result.Best().Seconds(), Done: t.report.Measured, Known: known,
		Failures: maps.Clone(t.report.Failures), Elapsed: time.Since(t.began), Budget: t.o.Budget, Trials: t.o.Trials,
	}
	if len(t.best) > 0 {
		p.Best = t.best[0].seconds
		p.Improved = m.result.Status == measure.OK && t.best[0].candidate.Hash == m.candidate.Hash
	}
	t.events.Measured(p)
}

// finalists are the best schedules, the fastest first.
func (t *tuner) finalists() []schedule.Schedule {
	var out []schedule.Schedule
	for _, r := range t.best[:min(len(t.best), t.o.Finalists)] {
		out = append(out, r.candidate.Schedule)
	}
	return out
}

package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

// race checks everything that was made of a part and times it together.
func (r *runner) race(ctx context.Context, s *stage) error {
	p := s.part
	r.begun(p.label(), "checking outputs")
	for _, e := range r.ready(p) {
		if err := r.checkEntry(ctx, s, e); err != nil {
			return err
		}
	}
	for {
		entries := r.ready(p)
		if len(entries) == 0 {
			r.note("%s: no method came to a schedule that computes the right thing", p.label())
			return nil
		}
		entries = slices.DeleteFunc(entries, func(e tunedb.BenchEntry) bool { return !e.Checked })
		if len(entries) == 0 {
			return nil // why not was said of each
		}
		r.begun(p.label(), fmt.Sprintf("race of %d", len(entries)))
		race, err := r.lap(ctx, s, entries)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // the first one's lap, against which all others are timed
			if ofMachine(err) { // and anybody's would have failed
				return r.leaveOut(ctx, p, err)
			}
			if err := r.fell(ctx, entries[0], err); err != nil {
				return err
			}
			continue
		}
		return r.db.PutBenchRace(context.WithoutCancel(ctx), raceRow(s, entries, race))
	}
}

// checkEntry runs a build once and compares what it computes; what fails is no longer
// in. Where the machine fails it stays as it is, for the next run to check: to make it again
// takes its whole budget. Other schedulers' builds may be good for the estimated size only,
// which is noted. The model's opinion of every schedule that the paper's space can say is
// stored besides.
func (r *runner) checkEntry(ctx context.Context, s *stage, e tunedb.BenchEntry) error {
	if e.Checked {
		return nil
	}
	library := r.library(s.part, e.Method, e.Repeat)
	only := measure.CheckOnly(s.protocol)
	_, err := s.fresh(library, false).Lap(ctx, only)
	if err != nil && !ofMachine(err) && ctx.Err() == nil {
		_, again := s.fresh(library, true).Lap(ctx, only)
		switch {
		case again == nil:
			e.Lenient, e.Note = true, joined(e.Note, "good for the estimated size only: "+err.Error())
			err = nil
		case ofMachine(again):
			err = again
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil && ofMachine(err) {
		_, e.Message = failure(err)
		r.note("%s by %s cannot be checked: %s; the same command tries again", s.part.label(), e.Method, e.Message)
		return r.update(ctx, e)
	}
	if err != nil {
		return r.fell(ctx, e, err)
	}
	e.Checked, e.Message = true, "" // of a check that the machine failed, if any
	if what, err := r.scheduleOf(s, e); err == nil {
		if e.Schedule == "" {
			e.Schedule = what.String()
		}
		if e.Cost == 0 {
			e.Cost = s.costOf(ctx, what)
		}
	}
	return r.update(ctx, e)
}

// fell turns an entry into a failure.
func (r *runner) fell(ctx context.Context, e tunedb.BenchEntry, err error) error {
	status, message := failure(err)
	e.Status, e.Message = status, message
	return r.put(ctx, e)
}

// update stores an entry of which more is known.
func (r *runner) update(ctx context.Context, e tunedb.BenchEntry) error {
	r.mu.Lock()
	r.entries[entryKey{e.App, e.Part, e.Method, e.Repeat}] = e
	r.mu.Unlock()
	return r.db.PutBenchEntry(context.WithoutCancel(ctx), e)
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// lap races entries. Of a method's seeds only the fastest is compared with anything, so
// those that cannot be it leave their time to the others.
func (r *runner) lap(ctx context.Context, s *stage, entries []tunedb.BenchEntry) (*measure.Race, error) {
	o := measure.DefaultRaceOptions()
	o.Drop = measure.FarBehind
	var racers []measure.Racer
	for _, e := range entries {
		racers = append(racers, s.fresh(r.library(s.part, e.Method, e.Repeat), e.Lenient))
		o.Groups = append(o.Groups, e.Method)
	}
	o.Protocol, o.MinRounds, o.MaxRounds, o.MaxTime = s.protocol, r.o.MinRounds, r.o.MaxRounds, r.o.RaceTime
	return o.Run(ctx, tune.Stream(r.o.Seed, "bench/"+s.part.label()), racers)
}

func raceRow(s *stage, entries []tunedb.BenchEntry, race *measure.Race) tunedb.BenchRace {
	out := tunedb.BenchRace{
		App: s.part.app, Part: s.part.name, Times: s.part.times, Sentinel: race.Sentinel,
		Rounds: race.Rounds, Thrown: race.Thrown, Disturbed: race.Disturbed, Load: tune.Load(), Taken: time.Now(),
	}
	for i, e := range entries {
		lane := tunedb.BenchLane{Method: e.Method, Repeat: e.Repeat, Laps: race.Lanes[i].Laps, Disturbed: race.Lanes[i].Disturbed}
		if f := race.Lanes[i].Failure; f != nil {
			status, message := failure(f)
			lane.Status, lane.Failure = status, status.String()+": "+message
		}
		out.Lanes = append(out.Lanes, lane)
	}
	return out
}

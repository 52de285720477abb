package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/tunedb"
)

// lapsUntil is a racer that fails after so many laps.
type lapsUntil struct{ laps int }

var errLate = &bridge.Failure{Status: measure.WrongOutput.String(), Message: "one element"}

func (l *lapsUntil) Lap(context.Context, bridge.RunProtocol) (time.Duration, error) {
	if l.laps--; l.laps < 0 {
		return 0, errLate
	}
	return time.Millisecond, nil
}

// database is one of the test's own.
func database(t *testing.T) *tunedb.DB {
	t.Helper()
	db, err := tunedb.Open(t.Context(), filepath.Join(t.TempDir(), "t.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// begin begins a run on a workload.
func begin(t *testing.T, db *tunedb.DB, w tunedb.Workload) *tunedb.Recorder {
	t.Helper()
	r, err := db.Begin(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// record stores a measurement that is taken now.
func record(t *testing.T, r *tunedb.Recorder, m tunedb.Measurement) {
	t.Helper()
	m.Taken = time.Now()
	if err := r.Record(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// recorder stores in a database of the test's own, in which these schedules worked.
func recorder(t *testing.T, worked ...schedule.Schedule) (*tunedb.DB, *tunedb.Recorder) {
	t.Helper()
	db := database(t)
	r := begin(t, db, tunedb.Workload{Algorithm: "a", Generator: "g"})
	for _, s := range worked {
		record(t, r, tunedb.Measurement{Hash: s.HashString(), Text: s.String(), Status: measure.OK, Best: time.Millisecond})
	}
	return db, r
}

// What was right until the race and fails in it as the first, by which all others are
// timed, is not handed out, and the others are raced without it.
func TestFirstFailsInTheRace(t *testing.T) {
	const ever = 1000
	schedules := make([]schedule.Schedule, 3)
	for i := range schedules {
		schedules[i].Directives = []schedule.Directive{{Op: schedule.Parallel, Func: "f", Vars: []string{[]string{"x", "y", "z"}[i]}}}
	}
	for _, c := range []struct {
		laps   []int
		raced  int // how many are in the last race; 0 where there is none
		left   int // how many were not raced anew
		failed []int
	}{
		{[]int{ever, ever, ever}, 3, 3, nil},
		{[]int{3, ever, ever}, 2, 2, []int{0}},
		{[]int{ever, 3, ever}, 3, 3, []int{1}},
		{[]int{3, 2, ever}, 0, 1, []int{0, 1}},
	} {
		db, rec := recorder(t, schedules...)
		tu := &tuner{o: Defaults(), recorder: rec, stood: map[uint64]bool{}, failed: map[uint64]error{}}
		var racers []measure.Racer
		for _, n := range c.laps {
			racers = append(racers, &lapsUntil{n})
		}
		o := measure.DefaultRaceOptions()
		o.MinRounds, o.MaxRounds = 4, 4
		race, raced, err := tu.race(t.Context(), o, Stream(1, "test"), racers, schedules)
		if err != nil {
			t.Fatal(err)
		}
		if got := schedules[len(schedules)-c.left:]; !slices.EqualFunc(raced, got, func(a, b schedule.Schedule) bool { return a.Hash() == b.Hash() }) {
			t.Errorf("laps %v: %d are left", c.laps, len(raced))
		}
		if race == nil && c.raced > 0 || race != nil && len(race.Lanes) != c.raced {
			t.Errorf("laps %v: the race %v", c.laps, race)
		}
		for i, s := range schedules {
			if got := tu.failed[s.Hash()]; errors.Is(got, errLate) != slices.Contains(c.failed, i) {
				t.Errorf("laps %v: %d failed: %v", c.laps, i, got)
			}
			tu.best = append(tu.best, ranked{candidate: search.Candidate{Schedule: s}})
		}
		if got := tu.reserves(schedules[:1]); len(got) != len(schedules)-len(c.failed) {
			t.Errorf("laps %v: %d may be handed out", c.laps, len(got))
		}
		// Nor by export, or by a later run.
		top, err := db.Fastest(t.Context(), tunedb.Workload{Algorithm: "a", Generator: "g"}.Key(), 0)
		if err != nil || len(top) != len(schedules)-len(c.failed) {
			t.Errorf("laps %v: the database offers %d, %v", c.laps, len(top), err)
		}
		known, err := rec.Known(t.Context())
		if err != nil || len(known) != len(schedules) {
			t.Errorf("laps %v: %d are known, %v", c.laps, len(known), err)
		}
		for _, m := range known {
			if m.Status != measure.OK && (m.Status != measure.WrongOutput || m.Best != 0 || !strings.Contains(m.Message, errLate.Message)) {
				t.Errorf("laps %v: stored as %+v", c.laps, m)
			}
		}
	}
	// What fails around a schedule says nothing about it.
	tu := &tuner{failed: map[uint64]error{}}
	around := fmt.Errorf("the race: %w", &bridge.Failure{Status: measure.InfraFailed.String()})
	if tu.leaveOut(t.Context(), schedules[0], around) || len(tu.failed) > 0 {
		t.Errorf("%v counts against the schedule", around)
	}
}

// What was made of the winner and never measured is remembered as well where it fails: it is
// neither raced nor handed out again, unless it failed at a limit.
func TestFailedVersionsAreNotRacedAgain(t *testing.T) {
	db, rec := recorder(t, withVersion(1), withVersion(2))
	tu := &tuner{o: Defaults(), recorder: rec, failed: map[uint64]error{}}
	slow := &bridge.Failure{Status: measure.TimedOut.String(), Message: "running took too long"}
	for n, why := range map[int]*bridge.Failure{1: errLate, 2: slow} {
		if !tu.leaveOut(t.Context(), numbered(n), why) {
			t.Fatalf("%v does not count", why)
		}
		if refuted, err := tu.refuted(t.Context(), numbered(n)); err != nil || !refuted {
			t.Errorf("%v is forgotten at once, %v", why, err)
		}
	}
	record(t, rec, tunedb.Measurement{Hash: numbered(2).HashString(), Text: numbered(2).String(), Status: measure.TimedOut})
	w := tunedb.Workload{Algorithm: "a", Generator: "g"}
	later := &tuner{o: Defaults(), recorder: begin(t, db, w), failed: map[uint64]error{}}
	later.events.Phase = func(name string) { t.Fatalf("%s begins", name) }
	order, err := later.specialize(t.Context(), []schedule.Schedule{withVersion(1)})
	if err != nil || len(order) != 1 || order[0].Hash() != withVersion(1).Hash() {
		t.Errorf("in the order %v, %v", order, err)
	}
	for _, s := range []schedule.Schedule{numbered(2), numbered(3), withVersion(1)} {
		if refuted, err := later.refuted(t.Context(), s); err != nil || refuted {
			t.Errorf("%s is not to be raced: %v", s, err)
		}
	}
	if failed, err := db.Failed(t.Context(), w.Key()); err != nil || !failed[numbered(1).HashString()] {
		t.Errorf("the database has as failed %v, %v", failed, err)
	}
}

// A baseline is held to the estimated output alone where it is wrong elsewhere and right there.
// Anything else that goes wrong is why it is not raced.
func TestBaselinesOfOneSize(t *testing.T) {
	const (
		right   = `{"status":"ok","samples":[1000]}`
		wrong   = `{"status":"wrong_output","message":"one element"}`
		crashed = `{"status":"crashed","message":"reads at -13"}`
		large   = `{"status":"out_of_memory","message":"memory limit reached"}`
		late    = `{"status":"timed_out","message":"stopped"}`
		broken  = `{"status":"infra_failed","message":"cannot be loaded"}`
	)
	for _, c := range []struct {
		strict, lenient string // what the runner answers
		note, failure   string
	}{
		{right, broken, "", ""},
		{wrong, right, "good for the estimated output only: wrong_output: one element", ""},
		{crashed, right, "good for the estimated output only: crashed: reads at -13", ""},
		{wrong, wrong, "", "wrong_output: one element"},
		{crashed, wrong, "", "wrong_output: one element"},
		{crashed, broken, "", "infra_failed: cannot be loaded"},
		{large, right, "", "out_of_memory: memory limit reached"},
		{late, right, "", "timed_out: stopped"},
		{broken, right, "", "infra_failed: cannot be loaded"},
	} {
		// The shell as the runner, of a script in the place of the library.
		script := filepath.Join(t.TempDir(), "library")
		text := fmt.Sprintf("case \"$(cat)\" in *'\"lenient\":true'*) echo '%s';; *) echo '%s';; esac\n", c.lenient, c.strict)
		if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		tu := &tuner{o: Defaults(), report: &Report{}, ref: &bridge.Reference{Data: []byte("{}")}}
		tu.o.Function = "f"
		r, err := tu.rival(t.Context(), measure.NewHostLock(), "/bin/sh", build{name: adams2019, library: script})
		if c.failure != "" {
			if f := (*bridge.Failure)(nil); !errors.As(err, &f) || f.Error() != c.failure {
				t.Errorf("%s, then %s: %v", c.strict, c.lenient, err)
			}
		} else if fresh, ok := r.(measure.InFresh); err != nil || !ok || fresh.Fresh.Lenient != (c.note != "") {
			t.Errorf("%s, then %s: %+v, %v", c.strict, c.lenient, r, err)
		}
		if note := tu.report.baseline(adams2019).Note; note != c.note {
			t.Errorf("%s, then %s: noted %q", c.strict, c.lenient, note)
		}
	}
}

// Where what was screened at the estimated sizes takes too long to compile for all others,
// no more than a few of them are waited for, and those that were screened with all sizes
// follow.
func TestTooLongForAllSizes(t *testing.T) {
	var all, general []schedule.Schedule
	_, rec := recorder(t)
	tu := &tuner{o: Defaults(), recorder: rec, failed: map[uint64]error{}}
	tu.o.Threads = 1
	for i := range 12 {
		s := schedule.Schedule{Directives: []schedule.Directive{{Op: schedule.Unroll, Func: "f", Vars: []string{fmt.Sprint("x", i)}}}}
		if i%4 == 3 {
			general = append(general, s)
		} else {
			s.Directives = append(s.Directives, schedule.Directive{Op: schedule.Specialize, Func: "f"})
		}
		if s.Specializes() != (i%4 != 3) {
			t.Fatalf("schedule %d specializes: %v", i, s.Specializes())
		}
		all = append(all, s)
		tu.best = append(tu.best, ranked{candidate: search.Candidate{Schedule: s}})
	}
	build := func(err error) (tried int) {
		clear(tu.failed)
		tu.late, tu.inTime = 0, false
		if err := tu.eachInTime(t.Context(), all, func(_ context.Context, i int) error {
			tried++
			if all[i].Specializes() {
				return err
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return tried
	}
	late := &bridge.Failure{Status: measure.TimedOut.String(), Message: "compiling took too long"}
	if tried := build(late); tried != manyLate+len(general) || len(tu.failed) != manyLate {
		t.Errorf("%d of %d tried, %d failed", tried, len(all), len(tu.failed))
	}
	if got := tu.standing(all); len(got) != len(general) {
		t.Errorf("%d may still be built", len(got))
	}
	// Where all have such a version and none is in time, none is left to specialise.
	if got, err := tu.specialize(t.Context(), nil); err != nil || len(got) > 0 {
		t.Errorf("specialised none to %d, %v", len(got), err)
	}
	for _, err := range []error{errLate, nil} {
		if tried := build(err); tried != len(all) {
			t.Errorf("%v: %d of %d tried", err, tried, len(all))
		}
	}
	same := func(a, b schedule.Schedule) bool { return a.Hash() == b.Hash() }
	if got := tu.general(); !slices.EqualFunc(got, general, same) {
		t.Errorf("%d that were screened with all sizes", len(got))
	}
	tu.failed[general[1].Hash()] = errLate
	if got := tu.general(); !slices.EqualFunc(got, []schedule.Schedule{general[0], general[2]}, same) {
		t.Errorf("%d are left of them", len(got))
	}
}

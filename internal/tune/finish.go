package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
)

// finish names the winner, builds it ahead of time and races it against the
// baselines in fresh processes.
func (t *tuner) finish(ctx context.Context, stop <-chan struct{}) error {
	if len(t.best) == 0 && stopped(stop) {
		return ErrInterrupted
	}
	if len(t.best) == 0 && t.o.Unmeasured {
		return fmt.Errorf("%w of what the model found; why each does not is said above", ErrNothingWorked)
	}
	if len(t.best) == 0 {
		return fmt.Errorf("%w in %d tried; the database %s holds why each failed", ErrNothingWorked, t.report.Measured+t.report.Known, t.o.DB)
	}
	racing, cancel := Stoppable(ctx, stop)
	defer cancel()
	order, err := t.order(racing)
	if interruption(ctx, stop, err) == ErrInterrupted {
		order, err = t.finalists(), nil
	}
	if err != nil {
		return err
	}
	out, err := os.MkdirTemp(t.scratch, "out-")
	if err != nil {
		return err
	}
	if err := t.handOut(ctx, racing, order, out); err != nil {
		return err
	}
	interrupted := stopped(stop)
	if t.report.Kept {
		if err := t.keepOwn(ctx, out); err != nil {
			return err
		}
	}
	if t.o.Out != "" {
		t.events.phase("writing")
		if err := t.publish(out); err != nil {
			err = fmt.Errorf("%w: %w; free space, or name another folder with -o; then `protuner export` writes the schedule, and the same command everything", ErrUnwritten, err)
			if interrupted {
				err = errors.Join(ErrInterrupted, err)
			}
			return err
		}
	}
	if interrupted {
		return ErrInterrupted
	}
	return nil
}

// order races the best of the screening, and the first of them with and without a version for
// the estimated sizes.
func (t *tuner) order(ctx context.Context) ([]schedule.Schedule, error) {
	order := t.finalists()
	if len(order) > 1 {
		t.events.phase("racing")
		var err error
		if order, err = t.raceFinalists(ctx, order); err != nil {
			return nil, err
		}
	}
	return t.specialize(ctx, order)
}

// handOut builds the first of the schedules that stands everything, a race against the
// baselines too unless that is cut short by racing's end.
func (t *tuner) handOut(ctx, racing context.Context, order []schedule.Schedule, out string) error {
	for {
		winner, err := t.buildWinner(ctx, order, out)
		if err != nil || t.o.Unmeasured || racing.Err() != nil {
			return err
		}
		err = t.raceBaselines(racing, winner)
		if ctx.Err() == nil && racing.Err() != nil {
			t.report.Baselines = nil
			return nil
		}
		if err == nil || !t.leaveOut(ctx, winner.schedule, err) {
			return err
		}
	}
}

// leaveOut takes a schedule that worked in the screening from those that may be handed out
// where err says that it failed since; false where that is not what err says. The database
// remembers that, so that neither export nor a later run comes back to it, but for what failed
// at a limit: others may be given.
func (t *tuner) leaveOut(ctx context.Context, s schedule.Schedule, err error) bool {
	var f *bridge.Failure
	status, _ := measure.StatusOf(err)
	if ctx.Err() != nil || !errors.As(err, &f) || status == measure.InfraFailed {
		return false
	}
	t.failed[s.Hash()] = f
	t.events.note("left out: schedule %s: %v", s.HashString(), err)
	if status == measure.TimedOut || status == measure.OutOfMemory {
		return true
	}
	if err := t.recorder.Refute(ctx, s.HashString(), s.String(), status, err.Error()); err != nil {
		t.events.note("that schedule %s failed could not be stored: %v", s.HashString(), err)
	}
	return true
}

func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// raceFinalists times the best of the screening against each other in rounds and
// returns them fastest first. Screening sorts hundreds by few samples each; what
// is first there is often only lucky.
func (t *tuner) raceFinalists(ctx context.Context, finalists []schedule.Schedule) ([]schedule.Schedule, error) {
	o := measure.DefaultRaceOptions()
	o.Drop = measure.FarBehind
	rng := Stream(t.o.Seed, "race/finalists")
	race, raced, err := t.raceInServer(ctx, o, rng, finalists)
	if err == nil && len(raced) == 0 {
		if plain := t.general(); len(plain) > 0 {
			t.events.note("none of the first %d could be built for all sizes; schedules follow that were screened with that", len(finalists))
			finalists = plain
			race, raced, err = t.raceInServer(ctx, o, rng, finalists)
		}
	}
	if err != nil {
		return nil, err
	}
	if race == nil {
		return t.standing(finalists), nil
	}
	byTime := make([]int, len(raced))
	for i := range byTime {
		byTime[i] = i
	}
	slices.SortStableFunc(byTime, func(a, b int) int { return compareLanes(race.Lanes[a], race.Lanes[b]) })
	out := make([]schedule.Schedule, len(raced))
	for i, k := range byTime {
		out[i] = raced[k]
	}
	return out, nil
}

// raceInServer builds schedules in the fork server, checks them and races those that
// stand that, which it returns; the race is nil where they are fewer than two. Where the first
// fails in it all others are raced anew.
func (t *tuner) raceInServer(ctx context.Context, o measure.RaceOptions, rng *rand.Rand, schedules []schedule.Schedule) (*measure.Race, []schedule.Schedule, error) {
	built := make([]*bridge.Candidate, len(schedules))
	defer func() {
		for _, c := range built {
			if c != nil {
				c.Drop()
			}
		}
	}()
	err := t.eachInTime(ctx, schedules, func(ctx context.Context, i int) (err error) {
		built[i], err = t.server.Build(ctx, bridge.BuildRequest{Schedule: schedules[i], Check: t.o.Protocol.Check(0, t.o.Threads)})
		return err
	})
	if err = cmp.Or(err, t.gone()); err != nil {
		return nil, nil, err
	}
	var racers []measure.Racer
	var raced []schedule.Schedule
	for i, c := range built {
		if c != nil {
			racers = append(racers, measure.InServer{Candidate: c})
			raced = append(raced, schedules[i])
		}
	}
	o.Protocol, o.Progress = t.o.Protocol, t.roundTold(o.MaxRounds)
	race, raced, err := t.race(ctx, o, rng, racers, raced)
	return race, raced, cmp.Or(t.gone(), err)
}

// manyLate is after how many schedules with a version for the estimated sizes that took too
// long, and none that did not, no others of them are built. They were screened by that version
// alone: where extents are not known Halide can take minutes over what takes it a second
// where they are.
const manyLate = 2

// eachInTime builds each of the schedules, as many at a time as there are threads, but for
// those that would take too long, and remembers why some cannot be built.
func (t *tuner) eachInTime(ctx context.Context, schedules []schedule.Schedule, build func(ctx context.Context, i int) error) error {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(t.o.Threads)
	for i, s := range schedules {
		group.Go(func() error {
			mu.Lock()
			late := t.tooLate(s)
			mu.Unlock()
			if late {
				return nil
			}
			err := build(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			if s.Specializes() {
				if status, _ := measure.StatusOf(err); status == measure.TimedOut {
					t.late++
				}
				t.inTime = t.inTime || err == nil
			}
			t.leaveOut(ctx, s, err)
			return ctx.Err()
		})
	}
	return group.Wait()
}

// tooLate holds for schedules that are not built any more.
func (t *tuner) tooLate(s schedule.Schedule) bool {
	return s.Specializes() && !t.inTime && t.late >= manyLate
}

// general are the best of the screening without a version for the estimated sizes: they were
// compiled for all sizes then.
func (t *tuner) general() []schedule.Schedule {
	var out []schedule.Schedule
	for _, r := range t.best {
		if s := r.candidate.Schedule; !s.Specializes() && len(out) < t.o.Finalists {
			out = append(out, s)
		}
	}
	return t.standing(out)
}

// race is raceInServer of what was built.
func (t *tuner) race(ctx context.Context, o measure.RaceOptions, rng *rand.Rand, racers []measure.Racer, raced []schedule.Schedule) (*measure.Race, []schedule.Schedule, error) {
	for len(racers) > 1 {
		race, err := o.Run(ctx, rng, racers)
		if err != nil && t.leaveOut(ctx, raced[0], err) {
			racers, raced = racers[1:], raced[1:]
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for i, l := range race.Lanes {
			if l.Failure == nil {
				t.stood[raced[i].Hash()] = true
			} else {
				t.leaveOut(ctx, raced[i], l.Failure)
			}
		}
		return race, raced, nil
	}
	return nil, raced, nil
}

// compareLanes puts those that finished the race first, by their fastest lap.
func compareLanes(a, b measure.Lane) int {
	out := func(l measure.Lane) int {
		if l.Failure != nil {
			return 2
		}
		if l.Dropped {
			return 1
		}
		return 0
	}
	if d := out(a) - out(b); d != 0 {
		return d
	}
	return int(a.Best() - b.Best())
}

func (t *tuner) roundTold(most int) func(int) {
	if t.events.Round == nil {
		return nil
	}
	return func(done int) { t.events.Round(done, most) }
}

// reservesPerFinalist is how many more schedules may be built for each finalist where
// none of these can be.
const reservesPerFinalist = 10

// reserves are the finalists and after them the best of the others, as they came out of
// the screening, without those that failed since.
func (t *tuner) reserves(finalists []schedule.Schedule) []schedule.Schedule {
	out := slices.Clone(finalists)
	for _, r := range t.best {
		known := func(s schedule.Schedule) bool { return s.Hash() == r.candidate.Schedule.Hash() }
		if len(out) < (1+reservesPerFinalist)*t.o.Finalists && !slices.ContainsFunc(finalists, known) {
			out = append(out, r.candidate.Schedule)
		}
	}
	return t.standing(out)
}

// standing are the schedules without those that failed since they were screened, or would.
func (t *tuner) standing(schedules []schedule.Schedule) []schedule.Schedule {
	return slices.DeleteFunc(slices.Clone(schedules), func(s schedule.Schedule) bool { return t.failed[s.Hash()] != nil || t.tooLate(s) })
}

// buildWinner writes the first of the schedules that Halide builds ahead of time and
// that stand the exact check (see exact). All of them were built in the fork server, so that
// is mostly the first.
func (t *tuner) buildWinner(ctx context.Context, order []schedule.Schedule, out string) (*build, error) {
	t.events.phase("building")
	exact := t.newExact()
	defer exact.close()
	var failures error
	for _, hash := range slices.Sorted(maps.Keys(t.failed)) {
		failures = errors.Join(failures, t.failed[hash])
	}
	for i, s := range t.reserves(order) {
		leave := func(err error, told bool) {
			if i >= len(order) {
				return // the others fail for the same reasons
			}
			if !told {
				t.events.note("left out: %v", err)
			}
			failures = errors.Join(failures, err)
		}
		if err := exact.check(ctx, s); err != nil {
			if end := cmp.Or(ctx.Err(), t.gone()); end != nil {
				return nil, end
			}
			leave(err, t.leaveOut(ctx, s, err))
			continue
		}
		winner, failure, err := t.buildAhead(ctx, s, out)
		if err != nil || winner != nil {
			return winner, err
		}
		leave(failure, false)
	}
	if t.specializes() && len(t.general()) == 0 {
		return nil, fmt.Errorf("none of the best schedules could be built ahead of time; --no-specialize tries only what can be built for all sizes: %w", failures)
	}
	return nil, fmt.Errorf("none of the best schedules could be built ahead of time: %w", failures)
}

// buildAhead builds a schedule ahead of time into out, and has the report name it as the winner.
// failure says why that schedule cannot be built, err why none can.
func (t *tuner) buildAhead(ctx context.Context, s schedule.Schedule, out string) (winner *build, failure, err error) {
	// Linked beside the files that the user gets, not among them.
	linked, err := os.MkdirTemp(t.scratch, "link-")
	if err != nil {
		return nil, nil, err
	}
	found, known := t.foundAs(s)
	source, err := s.HalideBody(t.pipe.Binding(), t.pipe.Algorithm, found.decisions)
	if err != nil {
		return nil, nil, err
	}
	var library string
	if failure = t.gen.Apply(ctx, s, source, t.emission(out)); failure == nil {
		library, failure = t.racedLibrary(ctx, s, out, linked)
	}
	if failure != nil || ctx.Err() != nil {
		return nil, failure, cmp.Or(ctx.Err(), os.RemoveAll(linked))
	}
	t.report.Schedule = s.String()
	t.report.Hash = s.HashString()
	if s.Hash() != t.special {
		t.report.Specialized = nil // what was could not be built
	}
	if known {
		t.report.Origin, t.report.Seconds = found.candidate.Origin, found.seconds
	}
	return &build{name: "protuner", library: library, schedule: s}, nil, nil
}

// racedLibrary links, in linked, what is raced of a schedule that was built into out: that
// build, or where its target is none that can be raced one for another.
func (t *tuner) racedLibrary(ctx context.Context, s schedule.Schedule, out, linked string) (string, error) {
	raced, archive := t.gen.Raced(), filepath.Join(out, t.plainName()+".a")
	if raced.Target() != t.gen.Target() {
		e := bridge.Emission{Dir: linked, Function: t.plainName(), Outputs: []string{"static_library", "c_header"}}
		if err := raced.Apply(ctx, s, "", e); err != nil {
			return "", err
		}
		archive = filepath.Join(linked, e.Function+".a")
	}
	return t.gen.Toolchain.Library(ctx, archive, linked)
}

// foundAs is what the search found a schedule as: one that got or lost its version for the
// estimated sizes last was measured the other way only.
func (t *tuner) foundAs(s schedule.Schedule) (ranked, bool) {
	var other ranked
	measured := false
	for _, r := range t.best {
		switch found := r.candidate.Schedule; {
		case found.Hash() == s.Hash():
			return r, true
		case !measured && found.General().Hash() == s.General().Hash():
			other, measured = r, true
		}
	}
	return other, measured
}

// raceBaselines compares the winner with each baseline, and says how sure that is;
// where there is none it is checked and timed once in a fresh process. Where the search
// began with the Generator's own schedule, that is what is handed back if it leads:
// what directives make of it may be slower than the schedule as it stands.
func (t *tuner) raceBaselines(ctx context.Context, winner *build) error {
	rivals, err := t.baselines(ctx, func() (string, error) { return os.MkdirTemp(t.scratch, "baseline-") })
	if err != nil {
		return err
	}
	runner, err := t.gen.Toolchain.Runner(ctx, false)
	if err != nil {
		return err
	}
	o := measure.DefaultRaceOptions()
	o.Protocol, o.Progress = t.o.Protocol, t.roundTold(o.MaxRounds)
	found := t.fresh(runner, winner.library)
	racers := []measure.Racer{found}
	var raced []build
	for _, b := range rivals {
		r, err := t.rival(ctx, o.Lock, runner, b)
		if failed := (*bridge.Failure)(nil); errors.As(err, &failed) {
			t.report.baseline(b.name).Failure = failed.Error()
			continue
		}
		if err != nil {
			return err
		}
		racers, raced = append(racers, r), append(raced, b)
	}
	if len(raced) == 0 {
		return o.Lock.With(ctx, func() error {
			lap, err := found.Lap(ctx, t.o.Protocol.Run(0))
			if err != nil {
				return fmt.Errorf("the winner, built ahead of time: %w", err)
			}
			t.report.Final = lap.Seconds()
			return nil
		})
	}
	t.events.phase("final race")
	rng := Stream(t.o.Seed, "race/final")
	race, err := o.Run(ctx, rng, racers)
	if err != nil {
		return fmt.Errorf("the final race: %w", err)
	}
	t.tellRace(rng, race, raced)
	return nil
}

// rival is a baseline as a racer, held to the estimated output alone where it is wrong
// elsewhere and right there. The error is a *bridge.Failure where it cannot be raced, or else
// the context's or the lock's.
func (t *tuner) rival(ctx context.Context, lock measure.HostLock, runner string, b build) (measure.Racer, error) {
	r := t.fresh(runner, b.library)
	check := func() error {
		return lock.With(ctx, func() error {
			_, err := r.Lap(ctx, measure.CheckOnly(t.o.Protocol))
			return err
		})
	}
	wrong := check()
	status, _ := measure.StatusOf(wrong)
	if status == measure.InfraFailed && ctx.Err() == nil {
		wrong = check() // which was the machine's fault, and is not the baseline's
		status, _ = measure.StatusOf(wrong)
	}
	if wrong == nil {
		return r, nil
	}
	if status != measure.Crashed && status != measure.WrongOutput {
		return nil, wrong // which says nothing about sizes
	}
	r.Fresh.Lenient = true
	if err := check(); err != nil {
		return nil, err
	}
	t.report.baseline(b.name).Note = "good for the estimated output only: " + wrong.Error()
	return r, nil
}

// tellRace puts the final race, of the winner and these rivals, into the report.
func (t *tuner) tellRace(rng *rand.Rand, race *measure.Race, rivals []build) {
	floor := race.NoiseFloor(rng)
	t.report.NoiseFloor = &floor
	t.report.Rounds, t.report.Thrown = race.Rounds, race.Thrown
	t.report.Final = race.Lanes[0].Best().Seconds()
	lead := 0
	if slices.Contains(t.o.Seeds, Own) {
		lead = leadOfOwn(rng, race, rivals)
	}
	if lead > 0 {
		v := race.Compare(rng, 0, lead)
		t.report.Kept, t.report.Specialized, t.report.Final = true, nil, race.Lanes[lead].Best().Seconds()
		t.report.Baselines = append(t.report.Baselines, BaselineReport{Name: "the search's best", Seconds: race.Lanes[0].Best().Seconds(), Verdict: &v})
	}
	for i, b := range rivals {
		line := t.report.baseline(b.name)
		lane := race.Lanes[i+1]
		if lane.Failure != nil {
			line.Failure = lane.Failure.Error()
			continue
		}
		v := race.Compare(rng, i+1, lead)
		line.Verdict, line.Seconds = &v, lane.Best().Seconds()
	}
}

// level is how much slower than the Generator's own schedule what was found may seem and
// still be handed back: it comes as a .schedule.h.
const level = 0.98

// leadOfOwn is the lane of the Generator's own schedule where that is clearly faster
// than the winner in lane 0, or seems so by median and fastest lap alike: a disturbed race
// is sure of nothing, and of two schedules the likelier one is to be handed back. It is 0
// otherwise.
func leadOfOwn(rng *rand.Rand, race *measure.Race, rivals []build) int {
	for i, b := range rivals {
		if b.name != Own || race.Lanes[i+1].Failure != nil {
			continue
		}
		if v := race.Compare(rng, i+1, 0); v.Ratio.High < 1 || max(v.Ratio.Value, v.Minima) < level {
			return i + 1
		}
	}
	return 0
}

func (t *tuner) fresh(runner, library string) measure.InFresh {
	return measure.Pinned(bridge.Fresh{
		Runner: runner, Library: library, Function: t.plainName(), Data: t.ref.Data, Threads: t.o.Threads, Memory: t.o.CandidateMemory,
	}, t.ref.Time)
}

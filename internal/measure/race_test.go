package measure

import (
	"context"
	"errors"
	"math"
	"math/rand"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
)

// scripted gives laps by a function of how often it was asked before.
type scripted struct {
	lap  func(k int) (time.Duration, error)
	laps int
}

func (s *scripted) Lap(context.Context, bridge.RunProtocol) (time.Duration, error) {
	s.laps++
	return s.lap(s.laps - 1)
}

func always(d time.Duration) *scripted {
	return &scripted{lap: func(int) (time.Duration, error) { return d, nil }}
}

// noisy laps are d with relative noise of the given size.
func noisy(seed int64, d time.Duration, size float64) *scripted {
	rng := rand.New(rand.NewSource(seed))
	return &scripted{lap: func(int) (time.Duration, error) {
		return time.Duration(float64(d) * math.Exp(size*rng.NormFloat64())), nil
	}}
}

func raceOptions(t *testing.T) RaceOptions {
	o := DefaultRaceOptions()
	o.Lock = HostLock{filepath.Join(t.TempDir(), "lock")}
	return o
}

func run(t *testing.T, o RaceOptions, racers ...Racer) *Race {
	t.Helper()
	race, err := o.Run(t.Context(), rand.New(rand.NewSource(1)), racers)
	if err != nil {
		t.Fatal(err)
	}
	return race
}

const ms = time.Millisecond

func TestSteadyRaceStopsWhenItIsPrecise(t *testing.T) {
	rounds := 0
	o := raceOptions(t)
	o.Progress = func(round int) { rounds = round }
	race := run(t, o, always(10*ms), always(15*ms))
	if race.Rounds != o.MinRounds || race.Thrown != 0 || rounds != race.Rounds || len(race.Sentinel) != race.Rounds {
		t.Errorf("%d rounds, %d thrown away, %d told, %d of the sentinel", race.Rounds, race.Thrown, rounds, len(race.Sentinel))
	}
	v := race.Compare(rand.New(rand.NewSource(2)), 1, 0)
	if math.Abs(v.Ratio.Value-1.5) > 1e-9 || math.Abs(v.Minima-1.5) > 1e-9 || v.Inconclusive {
		t.Errorf("verdict %+v", v)
	}
	if floor := race.NoiseFloor(rand.New(rand.NewSource(3))); floor != (Interval{1, 1, 1}) {
		t.Errorf("noise floor %v", floor)
	}
}

func TestNoisyRaceGoesOn(t *testing.T) {
	o := raceOptions(t)
	o.Quiet = 100
	race := run(t, o, noisy(1, 10*ms, 0.3), noisy(2, 10*ms, 0.3))
	if race.Rounds != o.MaxRounds {
		t.Errorf("stopped after %d rounds", race.Rounds)
	}
	v := race.Compare(rand.New(rand.NewSource(2)), 1, 0)
	if v.Ratio.Low > 1 || v.Ratio.High < 1 {
		t.Errorf("a difference where there is none: %+v", v)
	}
}

// Participant 0 and the sentinel are one racer, timed twice a round. Disturbed
// rounds come as the script says; what the others did in them does not count.
func TestDisturbedRoundsAreThrownAway(t *testing.T) {
	o := raceOptions(t)
	lap := func(k int) (time.Duration, error) {
		if round := k / 2; round == 3 || round == 5 {
			return 30 * ms, nil
		}
		return 10 * ms, nil
	}
	other := &scripted{lap: func(k int) (time.Duration, error) {
		if k == 3 || k == 5 {
			return ms, nil // what looks fast here is an accident
		}
		return 20 * ms, nil
	}}
	race := run(t, o, &scripted{lap: lap}, other)
	if race.Thrown != 2 || race.Rounds != o.MinRounds || other.laps != o.MinRounds+2 {
		t.Errorf("%d rounds, %d thrown away, %d laps", race.Rounds, race.Thrown, other.laps)
	}
	if !slices.Equal(race.Disturbed, []time.Duration{30 * ms, 30 * ms}) || !slices.Equal(race.Lanes[1].Disturbed, []time.Duration{ms, ms}) {
		t.Errorf("of the rounds thrown away %v and %v are kept", race.Disturbed, race.Lanes[1].Disturbed)
	}
	if race.Lanes[1].Best() != 20*ms || race.Lanes[0].Best() != 10*ms {
		t.Errorf("best %v and %v", race.Lanes[0].Best(), race.Lanes[1].Best())
	}
}

// What is precise goes on until it is known how far a build is from itself: for twenty rounds
// one of its two laps is disturbed.
func TestRacesGoOnForTheNoiseFloor(t *testing.T) {
	race := run(t, raceOptions(t), &scripted{lap: func(k int) (time.Duration, error) {
		if k < 40 && k%2 == 0 {
			return 30 * ms, nil
		}
		return 10 * ms, nil
	}}, always(20*ms))
	if race.Rounds+race.Thrown < 20+FewestRounds || !race.calm() {
		t.Errorf("%d rounds, %d thrown away, ratios %v", race.Rounds, race.Thrown, AgainstItself(race.Lanes[0].Laps, race.Sentinel))
	}
}

// On a machine that is disturbed every third lap a participant is as fast as itself: rounds
// are thrown away by the sentinel alone, and the other lap of those that count is disturbed
// as often as any.
func TestNoiseFloorOfADisturbedMachine(t *testing.T) {
	o := raceOptions(t)
	o.MinRounds = o.MaxRounds
	rng := rand.New(rand.NewSource(4))
	disturbed := &scripted{lap: func(int) (time.Duration, error) {
		d := float64(10*ms) * math.Exp(0.01*rng.NormFloat64())
		if rng.Intn(3) == 0 {
			d *= 1.2 + rng.Float64()
		}
		return time.Duration(d), nil
	}}
	race := run(t, o, disturbed, always(10*ms))
	slower := 0
	for _, d := range race.Lanes[0].Laps {
		if float64(d) > o.Quiet*float64(race.Lanes[0].Best()) {
			slower++
		}
	}
	if slower < 4 {
		t.Fatalf("%d laps of %d disturbed", slower, race.Rounds)
	}
	for _, ratio := range AgainstItself(race.Lanes[0].Laps, race.Sentinel) {
		if ratio < 0.9 || ratio > 1.1 {
			t.Errorf("a quiet machine's ratios hold %v", ratio)
		}
	}
	if floor := race.NoiseFloor(rand.New(rand.NewSource(3))); floor.Low > 1 || floor.High < 1 || floor.High > 1.02 {
		t.Errorf("noise floor %v", floor)
	}
	// Fewer than five rounds that are quiet in both laps are too few: then all of them count.
	for calm, want := range map[int]int{0: 10, 4: 10, 5: 5} {
		var laps, sentinel []time.Duration
		for k := range 10 {
			a, b := 10*ms, 10*ms
			switch {
			case k < calm:
			case k%2 == 0:
				a = 30 * ms
			default:
				b = 30 * ms
			}
			laps, sentinel = append(laps, a), append(sentinel, b)
		}
		if got := AgainstItself(laps, sentinel); len(got) != want {
			t.Errorf("%d of 10 rounds are quiet: %v", calm, got)
		}
	}
}

func TestRestlessMachineEndsTheRace(t *testing.T) {
	o := raceOptions(t)
	first := &scripted{lap: func(k int) (time.Duration, error) {
		if k < 2 {
			return 10 * ms, nil
		}
		return 50 * ms, nil
	}}
	race := run(t, o, first, always(10*ms))
	if race.Rounds != 1 || race.Rounds+race.Thrown != disturbedFactor*o.MaxRounds {
		t.Errorf("%d rounds, %d thrown away", race.Rounds, race.Thrown)
	}
}

// However slow the participants are, there are rounds enough for an interval.
func TestSlowRaceHasFiveRounds(t *testing.T) {
	o := raceOptions(t)
	o.MaxTime = 0
	if race := run(t, o, noisy(1, 10*ms, 0.03), always(12*ms)); race.Rounds != 5 {
		t.Errorf("%d rounds", race.Rounds)
	}
	restless := &scripted{lap: func(k int) (time.Duration, error) {
		if k < 4 {
			return 10 * ms, nil
		}
		return 50 * ms, nil
	}}
	if race := run(t, o, restless, always(10*ms)); race.Rounds != 2 || race.Thrown != 8 {
		t.Errorf("%d rounds, %d thrown away", race.Rounds, race.Thrown)
	}
}

func TestThoseBehindAreDropped(t *testing.T) {
	o := raceOptions(t)
	o.Drop, o.MinRounds, o.HalfWidth = 1.25, 20, 0
	o.MaxRounds = 20
	far, behind, leader := always(14*ms), noisy(1, 11*ms, 0.01), always(10*ms)
	first := always(20 * ms) // stays in, however slow
	race := run(t, o, first, far, behind, leader)
	if !race.Lanes[1].Dropped || far.laps != 2 {
		t.Errorf("40%% behind: dropped %v after %d laps", race.Lanes[1].Dropped, far.laps)
	}
	if !race.Lanes[2].Dropped || behind.laps < 6 || behind.laps == 20 {
		t.Errorf("10%% behind: dropped %v after %d laps", race.Lanes[2].Dropped, behind.laps)
	}
	if race.Lanes[0].Dropped || race.Lanes[3].Dropped || len(race.Lanes[1].Laps) != 20 {
		t.Errorf("lanes %+v", race.Lanes)
	}
}

// In each group the slower ones go, the fastest stays however slow it is, and the first
// participant stays although its group has a faster one.
func TestGroupsKeepTheirLeaders(t *testing.T) {
	o := raceOptions(t)
	o.Drop, o.Groups = 1.25, []string{"a", "a", "b", "b", "c"}
	slow := always(50 * ms)
	race := run(t, o, always(14*ms), always(10*ms), always(100*ms), slow, always(200*ms))
	for i, want := range []bool{false, false, true, false, false} {
		if race.Lanes[i].Dropped != want {
			t.Errorf("lane %d: dropped %v", i, race.Lanes[i].Dropped)
		}
	}
	if slow.laps != race.Rounds || race.Lanes[2].Laps[1] != 100*ms || race.Lanes[2].Laps[2] != 0 {
		t.Errorf("%d laps of a group's leader in %d rounds; the dropped one's %v", slow.laps, race.Rounds, race.Lanes[2].Laps)
	}
}

func TestNobodyIsDroppedUnlessAsked(t *testing.T) {
	slow := always(100 * ms)
	if race := run(t, raceOptions(t), always(10*ms), slow); race.Lanes[1].Dropped || slow.laps != race.Rounds {
		t.Errorf("dropped %v after %d of %d", race.Lanes[1].Dropped, slow.laps, race.Rounds)
	}
}

func TestFailuresLeaveTheRace(t *testing.T) {
	broken := &bridge.Failure{Status: "wrong_output", Message: "one element"}
	fails := &scripted{lap: func(k int) (time.Duration, error) {
		if k == 4 {
			return 0, broken
		}
		return 9 * ms, nil
	}}
	race := run(t, raceOptions(t), always(10*ms), fails, always(12*ms))
	if !errors.Is(race.Lanes[1].Failure, broken) || fails.laps != 5 {
		t.Errorf("failure %v after %d laps", race.Lanes[1].Failure, fails.laps)
	}
	if race.Lanes[2].Failure != nil || race.Rounds < 10 {
		t.Errorf("the others: %+v", race)
	}
	first := &scripted{lap: func(int) (time.Duration, error) { return 0, broken }}
	if _, err := raceOptions(t).Run(t.Context(), rand.New(rand.NewSource(1)), []Racer{first, always(ms)}); !errors.Is(err, broken) {
		t.Errorf("the first one failing gave %v", err)
	}
}

func TestCancelledRaceReturns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := &scripted{lap: func(k int) (time.Duration, error) {
		if k == 5 {
			cancel()
			return 0, ctx.Err()
		}
		return 10 * ms, nil
	}}
	if _, err := raceOptions(t).Run(ctx, rand.New(rand.NewSource(1)), []Racer{r, always(ms)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRaceOrderIsShuffledAndSeeded(t *testing.T) {
	order := func(seed int64) (out []int) {
		var racers []Racer
		for i := range 4 {
			racers = append(racers, &scripted{lap: func(int) (time.Duration, error) {
				out = append(out, i)
				return 10 * ms, nil
			}})
		}
		if _, err := raceOptions(t).Run(t.Context(), rand.New(rand.NewSource(seed)), racers); err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b, c := order(1), order(1), order(2)
	if len(a) != 50 {
		t.Fatalf("%d laps of 10 rounds of 4 and the sentinel", len(a))
	}
	same := func(x, y []int) bool {
		for i := range x {
			if x[i] != y[i] {
				return false
			}
		}
		return true
	}
	if !same(a, b) || same(a, c) || same(a[:5], a[5:10]) {
		t.Errorf("orders %v, %v, %v", a[:10], b[:10], c[:10])
	}
}

// Median and minimum tell different winners: mostly slower, once much faster.
func TestDisagreementIsInconclusive(t *testing.T) {
	o := raceOptions(t)
	o.MinRounds, o.MaxRounds = 20, 20
	lucky := &scripted{lap: func(k int) (time.Duration, error) {
		if k == 7 {
			return 5 * ms, nil
		}
		return 12 * ms, nil
	}}
	race := run(t, o, always(10*ms), lucky)
	v := race.Compare(rand.New(rand.NewSource(2)), 1, 0)
	if !v.Inconclusive || v.Ratio.Value <= 1 || v.Minima >= 1 {
		t.Errorf("verdict %+v", v)
	}
	if back := race.Compare(rand.New(rand.NewSource(2)), 0, 1); !back.Inconclusive || back.Minima <= 1 {
		t.Errorf("the other way round %+v", back)
	}
}

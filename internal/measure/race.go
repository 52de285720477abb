package measure

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"time"

	"github.com/protuner/protuner/internal/bridge"
)

// Racer is one participant of a race: something that can be executed again and
// again, each time in a process of its own or in one that lives on.
type Racer interface {
	// Lap runs once and returns the fastest execution of it. The error is a
	// *bridge.Failure or the context's.
	Lap(ctx context.Context, p bridge.RunProtocol) (time.Duration, error)
}

// RaceOptions bound a race.
type RaceOptions struct {
	Protocol  Protocol
	Lock      HostLock
	MinRounds int // before anything is concluded; default 10
	MaxRounds int // default 30
	// MaxTime ends a race of slow participants after MinRounds or, at twice the time,
	// after five rounds that count or ten in all. Default 1 minute.
	MaxTime   time.Duration
	HalfWidth float64 // relative half-width of the interval that is precise enough; default 0.02
	// Quiet is the factor by which the sentinel may be above its own minimum; a round
	// in which it is more is thrown away. Default quiet.
	Quiet float64
	// Drop is the factor by which a participant's minimum may be behind the leader's
	// after two rounds before it is dropped; later a paired Wilcoxon test decides.
	// 0: nobody is dropped. Participant 0 and the sentinel never are.
	Drop float64
	// Groups says of each participant to which group it belongs, where it matters only
	// who is the fastest of each: one is dropped for being behind its own group's leader.
	// nil: all are of one group.
	Groups []string
	// Progress is told after each round; may be nil.
	Progress func(round int)
}

// DefaultRaceOptions are the documented defaults.
func DefaultRaceOptions() RaceOptions {
	return RaceOptions{Protocol: DefaultProtocol(), Lock: NewHostLock(), MinRounds: 10, MaxRounds: 30, MaxTime: time.Minute, HalfWidth: 0.02, Quiet: quiet}
}

// quiet is by how much a lap may be above the fastest before the machine counts as disturbed.
const quiet = 1.1

// Lane is what a race says of one participant.
type Lane struct {
	Laps      []time.Duration // one per round that counts; 0 where it was no longer in
	Disturbed []time.Duration // one per round that was thrown away, likewise
	Failure   error           // why it is out, if it failed
	Dropped   bool            // fell behind
}

// Best is the fastest lap, 0 where there is none.
func (l Lane) Best() time.Duration { return Fastest(l.Laps) }

// Fastest of laps, 0 where there is none. A lap of 0 is one that was not run.
func Fastest(laps []time.Duration) time.Duration {
	var best time.Duration
	for _, d := range laps {
		if d > 0 && (best == 0 || d < best) {
			best = d
		}
	}
	return best
}

// Race is a finished race.
type Race struct {
	Lanes     []Lane
	Sentinel  []time.Duration // participant 0 timed a second time in each round: the A/A pair
	Disturbed []time.Duration // the sentinel's laps of the rounds that were thrown away
	Rounds    int             // that count
	Thrown    int             // rounds thrown away because the machine was disturbed
}

// FarBehind is a Drop that leaves room for two unlucky laps.
const FarBehind = 1.25

// disturbedFactor bounds how many rounds may be thrown away for each that is
// wanted, so that a race on a machine that never rests ends.
const disturbedFactor = 2

// FewestRounds count in a race of slow participants: between the least and the greatest
// of five paired ratios their true median lies with 94%, and of fewer with 88% or less, which
// is no longer what an interval claims. Where rounds are thrown away it ends after lateRounds in all.
const (
	FewestRounds = 5
	lateRounds   = 2 * FewestRounds
)

// dropSignificance is the p-value below which a participant that is behind is out.
// Many are tested in every round, so it is strict.
const dropSignificance = 0.01

// Run races the participants: each round times all that are still in, in an order
// shuffled anew, and with them participant 0 a second time. It ends when the
// interval of every pair with participant 0 is precise enough and there are rounds enough for
// its noise floor, or after MaxRounds.
// Where participant 0 fails there is nothing to compare with: the error is its *bridge.Failure.
func (o RaceOptions) Run(ctx context.Context, rng *rand.Rand, racers []Racer) (*Race, error) {
	race := &Race{Lanes: make([]Lane, len(racers))}
	started := time.Now()
	var sentinelBest time.Duration
	lap := func(r Racer) (d time.Duration, err error) {
		lockErr := o.Lock.With(ctx, func() error {
			d, err = r.Lap(ctx, o.Protocol.Run(0))
			return nil
		})
		if lockErr != nil {
			return 0, lockErr
		}
		return d, err
	}
	for race.Rounds < o.MaxRounds && race.Rounds+race.Thrown < disturbedFactor*o.MaxRounds {
		if time.Since(started) > 2*o.MaxTime && (race.Rounds >= FewestRounds || race.Rounds+race.Thrown >= lateRounds) {
			break
		}
		laps := make([]time.Duration, len(racers))
		var sentinel time.Duration
		order := rng.Perm(len(racers) + 1) // the last number is the sentinel
		for _, i := range order {
			who := i % len(racers)
			if race.Lanes[who].Failure != nil || race.Lanes[who].Dropped {
				continue
			}
			d, err := lap(racers[who])
			switch {
			case ctx.Err() != nil:
				return race, ctx.Err()
			case err != nil && who == 0:
				return race, fmt.Errorf("the race's first participant failed: %w", err)
			case err != nil:
				race.Lanes[who].Failure = err
			case i == len(racers):
				sentinel = d
			default:
				laps[who] = d
			}
		}
		if sentinelBest > 0 && float64(sentinel) > o.Quiet*float64(sentinelBest) {
			race.Thrown++
			race.Disturbed = append(race.Disturbed, sentinel)
			for i := range racers {
				race.Lanes[i].Disturbed = append(race.Lanes[i].Disturbed, laps[i])
			}
			continue
		}
		if sentinelBest == 0 || sentinel < sentinelBest {
			sentinelBest = sentinel
		}
		race.Rounds++
		race.Sentinel = append(race.Sentinel, sentinel)
		for i := range racers {
			race.Lanes[i].Laps = append(race.Lanes[i].Laps, laps[i])
		}
		if o.Drop > 0 {
			race.drop(o)
		}
		if o.Progress != nil {
			o.Progress(race.Rounds)
		}
		if race.Rounds >= o.MinRounds && (race.calm() && race.precise(rng, o.HalfWidth) || time.Since(started) > o.MaxTime) {
			break
		}
	}
	return race, nil
}

func (o RaceOptions) group(participant int) string {
	if o.Groups == nil {
		return ""
	}
	return o.Groups[participant]
}

// drop takes out who cannot win any more.
func (r *Race) drop(o RaceOptions) {
	leaders := map[string]int{}
	for i, l := range r.Lanes {
		if !l.running() {
			continue
		}
		if leader, ok := leaders[o.group(i)]; !ok || l.Best() < r.Lanes[leader].Best() {
			leaders[o.group(i)] = i
		}
	}
	for i := range r.Lanes {
		l, leader := &r.Lanes[i], leaders[o.group(i)]
		leading := r.Lanes[leader].Laps
		if i == 0 || i == leader || !l.running() {
			continue
		}
		if r.Rounds == 2 && float64(l.Best()) > o.Drop*float64(Fastest(leading)) {
			l.Dropped = true
		}
		if r.Rounds >= 6 {
			log := PairedRatios(l.Laps, leading)
			for k := range log {
				log[k] = math.Log(log[k])
			}
			l.Dropped = l.Dropped || (Median(log) > 0 && Wilcoxon(log) < dropSignificance)
		}
	}
}

func (l Lane) running() bool { return l.Failure == nil && !l.Dropped }

// PairedRatios are those of a lap of a to that of b, over the rounds that have both.
func PairedRatios(a, b []time.Duration) []float64 {
	var out []float64
	for k := range min(len(a), len(b)) {
		if a[k] > 0 && b[k] > 0 {
			out = append(out, float64(a[k])/float64(b[k]))
		}
	}
	return out
}

// Verdict compares two participants.
type Verdict struct {
	// Ratio is how many times faster the second is than the first: the median of the
	// paired ratios with its 95% bootstrap interval.
	Ratio Interval `json:"ratio"`
	// Minima is the ratio of the fastest laps.
	Minima float64 `json:"minima"`
	// Inconclusive says that median and minima tell different winners.
	Inconclusive bool `json:"inconclusive"`
}

// NewVerdict is the verdict of the median paired ratio with its interval and the ratio of
// the fastest laps, both of the first's times to the second's.
func NewVerdict(ratio Interval, minima float64) Verdict {
	return Verdict{
		Ratio: ratio, Minima: minima,
		Inconclusive: (ratio.Value-1)*(minima-1) < 0 && (ratio.Low-1)*(ratio.High-1) > 0,
	}
}

// Faster says whether the second is clearly faster than the first.
func (v Verdict) Faster() bool { return !v.Inconclusive && v.Ratio.Low > 1 }

// Compare says how many times faster participant j is than participant i.
func (r *Race) Compare(rng *rand.Rand, i, j int) Verdict {
	a, b := r.Lanes[i], r.Lanes[j]
	return NewVerdict(BootstrapMedian(rng, PairedRatios(a.Laps, b.Laps), Confidence), float64(a.Best())/float64(b.Best()))
}

// NoiseFloor is participant 0 against itself, timed in the same rounds: what
// difference this machine shows where there is none.
func (r *Race) NoiseFloor(rng *rand.Rand) Interval {
	return BootstrapMedian(rng, AgainstItself(r.Lanes[0].Laps, r.Sentinel), Confidence)
}

// AgainstItself are the ratios of a participant's laps to the sentinel's, which is the same
// participant: by round, of the rounds in which neither was disturbed. Every round that
// counts has a quiet sentinel; were the other lap any, the ratio would be above 1 as often
// as the machine is disturbed. Where fewer than five rounds are quiet in both, too few for an
// interval, all rounds have to do.
func AgainstItself(laps, sentinel []time.Duration) []float64 {
	if both := quietRatios(laps, sentinel); len(both) >= FewestRounds {
		return both
	}
	return PairedRatios(laps, sentinel)
}

// quietRatios are the ratios of the rounds in which neither lap was disturbed.
func quietRatios(laps, sentinel []time.Duration) []float64 {
	var both []float64
	most := quiet * float64(min(Fastest(laps), Fastest(sentinel)))
	for k := range min(len(laps), len(sentinel)) {
		a, b := float64(laps[k]), float64(sentinel[k])
		if 0 < a && a <= most && 0 < b && b <= most {
			both = append(both, a/b)
		}
	}
	return both
}

// calm holds once there are rounds enough for a noise floor.
func (r *Race) calm() bool {
	return len(quietRatios(r.Lanes[0].Laps, r.Sentinel)) >= FewestRounds
}

func (r *Race) precise(rng *rand.Rand, halfWidth float64) bool {
	for i := 1; i < len(r.Lanes); i++ {
		if r.Lanes[i].running() && r.Compare(rng, i, 0).Ratio.HalfWidth() > halfWidth {
			return false
		}
	}
	return true
}

// InServer is a racer that lives on in the fork server.
type InServer struct{ Candidate *bridge.Candidate }

// Lap implements Racer.
func (s InServer) Lap(ctx context.Context, p bridge.RunProtocol) (time.Duration, error) {
	run, err := s.Candidate.Run(ctx, p)
	if err != nil {
		return 0, err
	}
	return slices.Min(run.Samples), nil
}

// InFresh is a racer that is started anew for every lap.
type InFresh struct {
	Fresh bridge.Fresh
	slow  time.Duration // that the pipeline may take for one execution
}

// Pinned is a racer that keeps to the processors that candidates of as many threads do. slow
// is what one execution may take, such as that of the plainest schedule: laps of what takes
// long have more time.
func Pinned(f bridge.Fresh, slow time.Duration) InFresh {
	f.CPUs = PhysicalCPUs(f.Threads)
	return InFresh{f, slow}
}

// freshRuns is how many executions a lap takes at most where one takes long: at the smaller
// size, guarded, to warm up, and what is timed.
const freshRuns = 6

// Lap implements Racer.
func (f InFresh) Lap(ctx context.Context, p bridge.RunProtocol) (time.Duration, error) {
	p.Timeout += freshRuns * f.slow
	samples, err := f.Fresh.Run(ctx, p)
	if err != nil {
		return 0, err
	}
	return slices.Min(samples), nil
}

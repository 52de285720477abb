package cost_test

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// machine is a made-up one whose times have little to do with the model's.
type machine struct {
	model   *cost.Model
	drawn   [][]feature.Schedule
	seconds []float64
}

// newMachine draws schedules of harris and says what they take: a time for each stage
// that depends on some of its features only.
func newMachine(t testing.TB, n int) machine {
	t.Helper()
	p := pipelinetest.Described(t, "harris.h21")
	sp := spacetest.New(t, p, space.Defaults(2))
	m, err := cost.New(madeWeights(), p, 2)
	if err != nil {
		t.Fatal(err)
	}
	out := machine{model: m}
	x, rng := feature.New(sp), rand.New(rand.NewSource(1))
	for range n {
		s := sp.Start().SampleDown(rng)
		f := x.Features(s, nil)
		seconds := 1e-3
		for i := range f {
			seconds += 1e-9*f[i][feature.BytesAtRealization] + 1e-8*f[i][feature.NumVectors] + 2e-8*f[i][feature.NumScalars]
		}
		out.drawn, out.seconds = append(out.drawn, f), append(out.seconds, seconds)
	}
	return out
}

// Of two schedules it has not seen it tells the faster one far more often than not.
func TestOnlineLearnsThisMachine(t *testing.T) {
	const n, held = 150, 50
	m := newMachine(t, n+held)
	o := cost.NewOnline(m.model)
	for i := range n {
		if _, _, ok := o.Predict(m.drawn[n], false); ok != (i >= 16) {
			t.Fatalf("after %d observations it predicts: %v", i, ok)
		}
		o.Observe(m.drawn[i], false, m.seconds[i], true)
	}
	right, pairs, off := 0, 0, 0.0
	for i := n; i < n+held; i++ {
		a, deviation, ok := o.Predict(m.drawn[i], false)
		if !ok || !(deviation >= 0) {
			t.Fatalf("no prediction, or a deviation of %g", deviation)
		}
		off += math.Abs(a-math.Log(m.seconds[i])) / held
		for j := n; j < i; j++ {
			if m.seconds[i] == m.seconds[j] {
				continue
			}
			pairs++
			if b, _, _ := o.Predict(m.drawn[j], false); (a < b) == (m.seconds[i] < m.seconds[j]) {
				right++
			}
		}
	}
	if share := float64(right) / float64(pairs); share < 0.8 {
		t.Errorf("%.2f of %d pairs told right; logarithms off by %.2f", share, pairs, off)
	}
}

// What was observed is known better than what is new, and a failure counts as slow.
func TestOnlineKnowsWhatItSaw(t *testing.T) {
	m := newMachine(t, 60)
	o := cost.NewOnline(m.model)
	for i := range 40 {
		o.Observe(m.drawn[i], false, m.seconds[i], true)
	}
	_, seen, _ := o.Predict(m.drawn[3], false)
	_, unseen, _ := o.Predict(m.drawn[50], false)
	if seen >= unseen {
		t.Errorf("a deviation of %g where it was measured, %g where not", seen, unseen)
	}
	// The one not seen that it expects to be the fastest fails.
	next, before := 0, math.Inf(1)
	for i := 40; i < 60; i++ {
		if mean, _, ok := o.Predict(m.drawn[i], false); ok && mean < before {
			next, before = i, mean
		}
	}
	if slow := math.Log(4 * slices.Min(m.seconds[:40])); !(before < slow) {
		t.Fatalf("none is expected to be faster than one that fails: %g, not below %g", before, slow)
	}
	for range 3 {
		o.Observe(m.drawn[next], false, 0, false)
	}
	if after, _, _ := o.Predict(m.drawn[next], false); !(after > before) {
		t.Errorf("expected %g before it failed, %g after", before, after)
	}
}

// Features that are no schedule's, and times that cannot be, teach nothing; a long life
// keeps what it needs.
func TestOnlineEndures(t *testing.T) {
	m := newMachine(t, 40)
	o := cost.NewOnline(m.model)
	for i := range 20 {
		o.Observe(m.drawn[i][:2], false, m.seconds[i], true)
		o.Observe(m.drawn[i], false, math.NaN(), true)
		o.Observe(m.drawn[i], false, 0, true)
	}
	if _, _, ok := o.Predict(m.drawn[0], false); ok {
		t.Error("it predicts what it has learned from nothing")
	}
	for i := range 40 {
		o.Observe(m.drawn[i], false, 0, false)
	}
	if _, _, ok := o.Predict(m.drawn[0], false); ok {
		t.Error("it predicts where nothing ever worked")
	}
	for i := range 1600 {
		o.Observe(m.drawn[i%40], false, m.seconds[i%40], true)
	}
	if got, _, ok := o.Predict(m.drawn[7], false); !ok || math.Abs(got-math.Log(m.seconds[7])) > 0.5 {
		t.Errorf("after 1600 observations %g (%v), took %g", got, ok, math.Log(m.seconds[7]))
	}
}

// Taking observations in one by one gives what taking them in at once does.
func TestOnlineIncremental(t *testing.T) {
	m := newMachine(t, 70)
	one, all := cost.NewOnline(m.model), cost.NewOnline(m.model)
	for i := range 64 {
		one.Observe(m.drawn[i], false, m.seconds[i], true)
		all.Observe(m.drawn[i], false, m.seconds[i], true)
		// Both standardise at the same numbers of observations.
		one.Predict(m.drawn[65], false)
		if slices.Contains([]int{16, 20, 25, 32, 40, 50, 63}, i+1) {
			all.Predict(m.drawn[65], false)
		}
	}
	for i := 64; i < 70; i++ {
		a, da, _ := one.Predict(m.drawn[i], false)
		b, db, _ := all.Predict(m.drawn[i], false)
		if math.Abs(a-b) > 1e-6 || math.Abs(da-db) > 1e-6 {
			t.Errorf("one by one %g ± %g, at once %g ± %g", a, da, b, db)
		}
	}
}

func BenchmarkOnlinePredict(b *testing.B) {
	m := newMachine(b, 600)
	o := cost.NewOnline(m.model)
	for i := range m.drawn {
		o.Observe(m.drawn[i], false, m.seconds[i], true)
	}
	for b.Loop() {
		o.Predict(m.drawn[0], false)
	}
}

// What a version for the estimated sizes is worth is learned once for all schedules: one
// that was seen neither way is known to take so much less with it.
func TestOnlineLearnsWhatSizesAreWorth(t *testing.T) {
	const n, worth = 100, 0.6
	m := newMachine(t, n+1)
	o := cost.NewOnline(m.model)
	for i := range n {
		sized := i%5 != 0
		seconds := m.seconds[i]
		if sized {
			seconds *= worth
		}
		o.Observe(m.drawn[i], sized, seconds, true)
	}
	plain, _, _ := o.Predict(m.drawn[n], false)
	sized, _, ok := o.Predict(m.drawn[n], true)
	if got := sized - plain; !ok || got > 0.7*math.Log(worth) || got < 1.3*math.Log(worth) {
		t.Errorf("it is worth %.3f, want about %.3f", got, math.Log(worth))
	}
}

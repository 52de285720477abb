package bayes

import (
	"context"
	"errors"
	"math/rand"
	"testing"

	"github.com/protuner/protuner/bayes/space"
)

// OnExhausted has f called whenever s has nothing left to ask.
func OnExhausted(s *Study, f func()) { s.propose = watched{s.propose, f} }

type watched struct {
	proposer
	exhausted func()
}

func (w watched) next(ctx context.Context, h *history, rng *rand.Rand) (space.Point, string, note, error) {
	x, origin, n, err := w.proposer.next(ctx, h, rng)
	if errors.Is(err, ErrExhausted) {
		w.exhausted()
	}
	return x, origin, n, err
}

// Telling are the trials of s that say how much each parameter matters.
func Telling(s *Study) []*Trial { return s.history().telling(importanceKept) }

// Pulled is the technique that a bandit takes after trials of these origins, of which a
// positive value worked.
func Pulled(t *testing.T, origins []string, values []float64) string {
	t.Helper()
	o := Options{}.filled()
	h := &history{opts: &o}
	for i, v := range values {
		out := Failure(Crashed, "")
		if v > 0 {
			out = Value(v)
		}
		h.trials = append(h.trials, &Trial{ID: i + 1, Origin: origins[i], Outcome: out})
	}
	return techniques[pull(h, rand.New(rand.NewSource(1)))].name
}

// Predicted is what the earlier searches expect of the best of them, in standard deviations,
// and what the model of the one with this number, the only one with values, does.
func Predicted(t *testing.T, sp *space.Space, earlier [][]Known, only int) (all, own []float64) {
	t.Helper()
	o := Options{Earlier: earlier}.filled()
	b := new(bayesian)
	h := &history{space: sp, opts: &o, seen: map[string]*Trial{}}
	if err := b.prepare(h); err != nil {
		t.Fatal(err)
	}
	for _, c := range b.past.best {
		all = append(all, b.past.predict(b, c.Point()))
		own = append(own, b.past.models[0].Mean(b.row(nil, c.Point(), only+1)))
	}
	return all, own
}

// ReachAfter is the adaptive reach after outcomes.
func ReachAfter(t *testing.T, sp *space.Space, values []float64) int {
	t.Helper()
	o := Options{Acquisition: Acquisition{Adaptive: true}}.filled()
	h := &history{space: sp, opts: &o}
	for i, v := range values {
		h.trials = append(h.trials, &Trial{ID: i + 1, Outcome: Value(v)})
	}
	return reach(h)
}

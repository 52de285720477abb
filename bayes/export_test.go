package bayes

import (
	"testing"

	"github.com/protuner/protuner/bayes/space"
)

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

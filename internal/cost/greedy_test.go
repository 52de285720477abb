package cost_test

import (
	"math"
	"strings"
	"testing"

	"github.com/protuner/protuner/claims/oracle"
	"github.com/protuner/protuner/internal/space"
)

// greedy takes, from the start, the action that leads to the lowest cost: what
// Adams2019 does with a beam of one.
func greedy(o *oracle.Oracle) (*space.State, float64) {
	s, best := o.Space.Start(), math.Inf(1)
	var actions []space.Action
	for !s.Complete() {
		actions = s.Actions(actions[:0])
		var next *space.State
		best = math.Inf(1)
		for _, a := range actions {
			n := s.Next(a)
			if c := o.Model.Predict(o.Features.Features(n, nil)); c < best {
				next, best = n, c
			}
		}
		s = next
	}
	return s, best
}

// TestGreedyAsAdams2019 holds the features and costs of partial schedules, which
// Adams2019 does not print, to what it does by them: a greedy search with ours ends
// where its own does. The two may part where our space leaves out schedules that read
// inputs out of bounds, and where two actions cost the same; with these two Generators
// they do not.
func TestGreedyAsAdams2019(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a real Halide")
	}
	version := strings.Split(*oracleHalide, ",")[0]
	for _, g := range oracleGenerators(t, "unsharp", "hist") {
		t.Run(g.String(), func(t *testing.T) {
			o, err := oracle.Open(t.Context(), g.File, g.Name, t.TempDir(), oracleOptions(version))
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := o.Run(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			s, ours := greedy(o)
			if math.Abs(ours-theirs.Cost) > 1e-3*theirs.Cost {
				t.Errorf("greedy ends at %g, Adams2019's at %g:\n%v", ours, theirs.Cost, s)
			}
		})
	}
}

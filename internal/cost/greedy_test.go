package cost_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/space"
)

// greedy takes, from the start, the action that leads to the lowest cost: what
// Adams2019 does with a beam of one.
func (o *oracle) greedy() (*space.State, float64) {
	s, best := o.sp.Start(), math.Inf(1)
	var actions []space.Action
	for !s.Complete() {
		actions = s.Actions(actions[:0])
		var next *space.State
		best = math.Inf(1)
		for _, a := range actions {
			n := s.Next(a)
			if c := o.m.Predict(o.x.Features(n, nil)); c < best {
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
	files := []string{filepath.Join("..", "..", "apps", "unsharp", "unsharp_generator.cpp"), filepath.Join("..", "..", "apps", "hist", "hist_generator.cpp")}
	if *oracleFiles != "" {
		files = nil
		for _, pattern := range strings.Split(*oracleFiles, ",") {
			some, err := filepath.Glob(pattern)
			if err != nil || len(some) == 0 {
				t.Fatalf("no Generators %s (%v)", pattern, err)
			}
			files = append(files, some...)
		}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			o := openOracle(t, strings.Split(*oracleHalide, ",")[0], file, "")
			_, _, theirs, err := o.run(t, 0)
			if err != nil {
				t.Fatal(err)
			}
			s, ours := o.greedy()
			if math.Abs(ours-theirs) > 1e-3*theirs {
				t.Errorf("greedy ends at %g, Adams2019's at %g:\n%v", ours, theirs, s)
			}
		})
	}
}

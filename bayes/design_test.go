package bayes_test

import (
	"context"
	"math"
	"testing"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/problems"
	"github.com/protuner/protuner/bayes/space"
)

// TestDesigns: the first configuration is in the middle, where a balanced design goes
// on to show more of the choices than random ones do.
func TestDesigns(t *testing.T) {
	sp, err := space.New([]space.Param{
		problems.PowersOf2("tile", 1, 1<<8),
		{Name: "ratio", Type: space.Real, Min: 0, Max: 1},
		{Name: "kind", Type: space.Categorical, Categories: []string{"a", "b", "c", "d"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	kinds := map[bayes.Design]int{}
	for _, design := range []bayes.Design{bayes.Middle, bayes.Balanced, bayes.Random} {
		for seed := range int64(20) {
			s, err := bayes.Open(ctx, sp, bayes.Options{Seed: seed, Design: design}, nil)
			if err != nil {
				t.Fatal(err)
			}
			trials, err := s.Ask(ctx, 4)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for i, tr := range trials {
				seen[tr.Config.Text("kind")] = true
				tile, ratio := math.Log2(tr.Config.Float("tile")), tr.Config.Float("ratio")
				if i == 0 && design != bayes.Random && (tile < 2 || tile > 6 || ratio < 0.25 || ratio > 0.75) {
					t.Errorf("seed %d begins with %v, which is not the middle", seed, tr.Config)
				}
			}
			kinds[design] += len(seen)
		}
	}
	if kinds[bayes.Balanced] <= kinds[bayes.Random] {
		t.Errorf("20 designs of 4 show %d choices, random ones %d", kinds[bayes.Balanced], kinds[bayes.Random])
	}
}

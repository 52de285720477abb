package bayes_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
)

// TestDrawingGivesUp: where no configuration is drawn the search goes on from those that it
// knows, and only without any is there an error.
func TestDrawingGivesUp(t *testing.T) {
	ctx := context.Background()
	// Of reals whose sum is exact none are drawn, but the mode of a known one can change.
	sp := mustSpace(t, []space.Param{
		{Name: "x", Type: space.Real, Min: 0, Max: 1}, {Name: "y", Type: space.Real, Min: 0, Max: 1},
		{Name: "mode", Type: space.Categorical, Categories: strings.Split("abcdefghijkl", "")},
	}, "x + y == 0.25")
	s, err := bayes.Open(ctx, sp, bayes.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if asked, err := s.Ask(ctx, 1); !errors.Is(err, space.ErrSparse) {
		t.Errorf("with nothing known %v, %v", asked, err)
	}
	for origin, o := range map[string]bayes.Options{
		"model":   {Acquisition: bayes.Acquisition{Global: 1}},
		"random":  {Acquisition: bayes.Acquisition{NoLocalSearch: true}},
		"explore": {Acquisition: bayes.Acquisition{Explore: 1}},
		"initial": {Initial: 9, Design: bayes.Spread},
		"":        {Method: bayes.Bandit}, // of any technique
	} {
		s, err := bayes.Open(ctx, sp, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, mode := range "abcdef" {
			c, err := sp.Parse(map[string]any{"x": 0.125, "y": 0.125, "mode": string(mode)})
			if err == nil {
				err = s.Import(ctx, c, bayes.Value(1+float64(i)))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		asked, err := s.Ask(ctx, 1)
		if err != nil || len(asked) != 1 || !sp.Feasible(asked[0].Config.Point()) || origin != "" && asked[0].Origin != origin {
			t.Errorf("%+v: %v, %v", o, asked, err)
		}
	}
}

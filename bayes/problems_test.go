package bayes_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/problems"
	"github.com/protuner/protuner/bayes/space"
)

type problem = problems.Problem

// all are the made-up problems.
func all(t testing.TB) []problem {
	t.Helper()
	list, err := problems.All(filepath.Join("space", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func mustSpace(t testing.TB, params []space.Param, constraints ...string) *space.Space {
	t.Helper()
	s, err := space.New(params, constraints...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// play runs a study on a problem and returns it.
func play(t testing.TB, p problem, o bayes.Options, store bayes.Store, budget int) *bayes.Study {
	t.Helper()
	ctx := context.Background()
	s, err := bayes.Open(ctx, p.Space, o, store)
	if err != nil {
		t.Fatal(err)
	}
	for len(s.Trials()) < budget {
		trials, err := s.Ask(ctx, 1)
		if errors.Is(err, bayes.ErrExhausted) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Tell(ctx, trials[0].ID, p.Cost(trials[0].Config)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

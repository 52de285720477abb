package report

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
)

// studied has ten trials of which the second, third and sixth fail.
func studied(t *testing.T, maximize bool, p *Progress) *bayes.Study {
	t.Helper()
	sp, err := space.New([]space.Param{{Name: "a", Type: space.Integer, Min: 0, Max: 20}, {Name: "mode", Type: space.Categorical, Categories: []string{"left hand", "right"}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := bayes.Open(context.Background(), sp, bayes.Options{Seed: 1, Maximize: maximize, NoDefault: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = bayes.Run(context.Background(), s, bayes.EvaluatorFunc(func(_ context.Context, t bayes.Trial) bayes.Outcome {
		switch t.ID {
		case 2, 3:
			return bayes.Failure(bayes.Crashed, "no registers")
		case 6:
			return bayes.Failure(bayes.TimedOut, "killed after 1s")
		}
		return bayes.Value(10 * float64(11-t.ID))
	}), bayes.RunOptions{Trials: 10, OnTrial: p.Trial})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCollect(t *testing.T) {
	for _, maximize := range []bool{false, true} {
		r := Collect(context.Background(), studied(t, maximize, newProgress(&bytes.Buffer{}, false, 10, nil)), Result{Stop: bayes.Spent})
		best, improvements := 10, 7 // every value is better than those before
		if maximize {
			best, improvements = 1, 1
		}
		if r.Best.ID != best || len(r.History) != improvements || r.Statuses["ok"] != 7 || len(r.Importance) != 2 {
			t.Errorf("maximize %v: best %d, %d improvements, %v", maximize, r.Best.ID, len(r.History), r.Statuses)
		}
		want := []Failure{{bayes.Crashed, "no registers", 2, 2}, {bayes.TimedOut, "killed after 1s", 1, 6}}
		if len(r.Failures) != 2 || r.Failures[0] != want[0] || r.Failures[1] != want[1] {
			t.Errorf("failures %v", r.Failures)
		}
		p, err := chart(r)
		if err != nil {
			t.Fatal(err)
		}
		if p.X.Min > 1 || p.X.Max < 10 || p.Y.Min > 10 || p.Y.Max < 100 {
			t.Errorf("axes %v to %v, %v to %v", p.X.Min, p.X.Max, p.Y.Min, p.Y.Max)
		}
	}
}

// TestCollectWithoutImportance: where it cannot be estimated the rest is there all the same.
func TestCollectWithoutImportance(t *testing.T) {
	ctx := context.Background()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	r := Collect(ended, studied(t, false, newProgress(&bytes.Buffer{}, false, 10, nil)), Result{Stop: bayes.Interrupted})
	if r.Best == nil || r.Best.ID != 10 || len(r.Trials) != 10 || len(r.Importance) != 0 {
		t.Errorf("interrupted: best %v, %d trials, importance %v", r.Best, len(r.Trials), r.Importance)
	}
	// Of reals whose sum is exact none are drawn.
	sp, err := space.New([]space.Param{{Name: "x", Type: space.Real, Min: 0, Max: 1}, {Name: "y", Type: space.Real, Min: 0, Max: 1}}, "x + y == 0.25")
	if err != nil {
		t.Fatal(err)
	}
	s, err := bayes.Open(ctx, sp, bayes.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		c, err := sp.Parse(map[string]any{"x": float64(i) / 32, "y": 0.25 - float64(i)/32})
		if err == nil {
			err = s.Import(ctx, c, bayes.Value(float64(i)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if list, err := s.Importance(ctx); !errors.Is(err, space.ErrSparse) {
		t.Errorf("importance %v, %v", list, err)
	}
	var out strings.Builder
	Summary(&out, Collect(ctx, s, Result{Stop: bayes.Failed}))
	if text := out.String(); !strings.HasPrefix(text, "ended by an error after 6 trials: 6 ok\n\nbest: 0, trial 1\n") || strings.Contains(text, "matters") {
		t.Error(text)
	}
}

func TestSummaryQuotes(t *testing.T) {
	r := Collect(context.Background(), studied(t, false, newProgress(&bytes.Buffer{}, false, 10, nil)), Result{Stop: bayes.Interrupted, Earlier: 4, Objective: "time",
		Command: []string{"run", "left hand", "it's", "", "-O2"}})
	var out strings.Builder
	Summary(&out, r)
	for _, want := range []string{"interrupted after 10 trials (4 of them earlier): 7 ok, 2 crashed, 1 timed-out\n", "best: time 10, trial 10\n",
		`again: run 'left hand' 'it'\''s' '' -O2`, "|    10 | 10    | 0.100        |", "  2 x crashed, first trial 2: no registers\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestNothingToPlot(t *testing.T) {
	if err := Plot(filepath.Join(t.TempDir(), "p.svg"), &Result{}); err == nil || !strings.Contains(err.Error(), "no trial has a value") {
		t.Error(err)
	}
	if err := Plot("p.txt", &Result{}); err == nil {
		t.Error("a .txt was drawn")
	}
}

// TestProgress: a terminal gets one line that is rewritten, a log only news.
func TestProgress(t *testing.T) {
	for _, live := range []bool{true, false} {
		var out bytes.Buffer
		p := newProgress(&out, live, 10, nil)
		studied(t, false, p)
		p.Close()
		text := out.String()
		if n := strings.Count(text, "best so far"); n != 7 {
			t.Errorf("live %v: %d improvements shown", live, n)
		}
		if n := strings.Count(text, "no registers"); n != 1 {
			t.Errorf("live %v: the same failure shown %d times", live, n)
		}
		if got := strings.Contains(text, "10 of 10 | best 10, trial 10 | 7 ok, 2 crashed, 1 timed-out | last 10"); got != live {
			t.Errorf("live %v: %q", live, text)
		}
		if strings.Contains(text, "\r") != live || live && !strings.HasSuffix(text, "\r") {
			t.Errorf("live %v: %q", live, text)
		}
	}
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/measure"
)

// tiny is a comparison that takes some seconds.
func tiny(t *testing.T) Options {
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
	o := Defaults()
	o.Out, o.AppsDir = t.TempDir(), "testdata/apps"
	o.Apps = []string{"tiny_blur", "broken", "tiny_layer"}
	o.Methods = []string{"expert", "expert", "adams2019:beam", "protuner:random", "protuner:mcts", "protuner:beams_2"}
	o.Budget, o.Layers, o.Finalists = time.Second, 1, 1
	o.PeerTime = 20 * time.Second
	o.MinRounds, o.MaxRounds, o.RaceTime = 3, 4, 10*time.Second
	o.Threads = 2
	return o
}

// told gathers what a run says.
type told struct {
	made  []string
	notes []string
}

func (r *told) events() Events {
	return Events{
		Made: func(m Made) { r.made = append(r.made, m.Part+" "+m.Method+" "+m.Status.String()) },
		Note: func(text string) { r.notes = append(r.notes, text) },
	}
}

// One run over two tiny applications and one that does not compile: every method has a
// time and a right output, the broken application is named, and the same command again
// does nothing.
func TestRunAndResume(t *testing.T) {
	if _, err := os.Stat(filepath.Join("testdata", "apps")); err != nil {
		t.Fatal(err)
	}
	o := tiny(t)
	var first told
	// Stopped at the second schedule, whichever that is.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := first.events()
	inner := events.Made
	events.Made = func(m Made) {
		if inner(m); len(first.made) == 2 {
			cancel()
		}
	}
	if err := Run(ctx, o, "", "test", events); !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped: %v", err)
	}
	half, err := Load(t.Context(), o.Out)
	if err != nil {
		t.Fatal(err)
	}
	if !half.Ended.IsZero() || len(half.Entries) < 2 {
		t.Fatalf("after the stop: ended %v, %d entries", half.Ended, len(half.Entries))
	}
	var rest told
	if err := Run(t.Context(), o, "", "test", rest.events()); err != nil {
		t.Fatal(err)
	}
	for _, e := range half.Entries {
		if line := e.App + " " + e.Method + " ok"; e.Status == measure.OK && slices.Contains(rest.made, line) {
			t.Errorf("%s was made again", line)
		}
	}
	s, err := Load(t.Context(), o.Out)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := s.Summarise("expert")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range sum.Apps {
		for _, c := range r.Cells {
			switch {
			case r.App == "broken" && c.Seconds > 0:
				t.Errorf("%s by %s took %v", r.App, c.Method, c.Seconds)
			case r.App != "broken" && (c.Status != measure.OK || c.Seconds <= 0 || c.Ratio == nil):
				t.Errorf("%s by %s: %s, %s", r.App, c.Method, c.Status, c.Message)
			}
		}
	}
	if !slices.ContainsFunc(sum.Missing, func(m string) bool {
		return strings.HasPrefix(m, "broken by expert: ") && strings.Contains(m, "does not compile")
	}) {
		t.Errorf("missing: %q", sum.Missing)
	}
	for _, e := range s.Entries {
		if e.Status == measure.OK && !e.Checked {
			t.Errorf("%s by %s was not checked", e.App, e.Method)
		}
		if e.Method == "protuner:mcts" && e.Status == measure.OK && (e.Roots == 0 || e.Evaluations == 0 || e.Cost == 0) {
			t.Errorf("%s: %d roots, %d evaluations, cost %g", e.App, e.Roots, e.Evaluations, e.Cost)
		}
	}
	var again told
	if err := Run(t.Context(), o, "", "test", again.events()); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(again.made, func(m string) bool { return !strings.HasPrefix(m, "broken") }) {
		t.Errorf("made again: %v", again.made)
	}
}

// What times at its roots does so for the peers' limit and then leaves it to the model.
func TestTimingAtRootsHasTheLimit(t *testing.T) {
	o := tiny(t)
	o.Apps, o.Methods = []string{"tiny_blur"}, []string{"protuner:mcts_cost+real_1s"}
	o.Divide, o.PeerTime = 10, 10*time.Nanosecond
	if err := Run(t.Context(), o, "", "test", Events{}); err != nil {
		t.Fatal(err)
	}
	s, err := Load(t.Context(), o.Out)
	if err != nil {
		t.Fatal(err)
	}
	e := s.Entries[0]
	rest := fmt.Sprintf(" of %d roots were not timed: 1ns of timing were over", e.Roots)
	if e.Status != measure.OK || !e.Checked || !e.Cut || e.Measured == 0 || e.Roots < 2 || !strings.Contains(e.Note, rest) {
		t.Errorf("%s %s, checked %v, %d timed at %d roots, note %q", e.Status, e.Message, e.Checked, e.Measured, e.Roots, e.Note)
	}
}

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tunedb"
)

// begun is a run in a folder of its own, of one application by a method that is made beside
// others and one that is alone.
func begun(t *testing.T, m Manifest) (*runner, *told) {
	t.Helper()
	o := valid()
	o.Out = t.TempDir()
	db, err := tunedb.Open(t.Context(), DBFile(o.Out))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.BeginBench(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	said := new(told)
	return &runner{
		o: o, events: said.events(), db: db, entries: map[entryKey]tunedb.BenchEntry{}, parts: []*part{{app: "harris", times: 1, of: 1}},
		methods: []method{{name: "expert"}, {name: "random", random: true, alone: true}},
	}, said
}

// A run says by which versions of protuner it was made, where these have left something to do.
func TestVersionsOfProtunerAreNoted(t *testing.T) {
	m := Manifest{Options: valid(), Command: "first", Program: "v1"}
	r, said := begun(t, m)
	stored := func() (m Manifest) {
		t.Helper()
		text, _, _, err := r.db.Bench(t.Context())
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	done := false
	goOn := func(now Manifest) Manifest {
		t.Helper()
		if err := r.goOn(t.Context(), stored(), now, !done); err != nil {
			t.Fatal(err)
		}
		return stored()
	}
	now := m
	now.Program, now.Command = "v2", "second"
	if got := goOn(now); got.Program != "v1; v2" || got.Command != "first" {
		t.Errorf("by %s, %s", got.Program, got.Command)
	}
	if len(said.notes) != 1 || said.notes[0] != "the run was begun by protuner v1; what is left of it is made by v2" {
		t.Errorf("said %q", said.notes)
	}
	if got := goOn(now); got.Program != "v1; v2" || len(said.notes) != 1 {
		t.Errorf("again: by %s, said %q", got.Program, said.notes)
	}
	if err := r.db.EndBench(t.Context()); err != nil {
		t.Fatal(err)
	}
	done = true
	now.Program = "v3"
	if got := goOn(now); got.Program != "v1; v2" || len(said.notes) != 1 {
		t.Errorf("a run that is done is by %s, said %q", got.Program, said.notes)
	}
	now.Options.Apps = append(slices.Clone(now.Options.Apps), "hist")
	if got := goOn(now); got.Program != "v1; v2; v3" || got.Command != "second" || len(got.Options.Apps) != 2 {
		t.Errorf("with one more: by %s, %s, %v", got.Program, got.Command, got.Options.Apps)
	}
}

// Where an application cannot be opened, whatever was made of it says why it was not raced,
// and nobody's scheduler is blamed.
func TestWhatCannotBeOpenedIsNamed(t *testing.T) {
	m := Manifest{Options: valid(), Parts: []Part{{App: "harris", Times: 1}}, Entries: []Entry{{"expert", 1}, {"random", 1}}}
	r, _ := begun(t, m)
	if err := r.update(t.Context(), tunedb.BenchEntry{App: "harris", Method: "expert", Repeat: 1, Status: measure.OK}); err != nil {
		t.Fatal(err)
	}
	why := &unopened{"it cannot be described", &bridge.GeneratorError{Reason: "exit status 1", Words: "first\nno estimate of x"}}
	if err := r.leaveOut(t.Context(), r.parts[0], why); err != nil {
		t.Fatal(err)
	}
	s, err := Load(t.Context(), r.o.Out)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := s.Summarise("")
	if err != nil {
		t.Fatal(err)
	}
	const words = "it cannot be described: exit status 1: no estimate of x"
	if want := []string{"harris by expert: not raced: " + words, "harris by random: build_failed: " + words}; !slices.Equal(sum.Missing, want) {
		t.Errorf("missing %q, want %q", sum.Missing, want)
	}
	if e, _ := r.entry(r.parts[0], "expert", 1); e.Status != measure.OK {
		t.Errorf("what is there to be raced is %s", e.Status)
	}
	// What ran out of memory by itself is a verdict, what the system killed is none.
	for killed, want := range map[bool]measure.Status{false: measure.OutOfMemory, true: measure.InfraFailed} {
		if got, _ := failure(&bridge.Failure{Status: "out_of_memory", Killed: killed}); got != want {
			t.Errorf("killed by the system %t: %s, want %s", killed, got, want)
		}
	}
	if _, got := failure(&bridge.GeneratorError{Reason: "signal: killed"}); got != "its scheduler failed: signal: killed" {
		t.Errorf("a scheduler's: %s", got)
	}
}

// stub is a Generator that runs a script.
func stub(t *testing.T, script string) *bridge.Generator {
	t.Helper()
	file := filepath.Join(t.TempDir(), "generator")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	halide := &bridge.Halide{Plugins: map[string]string{"adams2019": "plugin", "mullapudi2016": "plugin"}}
	return &bridge.Generator{Binary: file, Name: "stub", Toolchain: &bridge.Toolchain{Halide: halide}}
}

// Where nothing that a loop tries comes to anything, it says why, and that the budget is over
// only where nothing else is to say.
func TestLoopsSayWhatFailed(t *testing.T) {
	for script, c := range map[string]struct {
		loop   func(context.Context, *job) (*made, error)
		budget time.Duration
		want   string
	}{
		// One sample ends the loop, not the budget.
		"echo cannot split >&2; exit 3": {adamsLoop(1, false), 10 * time.Second, "build_failed its scheduler failed: exit status 3: cannot split"},
		"kill -9 $$":                    {adamsLoop(1, false), 10 * time.Second, "out_of_memory killed by the system, as where memory runs out; begin in another folder with a smaller --peer-memory"},
		"exec sleep 60":                 {mullapudiLoop, 300 * time.Millisecond, "timed_out stopped at its limit of 300ms of time"},
	} {
		j := &job{
			o: Options{Threads: 2}, part: &part{of: 1}, gen: stub(t, script), dir: t.TempDir(),
			budget: c.budget, limits: bridge.Limits{Memory: 1 << 30},
		}
		_, err := c.loop(t.Context(), j)
		status, message := failure(err)
		if got := status.String() + " " + message; got != c.want {
			t.Errorf("%s: got %q, want %q", script, got, c.want)
		}
	}
}

// A layer that was stopped and is made again has its budget once, from what was found for
// the layers before it.
func TestStoppedLayersBeginAnew(t *testing.T) {
	o := tiny(t)
	o.Apps, o.Methods, o.Layers = []string{"tiny_layer"}, []string{"protuner:random"}, 2
	o.Budget = 3 * time.Second
	const second = "tiny_layer/last"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	db := filepath.Join(o.Out, "builds", "tiny_layer", "last", "protuner-random-1", "tune.db")
	err := Run(ctx, o, "", "test", Events{Begun: func(what, how string) {
		if what == second && how == "protuner:random" {
			go func() { // as soon as its run is in the database, which is there as a whole once it has a log
				defer cancel()
				for ctx.Err() == nil && (!exists(db+"-wal") || len(runsIn(t, db)) < 2) {
					time.Sleep(10 * time.Millisecond)
				}
			}()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("stopped: %v", err)
	}
	if err := Run(t.Context(), o, "", "test", Events{}); err != nil {
		t.Fatal(err)
	}
	first := runsIn(t, strings.Replace(db, "last", "middle", 1))
	if len(first) != 1 || first[0].Ended.IsZero() {
		t.Fatalf("the first layer has %d runs", len(first))
	}
	both := runsIn(t, db)
	if len(both) != 2 || both[1].Key != first[0].Key || both[0].Key == first[0].Key || both[0].Ended.IsZero() {
		t.Errorf("the second layer's database has %d runs", len(both))
	}
}

// runsIn lists a database's runs, the newest first; none where there is no database.
func runsIn(t *testing.T, path string) []tunedb.Run {
	if !exists(path) {
		return nil
	}
	db, err := tunedb.Open(context.Background(), path)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer db.Close()
	runs, err := db.Runs(context.Background(), "")
	if err != nil {
		t.Error(err)
	}
	return runs
}

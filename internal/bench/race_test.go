package bench

import (
	"errors"
	"fmt"
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

// What the scripts say that stand for the program that runs a build.
const (
	sound = `echo '{"status":"ok","samples":[1000]}'`
	wrong = `echo '{"status":"wrong_output","message":"all zero"}'`
	fault = `echo '{"status":"infra_failed","message":"no room"}'`
	count = `echo >>"$0.runs"; n=$(wc -l <"$0.runs"); `
)

func script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// built is a run that has made all there is to make and raced nothing.
func built(t *testing.T) (*runner, *stage, *told) {
	t.Helper()
	r, said := begun(t, Manifest{Options: valid()})
	r.o.MinRounds, r.o.MaxRounds = 1, 1
	p := r.parts[0]
	for _, m := range r.methods {
		library := r.library(p, m.name, 1)
		if err := os.MkdirAll(filepath.Dir(library), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(library, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := r.update(t.Context(), tunedb.BenchEntry{App: p.app, Method: m.name, Repeat: 1, Status: measure.OK}); err != nil {
			t.Fatal(err)
		}
	}
	return r, &stage{
		part: p, gen: &bridge.Generator{Name: "harris"}, ref: &bridge.Reference{}, modelErr: errors.New("it is not asked"),
		protocol: measure.DefaultProtocol(), threads: 1,
	}, said
}

// What computes something else is named and not raced; the others are.
func TestWrongOutputsAreNotRaced(t *testing.T) {
	r, s, _ := built(t)
	s.runner = filepath.Join(t.TempDir(), "run")
	script(t, s.runner, "case $1 in *expert*) "+wrong+";; *) "+sound+";; esac")
	if err := r.race(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	e, _ := r.entry(s.part, "expert", 1)
	if e.Status != measure.WrongOutput || e.Checked || !strings.Contains(e.Message, "all zero") {
		t.Errorf("the wrong one: %+v", e)
	}
	races, err := r.db.BenchRaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(races) != 1 || len(races[0].Lanes) != 1 || races[0].Lanes[0].Method != "random" || len(races[0].Lanes[0].Laps) != 1 {
		t.Errorf("races: %+v", races)
	}
}

// What disturbed rounds timed is kept apart from what counts.
func TestDisturbedRoundsAreKept(t *testing.T) {
	_, s, _ := built(t)
	of := func(method string) tunedb.BenchEntry {
		return tunedb.BenchEntry{App: s.part.app, Method: method, Repeat: 1}
	}
	row := raceRow(s, []tunedb.BenchEntry{of("expert"), of("random")}, &measure.Race{
		Lanes:    []measure.Lane{{Laps: []time.Duration{1}, Disturbed: []time.Duration{3}}, {Laps: []time.Duration{2}, Disturbed: []time.Duration{4}}},
		Sentinel: []time.Duration{1}, Disturbed: []time.Duration{5}, Rounds: 1, Thrown: 1,
	})
	if !slices.Equal(row.Disturbed, []time.Duration{5}) || !slices.Equal(row.Lanes[1].Disturbed, []time.Duration{4}) || !slices.Equal(row.Lanes[1].Laps, []time.Duration{2}) {
		t.Errorf("stored: %+v", row)
	}
}

// A fault of the machine takes nothing from what was made: the next run checks and races what
// this one could not.
func TestFaultsOfTheMachineCostNoBuild(t *testing.T) {
	r, s, said := built(t)
	p := s.part
	dir := t.TempDir()
	for i, c := range []struct {
		runner  string // the script; none: it cannot be run
		note    string
		checked []string
		races   int
		whole   bool
	}{
		{"", "harris by random cannot be checked: cannot run ", nil, 0, false},
		// Wrong at all sizes, or right at the estimated one: the machine keeps it to itself.
		{count + "[ $((n % 2)) = 1 ] && " + wrong + " || " + fault, "harris by random cannot be checked: no room", nil, 0, false},
		{"case $1 in *expert*) " + fault + ";; *) " + sound + ";; esac", "harris by expert cannot be checked: no room", []string{"random"}, 1, false},
		// The check of the one that is left is the only run that works.
		{count + "[ $n = 1 ] && " + sound + " || " + fault, "harris is left out: ", []string{"expert", "random"}, 1, false},
		{sound, "", []string{"expert", "random"}, 1, true},
	} {
		s.runner = filepath.Join(dir, fmt.Sprint(i))
		if c.runner != "" {
			script(t, s.runner, c.runner)
		}
		said.notes = nil
		if err := r.race(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(said.notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("%d: said %q, want %q", i, notes, c.note)
		}
		var checked []string
		for _, e := range r.ready(p) {
			if e.Checked {
				checked = append(checked, e.Method)
			}
		}
		if n := len(r.ready(p)); n != 2 || !slices.Equal(checked, c.checked) {
			t.Errorf("%d: %d are there, of which %q are checked, want %q", i, n, checked, c.checked)
		}
		races, err := r.db.BenchRaces(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(races) != c.races || len(races) > 0 && r.whole(races[0]) != c.whole {
			t.Errorf("%d: %d races, want %d, the whole of all %v", i, len(races), c.races, c.whole)
		}
	}
}

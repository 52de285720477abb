package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

// exported is an export from a new database, in which each of these algorithms has a run, and
// what records in the first one's.
func exported(t *testing.T, algorithms ...string) (*exportCmd, *globals, *tunedb.DB, *tunedb.Recorder) {
	t.Helper()
	c, g := &exportCmd{databaseFlag: databaseFlag{DB: filepath.Join(t.TempDir(), "e.db")}, Top: 1}, &globals{ctx: t.Context()}
	db, err := tunedb.Open(g.ctx, c.DB)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var first *tunedb.Recorder
	for _, a := range algorithms {
		r, err := db.Begin(g.ctx, tunedb.Workload{Algorithm: a, Generator: "blur"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = r
		}
	}
	return c, g, db, first
}

// A single schedule is what tune handed out last, though the search timed another one as
// faster; of several the fastest come first, and only what was handed out was checked.
func TestExportsWhatWasHandedOut(t *testing.T) {
	c, g, db, r := exported(t, "a1")
	best := func(top int) ([]tunedb.Measurement, map[string]bool, error) {
		t.Helper()
		run, err := c.find(g, db, "blur", "a1")
		if err != nil {
			t.Fatal(err)
		}
		c.Top = top
		return c.best(g, db, run)
	}
	record := func(hash, status string, took time.Duration) {
		t.Helper()
		err := r.Record(g.ctx, tunedb.Measurement{Hash: hash, Text: hash + ".compute_root()\n", Trace: "how to " + hash, Status: status, Best: took, Taken: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
	}
	report := func(o tune.Report) {
		t.Helper()
		if err := r.End(g.ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, top int, checked map[string]bool, hashes ...string) []tunedb.Measurement {
		t.Helper()
		ms, is, err := best(top)
		var got []string
		for _, m := range ms {
			got = append(got, m.Hash)
		}
		if err != nil || !reflect.DeepEqual(got, hashes) || !reflect.DeepEqual(is, checked) {
			t.Fatalf("%s: got %v, checked %v, %v; want %v, %v", what, got, is, err, hashes, checked)
		}
		return ms
	}

	record("broken", "crashed", 0)
	if _, _, err := best(1); err == nil || !strings.Contains(err.Error(), "run 1 found no schedule that works; tune again with a larger --budget") || exitCode(err) != exitUsage {
		t.Errorf("where nothing works: %v", err)
	}
	report(tune.Report{Hash: "predicted", Schedule: "predicted.compute_root()\n"})
	want("where the model alone was asked", 1, map[string]bool{"predicted": true}, "predicted")
	report(tune.Report{})
	record("fast", "ok", time.Millisecond)
	record("slow", "ok", 2*time.Millisecond)
	want("before tune hands anything out", 1, map[string]bool{}, "fast")

	slow := map[string]bool{"slow": true}
	report(tune.Report{Hash: "slow", Schedule: "slow.compute_root()\n", Seconds: 2e-3})
	if top := want("one", 1, slow, "slow"); top[0].Trace != "how to slow" || top[0].Best != 2*time.Millisecond {
		t.Errorf("not as it was measured: %+v", top[0])
	}
	want("two", 2, slow, "fast", "slow")
	want("more than there are", 9, slow, "fast", "slow")

	report(tune.Report{Hash: "slow", Schedule: "slow.compute_root()\n"})
	want("where what was handed out was not timed", 1, slow, "fast")
	report(tune.Report{Hash: "broken", Schedule: "broken.compute_root()\n", Seconds: 1e-3})
	want("where what was handed out failed since", 1, map[string]bool{}, "fast")
	report(tune.Report{Hash: "made", Schedule: "made.compute_root()\n", Seconds: 1e-3})
	if top := want("one that was made of what was measured", 1, map[string]bool{"made": true}, "made"); top[0].Text != "made.compute_root()\n" {
		t.Errorf("not as it was handed out: %+v", top[0])
	}
}

// Without a number it is the newest run of the algorithm as it is now.
func TestRunToExportIsFound(t *testing.T) {
	c, g, db, _ := exported(t, "a1", "a1", "a2")
	for _, w := range []struct {
		number    int64
		algorithm string
		id        int64
		fails     string
	}{
		{0, "a1", 2, ""},
		{0, "a2", 3, ""},
		{0, "a3", 0, "holds nothing for blur as it is now (algorithm a3); tune it first"},
		{1, "a1", 1, ""},
		{3, "a1", 0, "run 3 tuned another algorithm (a2, of blur) than this Generator has now (a1)"},
		{4, "a1", 0, "has no run 4"},
	} {
		c.Run_ = w.number
		run, err := c.find(g, db, "blur", w.algorithm)
		switch {
		case w.fails != "" && (err == nil || !strings.Contains(err.Error(), w.fails) || exitCode(err) != exitUsage):
			t.Errorf("run %d of %s: %v, want %q", w.number, w.algorithm, err, w.fails)
		case w.fails == "" && (err != nil || run.ID != w.id):
			t.Errorf("run %d of %s: found %+v, %v, want %d", w.number, w.algorithm, run, err, w.id)
		}
	}
}

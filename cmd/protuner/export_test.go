package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/measure"
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

// What was tried and never worked is the user's to mend, and no file.
func TestNothingToExport(t *testing.T) {
	c, g, db, r := exported(t, "a1")
	if err := r.Record(g.ctx, tunedb.Measurement{Hash: "broken", Text: "broken.compute_root()\n", Status: measure.Crashed, Taken: time.Now()}); err != nil {
		t.Fatal(err)
	}
	run, err := c.find(g, db, "blur", "a1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.best(g, db, run); err == nil || !strings.Contains(err.Error(), "run 1 found no schedule that works; tune again with a larger --budget") || exitCode(err) != exitUsage {
		t.Errorf("where nothing works: %v", err)
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

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/measure"
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

// full is a file on a disk that is full.
func full(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// An earlier file stays where a new one cannot be written, and what stdout does not take is an
// error.
func TestUnwritableExports(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "f.schedule.h"), "earlier")
	if err := os.MkdirAll(filepath.Join(dir, ".protuner-f.schedule.h", "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := &exportCmd{Out: dir, Format: "schedule.h"}
	err := c.write(0, "f", "new")
	if text, readErr := os.ReadFile(path); err == nil || !strings.Contains(err.Error(), "cannot write "+path+": ") || readErr != nil || string(text) != "earlier" {
		t.Errorf("%v, and there is %q, %v", err, text, readErr)
	}

	stdout := os.Stdout
	t.Cleanup(func() { os.Stdout = stdout })
	os.Stdout = full(t)
	if err := c.write(1, "f", "second"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the path of a file that nobody was told: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "f.2.schedule.h")); err != nil || string(text) != "second" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if err := printed(func(w io.Writer) { fmt.Fprintln(w, "a report") }); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a report that nobody got: %v", err)
	}
}

// Where the winner's files cannot be written its races are not lost: the report is printed and
// stored, and export writes what was found elsewhere.
func TestUnwritableWinner(t *testing.T) {
	if testing.Short() {
		t.Skip("tunes with a real Halide")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "out", "directives.h"), 0o755); err != nil { // where the header is to go
		t.Fatal(err)
	}
	o := execute(t, dir, "tune", small, "--trials", "4", "--budget", "1m", "--seeds", "none", "--baseline", "none", "--db", "u.db", "--json", "-o", "out")
	r := new(tune.Report)
	if err := json.Unmarshal([]byte(o.out), r); err != nil || o.code != exitFailed || r.Hash == "" || r.Final <= 0 || r.Out != "" || len(r.Files) > 0 || len(o.left) > 0 {
		t.Errorf("code %d, %v, left behind %v, report %s", o.code, err, o.left, o.out)
	}
	_, last, _ := strings.Cut(o.words, "protuner: not all of the winner's files could be written: ")
	if !strings.Contains(last, "directives.h") || !strings.Contains(last, "`protuner export`") || strings.Count(last, "\n") != 1 {
		t.Errorf("ended with\n%s", o.words)
	}
	if beside, err := filepath.Glob(filepath.Join(dir, "out", ".protuner-*")); err != nil || len(beside) > 0 {
		t.Errorf("left in the folder: %v, %v", beside, err)
	}

	if o := execute(t, dir, "export", small, "--db", "u.db"); o.code != exitDone || !strings.Contains(o.out, r.Hash) || strings.Contains(o.words, "protuner check") {
		t.Errorf("export: code %d\n%s%s", o.code, o.out, o.words)
	}
	cmd := command(t, dir, "export", small, "--db", "u.db")
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = full(t), &words
	_ = cmd.Run() // its code is looked at
	if cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(words.String(), "no space left") {
		t.Errorf("export to a full disk: %v\n%s", cmd.ProcessState, &words)
	}
}

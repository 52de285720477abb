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
	run, err := c.find(g, db, tunedb.Workload{Algorithm: "a1", Generator: "blur"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.best(g, db, run); err == nil || !strings.Contains(err.Error(), "run 1 found no schedule that works; tune again with a larger --budget") || exitCode(err) != exitUsage {
		t.Errorf("where nothing works: %v", err)
	}
}

// Without a number it is a run of the algorithm as it is now, where nothing works and all are
// alike the newest.
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
		run, err := c.find(g, db, tunedb.Workload{Algorithm: w.algorithm, Generator: "blur"})
		switch {
		case w.fails != "" && (err == nil || !strings.Contains(err.Error(), w.fails) || exitCode(err) != exitUsage):
			t.Errorf("run %d of %s: %v, want %q", w.number, w.algorithm, err, w.fails)
		case w.fails == "" && (err != nil || run.ID != w.id):
			t.Errorf("run %d of %s: found %+v, %v, want %d", w.number, w.algorithm, run, err, w.id)
		}
	}
}

// find is what find takes, and what it says on stderr.
func find(t *testing.T, c *exportCmd, g *globals, db *tunedb.DB, here tunedb.Workload) (run int64, words string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "words"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stderr := os.Stderr
	defer func() { os.Stderr = stderr }()
	os.Stderr = f
	found, err := c.find(g, db, here)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return found.ID, string(text)
}

// What is exported is of this machine, these parameters and sizes and no import, where that is
// to be had, whatever run is the newest; one that found nothing is passed over. What it is of is
// told where that is not what is here, or where there is a choice.
func TestLikestThatWorksIsExported(t *testing.T) {
	c, g, db, _ := exported(t)
	here := tunedb.Workload{Algorithm: "a1", Generator: "blur", Host: "mine", Threads: 2, Target: "x86",
		Params: []string{"width=512"}, Estimates: []string{"out [{0 511 true}]", "in [0] [512] ", "gain [] [] 2"}}
	with := func(change func(*tunedb.Workload)) tunedb.Workload {
		w := here
		change(&w)
		return w
	}
	large := func(w *tunedb.Workload) {
		w.Params, w.Estimates = []string{"width=4096"}, []string{"out [{0 4095 true}]", "in [0] [4096] ", "gain [] [] 2"}
	}
	server := func(w *tunedb.Workload) { w.Host = "server" }
	add := func(db *tunedb.DB, w tunedb.Workload, works bool) {
		t.Helper()
		r, err := db.Begin(g.ctx, w, nil)
		if err == nil && works {
			err = r.Record(g.ctx, tunedb.Measurement{Hash: "h", Text: "f.compute_root()\n", Status: measure.OK, Best: time.Millisecond, Taken: time.Now()})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, w tunedb.Workload, id int64, told ...string) {
		t.Helper()
		run, words := find(t, c, g, db, w)
		if run != id || (words == "") != (len(told) == 0) || strings.Count(words, "\n") > 1 {
			t.Errorf("%s: run %d, want %d; it says %q", what, run, id, words)
		}
		for _, text := range told {
			if !strings.Contains(words, text) {
				t.Errorf("%s: it does not say %q in %q", what, text, words)
			}
		}
	}

	add(db, here, true)                                              // run 1
	add(db, with(func(w *tunedb.Workload) { w.Threads = 1 }), false) // stopped at once
	want("after one that was stopped", here, 1)
	want("with other threads", with(func(w *tunedb.Workload) { w.Threads = 4 }), 1, "run 1 is taken, which is not for what is here but for 2 threads;")

	_, _, theirs, _ := exported(t)
	add(theirs, with(server), true)
	add(theirs, with(func(w *tunedb.Workload) { server(w); large(w) }), true)
	var lines bytes.Buffer
	if _, err := theirs.Export(g.ctx, &lines); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Import(g.ctx, &lines); n != 2 || err != nil {
		t.Fatalf("imported %d, %v", n, err)
	}
	want("after another machine's were imported", here, 1,
		"run 1 is taken; other workloads with a schedule that works: 2; --run N takes another")
	want("on a third machine", with(func(w *tunedb.Workload) { w.Host = "third" }), 1, "but for the machine mine;")

	add(db, with(large), true) // run 5
	want("after another size was tuned", here, 1, "that works: 3;")
	want("at that size", with(large), 5, "run 5 is taken; ")
	add(db, with(func(w *tunedb.Workload) { large(w); w.Threads = 1 }), true) // run 6
	want("after that by one thread", with(large), 5, "that works: 4;")
	want("at that size there", with(func(w *tunedb.Workload) { large(w); w.Target = "x86-avx" }), 5, "but for the target x86;")
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

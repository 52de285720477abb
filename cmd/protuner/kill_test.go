package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

var killRounds = flag.Int("rounds", 3, "how often a tune is killed")

// markVariable marks every process of a test, which inherit it, with the test's own
// folder.
const markVariable = "PROTUNER_TEST_MARK"

// marked lists the living processes with that mark.
func marked(mark string) (out []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range all {
		text, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(text, []byte(markVariable+"="+mark+"\x00")) {
			continue
		}
		name, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "comm"))
		out = append(out, filepath.Base(filepath.Dir(f))+" "+strings.TrimSpace(string(name)))
	}
	return out
}

// settled waits for something that happens by itself within moments.
func settled(t *testing.T, done func() bool, otherwise func() string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error(otherwise())
			return
		}
	}
}

// unswept is what a killed tune left for good. The folder of one that was killed before
// its server had made a reference in it, and so lived to remove it, goes with the next.
func unswept(dir string) []string {
	return slices.DeleteFunc(leftBehind(dir), func(f string) bool {
		_, err := os.Stat(filepath.Join(f, "data"))
		return strings.Contains(f, "protuner-serve-") && errors.Is(err, fs.ErrNotExist)
	})
}

// snapshot is everything measured, by workload and schedule.
func snapshot(t *testing.T, path string) map[string]tunedb.Measurement {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		return nil // killed before it was made
	}
	db, err := tunedb.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var lines bytes.Buffer
	if _, err := db.Export(t.Context(), &lines); err != nil {
		t.Fatal(err)
	}
	out := map[string]tunedb.Measurement{}
	for dec := json.NewDecoder(&lines); dec.More(); {
		var l struct {
			Workload    tunedb.Workload
			Measurement tunedb.Measurement
		}
		if err := dec.Decode(&l); err != nil {
			t.Fatal(err)
		}
		k := l.Workload.Key() + " " + l.Measurement.Hash
		if _, twice := out[k]; twice {
			t.Errorf("%s is there twice", k)
		}
		if l.Measurement.Status != "infra_failed" { // measured again, as it should be
			out[k] = l.Measurement
		}
	}
	return out
}

// TestKilledTunes kills a tune with SIGKILL at random moments of its life, again
// and again: each time the database opens, nothing in it is lost or measured again,
// no process and no file is left, and the last run, which may end, resumes what the
// others measured.
func TestKilledTunes(t *testing.T) {
	if testing.Short() {
		t.Skip("tunes with a real Halide")
	}
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewSource(seed))
	dir := t.TempDir()
	path := filepath.Join(dir, "k.db")
	tuneIt := func(trials int) *exec.Cmd {
		cmd := command(t, dir, "tune", small, "--trials", fmt.Sprint(trials), "--budget", "12s", "--seeds", "mullapudi2016", "--baseline", "own,mullapudi2016",
			"--db", path, "--json")
		cmd.Env = append(cmd.Env, markVariable+"="+dir)
		return cmd
	}
	// What has to be compiled once is compiled before.
	execute(t, dir, "tune", small, "--trials", "1", "--budget", "1m", "--seeds", "none", "--baseline", "none", "--db", filepath.Join(dir, "warm.db"))

	before := snapshot(t, path)
	for range *killRounds {
		// Few trials, so that some are killed in the races at the end.
		cmd := tuneIt(len(before) + 6)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rng.Intn(12000)) * time.Millisecond)
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
		settled(t, func() bool { return len(marked(dir)) == 0 }, func() string { return fmt.Sprintf("processes live on: %v", marked(dir)) })
		settled(t, func() bool { return len(unswept(dir)) == 0 }, func() string { return fmt.Sprintf("left behind: %v", unswept(dir)) })
		after := snapshot(t, path)
		for k, m := range before {
			if !reflect.DeepEqual(after[k], m) {
				t.Errorf("%s was %+v and is %+v", k, m, after[k])
			}
		}
		t.Logf("%d measured, after %d", len(after), len(before))
		before = after
	}
	r := tuned(t, finish(t, tuneIt(len(before)+2)))
	if r.Known != len(before) || r.Measured > 2 {
		t.Errorf("%d were measured, the last run knew %d and measured %d", len(before), r.Known, r.Measured)
	}
	if left := leftBehind(dir); len(left) > 0 {
		t.Errorf("left behind by a run that ended: %v", left)
	}
}

// TestInterruptedTunes presses Ctrl-C once there is a best: it is kept, built and
// reported, and the exit code says what happened.
func TestInterruptedTunes(t *testing.T) {
	if testing.Short() {
		t.Skip("tunes with a real Halide")
	}
	dir := t.TempDir()
	cmd := command(t, dir, "tune", small, "--budget", "1m", "--seeds", "none", "--baseline", "own", "--json", "-o", "out")
	cmd.Env = append(cmd.Env, markVariable+"="+dir)
	words, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pressed := false
	for lines := bufio.NewScanner(words); lines.Scan(); {
		if !pressed && strings.Contains(lines.Text(), "best so far") {
			pressed = true
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	r := new(tune.Report)
	if err := json.Unmarshal(out.Bytes(), r); err != nil || cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Fatalf("code %d, %v: %s", cmd.ProcessState.ExitCode(), err, &out)
	}
	if r.Measured == 0 || r.Hash == "" || r.Final != 0 || len(r.Baselines) != 0 {
		t.Errorf("report %s", &out)
	}
	for _, name := range []string{"directives.a", "directives.h", "directives.schedule.h", "report.md"} {
		if _, err := os.Stat(filepath.Join(dir, "out", name)); err != nil {
			t.Error(err)
		}
	}
	settled(t, func() bool { return len(marked(dir)) == 0 && len(leftBehind(dir)) == 0 },
		func() string { return fmt.Sprintf("processes %v, files %v", marked(dir), leftBehind(dir)) })
}

// TestOneInterruptEnds: verbs that keep nothing of what they are at end by the first Ctrl-C,
// and so does tune as long as it has found nothing.
func TestOneInterruptEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real Halide")
	}
	for _, args := range [][]string{
		{"check", "./slow", "--schedule", "any.schedule.h"},
		{"features", "./slow", "--schedule", "any.schedule.h"},
		{"tune", "./slow", "--json"},
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "any.schedule.h"), "")
		if err := os.WriteFile(filepath.Join(dir, "slow"), []byte("#!/bin/sh\ntouch begun\nexec sleep 200\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := command(t, dir, append(args, "--halide", filepath.Join(bridge.DataDir(), "halide", bridge.DefaultVersion))...)
		cmd.Env = append(cmd.Env, markVariable+"="+dir)
		go func() {
			for begun := false; !begun && t.Context().Err() == nil; time.Sleep(20 * time.Millisecond) {
				_, err := os.Stat(filepath.Join(dir, "begun"))
				begun = err == nil
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}()
		if o := finish(t, cmd); o.code != exitInterrupted || o.out != "" || !strings.HasSuffix(o.words, "protuner: interrupted\n") {
			t.Errorf("%s: code %d, on stdout %q\n%s", args[0], o.code, o.out, o.words)
		}
		settled(t, func() bool { return len(marked(dir)) == 0 && len(leftBehind(dir)) == 0 },
			func() string { return fmt.Sprintf("processes %v, files %v", marked(dir), leftBehind(dir)) })
	}
}

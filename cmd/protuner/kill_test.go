package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/bridge/bridgetest"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tunedb"
)

var killRounds = flag.Int("rounds", 3, "how often a tune is killed")

// unswept is what a killed tune left for good. A server removes its folder; that of tune
// itself, which holds no data set, goes with the next tune, as does that of a server which was
// not there yet.
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
		if l.Measurement.Status != measure.InfraFailed { // measured again, as it should be
			out[k] = l.Measurement
		}
	}
	return out
}

// said is closed once a line holds this, or no more of them come. It reads all of them, so that
// who writes them never waits.
func said(lines io.Reader, text string) <-chan struct{} {
	there := make(chan struct{})
	go func() {
		once := sync.OnceFunc(func() { close(there) })
		defer once()
		for s := bufio.NewScanner(lines); s.Scan(); {
			if strings.Contains(s.Text(), text) {
				once()
			}
		}
	}()
	return there
}

// TestKilledTunes kills a tune with SIGKILL at random moments of its life, the first after it
// has measured something, again and again: each time the database opens, nothing in it is lost
// or measured again, no process and no file is left, and the last run, which may end, resumes
// what the others measured.
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
		cmd.Env = append(cmd.Env, bridgetest.MarkVariable+"="+dir)
		return cmd
	}
	// What has to be compiled once is compiled before.
	execute(t, dir, "tune", small, "--trials", "1", "--budget", "1m", "--seeds", "none", "--baseline", "none", "--db", filepath.Join(dir, "warm.db"))

	before := snapshot(t, path)
	kills := 0
	for round := 0; kills < *killRounds && round < 5**killRounds; round++ {
		// Few trials, so that some are killed in the races at the end.
		cmd := tuneIt(len(before) + 6)
		progress, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		measured := said(progress, "best so far")
		if len(before) == 0 {
			<-measured // a busy machine may take longer to get there than any delay
		}
		time.Sleep(time.Duration(rng.Intn(12000)) * time.Millisecond)
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
		if cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled() {
			kills++ // else it had ended
		}
		bridgetest.Settled(t, func() bool { return len(bridgetest.Marked(dir)) == 0 }, func() string { return fmt.Sprintf("processes live on: %v", bridgetest.Marked(dir)) })
		bridgetest.Settled(t, func() bool { return len(unswept(dir)) == 0 }, func() string { return fmt.Sprintf("left behind: %v", unswept(dir)) })
		after := snapshot(t, path)
		for k, m := range before {
			if !reflect.DeepEqual(after[k], m) {
				t.Errorf("%s was %+v and is %+v", k, m, after[k])
			}
		}
		t.Logf("%d measured, after %d", len(after), len(before))
		before = after
	}
	if len(before) == 0 || kills == 0 {
		t.Fatalf("%d schedules were measured before %d kills", len(before), kills)
	}
	r := tuned(t, finish(t, tuneIt(len(before)+2)))
	if r.Known != len(before) || r.Measured > 2 {
		t.Errorf("%d were measured, the last run knew %d and measured %d", len(before), r.Known, r.Measured)
	}
	if left := leftBehind(dir); len(left) > 0 {
		t.Errorf("left behind by a run that ended: %v", left)
	}
	t.Logf("figure: %d of %d kills survived, %d schedules measured between them", kills, kills, len(before))
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
		cmd.Env = append(cmd.Env, bridgetest.MarkVariable+"="+dir)
		go func() {
			for begun := false; !begun && t.Context().Err() == nil; time.Sleep(20 * time.Millisecond) {
				_, err := os.Stat(filepath.Join(dir, "begun"))
				begun = err == nil
			}
			if t.Context().Err() != nil {
				return // it never began, and the test is over
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}()
		if o := finish(t, cmd); o.code != exitInterrupted || o.out != "" || !strings.HasSuffix(o.words, "protuner: interrupted\n") {
			t.Errorf("%s: code %d, on stdout %q\n%s", args[0], o.code, o.out, o.words)
		}
		bridgetest.Settled(t, func() bool { return len(bridgetest.Marked(dir)) == 0 && len(leftBehind(dir)) == 0 },
			func() string { return fmt.Sprintf("processes %v, files %v", bridgetest.Marked(dir), leftBehind(dir)) })
	}
}

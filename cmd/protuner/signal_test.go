package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge/bridgetest"
	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

// slowLinker is a compiler that does not come to an end where it links a winner, and says
// when it is there.
const slowLinker = "#!/bin/sh\n[ \"$1\" = -shared ] && { echo > linking; sleep 300; }\nexec g++ \"$@\"\n"

// TestSignalledTunes: after SIGTERM, and Ctrl-C is the same, the best so far is kept, built and reported, and the exit code
// says what happened; a second one ends what still builds that, and only the database has what
// was measured. A terminal that is closed, which is told twice, counts as one, though nobody
// reads the log any more.
func TestSignalledTunes(t *testing.T) {
	if testing.Short() {
		t.Skip("tunes with a real Halide")
	}
	for name, c := range map[string]struct {
		signals []os.Signal
		reports bool
	}{
		"SIGTERM":           {[]os.Signal{syscall.SIGTERM}, true},
		"a closed terminal": {[]os.Signal{syscall.SIGHUP, syscall.SIGHUP}, true},
		"Ctrl-C twice":      {[]os.Signal{os.Interrupt, os.Interrupt}, false},
	} {
		t.Run(name, func(t *testing.T) {
			unread := slices.Contains(c.signals, os.Signal(syscall.SIGHUP))
			if unread && signal.Ignored(syscall.SIGHUP) {
				t.Skip("what nohup runs does not end with its terminal")
			}
			dir := t.TempDir()
			cmd := command(t, dir, "tune", small, "--budget", "1m", "--seeds", "none", "--baseline", "own", "--db", "s.db", "--json", "-o", "out")
			cmd.Env = append(cmd.Env, bridgetest.MarkVariable+"="+dir)
			if !c.reports {
				linker := filepath.Join(dir, "linker")
				if err := os.WriteFile(linker, []byte(slowLinker), 0o755); err != nil {
					t.Fatal(err)
				}
				cmd.Env = append(cmd.Env, "CXX="+linker)
			}
			progress, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			var out, words bytes.Buffer
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			due := []string{"best so far", "building the winner"}[:len(c.signals)]
			for lines := bufio.NewScanner(progress); lines.Scan(); {
				fmt.Fprintln(&words, lines.Text())
				if len(due) == 0 || !strings.Contains(lines.Text(), due[0]) {
					continue
				}
				if due[0] == "building the winner" && !c.reports {
					bridgetest.Settled(t, func() bool { _, err := os.Stat(filepath.Join(dir, "linking")); return err == nil }, func() string { return "no winner was linked" })
				}
				if err := cmd.Process.Signal(c.signals[len(c.signals)-len(due)]); err != nil {
					t.Error(err)
				}
				if due = due[1:]; len(due) == 0 && unread {
					progress.Close()
				}
			}
			_ = cmd.Wait() // its code is looked at
			told := unread || strings.HasSuffix(words.String(), "protuner: interrupted\n")
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || len(due) > 0 || !told {
				t.Errorf("code %d, not sent at %q:\n%s", code, due, &words)
			}
			r := new(tune.Report)
			switch err := json.Unmarshal(out.Bytes(), r); {
			case !c.reports && out.Len() > 0:
				t.Errorf("reported all the same: %s", &out)
			case c.reports && (err != nil || r.Measured == 0 || r.Hash == "" || r.Final != 0 || len(r.Baselines) != 0):
				t.Errorf("%v, report %s", err, &out)
			}
			for _, name := range []string{"directives.a", "directives.h", "directives.schedule.h", "report.md"} {
				if _, err := os.Stat(filepath.Join(dir, "out", name)); (err == nil) != c.reports {
					t.Errorf("%s: %v", name, err)
				}
			}
			bridgetest.Settled(t, func() bool { return len(bridgetest.Marked(dir)) == 0 && len(leftBehind(dir)) == 0 },
				func() string { return fmt.Sprintf("processes %v, files %v", bridgetest.Marked(dir), leftBehind(dir)) })
			if len(snapshot(t, filepath.Join(dir, "s.db"))) == 0 {
				t.Error("nothing that was measured is kept")
			}
			// What was handed out is known to export, though the run has not ended.
			db, err := tunedb.Open(t.Context(), filepath.Join(dir, "s.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			runs, err := db.Runs(t.Context(), "")
			if err != nil || len(runs) != 1 || !runs[0].Ended.IsZero() {
				t.Fatalf("%v, runs %+v", err, runs)
			}
			kept, err := tune.Reported(runs[0])
			if err != nil || (kept == nil) == c.reports || kept != nil && kept.Hash != r.Hash {
				t.Errorf("%v, kept %+v", err, kept)
			}
		})
	}
}

// TestOneMoreSignalKills: what waits for something that no context ends, as for a pipe that
// nobody writes to, is ended by the signal after the one that cancels.
func TestOneMoreSignalKills(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "space.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, dir, "optimize", pipe, "--", "true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is looked at
		close(ended)
	}()
	// It can be opened to be written once it is read.
	bridgetest.Settled(t, func() bool {
		writer, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			t.Cleanup(func() { writer.Close() })
		}
		return err == nil
	}, func() string { return "the space was not read" })
	sent := 0
	for over := false; !over; {
		if cmd.Process.Signal(syscall.SIGTERM) == nil { // as Ctrl-C, which a shell may have its jobs ignore
			sent++
		}
		select {
		case <-ended:
			over = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM || sent < 2 {
		t.Errorf("after %d signals: %v", sent, cmd.ProcessState)
	}
}

package tunedb

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/measure"
)

var killRounds = flag.Int("rounds", 8, "how often a writer is killed")

// writerVariable makes the test program a writer of the database it names: it
// records measurements from, one after the other, and prints each one's number when
// it is committed.
const (
	writerVariable = "PROTUNER_TEST_WRITER"
	openerVariable = "PROTUNER_TEST_OPENER"
	readerVariable = "PROTUNER_TEST_READER"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(writerVariable); path != "" {
		if err := write(path, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if path := os.Getenv(openerVariable); path != "" {
		_, err := Open(context.Background(), path)
		fmt.Println(err)
		return
	}
	if path := os.Getenv(readerVariable); path != "" {
		fmt.Println(read(path))
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

func write(path, until string) error {
	most, err := strconv.Atoi(until)
	if err != nil {
		return err
	}
	ctx := context.Background()
	db, err := Open(ctx, path)
	if err != nil {
		return err
	}
	r, err := db.Begin(ctx, workload("a1"), nil)
	if err != nil {
		return err
	}
	past, err := r.Known(ctx)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, m := range past {
		there[m.Hash] = true
	}
	for i := range most {
		m := measurement(i, measure.OK)
		m.Best = time.Second // no number may reach 0
		if there[m.Hash] {
			continue
		}
		m.Origin = strconv.Itoa(os.Getpid())
		if err := r.Record(ctx, m); err != nil {
			return err
		}
		fmt.Println(i)
	}
	return db.Close()
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// writer starts another process that records until so many are there.
func writer(t *testing.T, path string, until int) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.Command(self(t), strconv.Itoa(until))
	cmd.Env = append(os.Environ(), writerVariable+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

func TestTwoProcessesWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "protuner.db")
	const n = 60
	var all sync.WaitGroup
	for range 2 { // both also make the database
		cmd, out := writer(t, path, n)
		all.Go(func() {
			if _, err := io.Copy(io.Discard, out); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	checkWhole(t, path, n)
}

// checkWhole opens the database and wants it sound, with the first n measurements
// once each.
func checkWhole(t *testing.T, path string, n int) {
	t.Helper()
	db := open(t, path)
	var sound string
	if err := db.sql.QueryRow(`PRAGMA integrity_check`).Scan(&sound); err != nil || sound != "ok" {
		t.Fatalf("integrity: %s, %v", sound, err)
	}
	top, err := db.Fastest(t.Context(), workload("a1").Key(), 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, m := range top {
		seen[m.Hash]++
	}
	for i := range n {
		if h := measurement(i, measure.OK).Hash; seen[h] != 1 {
			t.Errorf("measurement %d is there %d times", i, seen[h])
		}
	}
}

// TestKilledWriters kills a writer at random moments, again and again: each time
// the database opens, everything whose commit was told is there, and the next
// writer goes on where this one stopped. Every other writer, and the last, is left alone
// until its first commit; those between may be killed before they have opened anything.
func TestKilledWriters(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewSource(seed))
	path := filepath.Join(t.TempDir(), "protuner.db")
	committed := 0
	for round := range *killRounds {
		cmd, out := writer(t, path, 1<<20)
		life := time.Duration(rng.Intn(300)) * time.Millisecond
		spared, limit := round%2 == 1 || round == *killRounds-1, life
		if spared {
			limit = time.Minute // far more than it takes to commit
		}
		timer := time.AfterFunc(limit, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if spared {
				spared = false
				timer.Reset(life)
			}
			n, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Errorf("the writer says %q", lines.Text())
			}
			if n < committed {
				t.Errorf("%d was recorded a second time", n)
			}
			committed = n + 1
		}
		timer.Stop()
		if _ = cmd.Wait(); cmd.ProcessState.String() != "signal: killed" {
			t.Fatalf("the writer ended by itself: %v", cmd.ProcessState)
		}
		if spared {
			t.Fatal("the writer committed nothing")
		}
		checkWhole(t, path, committed)
	}
}

// unwritableFolder makes a folder that cannot be written any more once fill has put there
// what it is to hold. What it gives with it runs this program on a database there and
// returns its words. For root there is no such folder, so another user tries; that is why
// it is not the test's own, which others may not enter.
func unwritableFolder(t *testing.T, fill func(dir string)) (dir string, try func(variable, name string) string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "protuner-readonly-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	text, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	fill(dir)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	return dir, func(variable, name string) string {
		t.Helper()
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), variable+"="+filepath.Join(dir, name))
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v, %s", name, err, out)
		}
		return strings.TrimSpace(string(out))
	}
}

func TestUnwritableFolderIsNamed(t *testing.T) {
	dir, try := unwritableFolder(t, func(dir string) { open(t, filepath.Join(dir, "old.db")).Close() })
	for _, name := range []string{"new.db", "old.db", "folder/new.db"} {
		said := try(openerVariable, name)
		if !strings.HasPrefix(said, "cannot ") || !strings.Contains(said, dir) || strings.Contains(said, "\n") {
			t.Errorf("%s: %q", name, said)
		}
		if name != "folder/new.db" && !strings.Contains(said, "name one that can be written with --db") {
			t.Errorf("%s: %q says no mend", name, said)
		}
	}
}

// A limit on the size of files is to SQLite what a full disk is: a write that fails
// half-way through a run.
func TestFullDiskLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "protuner.db")
	cmd := exec.Command("sh", "-c", `ulimit -f 400; trap '' XFSZ; exec "$0" 1048576`, self(t))
	cmd.Env = append(os.Environ(), writerVariable+"="+path)
	var words, numbers strings.Builder
	cmd.Stderr, cmd.Stdout = &words, &numbers
	err := cmd.Run()
	if err == nil || !strings.Contains(words.String(), "cannot write the database "+path) || !strings.Contains(words.String(), "make room on its disk") {
		t.Fatalf("%v: %s", err, words.String())
	}
	n := strings.Count(numbers.String(), "\n")
	if n == 0 {
		t.Fatal("nothing was written before the disk was full")
	}
	checkWhole(t, path, n)
}

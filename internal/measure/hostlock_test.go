package measure

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// lockVariable makes the test program a process that takes the lock it names, says
// so, and holds it until its input ends.
const lockVariable = "PROTUNER_TEST_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(lockVariable); path != "" {
		err := HostLock{path}.With(context.Background(), func() error {
			fmt.Println("held")
			_, err := bufio.NewReader(os.Stdin).ReadByte()
			return err
		})
		fmt.Println("released:", err)
		return
	}
	os.Exit(m.Run())
}

// holder starts another process that holds the lock.
func holder(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), lockVariable+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd
}

func TestGoroutinesTimeOneByOne(t *testing.T) {
	lock := HostLock{filepath.Join(t.TempDir(), "lock")}
	var inside, most, done atomic.Int32
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for range 3 {
				if err := lock.With(t.Context(), func() error {
					defer enter(&inside, &most)()
					time.Sleep(time.Millisecond)
					done.Add(1)
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if most.Load() != 1 || done.Load() != 18 {
		t.Errorf("%d at once, %d in all", most.Load(), done.Load())
	}
}

func TestTheLockIsTheHosts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock := HostLock{path}
	other := holder(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := lock.With(ctx, func() error { t.Error("two processes hold it"); return nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while another holds it: %v", err)
	}
	// A process that is killed holds nothing any more.
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ran := false
	if err := lock.With(t.Context(), func() error { ran = true; return nil }); err != nil || !ran {
		t.Errorf("after it was killed: %v", err)
	}
}

func TestTheLockHandsOnErrors(t *testing.T) {
	lock := HostLock{filepath.Join(t.TempDir(), "lock")}
	failure := errors.New("inside")
	if err := lock.With(t.Context(), func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	if err := lock.With(t.Context(), func() error { return nil }); err != nil {
		t.Errorf("after a failure: %v", err)
	}
	bad := HostLock{filepath.Join(t.TempDir(), "nowhere", "lock")}
	if err := bad.With(t.Context(), func() error { return nil }); err == nil || !strings.Contains(err.Error(), "cannot take the timing lock") {
		t.Errorf("got %v", err)
	}
}

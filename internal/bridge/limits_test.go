package bridge

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a process does that reaches a limit is ended, and which limit that was is told; what
// reaches none ends as it does.
func TestProcessesAreLimited(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		limits Limits
		want   LimitError // none where it is empty
	}{
		// The shell itself must hold what it reads, so it may not become the last command.
		"memory": {`x=$(head -c 60000000 /dev/zero | tr '\0' a); sleep 60; :`, Limits{Memory: 20 << 20, Time: time.Minute}, LimitError{"memory", "20 MiB"}},
		"time":   {"sleep 60 & sleep 60", Limits{Memory: 1 << 40, Time: 100 * time.Millisecond}, LimitError{"time", "100ms"}},
		"none":   {":", Limits{}, LimitError{}},
		"enough": {":", Limits{Memory: 1 << 40, Time: time.Minute}, LimitError{}},
	} {
		err := runLimited(t.Context(), exec.Command("sh", "-c", c.script), c.limits)
		var limit *LimitError
		if c.want == (LimitError{}) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.As(err, &limit) || *limit != c.want {
			t.Errorf("%s: %v, want %v", name, err, &c.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := runLimited(ended, exec.Command("sleep", "60"), Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	var exit *exec.ExitError
	if err := runLimited(t.Context(), exec.Command("sh", "-c", "exit 3"), Limits{Time: time.Minute}); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("failing: %v", err)
	}
}

// What ended by itself is not said to have been stopped, though protuner noticed a limit first.
func TestEndsThatNobodySawAreTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	// It is waited for until its output is closed, which another process holds open.
	cmd := exec.Command("sh", "-c", `sleep 60 & echo $$ >"$0"; exit 3`, file)
	cmd.Stdout = new(bytes.Buffer)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := make(chan error, 1)
	go func() { told <- runLimited(ctx, cmd, Limits{}) }()
	settled(t, "it does not end", func() bool {
		text, _ := os.ReadFile(file)
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	})
	cancel()
	var exit *exec.ExitError
	if err := <-told; !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("got %v, want exit status 3", err)
	}
}

// A build whose runner the system kills has not crashed: there was no memory for it.
func TestKilledRunnersHadNoMemory(t *testing.T) {
	for script, want := range map[string]string{"kill -9 $$": "out_of_memory", "kill -15 $$": "crashed", "exit 3": "crashed"} {
		_, err := Fresh{Runner: "sh", Library: "-c", Function: script}.Run(t.Context(), RunProtocol{})
		var f *Failure
		if !errors.As(err, &f) || f.Status != want || f.Killed != (want == "out_of_memory") {
			t.Errorf("%s: got %+v, want %s", script, err, want)
		}
	}
}

package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Limits bound a process that protuner starts but does not trust to end.
type Limits struct {
	Time   time.Duration // 0: none
	Memory int64         // bytes resident; 0: none
}

// A LimitError says which limit a process ran into.
type LimitError struct {
	Limit string // "time" or "memory"
	Value string
}

func (e *LimitError) Error() string { return "stopped at its limit of " + e.Value + " of " + e.Limit }

// watchEvery is how often a limited process is looked at: often enough that none
// takes the machine's memory between two looks.
const watchEvery = 20 * time.Millisecond

// startMortal starts a command in a process group of its own, of which the process itself dies
// with protuner, whatever ends that. wait takes the place of the command's own.
func startMortal(cmd *exec.Cmd) (wait func() error, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started, over := make(chan error), make(chan struct{})
	go func() {
		// The kernel sends the signal when the thread ends that started the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			<-over
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return func() error {
		defer close(over)
		return cmd.Wait()
	}, nil
}

// runLimited runs a command in a process group of its own until it ends, the
// context is done or a limit is reached; then the whole group is killed. It dies
// with protuner.
func runLimited(ctx context.Context, cmd *exec.Cmd, limits Limits) error {
	wait, err := startMortal(cmd)
	if err != nil {
		return fmt.Errorf("cannot run %s: %w", cmd.Path, err)
	}
	done := make(chan error, 1)
	go func() { done <- wait() }()
	stop := func(why error) error {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		// It may have ended by itself unseen: protuner was stopped for longer than the limit.
		if err := <-done; !killed(err) {
			return err
		}
		return why
	}
	var deadline <-chan time.Time
	if limits.Time > 0 {
		timer := time.NewTimer(limits.Time)
		defer timer.Stop()
		deadline = timer.C
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return stop(ctx.Err())
		case <-deadline:
			return stop(&LimitError{"time", limits.Time.String()})
		case <-tick.C:
			if limits.Memory > 0 && residentBytes(cmd.Process.Pid) > limits.Memory {
				return stop(&LimitError{"memory", fmt.Sprintf("%d MiB", limits.Memory>>20)})
			}
		}
	}
}

// killed says whether a command ended by SIGKILL. If protuner did not send it the system did, as
// where memory runs out.
func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// CombinedOutput is exec.Cmd's, but what it runs ends with the context and dies with protuner.
// Of a long output it gives the end.
func CombinedOutput(ctx context.Context, cmd *exec.Cmd) (string, error) {
	words := new(tail)
	cmd.Stdout, cmd.Stderr = words, words
	err := runLimited(ctx, cmd, Limits{})
	return words.String(), err
}

// Within runs f for so long at most; where that is what ended it the error is a *LimitError.
func Within(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := f(within)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return &LimitError{"time", limit.String()}
	}
	return err
}

// residentBytes is what a process holds in memory now; 0 where it is gone.
func residentBytes(pid int) int64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "statm"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

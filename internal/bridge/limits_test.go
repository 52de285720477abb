package bridge

import (
	"context"
	"errors"
	"os/exec"
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

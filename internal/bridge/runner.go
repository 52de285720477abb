package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Library links a static library that a Generator wrote into a shared one in dir
// that the runner can load.
func (t *Toolchain) Library(ctx context.Context, archive, dir string) (string, error) {
	out := filepath.Join(dir, filepath.Base(archive)+".so")
	err := t.compile(ctx, archive, out, "-shared", "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", "-lpthread", "-ldl", "-lm")
	return out, err
}

// Fresh runs an ahead-of-time build in a process of its own.
type Fresh struct {
	Runner   string // from Toolchain.Runner
	Library  string // from Toolchain.Library
	Function string
	Data     json.RawMessage // from Server.Reference
	Threads  int
	CPUs     []int // processors to run on; empty: any
	Memory   int64 // that it may have besides inputs and outputs; 0: unlimited
	// Lenient checks at the estimated size only and gives the build inputs as large as it
	// reads: what other schedulers make may be good for nothing else.
	Lenient bool
}

// Run checks and times the build once. The error is a *Failure or the context's.
func (f Fresh) Run(ctx context.Context, p RunProtocol) ([]time.Duration, error) {
	question, err := json.Marshal(struct {
		Data    json.RawMessage `json:"data"`
		Lenient bool            `json:"lenient"`
		CPUs    []int           `json:"cpus,omitempty"`
		RunProtocol
	}{f.Data, f.Lenient, f.CPUs, p})
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(f.Runner, f.Library, f.Function)
	cmd.Stdin = bytes.NewReader(question)
	var out bytes.Buffer
	words := new(tail)
	cmd.Stdout, cmd.Stderr = &out, words
	cmd.Env = os.Environ()
	if f.Threads > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("HL_NUM_THREADS=%d", f.Threads))
	}
	limits := Limits{Time: p.Timeout, Memory: f.Memory}
	if f.Memory > 0 {
		limits.Memory += 2 * f.dataBytes()
	}
	err = runLimited(ctx, cmd, limits)
	limit, exit := (*LimitError)(nil), (*exec.ExitError)(nil)
	switch {
	case err == nil:
	case errors.As(err, &limit) && limit.Limit == "time":
		return nil, &Failure{Status: "timed_out", Message: limit.Error()}
	case errors.As(err, &limit):
		return nil, &Failure{Status: "out_of_memory", Message: limit.Error()}
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !errors.As(err, &exit):
		return nil, infra("%v", err)
	case killed(err): // by none of the limits above; the fork server takes it likewise
		return nil, &Failure{Status: "out_of_memory", Message: "killed by the system, as where memory runs out", Killed: true}
	default:
		return nil, &Failure{Status: "crashed", Message: fmt.Sprintf("%s: %v %s", filepath.Base(f.Library), err, words)}
	}
	var reply struct {
		Status  string          `json:"status"`
		Message string          `json:"message"`
		Samples []time.Duration `json:"samples"`
	}
	if err := json.Unmarshal(out.Bytes(), &reply); err != nil {
		return nil, infra("the runner's answer is no answer: %v", err)
	}
	if reply.Status != "ok" {
		return nil, &Failure{Status: reply.Status, Message: reply.Message}
	}
	return reply.Samples, nil
}

// dataBytes is the size of the data set, which is mapped, and whose inputs and outputs are
// copied.
func (f Fresh) dataBytes() int64 {
	var data struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(f.Data, &data) != nil {
		return 0
	}
	at, err := os.Stat(data.Path)
	if err != nil {
		return 0
	}
	return at.Size()
}

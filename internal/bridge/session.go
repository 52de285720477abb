package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// session is one run of a Generator with the plugin loaded, and the connection to
// it. Its process group ends with it.
type session struct {
	ctx    context.Context // that of its start
	limits sessionLimits
	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	words  *tail
	hello  answer
	closed sync.Once
	wait   func() error // for the process's end
}

// sessionLimits bound a Generator that hangs; honest ones stay far below.
type sessionLimits struct {
	answer time.Duration // from its start to its answer
	end    time.Duration // to end by itself once nothing is asked of it, and to read a request
}

var defaultSessionLimits = sessionLimits{answer: 10 * time.Minute, end: 5 * time.Second}

// start runs the Generator, loads the plugin and shakes hands. Further arguments
// are put on the Generator's command line.
func (g *Generator) start(ctx context.Context, h hello, args ...string) (*session, error) {
	s, err := g.spawn(ctx, h.Mode == "serve", g.arguments(args, "-p", g.plugin, "autoscheduler=ProTuner",
		"autoscheduler.fd_in=3", "autoscheduler.fd_out=4"))
	if err != nil {
		return nil, err
	}
	h.Protocol = Protocol
	h.Generator = g.Name
	h.GeneratorParams = g.Params
	// A Generator that fails before it loads the plugin closes the pipe; its own words
	// explain that better than the pipe's error.
	_ = writeMessage(s.in, h)
	if err := s.greet(); err != nil {
		return nil, err
	}
	return s, nil
}

// registered asks a program which Generators it registers.
func (g *Generator) registered(ctx context.Context) ([]string, error) {
	plugin, err := g.Toolchain.names(ctx)
	if err != nil {
		return nil, err
	}
	s, err := g.spawn(ctx, false, []string{"-p", plugin})
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := s.greet(); err != nil {
		return nil, err
	}
	return s.hello.Generators, nil
}

// spawn runs the Generator's program with the session's pipes as descriptors 3 and 4. It dies
// with protuner unless it cleans up after that: then it ends once it sees its pipe's end.
func (g *Generator) spawn(ctx context.Context, cleansUp bool, args []string) (*session, error) {
	toPlugin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, fromPlugin, err := os.Pipe()
	if err != nil {
		toPlugin.Close()
		in.Close()
		return nil, err
	}
	s := &session{ctx: ctx, limits: g.limits, in: in, out: out, words: new(tail)}
	if s.limits == (sessionLimits{}) {
		s.limits = defaultSessionLimits
	}
	s.cmd = g.program(ctx, args)
	s.cmd.ExtraFiles = []*os.File{toPlugin, fromPlugin}
	s.cmd.Env = g.env()
	s.cmd.Stdout, s.cmd.Stderr = s.words, s.words
	s.cmd.Cancel = func() error { return syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) }
	// Grandchildren may hold the output open; what they say is not waited for.
	s.cmd.WaitDelay = time.Second
	if cleansUp {
		s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		s.wait, err = s.cmd.Wait, s.cmd.Start()
	} else {
		s.wait, err = startMortal(s.cmd)
	}
	toPlugin.Close()
	fromPlugin.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("cannot run %s: %w", g.Binary, err)
	}
	if err := s.out.SetReadDeadline(time.Now().Add(s.limits.answer)); err != nil {
		s.kill()
		s.close()
		return nil, err
	}
	return s, nil
}

// greet reads the plugin's first message.
func (s *session) greet() error {
	a, err := s.receive()
	if err != nil {
		return err
	}
	if a.Type != "hello" || a.Protocol != Protocol {
		s.kill()
		s.close()
		return &GeneratorError{Reason: fmt.Sprintf("the plugin speaks protocol %d, protuner %d; clear protuner's cache", a.Protocol, Protocol), Words: s.words.String()}
	}
	s.hello = *a
	return nil
}

// receive reads the next answer. Where the Generator ended instead, hangs, talks
// nonsense or the plugin reports an error, the session is closed and the error is a
// *GeneratorError; or the context's.
func (s *session) receive() (*answer, error) {
	a, err := readMessage(s.out)
	if err != nil {
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if !ended {
			s.kill()
		}
		waited := s.close()
		reason := "nonsense on the wire: " + err.Error()
		switch {
		case s.ctx.Err() != nil:
			return nil, s.ctx.Err()
		case errors.Is(err, os.ErrDeadlineExceeded):
			reason = "it did not answer in time"
		case ended:
			reason = ending(waited)
		}
		return nil, &GeneratorError{Reason: reason, Words: s.words.String()}
	}
	if a.Type == "error" {
		s.close()
		return nil, &GeneratorError{Reason: strings.TrimSpace(a.Message), Words: s.words.String()}
	}
	return a, nil
}

// ending says how the process went.
func ending(waited error) string {
	var exit *exec.ExitError
	switch {
	case waited == nil:
		return "it ended before it reached its schedule"
	case errors.As(waited, &exit):
		return exit.ProcessState.String()
	default:
		return waited.Error()
	}
}

// expect receives an answer of one type.
func (s *session) expect(kind string) (*answer, error) {
	a, err := s.receive()
	if err == nil && a.Type != kind {
		s.kill()
		s.close()
		return nil, &GeneratorError{Reason: fmt.Sprintf("the plugin answered %q where %q was due", a.Type, kind), Words: s.words.String()}
	}
	return a, err
}

// finish lets the Generator go on to its end and gives what Wait says; only the
// first call of it or of close counts.
func (s *session) finish() (waited error) {
	s.closed.Do(func() {
		s.in.Close()
		waited = s.wait()
		s.out.Close()
	})
	return waited
}

// close is finish for a Generator that has nothing left to do: one that does not
// end soon is killed.
func (s *session) close() error {
	timer := time.AfterFunc(s.limits.end, s.kill)
	defer timer.Stop()
	return s.finish()
}

// kill ends the Generator at once, whatever it is doing.
func (s *session) kill() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
}

// A GeneratorError is the failure of a user's Generator: what happened, and the
// Generator's and Halide's own words.
type GeneratorError struct {
	Reason string
	Words  string
	Killed bool // by a SIGKILL that protuner did not send, as Linux does where memory runs out
}

func (e *GeneratorError) Error() string {
	if e.Words == "" {
		return e.Reason
	}
	return e.Reason + "; it says:\n" + strings.TrimSpace(e.Words)
}

// Line is the reason with what was said of it last.
func (e *GeneratorError) Line() string {
	if words := LastLine(e.Words); words != "" {
		return e.Reason + ": " + words
	}
	return e.Reason
}

// LastLine of a text that says anything.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// tail keeps the end of what a process prints.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

const tailBytes = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	if n := t.buf.Len(); n > 2*tailBytes {
		t.buf.Next(n - tailBytes)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buf.Bytes()
	return string(b[max(0, len(b)-tailBytes):])
}

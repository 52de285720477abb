package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/protuner/protuner/internal/schedule"
)

// A Failure is a candidate's end as the fork server reports it. Status is one of
// build_failed, crashed, timed_out, out_of_memory, wrong_output, infra_failed; of the
// reference it may be BadInput.
type Failure struct {
	Status  string
	Message string
	Killed  bool // by a SIGKILL that protuner did not send, as Linux does where memory runs out
}

func (f *Failure) Error() string { return f.Status + ": " + f.Message }

// BadInput is the status of a reference that cannot be computed of the inputs that the user
// gave.
const BadInput = "bad_input"

// PermitUnroll lets Halide keep a loop that cannot be unrolled; it is read from the
// environment by whatever compiles a schedule.
const PermitUnroll = "HL_PERMIT_FAILED_UNROLL=1"

// UnrollRefused tells of a failure's message whether Halide refused to unroll a loop of
// which only the estimates say the extent, and would build the schedule under PermitUnroll.
func UnrollRefused(message string) bool {
	return strings.Contains(message, "unroll for loops over a constant extent")
}

// BuildStopped tells of a timed_out failure's message whether the candidate was stopped by the
// limit on compiling and checking it (expire in halide/serve.cpp). Any other was built, and is
// slow.
func BuildStopped(message string) bool { return message == "compiling and checking took too long" }

// infra is a failure of ours and not of the candidate's.
func infra(format string, args ...any) *Failure {
	return &Failure{Status: "infra_failed", Message: fmt.Sprintf(format, args...)}
}

// ServerOptions configure a fork server.
type ServerOptions struct {
	MemoryBytes int64         // address space of each candidate besides its inputs and outputs; 0: unlimited
	BuildTime   time.Duration // limit on compiling and checking one candidate
	// ReferenceTime is the limit on making the reference, which has no schedule to speak
	// of and may take minutes. Default ten.
	ReferenceTime time.Duration
	CPUs          []int // processors that timing is pinned to; empty: all
	Inputs        []Input
	Scratch       string // from NewScratch; empty: one is made
}

// Server is a Generator kept alive as a fork server. Its methods may be called
// concurrently; it times one candidate at a time.
type Server struct {
	session *session
	scratch string

	mu      sync.Mutex
	nextID  int64
	waiting map[int64]chan *answer
	early   map[int64]*Failure // of candidates that died while nobody asked
	err     *Failure           // set once the server is gone
	gone    chan struct{}
	sizes   int // of the reference
}

// scratchPrefix begins the name of every server's folder; the number after it is
// the process that made it, so that leftovers of one that was killed together with
// its server can be told. That process locks the folder besides: its number may be another,
// or the same as this one's, where processes are counted for themselves, as in containers that
// share the folder.
const scratchPrefix = "protuner-serve-"

// scratches are the locks of the folders that this process made.
var scratches = struct {
	sync.Mutex // held while one is made: what is not locked yet looks left over
	locks      map[string]*flock.Flock
}{locks: map[string]*flock.Flock{}}

// NewScratch makes a folder for the server's files and, beside them, whatever else
// should go when the server goes: it is the last to leave, also where protuner is
// killed. Leftovers of those that were killed together, or before they had a server, are
// removed.
func NewScratch() (string, error) {
	scratches.Lock()
	defer scratches.Unlock()
	removeLeftovers()
	scratch, err := os.MkdirTemp("", scratchPrefix+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", fmt.Errorf("cannot make a scratch folder: %w; set TMPDIR to one that can be written", err)
	}
	lock := flock.New(scratch, flock.SetFlag(os.O_RDONLY))
	_ = lock.Lock() // where folders cannot be locked nobody takes one for left over
	scratches.locks[scratch] = lock
	return scratch, nil
}

// RemoveScratch removes a folder that NewScratch made.
func RemoveScratch(dir string) error {
	err := os.RemoveAll(dir)
	scratches.Lock()
	defer scratches.Unlock()
	if lock := scratches.locks[dir]; lock != nil {
		lock.Close()
		delete(scratches.locks, dir)
	}
	return err
}

// Serve starts the fork server. The scratch folder is the server's from then on,
// also where it does not start.
func (g *Generator) Serve(ctx context.Context, o ServerOptions) (server *Server, err error) {
	scratch := o.Scratch
	if scratch == "" {
		if scratch, err = NewScratch(); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			RemoveScratch(scratch)
		}
	}()
	g = g.Raced()
	runtime, err := g.Toolchain.Runtime(ctx, g.Binary, g.Target())
	if err != nil {
		return nil, err
	}
	runner, err := g.Toolchain.Runner(ctx, g.faults)
	if err != nil {
		return nil, err
	}
	// The server outlives ctx by the moment it takes to clean up: it ends when its input
	// does, so it is not bound to the context that was there at its start but until it greets.
	living, abandon := context.WithCancel(context.WithoutCancel(ctx))
	greeted := context.AfterFunc(ctx, abandon)
	s, err := g.start(living, hello{
		Mode: "serve", Scratch: scratch, Runtime: runtime, Runner: runner, Linker: g.Toolchain.Linker,
		MemoryBytes: o.MemoryBytes, BuildTime: o.BuildTime, ReferenceTime: cmp.Or(o.ReferenceTime, 10*time.Minute), CPUs: o.CPUs, Inputs: o.Inputs,
	})
	if !greeted() && err == nil {
		s.kill()
		s.close()
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	server = &Server{session: s, scratch: scratch, waiting: map[int64]chan *answer{}, early: map[int64]*Failure{}, gone: make(chan struct{})}
	if err := s.out.SetReadDeadline(time.Time{}); err != nil { // candidates have limits of their own
		s.kill()
		s.close()
		return nil, err
	}
	go server.listen()
	return server, nil
}

// removeLeftovers deletes the folders of servers whose maker is gone and which
// nothing lives in any more. What has this process's number and was not made by it is of
// another that had the same. Called with scratches locked.
func removeLeftovers() {
	old, _ := filepath.Glob(filepath.Join(os.TempDir(), scratchPrefix+"*"))
	for _, dir := range old {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), scratchPrefix), "-")
		n, err := strconv.Atoi(pid)
		if err != nil || scratches.locks[dir] != nil || n != os.Getpid() && !errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			continue
		}
		lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
		if mine, err := lock.TryLock(); mine && err == nil {
			os.RemoveAll(dir)
		}
		lock.Close()
	}
}

// PID is the server's process.
func (s *Server) PID() int { return s.session.cmd.Process.Pid }

// Scratch is the folder that holds the data set; it goes with the server.
func (s *Server) Scratch() string { return s.scratch }

func (s *Server) listen() {
	for {
		a, err := s.session.receive()
		if err != nil {
			s.end(err)
			return
		}
		s.mu.Lock()
		if ch := s.waiting[a.ID]; ch != nil {
			delete(s.waiting, a.ID)
			ch <- a
		} else if a.Type == "failed" {
			s.early[a.ID] = &Failure{Status: a.Status, Message: a.Message}
		}
		s.mu.Unlock()
	}
}

func (s *Server) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = infra("the fork server ended: %v", err)
		close(s.gone)
	}
}

// Ended says why the server is gone; nil while it is there.
func (s *Server) Ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return nil
	}
	return errors.New(s.err.Message)
}

// Close ends the server, all its candidates and their files.
func (s *Server) Close() error {
	s.session.in.Close()
	select {
	case <-s.gone:
	case <-time.After(2 * s.session.limits.end):
		s.session.kill()
		<-s.gone
	}
	s.session.close()
	return RemoveScratch(s.scratch)
}

// send writes a request and registers who waits for its answer (nil: none). Of a candidate
// that died while nobody asked there will be none: its failure is the error.
func (s *Server) send(r request, answers chan *answer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if answers != nil {
		if died := s.early[r.ID]; died != nil {
			return died
		}
		s.waiting[r.ID] = answers
	}
	// A server that does not read must not hold up those who drop their candidates.
	if err := s.session.in.SetWriteDeadline(time.Now().Add(s.session.limits.end)); err != nil {
		return infra("the fork server is gone: %v", err)
	}
	if err := writeMessage(s.session.in, r); err != nil {
		delete(s.waiting, r.ID)
		s.session.kill() // half a message cannot be taken back
		return infra("the fork server does not listen: %v", err)
	}
	return nil
}

// ask sends a request and waits for its answer. Where the context ends first the
// candidate is dropped.
func (s *Server) ask(ctx context.Context, r request) (*answer, error) {
	answers := make(chan *answer, 1)
	if err := s.send(r, answers); err != nil {
		return nil, err
	}
	select {
	case a := <-answers:
		if a.Type == "failed" {
			return nil, &Failure{Status: a.Status, Message: a.Message}
		}
		return a, nil
	case <-s.gone:
		return nil, s.err
	case <-ctx.Done():
		s.drop(r.ID)
		return nil, ctx.Err()
	}
}

func (s *Server) drop(id int64) {
	s.mu.Lock()
	delete(s.waiting, id)
	delete(s.early, id)
	s.mu.Unlock()
	_ = s.send(request{Type: "drop", ID: id}, nil) // a server that is gone has nothing to drop
}

func (s *Server) id() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextID++
	return s.nextID
}

// Reference is what every candidate is compared with: the data set (inputs and
// results, in the runner's own form) and what it took to make.
type Reference struct {
	Data  json.RawMessage
	Time  time.Duration // of one plain execution at the estimated size
	Lower time.Duration
	Link  time.Duration
	// Inputs are the buffers that were filled, by name: as the estimates say, but as large
	// as the pipeline needs them for the estimated output.
	Inputs map[string]Box
}

// Box is where a buffer begins and how long it is, by dimension.
type Box struct {
	Mins    []int64 `json:"mins"`
	Extents []int64 `json:"extents"`
}

// Reference makes inputs and results with the given schedule, which should be as
// plain as can be; it must succeed before anything is built.
func (s *Server) Reference(ctx context.Context, plain schedule.Schedule) (*Reference, error) {
	a, err := s.ask(ctx, request{Type: "reference", ID: s.id(), Directives: plain.Directives})
	if err != nil {
		return nil, err
	}
	var set struct {
		Sizes int           `json:"sizes"`
		Time  time.Duration `json:"reference_ns"`
		Slots []struct {
			Name   string `json:"name"`
			Buffer bool   `json:"buffer"`
			Output bool   `json:"output"`
			Box
		} `json:"slots"`
	}
	if err := json.Unmarshal(a.Data, &set); err != nil {
		return nil, infra("the data set is none: %v", err)
	}
	s.mu.Lock()
	s.sizes = set.Sizes
	s.mu.Unlock()
	ref := &Reference{a.Data, set.Time, a.Lower, a.Link, map[string]Box{}}
	for _, slot := range set.Slots {
		if slot.Buffer && !slot.Output {
			ref.Inputs[slot.Name] = slot.Box
		}
	}
	return ref, nil
}

// Sizes is at how many sizes candidates are checked: one where no other is to be had of the
// pipeline. It is known once there is a reference.
func (s *Server) Sizes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizes
}

// BuildRequest is what is built: a schedule, or the Generator's hand-written one.
type BuildRequest struct {
	Schedule schedule.Schedule
	Own      bool
	Limit    time.Duration // on compiling and checking it; 0: the server's BuildTime
	Fault    string        // the test build only
	Check    *CheckProtocol
	// OnlySpecial leaves out what a schedule with a version for one size does at any other:
	// less to compile, but it cannot be checked at another size.
	OnlySpecial bool
	// Whole compiles everything anew and as one, as an ahead-of-time build does, and not
	// only what no candidate before had.
	Whole bool
}

// Candidate is a built candidate waiting in its process.
type Candidate struct {
	server *Server
	id     int64
	Lower  time.Duration // scheduling, lowering and code generation
	Link   time.Duration
	Check  time.Duration // zero where no check was asked for
}

// Build compiles a candidate and checks it if asked to; several may be built at once. The error
// is a *Failure or the context's.
func (s *Server) Build(ctx context.Context, b BuildRequest) (*Candidate, error) {
	id := s.id()
	a, err := s.ask(ctx, request{Type: "build", ID: id, Directives: b.Schedule.Directives, Own: b.Own, OnlySpecial: b.OnlySpecial, Whole: b.Whole, BuildTime: b.Limit, Fault: b.Fault, Check: b.Check})
	if err != nil {
		return nil, err
	}
	return &Candidate{s, id, a.Lower, a.Link, a.Check}, nil
}

// Run is one run's result: the times of single executions in order.
type Run struct {
	Samples []time.Duration
	Time    time.Duration // spent timing
}

// Run times the candidate and compares what it left in the outputs, while everything else of
// this server stands still. It may be called again. The error is a *Failure or the context's.
func (c *Candidate) Run(ctx context.Context, p RunProtocol) (*Run, error) {
	a, err := c.server.ask(ctx, request{Type: "run", ID: c.id, RunProtocol: &p})
	if err != nil {
		return nil, err
	}
	return &Run{a.Samples, a.Time}, nil
}

// Drop ends the candidate's process.
func (c *Candidate) Drop() { c.server.drop(c.id) }

package bridge

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/protuner/protuner/internal/bridge/bridgetest"
	"github.com/protuner/protuner/internal/schedule"
)

// fakeVariable makes the test program a Generator that misbehaves as its value
// says; pidVariable names a file that it leaves its process's number in.
const (
	fakeVariable = "PROTUNER_TEST_FAKE"
	pidVariable  = "PROTUNER_TEST_PID"
)

func TestMain(m *testing.M) {
	switch fault := os.Getenv(fakeVariable); fault {
	case "":
		os.Exit(m.Run())
	case "protuner":
		waits()
	default:
		fake(fault)
	}
}

// waits is protuner while its Generator hangs.
func waits() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if err := os.Setenv(fakeVariable, "hang"); err != nil {
		panic(err)
	}
	g := &Generator{Binary: self, Name: "fake", Toolchain: &Toolchain{Halide: &Halide{Lib: "/nowhere"}}, plugin: "/nowhere.so"}
	_, _ = g.describe(context.Background(), nil)
}

// fake is the other side of the wire. Descriptors 3 and 4 are the session's.
func fake(fault string) {
	if len(os.Args) > 1 && os.Args[1] == "-r" {
		return // a runtime was asked for; nobody will link it
	}
	if path := os.Getenv(pidVariable); path != "" {
		if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			panic(err)
		}
	}
	in, out := os.NewFile(3, "in"), os.NewFile(4, "out")
	defer runtime.KeepAlive(in) // collected, they would be closed
	defer runtime.KeepAlive(out)
	send := func(message any) {
		if err := writeMessage(out, message); err != nil {
			os.Exit(1)
		}
	}
	raw := func(length uint32, body string) {
		if _, err := out.Write(append(binary.LittleEndian.AppendUint32(nil, length), body...)); err != nil {
			os.Exit(1)
		}
	}
	hello := answer{Type: "hello", Protocol: Protocol}
	hang := func() { time.Sleep(time.Hour) }
	// next is one request of protuner's, the fields that matter here.
	next := func() (r struct {
		Type string
		ID   int64
	}) {
		a := struct{ header [4]byte }{}
		if _, err := readFull(in, a.header[:]); err != nil {
			os.Exit(0)
		}
		body := make([]byte, binary.LittleEndian.Uint32(a.header[:]))
		if _, err := readFull(in, body); err != nil {
			os.Exit(0)
		}
		if err := json.Unmarshal(body, &r); err != nil {
			os.Exit(1)
		}
		return r
	}

	switch fault {
	case "crash":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		hang()
	case "words":
		fmt.Fprintln(os.Stderr, "Error: the estimate is missing")
		os.Exit(3)
	case "hang":
		hang()
	case "hang after hello":
		send(hello)
		hang()
	case "close and hang":
		in.Close()
		out.Close()
		hang()
	case "truncate":
		raw(64, `{"ty`)
	case "truncate length":
		_, _ = out.Write([]byte{1, 2})
	case "flood":
		for {
			if _, err := out.Write(bytes.Repeat([]byte(" "), 1<<16)); err != nil {
				hang()
			}
		}
	case "flood words":
		for {
			if _, err := os.Stderr.Write(bytes.Repeat([]byte("la "), 1<<14)); err != nil {
				hang()
			}
		}
	case "length":
		raw(0xffffffff, "")
		hang()
	case "no json":
		raw(5, "hello")
		hang()
	case "no object":
		raw(2, "[]")
		hang()
	case "protocol":
		send(answer{Type: "hello", Protocol: Protocol + 1})
		hang()
	case "other answer":
		send(hello)
		send(answer{Type: "built", ID: 1})
		hang()
	case "error":
		send(hello)
		send(answer{Type: "error", Message: "Func f: no estimate"})
	case "deaf":
		send(hello)
		send(map[string]any{"type": "description", "pipeline": map[string]int{"version": 1}})
		hang()

	case "serve late":
		// Answers come in the opposite order, each twice, and with one that nobody asked for.
		next()
		send(hello)
		first, second := next(), next()
		send(answer{Type: "built", ID: 1000})
		for _, id := range []int64{second.ID, first.ID, second.ID, first.ID} {
			time.Sleep(50 * time.Millisecond)
			send(answer{Type: "built", ID: id, Lower: time.Duration(id)})
		}
		next()
	case "serve dies":
		next()
		send(hello)
		next()
		os.Exit(1)
	case "serve nonsense":
		next()
		send(hello)
		next()
		raw(0xeeeeeeee, "")
		hang()
	case "serve deaf":
		next()
		send(hello)
		hang()
	case "serve early":
		next()
		send(hello)
		id := next().ID
		send(answer{Type: "built", ID: id})
		send(answer{Type: "failed", ID: id, Status: "out_of_memory", Message: "the kernel took it"})
		next()
	default:
		panic("unknown fault " + fault)
	}
}

func readFull(f *os.File, p []byte) (int, error) {
	n := 0
	for n < len(p) {
		k, err := f.Read(p[n:])
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// fakeGenerator is a Generator that the test program plays, and a check that its
// process is gone.
func fakeGenerator(t *testing.T, fault string) (*Generator, func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pid := filepath.Join(t.TempDir(), "pid")
	t.Setenv(fakeVariable, fault)
	t.Setenv(pidVariable, pid)
	// Nothing that is compiled here is ever run, so anything that succeeds may compile it.
	tools := &Toolchain{Halide: &Halide{Version: "0.0.0", Lib: "/nowhere"}, Cache: Cache{t.TempDir()}, Compiler: "true", Linker: "ld"}
	limits := sessionLimits{answer: time.Minute, end: 500 * time.Millisecond}
	switch fault {
	case "hang", "hang after hello", "flood words": // which nothing else ends
		limits.answer = 2 * time.Second
	}
	g := &Generator{Binary: self, Name: "fake", Toolchain: tools, plugin: "/nowhere.so", limits: limits}
	return g, func() {
		text, err := os.ReadFile(pid)
		if err != nil {
			return // it never came so far
		}
		n, err := strconv.Atoi(string(text))
		if err != nil {
			t.Fatal(err)
		}
		settled(t, "the Generator's process lives on", func() bool { return errors.Is(syscall.Kill(n, 0), syscall.ESRCH) })
	}
}

func TestMisbehavingGeneratorsAreNamed(t *testing.T) {
	for fault, want := range map[string]string{
		"crash":            "signal: killed",
		"words":            "exit status 3; it says:\nError: the estimate is missing",
		"hang":             "it did not answer in time",
		"hang after hello": "it did not answer in time",
		"close and hang":   "signal: killed",
		"truncate":         "it ended before it reached its schedule",
		"truncate length":  "it ended before it reached its schedule",
		"flood":            "nonsense on the wire: a message of 538976288 bytes is over the limit",
		"flood words":      "it did not answer in time; it says:\n",
		"length":           "nonsense on the wire: a message of 4294967295 bytes is over the limit",
		"no json":          "nonsense on the wire: a message that is no answer",
		"no object":        "nonsense on the wire: a message that is no answer",
		"protocol":         "the plugin speaks protocol 2, protuner 1; clear protuner's cache",
		"other answer":     `the plugin answered "built" where "description" was due`,
		"error":            "Func f: no estimate",
	} {
		t.Run(fault, func(t *testing.T) {
			g, gone := fakeGenerator(t, fault)
			_, err := g.describe(t.Context(), nil)
			var ge *GeneratorError
			if !errors.As(err, &ge) || !strings.HasPrefix(err.Error(), want) {
				t.Fatalf("got %v, want a GeneratorError that begins with %q", strings.SplitN(fmt.Sprint(err), "\n", 2)[0], want)
			}
			if len(ge.Words) > tailBytes {
				t.Errorf("%d bytes of words were kept", len(ge.Words))
			}
			gone()
		})
	}
}

func TestDeafGeneratorIsEnded(t *testing.T) {
	g, gone := fakeGenerator(t, "deaf")
	if _, err := g.describe(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	gone()
}

func TestCancelledSessionsEndWithTheirContext(t *testing.T) {
	g, gone := fakeGenerator(t, "hang")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := g.describe(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the context's error", err)
	}
	gone()
}

// A Generator that hangs dies with protuner, whatever ends that: nobody else would end it.
func TestGeneratorsDieWithProtuner(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	marked, pid := mark(t), filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fakeVariable+"=protuner", pidVariable+"="+pid)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	settled(t, "no Generator was begun", func() bool { return exists(pid) })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	settled(t, "the Generator lives on", func() bool { return len(bridgetest.Marked(marked)) == 0 })
}

func TestMissingProgramIsNamed(t *testing.T) {
	g, _ := fakeGenerator(t, "hang")
	g.Binary = "/nowhere/generator"
	if _, err := g.describe(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "cannot run /nowhere/generator") {
		t.Fatalf("got %v", err)
	}
}

func serveFake(t *testing.T, fault string) (*Server, func()) {
	t.Helper()
	g, gone := fakeGenerator(t, fault)
	s, err := g.Serve(t.Context(), ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s, func() {
		s.Close()
		gone()
		if exists(s.Scratch()) {
			t.Errorf("%s was left behind", s.Scratch())
		}
	}
}

func TestAnswersFindWhoAsked(t *testing.T) {
	s, end := serveFake(t, "serve late")
	defer end()
	type built struct {
		c   *Candidate
		err error
	}
	answers := make(chan built, 2)
	for range 2 {
		go func() {
			c, err := s.Build(t.Context(), BuildRequest{})
			answers <- built{c, err}
		}()
	}
	for range 2 {
		b := <-answers
		if b.err != nil {
			t.Fatal(b.err)
		}
		if int64(b.c.Lower) != b.c.id {
			t.Errorf("candidate %d got the answer of %d", b.c.id, b.c.Lower)
		}
	}
}

func TestDeadServersFailAsInfrastructure(t *testing.T) {
	for _, fault := range []string{"serve dies", "serve nonsense"} {
		t.Run(fault, func(t *testing.T) {
			s, end := serveFake(t, fault)
			defer end()
			for range 2 { // also whoever asks afterwards
				_, err := s.Build(t.Context(), BuildRequest{})
				var f *Failure
				if !errors.As(err, &f) || f.Status != "infra_failed" {
					t.Fatalf("got %v, want infra_failed", err)
				}
			}
		})
	}
}

// A server that no longer reads fills its pipe; nobody may wait for it for ever.
func TestDeafServerFailsAsInfrastructure(t *testing.T) {
	s, end := serveFake(t, "serve deaf")
	defer end()
	large := schedule.Schedule{Directives: []schedule.Directive{{Op: schedule.ComputeRoot, Func: strings.Repeat("f", 4<<20)}}}
	_, err := s.Build(t.Context(), BuildRequest{Schedule: large})
	var f *Failure
	if !errors.As(err, &f) || f.Status != "infra_failed" {
		t.Fatalf("got %v, want infra_failed", err)
	}
}

func TestDeathsWhileNobodyAsksAreTold(t *testing.T) {
	s, end := serveFake(t, "serve early")
	defer end()
	c, err := s.Build(t.Context(), BuildRequest{})
	if err != nil {
		t.Fatal(err)
	}
	settled(t, "the failure never arrived", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.early[c.id] != nil
	})
	// Whoever asks then is not kept waiting, not even who looked just before it arrived.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = s.ask(ctx, request{Type: "run", ID: c.id, RunProtocol: &quick})
	var f *Failure
	if !errors.As(err, &f) || f.Status != "out_of_memory" {
		t.Fatalf("got %v, want out_of_memory", err)
	}
}

func TestCancelledBuildsReturn(t *testing.T) {
	s, end := serveFake(t, "serve deaf")
	defer end()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Build(ctx, BuildRequest{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the context's error", err)
	}
}

// Folders of servers that were killed together with their maker go when the next server
// starts; those of the living stay. In containers each protuner may have the same number as
// the last one, which is dead, and as those beside it, which are not.
func TestLeftoversAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	first, err := NewScratch()
	if err != nil {
		t.Fatal(err)
	}
	defer RemoveScratch(first)
	folder := func(of any) string {
		dir := filepath.Join(os.TempDir(), fmt.Sprint(scratchPrefix, of, "-abc"))
		if err := os.MkdirAll(filepath.Join(dir, "below"), 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	locked := func(dir string) string {
		lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
		if err := lock.Lock(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { lock.Close() })
		return dir
	}
	const unused = 4194399 // above the largest process number
	dead, namesake := folder(unused), folder(os.Getpid())
	stay := map[string]string{
		"this process's": first, "a living process's": folder(os.Getppid()), "somebody else's": folder("of-somebody-else"),
		"one of a process that is not counted here": locked(folder(unused - 1)),
		"a living namesake's":                       locked(folder(fmt.Sprint(os.Getpid(), "-def"))),
	}
	second, err := NewScratch()
	if err != nil {
		t.Fatal(err)
	}
	defer RemoveScratch(second)
	if exists(dead) || exists(namesake) {
		t.Errorf("left: a dead process's %v, a dead namesake's %v", exists(dead), exists(namesake))
	}
	for whose, dir := range stay {
		if !exists(dir) {
			t.Errorf("removed: %s", whose)
		}
	}
}

func FuzzReadMessage(f *testing.F) {
	for _, message := range []any{
		answer{Type: "hello", Protocol: 1}, answer{Type: "ran", ID: 3, Samples: []time.Duration{1, 2}},
		map[string]any{"type": "own", "directives": []any{map[string]any{"op": "split", "ints": []int{8}}}},
	} {
		var b bytes.Buffer
		if err := writeMessage(&b, message); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
		f.Add(b.Bytes()[:b.Len()-1])
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{4, 0, 0, 0, 'n', 'u', 'l', 'l'})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		a, err := readMessage(r)
		if err != nil {
			return
		}
		used := len(data) - r.Len()
		if n := int(binary.LittleEndian.Uint32(data)); used != 4+n {
			t.Fatalf("read %d bytes of a message of %d", used, n)
		}
		// What was read can be written and reads the same.
		var b bytes.Buffer
		if err := writeMessage(&b, a); err != nil {
			t.Fatal(err)
		}
		again, err := readMessage(&b)
		if err != nil {
			t.Fatal(err)
		}
		x, errX := json.Marshal(a)
		y, errY := json.Marshal(again)
		if errX != nil || errY != nil || !bytes.Equal(x, y) {
			t.Fatalf("%s became %s", x, y)
		}
	})
}

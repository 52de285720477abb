package bridge

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/schedule"
)

var harnessGenerators = filepath.Join("..", "..", "halide", "testdata", "harness_generators.cpp")

// aheadOfTime builds a Generator's hand-written schedule, to be run on the reference's data.
func aheadOfTime(t *testing.T, version string, o Options, ref *Reference) Fresh {
	t.Helper()
	g := openApp(t, version, harnessGenerators, o)
	runner, err := g.Toolchain.Runner(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e := Emission{Dir: dir, Function: o.Name, Outputs: []string{"static_library"}}
	if err := g.Emit(t.Context(), "", nil, Limits{Time: time.Minute}, e); err != nil {
		t.Fatal(err)
	}
	library, err := g.Toolchain.Library(t.Context(), filepath.Join(dir, o.Name+".a"), dir)
	if err != nil {
		t.Fatal(err)
	}
	return Fresh{Runner: runner, Library: library, Function: o.Name, Data: ref.Data}
}

// runsBothWays has a Generator's plainest schedule run as a candidate, and its hand-written one
// ahead of time.
func runsBothWays(t *testing.T, version string, o Options) {
	t.Helper()
	s, p, ref := serveGenerator(t, version, harnessGenerators, o.Name, o, ServerOptions{})
	if err := runsOf(t.Context(), s, BuildRequest{Schedule: plain(p)}, 1); err != nil {
		t.Errorf("a candidate: %v", err)
	}
	if _, err := aheadOfTime(t, version, o, ref).Run(t.Context(), quick); err != nil {
		t.Errorf("ahead of time: %v", err)
	}
}

// What is never written fails, however far integers may be off: here all are 0, and what
// stands in their place must not be next to that.
func TestWhatIsNotWrittenFails(t *testing.T) {
	for _, kind := range []string{"int8", "bool"} {
		o := Options{Name: "unwritten", Params: []Param{{"output.type", kind}}}
		_, _, ref := serveGenerator(t, DefaultVersion, harnessGenerators, o.Name, o, ServerOptions{Inputs: []Input{{Name: "input", Fill: "constant:0"}}})
		half := aheadOfTime(t, DefaultVersion, o, ref)
		for every := range int64(3) {
			run := quick
			run.Every = every
			_, err := half.Run(t.Context(), run)
			var f *Failure
			if !errors.As(err, &f) || f.Status != "wrong_output" {
				t.Errorf("%s, with %d allowed: %v, want wrong_output", kind, every, err)
			}
		}
	}
}

// What a pipeline keeps from one execution to the next is freed as it was allocated, also
// where that was in a guarded execution and the process ends.
func TestMemoizedMemoryIsFreed(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		o := Options{Name: "memoized"}
		_, _, ref := serveGenerator(t, version, harnessGenerators, o.Name, o, ServerOptions{})
		if _, err := aheadOfTime(t, version, o, ref).Run(t.Context(), quick); err != nil {
			t.Error(err)
		}
	})
}

// Buffers begin where the pipeline promises that they do.
func TestPromisedAlignmentHolds(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		runsBothWays(t, version, Options{Name: "aligned"})
	})
}

// What a pipeline prints is not taken for an answer.
func TestPipelinesMayPrint(t *testing.T) {
	runsBothWays(t, DefaultVersion, Options{Name: "printer"})
}

// withoutReference starts a fork server and gives the schedule that its reference is to have.
func withoutReference(t *testing.T, g *Generator) (*Server, schedule.Schedule) {
	t.Helper()
	p, err := g.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := g.Serve(t.Context(), ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, plain(p)
}

// Of what a child said the server reads the end alone.
func TestChildrenMaySayMuch(t *testing.T) {
	const dies, told = "Aborted while compiling or checking: ", 500
	g := openApp(t, DefaultVersion, harnessGenerators, Options{Name: "talker", Params: []Param{{"megabytes", "256"}, {"signal", "6"}}})
	s, sched := withoutReference(t, g)
	before := peak(t, s)
	_, err := s.Reference(t.Context(), sched)
	var f *Failure
	if !errors.As(err, &f) || f.Status != "crashed" || !strings.HasPrefix(f.Message, dies) || len(f.Message) != len(dies)+told {
		t.Errorf("got %v", err)
	}
	if more := peak(t, s) - before; more > 64<<10 {
		t.Errorf("the server took %d kB for a log of 256 MB", more)
	}
}

// peak is what the server's process held in memory at most, in kB.
func peak(t *testing.T, s *Server) (kB int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(after, &kB); err != nil {
		t.Fatalf("no peak in %q: %v", text, err)
	}
	return kB
}

// A candidate's log does not fill the disk: this one is as long as a hole makes it.
func TestLogsAreLimited(t *testing.T) {
	o := Options{Params: []Param{{"megabytes", "4096"}}}
	s, p, _ := serveGenerator(t, DefaultVersion, harnessGenerators, "talker", o, ServerOptions{})
	err := runsOf(t.Context(), s, BuildRequest{Schedule: plain(p)}, 1)
	var f *Failure
	if !errors.As(err, &f) || f.Status != "crashed" || !strings.HasPrefix(f.Message, "File size limit exceeded") {
		t.Errorf("got %v", err)
	}
}

// The linker's words are told: the log that has them goes with the child.
func TestTheLinkersWordsAreTold(t *testing.T) {
	g := openApp(t, DefaultVersion, harnessGenerators, Options{Name: "aligned"})
	g.Toolchain.Linker = filepath.Join(t.TempDir(), "ld")
	if err := os.WriteFile(g.Toolchain.Linker, []byte("#!/bin/sh\necho more >&2\necho there is no room >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, sched := withoutReference(t, g)
	_, err := s.Reference(t.Context(), sched)
	var f *Failure
	if !errors.As(err, &f) || f.Status != "infra_failed" || !strings.HasSuffix(f.Message, "/ld failed: there is no room") {
		t.Errorf("got %v", err)
	}
}

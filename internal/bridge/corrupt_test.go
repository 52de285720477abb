package bridge

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
)

// testGenerators is a file of small Generators of all kinds.
var testGenerators = filepath.Join("..", "..", "halide", "testdata", "describe_generators.cpp")

// serveGenerator opens a Generator, serves it and computes its reference.
func serveGenerator(t *testing.T, version, source, name string, o Options, so ServerOptions) (*Server, *pipeline.Pipeline, *Reference) {
	t.Helper()
	o.Name = name
	return serve(t, openApp(t, version, source, o), so)
}

// raceRuns is how many runs may pass before a race has to be found. Each run looks
// at its last execution and the first one at its first too, and a quarter of them is
// spoilt, so one that is not found in 60 would be a chance of 0.75^62, 2e-8. A
// candidate that is spoilt more rarely passes screening more easily, which is why
// finalists are looked at again in each lap of their race.
const raceRuns = 60

// TestCorruptedResultsAreCaught spoils 100 candidates' results, each in another
// place, and wants every one of them found out.
func TestCorruptedResultsAreCaught(t *testing.T) {
	const each = 5 // places of each kind, for each of the Generators
	kinds := []string{"element", "border", "tile", "tail", "race"}
	generators := []struct {
		version, source, name string
	}{
		{"21.0.0", testGenerators, "multi_output"}, // uint8 and int16
		{"21.0.0", testGenerators, "boundary"},     // float
		{"19.0.0", testGenerators, "tuple_update"}, // a pair of float and int32, reduced
		{"19.0.0", appSource("harris"), "harris"},  // float, at a real size
	}
	injected := 0
	var caught atomic.Int64
	for _, g := range generators {
		t.Run(g.name+g.version, func(t *testing.T) {
			s, p, _ := serveGenerator(t, g.version, g.source, g.name, Options{Faults: true}, ServerOptions{})
			var wg sync.WaitGroup
			defer wg.Wait()
			slots := make(chan struct{}, 2)
			for _, kind := range kinds {
				for range each {
					injected++
					place := injected
					wg.Go(func() {
						slots <- struct{}{}
						defer func() { <-slots }()
						fault := fmt.Sprintf("wrong-%s:%d", kind, place)
						most := 1
						if kind == "race" {
							most = raceRuns
						}
						err := runsOf(t.Context(), s, BuildRequest{Schedule: plain(p), Fault: fault}, most)
						var f *Failure
						if !errors.As(err, &f) || f.Status != "wrong_output" {
							t.Errorf("%s: got %v, want wrong_output", fault, err)
							return
						}
						caught.Add(1)
					})
				}
			}
		})
	}
	if want := 100; injected != want && !t.Failed() && !testing.Short() {
		t.Errorf("%d were spoilt, want %d", injected, want)
	}
	t.Logf("figure: %d of %d corrupted candidates caught", caught.Load(), injected)
}

// TestEveryIntegerMayBeOff: as far as a user allows, wherever it is.
func TestEveryIntegerMayBeOff(t *testing.T) {
	s, p, _ := serveGenerator(t, DefaultVersion, testGenerators, "multi_output", Options{Faults: true}, ServerOptions{})
	for every, wrong := range map[int64]bool{0: true, 1: false} {
		allowed := Tolerance{Every: every}
		c, err := s.Build(t.Context(), BuildRequest{Schedule: plain(p), Fault: "wrong-element:1", Check: &CheckProtocol{Tolerance: allowed}})
		if err == nil {
			run := quick
			run.Tolerance = allowed
			_, err = c.Run(t.Context(), run)
			c.Drop()
		}
		var f *Failure
		if is := errors.As(err, &f) && f.Status == "wrong_output"; is != wrong || !wrong && err != nil {
			t.Errorf("with %d allowed: %v", every, err)
		}
	}
}

// runsOf builds a candidate and runs it until it fails, at most so many times.
func runsOf(ctx context.Context, s *Server, b BuildRequest, most int) error {
	b.Check = check
	c, err := s.Build(ctx, b)
	if err != nil {
		return err
	}
	defer c.Drop()
	for range most {
		if _, err := c.Run(ctx, quick); err != nil {
			return err
		}
	}
	return nil
}

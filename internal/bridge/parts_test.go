package bridge

import (
	"path/filepath"
	"testing"

	"github.com/protuner/protuner/internal/schedule"
)

// Loops that load and store other types are others, though Halide's text of them is one.
func TestPartsOfOtherTypesAreOthers(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		s, _, _ := serveGenerator(t, version, filepath.Join("..", "..", "halide", "testdata", "parts_generator.cpp"), "twins", Options{}, ServerOptions{})
		sched, err := schedule.Parse("one.compute_root()\none.parallel(y)\nother.compute_root()\nother.parallel(y)\n")
		if err != nil {
			t.Fatal(err)
		}
		if err := runsOf(t.Context(), s, BuildRequest{Schedule: sched}, 1); err != nil {
			t.Error(err)
		}
	})
}

// Bodies of loops are compiled once: those that are equal but for names, in one schedule
// or in two, share an object, and those that differ in the last digits of a constant do
// not.
func TestPartsAreCompiledOnce(t *testing.T) {
	const (
		roots = "one.compute_root()\none.parallel(y)\nonce.compute_root()\nonce.parallel(y)\nother.compute_root()\nother.parallel(y)\n"
		rows  = roots + "output.parallel(y)\n"
		tiles = roots + "output.split(y, yo, yi, 4)\noutput.parallel(yo)\n"
		inner = tiles + "output.unroll(yi)\n"
	)
	everyVersion(t, func(t *testing.T, version string) {
		s, _, _ := serveGenerator(t, version, filepath.Join("..", "..", "halide", "testdata", "parts_generator.cpp"), "parts", Options{}, ServerOptions{})
		count := func(kind string) int {
			found, err := filepath.Glob(filepath.Join(s.Scratch(), "parts*", kind+"*"))
			if err != nil {
				t.Fatal(err)
			}
			return len(found)
		}
		rests := count("rest_")
		for _, step := range []struct {
			name, text   string
			whole        bool
			parts, rests int // that there are afterwards, of the rests those of schedules
		}{
			{"rows", rows, false, 3, 1}, // one and once are one
			{"rows again", rows, false, 3, 1},
			{"tiles", tiles, false, 4, 2},
			{"tiles inside", inner, false, 5, 2}, // as many of them
			{"rows as one", rows, true, 5, 2},
		} {
			sched, err := schedule.Parse(step.text)
			if err != nil {
				t.Fatal(err)
			}
			if err := runsOf(t.Context(), s, BuildRequest{Schedule: sched, Whole: step.whole}, 1); err != nil {
				t.Errorf("%s: %v", step.name, err)
			}
			if p, r := count("part_"), count("rest_")-rests; p != step.parts || r != step.rests {
				t.Errorf("%s: %d parts and %d rests, want %d and %d", step.name, p, r, step.parts, step.rests)
			}
		}
	})
}

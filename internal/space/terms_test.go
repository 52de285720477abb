package space

import (
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// Short reductions can be unrolled, one after the other, long ones, of which no two points have
// as many iterations, and scans over an image cannot.
func TestTerms(t *testing.T) {
	for name, want := range map[string]map[string][]int64{
		"conv_layer.h21": {"sum": {3, 9}},
		"dct.h21":        {"across": {8}, "both": {8}},
		"hist.h21":       {},
		"ragged.h21":     {"sums": {8}},
		"scan.h21":       {},
	} {
		p := pipelinetest.Described(t, name)
		sp := newSpace(t, p, Defaults(2))
		for f, fn := range p.Funcs {
			if got := sp.Terms(f); sp.Scheduled(f) && !slices.Equal(got, want[fn.Name]) {
				t.Errorf("%s of %s: %v, not %v", fn.Name, name, got, want[fn.Name])
			}
		}
	}
}

// They are unrolled around the points that are, inside everything else, as many as the state
// says and as code has room for.
func TestUnrolledTerms(t *testing.T) {
	o := Defaults(2)
	o.Sized = true
	sp := newSpace(t, pipelinetest.Described(t, "conv_layer.h21"), o)
	const text = "relu compute root vector c\nsum compute root vector c\n"
	for said, want := range map[string][]string{
		"":                               {"reorder(ci, r$x, r$y, r$z, c, x, "},
		"sum terms 3\n":                  {"reorder(ci, r$y, r$x, r$z, c, x, ", "unroll(r$y)\n"},
		"sum terms 9\n":                  {"reorder(ci, r$y, r$z, r$x, c, x, ", "unroll(r$y)\n", "unroll(r$z)\n"},
		"sum block x 4\nsum terms 9\n":   {"reorder(ci, xi, r$y, r$z, r$x, c, x, ", "unroll(xi)\n", "unroll(r$y)\n", "unroll(r$z)\n"},
		"sum block x 50\nsum terms 9\n":  {"reorder(ci, xi, r$y, r$x, r$z, c, x, ", "unroll(xi)\n", "unroll(r$y)\n"},
		"sum terms 9\nsum interchange\n": {"reorder(ci, c, x, yi, n, r$x, r$y, r$z"},
	} {
		s := stateOf(t, sp, text+said+"relu sized\n")
		if again := stateOf(t, sp, sp.FormatTrace(s.Trace())); again.Key() != s.Key() {
			t.Errorf("read back it is\n%s", sp.FormatTrace(again.Trace()))
		}
		if err := s.Schedule().Check(sp.Pipeline().Binding()); err != nil {
			t.Error(err)
		}
		got := directivesOf(s, "sum.update(0)")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%q: no %s in\n%s", said, w, got)
			}
		}
		if n := strings.Count(got, "unroll("); n != len(want)-1 {
			t.Errorf("%q: %d loops are unrolled in\n%s", said, n, got)
		}
	}
}

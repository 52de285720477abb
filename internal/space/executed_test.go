package space

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// stateOf is the state nearest to a trace.
func stateOf(t *testing.T, sp *Space, text string) *State {
	t.Helper()
	trace, err := sp.ParseTrace(text)
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := sp.Replay(trace, Nearest)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stands wants a state whose trace reads back as the same state, and whose schedule is valid.
func stands(t *testing.T, s *State) {
	t.Helper()
	sp := s.Space()
	trace := sp.FormatTrace(s.Trace())
	if again := stateOf(t, sp, trace); again.Key() != s.Key() {
		t.Errorf("%sreads back as\n%s", trace, sp.FormatTrace(again.Trace()))
	}
	if err := s.Schedule().Check(sp.Pipeline().Binding()); err != nil {
		t.Error(err)
	}
}

// directivesOf are the directives of one stage, without its name, a line each.
func directivesOf(s *State, stage string) string {
	var out strings.Builder
	for line := range strings.Lines(s.Schedule().String()) {
		if rest, ok := strings.CutPrefix(line, stage+"."); ok {
			out.WriteString(rest)
		}
	}
	return out.String()
}

// A plane of a mosaic is a quarter of its size, and of three channels one reads it: inlined
// into what slides, it is computed once though loops and calls say 36 times.
func TestExecuted(t *testing.T) {
	p := pipelinetest.Described(t, "camera_pipe.h21")
	text := `output compute root vector x
output tasks [2592,64,3]
detail inline
smooth_xy inline
smooth_y inline
curved compute output [2624,2,3] store output [2624,62,3] vector x
corrected inline
demosaiced compute output [2624,2,3] store output [2624,62,3] vector x
red inline
red_at_r inline
`
	for _, executed := range []bool{true, false} {
		o := Defaults(2)
		o.Executed = executed
		sp := newSpace(t, p, o)
		s := stateOf(t, sp, text)
		got := sp.FormatTrace(s.Trace())
		if !strings.Contains(got, "demosaiced compute output [") || strings.Contains(got, "red_at_r inline") != executed {
			t.Errorf("executed %v: %s", executed, got)
		}
	}
	sp := newSpace(t, p, Defaults(2))
	s := stateOf(t, sp, text)
	w := sp.workOf(s.root)
	for f := range sp.nodes {
		if sp.nodes[f].Name != "red_at_r" {
			continue
		}
		// Strips of 64 rows begin with some more.
		if often := w.called[f] / sp.nodes[f].minimum[0]; !(often >= 1 && often < 1.2) {
			t.Errorf("it is computed %g times", often)
		}
	}
}

// What slides is computed once but for where a strip begins.
func TestSlidIsCountedOnce(t *testing.T) {
	o := Defaults(2)
	o.Recompute = 14 // twelve calls and what strips overlap by
	sp := newSpace(t, pipelinetest.Described(t, "harris.h21"), o)
	text := "output tasks [1536,32]\nxx_sum inline\nxy_sum inline\nyy_sum inline\nxx_product inline\nxy_product inline\nyy_product inline\n"
	for _, f := range []string{"grad_x", "grad_y"} {
		text += f + " compute output [1536,1] store output [1536,40] vector x\n"
	}
	s := stateOf(t, sp, text+"luma inline\n")
	if got := sp.FormatTrace(s.Trace()); strings.Count(got, " compute output [1536,1] store output [1536,40]") != 2 || !strings.Contains(got, "luma inline") {
		t.Fatal(got)
	}
	w := sp.workOf(s.root)
	var points, calls float64
	for f := range sp.nodes {
		switch sp.nodes[f].Name {
		case "grad_x", "grad_y":
			points += w.computed[sp.nodes[f].first]
		case "luma":
			calls = w.called[f]
		}
	}
	if math.Abs(calls/(6*points)-1) > 0.005 {
		t.Errorf("%g calls of luma for %g points that have six each", calls, points)
	}
}

// What all channels of a point call is computed once for them; what a share of the channels
// calls, or each at another point, is not called less often for that.
func TestCallsTogether(t *testing.T) {
	for _, c := range []struct {
		golden, name    string
		calls, together float64
	}{
		{"formulas.h21", "slope_x", 5, 1},
		{"formulas.h21", "product", 2002.0 / 1001, 2002.0 / 1001},
		{"shares.h21", "third", 100, 100},
		{"shares.h21", "half", 150, 100},
		{"unsharp.h21", "gain", 3, 1},
	} {
		sp := newSpace(t, pipelinetest.Described(t, c.golden), Defaults(2))
		f := slices.IndexFunc(sp.p.Funcs, func(f pipeline.Func) bool { return f.Name == c.name })
		if calls, together := sp.CallsPerPoint(f), sp.CallsTogether(f); math.Abs(calls-c.calls) > 0.01 || math.Abs(together-c.together) > 0.01 {
			t.Errorf("%s of %s is called %g times and %g times together", c.name, c.golden, calls, together)
		}
	}
}

package space

import (
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// A reduction goes around a row of points, next to a block of rows, where the state has it so;
// that one is told of rows which begin where the reduction looks up.
func TestInterchange(t *testing.T) {
	const text = `output compute root vector x
output tasks [64,8]
shifted compute output [64,4] vector x
scattered compute output [64,4] vector x
`
	for _, name := range []string{"lookups.h19", "lookups.h21"} {
		sp := newSpace(t, pipelinetest.Described(t, name), Defaults(2))
		for f := range sp.nodes {
			n := &sp.nodes[f]
			reduces := slices.Contains([]string{"counts", "shifted", "scattered"}, n.Name)
			if !n.given && (sp.Interchanges(f) != reduces || sp.Shifts(f) != (n.Name == "shifted")) {
				t.Errorf("%s of %s: interchanges %v, shifts %v", n.Name, name, sp.Interchanges(f), sp.Shifts(f))
			}
		}
		for said, want := range map[string]string{
			"":                      "reorder(xi, k$x, x, y)",
			"shifted interchange\n": "reorder(xi, x, y, k$x)",
			"shifted block y 2\n":   "reorder(xi, yi, k$x, x, y)",
			"shifted block y 2\nshifted interchange\n": "reorder(xi, yi, x, y, k$x)",
		} {
			s := stateOf(t, sp, text+said)
			stands(t, s)
			if got := directivesOf(s, "shifted.update(0)"); !strings.Contains(got, want) {
				t.Errorf("%q: no %s in\n%s", said, want, got)
			}
		}
	}
}

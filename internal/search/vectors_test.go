package search

import (
	"strings"
	"testing"
)

// Prototypes unroll as many vectors of what is packed as it takes to begin anew, so that they
// are one; nothing else has such blocks.
func TestWholePeriods(t *testing.T) {
	sp := newSpace(t, "packed.h21", 2)
	for _, c := range Prototypes(sp) {
		trace := sp.FormatTrace(c.State.Trace())
		inlined := strings.Contains(trace, "value inline\n")
		if !strings.Contains(trace, "means block x 3\n") || strings.Contains(trace, "values block x 3\n") != inlined {
			t.Errorf("%s:\n%s", c.Origin, trace)
		}
		if !inlined && !strings.Contains(trace, "value block x 3\n") {
			t.Errorf("%s: value is no whole periods in\n%s", c.Origin, trace)
		}
	}
	for _, c := range Prototypes(newSpace(t, "harris.h21", 2)) {
		if trace := c.State.Space().FormatTrace(c.State.Trace()); strings.Contains(trace, "block x") {
			t.Errorf("%s:\n%s", c.Origin, trace)
		}
	}
}

package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// A tile of registers has as many points as have room for all the sums that they are made of:
// one vector where eight filters answer at each, whose taps are unrolled around them, and two
// vectors, not of four rows each, of sums of four values.
func TestTilesOfSeveralSums(t *testing.T) {
	for _, version := range []string{"h19", "h21"} {
		sp := sizedSpace(t, "responses."+version, true)
		for origin, unrolled := range map[string][]string{
			"prototype:registers-0":       {"k"},
			"prototype:registers-0-terms": {"k", "r$x", "r$y"},
		} {
			s := prototype(t, sp, origin)
			if trace := sp.FormatTrace(s.Trace()); !strings.Contains(trace, "response compute best [8,1] vector x\n") {
				t.Errorf("%s: another tile in\n%s", origin, trace)
			}
			var got []string
			for line := range strings.Lines(s.Schedule().String()) {
				if rest, ok := strings.CutPrefix(line, "response.update(0).unroll("); ok {
					got = append(got, strings.TrimRight(rest, ")\n"))
				}
			}
			if !slices.Equal(got, unrolled) {
				t.Errorf("%s: %v unrolled, not %v, in\n%s", origin, got, unrolled, s.Schedule())
			}
		}
	}
	p := pipelinetest.Described(t, "conv_layer.h21")
	o := space.Defaults(2)
	o.Sized = true
	for values, want := range map[int]string{1: "sum compute relu [16,4,1,1]", 4: "sum compute relu [16,1,1,1]"} {
		f := funcs(t, spacetest.New(t, p, o), "sum")[0]
		p.Funcs[f].Types = slices.Repeat(p.Funcs[f].Types[:1], values)
		sp := spacetest.New(t, p, o)
		if trace := sp.FormatTrace(prototype(t, sp, "prototype:registers-0").Trace()); !strings.Contains(trace, want) {
			t.Errorf("%d values: no %s in\n%s", values, want, trace)
		}
	}
}

// What adds up a window's few terms in registers is tried among the first, and what has long
// reductions alone later.
func TestWindowsOfTermsComeFirst(t *testing.T) {
	for name, early := range map[string]bool{"responses.h21": true, "dots.h21": false} {
		at := slices.IndexFunc(Prototypes(sizedSpace(t, name, true)), func(c Candidate) bool { return strings.HasPrefix(c.Origin, "prototype:registers") })
		if at < 0 || at < 3 != early {
			t.Errorf("%s: the first in registers comes after %d", name, at)
		}
	}
}

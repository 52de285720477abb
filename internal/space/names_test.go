package space

import (
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
)

// called is a toy whose Funcs have a first dimension of that name.
func called(name string) *pipeline.Pipeline {
	p := toy(96, 8, 0)
	for f := range p.Funcs {
		p.Funcs[f].Args = []string{name, "y"}
		p.Funcs[f].Stages[0].Loops[0].Var = name
	}
	return p
}

// No loop is called what Halide has a name of its own for.
func TestNamesOfLoops(t *testing.T) {
	sp := newSpace(t, called("s"), Defaults(2))
	got := stateOf(t, sp, "a compute root vector s\na tasks [48,8]\nb compute a [48,1] vector s\n").Schedule().String()
	want := "a.rename(s, si)\na.split(si, si, sii, 48, shift_inwards)\n"
	if !strings.Contains(got, want) || !strings.Contains(got, "b.rename(s, si)\n") || !strings.Contains(got, "b.compute_at(a, ") {
		t.Errorf("no %sin\n%s", want, got)
	}
}

// A dimension may be called what stands for no vector.
func TestADimensionCalledNone(t *testing.T) {
	sp := newSpace(t, called("none"), Defaults(2))
	for _, text := range []string{"a compute root vector \"none\"\n", "a compute root vector none\n"} {
		trace, err := sp.ParseTrace(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := sp.FormatTrace(trace); got != text {
			t.Errorf("%s is read as %s", text, got)
		}
	}
}

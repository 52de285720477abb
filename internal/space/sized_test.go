package space_test

import (
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
)

// A version for the estimated sizes is made of pipelines with one output, pure and of one
// value, and of no others.
func TestSpecialized(t *testing.T) {
	output := pipeline.Func{
		Name: "out", Output: true, Types: []string{"uint8"}, Args: []string{"x", "y"}, Stages: make([]pipeline.Stage, 1),
		Estimate: []pipeline.Span{{Min: 0, Max: 9}, {Min: -2, Max: 7}},
	}
	other := output
	other.Name = "other"
	updated := output
	updated.Stages = make([]pipeline.Stage, 2)
	tuple := output
	tuple.Types = []string{"uint8", "uint8"}
	scalar := output
	scalar.Args, scalar.Estimate = nil, nil
	inner := pipeline.Func{Name: "inner", Stages: make([]pipeline.Stage, 3)}
	plain, err := schedule.Parse("inner.compute_root()\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, funcs := range map[string][]pipeline.Func{
		"two outputs": {output, inner, other}, "updated": {updated, inner}, "tuple": {tuple, inner}, "no dimensions": {scalar, inner},
	} {
		if s, ok := space.Specialized(&pipeline.Pipeline{Funcs: funcs}, plain); ok || s.Specializes() {
			t.Errorf("%s: specialized\n%s", name, s)
		}
	}
	s, ok := space.Specialized(&pipeline.Pipeline{Funcs: []pipeline.Func{output, inner}, Params: []pipeline.Param{
		{Name: "in", Buffer: true, Mins: []int64{-1, 0}, Extents: []int64{12, 10}}, {Name: "gain", Value: "3"},
	}}, plain)
	if want := "inner.compute_at(out, __outermost)\nout.specialize(x, 0, 10, y, -2, 10, in[-1, 12, 0, 10])\n"; !ok || s.String() != want {
		t.Errorf("specialized %v\n%s", ok, s)
	}

	// Where something slides only a remainder is said of the long dimensions after the first.
	slides, err := schedule.Parse("inner.store_root()\ninner.compute_at(out, y)\n")
	if err != nil {
		t.Fatal(err)
	}
	output.Estimate = []pipeline.Span{{Min: 0, Max: 99}, {Min: -2, Max: 97}, {Min: 0, Max: 2}}
	output.Args = []string{"x", "y", "c"}
	long := &pipeline.Pipeline{Funcs: []pipeline.Func{output, inner}}
	for from, want := range map[*schedule.Schedule]string{
		&plain: "out.specialize(x, 0, 100, y, -2, 100, c, 0, 3)\n", &slides: "out.specialize(x, 0, 100, y, 62%64, 100, c, 0, 3)\n",
	} {
		if s, ok := space.Specialized(long, *from); !ok || !strings.HasSuffix(s.String(), want) || s.General().Hash() != from.Hash() {
			t.Errorf("specialized %v\n%s", ok, s)
		}
	}
}

// A state is sized where the space lets it, keeps that in its trace and in its schedule,
// and is another one than without; where the space does not, the trace leads to the same
// state without.
func TestReplaySized(t *testing.T) {
	p := pipelinetest.Described(t, "harris.h21")
	o := space.Defaults(2)
	without, err := space.New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Sized = true
	with, err := space.New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	replay := func(sp *space.Space, text string) *space.State {
		t.Helper()
		trace, err := sp.ParseTrace(text)
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := sp.Replay(trace, space.Nearest)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	plain, sized, refused := replay(with, ""), replay(with, "output sized\n"), replay(without, "output sized\n")
	if !sized.Sized() || !sized.Schedule().Specializes() || sized.Key() == plain.Key() {
		t.Errorf("it is sized: %v, its schedule %s", sized.Sized(), sized.Schedule())
	}
	if text := with.FormatTrace(sized.Trace()); replay(with, text).Key() != sized.Key() || !strings.HasSuffix(text, "\noutput sized\n") {
		t.Errorf("its trace is\n%s", text)
	}
	if plain.Sized() || refused.Sized() || refused.Key() != plain.Key() || refused.Schedule().Hash() != plain.Schedule().Hash() {
		t.Errorf("without it is sized: %v, %v", plain.Sized(), refused.Sized())
	}
}

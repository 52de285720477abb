package space_test

import (
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// A version for the estimated sizes is made of each output of one value. What is at root
// for one stage of an output alone moves into it; what several need stays where it is, and
// so does what that needs.
func TestSpecialized(t *testing.T) {
	reads := func(producers ...int) pipeline.Stage {
		var s pipeline.Stage
		for _, f := range producers {
			s.Edges = append(s.Edges, pipeline.Edge{Producer: f, Calls: 1})
		}
		return s
	}
	output := func(name string, stages ...pipeline.Stage) pipeline.Func {
		return pipeline.Func{
			Name: name, Output: true, Types: []string{"uint8"}, Args: []string{"x", "y"}, Stages: stages,
			Estimate: []pipeline.Span{{Min: 0, Max: 9}, {Min: -2, Max: 7}},
		}
	}
	inner := func(name string, producers ...int) pipeline.Func {
		return pipeline.Func{Name: name, Types: []string{"uint8"}, Stages: []pipeline.Stage{reads(producers...)}}
	}
	tuple, scalar := output("tuple", reads(1)), output("scalar", reads(1))
	tuple.Types = []string{"uint8", "uint8"}
	scalar.Args, scalar.Estimate = nil, nil
	const box = "specialize(x, 0, 10, y, -2, 10)\n"
	for _, test := range []struct {
		name, plain, want string // no want where there is no version
		funcs             []pipeline.Func
	}{
		{"tuple", "a.compute_root()\n", "", []pipeline.Func{tuple, inner("a")}},
		{"no dimensions", "a.compute_root()\n", "", []pipeline.Func{scalar, inner("a")}},
		{
			"one output", "a.compute_root()\nb.compute_root()\n", "a.compute_at(out, __outermost)\nb.compute_at(out, __outermost)\nout." + box,
			[]pipeline.Func{output("out", reads(1, 2)), inner("a", 2), inner("b")},
		},
		{
			"made by directives", "made.compute_root()\n", "made.compute_at(out, __outermost)\nout." + box,
			[]pipeline.Func{output("out", reads(1)), inner("a")},
		},
		{
			"updated", "a.compute_root()\nb.compute_root()\nc.compute_root()\n",
			"a.compute_at(out, __outermost)\nb.compute_root()\nc.compute_root()\nout." + box + "out.update(0)." + box,
			[]pipeline.Func{output("out", reads(2), reads(1, 2)), inner("a"), inner("b", 3), inner("c")},
		},
		{
			"two outputs", "a.compute_root()\nb.store_root()\nb.compute_at(other, x)\nc.compute_root()\nd.compute_root()\n",
			"a.compute_at(out, __outermost)\nb.store_at(other, __outermost)\nb.compute_at(other, x)\nc.compute_root()\nd.compute_root()\nout." + box + "other." + box,
			[]pipeline.Func{output("out", reads(2, 4)), output("other", reads(3, 4)), inner("a"), inner("b"), inner("c", 5), inner("d")},
		},
		{"of two outputs, made by directives", "made.compute_root()\n", "", []pipeline.Func{output("out", reads(2)), output("other", reads(2)), inner("a")}},
		{
			"beside a tuple", "a.compute_root()\nb.compute_root()\n", "a.compute_root()\nb.compute_at(out, __outermost)\nout." + box,
			[]pipeline.Func{tuple, inner("a"), output("out", reads(3)), inner("b")},
		},
	} {
		plain, err := schedule.Parse(test.plain)
		if err != nil {
			t.Fatal(err)
		}
		s, ok := space.Specialized(&pipeline.Pipeline{Funcs: test.funcs}, plain)
		if ok != (test.want != "") || s.General().Hash() != plain.Hash() || ok && s.String() != test.want {
			t.Errorf("%s: specialized %v\n%s", test.name, ok, s)
		}
	}

	plain, err := schedule.Parse("inner.compute_root()\n")
	if err != nil {
		t.Fatal(err)
	}
	out := output("out", reads(1))
	s, ok := space.Specialized(&pipeline.Pipeline{Funcs: []pipeline.Func{out, inner("inner")}, Params: []pipeline.Param{
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
	out.Estimate = []pipeline.Span{{Min: 0, Max: 99}, {Min: -2, Max: 97}, {Min: 0, Max: 2}}
	out.Args = []string{"x", "y", "c"}
	long := &pipeline.Pipeline{Funcs: []pipeline.Func{out, inner("inner")}}
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
	without := spacetest.New(t, p, o)
	o.Sized = true
	with := spacetest.New(t, p, o)
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

// Where a tile has all of a short dimension, only a version for the estimated sizes knows how
// many sums it is of: they are in registers there.
func TestSizedTilesInRegisters(t *testing.T) {
	o := space.Defaults(2)
	o.Sized = true
	sp := spacetest.New(t, pipelinetest.Described(t, "conv_layer.h21"), o)
	for _, version := range []string{"", "relu sized\n"} {
		trace, err := sp.ParseTrace("relu compute root vector c\nrelu tasks [128,10,80,5]\nsum compute relu [8,1,1,5] vector c\n" + version)
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := sp.Replay(trace, space.Nearest)
		if err != nil {
			t.Fatal(err)
		}
		text := s.Schedule().String()
		if got := strings.Contains(text, "sum.update(0).split(n, n, ni, 5, guard_with_if)\n") && strings.Contains(text, "sum.update(0).unroll(ni)\n"); got != (version != "") {
			t.Errorf("%q: unrolled is %t:\n%s", version, got, text)
		}
	}
}

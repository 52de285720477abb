package space

import (
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// Blocks of 8x8 are transformed with vectors of eight, however many lanes are natural.
// Little else has short vectors, and nothing in Adams et al.'s space.
func TestShortVectors(t *testing.T) {
	for _, name := range pipelinetest.Names(t) {
		as := func(o Options) *Space {
			sp, err := New(pipelinetest.Described(t, name), o)
			if err != nil {
				t.Fatal(err)
			}
			return sp
		}
		sp, adams := as(Defaults(2)), as(Adams(2))
		var short []string
		for f := range sp.nodes {
			n := &sp.nodes[f]
			if adams.nodes[f].short != 0 {
				t.Errorf("%s: %s has vectors of %d lanes by Adams et al.", name, n.Name, adams.nodes[f].short)
			}
			if n.short == 0 {
				continue
			}
			short = append(short, n.Name)
			if n.vectorDims[0] != 0 || sp.Lanes(f, 0, 0) != n.short || sp.Lanes(f, 0, 1) != int64(n.Stages[0].VectorSize) {
				t.Errorf("%s: %s has vectors of %d and %d lanes, along %v first", name, n.Name, sp.Lanes(f, 0, 0), sp.Lanes(f, 0, 1), n.vectorDims)
			}
		}
		want := map[string]string{"dct": "factor across", "camera_pipe": "matrix"}[strings.Split(name, ".")[0]]
		if got := strings.Join(short, " "); got != want {
			t.Errorf("%s: short vectors of %q, not %q", name, got, want)
		}
	}
}

// The grid of bilateral_grid has twelve levels of intensity: along those there are vectors
// of 16 lanes, but not of 32, and none in Adams et al.'s space. A slice of it reads the
// image, of which there is no more, so its two levels never fill a vector.
func TestNearlyFullVectors(t *testing.T) {
	for _, c := range []struct {
		lanes       int
		tune, adams []int
	}{
		{8, []int{0, 1, 2}, []int{0, 1, 2}},
		{16, []int{0, 1, 2}, []int{0, 1}},
		{32, []int{0, 1}, []int{0, 1}},
	} {
		p := pipelinetest.Described(t, "bilateral_grid.h21")
		for f := range p.Funcs {
			p.Funcs[f].VectorSize = c.lanes
		}
		for want, o := range map[*[]int]Options{&c.tune: Defaults(2), &c.adams: Adams(2)} {
			sp, err := New(p, o)
			if err != nil {
				t.Fatal(err)
			}
			for f := range sp.nodes {
				switch n := &sp.nodes[f]; n.Name {
				case "blur_y":
					if !slices.Equal(n.vectorDims, *want) {
						t.Errorf("%d lanes: vectors along %v of blur_y, want %v", c.lanes, n.vectorDims, *want)
					}
				case "slice":
					if !slices.Equal(n.vectorDims, []int{0, 1}) {
						t.Errorf("%d lanes: vectors along %v of slice", c.lanes, n.vectorDims)
					}
				}
			}
		}
	}
}

// Of an output whose channels lie side by side, which are too few for a vector, there are
// vectors along rows first; in Adams et al.'s space only along what is dense in memory.
func TestVectorsOfInterleavedOutputs(t *testing.T) {
	p := pipelinetest.Described(t, "interleaved.h21")
	for _, c := range []struct {
		o     Options
		first int
	}{{Defaults(2), 0}, {Adams(2), 2}} {
		sp := newSpace(t, p, c.o)
		if got := sp.VectorDims(0); got[0] != c.first || !slices.Contains(got, 2) {
			t.Errorf("%s has vectors along %v, not %d first", p.Funcs[0].Name, got, c.first)
		}
	}
	// Planes are dense in memory along their rows, which are long enough.
	sp := newSpace(t, pipelinetest.Described(t, "camera_pipe.h21"), Defaults(2))
	if got := sp.VectorDims(0); !slices.Equal(got, []int{0}) {
		t.Errorf("the output of camera_pipe has vectors along %v", got)
	}
}

// Rows of four floats are short vectors by the estimates where those are what lies along
// something that is read, and the only thing, or most of all while every other dimension
// would gather it; of an output, too.
func TestShortByEstimates(t *testing.T) {
	one, none, anyhow := pipeline.Rational{Num: 1, Den: 1}, pipeline.Rational{Num: 0, Den: 1}, pipeline.Rational{}
	read := func(times int64, coeffs ...[]pipeline.Rational) pipeline.Jacobian {
		return pipeline.Jacobian{Count: times, Coeffs: coeffs}
	}
	type rows = []pipeline.Rational
	along, across := read(1, rows{one, none}, rows{none, one}), read(1, rows{none, one}, rows{one, none})
	turned := func(times int64) pipeline.Jacobian { return read(times, rows{one, none}, rows{none, anyhow}) }
	for _, c := range []struct {
		name  string
		width int64
		sized bool
		reads []pipeline.Jacobian
		want  int64
	}{
		{"rows", 4, true, []pipeline.Jacobian{along}, 4},
		{"not in lowest terms", 4, true, []pipeline.Jacobian{read(1, rows{{Num: 3, Den: 3}, none}, rows{none, one})}, 4},
		{"rows of six", 6, true, []pipeline.Jacobian{along}, 0},
		{"long rows", 16, true, []pipeline.Jacobian{along}, 0},
		{"columns", 4, true, []pipeline.Jacobian{across}, 0},
		{"no version for the estimates", 4, false, []pipeline.Jacobian{along}, 0},
		{"rows at computed places", 4, true, []pipeline.Jacobian{turned(2), across}, 4},
		{"fewer of them", 4, true, []pipeline.Jacobian{turned(1), across}, 0},
		{"rows and columns", 4, true, []pipeline.Jacobian{along, along, across}, 0},
	} {
		p := toy(c.width, 64, 0)
		for f := range p.Funcs {
			p.Funcs[f].VectorSize, p.Funcs[f].Stages[0].VectorSize = 8, 8
			p.Funcs[f].Stages[0].Features[slices.Index(pipeline.FeatureTypes[:], "float")] = 1
		}
		p.Funcs[0].Stages[0].Edges[0].Jacobians = c.reads
		o := Defaults(2)
		o.Sized = c.sized
		sp := newSpace(t, p, o)
		if got := sp.nodes[0].short; got != c.want {
			t.Errorf("%s: vectors of %d lanes, not %d", c.name, got, c.want)
		}
		if dims := sp.VectorDims(0); c.want > 0 && !slices.Equal(dims, []int{0, 1}) {
			t.Errorf("%s: vectors along %v", c.name, dims)
		}
	}
}

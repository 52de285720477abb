package pipeline_test

import (
	"slices"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// points gives all loops of p so many iterations.
func points(p *pipeline.Pipeline, n int64) func(fn, stage int) []int64 {
	return func(fn, stage int) []int64 { return slices.Repeat([]int64{n}, len(p.Funcs[fn].Stages[stage].Loops)) }
}

// Vectors are as long as integers fill where bytes are only looked up, or most of what is
// loaded, and as long as bytes do where a row of them is read too or they are computed with.
func TestLookupsDoNotCount(t *testing.T) {
	for _, name := range []string{"lookups.h19", "lookups.h21"} {
		p := pipelinetest.Described(t, name)
		without := p.WithOwnLanes(points(p, 64))
		find := func(p *pipeline.Pipeline, f string) *pipeline.Func {
			i := slices.IndexFunc(p.Funcs, func(fn pipeline.Func) bool { return fn.Name == f })
			return &p.Funcs[i]
		}
		natural := find(p, "raw").VectorSize
		for f, want := range map[string]int{"read": 32, "rows": 8, "sums": 8} {
			if narrowest, _ := find(without, f).Stages[0].Widths(); narrowest != want {
				t.Errorf("%s: the narrowest numbers of %s have %d bits, want %d", name, f, narrowest, want)
			}
		}
		for f, times := range map[string]int{"raw": 1, "read": 1, "rows": 4, "sums": 4, "typed": 4, "bytes": 4, "mixed": 1} {
			fn := find(without, f)
			if fn.VectorSize != times*natural || fn.Stages[0].VectorSize != times*natural {
				t.Errorf("%s: vectors of %s have %d lanes and its stage's %d, want %d", name, f, fn.VectorSize, fn.Stages[0].VectorSize, times*natural)
			}
		}
		if before := find(p, "read"); before.VectorSize != 4*natural || before.Stages[0].VectorSize != 4*natural {
			t.Errorf("%s: the description itself changed: %d lanes", name, before.VectorSize)
		}
	}
}

// What is looked up side by side along a loop is none of a vector's where the loop is too short
// for one.
func TestLookupsOfFewChannels(t *testing.T) {
	for _, name := range []string{"lookups.h19", "lookups.h21"} {
		p := pipelinetest.Described(t, name)
		f := slices.IndexFunc(p.Funcs, func(fn pipeline.Func) bool { return fn.Name == "read" })
		natural := p.VectorBits() / 32
		for _, e := range p.Funcs[f].Stages[0].Edges {
			for k := range e.Jacobians {
				if j := &e.Jacobians[k]; j.LookedUp == j.Count && p.Funcs[e.Producer].Name == "letters_im" {
					j.Coeffs[0][0] = pipeline.Rational{Num: 1, Den: 1}
				}
			}
		}
		for n, want := range map[int64]int{int64(natural): 4 * natural, int64(natural) - 1: natural} {
			if got := p.WithOwnLanes(points(p, n)).Funcs[f].VectorSize; got != want {
				t.Errorf("%s: with loops of %d iterations vectors have %d lanes, want %d", name, n, got, want)
			}
		}
	}
}

// What is chosen beside a wider value, the number of the strongest filter, gives no vector its
// length; the same bytes added up do.
func TestChosenDoesNotCount(t *testing.T) {
	for _, name := range []string{"responses.h19", "responses.h21"} {
		p := pipelinetest.Described(t, name)
		f := slices.IndexFunc(p.Funcs, func(fn pipeline.Func) bool { return fn.Name == "best" })
		natural := p.VectorBits() / 32
		if got := p.WithOwnLanes(points(p, 64)).Funcs[f].VectorSize; got != natural {
			t.Errorf("%s: vectors have %d lanes, want %d", name, got, natural)
		}
		add := slices.Index(pipeline.FeatureRows[:], "op_add")
		p.Funcs[f].Stages[0].Features[add*len(pipeline.FeatureTypes)+slices.Index(pipeline.FeatureTypes[:], "uint8")]++
		if got := p.WithOwnLanes(points(p, 64)).Funcs[f].VectorSize; got != 4*natural {
			t.Errorf("%s: of bytes that are added up vectors have %d lanes, want %d", name, got, 4*natural)
		}
	}
}

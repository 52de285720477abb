package pipeline_test

import (
	"slices"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// Vectors are as long as integers fill where bytes are only looked up, or most of what is
// loaded, and as long as bytes do where a row of them is read too or they are computed with.
func TestLookupsDoNotCount(t *testing.T) {
	for _, name := range []string{"lookups.h19", "lookups.h21"} {
		p := pipelinetest.Described(t, name)
		without := p.WithOwnLanes()
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

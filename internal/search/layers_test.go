package search

import (
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// Layers hold all that is upstream, each Func one step behind the last of those that read it.
func TestLayers(t *testing.T) {
	for _, name := range pipelinetest.Names(t) {
		sp := newSpace(t, name, 2)
		for f := range sp.Funcs() {
			if !sp.Scheduled(f) {
				continue
			}
			upstream := sp.Upstream(f)
			if leads(sp, f) != (len(upstream) > 0) {
				t.Errorf("%s: %d Funcs are upstream of %s, which leads: %v", name, len(upstream), sp.Pipeline().Funcs[f].Name, leads(sp, f))
			}
			steps := map[int]int{f: 0}
			bands := layers(sp, f)
			for i, band := range bands {
				for _, g := range band {
					steps[g] = i + 1
				}
			}
			if len(steps) != len(upstream)+1 {
				t.Errorf("%s: %d Funcs in layers, %d upstream", name, len(steps)-1, len(upstream))
			}
			for _, g := range upstream {
				last := 0
				for _, r := range sp.Readers(g) {
					if of, ok := steps[r.Func]; ok {
						last = max(last, of+1)
					}
				}
				if steps[g] != last {
					t.Errorf("%s: %s is in layer %d, not %d", name, sp.Pipeline().Funcs[g].Name, steps[g], last)
				}
			}
		}
	}
}

package space

import (
	"slices"

	"github.com/protuner/protuner/internal/pipeline"
)

// tableBytes is what tables that are counted in side by side take together at most: half of
// the smallest of first caches.
const tableBytes = 16 << 10

// TablesAtOnce is how many of them people would have. Eight of hist's rows at a time are 2.3
// times as fast as one, and four 1.2 times (docs/space-trials.md).
const TablesAtOnce = 8

// Tables is how many points of f, in a table of each of which one of its updates counts, are
// gone through side by side at most; 1 where none counts so.
func (sp *Space) Tables(f int) int64 {
	most := int64(1)
	for i := range sp.nodes[f].Stages {
		most = max(most, sp.tables(Reader{f, i}))
	}
	return most
}

// tables is the same of a stage.
func (sp *Space) tables(r Reader) int64 {
	if !sp.o.UnrollTables || !sp.Scatters(r) {
		return 1
	}
	one := sp.bytes(r.Func, sp.start.root)
	for i, l := range sp.root.bounds(r.Func).Loops(r.Stage) {
		if sp.nodes[r.Func].Stages[r.Stage].Loops[i].Pure {
			one /= float64(max(1, l.Extent()))
		}
	}
	return max(1, int64(tableBytes/max(1, one)))
}

// Scatters says whether a stage writes where the data say along any of its loops.
func (sp *Space) Scatters(r Reader) bool {
	return slices.ContainsFunc(sp.nodes[r.Func].Stages[r.Stage].Loops, func(l pipeline.Loop) bool { return l.Scatters })
}

// withinTables says which dimensions of a Func that counts in tables are those of a table,
// where the others are those of the points that have one each; nil for other Funcs.
func (sp *Space) withinTables(f int) []bool {
	n := &sp.nodes[f]
	for s := range n.Stages {
		if !sp.Scatters(Reader{f, s}) {
			continue
		}
		within := make([]bool, n.dims)
		for d := range within {
			within[d] = !slices.ContainsFunc(n.Stages[s].Loops, func(l pipeline.Loop) bool { return l.Pure && l.PureDim == d })
		}
		return within
	}
	return nil
}

package space

import (
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// Products of bytes are added up two or four at once, products of 16 bits two, and those of
// which the processor has no sums one by one.
func TestDots(t *testing.T) {
	p := pipelinetest.Described(t, "dots.h21")
	sp := newSpace(t, p, Defaults(2))
	for f := range p.Funcs {
		want := map[string][]int64{"by_bytes": {2, 4}, "by_shorts": {2}, "added": {2, 4}}[p.Funcs[f].Name]
		if got := sp.Dots(f); !slices.Equal(got, want) {
			t.Errorf("%s adds up %v at once, not %v", p.Funcs[f].Name, got, want)
		}
	}
	// A scan's sums are each needed, and a table is added to wherever the data say.
	for _, name := range []string{"scan.h21", "hist.h21"} {
		p := pipelinetest.Described(t, name)
		sp := newSpace(t, p, Defaults(2))
		for f := range p.Funcs {
			if got := sp.Dots(f); len(got) > 0 {
				t.Errorf("%s of %s adds up %v at once", p.Funcs[f].Name, name, got)
			}
		}
	}
}

// Vectors of bytes may be of as many lanes as there are of what they are made of, and sums of
// products of bytes have no more than there are of the sums.
func TestShorterVectors(t *testing.T) {
	p := pipelinetest.Described(t, "dots.h21")
	sp := newSpace(t, p, Defaults(2))
	f := slices.IndexFunc(sp.nodes, func(n node) bool { return n.Name == "by_bytes" })
	before, natural := int64(p.Funcs[f].Stages[1].VectorSize), int64(sp.nodes[f].Stages[1].VectorSize)
	if got := sp.Shorter(f); natural != before/4 || len(got) > 0 {
		t.Errorf("of %d lanes %d are left, and may be %v", before, natural, got)
	}
	sp = newSpace(t, pipelinetest.Described(t, "lookups.h21"), Defaults(2))
	f = slices.IndexFunc(sp.nodes, func(n node) bool { return n.Name == "bytes" }) // made of integers
	natural = int64(sp.nodes[f].VectorSize)
	if got := sp.Shorter(f); !slices.Equal(got, []int64{natural / 2, natural / 4}) {
		t.Errorf("vectors of %d bytes may have %v lanes", natural, got)
	}
	p = pipelinetest.Described(t, "harris.h21")
	sp = newSpace(t, p, Defaults(2))
	for f := range p.Funcs {
		if got := sp.Shorter(f); sp.Scheduled(f) && len(got) > 0 {
			t.Errorf("%s is all floats, and may have %v", p.Funcs[f].Name, got)
		}
	}
}

// What looks something up, by itself or where it is inlined, may have vectors half as long as
// what it computes with fills: one to an iteration, of halves of a vector where something else
// is computed for each.
func TestShorterVectorsOfLookups(t *testing.T) {
	sp := newSpace(t, pipelinetest.Described(t, "lookups.h21"), Defaults(2))
	looksUp := sp.LooksUp(func(f int) bool { return sp.nodes[f].Name == "used" })
	for f := range sp.nodes {
		fn := sp.nodes[f].Name
		want := slices.Contains([]string{"output", "stored", "used", "typed", "promised", "read", "rows", "sums", "mixed", "scattered"}, fn)
		if looksUp[f] != want {
			t.Errorf("%s looks up: %v", fn, looksUp[f])
		}
		if got := sp.Shorter(f); fn == "used" && !slices.Equal(got, []int64{int64(sp.nodes[f].VectorSize) / 2}) {
			t.Errorf("%s may have %v lanes", fn, got)
		}
	}
	if sp.LooksUp(func(int) bool { return false })[0] {
		t.Error("the output looks up nothing by itself")
	}
	for said, want := range map[string]string{
		"used compute root vector x\n":                                                "split(x, x, xi, 8, ",
		"used compute root vector x\nused lanes 4\n":                                  "split(x, x, xi, 4, ",
		"used compute root vector x\nraw compute used [8,1] vector x\nused lanes 4\n": "split(xi, xi, xii, 4, ",
	} {
		s := stateOf(t, sp, "output compute root vector x\n"+said)
		if err := s.Schedule().Check(sp.Pipeline().Binding()); err != nil {
			t.Error(err)
		}
		got := directivesOf(s, "used")
		if !strings.Contains(got, want) || strings.Contains(got, "unroll") != strings.Contains(want, "xii") {
			t.Errorf("%sno %s in\n%s", said, want, got)
		}
	}
}

// The reduction loop inside the vector is vectorised; a vector is made of shorter ones; both
// at once; and a trace of them reads back as it was.
func TestVectorsOfSums(t *testing.T) {
	o := Defaults(2)
	o.ShortVectors = false // which would leave no lanes to be said
	sp := newSpace(t, pipelinetest.Described(t, "dots.h21"), o)
	update := func(said string) string {
		s := stateOf(t, sp, "output compute root vector x\noutput tasks [128,8]\nby_bytes compute output [128,1] vector x\n"+said)
		stands(t, s)
		return directivesOf(s, "by_bytes.update(0)")
	}
	check := func(said string, wants ...string) {
		t.Helper()
		got := update(said)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in\n%s", said, want, got)
			}
		}
	}
	plain := update("")
	if strings.Contains(plain, "atomic") || strings.Contains(plain, "unroll(xii)") {
		t.Errorf("nothing was said of vectors:\n%s", plain)
	}
	check("by_bytes dot 4\n", "split(k$x, k$x, k$xi, 4, guard_with_if)\n", "atomic()\nvectorize(k$xi)\n", "reorder(k$xi, x")
	check("by_bytes lanes 16\n", ", 16, guard_with_if)\n", "unroll(xi)\nvectorize(xii)\n")
	check("by_bytes dot 2\nby_bytes lanes 16\n", "atomic()\nvectorize(k$xi)\nvectorize(xii)\n", "reorder(k$xi, xii, xi, ")
	// 32 products are no sums of 3, and nobody's vectors have 48 lanes.
	for _, said := range []string{"by_bytes dot 3\n", "by_bytes lanes 48\n"} {
		if got := update(said); got != plain {
			t.Errorf("%s makes\n%s of\n%s", said, got, plain)
		}
	}
}

// Rows that are added up have vectors along them, as long as those of the sums, two or four;
// what something else is read along than rows, or than a reduction, has none.
func TestAcross(t *testing.T) {
	for name, want := range map[string]map[string]bool{"softmax.h21": {"total": true, "largest": true}, "dots.h21": {}, "hist.h21": {}, "scan.h21": {}, "conv_layer.h21": {}} {
		p := pipelinetest.Described(t, name)
		sp := newSpace(t, p, Defaults(2))
		for f := range p.Funcs {
			lanes := sp.Across(f)
			if fn := p.Funcs[f].Name; slices.Equal(lanes, []int64{8, 16, 32}) != want[fn] || len(lanes) > 0 != want[fn] {
				t.Errorf("%s of %s: vectors of %v", fn, name, lanes)
			}
		}
	}
	sp := newSpace(t, pipelinetest.Described(t, "softmax.h21"), Defaults(2))
	said := "total compute root vector y\ntotal across 8\n"
	s := stateOf(t, sp, said)
	stands(t, s)
	got := directivesOf(s, "total.update(0)")
	for _, want := range []string{"split(r$x, r$x, r$xi, 8, guard_with_if)\n", "reorder(r$xi, ", "atomic()\nvectorize(r$xi)\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Count(got, "vectorize") != 1 {
		t.Errorf("two vectors:\n%s", got)
	}
	for _, said := range []string{"", "total across 64\n", "total across 12\n"} {
		if got := directivesOf(stateOf(t, sp, "total compute root vector y\n"+said), "total.update(0)"); strings.Contains(got, "atomic") {
			t.Errorf("%q makes\n%s", said, got)
		}
	}
}

// A short loop that would be unrolled is not where it becomes a vector.
func TestVectorsOfShortReductions(t *testing.T) {
	w := writer{sp: newSpace(t, toy(64, 64, 1), Defaults(2))}
	s := &stageLoops{names: map[string]bool{}, vars: []loopVar{{name: "r", extent: 4, there: true, unrolled: true}}}
	if !w.vectoriseReduction(s, &Nest{}, 0, 4) || !s.vars[0].vectorise || s.vars[0].unrolled {
		t.Errorf("%+v", s.vars[0])
	}
	if w.vectoriseReduction(s, &Nest{}, 0, 8) {
		t.Error("eight of four")
	}
}

package space

import (
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// Where there are no rows, vectors are.
func TestRowsOfVectors(t *testing.T) {
	sp := newSpace(t, toy(64, 16, 1), Defaults(2))
	if loop, row, _ := sp.RowsLoop(0, 0, 0); loop != 1 || row != 1 {
		t.Errorf("rows of a plane: loop %d by %d", loop, row)
	}
	sp = newSpace(t, toy(64, 1, 0), Defaults(2))
	if loop, row, _ := sp.RowsLoop(0, 0, 0); loop != 0 || row != 4 {
		t.Errorf("rows of one row: loop %d by %d", loop, row)
	}
	if strip, ok := sp.Strip(0, 0, 0, 3); !ok || strip.Tile[0] != 12 {
		t.Errorf("three vectors are %v, %v", strip.Tile, ok)
	}
	if strip, ok := sp.Strip(0, 0, 0, 100); !ok || strip.Tile[0] != 64 {
		t.Errorf("more than there are are %v, %v", strip.Tile, ok)
	}
	// Nor are the few values of each of a long list's points rows.
	for _, c := range []struct {
		points, values int64
		loop           int
	}{{4096, 16, 0}, {512, 16, 1}, {516, 16, 0}, {1 << 20, 17, 1}} {
		sp := newSpace(t, toy(c.points, c.values), Defaults(2))
		if loop, _, _ := sp.RowsLoop(0, 0, 0); loop != c.loop {
			t.Errorf("%d points of %d values have rows along loop %d", c.points, c.values, loop)
		}
	}
	sp = newSpace(t, toy(4, 1, 0), Defaults(2))
	if loop, _, _ := sp.RowsLoop(0, 0, 0); loop >= 0 {
		t.Errorf("one vector has rows along loop %d", loop)
	}
}

// Where a pixel's channels are a vector, a row is of pixels, if there is more than a few of them.
func TestRowsOfPixels(t *testing.T) {
	for _, c := range []struct {
		channels, rows int64
		loop, within   int
	}{{4, 720, 2, 1}, {4, 320, 2, 1}, {4, 300, 1, -1}, {4, 1, 1, -1}, {64, 720, 2, 1}, {68, 720, 1, -1}} {
		p := toy(c.channels, 1280)
		f := &p.Funcs[0]
		f.Args = append(f.Args, "z")
		f.Computed = append(f.Computed, f.Computed[0])
		f.Estimate = append(f.Estimate, pipeline.Span{Max: c.rows - 1})
		f.Stages[0].Loops = append(f.Stages[0].Loops, pipeline.Loop{Var: "z", Pure: true, PureDim: 2, ComputedDim: 2})
		sp := newSpace(t, p, Defaults(2))
		if loop, row, within := sp.RowsLoop(0, 0, 0); loop != c.loop || row != 1 || within != c.within {
			t.Errorf("%d channels, %d rows: rows along loop %d by %d, with loop %d within", c.channels, c.rows, loop, row, within)
		}
	}
}

// All lanes of what a reduction was factored into are unrolled inside it, beside a block's
// rows as long as these leave room; other vectors of a block stay outside of it.
func TestLanesOfParts(t *testing.T) {
	d := pipelinetest.Described(t, "softmax_parts.h21")
	sp := newSpace(t, d, Defaults(2))
	const parts = "total_parts compute root vector part\ntotal_parts tasks [64,32]\n"
	for _, c := range []struct{ block, want string }{
		{"", "reorder(parti, part, step, yi, y)\n"},
		{"total_parts block y 2\n", "reorder(parti, yii, part, step, yi, y)\n"},
	} {
		got := directivesOf(stateOf(t, sp, parts+c.block), "total_parts.update(0)")
		if !strings.Contains(got, c.want) || !strings.Contains(got, "unroll(part)\n") {
			t.Errorf("%q:\n%s", c.block, got)
		}
	}
}

// What was factored is added up along the lanes, which lie side by side then.
func TestAcrossParts(t *testing.T) {
	sp := newSpace(t, pipelinetest.Described(t, "softmax_parts.h21"), Defaults(2))
	total := slices.IndexFunc(sp.p.Funcs, func(f pipeline.Func) bool { return f.Name == "total" })
	if lanes := sp.Across(total); !slices.Equal(lanes, []int64{8, 16, 32}) {
		t.Fatalf("total adds up lanes in vectors of %v", lanes)
	}
	for _, across := range []string{"8", "32"} {
		got := directivesOf(stateOf(t, sp, "total compute root vector y\ntotal across "+across+"\ntotal_parts compute root vector part\n"), "total.update(0)")
		if !strings.Contains(got, "split(lane, lane, lanei, "+across) || !strings.Contains(got, "atomic()\nvectorize(lanei)\n") {
			t.Errorf("total across %s:\n%s", across, got)
		}
	}
}

// What updates add to slides along the dimensions that they go along from point to point, as the
// cells of histograms do by rows; in Adams et al.'s space nothing with updates does.
func TestSlidingUpdates(t *testing.T) {
	const counts = "counts compute output [64,1] store output [64,16] vector x\n"
	const rows = "run compute output [320,1] store output [320,30] vector y\n"
	for _, c := range []struct {
		golden, tasks, slid string
		slides, want        bool
	}{
		{"lookups.h21", "output tasks [64,16]\n", counts, true, true},
		{"lookups.h21", "output tasks [64,16]\n", counts, false, false},
		{"scan.h21", "output tasks [320,30]\n", rows, true, true},
	} {
		o := Defaults(2)
		o.SlideUpdates = c.slides
		sp := newSpace(t, pipelinetest.Described(t, c.golden), o)
		trace := sp.FormatTrace(stateOf(t, sp, "output compute root vector x\n"+c.tasks+c.slid).Trace())
		if strings.Contains(trace, c.slid) != c.want {
			t.Errorf("%s, %v: %q became\n%s", c.golden, c.slides, c.slid, trace)
		}
	}
}

// What a reduction reads here and around here may be computed anew for each of its iterations,
// but does not slide over them: of the region that it needs one end stands still.
func TestSwellingWindows(t *testing.T) {
	const trace = "output compute root vector x\noutput tasks [8]\napart compute root vector x\napart tasks [8]\n" +
		"square compute apart.update(0) [1,8] store apart.update(0) [3,8] vector x\n"
	for _, c := range []struct {
		unchecked bool
		want      string
	}{
		{true, "compute_at(apart, r$x)\nstore_at(apart, x)\n"},
		{false, "compute_at(apart, r$x)\nstore_in("},
	} {
		o := Defaults(2)
		o.Unchecked = c.unchecked
		sp := newSpace(t, pipelinetest.Described(t, "around.h21"), o)
		got := directivesOf(stateOf(t, sp, trace), "square")
		if !strings.Contains(got, c.want) {
			t.Errorf("unchecked %v:\n%s", c.unchecked, got)
		}
	}
}

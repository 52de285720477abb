package space

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// A Func may have register blocks over several dimensions, one over each; they hold all
// of them together.
func TestBlocksOverTwoDimensions(t *testing.T) {
	sp := newSpace(t, pipelinetest.Described(t, "camera_pipe.h21"), Defaults(2))
	text := `output compute root vector x
demosaiced compute root vector x
`
	with := func(blocks string) (string, string) {
		s := stateOf(t, sp, text+blocks)
		stands(t, s)
		return sp.FormatTrace(s.Trace()), s.Schedule().String()
	}
	trace, both := with("demosaiced block c 3\ndemosaiced block y 4\ndemosaiced block y 2\n")
	if !strings.HasSuffix(trace, "\ndemosaiced block y 2\ndemosaiced block c 3\n") {
		t.Errorf("the trace is\n%s", trace)
	}
	for _, want := range []string{"demosaiced.split(yi, yi, yii, 2", "demosaiced.split(c, c, ci, 3", "demosaiced.unroll(yii)", "demosaiced.unroll(ci)", "demosaiced.reorder(xi, yii, ci, "} {
		if !strings.Contains(both, want) {
			t.Errorf("no %s in\n%s", want, both)
		}
	}
	if _, one := with("demosaiced block c 3\n"); strings.Contains(one, "demosaiced.unroll(yii)") {
		t.Errorf("of one block there are two\n%s", one)
	}
}

// Updates have blocks where a loop holds some number of them exactly: a histogram of several
// rows at a time goes to a table each.
func TestBlocksOfUpdates(t *testing.T) {
	sp := newSpace(t, pipelinetest.Described(t, "hist.h21"), Defaults(2))
	text := `row_counts compute root vector x
row_counts tasks [256,80]
luma compute root vector x
row_counts scalar
`
	update := func(blocks string) string {
		return directivesOf(stateOf(t, sp, text+blocks), "row_counts.update(0)")
	}
	of4 := update("row_counts block y 4\n")
	for _, want := range []string{"split(yi, yi, yii, 4, guard_with_if)\n", "reorder(yii, column$x, yi, y)\n", "unroll(yii)\n"} {
		if !strings.Contains(of4, want) {
			t.Errorf("no %sin\n%s", want, of4)
		}
	}
	if got, none := update("row_counts block y 3\n"), update(""); got != none {
		t.Errorf("eighty rows are no blocks of three:\n%s", got)
	}
}

// Blocks go over several vectors, too, and with a version for the estimated sizes updates have
// them over loops that nothing splits.
func TestBlocksOfSums(t *testing.T) {
	o := Defaults(1)
	o.Sized = true
	sp := newSpace(t, pipelinetest.Described(t, "dots.h21"), o)
	for f := range sp.nodes {
		name := sp.nodes[f].Name
		if want := map[string]bool{"by_bytes": true, "by_shorts": true, "added": true, "by_words": true, "largest": true, "whole": true}[name]; sp.Sums(f) != want {
			t.Errorf("%s adds up: %v", name, !want)
		}
	}
	update := func(said string) string {
		s := stateOf(t, sp, "by_bytes compute root vector x\nby_bytes block x 2\nby_bytes block y 8\n"+said)
		if err := s.Schedule().Check(sp.Pipeline().Binding()); err != nil {
			t.Error(err)
		}
		return directivesOf(s, "by_bytes.update(0)")
	}
	if got := update(""); strings.Contains(got, "unroll") {
		t.Errorf("rows may be any number, and there are blocks of them:\n%s", got)
	}
	for _, want := range []string{"split(x, x, xii, 2, guard_with_if)\n", "split(y, y, yi, 8, guard_with_if)\n", "reorder(xi, xii, yi, k$x, x, y)\n", "unroll(xii)\nunroll(yi)\nvectorize(xi)\n"} {
		if got := update("output sized\n"); !strings.Contains(got, want) {
			t.Errorf("no %sin\n%s", want, got)
		}
	}
}

// Rows with a table each, in which is counted, are gone through side by side where what they
// count is computed for a few of them; not in Adams et al.'s space, and not for more rows.
func TestTablesSideBySide(t *testing.T) {
	d := pipelinetest.Described(t, "hist.h21")
	output := &d.Funcs[0].Stages[0] // it shall not read what is counted
	output.Edges = slices.DeleteFunc(output.Edges, func(e pipeline.Edge) bool { return d.Funcs[e.Producer].Name == "luma" })
	for _, c := range []struct {
		o    Options
		rows int
		want string
	}{
		{Defaults(2), 4, "row_counts.update(0).reorder(yii, column$xi, column$x, yi, y)"},
		{Defaults(2), 8, "row_counts.update(0).unroll(yii)"},
		{Defaults(2), 40, ""},
		{Adams(2), 4, ""},
	} {
		sp := newSpace(t, d, c.o)
		s := stateOf(t, sp, fmt.Sprintf("row_counts compute root vector x\nrow_counts tasks [256,80]\nluma compute row_counts.update(0) [128,%d] vector x\n", c.rows))
		text := s.Schedule().String()
		if unrolls := strings.Contains(text, "row_counts.update(0).unroll("); unrolls != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%d rows, want %q:\n%s\n%s", c.rows, c.want, text, s)
		}
	}
}

// A block along the vector is of so many vectors, of which a smaller output has fewer: one that
// would be shifted to before the first is none.
func TestBlocksOfVectors(t *testing.T) {
	for width, most := range map[int64]int{64: 14, 32: 6, 24: 6} { // 54, 22 and 24 points are so many vectors of four at least
		sp := newSpace(t, asInput(toy(width, 64, 1)), Defaults(2))
		for block := most - 1; block <= int(width)/4; block++ {
			got := directivesOf(stateOf(t, sp, fmt.Sprintf("a compute root vector x\na block x %d\n", block)), "a")
			is := strings.Contains(got, fmt.Sprintf("split(x, x, xii, %d, shift_inwards)\n", block)) && strings.Contains(got, "unroll(xii)\n")
			if want := block <= most; is != want || !want && strings.Contains(got, "xii") {
				t.Errorf("%d points, %d vectors are a block: %v\n%s", width, block, is, got)
			}
		}
	}
}

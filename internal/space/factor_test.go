package space

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
)

func factored(t *testing.T, name string, cores int) string {
	t.Helper()
	sp, err := New(pipelinetest.Described(t, name), Defaults(cores))
	if err != nil {
		t.Fatal(err)
	}
	s := schedule.Schedule{Directives: sp.Factoring()}
	if err := s.Check(sp.binding()); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if head := s.Structure(); len(head) != len(s.Directives) {
		t.Errorf("%s: %d of %d directives are structure", name, len(head), len(s.Directives))
	}
	return s.String()
}

// Factored are reductions that nothing else could vectorise or run in parallel, and no
// others.
func TestFactoring(t *testing.T) {
	lanes := `total.update(0).split(r$x, r_x_step, r_x_lane, 32, guard_with_if)
total_parts = total.update(0).rfactor([r_x_lane], [r_x_lane_var])
largest.update(0).split(r$x, r_x_step, r_x_lane, 32, guard_with_if)
largest_parts = largest.update(0).rfactor([r_x_lane], [r_x_lane_var])
`
	if got := factored(t, "softmax.h21", 2); got != lanes {
		t.Errorf("softmax:\n%s", got)
	}
	// The mean is read along the rows that are added up, and is the same for all of one.
	rows := `squares.update(0).split(k$x, k_x_step, k_x_lane, 32, guard_with_if)
squares_parts = squares.update(0).rfactor([k_x_lane], [k_x_lane_var])
mean.update(0).split(k$x, k_x_step, k_x_lane, 32, guard_with_if)
mean_parts = mean.update(0).rfactor([k_x_lane], [k_x_lane_var])
`
	if got := factored(t, "deviations.h21", 2); got != rows {
		t.Errorf("deviations:\n%s", got)
	}
	// 240 rows are 8 tasks of 30: a histogram of 256 bins each is little.
	tasks := `histogram.update(0).split(image$y, image_y_strip, image_y_line, 30, guard_with_if)
histogram_parts = histogram.update(0).rfactor([image_y_strip], [image_y_strip_var])
`
	if got := factored(t, "scan.h21", 2); got != tasks {
		t.Errorf("scan:\n%s", got)
	}
	if got := factored(t, "scan.h21", 1); got != "" {
		t.Errorf("scan on one core:\n%s", got)
	}
	// Whichever bins of the rows' histograms are added up, the rows are counted whole, in
	// tables of eight side by side.
	tables := `counts.update(0).split(line$x, line_x_strip, line_x_line, 8, guard_with_if)
counts_parts = counts.update(0).rfactor([line_x_strip], [line_x_strip_var])
`
	for _, cores := range []int{2, 32} {
		if got := factored(t, "hist.h21", cores); got != tables {
			t.Errorf("hist on %d cores:\n%s", cores, got)
		}
	}
	// Where lanes would each need the whole table, or pure loops go along memory too.
	for _, name := range []string{"harris.h21", "conv_layer.h21", "bilateral_grid.h21", "camera_pipe.h21", "unsharp.h21"} {
		if got := factored(t, name, 2); got != "" {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	// What is factored already is not again.
	if got := factored(t, "softmax_parts.h21", 2); strings.Contains(got, "total_parts = ") {
		t.Errorf("softmax_parts:\n%s", got)
	}
}

// Strips of a reduction are cut into lanes no more than each has terms for, and what all of them
// leave to add up is little; else there are lanes alone. A layer of 128 times 784 terms.
func TestLanesOfStrips(t *testing.T) {
	p := asInput(toy(128, 1, 0, 0))
	sum := &p.Funcs[1]
	update := sum.Stages[0]
	update.Name, update.Associative = "b.update(0)", true
	update.Loops = append([]pipeline.Loop{{Var: "k", RVar: true, PureDim: -1, ComputedDim: -1, Const: &[2]int64{0, 783}}}, update.Loops...)
	one, none := pipeline.Rational{Num: 1, Den: 1}, pipeline.Rational{Num: 0, Den: 1}
	along := func(loop int) pipeline.Bounds {
		return pipeline.Bounds{Min: pipeline.Bound{Coeff: 1, Dim: loop}, Max: pipeline.Bound{Coeff: 1, Dim: loop, UsesMax: true}}
	}
	update.Edges = []pipeline.Edge{{Producer: 2, Calls: 1, Bounds: []pipeline.Bounds{along(0), along(1)},
		Jacobians: []pipeline.Jacobian{{Count: 1, Coeffs: [][]pipeline.Rational{{one, none, none}, {none, one, none}}}}}}
	sum.Stages[0].Edges = nil
	sum.Stages = append(sum.Stages, update)
	sum.VectorSize = 8
	for cores, want := range map[int]string{
		2: "b.update(0).split(k, k_step, k_lane, 32, guard_with_if)\n" +
			"b_parts = b.update(0).rfactor([k_lane], [k_lane_var])\n",
		5: "b.update(0).split(k, k_strip, k_line, 40, guard_with_if)\n" +
			"b.update(0).split(k_line, k_line_step, k_line_lane, 8, guard_with_if)\n" +
			"b_parts = b.update(0).rfactor([k_line_lane, k_strip], [k_line_lane_var, k_strip_var])\n",
		8: "b.update(0).split(k, k_step, k_lane, 32, guard_with_if)\n" + // 32 strips of 8 lanes are a third of it
			"b_parts = b.update(0).rfactor([k_lane], [k_lane_var])\n",
	} {
		if got := (schedule.Schedule{Directives: newSpace(t, p, Defaults(cores)).Factoring()}).String(); got != want {
			t.Errorf("on %d cores:\n%s", cores, got)
		}
	}
}

// What a partial result reads beyond its own loops is outside the reduction's domain, so
// that none is rounded up, whatever the description's bounds promise.
func TestPartialResultsAreNotRoundedUp(t *testing.T) {
	sp := newSpace(t, pipelinetest.Described(t, "exposure_parts.h21"), Defaults(2))
	f := slices.IndexFunc(sp.nodes, func(n node) bool { return n.Name == "total_parts" })
	s := sp.Start().SampleDown(rand.New(rand.NewSource(1)))
	if text := s.Schedule().String(); sp.nodes[f].factored != 2 || strings.Contains(text, roundUp) {
		t.Errorf("rounded up:\n%s", text)
	}
}

// Every schedule of the space after factoring begins with it, and goes with the pipeline
// as it stands.
func TestFactoredSchedules(t *testing.T) {
	p := pipelinetest.Described(t, "softmax_parts.h21")
	sp, err := New(p, Defaults(2))
	if err != nil {
		t.Fatal(err)
	}
	s := sp.Start()
	for !s.Complete() {
		s = s.Next(s.Actions(nil)[0])
	}
	out := s.Schedule()
	if head := (schedule.Schedule{Directives: out.Structure()}).String(); head != strings.Join(p.Structure, "\n")+"\n" {
		t.Errorf("it begins with\n%s", head)
	}
	plain := pipelinetest.Described(t, "softmax.h21")
	if err := out.Check(plain.Binding()); err != nil {
		t.Errorf("%v in\n%v", err, out)
	}
	if again, err := sp.ImportSchedule(out); err != nil || again.Schedule().Hash() != out.Hash() {
		t.Errorf("read again: %v", err)
	}
}

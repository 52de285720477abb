package space

import (
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
)

// packedToy reads rows of packed values, b, at each step-th of them; those are read, of an
// input, at thirds.
func packedToy(step pipeline.Rational, period int64) *pipeline.Pipeline {
	p := asInput(toy(96, 8, 0, 0))
	p.Funcs[0].Stages[0].Edges[0].Jacobians = []pipeline.Jacobian{{Count: 1, Coeffs: [][]pipeline.Rational{
		{step, {Num: 0, Den: 1}}, {{Num: 0, Den: 1}, {Num: 1, Den: 1}},
	}}}
	p.Funcs[1].Stages[0].Loops[0].Period = period
	return p
}

// What is inlined is packed where it is read.
func TestPeriods(t *testing.T) {
	for _, c := range []struct {
		step         pipeline.Rational
		period, want int64
	}{
		{pipeline.Rational{Num: 1, Den: 1}, 3, 3},
		{pipeline.Rational{Num: 2, Den: 1}, 3, 3},
		{pipeline.Rational{Num: 3, Den: 1}, 3, 1},  // the same of each three
		{pipeline.Rational{Num: 6, Den: 4}, 3, 1},  // two of them, one step in three
		{pipeline.Rational{Num: 1, Den: 2}, 5, 5},  // its odd part
		{pipeline.Rational{Num: 1, Den: 1}, 9, 1},  // too long
		{pipeline.Rational{Num: 1, Den: 0}, 3, 1},  // nobody knows
		{pipeline.Rational{Num: -5, Den: 1}, 3, 3}, // backwards
	} {
		sp := newSpace(t, packedToy(c.step, c.period), Defaults(2))
		all := func(int) bool { return true }
		if got := sp.Periods(all)[0][0]; got != c.want {
			t.Errorf("read at %d/%d of a period of %d: after %d, not %d", c.step.Num, c.step.Den, c.period, got, c.want)
		}
		if got := sp.Periods(func(int) bool { return false })[0][0]; got != 1 {
			t.Errorf("what is computed elsewhere is packed after %d", got)
		}
	}
}

// A block of whole periods of vectors becomes one vector, where nothing is computed for each
// of them; tiles hold whole ones where that makes them little longer.
func TestLongerVectors(t *testing.T) {
	const root = "a compute root vector x\na tasks [48,2]\n"
	for _, c := range []struct {
		period      int64
		trace, want string
	}{
		{3, root + "b inline\na block x 3\n", "a.split(x, x, xi, 48, shift_inwards)\na.split(xi, xi, xii, 12, shift_inwards)\na.reorder(xii, xi, yi, x, y)\n"},
		{3, "a compute root vector x\na tasks [32,2]\nb inline\na block x 3\n", "a.split(x, x, xi, 36, shift_inwards)\na.split(xi, xi, xii, 12, shift_inwards)\na.reorder(xii, xi, yi, x, y)\n"},
		{3, root + "b compute root vector x\na block x 3\n", "a.unroll(xiii)"}, // b is packed, a reads what is not
		{1, root + "b inline\na block x 3\n", "a.unroll(xiii)"},
		{3, root + "b inline\na block x 2\n", "a.unroll(xiii)"},
		{3, root + "b inline\n", "a.split(xi, xi, xii, 4, shift_inwards)\n"},
	} {
		sp := newSpace(t, packedToy(pipeline.Rational{Num: 1, Den: 1}, c.period), Defaults(2))
		got := stateOf(t, sp, c.trace).Schedule().String()
		if !strings.Contains(strings.ReplaceAll(got, "a.split(y, y, yi, 2, shift_inwards)\n", ""), c.want) {
			t.Errorf("period %d, %sno %s in\n%s", c.period, c.trace, c.want, got)
		}
		if strings.Contains(got, "a.unroll(xiii)") != (c.want == "a.unroll(xiii)") {
			t.Errorf("period %d, %s\n%s", c.period, c.trace, got)
		}
	}
	sp := newSpace(t, packedToy(pipeline.Rational{Num: 1, Den: 1}, 3), Defaults(2))
	for points, want := range map[int64]int64{52: 52, 92: 96, 4: 4, 104: 104} { // of 107
		w := writer{sp: sp, state: &State{blocks: []Decision{{Func: 0, Kind: Block, Dim: 0, Factor: 3}}}}
		if got := w.wholeBlocks(0, 0, 4, points, 107); got != want {
			t.Errorf("a tile of %d points becomes one of %d, not %d", points, got, want)
		}
	}
}

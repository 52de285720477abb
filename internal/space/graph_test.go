package space

import (
	"slices"
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// Partial sums of rows go along the rows, whatever their storage; else the first dimension
// that fills a vector stands, also where another is read with a smaller stride or not at all.
func TestAlongMemory(t *testing.T) {
	for _, c := range []struct {
		golden, name string
		want         int
	}{
		{"softmax_parts.h21", "total_parts", 1}, {"bilateral_grid.h21", "grid", 0}, {"turned.h21", "output", 0},
		{"conv_layer.h21", "sum", 0}, {"scalar.h21", "sum", -1},
	} {
		sp := newSpace(t, pipelinetest.Described(t, c.golden), Defaults(2))
		if got := sp.AlongMemory(slices.IndexFunc(sp.nodes, func(n node) bool { return n.Name == c.name })); got != c.want {
			t.Errorf("%s of %s is read along %d, not %d", c.name, c.golden, got, c.want)
		}
	}
}

// What only loads an input for a boundary condition is never computed by itself in the space
// that is searched, what was wrapped for that is; Adams et al. compute both.
func TestCopiesOfCopies(t *testing.T) {
	for _, c := range []struct {
		golden, name string
		options      Options
		want         bool
	}{
		{"mirrored.h21", "lambda_0", Defaults(2), true}, {"mirrored.h21", "lambda_0", Adams(2), false},
		{"mirrored.h21", "mirror_interior", Defaults(2), false}, {"turned_in.h21", "input_im_in_output", Defaults(2), false},
	} {
		sp := newSpace(t, pipelinetest.Described(t, c.golden), c.options)
		f := slices.IndexFunc(sp.nodes, func(n node) bool { return n.Name == c.name })
		if got := sp.nodes[f].onlyInline; got != c.want {
			t.Errorf("%s of %s can only be inlined: %v", c.name, c.golden, got)
		}
	}
}

package space

import (
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// Copied are the large inputs of reductions that read them over and over, not the bias of a
// layer, nor what a histogram reads once; those of which columns are made rows; and a small
// one of which a reduction reads columns over and over.
func TestPacking(t *testing.T) {
	checkStructure(t, (*Space).Packing, map[string]string{
		"turned.h21":      "input_im_in_output = input_im.in(output)\n",
		"conv_layer.h21":  "input_im_in_sum = input_im.in(sum)\nfilter_im_in_sum = filter_im.in(sum)\n",
		"product.h21":     "b_im_in_product = b_im.in(product)\na_im_in_product = a_im.in(product)\n",
		"recurrences.h21": "input_im_in_next = input_im.in(next)\n",
	})
}

// A copy that is read by columns is turned; what is read as it lies is not, nor what is no copy
// of an input.
func TestTurning(t *testing.T) {
	checkStored(t, (*Space).Turning, map[string]map[string]int{"turned_in.h21": {"input_im_in_output": 1}, "dots_in.h21": {}, "mirrored.h21": {}, "boundary_in.h21": {}})
}

// A copy of which columns are added up several at once is stored by columns; what is not added
// up so is not, nor what lies so.
func TestDotted(t *testing.T) {
	checkStored(t, (*Space).Dotted, map[string]map[string]int{"dots_in.h21": {"weights_im_in_by_bytes": 1}, "turned_in.h21": {}, "boundary_in.h21": {}})
}

// checkStored checks along which dimension Funcs are to be stored; those that are not listed
// along none.
func checkStored(t *testing.T, along func(*Space, int) int, wants map[string]map[string]int) {
	t.Helper()
	for name, want := range wants {
		p := pipelinetest.Described(t, name)
		sp := newSpace(t, p, Defaults(2))
		for f := range p.Funcs {
			dim, stored := want[p.Funcs[f].Name]
			if got := along(sp, f); got != dim && stored || got >= 0 && !stored {
				t.Errorf("%s of %s is stored along %d", p.Funcs[f].Name, name, got)
			}
		}
	}
}

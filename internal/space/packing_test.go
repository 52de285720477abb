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
		"recurrences.h21": "input_im_in_next = input_im.in(next)\n",
	})
}

// A copy that is read by columns is turned; what is read as it lies is not, nor what is no copy
// of an input.
func TestTurning(t *testing.T) {
	for name, want := range map[string]map[string]int{"turned_in.h21": {"input_im_in_output": 1}, "mirrored.h21": {}, "boundary_in.h21": {}} {
		p := pipelinetest.Described(t, name)
		sp := newSpace(t, p, Defaults(2))
		for f := range p.Funcs {
			dim, turns := want[p.Funcs[f].Name]
			if got := sp.Turning(f); got != dim && turns || got >= 0 && !turns {
				t.Errorf("%s of %s is turned to %d", p.Funcs[f].Name, name, got)
			}
		}
	}
}

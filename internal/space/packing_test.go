package space

import "testing"

// Copied are the large inputs of reductions that read them over and over, not the bias of a
// layer, nor what a histogram reads once; and those of which columns are made rows.
func TestPacking(t *testing.T) {
	checkStructure(t, (*Space).Packing, map[string]string{
		"turned.h21":     "input_im_in_output = input_im.in(output)\n",
		"conv_layer.h21": "input_im_in_sum = input_im.in(sum)\nfilter_im_in_sum = filter_im.in(sum)\n",
	})
}

package space

import "testing"

// Copied are only the large inputs of reductions that read them over and over: not the
// bias of a layer, nor what a histogram reads once.
func TestPacking(t *testing.T) {
	checkStructure(t, (*Space).Packing, map[string]string{
		"conv_layer.h21": "input_im_in_sum = input_im.in(sum)\nfilter_im_in_sum = filter_im.in(sum)\n",
	})
}

package space

import (
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
)

// Copied are only the large inputs of reductions that read them over and over: not the
// bias of a layer, nor what a histogram reads once.
func TestPacking(t *testing.T) {
	for _, name := range pipelinetest.Names(t) {
		sp, err := New(pipelinetest.Described(t, name), Defaults(2))
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if name == "conv_layer.h21" {
			want = "input_im_in_sum = input_im.in(sum)\nfilter_im_in_sum = filter_im.in(sum)\n"
		}
		s := schedule.Schedule{Directives: sp.Packing()}
		if got := s.String(); got != want {
			t.Errorf("%s:\n%s", name, got)
		}
		if err := s.Check(sp.binding()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package space

import (
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
)

// Cloned is only what is cheap, read by several, and needed whole by one of them before
// the others begin: not what strips share (harris), nor what is dear (camera_pipe).
func TestCloning(t *testing.T) {
	checkStructure(t, (*Space).Cloning, map[string]string{
		"hist.h21":           "luma_in_row_counts = luma.clone_in(row_counts)\n",
		"hist_parts.h21":     "luma_in_row_counts = luma.clone_in(row_counts)\n",
		"exposure.h21":       "luma_in_total = luma.clone_in(total)\n",
		"exposure_parts.h21": "luma_in_total_parts = luma.clone_in(total_parts)\n",
	})
}

// checkStructure compares what goes before the description of each pipeline with what is
// wanted, nothing where no pipeline is named.
func checkStructure(t *testing.T, of func(*Space) []schedule.Directive, want map[string]string) {
	t.Helper()
	for _, name := range pipelinetest.Names(t) {
		sp, err := New(pipelinetest.Described(t, name), Defaults(2))
		if err != nil {
			t.Fatal(err)
		}
		s := schedule.Schedule{Directives: of(sp)}
		if got := s.String(); got != want[name] {
			t.Errorf("%s:\n%s", name, got)
		}
		if err := s.Check(sp.binding()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

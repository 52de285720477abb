package space

import (
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
)

// Cloned is only what is cheap, read by several, and needed whole by one of them before
// the others begin: not what strips share (harris), nor what is dear (camera_pipe).
func TestCloning(t *testing.T) {
	for _, name := range pipelinetest.Names(t) {
		sp, err := New(pipelinetest.Described(t, name), Defaults(2))
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if name == "hist.h21" {
			want = "luma_in_row_counts = luma.clone_in(row_counts)\n"
		}
		s := schedule.Schedule{Directives: sp.Cloning()}
		if got := s.String(); got != want {
			t.Errorf("%s:\n%s", name, got)
		}
		if err := s.Check(sp.binding()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package space

import (
	"math/rand"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

func newSpace(t testing.TB, p *pipeline.Pipeline, o Options) *Space {
	t.Helper()
	sp, err := New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return sp
}

// Whatever is drawn, of whatever pipeline, is complete, names only what is there,
// splits reductions with guards, and is rebuilt by its own trace, also through the
// text form.
func TestDrawnSchedules(t *testing.T) {
	for _, name := range pipelinetest.Names(t) {
		t.Run(name, func(t *testing.T) {
			p := pipelinetest.Described(t, name)
			binding := pipelinetest.Binding(t, name)
			for _, o := range []Options{Defaults(2), Adams(16), Defaults(1)} {
				sp := newSpace(t, p, o)
				rng := rand.New(rand.NewSource(1))
				for i := range 12 {
					s := sp.Start().SampleDown(rng)
					if as := s.Actions(nil); len(as) > 0 || !s.Complete() {
						t.Fatalf("a state sampled to its end offers %v", as)
					}
					sch := s.Schedule()
					if err := sch.Check(binding); err != nil {
						t.Fatalf("%v\n%v%v", err, s, sch)
					}
					trace := s.Trace()
					again, repaired, err := sp.Replay(trace, Strict)
					if err != nil || again.Key() != s.Key() || len(repaired) > 0 {
						t.Fatalf("its own trace gives another state (%v, repaired %v):\n%v%v", err, repaired, s, sp.FormatTrace(trace))
					}
					if again.Schedule().Hash() != sch.Hash() {
						t.Fatal("equal states, other schedules")
					}
					read, err := sp.ParseTrace(sp.FormatTrace(trace))
					if err != nil {
						t.Fatalf("%v\n%s", err, sp.FormatTrace(trace))
					}
					if sp.FormatTrace(read) != sp.FormatTrace(trace) {
						t.Fatalf("text form changed:\n%s%s", sp.FormatTrace(trace), sp.FormatTrace(read))
					}
					if i > 2 {
						continue // the search for the nearest takes a while where tilings are many
					}
					if _, _, err := sp.Replay(read, Nearest); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

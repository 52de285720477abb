package space

import (
	"encoding/json"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// described loads a golden description of package pipeline.
func described(t testing.TB, name string) *pipeline.Pipeline {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "pipeline", "testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := pipeline.Decode(b)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p.WithStructure(structure(t, name))
}

// structure gives the directives that a golden was described after.
func structure(t testing.TB, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "pipeline", "testdata", "goldens.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Descriptions []struct {
			Name      string
			Structure []schedule.Directive
		}
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range all.Descriptions {
		if name == d.Name+".h21" {
			for _, s := range d.Structure {
				out = append(out, s.String())
			}
		}
	}
	return out
}

// goldens names the golden descriptions that can be scheduled.
func goldens(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "pipeline", "testdata", "*.h21.json"))
	if err != nil || len(files) < 6 {
		t.Fatalf("golden descriptions: %d files, %v", len(files), err)
	}
	var out []string
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		if len(described(t, name).Refusals) == 0 {
			out = append(out, name)
		}
	}
	return out
}

func newSpace(t testing.TB, p *pipeline.Pipeline, o Options) *Space {
	t.Helper()
	sp, err := New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return sp
}

func rollout(s *State, rng *rand.Rand) *State {
	for {
		a, ok := s.Sample(rng)
		if !ok {
			return s
		}
		s = s.Next(a)
	}
}

// Whatever is drawn, of whatever pipeline, is complete, names only what is there,
// splits reductions with guards, and is rebuilt by its own trace, also through the
// text form.
func TestDrawnSchedules(t *testing.T) {
	for _, name := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			p := described(t, name)
			binding := p.Binding()
			if base, _, ok := strings.Cut(name, "_"); ok && len(p.Structure) > 0 {
				binding = described(t, base+".h21").Binding() // what the structure is applied to
			}
			for _, o := range []Options{Defaults(2), Adams(16), Defaults(1)} {
				sp := newSpace(t, p, o)
				rng := rand.New(rand.NewSource(1))
				for i := range 12 {
					s := rollout(sp.Start(), rng)
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

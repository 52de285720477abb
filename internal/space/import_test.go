package space

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// A nest is found again from its text: the same loops with the same bounds.
func TestImportOfOwnText(t *testing.T) {
	for _, name := range pipelinetest.Names(t) {
		t.Run(name, func(t *testing.T) {
			p := pipelinetest.Described(t, name)
			for _, o := range []Options{Defaults(2), Adams(16), Adams(1)} {
				sp := newSpace(t, p, o)
				rng := rand.New(rand.NewSource(7))
				for range 10 {
					s := sp.Start().SampleDown(rng)
					again, err := sp.Import(s.String())
					if err != nil {
						t.Fatalf("%v\n%v\n%v", err, s, sp.FormatTrace(s.Trace()))
					}
					if again.Key() != s.Key() && again.String() != s.String() {
						t.Fatalf("another nest:\n%v\nfor\n%v", again, s)
					}
				}
			}
		})
	}
}

// Adams2019's own notation: Funcs for stages, the vectorised loop and dimension in
// parentheses, one blank a level; and what is wrong is said.
func TestImportOfTheirText(t *testing.T) {
	sp := newSpace(t, toy(64, 16, 1), Adams(2))
	const nest = `
realize: a
a 1 4 (0, 0) t p
 a 16 4c (0, 0) t
  realize: b
  b 1c 2c (0, 0) t
   b 4vc 1c (0, 0) *
  a 4vc 1c (0, 0) *
`
	s, err := sp.Import(nest)
	if err != nil {
		t.Fatal(err)
	}
	want := "a compute root vector x\na tasks [64,4]\nb compute a [4,1] vector x\n"
	if got := sp.FormatTrace(s.Trace()); got != want {
		t.Errorf("decisions:\n%s", got)
	}
	for _, c := range []struct{ from, to, says string }{
		{nest, "", `no line begins with "realize:"`},
		{"realize: b", "realize: c", `there is no Func "c"`},
		{"a 16 4c", "a 16", "no size of a loop"},
		{"4vc 1c (0, 0) *", "4vc 1c (0, 7) *", "no dimension"},
		{"(0, 0) t p", "(0, 0) t q", "none of t, p, *"},
		{"a 16 4c", "a 16 5c", "no decision about a"},
		{"a 16 4c", "a 16c 4c", "no decision about b"},
		{"  realize: b\n", "  inlined: b x\n", "invalid syntax"},
		{"  realize: b\n", "", "no decision about b"},
	} {
		_, err := sp.Import(strings.Replace(nest, c.from, c.to, 1))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q for %q: %v", c.to, c.from, err)
		}
	}
}

// A partial schedule's text gives the partial schedule.
func TestImportOfPartial(t *testing.T) {
	sp := newSpace(t, pipelinetest.Described(t, "harris.h21"), Adams(2))
	rng := rand.New(rand.NewSource(5))
	for range 20 {
		s := sp.Start()
		for a, ok := s.Sample(rng); ok; a, ok = s.Sample(rng) {
			s = s.Next(a)
			_, kind := s.Deciding()
			if kind == Tasks {
				continue // the text does not tell undecided tasks from none
			}
			again, err := sp.Import(s.String())
			if err != nil {
				t.Fatalf("%v\n%v", err, s)
			}
			if again.String() != s.String() || again.Depth() != s.Depth() {
				t.Fatalf("depth %d:\n%v\nfor depth %d:\n%v", again.Depth(), again, s.Depth(), s)
			}
		}
	}
}

func FuzzImport(f *testing.F) {
	sp := newSpace(f, toy(64, 16, 1, 2), Adams(2))
	rng := rand.New(rand.NewSource(1))
	for range 8 {
		f.Add(sp.Start().SampleDown(rng).String())
	}
	f.Add("realize: a\na 1 4 (0, 0) t p\n a 16c 4c (0, 0) t\n  a 4vc 1c (0, 0) *\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := sp.Import(text)
		if err != nil {
			return
		}
		if again, err := sp.Import(s.String()); err != nil || again.String() != s.String() {
			t.Errorf("its own text gives another nest (%v):\n%v", err, s)
		}
	})
}

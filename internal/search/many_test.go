package search

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// lengthened is a description with so many more Funcs before one of its Funcs, all like
// another: from says which Func, by its place among all, an edge of each of them reads. The
// Func that comes before them reads them where it read what comes after them.
func lengthened(t *testing.T, name string, like, before, more int, from func(i, edge int) int) *pipeline.Pipeline {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "pipeline", "testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]any
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	funcs := p["funcs"].([]any)
	model, err := json.Marshal(funcs[like])
	if err != nil {
		t.Fatal(err)
	}
	reads := func(f any, change func(edge, producer int) int) {
		for _, s := range f.(map[string]any)["stages"].([]any) {
			edges, _ := s.(map[string]any)["edges"].([]any)
			for i, e := range edges {
				e := e.(map[string]any)
				e["producer"] = change(i, int(e["producer"].(float64)))
			}
		}
	}
	for i, f := range funcs {
		reads(f, func(_, producer int) int {
			if producer >= before && i != before-1 {
				return producer + more
			}
			return producer
		})
	}
	var all []any
	all = append(all, funcs[:before]...)
	for i := range more {
		var f map[string]any
		if err := json.Unmarshal(model, &f); err != nil {
			t.Fatal(err)
		}
		f["name"] = fmt.Sprintf("more_%d", i)
		f["stages"].([]any)[0].(map[string]any)["name"] = f["name"]
		reads(f, func(edge, _ int) int { return from(i, edge) })
		all = append(all, f)
	}
	all = append(all, funcs[before:]...)
	for i, f := range all {
		f.(map[string]any)["index"] = len(all) - 1 - i
	}
	p["funcs"] = all
	if text, err = json.Marshal(p); err != nil {
		t.Fatal(err)
	}
	out, err := pipeline.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// longChain is unsharp with so many more blurs, one after the other.
func longChain(t *testing.T, more int) *pipeline.Pipeline {
	const before = 4
	return lengthened(t, "unsharp.h21", 2, before, more, func(i, _ int) int { return before + i + 1 })
}

// diamonds is harris with so many more products, each of the two that come after it and the
// last of the gradients: there are as many ways from one of those to the output as a Fibonacci
// number says, and nothing is wrong with inlining them all.
func diamonds(t *testing.T, more int) *pipeline.Pipeline {
	const before, gradX = 5, 8
	return lengthened(t, "harris.h21", 4, before, more, func(i, edge int) int {
		if i == more-1 && edge == 1 {
			return gradX + more
		}
		return before + i + 1 + edge
	})
}

// Prototypes of what is read by many ways take no longer for that, and merging sees each
// reader once.
func TestManyWays(t *testing.T) {
	p := diamonds(t, 60)
	sp := spacetest.New(t, p, space.Defaults(2))
	light := 0
	for f := range sp.Funcs() {
		if isLight(sp, f) && len(sp.Readers(f)) > 1 {
			light++
		}
	}
	if light < 50 {
		t.Fatalf("%d light Funcs with several readers: nothing was tested", light)
	}
	for _, c := range Prototypes(sp) {
		if err := c.Schedule.Check(p.Binding()); err != nil {
			t.Errorf("%s: %v", c.Origin, err)
		}
	}
}

// A pipeline of 500 stages has an answer within any budget.
func TestFiveHundredStages(t *testing.T) {
	p := longChain(t, 493)
	sp := spacetest.New(t, p, space.Defaults(2))
	for _, name := range []string{"beam", "mcts", "protuner"} {
		s, err := NewSearcher(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Search(t.Context(), Problem{Root: Start(sp), Evaluator: &points{x: feature.New(sp)}, Workers: 2}, Budget{Evaluations: 4}, 1)
		if err != nil || !r.Node.Complete() || r.Evaluations > 5 {
			t.Errorf("%s: %v after %d evaluations", name, err, r.Evaluations)
			continue
		}
		if err := r.Node.(*StateNode).State().Schedule().Check(p.Binding()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range Names() {
		s, err := New(name, sp, rand.New(rand.NewSource(1)))
		if err != nil {
			t.Fatal(err)
		}
		if c, err := s.Propose(context.Background(), 2); err != nil || len(c) != 2 || c[0].Schedule.Check(p.Binding()) != nil {
			t.Errorf("%s: %d proposed, %v", name, len(c), err)
		}
	}
}

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
)

// longChain is unsharp with so many more blurs, one after the other.
func longChain(t *testing.T, more int) *pipeline.Pipeline {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "pipeline", "testdata", "unsharp.h21.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p map[string]any
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	const before = 4 // Funcs that come before the blurs: what reads others reads later ones
	funcs := p["funcs"].([]any)
	blur, err := json.Marshal(funcs[2])
	if err != nil {
		t.Fatal(err)
	}
	reads := func(f any, change func(producer int) int) {
		for _, s := range f.(map[string]any)["stages"].([]any) {
			edges, _ := s.(map[string]any)["edges"].([]any)
			for _, e := range edges {
				e := e.(map[string]any)
				e["producer"] = change(int(e["producer"].(float64)))
			}
		}
	}
	for i, f := range funcs {
		reads(f, func(producer int) int {
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
		if err := json.Unmarshal(blur, &f); err != nil {
			t.Fatal(err)
		}
		f["name"] = fmt.Sprintf("blur_%d", i)
		f["stages"].([]any)[0].(map[string]any)["name"] = f["name"]
		reads(f, func(int) int { return before + i + 1 })
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

// A pipeline of 500 stages has an answer within any budget.
func TestFiveHundredStages(t *testing.T) {
	p := longChain(t, 493)
	sp := spaceOf(t, p, space.Defaults(2))
	for _, name := range []string{"beam", "mcts", "protuner"} {
		s, err := NewModel(name, nil)
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

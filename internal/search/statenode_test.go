package search

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// adams is the space of a golden description as Adams et al.'s code has it.
func adams(t testing.TB, name string, cores int) *space.Space {
	t.Helper()
	return spacetest.New(t, pipelinetest.Described(t, name), space.Adams(cores))
}

// points is a made-up model that needs no weights: work and storage, a little of
// how it is spread. It judges by features, as the real one does.
type points struct {
	mu sync.Mutex
	x  *feature.Extractor
}

func (p *points) Evaluate(_ context.Context, dst []float64, batch []Node) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, n := range batch {
		dst[i] = 1
		for _, f := range p.x.Features(n.(*StateNode).State(), nil) {
			dst[i] += f[feature.PointsComputedTotal] + 20*f[feature.InlinedCalls]/8 + 30*math.Sqrt(f[feature.BytesAtRealization]*f[feature.NumRealizations]) +
				f[feature.UniqueLinesReadPerRealization]/max(1, f[feature.InnerParallelism])
		}
	}
	return nil
}

func pipelineProblem(t testing.TB, name string, cores int) Problem {
	sp := adams(t, name, cores)
	return Problem{Root: Start(sp), Evaluator: &points{x: feature.New(sp)}, Workers: 2}
}

// Every search ends with a complete schedule of a real pipeline, within its budget
// and the same one each time.
func TestSearchersOnPipelines(t *testing.T) {
	for _, name := range []string{"greedy", "draws", "anneal", "mcts", "mcts_half_greedy", "protuner_deep"} {
		s, err := NewSearcher(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, pipe := range []string{"hist.h21", "scan.h21", "multi_output.h21", "constant.h21", "extern_stage.h21"} {
			p := pipelineProblem(t, pipe, 4)
			p.Keep, p.KeepDepth = 4, 1
			b := Budget{Evaluations: 300}
			if name == "greedy" {
				b = Budget{}
			}
			r := found(t, s, p, b, 1)
			p.Workers = 1
			again := found(t, s, p, b, 1)
			if r.Node.Key(Exact) != again.Node.Key(Exact) || r.Cost != again.Cost || !r.Node.Complete() || b.Evaluations > 0 && r.Evaluations > 301 {
				t.Errorf("%s, %s: %g, then %g, with %d evaluations", name, pipe, r.Cost, again.Cost, r.Evaluations)
			}
			keys := map[uint64]bool{}
			for _, c := range Candidates(r.Top, name) {
				k := c.State.StructuralHash(1)
				if keys[k] || c.Schedule.Check(pipelinetest.Described(t, pipe).Binding()) != nil || c.Hash != c.Schedule.Hash() {
					t.Errorf("%s, %s: candidate %016x", name, pipe, c.Hash)
				}
				keys[k] = true
			}
		}
	}
}

// Where no decision is within the limits, here a byte of memory, every search ends with
// a schedule all the same, and a parallel one.
func TestNothingLegal(t *testing.T) {
	d := pipelinetest.Described(t, "unsharp.h21")
	o := space.Defaults(4)
	o.MemoryLimit, o.InlinedCalls, o.Recompute = 1, 1, 1
	sp := spacetest.New(t, d, o)
	for _, name := range []string{"greedy", "mcts", "protuner"} {
		s, err := NewSearcher(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := found(t, s, Problem{Root: Start(sp), Evaluator: &points{x: feature.New(sp)}, Workers: 2}, Budget{Evaluations: 100}, 1)
		text := r.Node.(*StateNode).State().Schedule()
		if err := text.Check(d.Binding()); err != nil || !strings.Contains(text.String(), "output.parallel(") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// What StateNode says of states holds all the way down.
func TestStateNodes(t *testing.T) {
	for _, pipe := range []string{"harris.h21", "hist.h21", "unsharp.h21", "multi_output.h21"} {
		sp := adams(t, pipe, 4)
		rng := newStream(1)
		for range 5 {
			leaf := sampleDown(Start(sp), rng).(*StateNode)
			labels := leaf.Labels()
			depth := 0
			for n := Start(sp); !n.Complete(); depth++ {
				s := n.(*StateNode)
				children := n.Children(nil)
				actions := s.State().Actions(nil)
				if len(children) != len(actions) {
					t.Fatalf("%s: %d children of %d actions", pipe, len(children), len(actions))
				}
				for i, c := range children {
					if i%7 == 0 && c.Key(Exact) != s.State().Next(actions[i]).Key() {
						t.Fatalf("%s: child %d is another state", pipe, i)
					}
					if u := c.(*StateNode); i%7 == 0 && u.Unchanged(n) != (u.State().Root() == s.State().Root()) {
						t.Fatalf("%s: child %d unchanged: %v", pipe, i, u.Unchanged(n))
					}
				}
				if f := s.Finish(); !f.Complete() || !slices.Equal(f.(*StateNode).Labels()[:depth], s.Labels()) {
					t.Fatalf("%s: a fallback takes back decisions", pipe)
				}
				if v, ok := s.Vary(leaf, rng); ok && (!v.Complete() || !slices.Equal(v.(*StateNode).Labels()[:depth], labels[:depth])) {
					t.Fatalf("%s: a variation takes back decisions", pipe)
				}
				other := sampleDown(Start(sp), rng)
				if s.Fit(leaf).Key(Exact) != leaf.Key(Exact) {
					t.Fatalf("%s: what comes nearest to a leaf below is not that leaf", pipe)
				}
				if f := s.Fit(other); !f.Complete() || !slices.Equal(f.(*StateNode).Labels()[:depth], labels[:depth]) {
					t.Fatalf("%s: what comes nearest to another takes back decisions", pipe)
				}
				if c, ok := s.Cross(leaf, other, rng); ok && (!c.Complete() || !slices.Equal(c.(*StateNode).Labels()[:depth], labels[:depth])) {
					t.Fatalf("%s: a crossing takes back decisions", pipe)
				}
				next := n.Toward(leaf)
				if !slices.Equal(next.(*StateNode).Labels(), labels[:depth+1]) || level(next, 0) <= level(n, 0) {
					t.Fatalf("%s: on the wrong way after %d decisions", pipe, depth)
				}
				n = next
			}
			if depth != len(labels) {
				t.Fatalf("%s: %d decisions, %d labels", pipe, depth, len(labels))
			}
		}
	}
}

// A child that forgot what its listing found out is the same state as before.
func TestForgottenNodesAreTheSame(t *testing.T) {
	for _, o := range []space.Options{space.Adams(2), space.Defaults(2)} {
		sp := spacetest.New(t, pipelinetest.Described(t, "harris.h21"), o)
		for n := Start(sp); !n.Complete(); {
			list, again := n.Children(nil), n.Children(nil)
			for i := range list {
				c := list[i].(*StateNode)
				c.Key(0)
				if c.Forget(); c.made.Load() != nil {
					t.Fatalf("child %d keeps a state that is not asked for", i)
				}
				if list[i].Key(Exact) != again[i].Key(Exact) {
					t.Fatalf("child %d of %v", i, n.(*StateNode).State())
				}
			}
			n = list[len(list)/2]
		}
	}
}

package search

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// searchers are all that NewSearcher knows, with times that do not make a test long.
func searchers(t testing.TB) map[string]Searcher {
	t.Helper()
	out := map[string]Searcher{}
	for _, name := range SearcherNames() {
		if _, ok := Extensions()[name]; ok {
			continue // options has them
		}
		both := []string{name}
		if slices.Contains([]string{"beam", "greedy", "mcts", "draws", "anneal"}, name) {
			both = append(both, name+rerunSuffix)
		}
		for _, n := range both {
			change := func(o *MCTSOptions) {
				o.RootTime = 0
				if o.NeedsChoose {
					o.Choose = cheapest
				}
			}
			if _, ok := configurations()[name]; !ok {
				change = nil
			}
			s, err := NewSearcher(n, change)
			if err != nil {
				t.Fatal(err)
			}
			out[n] = s
		}
	}
	for name, change := range options {
		o := MCTSDefaults()
		o.Standard = 3
		change(&o)
		out["mcts, "+name] = NewMCTS(o)
	}
	return out
}

// cheapest stands for a measurement that agrees with the model.
func cheapest(_ context.Context, best []Solution) (int, error) {
	at := 0
	for i, s := range best {
		if s.Cost < best[at].Cost {
			at = i
		}
	}
	return at, nil
}

// options beyond the paper, one by one and all together.
var options = map[string]func(*MCTSOptions){
	"lazy":           func(o *MCTSOptions) { o.Lazy = true },
	"transpose":      func(o *MCTSOptions) { o.Transpose = true },
	"keep subtree":   func(o *MCTSOptions) { o.KeepSubtree = true },
	"widen":          func(o *MCTSOptions) { o.Widen = 1 },
	"widen lazily":   func(o *MCTSOptions) { o.Widen, o.Lazy = 1, true },
	"share labels":   func(o *MCTSOptions) { o.Share = 100 },
	"share keys":     func(o *MCTSOptions) { o.Share, o.ShareDepth = 100, 0 },
	"spread":         func(o *MCTSOptions) { o.Formula = Spread },
	"shrink":         func(o *MCTSOptions) { o.Shrink = 0.8 },
	"batch":          func(o *MCTSOptions) { o.Batch = 4 },
	"prior":          func(o *MCTSOptions) { o.Prior = 1 },
	"vary":           func(o *MCTSOptions) { o.Vary = 0.5 },
	"heat":           func(o *MCTSOptions) { o.Vary, o.Heat = 0.5, 0.1 },
	"cross":          func(o *MCTSOptions) { o.Vary, o.Cross = 0.5, 0.5 },
	"stay":           func(o *MCTSOptions) { o.Stay = 3 },
	"stay and keep":  func(o *MCTSOptions) { o.Stay, o.KeepSubtree = 3, true },
	"anneal":         func(o *MCTSOptions) { o.Anneal = 0.5 },
	"anneal, cross":  func(o *MCTSOptions) { o.Vary, o.Cross, o.Lead, o.Anneal = 0.5, 0.5, 0.2, 0.8 },
	"lead":           func(o *MCTSOptions) { o.Lead = 0.5 },
	"protuner":       func(o *MCTSOptions) { *o = Extensions()["protuner"] },
	"protuner_deep":  func(o *MCTSOptions) { *o = Extensions()["protuner_deep"] },
	"front":          func(o *MCTSOptions) { o.Front = 3 },
	"front at least": func(o *MCTSOptions) { o.FrontLeast = 0.4 },
	"settle":         func(o *MCTSOptions) { o.Settle = 4 },
	"few nodes":      func(o *MCTSOptions) { o.MaxNodes = 10 },
	"one tree":       func(o *MCTSOptions) { o.Standard, o.Greedy, o.Batch = 1, 0, 8 },
	"half the lot":   func(o *MCTSOptions) { o.Transpose, o.KeepSubtree, o.Share, o.Batch, o.Vary = true, true, 50, 3, 0.3 },
	"the other half": func(o *MCTSOptions) { o.Formula, o.Widen, o.Prior, o.Shrink, o.Front = Spread, 2, 1, 0.9, 2 },
}

// found is what must be equal between two runs: all but times and nodes held.
func found(t *testing.T, s Searcher, p Problem, b Budget, seed int64) Result {
	t.Helper()
	r, err := s.Search(context.Background(), p, b, seed)
	if err != nil {
		t.Fatal(err)
	}
	r.Elapsed, r.Nodes = 0, 0
	return r
}

func paths(r Result) (out [][]int) {
	for _, s := range r.Top {
		out = append(out, s.Node.(toyNode).path)
	}
	return out
}

// Every search keeps the promises of the interface.
func TestSearcherConformance(t *testing.T) {
	for name, s := range searchers(t) {
		t.Run(name, func(t *testing.T) { conformance(t, name, s) })
	}
}

func conformance(t *testing.T, name string, s Searcher) {
	endless := !(strings.HasPrefix(name, "greedy") || strings.HasPrefix(name, "beam")) || strings.HasSuffix(name, rerunSuffix)
	tree := uniform(5, 4, 3)
	plain := func(t *toyTree) Problem { return Problem{Root: t.root(), Evaluator: &toyCosts{}} }
	t.Run("answers within the budget", func(t *testing.T) {
		for _, n := range []int64{1, 2, 7, 50, 500} {
			p := plain(tree)
			r := found(t, s, p, Budget{Evaluations: n}, 1)
			if asked := p.Evaluator.(*toyCosts).asked.Load(); r.Evaluations != asked || asked > n && !(r.Fallback && asked == n+1) && !strings.HasSuffix(name, rerunSuffix) || asked > n+1 {
				t.Errorf("%d evaluations asked for, %d reported, of %d (fallback %v)", asked, r.Evaluations, n, r.Fallback)
			}
			if !r.Node.Complete() || tree.cost(r.Node.(toyNode).path) != r.Cost {
				t.Errorf("%d evaluations: node %v of cost %g", n, r.Node, r.Cost)
			}
		}
	})
	t.Run("workers change nothing", func(t *testing.T) {
		b := Budget{Evaluations: 300}
		p := plain(tree)
		p.Keep, p.KeepDepth = 5, Exact
		want := found(t, s, p, b, 9)
		for _, workers := range []int{1, 2, 8} {
			p.Workers = workers
			if got := found(t, s, p, b, 9); !reflect.DeepEqual(paths(got), paths(want)) || got.Cost != want.Cost ||
				got.Evaluations != want.Evaluations || got.Steps != want.Steps || !slices.Equal(got.Roots, want.Roots) {
				t.Errorf("%d workers: %v %g, not %v %g", workers, paths(got), got.Cost, paths(want), want.Cost)
			}
		}
	})
	t.Run("keeps the best that differ", func(t *testing.T) {
		p := plain(tree)
		tree := *tree
		tree.coarse = func(path []int, depth int) uint64 {
			return uint64(slices.Max(append([]int{0}, path[:min(1, len(path))]...)))
		}
		p.Root = tree.root()
		p.Keep, p.KeepDepth = 3, 0
		r := found(t, s, p, Budget{Evaluations: 400}, 1)
		seen := map[int]bool{}
		for i, x := range r.Top {
			first := x.Node.(toyNode).path[0]
			if seen[first] || i > 0 && x.Cost < r.Top[i-1].Cost || tree.cost(x.Node.(toyNode).path) != x.Cost {
				t.Errorf("top %d: %v of cost %g", i, x.Node, x.Cost)
			}
			seen[first] = true
		}
		if len(r.Top) == 0 || len(r.Top) > 3 {
			t.Errorf("%d kept", len(r.Top))
		}
	})
	t.Run("one node", func(t *testing.T) {
		if r := found(t, s, plain(uniform(0, 0, 1)), Budget{Evaluations: 20}, 1); r.Cost != 1 || r.Fallback {
			t.Errorf("cost %g, fallback %v", r.Cost, r.Fallback)
		}
	})
	t.Run("no choice", func(t *testing.T) {
		r := found(t, s, plain(uniform(30, 1, 1)), Budget{Evaluations: 2000}, 1)
		if len(r.Node.(toyNode).path) != 30 || r.Fallback {
			t.Errorf("%v, fallback %v", r.Node, r.Fallback)
		}
	})
	t.Run("cancellation", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r, err := s.Search(ctx, plain(tree), Budget{Evaluations: 100}, 1)
		if !errors.Is(err, context.Canceled) || r.Node == nil || !r.Node.Complete() || !r.Fallback {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("time", func(t *testing.T) {
		r, err := s.Search(context.Background(), plain(tree), Budget{Time: time.Millisecond}, 1)
		if err != nil || r.Node == nil || !r.Node.Complete() {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("the model breaks down", func(t *testing.T) {
		for _, at := range []int64{1, 60} {
			r, err := s.Search(context.Background(), Problem{Root: tree.root(), Evaluator: &toyCosts{fail: at}, Workers: 2}, Budget{Evaluations: 300}, 1)
			if r.Node == nil || !r.Node.Complete() {
				t.Fatalf("no answer: %+v", r)
			}
			if !errors.Is(err, errToy) && r.Evaluations >= at {
				t.Errorf("%d evaluations and %v", r.Evaluations, err)
			}
		}
	})
	t.Run("costs that cannot be", func(t *testing.T) {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
			broken := uniform(3, 3, 2)
			broken.cost = func([]int) float64 { return bad }
			r, err := s.Search(context.Background(), plain(broken), Budget{Evaluations: 300}, 1)
			if !errors.Is(err, ErrNoCost) || r.Node == nil || !r.Node.Complete() {
				t.Errorf("%g everywhere: %+v, %v", bad, r, err)
			}
			half := uniform(3, 3, 2)
			honest := half.cost
			half.cost = func(path []int) float64 {
				if len(path) == 3 && (path[0]+path[1]+path[2])%2 == 1 {
					return bad
				}
				return honest(path)
			}
			if r := found(t, s, plain(half), Budget{Evaluations: 400}, 1); math.IsInf(r.Cost, 1) || honest(r.Node.(toyNode).path) != r.Cost {
				t.Errorf("%g in half of the nodes: cost %g", bad, r.Cost)
			}
		}
	})
	t.Run("refusals", func(t *testing.T) {
		for what, p := range map[string]Problem{"no root": {Evaluator: &toyCosts{}}, "no model": {Root: tree.root()}, "workers": {Root: tree.root(), Evaluator: &toyCosts{}, Workers: -1}} {
			if _, err := s.Search(context.Background(), p, Budget{Evaluations: 1}, 1); err == nil {
				t.Errorf("%s: taken", what)
			}
		}
		if _, err := s.Search(context.Background(), plain(tree), Budget{Evaluations: -1}, 1); err == nil {
			t.Error("a negative budget was taken")
		}
		if _, err := s.Search(context.Background(), plain(tree), Budget{}, 1); (err != nil) != endless {
			t.Errorf("no budget: %v", err)
		}
	})
}

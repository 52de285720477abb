package search

import (
	"context"
	"math"
	"math/rand"
	"slices"
	"testing"
)

// What the C++ library's push_heap, pop_heap and make_heap do with the same costs,
// many of them equal: computed with GCC 12.
func TestHeapBreaksTiesAsCpp(t *testing.T) {
	wantPushed := []int{8, 12, 13, 14, 2, 10, 16, 18, 6, 21, 0, 9, 20, 19, 1, 23, 22, 15, 11, 5, 7, 4, 17, 3}
	wantMade := []int{6, 12, 0, 21, 9, 3, 18, 15, 13, 19, 1, 22, 10, 4, 16, 7, 14, 8, 11, 5, 23, 2, 20, 17}
	var h beamHeap
	x := uint32(1)
	for i := range 24 {
		x = x*1103515245 + 12345
		h.push(&beamEntry{cost: float64((x >> 16) % 4), level: i})
	}
	drain := func(h beamHeap) (out []int) {
		for len(h) > 0 {
			out = append(out, h.pop().level)
		}
		return out
	}
	if got := drain(slices.Clone(h)); !slices.Equal(got, wantPushed) {
		t.Errorf("pushed: %v", got)
	}
	for _, e := range h {
		e.cost = float64(e.level * 7 % 3)
	}
	h.order()
	if got := drain(h); !slices.Equal(got, wantMade) {
		t.Errorf("made: %v", got)
	}
}

func TestHeapSorts(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for n := range 70 {
		var h beamHeap
		for range n {
			h.push(&beamEntry{cost: rng.Float64()})
		}
		for i, e := range h {
			if i%3 == 0 {
				e.cost = rng.Float64()
			}
		}
		h.order()
		last := math.Inf(-1)
		for range n {
			e := h.pop()
			if e.cost < last {
				t.Fatalf("%d entries: %g after %g", n, e.cost, last)
			}
			last = e.cost
		}
	}
}

func beam(t *testing.T, tree *toyTree, o BeamOptions) Result {
	t.Helper()
	r, err := NewBeam(o).Search(context.Background(), Problem{Root: tree.root(), Evaluator: &toyCosts{}}, Budget{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A beam of one is greedy search, and a beam of all there is finds the best.
func TestBeamsFromGreedyToBruteForce(t *testing.T) {
	for seed := range int64(20) {
		tree := uniform(5, 3, seed)
		var n Node = tree.root()
		for !n.Complete() {
			children := n.Children(nil)
			n = slices.MinFunc(children, func(a, b Node) int {
				return int(math.Copysign(1, tree.cost(a.(toyNode).path)-tree.cost(b.(toyNode).path)))
			})
		}
		if r := beam(t, tree, Greedy()); !slices.Equal(r.Node.(toyNode).path, n.(toyNode).path) || r.Evaluations != 15 {
			t.Errorf("seed %d: greedy found %v with %d evaluations, not %v", seed, r.Node, r.Evaluations, n)
		}
		best, leaves := least(tree.root())
		if r := beam(t, tree, BeamOptions{Size: leaves, Passes: 1, Dropout: 100}); r.Cost != best {
			t.Errorf("seed %d: a beam of %d found %g, not %g", seed, leaves, r.Cost, best)
		}
		if r := beam(t, tree, BeamOptions{Size: leaves, Passes: 3, Dropout: 100}); r.Cost != best {
			t.Errorf("seed %d: a beam of %d in 3 passes found %g, not %g", seed, leaves, r.Cost, best)
		}
	}
}

// Levels wider than what is evaluated at once: a batch fills up while a node is being
// expanded, and the rest of its children still have to come.
func TestWideLevels(t *testing.T) {
	for seed := range int64(5) {
		tree := uniform(2, 60, seed)
		best, leaves := least(tree.root())
		if leaves < 3*flush {
			t.Fatalf("%d leaves fit into %d batches", leaves, leaves/flush+1)
		}
		seen := map[uint64]int{}
		honest := tree.cost
		tree.cost = func(path []int) float64 {
			seen[toyNode{tree, path}.Key(Exact)]++
			return honest(path)
		}
		if r := beam(t, tree, BeamOptions{Size: leaves, Passes: 1, Dropout: 100}); r.Cost != best {
			t.Errorf("seed %d: found %g, not %g", seed, r.Cost, best)
		}
		if len(seen) != leaves+60 {
			t.Errorf("seed %d: %d nodes were evaluated, not %d", seed, len(seen), leaves+60)
		}
	}
}

// A beam holds a level and what it came from, in each pass anew, and so does one that goes
// before trees, which are few here.
func TestHeldNodes(t *testing.T) {
	all := uniform(5, 3, 1)
	for _, passes := range []int{1, 4} {
		if r := beam(t, all, BeamOptions{Size: 243, Passes: passes, Dropout: 100}); r.Nodes != 3+9+27+81+243 {
			t.Errorf("%d passes of a beam of all there is: %d nodes, not 363", passes, r.Nodes)
		}
	}
	toy := uniform(3, 50, 1)
	two := beam(t, toy, BeamOptions{Size: 2, Passes: 5, Dropout: 100})
	o := MCTSDefaults()
	o.Standard, o.Greedy, o.MaxNodes, o.Lead = 1, 0, 2, 0.5
	r, err := NewMCTS(o).Search(context.Background(), Problem{Root: toy.root(), Evaluator: &toyCosts{}}, Budget{Evaluations: 4 * two.Evaluations}, 1)
	if err != nil || r.Nodes < two.Nodes || two.Nodes < 100 {
		t.Errorf("%d nodes of an ensemble, %d of a beam that went before it: %v", r.Nodes, two.Nodes, err)
	}
}

// As many evaluations as a beam takes are enough for it, and one less is not.
func TestBeamEndsWithItsBudget(t *testing.T) {
	tree := uniform(6, 4, 2)
	p := Problem{Root: tree.root(), Evaluator: &toyCosts{}}
	o := BeamOptions{Size: 4, Passes: 2, Dropout: 100}
	whole := beam(t, tree, o)
	r := found(t, NewBeam(o), p, Budget{Evaluations: whole.Evaluations}, 1)
	if r.Cost != whole.Cost || r.Evaluations != whole.Evaluations {
		t.Errorf("%g with %d evaluations, %g with %d", whole.Cost, whole.Evaluations, r.Cost, r.Evaluations)
	}
	if r = found(t, NewBeam(o), p, Budget{Evaluations: whole.Evaluations - 1}, 1); r.Evaluations >= whole.Evaluations {
		t.Errorf("%d evaluations of %d", r.Evaluations, whole.Evaluations-1)
	}
}

// The first decision has ten good-looking variations of a bad idea and one child of
// another kind, which costs a little more at first. A plain beam of four holds
// variations only; penalties by key make room for the other.
func TestPassesKeepTheBeamDiverse(t *testing.T) {
	tree := uniform(3, 11, 1)
	tree.cost = func(path []int) float64 {
		if path[0] < 10 {
			return 10 + float64(path[0])/1000 + float64(len(path))
		}
		return 12 - 3*float64(len(path)-1)
	}
	tree.coarse = func(path []int, depth int) uint64 {
		h := uint64(len(path))
		if len(path) > 0 && path[0] == 10 {
			h += 100
		}
		for i := range min(depth-1, len(path)) {
			h = h*31 + uint64(path[i]) + 7
		}
		return h
	}
	if r := beam(t, tree, BeamOptions{Size: 4, Passes: 1, Dropout: 100}); r.Cost != 13 {
		t.Errorf("one pass found %g", r.Cost)
	}
	if r := beam(t, tree, BeamOptions{Size: 4, Passes: 3, Dropout: 100}); r.Cost != 6 {
		t.Errorf("three passes found %g", r.Cost)
	}
}

// Without dropout the seed means nothing; with it, re-runs find more than one.
func TestDropout(t *testing.T) {
	tree := deceptive(5, 4, 2)
	p := Problem{Root: tree.root(), Evaluator: &toyCosts{}}
	s := NewBeam(BeamOptions{Size: 2, Passes: 2, Dropout: 30})
	costs := map[float64]bool{}
	for seed := range int64(20) {
		a, b := found(t, s, p, Budget{}, seed), found(t, s, p, Budget{}, seed)
		if a.Cost != b.Cost || a.Evaluations != b.Evaluations {
			t.Errorf("seed %d: %g and %g", seed, a.Cost, b.Cost)
		}
		costs[a.Cost] = true
	}
	if len(costs) < 3 {
		t.Errorf("20 seeds found %d different results", len(costs))
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []BeamOptions{{0, 1, 100}, {1, 0, 100}, {1, 1, 0}, {1, 1, 101}, {1, 1, math.NaN()}} {
		if o.Validate() == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	for i, change := range []func(*MCTSOptions){
		func(o *MCTSOptions) { o.Standard, o.Greedy = 0, 0 },
		func(o *MCTSOptions) { o.Standard = -1 },
		func(o *MCTSOptions) { o.RootTime = -1 },
		func(o *MCTSOptions) { o.Formula = 0 },
		func(o *MCTSOptions) { o.C = math.NaN() },
		func(o *MCTSOptions) { o.Reward = 9 },
		func(o *MCTSOptions) { o.Formula, o.Reward = Spread, BeatBest },
		func(o *MCTSOptions) { o.Explore = 0 },
		func(o *MCTSOptions) { o.Win = 3 },
		func(o *MCTSOptions) { o.Rollout = 0 },
		func(o *MCTSOptions) { o.NeedsChoose = true },
		func(o *MCTSOptions) { o.Widen = -1 },
		func(o *MCTSOptions) { o.ShareDepth = -2 },
		func(o *MCTSOptions) { o.Shrink = 0 },
		func(o *MCTSOptions) { o.Batch = 0 },
		func(o *MCTSOptions) { o.Vary = 2 },
		func(o *MCTSOptions) { o.Stay = -1 },
		func(o *MCTSOptions) { o.Front = 0 },
		func(o *MCTSOptions) { o.FrontLeast = 1.5 },
		func(o *MCTSOptions) { o.MaxNodes = 1 },
	} {
		o := MCTSDefaults()
		change(&o)
		if o.Validate() == nil {
			t.Errorf("change %d is taken", i)
		}
	}
	for _, o := range []AnnealOptions{{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 1, 2}, {1, 1, 1, 0}} {
		if o.Validate() == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	for _, name := range []string{"oracle", "", "mcts_cost+real_30s", "beam_reruns_", "beam_reruns_reruns"} {
		if _, err := NewSearcher(name, nil); err == nil {
			t.Errorf("a search %q was made", name)
		}
	}
	if _, err := NewSearcher("beam", func(*MCTSOptions) {}); err == nil {
		t.Error("a beam took the options of a tree search")
	}
}

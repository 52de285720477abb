package search

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// ProTuner's table 1 and figure 9, by hand.
func TestPresetsArePapers(t *testing.T) {
	type want struct {
		root    time.Duration
		formula Formula
		c       float64
		real    bool
	}
	all := Presets()
	for name, w := range map[string]want{
		"mcts_30s":           {30 * time.Second, Product, 1, false},
		"mcts_10s":           {10 * time.Second, Product, 1, false},
		"mcts_1s":            {time.Second, Product, 1, false},
		"mcts_0.5s":          {time.Second / 2, Product, 1, false},
		"mcts_Cp10_30s":      {30 * time.Second, Product, 10, false},
		"mcts_sqrt2_30s":     {30 * time.Second, Sum, math.Sqrt2, false},
		"mcts_cost+real_30s": {30 * time.Second, Product, 1, true},
		"mcts_cost+real_1s":  {time.Second, Product, 1, true},
	} {
		o, plain := all[name], MCTSDefaults()
		if (want{o.RootTime, o.Formula, o.C, o.NeedsChoose}) != w {
			t.Errorf("%s: %+v", name, o)
		}
		// Nothing else than what the paper changes may differ from its defaults.
		o.RootTime, o.Formula, o.C, o.NeedsChoose = plain.RootTime, plain.Formula, plain.C, false
		if o.Standard != 15 || o.Greedy != 1 || o.Explore != Average || o.Win != Best || o.Rollout != RandomRollout || o.Reward != InverseCost ||
			o.Lazy || o.Transpose || o.KeepSubtree || o.Widen+o.Share+o.Prior+o.Vary+o.Cross+o.Lead+o.Anneal+o.FrontLeast != 0 || o.Shrink != 1 || o.Batch != 1 || o.Front != 1 || o.Heat != 0 || o.Stay+o.Settle != 0 {
			t.Errorf("%s is not the paper's alone: %+v", name, o)
		}
	}
}

// Scores by hand: a node of 10 visits, its child of 4 with costs 1, 2, 4 and 5.
func TestScores(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*MCTSOptions)
		want   float64
	}{
		"product":      {func(o *MCTSOptions) {}, 4. / 12 * (1 + math.Sqrt(math.Log(10)/4))},
		"Cp10":         {func(o *MCTSOptions) { o.C = 10 }, 4. / 12 * (1 + 10*math.Sqrt(math.Log(10)/4))},
		"sqrt2":        {func(o *MCTSOptions) { o.Formula, o.C = Sum, math.Sqrt2 }, (1+.5+.25+.2)/4 + math.Sqrt2*math.Sqrt(2*math.Log(10)/4)},
		"explore best": {func(o *MCTSOptions) { o.Explore = Best }, 1 * (1 + math.Sqrt(math.Log(10)/4))},
		"spread": {func(o *MCTSOptions) { o.Formula, o.C = Spread, 2 },
			-math.Log(40)/4 + 2*.7*math.Sqrt(2*math.Log(10)/4)},
		"points": {func(o *MCTSOptions) { o.Formula, o.Reward = Sum, BeatParent }, 2./4 + math.Sqrt(2*math.Log(10)/4)},
	} {
		o := MCTSDefaults()
		c.change(&o)
		tr := &tree{o: o}
		v := &vertex{weight: 1}
		for _, x := range []float64{1, 2, 4, 5} {
			reward := 1 / x
			if o.Reward == BeatParent {
				reward = 0
				if x < 3 {
					reward = 1
				}
			}
			v.add(x, reward)
		}
		if got := tr.score(v, o.C, math.Log(10), .7); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %g, not %g", name, got, c.want)
		}
	}
}

// An infinite cost is a visit that brings nothing.
func TestInfiniteCostsBringNothing(t *testing.T) {
	for _, f := range []Formula{Product, Sum, Spread} {
		o := MCTSDefaults()
		o.Formula = f
		tr := &tree{o: o}
		good, poor, none := &vertex{weight: 1}, &vertex{weight: 1}, &vertex{weight: 1}
		for i := range 4 {
			good.add(2, .5)
			none.add(math.Inf(1), 0)
			if i%2 == 0 {
				poor.add(2, .5)
			} else {
				poor.add(math.Inf(1), 0)
			}
		}
		g, p, n := tr.score(good, 1, 2, 1), tr.score(poor, 1, 2, 1), tr.score(none, 1, 2, 1)
		if !(g > p && p > n) || math.IsNaN(g) || math.IsNaN(n) {
			t.Errorf("formula %d: scores %g, %g and %g", f, g, p, n)
		}
	}
}

// With many more evaluations than nodes every configuration of a tree search ends
// at the known best, whether or not the way there looks good.
func TestTreesFindKnownBest(t *testing.T) {
	for name, s := range searchers(t) {
		if _, ok := s.(*MCTS); !ok {
			continue
		}
		for what, tree := range map[string]*toyTree{"honest": uniform(4, 3, 5), "trap": trap(4, 3), "deceptive": deceptive(4, 3, 6)} {
			best, _ := least(tree.root())
			r := found(t, s, Problem{Root: tree.root(), Evaluator: &toyCosts{}}, Budget{Evaluations: 16000}, 1)
			if r.Cost != best {
				t.Errorf("%s, %s: %g, the best is %g", name, what, r.Cost, best)
			}
		}
	}
}

// Where every partial cost lies, greedy search ends badly and trees do not, with as
// many evaluations as a fraction of the leaves.
func TestTreesLookAhead(t *testing.T) {
	for what, tree := range map[string]*toyTree{"trap": trap(6, 4), "deceptive": deceptive(6, 4, 1)} {
		best, leaves := least(tree.root())
		greedy := beam(t, tree, Greedy())
		r := found(t, NewMCTS(MCTSDefaults()), Problem{Root: tree.root(), Evaluator: &toyCosts{}}, Budget{Evaluations: int64(leaves) / 2}, 1)
		if !(r.Cost < best+(greedy.Cost-best)/3) {
			t.Errorf("%s: trees found %g, greedy %g, the best is %g", what, r.Cost, greedy.Cost, best)
		}
	}
}

// A small tree that has been searched through is left alone.
func TestExhaustionEndsTheSearch(t *testing.T) {
	tree := uniform(3, 2, 1)
	o := MCTSDefaults()
	o.Standard, o.Greedy = 1, 0
	r := found(t, NewMCTS(o), Problem{Root: tree.root(), Evaluator: &toyCosts{}}, Budget{Evaluations: 1 << 40}, 1)
	if best, _ := least(tree.root()); r.Cost != best || r.Evaluations > 50 {
		t.Errorf("%g with %d evaluations", r.Cost, r.Evaluations)
	}
}

// The root moves one decision at a time towards the best known, and who found it is
// told. Each time that the first one is searched it gets its part of what is left.
func TestRootsMove(t *testing.T) {
	const decisions, budget = 8, 8000
	for stay, first := range map[int]float64{0: 1. / 8, 3: 1 - math.Pow(7./8, 4)} {
		tree := uniform(decisions, 5, 4)
		o := MCTSDefaults()
		o.Stay = stay
		r := found(t, NewMCTS(o), Problem{Root: tree.root(), Evaluator: &toyCosts{}}, Budget{Evaluations: budget}, 3)
		if len(r.Roots) != decisions {
			t.Fatalf("%d roots", len(r.Roots))
		}
		if part := float64(r.Roots[0].Evaluations) / budget; math.Abs(part-first) > 0.1 {
			t.Errorf("searched %d times more, the first root got %g of the budget, not %g", stay, part, first)
		}
		last, evals := math.Inf(1), int64(0)
		for i, root := range r.Roots {
			if root.Best > last || root.Evaluations < evals || root.Tree >= 16 || (root.Tree < 0) != (root.Best == last) {
				t.Errorf("root %d: %+v after %g", i, root, last)
			}
			last, evals = root.Best, root.Evaluations
		}
		if last != r.Cost {
			t.Errorf("the last root knew %g, the result is %g", last, r.Cost)
		}
	}
}

// Chains are long enough to cool slowly before there are more of them, and half of a large
// budget goes to many short ones. All of it is spent.
func TestChainLengths(t *testing.T) {
	for _, c := range []struct {
		most           int64
		chains         int
		least, longest int64
	}{
		{0, 2, 0, 0}, {4000, 2, 2000, 2000}, {149_999, 2, 74_999, 75_000}, {150_000, 3, 50_000, 50_000},
		{400_000, 8, 50_000, 50_000}, {410_000, 9, 10_000, 50_000}, {600_000, 18, 20_000, 50_000},
		{1_440_000, 44, 20_000, 90_000},
	} {
		lengths, sum := chainLengths(c.most), int64(0)
		for _, n := range lengths {
			sum += n
		}
		if len(lengths) != c.chains || slices.Min(lengths) != c.least || slices.Max(lengths) != c.longest || sum != c.most {
			t.Errorf("%d evaluations in %d chains of %d to %d, %d in all; not %d of %d to %d",
				c.most, len(lengths), slices.Min(lengths), slices.Max(lengths), sum, c.chains, c.least, c.longest)
		}
	}
}

// The chains before the trees are those of Anneal, with its seeds. Trees that cross go on
// from what the chains found, and from nothing else.
func TestAnnealingBefore(t *testing.T) {
	const budget = 4016
	tree := uniform(8, 5, 4)
	o := MCTSDefaults()
	o.Anneal = 1
	alone := AnnealDefaults()
	alone.Chains = minChains
	of := func() Problem { return Problem{Root: tree.root(), Evaluator: &toyCosts{}} }
	want := found(t, NewAnneal(alone), of(), Budget{Evaluations: budget}, 3)
	if got := found(t, NewMCTS(o), of(), Budget{Evaluations: budget}, 3); got.Cost != want.Cost || got.Evaluations != budget {
		t.Errorf("all of the budget in chains: %g after %d evaluations, not %g", got.Cost, got.Evaluations, want.Cost)
	}
	o.Anneal, o.Vary, o.Cross = float64(budget-16)/budget, 1, 1
	e := &lastCosts{toyCosts: &toyCosts{}}
	r := found(t, NewMCTS(o), Problem{Root: tree.root(), Evaluator: e}, Budget{Evaluations: budget}, 3)
	if len(e.costs) != budget || r.Evaluations != budget {
		t.Fatalf("%d evaluations, %d reported", len(e.costs), r.Evaluations)
	}
	begun := slices.Compact(slices.Sorted(slices.Values(e.costs[budget-16:])))
	if len(begun) > minChains || begun[0] != slices.Min(e.costs) {
		t.Errorf("sixteen trees begin at %v, where chains found %g", begun, slices.Min(e.costs))
	}
}

// lastCosts remembers the costs it gave; for one worker.
type lastCosts struct {
	*toyCosts
	costs []float64
}

func (e *lastCosts) Evaluate(ctx context.Context, dst []float64, batch []Node) error {
	err := e.toyCosts.Evaluate(ctx, dst, batch)
	e.costs = append(e.costs, dst[:len(batch)]...)
	return err
}

// What is chosen by measuring moves the root and is the result, until something else is
// chosen at a later root.
func TestChooseDecides(t *testing.T) {
	tree := uniform(4, 3, 4)
	o := MCTSDefaults()
	calls, most := 0, 0.0
	o.Choose = func(_ context.Context, best []Solution) (int, error) {
		calls++
		dearest := 0
		for i, s := range best {
			if s.Cost > best[dearest].Cost {
				dearest = i
			}
		}
		most = max(most, best[dearest].Cost)
		return dearest, nil
	}
	r := found(t, NewMCTS(o), Problem{Root: tree.root(), Evaluator: &toyCosts{}}, Budget{Evaluations: 500}, 1)
	if calls != 4 || r.Cost != tree.cost(r.Node.(toyNode).path) || r.Cost != most || !(r.Top[0].Cost < r.Cost) {
		t.Errorf("%d calls, %g chosen, %g was chosen before, %g was the best", calls, r.Cost, most, r.Top[0].Cost)
	}
	o.Choose = func(context.Context, []Solution) (int, error) { return 0, errToy }
	if _, err := NewMCTS(o).Search(context.Background(), Problem{Root: tree.root(), Evaluator: &toyCosts{}}, Budget{Evaluations: 500}, 1); err != errToy {
		t.Errorf("a failed measurement: %v", err)
	}
}

// Progressive widening, bounded trees and virtual loss do what they say.
func TestTreeShapes(t *testing.T) {
	toy := uniform(4, 50, 1)
	grow := func(change func(*MCTSOptions), rounds int) *tree {
		o := MCTSDefaults()
		change(&o)
		m := newMeter(Problem{Root: toy.root(), Evaluator: &toyCosts{}}, Budget{})
		tr := &tree{o: o, m: m, limit: math.MaxInt64, found: newShelf(m.p), incumbent: Solution{Cost: math.Inf(1)}}
		tr.plant(toy.root(), 0)
		for range rounds {
			if err := tr.round(context.Background(), 1); err != nil {
				t.Fatal(err)
			}
		}
		return tr
	}
	if tr := grow(func(o *MCTSOptions) { o.Widen = 2 }, 25); len(tr.root.children) != 10 {
		t.Errorf("25 visits widened to %d children, not 10", len(tr.root.children))
	}
	if tr := grow(func(o *MCTSOptions) { o.MaxNodes = 80 }, 500); tr.nodes > 80+50 || tr.root.visits != 500 {
		t.Errorf("%d nodes, %d visits", tr.nodes, tr.root.visits)
	}
	if tr := grow(func(o *MCTSOptions) { o.Batch = 40 }, 2); len(tr.root.children) != 50 || tr.root.visits != 80 || tr.root.pending != 0 {
		t.Errorf("80 simulations in 2 batches: %d children, %d visits", len(tr.root.children), tr.root.visits)
	}
	tr := grow(func(o *MCTSOptions) { o.Prior = 1 }, 6)
	costs := []float64{}
	for _, c := range tr.root.children {
		costs = append(costs, toy.cost(c.node.(toyNode).path))
	}
	if !slices.IsSorted(costs) || tr.root.children[0].weight != 1 || !(tr.root.children[5].weight < 1) {
		t.Errorf("by prior: costs %v, weights %g and %g", costs, tr.root.children[0].weight, tr.root.children[5].weight)
	}
	if tr := grow(func(o *MCTSOptions) { o.Lazy = true }, 200); len(tr.root.children) < 45 || tr.root.made {
		t.Errorf("lazily, 200 visits: %d children", len(tr.root.children))
	}
}

// What a tree keeps counts as it did before: planted at its own root again it has as many
// nodes, and below a child fewer.
func TestKeptNodesCount(t *testing.T) {
	toy := uniform(6, 6, 1)
	for name, change := range map[string]func(*MCTSOptions){
		"plain":     func(o *MCTSOptions) {},
		"transpose": func(o *MCTSOptions) { o.Transpose = true },
		"lazy":      func(o *MCTSOptions) { o.Lazy = true },
		"prior":     func(o *MCTSOptions) { o.Prior = 1 },
	} {
		o := MCTSDefaults()
		o.KeepSubtree = true
		change(&o)
		root := Node(same{toy.root().(toyNode)})
		m := newMeter(Problem{Root: root, Evaluator: &toyCosts{}}, Budget{})
		tr := &tree{o: o, m: m, limit: math.MaxInt64, found: newShelf(m.p), incumbent: Solution{Cost: math.Inf(1)}}
		tr.plant(root, 0)
		for range 60 {
			if err := tr.round(context.Background(), 1); err != nil {
				t.Fatal(err)
			}
		}
		before, visits := tr.nodes, tr.root.visits
		if tr.plant(root, 0); tr.nodes != before || tr.m.held != before || tr.root.visits != visits || before < 20 {
			t.Errorf("%s: %d nodes, %d by the meter, where there were %d", name, tr.nodes, tr.m.held, before)
		}
		if tr.plant(tr.root.children[0].node, 1); tr.nodes >= before || tr.m.held != tr.nodes || tr.root.visits == 0 {
			t.Errorf("%s: %d nodes below a child, %d by the meter, of %d", name, tr.nodes, tr.m.held, before)
		}
	}
}

// A chain with heat takes a dearer schedule as often as its temperature says: e times
// the cost once in e at a temperature of 1, never at a hundredth of that; the best known
// stays.
func TestHeatCools(t *testing.T) {
	toy := uniform(2, 4, 1)
	o := MCTSDefaults()
	o.Vary, o.Heat = 1, 1
	m := newMeter(Problem{Root: toy.root(), Evaluator: &toyCosts{}}, Budget{})
	taken := func(spent int64) (n int) {
		for i := range 2000 {
			now := Solution{toyNode{toy, []int{0, 0}}, 1}
			tr := &tree{
				o: o, m: m, found: newShelf(m.p), root: &vertex{node: toy.root()}, incumbent: now, stand: now,
				evals: 100, spent: spent,
			}
			tr.backUp(&simulation{path: []*vertex{tr.root}, rng: newStream(1, uint64(i)), leaf: toyNode{toy, []int{1, 1}}, cost: math.E, varies: true})
			if tr.stand.Cost != 1 {
				n++
			}
			if tr.incumbent.Cost != 1 {
				t.Fatalf("the best known costs %g, not 1", tr.incumbent.Cost)
			}
		}
		return n
	}
	if n := taken(0); math.Abs(float64(n)/2000-1/math.E) > 0.04 {
		t.Errorf("hot: %d of 2000 taken, not 1/e of them", n)
	}
	if n := taken(100); n != 0 {
		t.Errorf("cold: %d taken", n)
	}
}

// Where nothing gets cheaper a tree is done with a root after so many simulations, and
// where it does it goes on.
func TestSettles(t *testing.T) {
	const settle, depth, each = 7, 5, 1 << 20
	o := MCTSDefaults()
	o.Settle = settle
	spent := func(cost func([]int) float64) int64 {
		toy := uniform(depth, 6, 1)
		toy.cost = cost
		p := Problem{Root: toy.root(), Evaluator: &toyCosts{}, Workers: 2}
		return found(t, NewMCTS(o), p, Budget{Evaluations: each}, 1).Steps
	}
	level := spent(func([]int) float64 { return 1 })
	if want := int64((depth*settle + 1) * (o.Standard + o.Greedy)); level > want || level < want/2 {
		t.Errorf("%d simulations where all cost the same, not %d or somewhat fewer", level, want)
	}
	lower := 1.0
	var mu sync.Mutex
	falling := spent(func([]int) float64 {
		mu.Lock()
		defer mu.Unlock()
		if lower > 1e-100 {
			lower *= 0.9
		}
		return lower
	})
	if falling < 2*level {
		t.Errorf("%d simulations where each is cheaper than the one before, %d where none is", falling, level)
	}
}

// Nodes with the same key are one, with what is known of it, and are let go of when
// everything below has been visited by whichever way.
func TestTransposition(t *testing.T) {
	o := MCTSDefaults()
	o.Transpose = true
	grow := func(root Node) (tr *tree, known int) {
		m := newMeter(Problem{Root: root, Evaluator: &toyCosts{}}, Budget{})
		tr = &tree{o: o, m: m, limit: math.MaxInt64, found: newShelf(m.p), incumbent: Solution{Cost: math.Inf(1)}}
		tr.plant(root, 0)
		for tr.steps < 1000 && !tr.root.closed {
			if err := tr.round(context.Background(), 1); err != nil {
				t.Fatal(err)
			}
			known = max(known, len(tr.known))
		}
		if !tr.root.closed || len(tr.known) != 5 || tr.nodes != 5 || tr.m.held != 5 {
			t.Errorf("closed %v, %d known, %d nodes held, %d by the meter, not the root and its 4 children", tr.root.closed, len(tr.known), tr.nodes, tr.m.held)
		}
		for _, c := range tr.root.children {
			if c.node != nil || c.children != nil {
				t.Errorf("a closed vertex holds on to a node or its %d children", len(c.children))
			}
		}
		return tr, known
	}
	toy := uniform(3, 4, 1)
	// Below the root, nodes are told apart by their last decision alone.
	merged, most := grow(same{toy.root().(toyNode)})
	if most > 1+3*4 {
		t.Errorf("%d nodes told apart, not 13", most)
	}
	// By averages the root moves to a child, whether that is closed or not.
	o.Win, o.Standard, o.Greedy = Average, 2, 0
	r, err := NewMCTS(o).Search(t.Context(), Problem{Root: toy.root(), Evaluator: &toyCosts{}}, Budget{Evaluations: 5000}, 1)
	if err != nil || len(r.Roots) != 3 {
		t.Errorf("%d roots of 3, %v", len(r.Roots), err)
	}
	o = MCTSDefaults()
	o.Transpose = true
	if apart, _ := grow(toy.root()); apart.steps < 2*merged.steps {
		t.Errorf("%d simulations where nodes are the same, %d where none is", merged.steps, apart.steps)
	}
}

// same is a toy node that is known by its level and last decision alone.
type same struct{ toyNode }

func (n same) Children(dst []Node) []Node {
	for _, c := range n.toyNode.Children(nil) {
		dst = append(dst, same{c.(toyNode)})
	}
	return dst
}

func (n same) Key(int) uint64 {
	if len(n.path) == 0 {
		return 0
	}
	return uint64(100*len(n.path) + n.path[len(n.path)-1])
}

// A tree keeps nothing of what it need not come to again: vertices below one that is
// closed, and what a node led to, while the answers found there stay whole.
func TestTreesLetGo(t *testing.T) {
	grow := func(root Node, costs Evaluator, o MCTSOptions, rounds int) *tree {
		m := newMeter(Problem{Root: root, Evaluator: costs, Keep: 10}, Budget{})
		tr := &tree{o: o, m: m, limit: math.MaxInt64, found: newShelf(m.p), incumbent: Solution{Cost: math.Inf(1)}}
		tr.plant(root, 0)
		for range rounds {
			if tr.root.closed {
				break
			}
			if err := tr.round(context.Background(), 1); err != nil {
				t.Fatal(err)
			}
		}
		return tr
	}
	for _, prior := range []float64{0, 1} {
		o := MCTSDefaults()
		o.Prior = prior
		tr := grow(uniform(3, 3, 1).root(), &toyCosts{}, o, 1000)
		if !tr.root.closed || tr.nodes != 4 || tr.m.held != 4 {
			t.Errorf("prior %g: closed %v, %d nodes held, %d by the meter, not the root and its 3 children", prior, tr.root.closed, tr.nodes, tr.m.held)
		}
	}

	sp := spacetest.New(t, pipelinetest.Described(t, "hist.h21"), space.Adams(2))
	for _, lazy := range []bool{false, true} {
		o := MCTSDefaults()
		o.Lazy = lazy
		tr := grow(Start(sp), byKey{}, o, 3000)
		var whole func(v *vertex) int
		whole = func(v *vertex) (n int) {
			if len(v.children) == 0 && v != tr.root && v.node.(*StateNode).made.Load() != nil {
				n++
			}
			for _, c := range v.children {
				n += whole(c)
			}
			return n
		}
		if n := whole(tr.root); n > 0 {
			t.Errorf("lazy %v: %d of %d leaves hold their state", lazy, n, tr.nodes)
		}
		for _, x := range tr.found.sorted() {
			if s := x.Node.(*StateNode).made.Load(); s == nil || !s.Complete() {
				t.Errorf("lazy %v: an answer of cost %g is gone", lazy, x.Cost)
			}
		}
	}
}

// byKey gives every state some cost of its own.
type byKey struct{}

func (byKey) Evaluate(_ context.Context, dst []float64, batch []Node) error {
	for i, n := range batch {
		dst[i] = float64(n.Key(Exact)%1000 + 1)
	}
	return nil
}

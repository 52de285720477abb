package search

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// MCTS is ProTuner's search: an ensemble of trees, some of which roll out greedily,
// which search below a common root and then move it together, one decision at a
// time (ProTuner, section 4, figures 3 and 6). docs/search.md has it in full and
// says how our reading differs from the text.
type MCTS struct{ o MCTSOptions }

// NewMCTS makes an ensemble; it panics on options that do not validate.
func NewMCTS(o MCTSOptions) *MCTS {
	if err := o.Validate(); err != nil {
		panic(err)
	}
	return &MCTS{o}
}

type ensemble struct {
	o     MCTSOptions
	m     *meter
	trees []*tree
	root  Node
	depth int
	best  Solution // that the root moves towards
	beat  float64  // the lowest cost known when the root was chosen
	roots []Root
}

// Search implements Searcher. Without a RootTime it needs a budget.
func (x *MCTS) Search(ctx context.Context, p Problem, b Budget, seed int64) (Result, error) {
	m, in, end, err := beginSearch(ctx, p, b, x.o.RootTime == 0)
	if err != nil {
		return Result{}, err
	}
	defer end()
	e := &ensemble{o: x.o, m: m, root: p.Root, best: Solution{Cost: math.Inf(1)}, beat: math.Inf(1)}
	found := newShelf(p)
	err = e.lead(in, found)
	var ends []Solution
	if err == nil {
		ends, err = e.anneal(in, found, seed)
	}
	n := x.o.Standard + x.o.Greedy
	for i := range n {
		t := &tree{
			o: x.o, m: m, index: i, greedy: i < x.o.Greedy, seed: seed, beat: math.Inf(1),
			incumbent: Solution{Cost: math.Inf(1)}, found: newShelf(p), limit: math.MaxInt64,
		}
		if b.Evaluations > 0 {
			t.limit = share(b.Evaluations-m.evals.Load(), n, i)
		}
		if len(ends) > 0 {
			t.here = ends[i%len(ends)]
		}
		e.trees = append(e.trees, t)
	}
	if err == nil {
		err = e.search(in, seed)
	}
	for _, t := range e.trees {
		found.merge(t.found)
	}
	r, err := m.result(ctx, found, e.root, seed, err)
	if x.o.Choose != nil && e.best.Node != nil {
		r.Solution = e.best
	}
	r.Roots = e.roots
	return r, err
}

// share is the i-th of n nearly equal parts of a whole.
func share(whole int64, n, i int) int64 {
	return whole*int64(i+1)/int64(n) - whole*int64(i)/int64(n)
}

// shares is a whole in n nearly equal parts.
func shares(whole int64, n int) []int64 {
	parts := make([]int64, n)
	for i := range parts {
		parts[i] = share(whole, n, i)
	}
	return parts
}

// lead runs the beams that go before the trees.
func (e *ensemble) lead(ctx context.Context, found *shelf) error {
	b := e.m.b.part(e.o.Lead)
	if e.o.Lead == 0 || b.Evaluations == 0 && b.Time == 0 {
		return nil
	}
	for size := 1; ; size *= 2 {
		r, err := NewBeam(BeamOptions{Size: size, Passes: 5, Dropout: 100}).Search(ctx, e.m.p, e.m.left(b), 0)
		e.m.searched(r)
		if !r.Fallback {
			for _, x := range r.Top {
				found.put(x)
				e.m.steps.Add(1)
			}
			e.best = found.best()
			e.beat = e.best.Cost
		}
		over := b.Evaluations > 0 && e.m.evals.Load()+2*r.Evaluations > b.Evaluations || b.Time > 0 && e.m.elapsed()+2*r.Elapsed > b.Time
		switch {
		case errors.Is(err, ErrNoCost):
			return nil // the trees may find one that has
		case err != nil:
			return err
		case over || r.Fallback || size > maxLead || 2*r.Nodes > maxLeadNodes:
			return nil
		}
	}
}

// The chains that anneal before the trees begin are as long as their temperature needs to
// fall slowly; beyond that there are more of them. Where even those would be longer than
// they need to be, up to half of the evaluations go to short ones: where a chain ends is
// decided early, by what it begins with, and many that begin find what few do not.
const (
	chainLength = 50_000
	minChains   = 2
	maxChains   = 8
	shortLength = 20_000
)

// chainLengths splits so many evaluations into chains.
func chainLengths(most int64) []int64 {
	if most <= maxChains*chainLength {
		return shares(most, int(max(minChains, most/chainLength)))
	}
	short := min(most-maxChains*chainLength, most/2)
	return append(shares(most-short, maxChains), shares(short, int(max(1, short/shortLength)))...)
}

// anneal runs these chains and gives the best of each, the best one first.
func (e *ensemble) anneal(ctx context.Context, found *shelf, seed int64) ([]Solution, error) {
	b := e.m.b.part(e.o.Anneal)
	if e.o.Anneal == 0 || b == (Budget{}) || e.m.over(ctx) || e.root.Complete() {
		return nil, nil
	}
	if b.Evaluations > 0 {
		b.Evaluations = min(b.Evaluations, e.m.b.Evaluations-e.m.evals.Load())
	}
	lengths := untilTimeIsOver(min(maxChains, e.m.p.Workers))
	if b.Evaluations > 0 {
		lengths = chainLengths(b.Evaluations)
	}
	inner, cancel := ctx, context.CancelFunc(func() {})
	if b.Time > 0 {
		inner, cancel = context.WithTimeout(ctx, b.Time)
	}
	defer cancel()
	ends, err := NewAnneal(AnnealDefaults()).chains(inner, e.m, lengths, time.Now(), b.Time, seed)
	if inner.Err() != nil && ctx.Err() == nil {
		err = nil // its part of the time is over
	}
	var out []Solution
	for _, end := range ends {
		if x := end.best(); x.Node != nil {
			out = append(out, x)
		}
		found.merge(end)
	}
	slices.SortStableFunc(out, ByCost)
	if x := found.best(); x.Cost < e.best.Cost {
		e.best, e.beat = x, x.Cost
	}
	return out, err
}

// maxLead is the widest beam but one that goes before trees: it ends the doubling where a
// beam takes no time. maxLeadNodes bounds what a beam twice as wide would hold, at about
// 300 bytes a node: an eighth of what a search may take.
const (
	maxLead      = 256
	maxLeadNodes = 420_000
)

func (e *ensemble) search(ctx context.Context, seed int64) error {
	if e.root.Complete() {
		t := e.trees[0]
		t.plant(e.root, 0)
		t.limit, t.o.Batch = max(t.limit, 1), 1
		return t.round(ctx, 1)
	}
	stays, winner := e.o.Stay, -1
	for !e.root.Complete() {
		if e.m.over(ctx) {
			return errBudget
		}
		if err := e.atRoot(ctx, seed); err != nil {
			return err
		}
		next, tree, err := e.next(ctx)
		if err != nil {
			return err
		}
		if next == nil {
			return nil
		}
		if tree >= 0 {
			winner = tree
		}
		if stays > 0 {
			stays--
			continue
		}
		e.root = next
		e.depth++
		e.roots = append(e.roots, Root{Tree: winner, Best: e.beat, Evaluations: e.m.evals.Load()})
		winner = -1
	}
	return nil
}

// atRoot lets every tree search below the root for its part of what is left.
func (e *ensemble) atRoot(ctx context.Context, seed int64) error {
	// How many decisions are still to come is known of a complete node only: one
	// drawn at random stands for them.
	left, rng := 0, newStream(seed, 0, uint64(e.depth))
	for n := e.root; !n.Complete(); n = n.Sample(rng) {
		left++
	}
	part := min(1, max(e.o.FrontLeast, e.o.Front/float64(left)))
	inner, last := ctx, time.Duration(0)
	cancel := context.CancelFunc(func() {})
	if e.o.RootTime > 0 {
		last = e.o.RootTime
	} else if b := e.m.b.Time; b > 0 {
		last = max(1, time.Duration(float64(time.Until(e.m.start.Add(b)))*part))
	}
	if last > 0 {
		inner, cancel = context.WithTimeout(ctx, last)
	}
	defer cancel()
	n := len(e.trees)
	if e.o.RootTime > 0 {
		part = 1
	}
	each := max(1, e.m.p.Workers/n)
	var mates []Node
	if e.o.Vary > 0 && e.o.Cross > 0 {
		for _, t := range e.trees {
			if t.last = t.here; t.last.Node != nil {
				mates = append(mates, t.last.Node)
			}
		}
	}
	for _, t := range e.trees {
		t.plant(e.root, e.depth)
		t.mates = mates
		t.beat = e.beat
		t.incumbent, t.stand = e.best, e.best
		t.bar, t.since = e.best.Cost*(1-notable), t.steps
		t.came, t.time = time.Now(), last
		t.evals = math.MaxInt64
		if e.m.b.Evaluations > 0 {
			t.evals = t.spent + int64(math.Ceil(float64(t.limit-t.spent)*part))
		}
	}
	q := newTurns(e.trees)
	return eachOf(n, e.m.p.Workers, func(int) error {
		for t := q.take(); t != nil; t = q.take() {
			err := t.turn(inner, each)
			if errors.Is(err, errBudget) || err != nil && inner.Err() != nil && ctx.Err() == nil {
				t.evals, err = 0, nil
			}
			q.give(t, err)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// next is the root to move to and the tree that found it; nil where no tree has
// found a complete node.
func (e *ensemble) next(ctx context.Context) (Node, int, error) {
	tree := -1
	var here []Solution
	var of []int
	for i, t := range e.trees {
		if !math.IsInf(t.here.Cost, 1) {
			here, of = append(here, t.here), append(of, i)
		}
		if e.o.Choose == nil && t.here.Cost < e.best.Cost {
			e.best, tree = t.here, i
		}
	}
	if e.o.Choose != nil && len(here) > 0 {
		if e.best.Node != nil {
			here, of = append(here, e.best), append(of, -1) // which is below this root as well
		}
		i, err := e.o.Choose(ctx, here)
		if err != nil {
			return nil, -1, err
		}
		e.best, tree = here[i], of[i]
	}
	e.beat = e.best.Cost
	if e.o.Win == Average {
		// The best known may lie elsewhere: later roots start without one.
		if child, of := e.average(); child != nil {
			e.best = Solution{Cost: math.Inf(1)}
			return child.node, of, nil
		}
	}
	if e.best.Node == nil {
		return nil, -1, nil
	}
	return e.root.Toward(e.best.Node), tree, nil
}

// average is the root's child with the lowest average cost, and its tree.
func (e *ensemble) average() (best *vertex, tree int) {
	least := math.Inf(1)
	for i, t := range e.trees {
		for _, c := range t.root.children {
			if mean := c.cost / float64(c.useful); c.useful > 0 && mean < least {
				best, least, tree = c, mean, i
			}
		}
	}
	return best, tree
}

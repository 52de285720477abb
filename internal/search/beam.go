package search

import (
	"context"
	"fmt"
	"math"
	"math/rand"
)

// BeamOptions set a beam search.
type BeamOptions struct {
	// Size is how many nodes of a level are expanded. 1 is greedy search. Default 32.
	Size int
	// Passes of the coarse-to-fine scheme; with a beam of 1 it has no meaning and
	// there is one. Default 5.
	Passes int
	// Dropout is the chance, in percent, that a beam of one drops no node over a whole pass;
	// at every node that is about to be expanded it is a corresponding one (section
	// 4.3). The seed matters only with it. Default 100: none is.
	Dropout float64
}

// BeamDefaults are those of Halide's Adams2019.
func BeamDefaults() BeamOptions { return BeamOptions{Size: 32, Passes: 5, Dropout: 100} }

// Greedy is a beam of one.
func Greedy() BeamOptions { return BeamOptions{Size: 1, Passes: 1, Dropout: 100} }

// Validate names the first option out of range.
func (o BeamOptions) Validate() error {
	switch {
	case o.Size < 1:
		return fmt.Errorf("search: a beam of %d; at least 1", o.Size)
	case o.Passes < 1:
		return fmt.Errorf("search: %d passes of a beam; at least 1", o.Passes)
	case !(o.Dropout > 0 && o.Dropout <= 100):
		return fmt.Errorf("search: a dropout of %g; above 0, and at most 100 for none", o.Dropout)
	}
	return nil
}

// Beam is the beam search of Adams et al. 2019, section 3.2, as Halide's Adams2019
// carries it out (version 21): all nodes of a level have
// had the same number of decisions; the children of the Size best ones make the
// next. To keep variations of one node from filling the beam there are passes. In
// pass p the cost of a node is multiplied by how many nodes with the same key at
// depth p+1 came before it, and is multiplied by 10 more where p > 0 and its key at
// depth p-1 is not permitted; where that leaves it dearer than the next one it goes
// back into the queue, once. At the end of a pass the keys at depth p of up to Size
// nodes within 20% of the best one, and of their ancestors, become permitted. The
// best of all passes wins.
//
// Peculiarities of theirs that show in what is found, and are kept: a level with
// nothing to decide hands a node's penalty on to its child; penalties count when
// the results of passes are compared; and ties are broken as in their heap (see
// beamHeap), in which children wait at cost 0 until a batch of 1024 is full.
type Beam struct{ o BeamOptions }

// NewBeam makes a beam search; it panics on options that do not validate.
func NewBeam(o BeamOptions) *Beam {
	if err := o.Validate(); err != nil {
		panic(err)
	}
	if o.Size == 1 {
		o.Passes = 1
	}
	return &Beam{o}
}

// beamEntry is a node in the beam.
type beamEntry struct {
	node      Node
	sight     sight
	parent    *beamEntry
	level     int
	cost      float64 // with penalties
	plain     float64 // without
	penalised bool
}

// sight is what a beam asks of every node. It is found out by the workers, while the
// node's state is at hand for its cost, and so that nothing is left to be made of
// states where the level is put together.
type sight struct {
	fine, coarse uint64 // keys at the depths by which a pass tells nodes apart and permits them
	level        int
	complete     bool
}

// see looks at a node of a level.
func (r *beamRun) see(n Node, pass, at int) sight {
	s := sight{level: level(n, at-1), complete: n.Complete()}
	if r.o.Passes > 1 {
		s.fine = n.Key(pass + 1)
		if pass > 0 {
			s.coarse = n.Key(pass - 1)
		}
	}
	return s
}

// structure is a key at a level, with what is permitted.
type structure struct {
	level int
	key   uint64
}

type beamRun struct {
	o         BeamOptions
	m         *meter
	permitted map[structure]bool
	found     *shelf
	rng       *rand.Rand
	keep      float64 // probability not to drop a node
	frontier  Node    // the best node of the last level made, to fall back from
}

// Search implements Searcher. It ends by itself.
func (b *Beam) Search(ctx context.Context, p Problem, budget Budget, seed int64) (Result, error) {
	m, in, end, err := beginSearch(ctx, p, budget, false)
	if err != nil {
		return Result{}, err
	}
	defer end()
	r := &beamRun{o: b.o, m: m, permitted: map[structure]bool{}, found: newShelf(p), frontier: p.Root}
	if b.o.Dropout < 100 {
		levels, n := 0, Node(nil)
		r.rng = newStream(seed)
		for n = p.Root; !n.Complete(); n = n.Sample(r.rng) {
			levels = level(n, levels)
		}
		r.keep = math.Pow(b.o.Dropout/100, 1/float64(max(1, level(n, levels))))
	}
	var best *beamEntry
	for pass := range b.o.Passes {
		var e *beamEntry
		if e, err = r.pass(in, pass); err != nil {
			break
		}
		if best == nil || e.cost < best.cost {
			best = e
		}
	}
	// The one that wins by penalised cost is what it ends with, whatever else was kept, unless
	// it has no finite cost, which what the search fell back on may have.
	res, err := m.result(ctx, r.found, r.frontier, seed, err)
	if best != nil && err == nil && !math.IsInf(best.plain, 1) {
		res.Solution = Solution{best.node, best.plain}
	}
	return res, err
}

// pass is one pass of the beam. It returns the first complete node of the last
// level.
func (r *beamRun) pass(ctx context.Context, pass int) (*beamEntry, error) {
	root := &beamEntry{node: r.m.p.Root, level: level(r.m.p.Root, -1), cost: math.Inf(1), plain: math.Inf(1)}
	root.sight = r.see(root.node, pass, root.level)
	if root.node.Complete() {
		if !r.m.reserve(1) {
			return nil, errBudget
		}
		var cost [1]float64
		if err := r.m.appraise(ctx, cost[:], []Node{root.node}); err != nil {
			return nil, err
		}
		root.cost, root.plain = cost[0], cost[0]
		r.reached(root)
		return root, nil
	}
	pending := beamHeap{root}
	held := 0 // by this pass: this level and all nodes that others came from
	defer func() { r.m.hold(-held) }()
	for {
		seen := map[uint64]int{}
		var parents []*beamEntry
		for len(parents) < r.o.Size && len(pending) > 0 {
			e, ok := r.take(&pending, pass, seen)
			if !ok {
				break
			}
			if r.rng != nil && len(pending) > 1 && r.rng.Float64() >= r.keep {
				continue
			}
			if e.final() {
				r.bless(e, &pending, pass)
				return e, nil
			}
			if ctx.Err() != nil { // there may be levels left that cost nothing
				return nil, errBudget
			}
			if !e.idle() {
				r.m.steps.Add(1)
			}
			parents = append(parents, e)
		}
		next, err := r.expand(ctx, parents, pass)
		if err != nil {
			return nil, err
		}
		held += len(next) - len(pending)
		r.m.hold(len(next) - len(pending))
		pending = next
		r.frontier = pending[0].node
		// All of a level are complete or none is.
		if pending[0].final() {
			for _, e := range pending {
				r.reached(e)
			}
		}
	}
}

// final says that an entry is complete and has no decision to come, not even one
// with nothing to decide.
func (e *beamEntry) final() bool { return e.sight.complete && e.level >= e.sight.level }

// take takes the best entry that is not put off by a penalty.
func (r *beamRun) take(pending *beamHeap, pass int, seen map[uint64]int) (*beamEntry, bool) {
	for len(*pending) > 0 {
		e := pending.pop()
		if r.o.Passes > 1 && !e.penalised {
			seen[e.sight.fine]++
			penalty := seen[e.sight.fine]
			if pass > 0 && !r.permitted[structure{e.level, e.sight.coarse}] {
				penalty += 10
			}
			if penalty > 1 {
				e.penalised = true
				e.cost *= float64(penalty)
				if len(*pending) > 0 && e.cost > (*pending)[0].cost {
					forgetAll(e.node)
					pending.push(e)
					continue
				}
			}
		}
		return e, true
	}
	return nil, false
}

// idle says that an entry has nothing to decide at its level.
func (e *beamEntry) idle() bool { return e.sight.level > e.level }

// flush is how many children wait for their costs at once, at most.
const flush = 1024

// brood are the children of an entry.
type brood struct {
	nodes  []Node
	same   []bool // the same solution as the parent, whose cost it takes over
	fresh  int64  // how many are not
	costs  []float64
	sights []sight
}

// breed makes the children of an entry.
func (e *beamEntry) breed() *brood {
	if n, ok := e.node.(sibling); ok {
		e.node = n.Alone()
	}
	b := &brood{}
	if e.idle() {
		b.nodes, b.same = []Node{e.node}, []bool{true}
	} else {
		b.nodes = e.node.Children(nil)
		b.same = make([]bool, len(b.nodes))
		for i, n := range b.nodes {
			if u, ok := n.(unchanged); ok && u.Unchanged(e.node) {
				b.same[i] = true
			} else {
				b.fresh++
			}
		}
	}
	b.costs, b.sights = make([]float64, len(b.nodes)), make([]sight, len(b.nodes))
	return b
}

// glance is how many nodes are looked at and costed at once: few enough that their
// states are still in a cache for the second, many enough that a worker's turn is worth
// its waking.
const glance = 32

// look costs the children of an entry of a level, which nobody else knows of yet and
// which the budget is reserved for, and takes sight of them.
func (r *beamRun) look(ctx context.Context, b *brood, pass, at, workers int) error {
	return eachOf((len(b.nodes)+glance-1)/glance, workers, func(part int) error {
		from := part * glance
		nodes := b.nodes[from:min(from+glance, len(b.nodes))]
		var fresh []Node
		for i, n := range nodes {
			b.sights[from+i] = r.see(n, pass, at)
			if !b.same[from+i] {
				fresh = append(fresh, n)
			}
		}
		costs := make([]float64, len(fresh))
		if err := r.m.appraise(ctx, costs, fresh); err != nil {
			return err
		}
		for i, n := range nodes {
			if b.same[from+i] {
				continue
			}
			b.costs[from+i], costs = costs[0], costs[1:]
			forgetAll(n)
		}
		return nil
	})
}

// expand makes the children of a level's entries. Each worker makes and costs those of
// one entry at a time; then they are put together in the order in which one worker
// would have made them, so that ties are broken alike.
func (r *beamRun) expand(ctx context.Context, parents []*beamEntry, pass int) (beamHeap, error) {
	broods := make([]*brood, len(parents))
	// The budget is handed out in the order of the parents, too: where it does not
	// last for all, who gets some of it does not depend on the workers.
	turn := make([]chan bool, len(parents)+1)
	for i := range turn {
		turn[i] = make(chan bool, 1)
	}
	turn[0] <- true
	err := eachOf(len(parents), r.m.p.Workers, func(i int) error {
		b := parents[i].breed()
		broods[i] = b
		enough := <-turn[i] && r.m.reserve(b.fresh)
		turn[i+1] <- enough
		if !enough {
			return errBudget
		}
		return r.look(ctx, b, pass, parents[i].level+1, r.m.p.Workers/len(parents))
	})
	if err != nil {
		return nil, err
	}
	var next beamHeap
	var waiting []*beamEntry
	settle := func() {
		for _, c := range waiting {
			c.cost = c.plain
		}
		waiting = waiting[:0]
	}
	for i, e := range parents {
		b := broods[i]
		for j, n := range b.nodes {
			c := &beamEntry{node: n, sight: b.sights[j], parent: e, level: e.level + 1}
			if b.same[j] {
				c.cost, c.plain = e.cost, e.plain
				next.push(c)
				continue
			}
			if len(waiting) == flush {
				settle()
			}
			c.plain = b.costs[j]
			next.push(c)
			waiting = append(waiting, c)
		}
	}
	settle()
	next.order()
	return next, nil
}

// bless permits the structures of what is about as good as the best of a pass.
func (r *beamRun) bless(best *beamEntry, pending *beamHeap, pass int) {
	if pass+1 >= r.o.Passes {
		return
	}
	e := best
	for blessed := 0; blessed < r.o.Size && e.cost <= 1.2*best.cost; blessed++ {
		for a := e; a != nil; a = a.parent {
			r.permitted[structure{a.level, a.node.Key(pass)}] = true
		}
		if len(*pending) == 0 {
			break
		}
		e = pending.pop()
	}
}

// reached keeps a complete node.
func (r *beamRun) reached(e *beamEntry) {
	r.found.put(Solution{e.node, e.plain})
}

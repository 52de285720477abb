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
	// Dropout is the chance, in percent, that no node is dropped over a whole pass;
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
	parent    *beamEntry
	level     int
	cost      float64 // with penalties
	plain     float64 // without
	penalised bool
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
	children  []Node  // of the node being expanded
	batch     []Node  // and costs: those being evaluated
	costs     []float64
}

// Search implements Searcher. It ends by itself.
func (b *Beam) Search(ctx context.Context, p Problem, budget Budget, seed int64) (Result, error) {
	if err := p.validate(); err != nil {
		return Result{}, err
	}
	if err := budget.validate(false); err != nil {
		return Result{}, err
	}
	r := &beamRun{o: b.o, m: newMeter(p, budget), permitted: map[structure]bool{}, found: newShelf(p), frontier: p.Root}
	if b.o.Dropout < 100 {
		levels, n := 0, Node(nil)
		r.rng = newStream(seed)
		for n = p.Root; !n.Complete(); n = n.Sample(r.rng) {
			levels = level(n, levels)
		}
		r.keep = math.Pow(b.o.Dropout/100, 1/float64(max(1, level(n, levels))))
	}
	in, cancel := r.m.within(ctx)
	defer cancel()
	var best *beamEntry
	var err error
	for pass := range b.o.Passes {
		var end *beamEntry
		if end, err = r.pass(in, pass); err != nil {
			break
		}
		if best == nil || end.cost < best.cost {
			best = end
		}
		r.m.event("pass")
	}
	// The one that wins by penalised cost comes first, whatever else was kept.
	res, err := r.m.result(ctx, r.found, r.frontier, seed, err)
	if best != nil && err == nil {
		res.Solution = Solution{best.node, best.plain}
	}
	return res, err
}

// pass is one pass of the beam. It returns the first complete node of the last
// level.
func (r *beamRun) pass(ctx context.Context, pass int) (*beamEntry, error) {
	root := &beamEntry{node: r.m.p.Root, level: level(r.m.p.Root, -1), cost: math.Inf(1), plain: math.Inf(1)}
	if root.node.Complete() {
		if err := r.cost(ctx, []*beamEntry{root}); err != nil {
			return nil, err
		}
		r.reached(root)
		return root, nil
	}
	pending := beamHeap{root}
	for {
		seen := map[uint64]int{}
		var next beamHeap
		var waiting []*beamEntry
		for expanded := 0; expanded < r.o.Size && len(pending) > 0; expanded++ {
			e, ok := r.take(&pending, pass, seen)
			if !ok {
				break
			}
			if r.rng != nil && len(pending) > 1 && r.rng.Float64() >= r.keep {
				expanded--
				continue
			}
			if r.final(e) {
				r.bless(e, &pending, pass)
				return e, nil
			}
			if r.m.over(ctx) {
				return nil, errBudget
			}
			if n, ok := e.node.(sibling); ok {
				e.node = n.Alone()
			}
			var err error
			if waiting, err = r.expand(ctx, e, &next, waiting); err != nil {
				return nil, err
			}
		}
		if err := r.cost(ctx, waiting); err != nil {
			return nil, err
		}
		next.order()
		r.m.hold(len(next) - len(pending))
		pending = next
		r.frontier = pending[0].node
		// All of a level are complete or none is.
		if r.final(pending[0]) {
			for _, e := range pending {
				r.reached(e)
			}
		}
	}
}

// final says that an entry is complete and has no decision to come, not even one
// with nothing to decide.
func (r *beamRun) final(e *beamEntry) bool {
	return e.node.Complete() && e.level >= level(e.node, e.level-1)
}

// take takes the best entry that is not put off by a penalty.
func (r *beamRun) take(pending *beamHeap, pass int, seen map[uint64]int) (*beamEntry, bool) {
	for len(*pending) > 0 {
		e := pending.pop()
		if r.o.Passes > 1 && !e.penalised {
			h := e.node.Key(pass + 1)
			seen[h]++
			penalty := seen[h]
			if pass > 0 && !r.permitted[structure{e.level, e.node.Key(pass - 1)}] {
				penalty += 10
			}
			if penalty > 1 {
				e.penalised = true
				e.cost *= float64(penalty)
				if len(*pending) > 0 && e.cost > (*pending)[0].cost {
					if f, ok := e.node.(forgetter); ok {
						f.Forget()
					}
					pending.push(e)
					continue
				}
			}
		}
		return e, true
	}
	return nil, false
}

// flush is how many children wait for their costs at once, at most.
const flush = 1024

// expand makes the children of e: into next, and those to be costed into waiting.
func (r *beamRun) expand(ctx context.Context, e *beamEntry, next *beamHeap, waiting []*beamEntry) ([]*beamEntry, error) {
	pass := func(n Node) {
		next.push(&beamEntry{node: n, parent: e, level: e.level + 1, cost: e.cost, plain: e.plain})
	}
	if level(e.node, e.level-1) > e.level {
		pass(e.node)
		return waiting, nil
	}
	r.m.steps.Add(1)
	r.children = e.node.Children(r.children[:0])
	for _, n := range r.children {
		if u, ok := n.(unchanged); ok && u.Unchanged(e.node) {
			pass(n)
			continue
		}
		if len(waiting) == flush {
			if err := r.cost(ctx, waiting); err != nil {
				return nil, err
			}
			waiting = waiting[:0]
		}
		c := &beamEntry{node: n, parent: e, level: e.level + 1}
		next.push(c)
		waiting = append(waiting, c)
	}
	return waiting, nil
}

// cost sets the costs of those that wait for it.
func (r *beamRun) cost(ctx context.Context, waiting []*beamEntry) error {
	left := int64(math.MaxInt64)
	if r.m.b.Evaluations > 0 {
		left = r.m.b.Evaluations - r.m.evals.Load()
	}
	if int64(len(waiting)) > left {
		return errBudget
	}
	r.batch = r.batch[:0]
	for _, e := range waiting {
		r.batch = append(r.batch, e.node)
	}
	if len(r.costs) < len(waiting) {
		r.costs = make([]float64, flush)
	}
	if err := r.m.evaluateWide(ctx, r.costs, r.batch); err != nil {
		return err
	}
	for i, e := range waiting {
		e.cost, e.plain = r.costs[i], r.costs[i]
		if f, ok := e.node.(forgetter); ok {
			f.Forget()
		}
	}
	return nil
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
	r.m.improved(e.plain)
}

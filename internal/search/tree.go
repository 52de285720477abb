package search

import (
	"context"
	"math"
	"math/rand"
	"slices"
	"time"
)

// One tree of the ensemble (ProTuner, section 4), which selects, expands, simulates and
// backs up (section 2.4).

// sums are what is known of a set of simulations.
type sums struct {
	visits int // all that ended, those without a finite cost too
	useful int // with a finite cost
	cost   float64
	reward float64
	ln     float64
	ln2    float64
	best   float64
}

func (s *sums) add(cost, reward float64) {
	s.visits++
	if math.IsInf(cost, 1) {
		return
	}
	if s.useful == 0 || cost < s.best {
		s.best = cost
	}
	l := math.Log(max(cost, math.SmallestNonzeroFloat64))
	s.useful++
	s.cost += cost
	s.reward += reward
	s.ln += l
	s.ln2 += l * l
}

// spread is the standard deviation of the logarithms of the costs.
func (s *sums) spread() float64 {
	if s.useful < 2 {
		return 1
	}
	n := float64(s.useful)
	return math.Sqrt(max(0, s.ln2/n-s.ln/n*s.ln/n))
}

// vertex is a node in a tree with what is known of it. With Transpose it can have
// several parents.
type vertex struct {
	sums
	node     Node // with Transpose nil where closed, but for the root's
	children []*vertex
	parents  int // how many vertices have it as a child, with Transpose
	// untried are children that have not been visited, in the order in which they
	// will be, the last one first, once made is set.
	untried []Node
	prior   []float64 // of untried
	made    bool
	closed  bool // everything below has been visited
	pending int  // simulations under way
	weight  float64
	like    *sums // what is known of its likes
	label   uint64
	key     uint64 // exact, where the tree compares vertices: its node forgets
}

// exhausted holds where v has had all of its children, and all of them are closed.
func (v *vertex) exhausted() bool {
	return v.made && len(v.untried) == 0 && !slices.ContainsFunc(v.children, func(c *vertex) bool { return !c.closed })
}

// tree is one tree of an ensemble at one root.
type tree struct {
	o      MCTSOptions
	m      *meter
	index  int
	greedy bool
	seed   int64
	sims   uint64 // simulations begun, over all roots

	root      *vertex
	depth     int // decisions taken before the root
	nodes     int
	known     map[uint64]*vertex
	likes     map[uint64]*sums
	beat      float64 // what BeatParent has to beat
	incumbent Solution
	stand     Solution // where its chain is: what it varies
	last      Solution // best found at the last root, with Cross, until it has resumed from it
	mates     []Node   // what it may cross that with: the last of every tree
	found     *shelf
	here      Solution // best found at this root
	spent     int64    // evaluations, over all roots
	limit     int64    // of spent, in all
	steps     int64

	evals int64   // of spent, at which it is done with this root
	bar   float64 // cost that its best must come below to count as progress, with Settle
	since int64   // of steps, when it last did
	begun int64   // of spent, at which it came to this root
	came  time.Time
	time  time.Duration // that it has at this root, 0 without such a limit
}

// plant makes the tree of a new root. What it knew below it is kept if so asked.
func (t *tree) plant(root Node, depth int) {
	var kept *vertex
	if t.o.KeepSubtree && t.root != nil {
		key := root.Key(Exact)
		for _, v := range append([]*vertex{t.root}, t.root.children...) {
			if v.key == key {
				kept = v
			}
		}
	}
	t.m.hold(-t.nodes)
	t.known, t.likes, t.here = map[uint64]*vertex{}, map[uint64]*sums{}, Solution{Cost: math.Inf(1)}
	t.depth, t.nodes, t.begun = depth, 0, t.spent
	if kept == nil {
		kept = &vertex{weight: 1, key: root.Key(Exact)}
	}
	if kept.node == nil {
		kept.node = root
	}
	t.root = kept
	t.keep(kept)
	t.m.hold(t.nodes)
}

// keep counts what a root that was kept brings along, children not visited yet included.
func (t *tree) keep(v *vertex) {
	if t.o.Transpose {
		if t.known[v.key] != nil {
			v.parents++
			return
		}
		v.parents = 1
		t.known[v.key] = v
	}
	t.nodes += 1 + len(v.untried)
	if v.label != 0 || v.like != nil {
		v.like = t.likesOf(v.label)
	}
	for _, c := range v.children {
		t.keep(c)
	}
}

// simulation is one walk down the tree and what came of it.
type simulation struct {
	path  []*vertex
	rng   *rand.Rand
	limit int64 // evaluations it may spend
	spent int64
	leaf  Node
	cost  float64
	err   error
	// varies: it changes the best known from the root, and the root alone learns of
	// it.
	varies bool
}

// evaluate costs nodes within the limit.
func (s *simulation) evaluate(ctx context.Context, m *meter, dst []float64, batch []Node) error {
	if int64(len(batch)) > s.limit-s.spent {
		return errBudget
	}
	s.spent += int64(len(batch))
	return m.evaluate(ctx, dst, batch)
}

// end ends the simulation at a complete node that has not been costed.
func (s *simulation) end(ctx context.Context, m *meter, leaf Node) error {
	var cost [1]float64
	err := s.evaluate(ctx, m, cost[:], []Node{leaf})
	s.leaf, s.cost = leaf, cost[0]
	return err
}

// done says that the tree has had its part of this root.
func (t *tree) done() bool {
	return t.spent >= t.evals || t.root.closed || t.o.Settle > 0 && t.steps-t.since >= int64(t.o.Settle)
}

// A turn of a tree ends after so many rounds, or so many evaluations: long enough that
// taking turns costs nothing, and short enough that workers are done at the same time.
const (
	turnRounds = 16
	turnEvals  = 256
)

// turn does a few rounds.
func (t *tree) turn(ctx context.Context, workers int) error {
	from := t.spent
	if err := t.resume(ctx); err != nil {
		return err
	}
	for k := 0; k < turnRounds && t.spent < from+turnEvals && !t.done(); k++ {
		if err := t.round(ctx, workers); err != nil {
			return err
		}
	}
	return nil
}

// round does a batch of simulations. It returns errBudget where the evaluations left are
// too few for one.
func (t *tree) round(ctx context.Context, workers int) error {
	batch := make([]*simulation, t.o.Batch)
	left := t.limit - t.spent
	for i := range batch {
		s := &simulation{rng: newStream(t.seed, uint64(t.index)+1, t.sims), limit: max(0, left/int64(len(batch)-i))}
		t.sims++
		left -= s.limit
		batch[i] = s
		if s.err = t.selectNode(ctx, s); s.err != nil {
			continue
		}
		for _, v := range s.path {
			v.pending++
		}
	}
	_ = eachOf(len(batch), workers, func(i int) error {
		if s := batch[i]; s.err == nil {
			s.err = t.simulate(ctx, s)
		}
		return nil
	})
	for _, s := range batch {
		for _, v := range s.path {
			v.pending = max(0, v.pending-1)
		}
	}
	var err error
	for _, s := range batch {
		t.spent += s.spent
		if s.err != nil {
			if err == nil {
				err = s.err
			}
			continue
		}
		t.backUp(s)
		t.lighten(s)
	}
	return err
}

// lighten lets the node that a simulation ended its walk at forget what it led to,
// unless it has children: most are never come to again, and there are as many as
// simulations. What lies below a vertex that is closed is let go of.
func (t *tree) lighten(s *simulation) {
	last := len(s.path) - 1
	if v := s.path[last]; v != t.root && !v.made {
		forgetAll(v.node)
	}
	for ; last > 0 && s.path[last].closed; last-- {
		t.release(s.path[last])
	}
}

// release lets go of what lies below a vertex that is closed and not the root, unless
// it lies below others, too.
func (t *tree) release(v *vertex) {
	forgetAll(v.node)
	if t.o.Transpose {
		if t.o.Win != Average || !slices.Contains(t.root.children, v) { // to which the root may move
			v.node = nil // it would keep all of its siblings
		}
		for _, c := range v.children {
			if c.parents--; c.parents == 0 {
				delete(t.known, c.key)
				t.count(-1)
			}
		}
	} else {
		t.count(-v.below())
	}
	v.children, v.untried, v.prior = nil, nil, nil
}

// below is how many vertices there are below v, none of which has untried children.
func (v *vertex) below() int {
	n := len(v.children)
	for _, c := range v.children {
		n += c.below()
	}
	return n
}

// selectNode goes from the root to a node not visited before, to the best child wherever
// there is nothing to expand.
//
// A vertex that several parents have (Transpose) is closed on the way through one of
// them; the others learn of it when they are come to, and the walk begins again.
func (t *tree) selectNode(ctx context.Context, s *simulation) error {
	v := t.root
	s.path = append(s.path, v)
	if t.o.Vary > 0 && t.stand.Node != nil && !v.node.Complete() && s.rng.Float64() < t.o.Vary {
		s.varies = true
		return nil
	}
	for !v.node.Complete() {
		child, fresh, err := t.expand(ctx, s, v)
		if err != nil {
			return err
		}
		if child == nil {
			child = t.bestChild(v, len(s.path)-1)
			if child == nil && t.o.Transpose && v != t.root && v.exhausted() {
				v.closed = true
				t.release(v)
				v, s.path = t.root, s.path[:1]
				continue
			}
			if child == nil {
				return nil // no room for more nodes: simulate from here
			}
		} else if child.closed {
			continue // some other parent's
		}
		v = child
		s.path = append(s.path, v)
		if fresh {
			return nil
		}
	}
	return nil
}

// simulate completes the walk and costs where it ends. It changes nothing of the tree, so
// that several can go on at once.
func (t *tree) simulate(ctx context.Context, s *simulation) error {
	last := s.path[len(s.path)-1].node
	if s.varies {
		for range 4 {
			if leaf, ok := t.vary(last, s.rng); ok {
				return s.end(ctx, t.m, leaf)
			}
		}
	}
	rollout := t.o.Rollout
	if t.greedy {
		rollout = GreedyRollout
	}
	costed := false
	n := last
	if rollout == RandomRollout {
		n = sampleDown(n, s.rng)
	}
	for !n.Complete() {
		if costed = rollout == GreedyRollout || rollout == HalfGreedyRollout && s.rng.Intn(2) == 0; !costed {
			n = n.Sample(s.rng)
			continue
		}
		children := n.Children(nil)
		costs := make([]float64, len(children))
		if err := s.evaluate(ctx, t.m, costs, children); err != nil {
			return err
		}
		best := 0
		for i, c := range costs {
			if c < costs[best] {
				best = i
			}
		}
		n, s.cost = children[best], costs[best]
	}
	if costed {
		s.leaf = n
		return nil
	}
	return s.end(ctx, t.m, n)
}

// notable is by which part the best known has to become cheaper to count, with Settle.
const notable = 0.01

// backUp takes a simulation's cost to the nodes above.
func (t *tree) backUp(s *simulation) {
	t.steps++
	x := Solution{s.leaf, s.cost}
	if n, ok := s.leaf.(sibling); ok {
		x.Node = n.Alone() // an answer outlives its vertex
	}
	reward := 0.0
	switch {
	case t.o.Reward == InverseCost:
		reward = 1 / max(s.cost, math.SmallestNonzeroFloat64)
	case t.o.Reward == BeatParent && s.cost < t.beat, t.o.Reward == BeatBest && s.cost < t.incumbent.Cost:
		reward = 1
	}
	for _, v := range s.path {
		v.add(s.cost, reward)
	}
	if t.o.Share > 0 {
		if t.o.ShareDepth >= 0 {
			for _, v := range s.path[1:] {
				v.like.add(s.cost, reward)
			}
		} else if l, ok := s.leaf.(labelled); ok {
			for _, label := range l.Labels()[t.depth:] {
				t.likesOf(label).add(s.cost, reward)
			}
		}
	}
	for i := len(s.path) - 1; i >= 0; i-- {
		v := s.path[i]
		v.closed = v.closed || v.node.Complete() || v.exhausted()
		if !v.closed {
			break
		}
	}
	if x.Cost < t.here.Cost {
		t.here = x
	}
	if x.Cost < t.incumbent.Cost {
		t.incumbent = x
	}
	if x.Cost < t.bar {
		t.bar, t.since = x.Cost*(1-notable), t.steps
	}
	if x.Cost < t.stand.Cost || t.o.Heat > 0 && s.varies && accepted(s.rng, t.stand.Cost, x.Cost, cooled(t.o.Heat, 0.01, t.progress())) {
		t.stand = x
	}
	t.found.put(x)
	t.m.steps.Add(1)
}

// progress is the part that is over of the tree's budget at this root.
func (t *tree) progress() float64 {
	p := 0.0
	if t.evals != math.MaxInt64 {
		p = float64(t.spent-t.begun) / float64(max(1, t.evals-t.begun))
	}
	if t.time > 0 {
		p = max(p, time.Since(t.came).Seconds()/t.time.Seconds())
	}
	return p
}

func (t *tree) likesOf(label uint64) *sums {
	s := t.likes[label]
	if s == nil {
		s = &sums{}
		t.likes[label] = s
	}
	return s
}

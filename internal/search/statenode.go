package search

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/space"
)

// StateNode is a state of a space as a node. Where it came about by enumeration the
// state is made when it is asked for first: of the many children that a node has,
// searches go on from few.
type StateNode struct {
	parent *space.State // and action, of a state not made yet
	action space.Action
	made   atomic.Pointer[space.State]
}

// NewStateNode makes the node of a state.
func NewStateNode(s *space.State) *StateNode {
	n := &StateNode{}
	n.made.Store(s)
	return n
}

// Start is the node in which nothing is decided yet.
func Start(sp *space.Space) Node { return NewStateNode(sp.Start()) }

// State is the node's state.
func (n *StateNode) State() *space.State {
	if s := n.made.Load(); s != nil {
		return s
	}
	n.made.CompareAndSwap(nil, n.parent.Next(n.action))
	return n.made.Load()
}

// passing is the node's state for one use: it is not kept.
func (n *StateNode) passing() *space.State {
	if s := n.made.Load(); s != nil {
		return s
	}
	return n.parent.Next(n.action)
}

// Complete implements Node.
func (n *StateNode) Complete() bool { return n.State().Complete() }

// Children implements Node: one for each of the state's actions, in their order.
func (n *StateNode) Children(dst []Node) []Node {
	s := n.State()
	list := actionLists.Get().(*[]space.Action)
	actions := s.Actions((*list)[:0])
	children := make([]StateNode, len(actions))
	dst = slices.Grow(dst, len(actions))
	for i := range actions {
		c := &children[i]
		c.parent, c.action = s, actions[i]
		dst = append(dst, c)
	}
	clear(actions)
	*list = actions
	actionLists.Put(list)
	return dst
}

// actionLists are lists no longer in use: their memory serves again.
var actionLists = sync.Pool{New: func() any { return new([]space.Action) }}

// Sample implements Node, with the distribution of space.State.Sample.
func (n *StateNode) Sample(rng *rand.Rand) Node {
	s := n.State()
	a, ok := s.Sample(rng)
	if !ok {
		panic("search: no child of a complete node can be drawn")
	}
	c := &StateNode{parent: s, action: a}
	c.made.Store(s.Next(a))
	return c
}

// SampleDown samples until the state is complete.
func (n *StateNode) SampleDown(rng *rand.Rand) Node {
	s := n.State()
	if s.Complete() {
		return n
	}
	return NewStateNode(s.SampleDown(rng))
}

// Key implements Node: the coarse-to-fine hash of Adams et al.
func (n *StateNode) Key(depth int) uint64 {
	if depth == Exact {
		return n.State().Key()
	}
	return n.State().StructuralHash(depth)
}

// Level counts decisions as Adams et al. do, those with nothing to decide too.
func (n *StateNode) Level() int { return n.State().Depth() }

// Unchanged holds where a decision left the loop nest as it was: no tasks.
func (n *StateNode) Unchanged(Node) bool {
	return n.parent != nil && n.action.Kind == space.Tasks && n.action.Tile == nil
}

// Toward implements Node.
func (n *StateNode) Toward(leaf Node) Node {
	depth := n.State().Depth()
	s := leaf.(*StateNode).State()
	for s.Parent().Depth() > depth {
		s = s.Parent()
	}
	return NewStateNode(s)
}

// Finish computes what is left at root, each Func with its first choice of tasks:
// always valid.
func (n *StateNode) Finish() Node { return n.replay(nil) }

// replay completes the node after a trace, as nearly as that goes.
func (n *StateNode) replay(trace []space.Decision) Node {
	s, _, err := n.State().Replay(trace, space.Nearest)
	if err != nil {
		panic(fmt.Sprintf("search: a schedule cannot be completed: %v", err))
	}
	return NewStateNode(s)
}

// Vary changes a complete node below n: half of the time it draws one decision anew
// and keeps the others as far as they go, else it makes another of the moves of evolution
// that come before crossover. False where the move drawn does not apply.
func (n *StateNode) Vary(guide Node, rng *rand.Rand) (Node, bool) {
	from, m := guide.(*StateNode).State(), newMover(n.State(), rng)
	move := m.mutate
	if rng.Intn(2) > 0 {
		kind := &moves[1+rng.Intn(varied-1)]
		move = func(from, other *space.State) (*space.State, bool) { return kind.apply(m, from, other) }
	}
	s, ok := move(from, nil)
	return changed(from, s, ok)
}

// Cross takes the decisions about some Func and all that it reads from the other, and
// the rest from the guide.
func (n *StateNode) Cross(guide, other Node, rng *rand.Rand) (Node, bool) {
	from := guide.(*StateNode).State()
	s, ok := newMover(n.State(), rng).crossover(from, other.(*StateNode).State())
	return changed(from, s, ok)
}

// changed is the node of what a move made, where it made something else.
func changed(from, s *space.State, ok bool) (Node, bool) {
	if !ok {
		return nil, false
	}
	return NewStateNode(s), s.Key() != from.Key()
}

// Fit takes the other's decisions where they are open, as nearly as they go.
func (n *StateNode) Fit(other Node) Node { return n.replay(other.(*StateNode).State().Trace()) }

// Labels name decisions by Func and intent.
func (n *StateNode) Labels() []uint64 { return labels(n.State().Trace()) }

func labels(trace []space.Decision) []uint64 {
	var out []uint64
	for _, d := range trace {
		h := fnv.New64a()
		add := func(xs ...int64) {
			for _, x := range xs {
				var b [8]byte
				binary.LittleEndian.PutUint64(b[:], uint64(x))
				h.Write(b[:])
			}
		}
		add(int64(d.Func), int64(d.Kind), int64(d.Vector))
		for _, p := range []space.Place{d.Store, d.Compute} {
			add(int64(p.Func), int64(p.Stage))
			add(p.Tile...)
		}
		add(d.Task...)
		out = append(out, h.Sum64())
	}
	return out
}

// ModelEvaluator evaluates state nodes by their features and a cost model.
type ModelEvaluator struct {
	sp    *space.Space
	model *cost.Model
	seen  atomic.Int64 // how many states it has looked at
	mu    sync.Mutex
	idle  []*encoder // one for each goroutine that has been here at once
}

// forgetAfter is after how many states the space forgets what it remembers of them:
// often enough to keep a search small, and too rarely to be noticed.
const forgetAfter = 1 << 13

// encoder is an extractor and the memory for what it gives.
type encoder struct {
	*feature.Extractor
	rows []feature.Schedule
}

// NewModelEvaluator evaluates nodes of sp with m, which must be of its pipeline.
func NewModelEvaluator(sp *space.Space, m *cost.Model) *ModelEvaluator {
	return &ModelEvaluator{sp: sp, model: m}
}

// Evaluate implements Evaluator. Nodes must be StateNodes of the space.
func (m *ModelEvaluator) Evaluate(ctx context.Context, dst []float64, batch []Node) error {
	x := m.take()
	defer m.put(x)
	for i, n := range batch {
		if i%64 == 63 && ctx.Err() != nil {
			return ctx.Err()
		}
		x.rows = x.Features(n.(*StateNode).passing(), x.rows[:0])
		dst[i] = m.model.Predict(x.rows)
		if m.seen.Add(1)%forgetAfter == 0 {
			m.sp.Forget()
		}
	}
	return nil
}

func (m *ModelEvaluator) take() *encoder {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.idle); n > 0 {
		x := m.idle[n-1]
		m.idle = m.idle[:n-1]
		return x
	}
	return &encoder{Extractor: feature.New(m.sp)}
}

func (m *ModelEvaluator) put(x *encoder) {
	m.mu.Lock()
	m.idle = append(m.idle, x)
	m.mu.Unlock()
}

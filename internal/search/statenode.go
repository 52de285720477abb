package search

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand"
	"sync"

	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/space"
)

// StateNode is a state of a space as a node.
type StateNode struct{ State *space.State }

// Start is the node in which nothing is decided yet.
func Start(sp *space.Space) Node { return StateNode{sp.Start()} }

// Complete implements Node.
func (n StateNode) Complete() bool { return n.State.Complete() }

// Children implements Node: one for each of the state's actions, in their order.
func (n StateNode) Children(dst []Node) []Node {
	for _, a := range n.State.Actions(nil) {
		dst = append(dst, StateNode{n.State.Next(a)})
	}
	return dst
}

// Sample implements Node, with the distribution of space.State.Sample.
func (n StateNode) Sample(rng *rand.Rand) Node {
	a, ok := n.State.Sample(rng)
	if !ok {
		panic("search: no child of a complete node can be drawn")
	}
	return StateNode{n.State.Next(a)}
}

// Key implements Node: the coarse-to-fine hash of Adams et al.
func (n StateNode) Key(depth int) uint64 {
	if depth == Exact {
		return n.State.Key()
	}
	return n.State.StructuralHash(depth)
}

// Level counts decisions as Adams et al. do, those with nothing to decide too.
func (n StateNode) Level() int { return n.State.Depth() }

// Unchanged holds where a decision left the loop nest as it was: no tasks.
func (n StateNode) Unchanged(parent Node) bool {
	return n.State.Root() == parent.(StateNode).State.Root()
}

// Toward implements Node.
func (n StateNode) Toward(leaf Node) Node {
	taken := len(n.State.Trace())
	s, _, err := n.State.Space().Replay(leaf.(StateNode).State.Trace()[:taken+1], space.Strict)
	if err != nil {
		panic(fmt.Sprintf("search: a state's own trace does not replay: %v", err))
	}
	return StateNode{s}
}

// Finish computes what is left at root, each Func with its first choice of tasks:
// always valid.
func (n StateNode) Finish() Node {
	s, _, err := n.State.Space().Replay(n.State.Trace(), space.Nearest)
	if err != nil {
		panic(fmt.Sprintf("search: a state's own trace does not replay: %v", err))
	}
	return StateNode{s}
}

// Vary changes a complete node by one of the moves that evolution makes, but takes
// the decisions of n as they are; false where the move drawn does not apply.
func (n StateNode) Vary(guide Node, rng *rand.Rand) (Node, bool) {
	m := mover{sp: n.State.Space(), rng: rng}
	from := guide.(StateNode).State
	s, ok := moves[rng.Intn(varied)].apply(&m, from, nil)
	if !ok {
		return nil, false
	}
	if own := n.State.Trace(); len(own) > 0 {
		// Of two decisions about one thing the later one counts.
		trace := append(s.Trace(), own...)
		var err error
		if s, _, err = n.State.Space().Replay(trace, space.Nearest); err != nil {
			return nil, false
		}
	}
	return StateNode{s}, s != from
}

// Labels name decisions by Func and intent.
func (n StateNode) Labels() []uint64 {
	var out []uint64
	for _, d := range n.State.Trace() {
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

// Model evaluates state nodes by their features and a cost model.
type Model struct {
	sp    *space.Space
	model *cost.Model
	mu    sync.Mutex
	idle  []*feature.Extractor // one for each goroutine that has been here at once
}

// NewModelEvaluator evaluates nodes of sp with m, which must be of its pipeline.
func NewModelEvaluator(sp *space.Space, m *cost.Model) *Model {
	return &Model{sp: sp, model: m}
}

// Evaluate implements Evaluator. Nodes must be StateNodes of the space.
func (m *Model) Evaluate(ctx context.Context, dst []float64, batch []Node) error {
	x := m.take()
	defer m.put(x)
	var rows []feature.Schedule
	for i, n := range batch {
		if i%64 == 63 && ctx.Err() != nil {
			return ctx.Err()
		}
		rows = x.Features(n.(StateNode).State, rows[:0])
		dst[i] = m.model.Predict(rows)
	}
	return nil
}

func (m *Model) take() *feature.Extractor {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.idle); n > 0 {
		x := m.idle[n-1]
		m.idle = m.idle[:n-1]
		return x
	}
	return feature.New(m.sp)
}

func (m *Model) put(x *feature.Extractor) {
	m.mu.Lock()
	m.idle = append(m.idle, x)
	m.mu.Unlock()
}

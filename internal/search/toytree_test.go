package search

import (
	"context"
	"errors"
	"math"
	"math/rand"
	"slices"
	"sync/atomic"
)

// toyTree is a tree whose nodes are the choices taken so far.
type toyTree struct {
	// branches is how many children a node has, none where it is complete.
	branches func(path []int) int
	// cost of a node, complete or not.
	cost func(path []int) float64
	// coarse, unless nil, is the key at a depth other than Exact.
	coarse func(path []int, depth int) uint64
}

type toyNode struct {
	t    *toyTree
	path []int
}

func (t *toyTree) root() Node { return toyNode{t, nil} }

func (n toyNode) where() toyNode { return n }

func (n toyNode) child(i int) Node { return toyNode{n.t, append(slices.Clip(n.path), i)} }

func (n toyNode) Complete() bool { return n.t.branches(n.path) == 0 }

func (n toyNode) Children(dst []Node) []Node {
	for i := range n.t.branches(n.path) {
		dst = append(dst, n.child(i))
	}
	return dst
}

func (n toyNode) Sample(rng *rand.Rand) Node { return n.child(rng.Intn(n.t.branches(n.path))) }

func (n toyNode) Key(depth int) uint64 {
	if depth != Exact && n.t.coarse != nil {
		return n.t.coarse(n.path, depth)
	}
	h := stream(len(n.path))
	for _, c := range n.path {
		h = stream(h.Uint64() + uint64(c))
	}
	return h.Uint64()
}

func (n toyNode) Toward(leaf Node) Node { return n.child(leaf.(toyNode).path[len(n.path)]) }

// Cross keeps the guide's choices up to one that is drawn and takes the other's from
// there.
func (n toyNode) Cross(guide, other Node, rng *rand.Rand) (Node, bool) {
	path := guide.(toyNode).path
	from := len(n.path) + rng.Intn(len(path)-len(n.path))
	leaf := toyNode{n.t, path[:from]}.Fit(other)
	return leaf, leaf.Key(Exact) != guide.Key(Exact)
}

// Fit takes the other's choices, or the last there is.
func (n toyNode) Fit(other Node) Node {
	for path := other.(toyNode).path; !n.Complete(); {
		choice := 0
		if len(n.path) < len(path) {
			choice = min(path[len(n.path)], n.t.branches(n.path)-1)
		}
		n = n.child(choice).(toyNode)
	}
	return n
}

func (n toyNode) Labels() []uint64 {
	var out []uint64
	for i, c := range n.path {
		out = append(out, uint64(100*i+c))
	}
	return out
}

// toyCosts evaluates toy nodes, and counts.
type toyCosts struct {
	asked atomic.Int64
	fail  int64 // the evaluation that fails; 0: none does
}

var errToy = errors.New("the model broke down")

func (e *toyCosts) Evaluate(_ context.Context, dst []float64, batch []Node) error {
	asked := e.asked.Add(int64(len(batch)))
	if e.fail > 0 && asked >= e.fail {
		return errToy
	}
	for i, n := range batch {
		toy := n.(interface{ where() toyNode }).where()
		dst[i] = toy.t.cost(toy.path)
	}
	return nil
}

// least is the cheapest complete node below, by brute force, and how many there are.
func least(n Node) (best float64, leaves int) {
	if n.Complete() {
		return n.(toyNode).t.cost(n.(toyNode).path), 1
	}
	best = math.Inf(1)
	for _, c := range n.Children(nil) {
		b, l := least(c)
		best, leaves = min(best, b), leaves+l
	}
	return best, leaves
}

// uniform is a tree of so many levels and children, with costs drawn from a seed:
// the sum of a part a decision, which the deeper ones decide less of, and some for
// the pair of neighbouring decisions.
func uniform(levels, children int, seed int64) *toyTree {
	alone, pair := make([]float64, levels*children), make([]float64, levels*children*children)
	rng := newStream(seed)
	for i := range alone {
		alone[i] = rng.Float64()
	}
	for i := range pair {
		pair[i] = rng.Float64()
	}
	return &toyTree{
		branches: func(path []int) int {
			if len(path) == levels {
				return 0
			}
			return children
		},
		cost: func(path []int) float64 {
			c := 1.0
			for i, x := range path {
				c += alone[i*children+x] / float64(i+1)
				if i > 0 {
					c += pair[(i*children+x)*children+path[i-1]]
				}
			}
			return c
		},
	}
}

// trap is a tree in which the first decision looks best where it ends worst: below
// every child but the last, the deeper the dearer, below the last one the other way.
func trap(levels, children int) *toyTree {
	t := uniform(levels, children, 1)
	t.cost = func(path []int) float64 {
		if len(path) == 0 {
			return 10
		}
		if path[0] < children-1 {
			return 5 + float64(len(path)) + float64(path[len(path)-1])/10
		}
		c := 30.0
		for _, x := range path {
			c -= float64(x) / float64(children-1) * 25 / float64(levels)
		}
		return c - 4*float64(len(path))/float64(levels)
	}
	return t
}

// deceptive is a tree whose partial costs say the opposite of what complete nodes
// cost.
func deceptive(levels, children int, seed int64) *toyTree {
	t := uniform(levels, children, seed)
	honest := t.cost
	t.cost = func(path []int) float64 {
		if len(path) == levels {
			return honest(path)
		}
		return 100 - honest(path)
	}
	return t
}

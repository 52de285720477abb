package search

import (
	"cmp"
	"context"
	"math"
	"math/rand"
	"slices"
)

// How a tree grows, and which child it goes down to. What is not ProTuner's:
//
//   - Widen is progressive widening (Coulom 2007, "Computing Elo ratings of move patterns
//     in the game of Go"; progressive unpruning in Chaslot et al. 2008, "Progressive
//     strategies for Monte-Carlo tree search"). Theirs lets in moves by a ranking that
//     knows the game, ever more slowly as visits grow; ours lets in k sqrt(visits), in the
//     order in which expand would have them anyway.
//   - Share is RAVE with its first schedule (Gelly and Silver 2007, "Combining online and
//     offline knowledge in UCT"; 2011, "Monte-Carlo tree search and rapid action value
//     estimation in computer Go"): beta = sqrt(k / (3n + k)). Their n counts visits of the
//     node that chooses, ours those of the child. They keep what is known of a move at
//     every node, from simulations through it; here one table serves a whole tree: by
//     decision, wherever it was taken, rollouts included, or, with ShareDepth, by the key of
//     the children that simulations went down to.
//   - Batch has the virtual loss of Chaslot et al. 2008, "Parallel Monte-Carlo tree search":
//     a simulation under way counts as a visit without reward (pending), with Spread as one
//     dearer by two deviations. Theirs come about as threads meet in a tree; ours are
//     selected one after the other before any of them is simulated, so that workers change
//     nothing of what is found.

// lazyDraws is how often Lazy draws a child before it takes all to be there.
const lazyDraws = 4

// expand adds a child to v, or returns nil where there is none to add. A child that
// is another's too (Transpose) may not be fresh.
func (t *tree) expand(ctx context.Context, s *simulation, v *vertex) (child *vertex, fresh bool, err error) {
	if t.nodes >= t.o.MaxNodes {
		return nil, false, nil
	}
	if t.o.Widen > 0 && float64(len(v.children)) >= max(1, t.o.Widen*math.Sqrt(float64(v.visits+v.pending))) {
		return nil, false, nil
	}
	var n Node
	weight := 1.0
	switch {
	case t.o.Prior > 0:
		if err := t.rank(ctx, s, v); err != nil {
			return nil, false, err
		}
		if len(v.untried) == 0 {
			return nil, false, nil
		}
		last := len(v.untried) - 1
		n, weight = v.untried[last], v.prior[last]
		v.untried[last] = nil
		v.untried, v.prior = v.untried[:last], v.prior[:last]
		t.count(-1)
	case t.o.Lazy:
		if n = v.draw(s.rng); n == nil {
			return nil, false, nil
		}
	default:
		if !v.made {
			v.untried, v.made = v.node.Children(nil), true
			forgetAll(v.untried...)
			t.count(len(v.untried))
		}
		last := len(v.untried) - 1
		if last < 0 {
			return nil, false, nil
		}
		i := s.rng.Intn(last + 1)
		n = v.untried[i]
		v.untried[i] = v.untried[last]
		v.untried[last] = nil
		v.untried = v.untried[:last]
		t.count(-1)
	}
	child, fresh = t.vertex(n, weight)
	v.children = append(v.children, child)
	return child, fresh, nil
}

// count notes nodes held.
func (t *tree) count(more int) {
	t.nodes += more
	t.m.hold(more)
}

// vertex makes the vertex of a node, or finds it.
func (t *tree) vertex(n Node, weight float64) (v *vertex, fresh bool) {
	var key uint64
	if t.o.Transpose || t.o.Lazy || t.o.KeepSubtree {
		key = n.Key(Exact)
	}
	if t.o.Transpose {
		if v := t.known[key]; v != nil {
			forgetAll(n) // its siblings keep it
			v.parents++
			return v, false
		}
	}
	v = &vertex{node: n, weight: weight, key: key, parents: 1}
	if t.o.Transpose {
		t.known[key] = v
	}
	if t.o.Share > 0 {
		if t.o.ShareDepth >= 0 {
			v.label = n.Key(t.o.ShareDepth)
		} else if l, ok := n.(labelled); ok {
			labels := l.Labels()
			v.label = labels[len(labels)-1]
		}
		v.like = t.likesOf(v.label)
	}
	t.count(1)
	return v, true
}

// draw samples a child that is not there yet.
func (v *vertex) draw(rng *rand.Rand) Node {
	for range lazyDraws {
		n := v.node.Sample(rng)
		key := n.Key(Exact)
		if !slices.ContainsFunc(v.children, func(c *vertex) bool { return c.key == key }) {
			return n
		}
	}
	return nil
}

// rank makes the children of v and sorts them by cost, the cheapest last.
func (t *tree) rank(ctx context.Context, s *simulation, v *vertex) error {
	if v.made {
		return nil
	}
	nodes := v.node.Children(nil)
	costs := make([]float64, len(nodes))
	if err := s.evaluate(ctx, t.m, costs, nodes); err != nil {
		return err
	}
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = len(nodes) - 1 - i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(costs[b], costs[a]) })
	least := costs[order[len(order)-1]]
	for _, i := range order {
		w := 0.0
		if costs[i] > 0 && !math.IsInf(costs[i], 1) {
			w = math.Pow(least/costs[i], t.o.Prior)
		}
		v.untried = append(v.untried, nodes[i])
		v.prior = append(v.prior, w)
	}
	forgetAll(v.untried...)
	v.made = true
	t.count(len(nodes))
	return nil
}

// bestChild is the child of v to go down to: the one of the highest score, the first
// of equals; nil without children. Children that are closed are left alone while
// there are others, and always with Transpose, which lets go of their nodes.
func (t *tree) bestChild(v *vertex, depth int) *vertex {
	var best *vertex
	most := math.Inf(-1)
	c := t.o.C * math.Pow(t.o.Shrink, float64(t.depth+depth))
	spread := 0.0
	if t.o.Formula == Spread {
		spread = v.spread()
	}
	ln := math.Log(float64(max(1, v.visits+v.pending)))
	passes := 2
	if t.o.Transpose {
		passes = 1
	}
	for pass := 0; pass < passes && best == nil; pass++ {
		for _, child := range v.children {
			if child.closed && pass == 0 {
				continue
			}
			if score := t.score(child, c, ln, spread); best == nil || score > most {
				best, most = child, score
			}
		}
	}
	return best
}

// score judges a child; ln is the logarithm of its parent's visits.
func (t *tree) score(v *vertex, c, ln, spread float64) float64 {
	n := float64(max(1, v.visits+v.pending))
	value := t.value(&v.sums, v.pending, spread)
	if v.like != nil && v.like.visits > 0 {
		beta := math.Sqrt(t.o.Share / (3*n + t.o.Share))
		other := t.value(v.like, 0, spread)
		if v.visits == 0 {
			value = other
		} else {
			value = (1-beta)*value + beta*other
		}
	}
	switch t.o.Formula {
	case Product:
		return value * (1 + v.weight*c*math.Sqrt(ln/n))
	case Spread:
		return value + v.weight*c*spread*math.Sqrt(2*ln/n)
	}
	return value + v.weight*c*math.Sqrt(2*ln/n)
}

// value is what is known of a set of simulations, of which so many are under way:
// the higher the better.
func (t *tree) value(s *sums, pending int, spread float64) float64 {
	n := float64(max(1, s.visits+pending))
	useful := float64(s.useful)
	if t.o.Formula == Spread {
		if s.useful == 0 {
			return math.Inf(-1)
		}
		v := -s.ln / useful
		if t.o.Explore == Best {
			v = -math.Log(max(s.best, math.SmallestNonzeroFloat64))
		}
		return v - 2*spread*(n-useful)/n // as if lost by two deviations
	}
	if s.useful == 0 {
		return 0
	}
	switch {
	case t.o.Reward != InverseCost:
		return s.reward / n
	case t.o.Explore == Best:
		return useful / n / max(s.best, math.SmallestNonzeroFloat64)
	case t.o.Formula == Product:
		return useful / n * useful / max(s.cost, math.SmallestNonzeroFloat64)
	}
	return s.reward / n
}

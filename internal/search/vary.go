package search

import (
	"context"
	"math"
	"math/rand"
)

// vary makes a complete node below n that differs a little from guide, or false
// where the change drawn does not apply. Nodes that are no variers keep the guide's
// decisions up to one that is drawn, and sample from there.
func vary(n, guide Node, rng *rand.Rand) (Node, bool) {
	if v, ok := n.(varier); ok {
		return v.Vary(guide, rng)
	}
	var way []Node
	for at := n; !at.Complete(); at = at.Toward(guide) {
		way = append(way, at)
	}
	if len(way) == 0 {
		return nil, false
	}
	leaf := sampleDown(way[rng.Intn(len(way))], rng)
	return leaf, leaf.Key(Exact) != guide.Key(Exact)
}

// vary changes where the tree's chain stands, below n: with Cross, some of the time by
// crossing it with what another tree found.
func (t *tree) vary(n Node, rng *rand.Rand) (Node, bool) {
	if c, ok := n.(crosser); ok && len(t.mates) > 0 && rng.Float64() < t.o.Cross {
		return c.Cross(t.stand.Node, t.mates[rng.Intn(len(t.mates))], rng)
	}
	return vary(n, t.stand.Node, rng)
}

// resume has the chain go on, at a new root, from what the tree found best at the last
// one, as nearly as the root allows. That takes a simulation, if there is one to spend
// and it can be done at all; else the chain goes on from the best known.
func (t *tree) resume(ctx context.Context) error {
	last := t.last
	t.last = Solution{}
	c, ok := t.root.node.(crosser)
	if !ok || last.Node == nil || t.done() || t.spent >= t.limit {
		return nil
	}
	s := &simulation{path: []*vertex{t.root}, limit: 1}
	if err := s.end(ctx, t.m, c.Fit(last.Node)); err != nil {
		return err
	}
	t.spent += s.spent
	t.backUp(s)
	if !math.IsInf(s.cost, 1) {
		t.stand = Solution{s.leaf, s.cost}
	}
	return nil
}

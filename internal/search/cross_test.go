package search

import (
	"context"
	"math"
	"slices"
	"testing"
)

// resumer is a tree at a root of a toy tree, with so many evaluations to spend there,
// whose best at the last root was the node of a path.
func resumer(toy *toyTree, evals int64, path ...int) *tree {
	o := MCTSDefaults()
	o.Vary, o.Cross = 1, 1
	p := Problem{Root: toy.root(), Evaluator: &toyCosts{}}
	t := &tree{o: o, m: newMeter(p, Budget{}), found: newShelf(p), limit: evals, evals: evals}
	t.plant(toy.root().(toyNode).child(0), 1)
	t.stand = Solution{Cost: 0.5}
	t.last = Solution{Node: toyNode{toy, path}, Cost: toy.cost(path)}
	return t
}

// A tree goes on from its own best, as nearly as the root allows, although a better one
// is known, and that takes one of its evaluations. Where it has none left, or nothing
// can be costed, it goes on from the best known.
func TestResuming(t *testing.T) {
	toy := uniform(4, 3, 1)
	x := resumer(toy, 10, 2, 1, 2, 0)
	if err := x.resume(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := []int{0, 1, 2, 0}
	if at := x.stand.Node.(toyNode).path; !slices.Equal(at, want) || x.stand.Cost != toy.cost(want) || x.here.Cost != x.stand.Cost || x.spent != 1 || x.steps != 1 {
		t.Errorf("it stands at %v of cost %g after %d evaluations and %d steps", at, x.stand.Cost, x.spent, x.steps)
	}
	if err := x.resume(context.Background()); err != nil || x.spent != 1 {
		t.Errorf("it resumes again, %d evaluations: %v", x.spent, err)
	}
	x = resumer(toy, 0, 2, 1, 2, 0)
	if err := x.resume(context.Background()); err != nil || x.spent != 0 || x.stand.Cost != 0.5 {
		t.Errorf("with nothing to spend it spent %d and stands at %g: %v", x.spent, x.stand.Cost, err)
	}
	broken := uniform(4, 3, 1)
	x = resumer(broken, 10, 2, 1, 2, 0)
	broken.cost = func([]int) float64 { return math.NaN() }
	if err := x.resume(context.Background()); err != nil || x.stand.Cost != 0.5 {
		t.Errorf("from what has no cost it goes on at %g: %v", x.stand.Cost, err)
	}
}

// The halves of the best schedule lie with two trees: crossing puts them together.
func TestCrossingPutsHalvesTogether(t *testing.T) {
	cost := func(path []int) float64 {
		c := 1.0
		for half := range 2 {
			part := path[min(len(path), 3*half):min(len(path), 3*half+3)]
			if !slices.Equal(part, []int{1, 2, 1}[:len(part)]) {
				c += 1
			}
		}
		return c
	}
	toy := &toyTree{cost: cost, branches: func(path []int) int { return 3 * min(1, 6-len(path)) }}
	x := resumer(toy, 100, 0, 0, 0, 0, 0, 0)
	x.plant(toy.root(), 0)
	x.stand = Solution{toyNode{toy, []int{1, 2, 1, 0, 0, 0}}, 2}
	x.mates = []Node{toyNode{toy, []int{0, 0, 0, 1, 2, 1}}}
	rng := newStream(1)
	for range 40 {
		if leaf, ok := x.vary(x.root.node, rng); ok && cost(leaf.(toyNode).path) == 1 {
			return
		}
	}
	t.Error("forty crossings never took the good half of both")
}

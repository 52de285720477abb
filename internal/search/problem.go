package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"time"
)

// Exact is the depth at which Node.Key tells any two nodes apart.
const Exact = math.MaxInt

// Node is a partial solution: a node of the tree that searches guided by a model
// walk. Nodes are immutable and safe for concurrent use.
type Node interface {
	// Complete nodes have no children; all others have at least one.
	Complete() bool
	// Children appends every child to dst, in a fixed order.
	Children(dst []Node) []Node
	// Sample draws one child without making the others, each with a positive
	// probability. The node must not be complete.
	Sample(rng *rand.Rand) Node
	// Key is equal for nodes that look the same at a depth, the coarsest being 0.
	Key(depth int) uint64
	// Toward is the child on the way to a complete node below.
	Toward(leaf Node) Node
}

// What a node may be able to do besides; searches that use it say so.
type (
	// leveled nodes know how many decisions have been taken, those counted that
	// had only one outcome and that no child stands for. Without it each child is
	// one level below its parent. All complete nodes have the same level.
	leveled interface{ Level() int }
	// unchanged nodes can be the same solution as the parent, one decision later.
	unchanged interface{ Unchanged(parent Node) bool }
	// finisher nodes know a complete node below them that is reached at once and is
	// never a bad choice to fall back on; without it children are sampled.
	finisher interface{ Finish() Node }
	// drawer nodes sample a complete node below them, or themselves, as repeated calls
	// of Sample would, without making nodes of those on the way.
	drawer interface{ SampleDown(rng *rand.Rand) Node }
	// varier nodes can make a complete node below them that differs a little from a
	// guide, itself complete; false where the change drawn does not apply.
	varier interface {
		Vary(guide Node, rng *rand.Rand) (Node, bool)
	}
	// crosser nodes can make complete nodes below them out of complete ones that need
	// not be below them.
	crosser interface {
		// Cross takes part of what it decides from a guide, which is below, and the rest
		// from another; false where that does not apply.
		Cross(guide, other Node, rng *rand.Rand) (Node, bool)
		// Fit is what comes nearest to another, and that itself if it is below.
		Fit(other Node) Node
	}
	// labelled nodes name the decision that led to each of the nodes on the way to
	// them, the last one last, by meaning: elsewhere in the tree the same decision
	// has the same name.
	labelled interface{ Labels() []uint64 }
)

// Evaluator gives costs. It is called from several goroutines at once, and a node
// has the same cost whenever and with whatever others it is asked for.
type Evaluator interface {
	// Evaluate sets dst[i] to the cost of batch[i], a complete or partial solution:
	// above 0, the lower the better. An error ends the search. A cost that is not
	// finite or below 0 counts as infinite: worse than any other, and of no
	// reward.
	Evaluate(ctx context.Context, dst []float64, batch []Node) error
}

// Problem is what is to be searched.
type Problem struct {
	Root      Node
	Evaluator Evaluator
	// Workers is how many goroutines evaluate; 0 stands for one. What is found
	// within a number of evaluations does not depend on it.
	Workers int
	// Keep asks for so many of the best complete nodes, no two of which have the
	// same Key at KeepDepth. 0 stands for the best one only.
	Keep, KeepDepth int
}

// Budget ends a search at whatever of it comes first; zero values do not. A search
// that comes to an end by itself (greedy, beam) does with an empty one; others
// refuse it.
type Budget struct {
	Time time.Duration
	// Evaluations counts costs asked for, those of a node that was costed before
	// included.
	Evaluations int64
}

// Solution is a complete node and its cost.
type Solution struct {
	Node Node
	Cost float64
}

// ByCost orders solutions from the cheapest on.
func ByCost(a, b Solution) int { return cmp.Compare(a.Cost, b.Cost) }

// Result is what a search found.
type Result struct {
	Solution
	// Top holds the best solutions that Problem.Keep asked for, the cheapest first. What a
	// search ends with is that one, but where it chooses by something else than the cost.
	Top []Solution
	// Evaluations is how many costs were asked for. Steps are nodes expanded by a beam, and
	// complete nodes reached by others.
	Evaluations, Steps int64
	// Nodes is the largest number of nodes held at once.
	Nodes   int
	Elapsed time.Duration
	// Fallback says that the budget was over before a complete node was reached,
	// and that Node is one that was completed with no search.
	Fallback bool
	// Roots lists, for a search that moves a root, what became of each.
	Roots []Root
}

// Ranked is what the search ended with and then all else that was kept.
func (r Result) Ranked() []Solution {
	if r.Node == nil || len(r.Top) > 0 && r.Top[0].Node == r.Node {
		return r.Top
	}
	return append([]Solution{r.Solution}, r.Top...)
}

// Root is a root that a search has moved from.
type Root struct {
	// Tree is which tree of an ensemble found the best solution at this root; -1
	// where none did better than what was known before.
	Tree int
	// Best is the lowest cost known when the root moved.
	Best float64
	// Evaluations were spent until then.
	Evaluations int64
}

// Searcher looks for the complete node of least cost. It may be used again and
// from several goroutines.
type Searcher interface {
	// Search always gives a result with a complete node, unless the error says that
	// the problem is none. With an error of the evaluator or the context it is the
	// best until then.
	Search(ctx context.Context, p Problem, b Budget, seed int64) (Result, error)
}

// ErrNoCost says that no complete node had a cost that can be one.
var ErrNoCost = errors.New("search: the model gave no complete schedule a cost above 0 and finite; its weights are damaged or of another machine")

func (p Problem) validate() error {
	switch {
	case p.Root == nil:
		return errors.New("search: no node to start from")
	case p.Evaluator == nil:
		return errors.New("search: nothing to evaluate nodes with")
	case p.Workers < 0:
		return fmt.Errorf("search: %d workers; at least 1, or 0 for one", p.Workers)
	case p.Keep < 0:
		return fmt.Errorf("search: keep %d solutions; at least 1, or 0 for one", p.Keep)
	}
	return nil
}

func (b Budget) validate(endless bool) error {
	switch {
	case b.Time < 0 || b.Evaluations < 0:
		return fmt.Errorf("search: a negative budget: %v, %d evaluations", b.Time, b.Evaluations)
	case endless && b == Budget{}:
		return errors.New("search: this search does not end by itself: give it a time or a number of evaluations")
	}
	return nil
}

// level is that of a child of a node at a level.
func level(n Node, parent int) int {
	if l, ok := n.(leveled); ok {
		return l.Level()
	}
	return parent + 1
}

// finish completes a node with no search.
func finish(n Node, rng *rand.Rand) Node {
	if n.Complete() {
		return n
	}
	if f, ok := n.(finisher); ok {
		return f.Finish()
	}
	return sampleDown(n, rng)
}

func sampleDown(n Node, rng *rand.Rand) Node {
	if d, ok := n.(drawer); ok {
		return d.SampleDown(rng)
	}
	for !n.Complete() {
		n = n.Sample(rng)
	}
	return n
}

// part is a part of a budget.
func (b Budget) part(f float64) Budget {
	of := func(n int64) int64 {
		if n == 0 {
			return 0
		}
		return max(1, int64(float64(n)*f))
	}
	return Budget{Time: time.Duration(of(int64(b.Time))), Evaluations: of(b.Evaluations)}
}

// least is the smaller of each of two budgets that limit the same.
func (b Budget) least(o Budget) Budget {
	return Budget{Time: min(b.Time, o.Time), Evaluations: min(b.Evaluations, o.Evaluations)}
}

func optionError(format string, args ...any) error {
	return fmt.Errorf("search: "+format, args...)
}

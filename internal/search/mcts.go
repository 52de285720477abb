package search

import (
	"context"
	"math"
	"time"
)

// Reward is what a simulation is worth to the nodes above it.
type Reward uint8

const (
	// InverseCost is 1 over the cost.
	InverseCost Reward = iota + 1
	// BeatParent is 1 where the cost is below the best that was known when the root
	// was chosen, else 0; at the first root always 1 (section 4.1).
	BeatParent
	// BeatBest is 1 where the cost is below the best known, else 0 (figure 3).
	BeatBest
)

// Formula is how nodes with children choose between them. With n the visits of the
// node, n_j those of its child j, T_i the costs seen below that and R_i the rewards:
type Formula uint8

const (
	// Product is n_j / sum T_i * (1 + C sqrt(ln n / n_j)); for rewards of 0 and 1,
	// (sum R_i) / n_j takes the place of n_j / sum T_i.
	Product Formula = iota + 1
	// Sum is (sum R_i) / n_j + C sqrt(2 ln n / n_j).
	Sum
	// Spread is -(mean of ln T_i) + C s sqrt(2 ln n / n_j), where s is the standard
	// deviation of all ln T_i seen below the node. Not in the paper: its section 7
	// asks for a Cp that suits the program.
	Spread
)

// Standing is what a child is judged by.
type Standing uint8

const (
	Average Standing = iota + 1 // of the costs seen below it
	Best                        // of them
)

// Rollout is how simulations decide.
type Rollout uint8

const (
	// RandomRollout samples.
	RandomRollout Rollout = iota + 1
	// HalfGreedyRollout takes the cheapest child or samples, with even chances.
	HalfGreedyRollout
	// GreedyRollout takes the cheapest child.
	GreedyRollout
)

// MCTSOptions set a Monte Carlo tree search. Presets gives those of the paper; what
// follows Choose is not in it.
type MCTSOptions struct {
	// Standard and Greedy trees make up the ensemble: those with Rollout and those
	// that roll out greedily. Default 15 and 1.
	Standard, Greedy int
	// RootTime is how long each root is searched; 0 stands for an equal share of
	// what is left of the budget for each decision still to be taken. Default 0.
	RootTime time.Duration
	Formula  Formula  // default Product
	C        float64  // default 1
	Reward   Reward   // default InverseCost
	Explore  Standing // default Average
	Win      Standing // which child becomes the next root; default Best
	Rollout  Rollout  // of standard trees; default RandomRollout
	// Choose, unless nil, picks the solution towards which the root moves, out of the
	// best one of every tree that has one and the one that it picked before: by measuring
	// them, say (section 4.2). The last one it picks is the search's result.
	Choose func(ctx context.Context, best []Solution) (int, error)
	// NeedsChoose says that there must be one.
	NeedsChoose bool

	// Lazy expands nodes by sampling a child, without making the others. A sample
	// that is there already is drawn again, up to 4 times. Default false.
	Lazy bool
	// Transpose makes nodes with the same exact key one. Default false.
	Transpose bool
	// KeepSubtree keeps, when the root moves, what is known below the new one, and with
	// Stay what is known below the first one. Default false.
	KeepSubtree bool
	// Widen, if above 0, limits a node to Widen * visits^0.5 children, and at least
	// one (progressive widening). Default 0.
	Widen float64
	// Share blends into what is known of a child what is known of its likes, with
	// weight sqrt(Share / (3 n_j + Share)) (RAVE's schedule). Default 0: not at all.
	Share float64
	// ShareDepth says what its likes are: with -1, simulations that took the same
	// decision anywhere (AMAF; nodes must have labels); else children with the same
	// key at this depth. Default -1.
	ShareDepth int
	// Shrink multiplies C once per decision taken from the start. Default 1.
	Shrink float64
	// Batch is how many simulations of a tree are under way at once; each counts as
	// one without reward for those chosen meanwhile (virtual loss). What is found
	// depends on it and not on the number of workers. Default 1.
	Batch int
	// Prior costs all children of a node when it is expanded. The cheapest come
	// first, and the term that explores is weighed by (least cost / own cost) to
	// this power. 0 does not. Default 0.
	Prior float64
	// Vary is the probability that a simulation, instead of walking down the tree,
	// changes the best solution known in what the root leaves open. Default 0.
	Vary float64
	// Heat makes what Vary changes a chain of simulated annealing at each root, from
	// the best known on: a change that makes the cost e^T times higher is taken with
	// probability 1/e, with T falling from Heat to a hundredth of it over the root's
	// part of the budget. Default 0: the best known is what is changed.
	Heat float64
	// Cross is the share of Vary's changes that put part of another solution into the one
	// changed: of the best that a tree, drawn at random, found at the last root, or, with
	// Stay, the last time at this one. With it a tree changes, at a new root, not the best
	// known but the best that it found itself at the last one, as nearly as the new one
	// allows: trees are the islands of an evolution.
	// Nodes must know how to cross; default 0.
	Cross float64
	// Lead is the part of the budget that beams may take before the trees begin: of 1,
	// 2, 4... with five passes, as long as twice what the last one took is left of that
	// part. The trees start with the best they found as the best known. Default 0.
	Lead float64
	// Anneal is the part of the budget that chains of simulated annealing take before the
	// trees begin, apart from one another and with the settings of AnnealDefaults: as many
	// as can have 50,000 evaluations each, 2 to 8, or one for each worker where the budget
	// is time alone. Of what eight of that length leave, up to half of all goes to chains of
	// 20,000. The best that they find is the best known, and with Cross the best of each
	// is what trees begin with. Default 0.
	Anneal float64
	// Front gives each root so many times its equal share of what is left of the
	// budget. Default 1.
	Front float64
	// FrontLeast is the least part of what is left of the budget that each root gets:
	// on a long pipeline an equal share makes short work of each. Default 0.
	FrontLeast float64
	// Stay is how many more times the first root is searched before the root moves, each
	// time by trees that begin again, with their part of what is then left and with the
	// best that is known by then: with Cross, each with its own. Default 0.
	Stay int
	// Settle, if above 0, ends a tree's work at a root after so many simulations in a row
	// that did not make its best known 1% cheaper. What that leaves of the budget goes to
	// later roots, the last of it to nobody: to search on is to find what the model is
	// wrong about (ProTuner, section 5.2). Default 0.
	Settle int
	// MaxNodes bounds the nodes of a tree; simulations go on without adding any.
	// Default 40000.
	MaxNodes int
}

// MCTSDefaults is mcts_30s without its time: the budget is shared evenly among the
// roots.
func MCTSDefaults() MCTSOptions {
	return MCTSOptions{
		Standard: 15, Greedy: 1, Formula: Product, C: 1, Reward: InverseCost, Explore: Average, Win: Best,
		Rollout: RandomRollout, ShareDepth: -1, Shrink: 1, Batch: 1, Front: 1, MaxNodes: 40000,
	}
}

// Validate names the first option out of range.
func (o MCTSOptions) Validate() error {
	switch {
	case o.Standard < 0 || o.Greedy < 0 || o.Standard+o.Greedy < 1:
		return optionError("%d standard and %d greedy trees; at least one in all", o.Standard, o.Greedy)
	case o.RootTime < 0:
		return optionError("%v for a root; at least 0", o.RootTime)
	case o.Formula < Product || o.Formula > Spread:
		return optionError("there is no formula %d", o.Formula)
	case !(o.C >= 0) || math.IsInf(o.C, 0):
		return optionError("C is %g; at least 0", o.C)
	case o.Reward < InverseCost || o.Reward > BeatBest:
		return optionError("there is no reward %d", o.Reward)
	case o.Formula == Spread && o.Reward != InverseCost:
		return optionError("the formula Spread goes by costs, not by rewards of 0 and 1")
	case o.Explore != Average && o.Explore != Best || o.Win != Average && o.Win != Best:
		return optionError("children are judged by Average or by Best")
	case o.Rollout < RandomRollout || o.Rollout > GreedyRollout:
		return optionError("there is no rollout %d", o.Rollout)
	case o.NeedsChoose && o.Choose == nil:
		return optionError("this configuration measures at each root: give it something to measure with")
	case !(o.Widen >= 0) || !(o.Share >= 0) || !(o.Prior >= 0):
		return optionError("Widen, Share and Prior are %g, %g and %g; at least 0", o.Widen, o.Share, o.Prior)
	case o.ShareDepth < -1:
		return optionError("ShareDepth is %d; a depth, or -1 for decisions", o.ShareDepth)
	case !(o.Shrink > 0 && o.Shrink <= 1):
		return optionError("Shrink is %g; above 0 and at most 1", o.Shrink)
	case o.Batch < 1:
		return optionError("a batch of %d simulations; at least 1", o.Batch)
	case !(o.Vary >= 0 && o.Vary <= 1):
		return optionError("Vary is %g; a probability", o.Vary)
	case !(o.Heat >= 0 && !math.IsInf(o.Heat, 1)):
		return optionError("Heat is %g; at least 0", o.Heat)
	case !(o.Cross >= 0 && o.Cross <= 1):
		return optionError("Cross is %g; a probability", o.Cross)
	case !(o.Lead >= 0 && o.Lead <= 1):
		return optionError("Lead is %g; a part of the budget", o.Lead)
	case !(o.Anneal >= 0 && o.Lead+o.Anneal <= 1):
		return optionError("Anneal is %g; a part of the budget, of which Lead takes %g", o.Anneal, o.Lead)
	case !(o.Front > 0):
		return optionError("Front is %g; above 0", o.Front)
	case !(o.FrontLeast >= 0 && o.FrontLeast <= 1):
		return optionError("FrontLeast is %g; a part of the budget", o.FrontLeast)
	case o.Stay < 0:
		return optionError("Stay is %d; at least 0", o.Stay)
	case o.Settle < 0:
		return optionError("Settle is %d; at least 0", o.Settle)
	case o.MaxNodes < 2:
		return optionError("%d nodes a tree; at least 2", o.MaxNodes)
	}
	return nil
}

// Presets are the configurations of ProTuner's table 1, figure 9 and section 4, by
// name. The times are those for one root.
func Presets() map[string]MCTSOptions {
	with := func(root time.Duration, change func(*MCTSOptions)) MCTSOptions {
		o := MCTSDefaults()
		o.RootTime = root
		if change != nil {
			change(&o)
		}
		return o
	}
	measured := func(o *MCTSOptions) { o.NeedsChoose = true }
	sum := func(o *MCTSOptions) { o.Formula, o.C = Sum, math.Sqrt2 }
	const s = time.Second
	return map[string]MCTSOptions{
		"mcts_30s":           with(30*s, nil),
		"mcts_10s":           with(10*s, nil),
		"mcts_1s":            with(s, nil),
		"mcts_0.5s":          with(s/2, nil),
		"mcts_Cp10_30s":      with(30*s, func(o *MCTSOptions) { o.C = 10 }),
		"mcts_sqrt2_30s":     with(30*s, sum),
		"mcts_cost+real_30s": with(30*s, measured),
		"mcts_cost+real_1s":  with(s, measured),

		"mcts_explore_best": with(0, func(o *MCTSOptions) { o.Explore = Best }),
		"mcts_win_average":  with(0, func(o *MCTSOptions) { o.Win = Average }),
		"mcts_half_greedy":  with(0, func(o *MCTSOptions) { o.Rollout = HalfGreedyRollout }),
		"mcts_beat_parent":  with(0, func(o *MCTSOptions) { sum(o); o.Reward = BeatParent }),
		"mcts_beat_best":    with(0, func(o *MCTSOptions) { sum(o); o.Reward = BeatBest }),
		"mcts_greedy":       with(0, func(o *MCTSOptions) { o.Standard, o.Greedy = 0, 16 }),
		"mcts_random":       with(0, func(o *MCTSOptions) { o.Standard, o.Greedy = 16, 0 }),
		"mcts_cp10":         with(0, func(o *MCTSOptions) { o.C = 10 }),
		"mcts_sqrt2":        with(0, sum),
		"mcts":              with(0, nil),
	}
}

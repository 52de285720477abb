package bayes

import (
	"fmt"
	"slices"
	"strings"
)

// paper are the settings of the paper's experiments.
func paper() Options {
	return Options{
		Initial:     10,
		Surrogate:   Surrogate{AnyMetric: "spearman", Samples: 50, Refine: 10, Evals: 100, FullEvery: 1},
		Acquisition: Acquisition{Candidates: 30_000, Starts: 10, Global: 1},
		Feasibility: Feasibility{Threshold: 0.1, Unwarned: true},
	}
}

// ytopt is what the paper's comparison with Ytopt (scikit-optimize) has: no
// transforms, permutations as categories, failures as the worst value seen, no
// local search.
func ytopt() Options {
	return Options{
		Initial:     10,
		Surrogate:   Surrogate{LogObjective: Off, NoLogInputs: true, Metric: "naive", Prior: NoPrior, Samples: 1, Refine: 1, Evals: 60, FullEvery: 1},
		Acquisition: Acquisition{Candidates: 10_000, NoLocalSearch: true, Global: 1},
		Feasibility: Feasibility{Penalty: true},
	}
}

func changed(o Options, change func(*Options)) Options {
	change(&o)
	return o
}

type preset struct {
	name, says string
	options    Options
}

// presets in the order they are listed.
var presets = []preset{
	{"default", "protuner's settings", Options{}},
	{"paper", "BaCO as in the paper's experiments", paper()},
	{"uniform", "uniform sampling of the feasible set", Options{Method: Uniform}},
	{"chain-of-trees", "sampling biased by the chain of trees, as ATF does", Options{Method: ChainOfTrees}},
	{"bandit", "a bandit over local searches, as OpenTuner under ATF", Options{Method: Bandit}},
	{"ytopt-forest", "random forest and lower confidence bound, as Ytopt", changed(ytopt(), func(o *Options) {
		o.Surrogate.Forest = true
		o.Acquisition.LowerBound = true
	})},
	{"ytopt-gp", "Gaussian process without what the paper adds, as Ytopt", changed(ytopt(), func(o *Options) { o.Acquisition.Noisy = true })},
	{"baco--", "paper, without transforms, priors, local search, permutation metric and advanced fit", changed(paper(), func(o *Options) {
		o.Surrogate = Surrogate{LogObjective: Off, NoLogInputs: true, Metric: "naive", Prior: NoPrior, Samples: 1, Refine: 1, Evals: 60, FullEvery: 1}
		o.Acquisition.NoLocalSearch = true
	})},
	{"forest", "paper, with a random forest as surrogate", changed(paper(), func(o *Options) { o.Surrogate.Forest = true })},
	{"no-transform", "paper, without log transforms", changed(paper(), func(o *Options) {
		o.Surrogate.LogObjective, o.Surrogate.NoLogInputs = Off, true
	})},
	{"no-prior", "paper, without priors of the length scales", changed(paper(), func(o *Options) { o.Surrogate.Prior = NoPrior })},
	{"no-local-search", "paper, with random candidates only", changed(paper(), func(o *Options) { o.Acquisition.NoLocalSearch = true })},
	{"no-feasibility", "paper, without the feasibility model", changed(paper(), func(o *Options) { o.Feasibility.Off = true })},
	{"no-threshold", "paper, without the random minimum feasibility", changed(paper(), func(o *Options) { o.Feasibility.NoThreshold = true })},
	{"kendall", "paper, with the Kendall distance of permutations", changed(paper(), func(o *Options) { o.Surrogate.Metric = "kendall" })},
	{"hamming", "paper, with the Hamming distance of permutations", changed(paper(), func(o *Options) { o.Surrogate.Metric = "hamming" })},
	{"naive", "paper, with permutations as categories", changed(paper(), func(o *Options) { o.Surrogate.Metric = "naive" })},
	{"biased-sampling", "paper, with sampling biased by the chain of trees", changed(paper(), func(o *Options) { o.Acquisition.BiasedSampling = true })},
	{"all-global", "default, with every suggestion from the whole space", Options{Acquisition: Acquisition{Global: 1}}},
	{"middle-start", "default, with a first configuration in the middle", Options{Design: Middle}},
	{"spread-start", "default, with initial configurations that have least in common", Options{Design: Spread}},
	{"balanced-start", "default, with a first configuration in the middle and others that have least in common", Options{Design: Balanced}},
	{"scaled-prior", "default, with length scales that grow with the number of parameters", Options{Surrogate: Surrogate{Prior: ScaledPrior}}},
	{"positions", "default, with orders compared element by element, as in the paper", Options{Surrogate: Surrogate{AnyMetric: "spearman"}}},
	{"one-scale", "default, with one length scale for an order", Options{Surrogate: Surrogate{OneScale: true}}},
	{"unwarned", "default, with random initial configurations whatever fails", Options{Feasibility: Feasibility{Unwarned: true}}},
	{"two-views", "default, whose model of failures sees orders pair by pair or by position", Options{Feasibility: Feasibility{TwoViews: true}}},
	{"draws", "default, averaged over draws of hyperparameters", Options{Surrogate: Surrogate{Draws: 8}}},
	{"warp", "default, with the scales of numbers bent", Options{Surrogate: Surrogate{Warp: true}}},
	{"adaptive", "default, with a reach that follows its luck", Options{Acquisition: Acquisition{Adaptive: true}}},
	{"explore", "default, with a suggestion now and then as at the start", Options{Acquisition: Acquisition{Explore: 0.1}}},
	{"liar-best", "default, where pending trials count as the best so far", Options{Acquisition: Acquisition{Batch: LiarBest}}},
	{"liar-worst", "default, where pending trials count as the worst so far", Options{Acquisition: Acquisition{Batch: LiarWorst}}},
	{"measured-noise", "default, with the noise that outcomes come with", Options{Surrogate: Surrogate{MeasuredNoise: true}}},
	{"low-threshold", "default, with the paper's random minimum feasibility", Options{Feasibility: Feasibility{Threshold: 0.1}}},
}

// Presets lists the names Preset knows, with a line about each.
func Presets() (names, says []string) {
	for _, p := range presets {
		names, says = append(names, p.name), append(says, p.says)
	}
	return names, says
}

// Preset returns the options of that name: this program's, the paper's, its
// baselines, its ablations, and the ablations of this program's additions.
func Preset(name string) (Options, error) {
	i := slices.IndexFunc(presets, func(p preset) bool { return p.name == name })
	if i < 0 {
		names, _ := Presets()
		return Options{}, fmt.Errorf("unknown preset %q; there are %s", name, strings.Join(names, ", "))
	}
	return presets[i].options, nil
}

// proposer makes the optimiser the options ask for.
func (o *Options) proposer() proposer {
	switch o.Method {
	case Uniform:
		return random{}
	case ChainOfTrees:
		return random{biased: true}
	case Bandit:
		return bandit{}
	}
	return &bayesian{}
}

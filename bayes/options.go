package bayes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/protuner/protuner/bayes/space"
)

// Method is the kind of optimiser.
type Method string

const (
	// Model-based search: the paper's.
	Bayesian Method = "bayesian"
	// Uniform draws over the feasible set.
	Uniform Method = "uniform"
	// Draws that choose uniformly at each node of the chain of trees.
	ChainOfTrees Method = "chain-of-trees"
	// A bandit over local searches, as OpenTuner has with ATF's spaces.
	Bandit Method = "bandit"
)

// Choice leaves something to the data or turns it off.
type Choice string

const (
	Auto Choice = "" // let the data decide
	Off  Choice = "off"
)

// Design is how configurations are chosen before there is a model.
type Design string

const (
	Random   Design = "random"   // as the paper
	Middle   Design = "middle"   // one in the middle of the space, the others at random
	Balanced Design = "balanced" // one in the middle, then such as have least in common
	Spread   Design = "spread"   // one at random, then such as have least in common
)

// Prior is what the surrogate believes of its hyperparameters.
type Prior string

const (
	GammaPrior  Prior = "gamma"  // the paper's Gamma(1.3, 0.1) for the length scales
	ScaledPrior Prior = "scaled" // log-normal length scales that grow with the number of parameters, and signal
	NoPrior     Prior = "none"
)

// Batch is what a trial counts for that was asked and not told yet.
type Batch string

const (
	Believer  Batch = "believer"   // it came out as predicted
	LiarBest  Batch = "liar-best"  // it is as good as the best so far
	LiarWorst Batch = "liar-worst" // it is as bad as the worst so far
)

// Known is what an earlier search found out about one configuration of its space.
type Known struct {
	Config  space.Config `json:"config"`
	Outcome Outcome      `json:"outcome"`
}

// Options configure a study. Preset returns filled Options for everything the
// paper compares; the zero value is the preset "default". A study is resumed
// under the options it was begun with.
type Options struct {
	// Seed of every random choice. Equal seeds, options and outcomes give equal
	// trials.
	Seed int64 `json:"seed"`
	// Maximize the objective instead of minimising it.
	Maximize bool `json:"maximize,omitempty"`
	// Start are configurations evaluated first: expert knowledge.
	Start []space.Config `json:"start,omitempty"`
	// NoDefault leaves out the configuration of the parameters' defaults, which
	// is otherwise evaluated first where it is complete and feasible.
	NoDefault bool `json:"no_default,omitempty"`
	// Initial is the number of trials, Start included, before a model is used;
	// default 6.
	Initial int `json:"initial,omitempty"`
	// Design of the initial trials; default Random.
	Design Design `json:"design,omitempty"`
	// Earlier searches of the same program on another input, of another size, or in a
	// space that shares parameters with this one: the model learns from them too, and
	// begins with the best they found. Values need not be alike, good places should.
	Earlier [][]Known `json:"earlier,omitempty"`
	// Method of the search; default Bayesian. The fields below only matter then.
	Method Method `json:"method,omitempty"`

	Surrogate   Surrogate   `json:"surrogate"`
	Acquisition Acquisition `json:"acquisition"`
	Feasibility Feasibility `json:"feasibility"`
}

// Surrogate configures the model of the objective.
type Surrogate struct {
	// Forest uses a random forest instead of a Gaussian process.
	Forest bool `json:"forest,omitempty"`
	// LogObjective models the logarithm of the objective. Auto: when every
	// value so far is above 0.
	LogObjective Choice `json:"log_objective,omitempty"`
	// NoLogInputs ignores the log transforms of parameters.
	NoLogInputs bool `json:"no_log_inputs,omitempty"`
	// Metric overrides the permutation metric of every parameter: spearman,
	// kendall, hamming or naive; default: each parameter's own.
	Metric string `json:"metric,omitempty"`
	// AnyMetric is that of parameters that name none; default: kendall of up to
	// space.Pairs elements, spearman of more. The paper's is spearman.
	AnyMetric string `json:"any_metric,omitempty"`
	// Prior of the hyperparameters; default GammaPrior.
	Prior Prior `json:"prior,omitempty"`
	// Draws of hyperparameters are averaged over while there are at most 30
	// outcomes; default 1: the most probable ones, as after that.
	Draws int `json:"draws,omitempty"`
	// Warp bends the scale of every number, as the outcomes suggest (Snoek et al. 2014).
	Warp bool `json:"warp,omitempty"`
	// MeasuredNoise counts the deviation that an outcome comes with as noise of its
	// own, and improves on the best that is predicted instead of the best measured.
	MeasuredNoise bool `json:"measured_noise,omitempty"`
	// OneScale gives a permutation one length scale, as section 3.2 of the paper says,
	// instead of one for each of its columns, as the paper's program has. Those of more
	// than 28 columns have one in any case.
	OneScale bool `json:"one_scale,omitempty"`
	// Samples random hyperparameters are tried, Refine of them improved, by at
	// most Evals likelihood evaluations each, whenever a full fit is made.
	// Default 20, 3, 40.
	Samples int `json:"samples,omitempty"`
	Refine  int `json:"refine,omitempty"`
	Evals   int `json:"evals,omitempty"`
	// FullEvery is the growth of the number of outcomes that calls for the next
	// full fit; in between the last hyperparameters are improved by Evals/2
	// evaluations. Default 1.25; 1 fits fully every time.
	FullEvery float64 `json:"full_every,omitempty"`
}

// Acquisition configures the choice of the next configuration.
type Acquisition struct {
	// LowerBound uses the lower confidence bound (kappa 1.96) instead of
	// expected improvement.
	LowerBound bool `json:"lower_bound,omitempty"`
	// Noisy adds the noise to the variance that expected improvement sees; the
	// paper leaves it out (section 3.3).
	Noisy bool `json:"noisy,omitempty"`
	// Xi is subtracted from the best value, in standard deviations of the
	// objective; default 1e-4.
	Xi float64 `json:"xi,omitempty"`
	// Candidates is the number of random configurations; default 1000.
	Candidates int `json:"candidates,omitempty"`
	// Starts of them, the best, are improved by local search; default 5.
	Starts int `json:"starts,omitempty"`
	// Global is the part of the suggestions, drawn at random, that search the
	// whole space; the others climb from the 3 best configurations known, by at
	// most Reach steps of one parameter each. Default 0.2; the paper's is 1.
	Global float64 `json:"global,omitempty"`
	// Explore is the part of the suggestions, drawn at random, that are chosen as the
	// initial ones are; default 0, as in the paper.
	Explore float64 `json:"explore,omitempty"`
	// Reach bounds the climbs of the others; default 2.
	Reach int `json:"reach,omitempty"`
	// Adaptive lets Reach change: it doubles after 3 improvements in a row and is halved
	// after as many trials without one as there are parameters, 4 at least. Below 1 the
	// whole space is searched, until there is one or as many trials again had none, and
	// then as at first (after TuRBO, Eriksson et al. 2019).
	Adaptive bool `json:"adaptive,omitempty"`
	// Batch rule for trials asked while others are pending; default Believer.
	Batch Batch `json:"batch,omitempty"`
	// NoLocalSearch takes the best candidate as it is.
	NoLocalSearch bool `json:"no_local_search,omitempty"`
	// BiasedSampling draws candidates and initial trials as ChainOfTrees does.
	BiasedSampling bool `json:"biased_sampling,omitempty"`
}

// Feasibility configures the handling of hidden constraints.
type Feasibility struct {
	// Off ignores failures: neither a model of them nor a value for them.
	Off bool `json:"off,omitempty"`
	// Penalty gives failures the worst value seen instead of modelling them.
	Penalty bool `json:"penalty,omitempty"`
	// TwoViews lets the model of failures see permutations either as which of two is
	// first or as the position of each, whichever explains the failures with fewer
	// splits. By default it has the inputs of the surrogate, as in the paper.
	TwoViews bool `json:"two_views,omitempty"`
	// Unwarned chooses the initial configurations at random, as the paper does, also
	// once one has failed; by default each is then the first of 20 random ones that
	// rather works than not.
	Unwarned bool `json:"unwarned,omitempty"`
	// NoThreshold drops the random minimum probability of feasibility.
	NoThreshold bool `json:"no_threshold,omitempty"`
	// Threshold is the greatest of the eleven equally likely minimum
	// probabilities, from 0; default 0.9, the paper's is 0.1.
	Threshold float64 `json:"threshold,omitempty"`
}

// Validate reports the options that are out of range or contradict each other.
func (o Options) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("options: "+format, args...)) }
	if !slices.Contains([]Method{"", Bayesian, Uniform, ChainOfTrees, Bandit}, o.Method) {
		bad("unknown method %q", o.Method)
	}
	if !slices.Contains([]Choice{Auto, Off}, o.Surrogate.LogObjective) {
		bad("log_objective is off or empty, not %q", o.Surrogate.LogObjective)
	}
	if !slices.Contains([]Design{"", Random, Middle, Balanced, Spread}, o.Design) {
		bad("unknown design %q", o.Design)
	}
	if !slices.Contains([]Prior{"", ScaledPrior, GammaPrior, NoPrior}, o.Surrogate.Prior) {
		bad("unknown prior %q", o.Surrogate.Prior)
	}
	if !slices.Contains([]Batch{"", Believer, LiarBest, LiarWorst}, o.Acquisition.Batch) {
		bad("unknown batch rule %q", o.Acquisition.Batch)
	}
	for i, search := range o.Earlier {
		for k, known := range search {
			if !known.Config.Valid() {
				bad("earlier search %d: configuration %d belongs to no space", i+1, k+1)
			} else if err := known.Outcome.validate(); err != nil {
				bad("earlier search %d, configuration %d: %w", i+1, k+1, err)
			}
		}
	}
	for _, name := range []string{o.Surrogate.Metric, o.Surrogate.AnyMetric} {
		if _, err := space.ParseMetric(name); name != "" && err != nil {
			bad("%w", err)
		}
	}
	for name, n := range map[string]int{"initial": o.Initial, "samples": o.Surrogate.Samples, "draws": o.Surrogate.Draws, "refine": o.Surrogate.Refine,
		"evals": o.Surrogate.Evals, "candidates": o.Acquisition.Candidates, "starts": o.Acquisition.Starts, "reach": o.Acquisition.Reach} {
		if n < 0 {
			bad("%s is %d; it cannot be negative", name, n)
		}
	}
	if o.Surrogate.FullEvery != 0 && !(o.Surrogate.FullEvery >= 1) {
		bad("full_every is a growth of 1 or more, not %v", o.Surrogate.FullEvery)
	}
	if !(o.Acquisition.Xi >= 0) {
		bad("xi is %v; it cannot be negative", o.Acquisition.Xi)
	}
	if !(o.Acquisition.Explore >= 0 && o.Acquisition.Explore <= 1) {
		bad("explore is a part of 1, not %v", o.Acquisition.Explore)
	}
	if !(o.Acquisition.Global >= 0 && o.Acquisition.Global <= 1) {
		bad("global is a part of 1, not %v", o.Acquisition.Global)
	}
	if !(o.Feasibility.Threshold >= 0 && o.Feasibility.Threshold <= 1) {
		bad("threshold is a probability, not %v", o.Feasibility.Threshold)
	}
	if o.Feasibility.Off && o.Feasibility.Penalty {
		bad("feasibility cannot be off and a penalty")
	}
	return errors.Join(errs...)
}

// filled returns o with its defaults.
func (o Options) filled() Options {
	def := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	if o.Method == "" {
		o.Method = Bayesian
	}
	def(&o.Initial, 6)
	if o.Design == "" {
		o.Design = Random
	}
	if o.Surrogate.Prior == "" {
		o.Surrogate.Prior = GammaPrior
	}
	def(&o.Surrogate.Draws, 1)
	def(&o.Surrogate.Samples, 20)
	def(&o.Surrogate.Refine, 3)
	def(&o.Surrogate.Evals, 40)
	if o.Surrogate.FullEvery == 0 {
		o.Surrogate.FullEvery = 1.25
	}
	if o.Acquisition.Xi == 0 {
		o.Acquisition.Xi = 1e-4
	}
	if o.Feasibility.Threshold == 0 {
		o.Feasibility.Threshold = 0.9
	}
	def(&o.Acquisition.Candidates, 1000)
	def(&o.Acquisition.Starts, 5)
	if o.Acquisition.Global == 0 {
		o.Acquisition.Global = 0.2
	}
	def(&o.Acquisition.Reach, 2)
	if o.Acquisition.Batch == "" {
		o.Acquisition.Batch = Believer
	}
	return o
}

package bayes

import (
	"context"
	"math"
	"math/rand"
	"slices"

	"github.com/protuner/protuner/bayes/forest"
	"github.com/protuner/protuner/bayes/gp"
	"github.com/protuner/protuner/bayes/space"
)

// data is what the models are fitted to.
type data struct {
	x     [][]float64 // encoded
	z     []float64   // objective, transformed, standardised, to be minimised
	best  float64     // least z of a trial with a value
	all   [][]float64 // encoded for the model of failures, of every trial with an outcome
	works []bool      // per row of all
	noise []float64   // variance of each z that was measured with it; nil: none was
	worst float64     // greatest z of a trial with a value
	fails int
	told  int // outcomes of this search
	here  int // of them, those with a value: the first rows of x
}

// encoder turns points into the surrogate's inputs.
func (o *Options) encoder(s *space.Space) *space.Encoder {
	e := space.EncodeOptions{NoLog: o.Surrogate.NoLogInputs}
	e.Any, _ = space.ParseMetric(o.Surrogate.AnyMetric) // Validate has read both
	if m, err := space.ParseMetric(o.Surrogate.Metric); err == nil {
		e.Metrics = []space.Metric{m}
	}
	return s.Encoder(e)
}

// failing turns points into the inputs of the model of failures.
func (o *Options) failing(s *space.Space) *space.Encoder {
	if !o.Feasibility.TwoViews {
		return o.encoder(s)
	}
	return s.Encoder(space.EncodeOptions{NoLog: o.Surrogate.NoLogInputs, Metrics: []space.Metric{space.Kendall, space.Spearman}})
}

// mostScales is the number of length scales that one permutation may have.
const mostScales = space.Pairs * (space.Pairs - 1) / 2

// dims groups the columns of an encoder under length scales.
func (o *Options) dims(s *space.Space, enc *space.Encoder) []gp.Dim {
	params := s.Params()
	columns := make([]int, len(params))
	for _, c := range enc.Columns() {
		columns[c.Param]++
	}
	var out []gp.Dim
	groups, last := 0, -1
	for _, c := range enc.Columns() {
		shared := o.Surrogate.OneScale || columns[c.Param] > mostScales
		if c.Param != last || !shared {
			groups++
		}
		last = c.Param
		warp := o.Surrogate.Warp && !c.Equal && params[c.Param].Type != space.Permutation
		out = append(out, gp.Dim{Group: groups - 1, Equal: c.Equal, Warp: warp})
	}
	return out
}

// gather transforms the outcomes (paper sections 3.2 and 5.3): the logarithm
// of the objective where the options say so, then mean 0 and variance 1, of this
// search or, where there are earlier ones, on their scale.
func (b *bayesian) gather(h *history) data {
	var d data
	var values, deviations []float64
	var failed [][]float64
	log := h.opts.Surrogate.LogObjective != Off && (b.past == nil || b.past.log)
	for _, t := range h.told() {
		row := b.Encode(nil, t.Config.Point())
		ok := t.Outcome.Status == OK
		d.all, d.works = append(d.all, b.conditions(nil, t.Config.Point(), 0)), append(d.works, ok)
		d.told++
		if !ok {
			d.fails++
			failed = append(failed, row)
			continue
		}
		d.x, values, deviations = append(d.x, row), append(values, t.Outcome.Value), append(deviations, t.Outcome.Deviation)
		log = log && t.Outcome.Value > 0
	}
	for _, v := range values {
		d.z = append(d.z, transform(h, log, v))
	}
	d.here = len(values)
	mean, sd := moments(d.z)
	if b.past != nil && log == b.past.log && len(values) > 0 {
		sd = b.past.scale
		for _, t := range h.told() {
			if t.Outcome.Status == OK {
				mean -= sd * b.past.predict(b, t.Config.Point()) / float64(len(values))
			}
		}
	}
	d.best, d.worst = math.Inf(1), math.Inf(-1)
	for i := range d.z {
		d.z[i] = (d.z[i] - mean) / sd
		d.best, d.worst = math.Min(d.best, d.z[i]), math.Max(d.worst, d.z[i])
	}
	if h.opts.Surrogate.MeasuredNoise && slices.Max(append(deviations, 0)) > 0 {
		for i, v := range values {
			if log {
				deviations[i] /= v * math.Ln10
			}
			d.noise = append(d.noise, deviations[i]*deviations[i]/(sd*sd))
		}
	}
	if h.opts.Feasibility.Penalty && len(d.z) > 0 {
		for _, row := range failed {
			d.add(row, d.worst)
		}
	}
	if b.past != nil {
		for i, row := range b.past.x {
			d.add(row, b.past.z[i])
		}
		d.all, d.works = append(d.all, b.past.all...), append(d.works, b.past.works...)
		for _, ok := range b.past.works {
			if !ok {
				d.fails++
			}
		}
	}
	return d
}

// add is a row for the model that is no outcome of this search.
func (d *data) add(row []float64, z float64) {
	d.x, d.z = append(d.x, row), append(d.z, z)
	if d.noise != nil {
		d.noise = append(d.noise, 0)
	}
}

// expected is the least value predicted of what was evaluated.
func (d *data) expected(m *gp.Model) float64 {
	best := math.Inf(1)
	for _, x := range d.x[:d.here] {
		best = math.Min(best, m.Mean(x))
	}
	return best
}

// fit makes the surrogates whose acquisition functions are averaged: one, or, where
// the options say so and outcomes are few, one for each draw of hyperparameters.
func (b *bayesian) fit(ctx context.Context, h *history, d data, rng *rand.Rand) ([]surrogate, note, error) {
	o := h.opts.Surrogate
	if o.Forest {
		grow := func(x [][]float64, z []float64) (*trees, error) {
			f, err := forest.Grow(rng, forest.Data{X: x, Y: z, Equal: b.equal}, b.forestOptions(h))
			return &trees{f: f}, err
		}
		t, err := grow(d.x, d.z)
		if pending := b.pending(h); len(pending) > 0 && err == nil {
			// Nothing can be added to a forest, so another one is grown.
			x, z := slices.Clone(d.x), slices.Clone(d.z)
			for _, row := range pending {
				x, z = append(x, row), append(z, believed(h, d, t.Mean(row)))
			}
			t, err = grow(x, z)
		}
		return []surrogate{t}, note{}, err
	}
	m, n, err := b.fitProcess(ctx, h, d, rng)
	if err != nil || o.Draws <= 1 || d.told > drawUntil {
		return []surrogate{m}, n, err
	}
	drawn, err := gp.Draw(rng, b.dims, d.x, d.z, gp.Options{Prior: b.prior(h), Extra: d.noise}, m.Hyper(), o.Draws)
	if err != nil {
		return nil, n, err
	}
	var out []surrogate
	for _, m := range drawn {
		out = append(out, m)
	}
	return out, n, nil
}

// drawUntil outcomes leave the hyperparameters open.
const drawUntil = 30

// prior of the hyperparameters. The scaled one lets a few of many parameters matter:
// length scales grow with the root of their number, as distances do (Hvarfner et al.
// 2024), and the signal's variance stays near that of the observations, so that it
// cannot be made up for by ever longer scales.
func (b *bayesian) prior(h *history) gp.Prior {
	switch h.opts.Surrogate.Prior {
	case NoPrior:
		return gp.Prior{}
	case ScaledPrior:
		return gp.Prior{
			Length: gp.LogNormal{Median: 0.6 * math.Sqrt(float64(len(b.width))), Spread: 1},
			Signal: gp.LogNormal{Median: 1, Spread: 1},
		}
	}
	return gp.Prior{Length: gp.Gamma{Shape: 1.3, Rate: 0.1}}
}

// fitProcess fits a Gaussian process. Its hyperparameters start from those of the
// last trial that has some, and are only fitted from many starts now and then.
func (b *bayesian) fitProcess(ctx context.Context, h *history, d data, rng *rand.Rand) (*gp.Model, note, error) {
	o := h.opts.Surrogate
	var last note
	for _, t := range h.trials {
		if t.note.Hyper != nil {
			last = t.note
		}
	}
	if last.Hyper != nil && last.Told == d.told && len(last.Hyper.Length) == len(b.width) {
		m, err := gp.NewNoisy(b.dims, d.x, d.z, d.noise, *last.Hyper)
		return m, last, err
	}
	g := gp.Options{Prior: b.prior(h), Extra: d.noise, Samples: o.Samples, Refine: o.Refine, Evals: o.Evals}
	n := note{Told: d.told, Full: d.told}
	if last.Hyper != nil && float64(d.told) < o.FullEvery*float64(last.Full) {
		n.Full = last.Full
		g.WarmOnly, g.Evals = true, max(1, o.Evals/2)
	}
	m, err := gp.Fit(ctx, rng, b.dims, d.x, d.z, g, last.Hyper)
	if err != nil {
		return nil, note{}, err
	}
	hyper := m.Hyper()
	n.Hyper = &hyper
	return m, n, nil
}

// forestOptions are BaCO's of a forest surrogate, or close to scikit-optimize's where
// failures are penalised as Ytopt does: its leaves hold 3, here what is split does.
func (b *bayesian) forestOptions(h *history) forest.Options {
	if h.opts.Feasibility.Penalty {
		return forest.Options{Trees: 100, MaxFeatures: 1, Bootstrap: true, MinSplit: 3}
	}
	return forest.Options{Trees: 200, MaxFeatures: 0.5, Bootstrap: true, RandomSplits: true}
}

// feasibility fits the model of hidden constraints (paper section 4.2), nil
// when nothing has failed.
func (b *bayesian) feasibility(h *history, d data, rng *rand.Rand) (*forest.Forest, float64, error) {
	if d.fails == 0 || h.opts.Feasibility.Off || h.opts.Feasibility.Penalty {
		return nil, 0, nil
	}
	classes := forest.Classes(d.all, d.works, b.same, 0.8, 0.2)
	if h.opts.Feasibility.TwoViews {
		classes.Views = b.views
	}
	f, err := forest.Grow(rng, classes, forest.Options{})
	threshold := 0.0
	if !h.opts.Feasibility.NoThreshold {
		threshold = float64(rng.Intn(11)) / 10 * h.opts.Feasibility.Threshold
	}
	return f, threshold, err
}

package bayes

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/protuner/protuner/bayes/gp"
	"github.com/protuner/protuner/bayes/space"
)

// Transfer. The searches before this one are observations of the same function on
// other tasks, and the task is one more input of the model, which only compares as
// same or not (the simplest of the covariances of Bonilla et al. 2008): its length
// scale says how much they have in common, and is fitted with the others. Each earlier
// search is standardised by itself. How the values of this one lie against them is
// told by its outcomes: on average they are what the earlier ones predict for the same
// configurations.

// earlierMost bounds what is kept of the earlier searches, all together, and so how many
// of them, the first ones: the model's time grows with the cube of its observations.
const earlierMost = 60

// past is what the earlier searches say, as rows of the model.
type past struct {
	x      [][]float64
	z      []float64 // standardised, to be minimised
	all    [][]float64
	works  []bool
	scale  float64 // mean standard deviation of a search's transformed values
	log    bool
	models []taskModel    // of each search alone that has a value
	best   []space.Config // the best of each search, in turn
}

// taskModel is the model of one earlier search, which is the task of that number.
type taskModel struct {
	*gp.Model
	task int
}

// transform is what values are modelled as.
func transform(h *history, log bool, v float64) float64 {
	if log {
		v = math.Log10(v)
	}
	return h.sign() * v
}

// remember reads the earlier searches. It is nil without any value in them.
func (b *bayesian) remember(h *history) (*past, error) {
	p := &past{log: h.opts.Surrogate.LogObjective != Off}
	for _, search := range h.opts.Earlier {
		for _, k := range search {
			p.log = p.log && (k.Outcome.Status != OK || k.Outcome.Value > 0)
		}
	}
	var ranked [][]space.Config
	for task, search := range h.opts.Earlier[:min(len(h.opts.Earlier), earlierMost)] {
		m, best, err := b.recall(h, p, task+1, few(byValue(h, search), max(1, earlierMost/len(h.opts.Earlier))))
		if err != nil {
			return nil, err
		}
		if m != nil {
			p.models, ranked = append(p.models, taskModel{m, task + 1}), append(ranked, best)
		}
	}
	if len(p.models) == 0 {
		return nil, nil
	}
	p.scale /= float64(len(p.models))
	for k := range earlierMost {
		for _, r := range ranked {
			if k < len(r) {
				p.best = append(p.best, r[k])
			}
		}
	}
	return p, nil
}

// recall adds one search and returns a model of it alone and its configurations, the
// best first.
func (b *bayesian) recall(h *history, p *past, task int, search []Known) (*gp.Model, []space.Config, error) {
	var x [][]float64
	var z []float64
	var best []space.Config
	for _, k := range search {
		c := h.space.Adopt(k.Config.Map())
		row := b.row(nil, c.Point(), task)
		if k.Outcome.Status == OK {
			x, z, best = append(x, row), append(z, transform(h, p.log, k.Outcome.Value)), append(best, c)
		}
		if k.Outcome.Status == OK || k.Outcome.Status.Failed() {
			p.all, p.works = append(p.all, b.conditions(nil, c.Point(), task)), append(p.works, k.Outcome.Status == OK)
		}
	}
	if len(z) == 0 {
		return nil, nil, nil
	}
	mean, sd := moments(z)
	for i := range z {
		z[i] = (z[i] - mean) / sd
	}
	p.x, p.z, p.scale = append(p.x, x...), append(p.z, z...), p.scale+sd
	// At most earlierMost observations are soon fitted, so nobody need interrupt that.
	m, err := gp.Fit(context.Background(), stream(h.opts.Seed, "earlier", task), b.dims, x, z, gp.Options{Prior: b.prior(h), Samples: h.opts.Surrogate.Samples, Refine: h.opts.Surrogate.Refine, Evals: h.opts.Surrogate.Evals}, nil)
	return m, best, err
}

// byValue sorts a search, the best first, failures last.
func byValue(h *history, search []Known) []Known {
	sorted := slices.Clone(search)
	slices.SortStableFunc(sorted, func(a, b Known) int {
		if a.Outcome.Status != OK || b.Outcome.Status != OK {
			return int(a.Outcome.Status) - int(b.Outcome.Status)
		}
		return cmp.Compare(h.sign()*a.Outcome.Value, h.sign()*b.Outcome.Value)
	})
	return sorted
}

// few keeps n of what is sorted by value: the best half, and of the others some at even
// steps.
func few[T any](sorted []T, n int) []T {
	if len(sorted) <= n {
		return sorted
	}
	out, rest := sorted[:n/2:n/2], sorted[n/2:]
	for i := range n - n/2 {
		out = append(out, rest[i*len(rest)/(n-n/2)])
	}
	return out
}

// predict is what the earlier searches expect at x, in their standard deviations.
func (p *past) predict(b *bayesian, x space.Point) float64 {
	sum := 0.0
	for _, m := range p.models {
		sum += m.Mean(b.row(nil, x, m.task)) / float64(len(p.models))
	}
	return sum
}

// advise returns the best configuration of an earlier search that is new and feasible
// here, nil when there is none.
func (p *past) advise(h *history) space.Point {
	for _, c := range p.best {
		if x := c.Point(); h.isNew(x) && h.space.Feasible(x) {
			return x
		}
	}
	return nil
}

// row encodes x with, where there are earlier searches, the task it was evaluated in.
func (b *bayesian) row(dst []float64, x space.Point, task int) []float64 {
	dst = b.enc.Encode(dst, x)
	if b.tasks {
		dst = append(dst, float64(task))
	}
	return dst
}

// conditions encodes x for the model of failures.
func (b *bayesian) conditions(dst []float64, x space.Point, task int) []float64 {
	dst = b.failing.Encode(dst, x)
	if b.tasks {
		dst = append(dst, float64(task))
	}
	return dst
}

// Encode makes the inputs of the models of this task.
func (b *bayesian) Encode(dst []float64, x space.Point) []float64 { return b.row(dst, x, 0) }

// moments are mean and standard deviation; the latter is 1 where values hardly differ.
func moments(values []float64) (mean, sd float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean) / float64(len(values))
	}
	if sd = math.Sqrt(sd); sd < 1e-12*(1+math.Abs(mean)) {
		sd = 1
	}
	return mean, sd
}

package bayes

import (
	"context"
	"errors"
	"math"
	"math/rand"
	"slices"
	"sort"

	"github.com/protuner/protuner/bayes/space"
)

// Importance says how much a parameter matters.
type Importance struct {
	Name string `json:"name"`
	// Effect is the part of the objective's variance over the feasible set that
	// would stay open if all parameters but this one were known: the total
	// effect index of Homma and Saltelli (1996), of the model. With interactions
	// the effects add up to more than 1. Where LogObjective applies, it is the
	// variance of the logarithm.
	Effect float64 `json:"effect"`
}

const (
	importanceLeast = 5   // values needed
	importanceKept  = 300 // values fitted at most: the time of a fit grows with their cube
	importanceDraws = 400 // configurations drawn
	// Where there are many parameters fewer are drawn, so that about
	// importanceMost predictions are made, but never fewer than importanceFew.
	importanceMost  = 20_000
	importanceFew   = 20
	importanceTries = 100 // draws of one parameter, where its values cannot be listed
)

// ErrTooFew is returned by Importance while there are not enough values.
var ErrTooFew = errors.New("too few configurations have a value yet")

// Importance estimates how much each parameter matters, the most important
// first, from a Gaussian process over the outcomes, of many the best and an
// even part of the others: the mean squared change of its prediction when one
// parameter is drawn again (Jansen 1999), among the values that keep the known
// constraints. When ctx ends it returns the error of ctx.
func (s *Study) Importance(ctx context.Context) ([]Importance, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.history()
	o := *h.opts
	o.Feasibility.Penalty = false
	h.opts = &o
	b := &bayesian{}
	if err := b.prepare(h); err != nil {
		return nil, err
	}
	rng := stream(o.Seed, "importance", len(h.trials))
	h.trials = h.telling(importanceKept)
	d := b.gather(h)
	if d.here < importanceLeast {
		return nil, ErrTooFew
	}
	m, _, err := b.fitProcess(ctx, h, d, rng)
	if err != nil {
		return nil, err
	}
	predict := func(x space.Point) float64 { return m.Mean(b.Encode(nil, x)) }
	return s.effects(ctx, predict, rng)
}

// telling returns the trials, or, where more than n have a value, n of those, by ID.
func (h *history) telling(n int) []*Trial {
	best := h.best()
	if len(best) <= n {
		return h.trials
	}
	kept := few(best, n)
	slices.SortFunc(kept, func(a, b *Trial) int { return a.ID - b.ID })
	return kept
}

func (s *Study) effects(ctx context.Context, predict func(space.Point) float64, rng *rand.Rand) ([]Importance, error) {
	params := s.space.Params()
	change, kept := make([]float64, len(params)), make([]float64, len(params))
	var sum, squares float64
	draws := max(importanceFew, min(importanceDraws, importanceMost/len(params)))
	for range draws {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x, err := s.space.Sample(rng)
		if err != nil {
			return nil, err
		}
		v := predict(x)
		sum += v
		squares += v * v
		for i := range params {
			if y := s.space.Redraw(x, i, importanceTries, rng); y != nil {
				d := predict(y) - v
				change[i] += d * d / 2
				kept[i]++
			}
		}
	}
	variance := (squares - sum*sum/float64(draws)) / float64(draws)
	out := make([]Importance, len(params))
	for i, p := range params {
		out[i].Name = p.Name
		if variance > 1e-12/float64(draws) && kept[i] > 0 {
			out[i].Effect = math.Min(1, change[i]/kept[i]/variance)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Effect > out[j].Effect })
	return out, nil
}

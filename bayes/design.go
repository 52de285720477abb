package bayes

import (
	"errors"
	"math"
	"math/rand"

	"github.com/protuner/protuner/bayes/forest"
	"github.com/protuner/protuner/bayes/space"
)

// Configurations that are drawn to choose one of them.
const (
	centreDraws  = 200
	balanceDraws = 20
)

// likeness is how fast the likeness of two values falls with their distance.
const likeness = 4

// initial chooses a configuration before there is a model, and as long as nothing
// works. The default is random, and once something has failed, of a few random ones
// the first that rather works than not; the paper's is random. A spread design takes, of
// a few random ones, that which has least in common with what was tried, parameter by
// parameter; a balanced one begins in the middle of the space besides, as far as the
// constraints leave one, because the extremes of tile sizes and the like are seldom good.
func (b *bayesian) initial(h *history, rng *rand.Rand) (space.Point, error) {
	design := h.opts.Design
	if len(h.trials) == 0 && (design == Middle || design == Balanced) {
		return b.centre(h, rng)
	}
	f, err := b.warner(h, rng)
	if err != nil {
		return nil, err
	}
	spread := design == Balanced || design == Spread
	if !spread && f == nil {
		return drawNear(h, rng, h.opts.Acquisition.BiasedSampling)
	}
	var tried [][]float64
	for _, t := range h.trials {
		tried = append(tried, b.Encode(nil, t.Config.Point()))
	}
	return b.least(h, rng, balanceDraws, func(x space.Point) float64 {
		cost := 0.0
		if f != nil {
			cost = failCost * math.Max(0, 0.5-f.Mean(b.conditions(nil, x, 0)))
		}
		if spread {
			cost += b.common(b.Encode(nil, x), tried)
		}
		return cost
	})
}

// failCost is above all that two configurations can have in common.
const failCost = 1e6

// warner predicts what works, for the initial configurations; nil when nothing failed.
func (b *bayesian) warner(h *history, rng *rand.Rand) (*forest.Forest, error) {
	if h.opts.Feasibility.Unwarned {
		return nil, nil
	}
	f, _, err := b.feasibility(h, b.gather(h), rng)
	return f, err
}

// centre is, of random configurations, the one that is nearest to as many others.
func (b *bayesian) centre(h *history, rng *rand.Rand) (space.Point, error) {
	others, err := draws(h, rng, centreDraws)
	if err != nil {
		return nil, err
	}
	var rows [][]float64
	for _, x := range others {
		rows = append(rows, b.Encode(nil, x))
	}
	return b.least(h, rng, centreDraws, func(x space.Point) float64 {
		row, sum := b.Encode(nil, x), 0.0
		for _, r := range rows {
			sum += b.distance(row, r)
		}
		return sum
	})
}

// common says how much a row has in common with others, column by column: of a permutation
// each metric counts, or each pair where these have length scales of their own.
func (b *bayesian) common(row []float64, others [][]float64) float64 {
	sum := 0.0
	for _, r := range others {
		for c, d := range b.dims {
			t := math.Abs(row[c] - r[c])
			if d.Equal && t > 0 {
				t = 1
			}
			sum += math.Exp(-likeness*t) / b.width[d.Group]
		}
	}
	return sum
}

// draws are n new configurations at random, or fewer, but one at least, where drawing
// gives up.
func draws(h *history, rng *rand.Rand, n int) ([]space.Point, error) {
	first, err := drawNear(h, rng, h.opts.Acquisition.BiasedSampling)
	if err != nil {
		return nil, err
	}
	out := []space.Point{first}
	for len(out) < n {
		x, err := drawNew(h, rng, h.opts.Acquisition.BiasedSampling)
		if errors.Is(err, space.ErrSparse) {
			break
		}
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// least is, of n random new configurations, the one of least cost.
func (b *bayesian) least(h *history, rng *rand.Rand, n int, cost func(x space.Point) float64) (space.Point, error) {
	drawn, err := draws(h, rng, n)
	if err != nil {
		return nil, err
	}
	var best space.Point
	least := math.Inf(1)
	for _, x := range drawn {
		if c := cost(x); best == nil || c < least {
			best, least = x, c
		}
	}
	return best, nil
}

func (b *bayesian) distance(x, y []float64) float64 {
	d := 0.0
	for c, equal := range b.equal {
		switch t := x[c] - y[c]; {
		case !equal:
			d += t * t
		case t != 0:
			d++
		}
	}
	return d
}

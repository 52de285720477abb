package bayes

import (
	"math"
	"math/rand"

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
// works. The default is the paper's, random. Otherwise the first is one in the middle
// of the space, as far as the constraints leave one, because the extremes of tile sizes
// and the like are seldom good. A balanced design goes on with those that, of a few
// random ones, have least in common with what was tried, parameter by parameter.
func (b *bayesian) initial(h *history, rng *rand.Rand) (space.Point, error) {
	if h.opts.Design != Random && len(h.trials) == 0 {
		return b.centre(h, rng)
	}
	if h.opts.Design != Balanced {
		return drawNew(h, rng, h.opts.Acquisition.BiasedSampling)
	}
	var tried [][]float64
	for _, t := range h.trials {
		tried = append(tried, b.enc.Encode(nil, t.Config.Point()))
	}
	return b.least(h, rng, balanceDraws, func(row []float64) float64 { return b.common(row, tried) })
}

// centre is, of random configurations, the one that is nearest to all others.
func (b *bayesian) centre(h *history, rng *rand.Rand) (space.Point, error) {
	var rows [][]float64
	for range centreDraws {
		x, err := drawNew(h, rng, h.opts.Acquisition.BiasedSampling)
		if err != nil {
			return nil, err
		}
		rows = append(rows, b.enc.Encode(nil, x))
	}
	return b.least(h, rng, centreDraws, func(row []float64) float64 {
		sum := 0.0
		for _, r := range rows {
			sum += b.distance(row, r)
		}
		return sum
	})
}

// common says how much a row has in common with others, parameter by parameter.
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

// least is, of random new configurations, the one of least cost.
func (b *bayesian) least(h *history, rng *rand.Rand, draws int, cost func(row []float64) float64) (space.Point, error) {
	var best space.Point
	least := math.Inf(1)
	for range draws {
		x, err := drawNew(h, rng, h.opts.Acquisition.BiasedSampling)
		if err != nil {
			return nil, err
		}
		if c := cost(b.enc.Encode(nil, x)); best == nil || c < least {
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

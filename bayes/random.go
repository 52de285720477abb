package bayes

import (
	"context"
	"errors"
	"math"
	"math/rand"

	"github.com/protuner/protuner/bayes/space"
)

// random draws from the feasible set, uniformly or, biased, as a walk down the
// chain of trees with equal chances at each node.
type random struct{ biased bool }

func (r random) next(_ context.Context, h *history, rng *rand.Rand) (space.Point, string, note, error) {
	x, err := drawNew(h, rng, r.biased)
	return x, "random", note{}, err
}

// redraws is how often a configuration is drawn again because it was asked
// before, until the space is enumerated instead.
const redraws = 2000

// enumerable is the largest space that is enumerated to find what is left.
const enumerable = 1 << 20

// drawNew draws a configuration that was not asked yet, from the same
// distribution restricted to those. It returns ErrExhausted when there is none.
func drawNew(h *history, rng *rand.Rand, biased bool) (space.Point, error) {
	size := h.space.Size()
	if float64(len(h.seen)) >= size {
		return nil, ErrExhausted
	}
	draw := h.space.Sample
	if biased {
		draw = h.space.SampleBiased
	}
	for range redraws {
		x, err := draw(rng)
		if err != nil {
			return nil, err
		}
		if h.isNew(x) {
			return x, nil
		}
	}
	if size > enumerable || math.IsNaN(size) {
		// Practically impossible to have seen this much; a point mass of the
		// constraints over reals is what is left.
		return nil, ErrExhausted
	}
	left := unseen(h)
	if len(left) == 0 {
		return nil, ErrExhausted
	}
	return left[rng.Intn(len(left))], nil
}

// drawNear is drawNew, but where constraints over reals leave so little that drawing gives
// up it takes a new neighbour of a configuration that was asked before, of the best if it
// can: one unlucky draw is no end of a search.
func drawNear(h *history, rng *rand.Rand, biased bool) (space.Point, error) {
	x, err := drawNew(h, rng, biased)
	if !errors.Is(err, space.ErrSparse) {
		return x, err
	}
	for _, t := range append(h.best(), h.trials...) {
		if y := neighbour(h, t.Config.Point(), rng); y != nil {
			return y, nil
		}
	}
	return nil, err
}

// unseen enumerates what was not asked.
func unseen(h *history) []space.Point {
	var out []space.Point
	for x := range h.space.All() {
		if h.isNew(x) {
			out = append(out, x)
		}
	}
	return out
}

func trace(trials []*Trial, maximize bool) []float64 {
	best, out := math.NaN(), make([]float64, 0, len(trials))
	for _, t := range trials {
		v := t.Outcome.Value
		if t.Outcome.Status == OK && (math.IsNaN(best) || !maximize && v < best || maximize && v > best) {
			best = v
		}
		out = append(out, best)
	}
	return out
}

package bayes

import (
	"context"
	"math"
	"math/rand"
	"slices"

	"github.com/protuner/protuner/bayes/space"
)

// bandit is the search OpenTuner runs when ATF hands it a constrained space:
// several local searches, and an AUC bandit that gives the turn to the one
// that lately found improvements (Ansel et al. 2014, section 3.2.1). Its
// techniques are of the kinds OpenTuner's default ensemble has, but work on
// configurations that keep the known constraints. A failure never improves.
type bandit struct{}

// window and exploration of the AUC bandit, OpenTuner's defaults.
const (
	banditWindow  = 500
	banditExplore = 0.05
)

// technique proposes a configuration near what is known; nil gives the turn
// to a random draw.
type technique struct {
	name    string
	propose func(h *history, best []*Trial, rng *rand.Rand) space.Point
}

var techniques = []technique{
	{"mutate-one", func(h *history, best []*Trial, rng *rand.Rand) space.Point {
		return cross(h, best[0].Config.Point(), nil, 1, rng)
	}},
	{"mutate-some", func(h *history, best []*Trial, rng *rand.Rand) space.Point {
		return cross(h, best[0].Config.Point(), nil, 1+rng.Intn(3), rng)
	}},
	{"neighbour", func(h *history, best []*Trial, rng *rand.Rand) space.Point {
		return neighbour(h, best[0].Config.Point(), rng)
	}},
	{"evolve", func(h *history, best []*Trial, rng *rand.Rand) space.Point {
		elite := best[:min(len(best), 10)]
		a, b := elite[rng.Intn(len(elite))], elite[rng.Intn(len(elite))]
		return cross(h, a.Config.Point(), b.Config.Point(), 1+rng.Intn(2), rng)
	}},
	{"anneal", func(h *history, best []*Trial, rng *rand.Rand) space.Point {
		// Colder with every trial: from a random one of all to the best.
		k := int(math.Abs(rng.NormFloat64()) * float64(len(best)) / (1 + float64(len(h.trials))/20))
		return neighbour(h, best[min(k, len(best)-1)].Config.Point(), rng)
	}},
	{"random", func(*history, []*Trial, *rand.Rand) space.Point { return nil }},
}

func (bandit) next(_ context.Context, h *history, rng *rand.Rand) (space.Point, string, note, error) {
	best := h.best()
	t := techniques[len(techniques)-1]
	if len(best) > 0 {
		t = techniques[pull(h, rng)]
	}
	if x := t.propose(h, best, rng); x != nil && h.isNew(x) {
		return x, t.name, note{}, nil
	}
	x, err := drawNear(h, rng, false)
	return x, t.name, note{}, err
}

// pull returns the technique with the highest area under the curve of its
// successes within the window, plus a bonus for having been tried little.
func pull(h *history, rng *rand.Rand) int {
	recent := h.trials[max(0, len(h.trials)-banditWindow):]
	bests := trace(h.trials, h.opts.Maximize)[len(h.trials)-len(recent):]
	uses := make([]int, len(techniques))
	area := make([]float64, len(techniques))
	for i, t := range recent {
		k := slices.IndexFunc(techniques, func(c technique) bool { return c.name == t.Origin })
		if k < 0 {
			continue
		}
		uses[k]++
		if i > 0 && bests[i] != bests[i-1] && !math.IsNaN(bests[i]) {
			area[k] += float64(uses[k])
		}
	}
	order := rng.Perm(len(techniques))
	top, at := math.Inf(-1), 0
	for _, k := range order {
		if uses[k] == 0 {
			return k
		}
		n := float64(uses[k])
		v := 2*area[k]/(n*(n+1)) + banditExplore*math.Sqrt(2*math.Log(float64(len(recent)))/n)
		if v > top {
			top, at = v, k
		}
	}
	return at
}

// crossTries bounds the attempts to keep the constraints.
const crossTries = 200

// cross takes some parameters of b, or of a random configuration when b is
// nil, into a. When one parameter cannot change alone it takes more.
func cross(h *history, a, b space.Point, some int, rng *rand.Rand) space.Point {
	for try := range crossTries {
		from := b
		if from == nil || try > crossTries/2 {
			var err error
			if from, err = h.space.Sample(rng); err != nil {
				return nil
			}
		}
		if x := h.space.Cross(a, from, some+try/20, rng); x != nil && h.isNew(x) {
			return x
		}
	}
	return nil
}

// neighbour draws one of the new neighbours of x.
func neighbour(h *history, x space.Point, rng *rand.Rand) space.Point {
	near := h.space.Neighbors(nil, x, rng)
	near = slices.DeleteFunc(near, func(y space.Point) bool { return !h.isNew(y) })
	if len(near) == 0 {
		return nil
	}
	return near[rng.Intn(len(near))]
}

package bayes

import (
	"context"
	"errors"
	"math"
	"math/rand"
	"slices"

	"github.com/protuner/protuner/bayes/gp"
	"github.com/protuner/protuner/bayes/space"
)

// bayesian is the paper's search (section 3): random configurations first,
// then the one of highest expected improvement times probability of
// feasibility. What it keeps between calls is derived from the space alone.
//
// It differs from the paper where docs/bayes.md says so; above all pending
// trials take part as if they had come out as predicted ("kriging believer",
// Ginsbourger et al. 2010), so that several can be asked for at once.
type bayesian struct {
	enc     *space.Encoder
	failing *space.Encoder // for the model of failures
	same    []bool         // its columns that only compare as same or not
	views   [][]int        // its columns, with permutations in one way and in the other
	dims    []gp.Dim
	equal   []bool
	tasks   bool // the last column is the search that an outcome is from
	past    *past
	width   []float64     // columns of each length scale
	all     []space.Point // of a space so small that it is searched whole
}

func (b *bayesian) prepare(h *history) error {
	if b.enc != nil {
		return nil
	}
	b.enc = h.opts.encoder(h.space)
	b.failing = h.opts.failing(h.space)
	for _, c := range b.failing.Columns() {
		b.same = append(b.same, c.Equal)
	}
	b.dims = h.opts.dims(h.space, b.enc)
	if len(h.opts.Earlier) > 0 {
		b.tasks = true
		b.same = append(b.same, true)
		b.dims = append(b.dims, gp.Dim{Group: b.dims[len(b.dims)-1].Group + 1, Equal: true})
	}
	for _, d := range b.dims {
		b.equal = append(b.equal, d.Equal)
	}
	b.views = views(b.failing, b.tasks)
	b.width = make([]float64, b.dims[len(b.dims)-1].Group+1)
	for _, d := range b.dims {
		b.width[d.Group]++
	}
	if h.space.Size() <= float64(h.opts.Acquisition.Candidates) {
		b.all = slices.Collect(h.space.All())
	}
	var err error
	b.past, err = b.remember(h)
	return err
}

// views lists the columns of an encoder with only the first, and with only the last of
// the metrics of each permutation; also the task, where there is one, after them.
func views(enc *space.Encoder, task bool) [][]int {
	last := map[int]int{}
	for _, c := range enc.Columns() {
		last[c.Param] = c.Part
	}
	out := make([][]int, 2)
	for i, c := range enc.Columns() {
		if c.Part == 0 {
			out[0] = append(out[0], i)
		}
		if c.Part == last[c.Param] {
			out[1] = append(out[1], i)
		}
	}
	if task {
		for v := range out {
			out[v] = append(out[v], len(enc.Columns()))
		}
	}
	if slices.Equal(out[0], out[1]) {
		return out[:1]
	}
	return out
}

func (b *bayesian) next(ctx context.Context, h *history, rng *rand.Rand) (space.Point, string, note, error) {
	if err := b.prepare(h); err != nil {
		return nil, "", note{}, err
	}
	if b.past == nil && len(h.trials) < h.opts.Initial {
		x, err := b.initial(h, rng)
		return x, "initial", note{}, err
	}
	d := b.gather(h)
	if math.IsInf(d.best, 1) {
		if b.past != nil {
			if x := b.past.advise(h); x != nil {
				return x, "earlier", note{}, nil
			}
		}
		x, err := b.initial(h, rng)
		return x, "explore", note{}, err
	}
	if e := h.opts.Acquisition.Explore; e > 0 && rng.Float64() < e {
		x, err := b.initial(h, rng)
		return x, "explore", note{}, err
	}
	models, n, err := b.fit(ctx, h, d, rng)
	if errors.Is(err, gp.ErrSingular) {
		x, err := drawNear(h, rng, h.opts.Acquisition.BiasedSampling)
		return x, "random", note{}, err
	}
	if err != nil {
		return nil, "", note{}, err
	}
	feasible, threshold, err := b.feasibility(h, d, rng)
	if err != nil {
		return nil, "", note{}, err
	}
	s := &scorer{bayesian: b, models: models, most: math.Inf(1), lower: h.opts.Acquisition.LowerBound,
		best: slices.Repeat([]float64{d.best - h.opts.Acquisition.Xi}, len(models)), feasible: feasible, threshold: threshold}
	o := h.opts.Surrogate
	for i, model := range models {
		m, ok := model.(*gp.Model)
		if !ok {
			break // a forest, which was grown with what is believed
		}
		if o.MeasuredNoise && d.noise != nil {
			s.best[i] = d.expected(m) - h.opts.Acquisition.Xi
		}
		if err := b.believe(h, m, d); err != nil {
			return nil, "", note{}, err
		}
		s.most = m.Hyper().Signal // of one model; with more it is not used
		if h.opts.Acquisition.Noisy {
			s.noise = n.Hyper.Noise
		}
	}
	x, err := b.maximize(ctx, h, s, rng)
	if x == nil && err == nil {
		x, err = drawNear(h, rng, h.opts.Acquisition.BiasedSampling)
		return x, "random", n, err
	}
	return x, "model", n, err
}

// pending are the rows of the trials that are under way.
func (b *bayesian) pending(h *history) (rows [][]float64) {
	for _, t := range h.trials {
		if t.Outcome.Status == Pending {
			rows = append(rows, b.Encode(nil, t.Config.Point()))
		}
	}
	return rows
}

// believed is what a pending trial is taken for: its predicted mean, or the best or worst
// value so far, which draws the others near it or keeps them away.
func believed(h *history, d data, mean float64) float64 {
	switch h.opts.Acquisition.Batch {
	case LiarBest:
		return d.best
	case LiarWorst:
		return d.worst
	}
	return mean
}

// believe adds the pending trials to a model.
func (b *bayesian) believe(h *history, m *gp.Model, d data) error {
	for _, x := range b.pending(h) {
		if err := m.Append(x, believed(h, d, m.Mean(x))); err != nil && !errors.Is(err, gp.ErrSingular) {
			return err
		}
	}
	return nil
}

// rated is a configuration and its score.
type rated struct {
	x     space.Point
	score float64
}

// climbFrom is the number of best configurations known so far whose
// neighbourhoods are searched besides the random starts.
const climbFrom = 3

// maximize finds a new configuration of high score: the best of random ones,
// improved by local search (paper section 3.3), or the best there is where the
// space is small. It returns nil when no new configuration can be rated.
func (b *bayesian) maximize(ctx context.Context, h *history, s *scorer, rng *rand.Rand) (space.Point, error) {
	a := h.opts.Acquisition
	if b.all != nil {
		best := rated{score: math.Inf(-1)}
		for _, x := range b.all {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if h.isNew(x) {
				if v := s.score(x, best.score); v > best.score {
					best = rated{x, v}
				}
			}
		}
		if len(h.seen) >= len(b.all) {
			return nil, ErrExhausted
		}
		return best.x, nil
	}
	c := &climber{h: h, s: s, rng: rng, scores: map[string]float64{}, left: climbBudget * a.Candidates}
	var known []rated
	for _, t := range h.best() {
		if len(known) == climbFrom {
			break
		}
		known = append(known, rated{t.Config.Point(), math.Inf(-1)})
	}
	if far := reach(h); rng.Float64() >= a.Global && far > 0 && !a.NoLocalSearch {
		if best := c.best(ctx, known, far); best.x != nil {
			return best.x, nil
		}
	}
	keep := a.Starts
	if a.NoLocalSearch {
		keep = 1
	}
	top, err := b.sample(ctx, h, s, keep, rng)
	if err != nil {
		return nil, err
	}
	if a.NoLocalSearch {
		return c.best(ctx, top, 0).x, nil
	}
	return c.best(ctx, append(top, known...), climbSteps).x, nil
}

// sample rates random new configurations and returns the best, in order. Where drawing
// gives up it makes do with those before.
func (b *bayesian) sample(ctx context.Context, h *history, s *scorer, keep int, rng *rand.Rand) ([]rated, error) {
	var top []rated
	draw := h.space.Sample
	if h.opts.Acquisition.BiasedSampling {
		draw = h.space.SampleBiased
	}
	for range h.opts.Acquisition.Candidates {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x, err := draw(rng)
		if errors.Is(err, space.ErrSparse) {
			break
		}
		if err != nil {
			return nil, err
		}
		if !h.isNew(x) {
			continue
		}
		floor := math.Inf(-1)
		if len(top) == keep {
			floor = top[keep-1].score
		}
		v := s.score(x, floor)
		if !(v > floor) || slices.ContainsFunc(top, func(r rated) bool { return slices.Equal(r.x, x) }) {
			continue
		}
		if len(top) < keep {
			top = append(top, rated{})
		}
		k := len(top) - 1
		for ; k > 0 && top[k-1].score < v; k-- {
			top[k] = top[k-1]
		}
		top[k] = rated{x, v}
	}
	return top, nil
}

// climbSteps bounds one global climb.
const climbSteps = 100

// climbBudget times Candidates is the number of configurations that local
// searches may rate for one suggestion; only spaces of hundreds of parameters
// come near it.
const climbBudget = 20

// climber is a number of local searches that share what they rate.
type climber struct {
	h      *history
	s      *scorer
	rng    *rand.Rand
	scores map[string]float64
	left   int
	near   []space.Point
}

// best climbs from each start and returns the best end that is new; its x is
// nil when there is none.
func (c *climber) best(ctx context.Context, starts []rated, steps int) rated {
	best := rated{score: math.Inf(-1)}
	for _, start := range starts {
		if r := c.climb(ctx, start, steps); r.score > best.score {
			best = r
		}
	}
	return best
}

// climb goes to the best neighbour as long as it is better and ctx lasts.
func (c *climber) climb(ctx context.Context, at rated, steps int) rated {
	for range steps {
		if ctx.Err() != nil {
			break
		}
		c.near = c.h.space.Neighbors(c.near[:0], at.x, c.rng)
		next := at
		for _, y := range c.near {
			if v := c.rate(y, next.score); v > next.score {
				next = rated{y, v}
			}
		}
		if next.score <= at.score {
			break
		}
		at = next
	}
	return at
}

// rate is the score of a new configuration, or -Inf when it is not above floor.
func (c *climber) rate(y space.Point, floor float64) float64 {
	key := y.Key()
	if v, known := c.scores[key]; known {
		return v
	}
	if c.left == 0 || c.h.seen[key] != nil {
		return math.Inf(-1)
	}
	c.left--
	v := c.s.score(y, floor)
	if !math.IsInf(v, -1) {
		c.scores[key] = v
	}
	return v
}

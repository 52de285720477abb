package cost

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/protuner/protuner/internal/feature"
)

const (
	// learnEnough observations are needed before anything is predicted.
	learnEnough = 16
	// learnMost observations are kept; where there are more, the fastest third and the
	// latest third stay.
	learnMost = 1500
	// slow and slowest bound how much slower than the fastest one an observation counts
	// as: how slow the slow ones are must not decide how the fast ones are told apart.
	// What failed counts as slow.
	slow, slowest = 4, 8
	// noise is the variance of an observation that its features do not explain, where a
	// whole kernel's is about two.
	noise = 0.1
	// clip is how far from the mean a feature counts at most, in standard deviations.
	clip = 4
)

// Online learns from schedules of one pipeline that were timed on this machine how long
// others take: the model of Adams et al. was trained on another machine and on other
// pipelines, and ranks the schedules that a search is choosing among much worse than
// what it has already measured does (docs/cost.md). It is Gaussian process regression
// (Rasmussen and Williams 2006, "Gaussian Processes for Machine Learning", algorithm 2.1)
// of the logarithm of the time, whose inputs are the logarithms of all stages' features
// and of the model's cost, each standardised, and whether the schedule has a version for
// the sizes it is timed at, which is worth the same to all. These are ours:
//
//   - The kernel is a linear one plus the mean over stages of the exponential of the
//     distance between the stage's own features: two schedules are the more alike the more
//     stages they treat alike, and a stage's change is worth about the same whatever the
//     others do.
//   - Its parameters and the noise are fixed, not fitted to the observations.
//   - A failure is an observation, too, of slow times the time of the fastest.
//   - The Cholesky factor grows by an observation at a time, and is made anew when inputs
//     are standardised anew.
//
// Not safe for concurrent use.
type Online struct {
	model  *Model
	stages int
	seen   []observation

	scaledBy       int // observations behind mean and scale
	mean, scale    []float64
	chol           mat.Cholesky
	fitted         int // observations inside chol
	stale          bool
	weights        mat.VecDense // of observations, for the standardised logarithm of time
	centre, spread float64      // of those logarithms
	row, raw       []float64
}

type observation struct {
	raw     []float64 // logarithms of features by stage, then that of the model's cost, then sized
	z       []float64 // the same standardised
	seconds float64   // 0: failed
}

// NewOnline learns about the pipeline of a model.
func NewOnline(m *Model) *Online { return &Online{model: m, stages: m.Stages()} }

// Observe takes the features of a complete schedule, as feature.Extractor gives them,
// whether it has a version for these sizes, and how long it ran; worked says whether it
// ran to its end, in time and right. Schedules whose cost is infinite teach nothing.
func (o *Online) Observe(features []feature.Schedule, sized bool, seconds float64, worked bool) {
	raw, ok := o.inputs(features, sized, nil)
	if !ok || worked && !(seconds > 0) {
		return
	}
	if !worked {
		seconds = 0
	}
	o.seen = append(o.seen, observation{raw: raw, seconds: seconds})
	o.stale = true
}

// Predict gives the mean and the standard deviation of the logarithm of a complete
// schedule's seconds; sized says, as in Observe, whether it has a version for these sizes.
// It is false while too little was observed, and for schedules whose cost is infinite.
func (o *Online) Predict(features []feature.Schedule, sized bool) (mean, deviation float64, ok bool) {
	if o.stale {
		o.fit()
	}
	if o.fitted < learnEnough {
		return 0, 0, false
	}
	if o.raw, ok = o.inputs(features, sized, o.raw[:0]); !ok {
		return 0, 0, false
	}
	z := o.standardise(o.raw)
	o.row = o.row[:0]
	for i := range o.seen[:o.fitted] {
		o.row = append(o.row, o.kernel(z, o.seen[i].z))
	}
	row := mat.NewVecDense(o.fitted, o.row)
	mean = mat.Dot(row, &o.weights)
	var solved mat.VecDense
	variance := o.kernel(z, z)
	if err := o.chol.SolveVecTo(&solved, row); err == nil {
		variance -= mat.Dot(row, &solved)
	}
	return o.centre + o.spread*mean, o.spread * math.Sqrt(max(0, variance)), true
}

// inputs appends what is known of a schedule; false where it cannot be said in numbers.
func (o *Online) inputs(features []feature.Schedule, sized bool, dst []float64) ([]float64, bool) {
	c := o.model.Predict(features)
	if len(features) != o.stages || math.IsInf(c, 1) || c <= 0 {
		return dst, false
	}
	dst = slices.Grow(dst, o.stages*feature.NumSchedule+2)
	for i := range features {
		for _, v := range features[i] {
			dst = append(dst, math.Log1p(max(0, v)))
		}
	}
	dst = append(dst, math.Log(c), 0)
	if sized {
		dst[len(dst)-1] = 1
	}
	return dst, true
}

// standardise moves and scales inputs as fitScale found for the observations.
func (o *Online) standardise(raw []float64) []float64 {
	z := make([]float64, len(raw))
	for i, v := range raw {
		z[i] = min(max((v-o.mean[i])/o.scale[i], -clip), clip)
	}
	return z
}

func (o *Online) kernel(a, b []float64) float64 {
	const n = feature.NumSchedule
	dot, alike := 0.0, 0.0
	for s := range o.stages {
		square := 0.0
		x, y := a[s*n:(s+1)*n], b[s*n:(s+1)*n]
		for i, v := range x {
			dot += v * y[i]
			square += (v - y[i]) * (v - y[i])
		}
		alike += math.Exp(-math.Sqrt(square / n))
	}
	size := len(a) - 1
	dot += a[size-1] * b[size-1]
	return dot/float64(size) + alike/float64(o.stages) + a[size]*b[size]/2
}

// fit takes in what was observed since. Inputs are standardised anew each time the
// observations have grown by a quarter; in between the factor only grows.
func (o *Online) fit() {
	o.stale = false
	if len(o.seen) < learnEnough {
		return
	}
	if len(o.seen) > learnMost {
		o.thin()
	}
	if 4*len(o.seen) >= 5*o.scaledBy || o.fitted == 0 {
		o.fitScale()
		n := len(o.seen)
		k := mat.NewSymDense(n, nil)
		for i := range n {
			for j := range i + 1 {
				k.SetSym(i, j, o.kernel(o.seen[i].z, o.seen[j].z))
			}
			k.SetSym(i, i, k.At(i, i)+noise)
		}
		if o.fitted = 0; !o.chol.Factorize(k) {
			return // cannot happen with noise on the diagonal; if it does, nothing is predicted
		}
		o.fitted = n
	}
	for o.fitted < len(o.seen) {
		at := &o.seen[o.fitted]
		at.z = o.standardise(at.raw)
		column := mat.NewVecDense(o.fitted+1, nil)
		for i := range o.fitted + 1 {
			column.SetVec(i, o.kernel(at.z, o.seen[i].z))
		}
		column.SetVec(o.fitted, column.AtVec(o.fitted)+noise)
		var grown mat.Cholesky
		if !grown.ExtendVecSym(&o.chol, column) {
			o.fitted = 0
			return
		}
		o.chol = grown
		o.fitted++
	}
	o.weigh()
}

// thin keeps the fastest and the latest.
func (o *Online) thin() {
	const part = learnMost / 3
	old, late := o.seen[:len(o.seen)-part], o.seen[len(o.seen)-part:]
	byTime := slices.Clone(old)
	slices.SortStableFunc(byTime, func(a, b observation) int { return cmp.Compare(a.orNever(), b.orNever()) })
	o.seen = append(slices.Clone(byTime[:part]), late...)
	o.scaledBy, o.fitted = 0, 0
}

func (b observation) orNever() float64 {
	if b.seconds == 0 {
		return math.Inf(1)
	}
	return b.seconds
}

// fitScale finds the mean and the scale of each input, and standardises all observations.
func (o *Online) fitScale() {
	n, d := float64(len(o.seen)), len(o.seen[0].raw)
	o.mean, o.scale = make([]float64, d), make([]float64, d)
	for _, b := range o.seen {
		for i, v := range b.raw {
			o.mean[i] += v / n
		}
	}
	for _, b := range o.seen {
		for i, v := range b.raw {
			o.scale[i] += (v - o.mean[i]) * (v - o.mean[i]) / n
		}
	}
	for i, v := range o.scale {
		// What never differed yet counts by itself once it does.
		if o.scale[i] = math.Sqrt(v); o.scale[i] < 1e-6 {
			o.scale[i] = 1
		}
	}
	for i := range o.seen {
		o.seen[i].z = o.standardise(o.seen[i].raw)
	}
	o.scaledBy = len(o.seen)
}

// weigh solves for the weights of the observations, whose times it standardises.
func (o *Online) weigh() {
	best := math.Inf(1)
	for _, b := range o.seen {
		best = min(best, b.orNever())
	}
	if math.IsInf(best, 1) {
		o.fitted = 0 // nothing worked yet, and nothing tells them apart
		return
	}
	y := mat.NewVecDense(o.fitted, nil)
	o.centre, o.spread = 0, 0
	for i, b := range o.seen {
		v := min(b.seconds, slowest*best)
		if b.seconds == 0 {
			v = slow * best
		}
		y.SetVec(i, math.Log(v))
		o.centre += math.Log(v) / float64(o.fitted)
	}
	for i := range o.fitted {
		v := y.AtVec(i) - o.centre
		o.spread += v * v / float64(o.fitted)
		y.SetVec(i, v)
	}
	o.spread = max(math.Sqrt(o.spread), 1e-6)
	y.ScaleVec(1/o.spread, y)
	o.weights.Reset()
	if err := o.chol.SolveVecTo(&o.weights, y); err != nil {
		o.fitted = 0
	}
}

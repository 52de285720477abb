package bayes

import (
	"math"

	"github.com/protuner/protuner/bayes/forest"
	"github.com/protuner/protuner/bayes/space"
)

// kappa of the lower confidence bound, as scikit-optimize has it.
const kappa = 1.96

// leastFeasibility stands in for a predicted probability of 0, so that no
// configuration is ruled out for ever where no threshold does.
const leastFeasibility = 1e-3

// logEI is the logarithm of the expected improvement below best of a normal
// variable (Jones et al. 1998). The logarithm, here and in the scores, ranks as
// the value does but does not underflow far from the best (Ament et al. 2023).
func logEI(best, mean, sd float64) float64 {
	z := (best - mean) / sd
	return math.Log(sd) + logH(z)
}

// logH is log(phi(z) + z Phi(z)).
func logH(z float64) float64 {
	if z > -5 {
		return math.Log(math.Exp(-z*z/2)/math.Sqrt(2*math.Pi) + z*0.5*math.Erfc(-z/math.Sqrt2))
	}
	// The asymptotic series of Mills' ratio; its error at -5 is below 0.2%.
	q := 1 / (z * z)
	return -z*z/2 - math.Log(math.Sqrt(2*math.Pi)) + math.Log(q*(1-q*(3-q*(15-q*105))))
}

// surrogate predicts the objective, standardised, smaller is better.
type surrogate interface {
	Mean(x []float64) float64
	Variance() float64 // at the x of the last Mean
}

// scorer rates configurations. Scores are logarithms of the acquisition
// function (or, for the lower confidence bound, its negative).
type scorer struct {
	*bayesian             // encodes
	models    []surrogate // the acquisition function is the sum of theirs
	most      float64     // no variance is larger; +Inf: not known
	noise     float64     // added to the variance
	best      []float64   // to be improved on, by each model's account
	lower     bool
	feasible  *forest.Forest // nil: everything is
	threshold float64        // least probability of feasibility

	buf, states []float64
}

// score rates x. Where the score is certainly not above floor it may return
// -Inf instead, which saves the variance.
func (s *scorer) score(x space.Point, floor float64) float64 {
	s.buf = s.Encode(s.buf[:0], x)
	mean := s.models[0].Mean(s.buf)
	if len(s.models) == 1 && s.value(0, mean, s.most+s.noise) <= floor {
		return math.Inf(-1)
	}
	p := 1.0
	if s.feasible != nil {
		s.states = s.conditions(s.states[:0], x, 0)
		if p = s.feasible.Mean(s.states); p < s.threshold {
			return math.Inf(-1)
		}
	}
	v := s.value(0, mean, s.models[0].Variance()+s.noise)
	for i, m := range s.models[1:] {
		v = logSum(v, s.value(i+1, m.Mean(s.buf), m.Variance()+s.noise))
	}
	return v + math.Log(math.Max(p, leastFeasibility))
}

// logSum is log(exp(a) + exp(b)).
func logSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(a, 0) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// value is what one of the models expects; it does not decrease with the variance.
func (s *scorer) value(model int, mean, variance float64) float64 {
	sd := math.Sqrt(variance)
	if math.IsInf(sd, 1) {
		return sd
	}
	if s.lower {
		return kappa*sd - mean
	}
	return logEI(s.best[model], mean, math.Max(sd, 1e-9))
}

// trees adapts a forest to the surrogate interface.
type trees struct {
	f        *forest.Forest
	variance float64
}

func (t *trees) Mean(x []float64) float64 {
	mean, variance := t.f.Predict(x)
	t.variance = variance
	return mean
}

func (t *trees) Variance() float64 { return t.variance }

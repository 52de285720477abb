package gp

import (
	"math"
	"testing"
)

func TestMinimize(t *testing.T) {
	rosenbrock := func(x, g []float64) float64 {
		a, b := 1-x[0], x[1]-x[0]*x[0]
		g[0], g[1] = -2*a-400*x[0]*b, 200*b
		return a*a + 100*b*b
	}
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		lo, hi, want []float64
	}{
		"free":    {[]float64{-inf, -inf}, []float64{inf, inf}, []float64{1, 1}},
		"bounded": {[]float64{-2, -2}, []float64{0.5, 2}, []float64{0.5, 0.25}},
		"corner":  {[]float64{-2, -2}, []float64{-1, 0}, []float64{-1, 0}},
	} {
		x, v := minimize(rosenbrock, []float64{-1.2, 1}, c.lo, c.hi, 2000)
		for i := range x {
			if math.Abs(x[i]-c.want[i]) > 2e-3 {
				t.Errorf("%s: minimum %v (%v), want %v", name, x, v, c.want)
				break
			}
		}
	}
	evals := 0
	minimize(func(x, g []float64) float64 { evals++; return rosenbrock(x, g) }, []float64{-1.2, 1},
		[]float64{-5, -5}, []float64{5, 5}, 7)
	if evals > 7 {
		t.Errorf("%d evaluations of 7", evals)
	}
}

// TestMinimizeStepsBackFromInfinity: a value that is not finite is a step too
// far, not an end.
func TestMinimizeStepsBackFromInfinity(t *testing.T) {
	f := func(x, g []float64) float64 {
		if x[0] <= 0 {
			return math.Inf(1)
		}
		g[0] = 1 - 1/x[0]
		return x[0] - math.Log(x[0])
	}
	x, _ := minimize(f, []float64{5}, []float64{-10}, []float64{10}, 200)
	if math.Abs(x[0]-1) > 1e-3 {
		t.Errorf("minimum at %v, want 1", x[0])
	}
}

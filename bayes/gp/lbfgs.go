package gp

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// history is the number of curvature pairs kept.
const history = 8

// minimize finds a local minimum of f within the box [lo, hi] from x, by
// L-BFGS (Liu and Nocedal 1989) on the coordinates that are not held at a
// bound, with steps projected into the box and Armijo backtracking. f returns
// the value and sets the gradient; a value that is not finite is a step too
// far. It uses at most evals evaluations and returns the best point and value.
// gonum's optimizer has no bounds, which keep the covariance well conditioned.
func minimize(f func(x, grad []float64) float64, x, lo, hi []float64, evals int) ([]float64, float64) {
	n := len(x)
	x = append([]float64(nil), x...)
	project(x, lo, hi)
	grad := make([]float64, n)
	value := f(x, grad)
	evals--
	if math.IsInf(value, 0) || math.IsNaN(value) {
		return x, math.Inf(1)
	}
	var s, y [][]float64
	dir, next, nextGrad := make([]float64, n), make([]float64, n), make([]float64, n)
	free := make([]bool, n)
	for evals > 0 {
		still := true
		for i := range x {
			free[i] = !(x[i] <= lo[i] && grad[i] > 0 || x[i] >= hi[i] && grad[i] < 0)
			if free[i] && math.Abs(grad[i]) > 1e-5 {
				still = false
			}
		}
		if still {
			break
		}
		direction(dir, grad, s, y, free)
		slope := floats.Dot(dir, grad)
		if slope >= 0 {
			s, y = nil, nil
			direction(dir, grad, s, y, free)
			slope = floats.Dot(dir, grad)
		}
		step := 1.0
		if s == nil { // the first step has no scale of its own
			step = math.Min(1, 1/floats.Norm(dir, 1))
		}
		// Two nats are the most that a step may move a log hyperparameter.
		step = math.Min(step, 2/floats.Norm(dir, math.Inf(1)))
		accepted, nextValue := false, 0.0
		for ; evals > 0 && step > 1e-10; step *= 0.4 {
			copy(next, x)
			floats.AddScaled(next, step, dir)
			project(next, lo, hi)
			nextValue = f(next, nextGrad)
			evals--
			if nextValue <= value+1e-4*step*slope {
				accepted = true
				break
			}
		}
		if !accepted {
			break
		}
		ds, dy := make([]float64, n), make([]float64, n)
		floats.SubTo(ds, next, x)
		floats.SubTo(dy, nextGrad, grad)
		if floats.Dot(ds, dy) > 1e-10*floats.Dot(dy, dy) {
			s, y = append(s, ds), append(y, dy)
			if len(s) > history {
				s, y = s[1:], y[1:]
			}
		}
		gain := value - nextValue
		copy(x, next)
		copy(grad, nextGrad)
		value = nextValue
		if gain < 1e-7*(1+math.Abs(value)) {
			break
		}
	}
	return x, value
}

func project(x, lo, hi []float64) {
	for i := range x {
		x[i] = math.Max(lo[i], math.Min(hi[i], x[i]))
	}
}

// direction sets dir to the two-loop product -H grad on the free coordinates.
func direction(dir, grad []float64, s, y [][]float64, free []bool) {
	for i := range dir {
		dir[i] = 0
		if free[i] {
			dir[i] = -grad[i]
		}
	}
	dots := func(a, b []float64) float64 {
		t := 0.0
		for i := range a {
			if free[i] {
				t += a[i] * b[i]
			}
		}
		return t
	}
	a := make([]float64, len(s))
	for k := len(s) - 1; k >= 0; k-- {
		sy := dots(s[k], y[k])
		if sy <= 0 {
			continue
		}
		a[k] = dots(s[k], dir) / sy
		floats.AddScaled(dir, -a[k], y[k])
	}
	if k := len(s) - 1; k >= 0 {
		if sy, yy := dots(s[k], y[k]), dots(y[k], y[k]); sy > 0 && yy > 0 {
			floats.Scale(sy/yy, dir)
		}
	}
	for k := range s {
		sy := dots(s[k], y[k])
		if sy <= 0 {
			continue
		}
		floats.AddScaled(dir, a[k]-dots(y[k], dir)/sy, s[k])
	}
	for i := range dir {
		if !free[i] {
			dir[i] = 0
		}
	}
}

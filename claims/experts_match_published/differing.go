package main

import (
	"fmt"
	"math"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/measure"
)

// differing is the share of values in which two outputs differ by more than rounding:
// one part in a thousand, or one of an integer.
func differing(a, b string) float64 {
	kind, x, err := measure.ReadNumPy(a)
	claim.Fail(err)
	other, y, err := measure.ReadNumPy(b)
	claim.Fail(err)
	if kind != other || len(x) != len(y) || len(x) == 0 {
		claim.Fail(fmt.Errorf("%s holds %d values of %s, %s %d of %s", a, len(x), kind, b, len(y), other))
	}
	allowed := 1e-5
	if kind != "f4" {
		allowed = 1
	}
	n := 0
	for i := range x {
		if !(math.Abs(x[i]-y[i]) <= allowed+1e-3*math.Abs(y[i])) {
			n++
		}
	}
	return float64(n) / float64(len(x))
}

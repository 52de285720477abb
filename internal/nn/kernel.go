package nn

import "math"

// evaluate is Coefficients for processors without vector code of their own, and
// the definition of what such code computes: every product and every sum is
// rounded to float32, sums are taken in the order written here. The conversions
// around products keep the compiler from fusing them with sums.
func evaluate(w *Weights, s *Stage, in *[Inputs]float64, f *[Padded]float32, out *[Outputs]float32) bool {
	worst := uint32(0)
	for k, v := range in {
		f[k] = float32(v)
		worst = max(worst, math.Float32bits(f[k]))
	}
	for k := Inputs; k < Padded; k++ {
		f[k] = 0
	}
	head := w.Head2Bias
	for k := range Inputs {
		v := logOnePlus(f[k])
		row := (*[Schedule]float32)(w.Head2Filter[Schedule*k:])
		for c := range row {
			head[c] += float32(row[c] * v)
		}
	}
	*out = *s
	for i, v := range head {
		if v <= 0 {
			continue // adds nothing
		}
		row := (*[Outputs]float32)(w.Conv1Filter[Outputs*(Algorithm+i):])
		for c := range row {
			out[c] += float32(row[c] * v)
		}
	}
	for c, v := range out {
		out[c] = max(v, 0)
	}
	return worst <= largest
}

// largest are the bits of the largest finite float32. Those of infinity, of what is
// no number and of all negative numbers are more.
const largest = 0x7f7fffff

// The logarithm is a polynomial of degree 9 about 1, as in Cephes' logf (S. L.
// Moshier, netlib.org/cephes): with v+1 = m 2^e and m between the roots of a half
// and of two, ln m + e ln 2, ln 2 in two parts. It is within 2 ulp of ln(v+1), with
// v+1 rounded.
const (
	rootHalf = 0.707106781186547524
	log2High = 0.693359375
	log2Low  = -2.12194440e-4
)

var logPolynomial = [...]float32{
	7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
	-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
}

// logOnePlus is ln(v+1) for finite v that are not negative; 0 for 0.
func logOnePlus(v float32) float32 {
	bits := math.Float32bits(v + 1)
	e := float32(int32(bits>>23) - 126)
	m := math.Float32frombits(bits&0x007fffff | 0x3f000000) // at least a half, less than 1
	x := m - 1
	if m < rootHalf {
		e--
		x += m
	}
	z := float32(x * x)
	y := logPolynomial[0]
	for _, p := range logPolynomial[1:] {
		y = float32(y*x) + p
	}
	y = float32(float32(y*x) * z)
	y += float32(log2Low * e)
	y -= float32(0.5 * z)
	return x + y + float32(log2High*e)
}

// dotScalar adds up products lane by lane of eight, then halves of the lanes.
func dotScalar(a, b *[Outputs]float32) float32 {
	const lanes = 8
	var sum [lanes]float32
	for i := 0; i < Outputs; i += lanes {
		for l := range sum {
			sum[l] += float32(a[i+l] * b[i+l])
		}
	}
	for half := lanes / 2; half > 0; half /= 2 {
		for l := range half {
			sum[l] += sum[l+half]
		}
	}
	return sum[0]
}

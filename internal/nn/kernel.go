package nn

import "math"

// evaluate is Coefficients for processors without vector code of their own, and
// the definition of what such code computes: every product and every sum is
// rounded to float32, sums are taken in the order written here, which is that of the
// code in Halide's plugins. The conversions around products keep the compiler from
// fusing them with sums.
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

// logOnePlus is about ln(v+1) for finite v that are not negative; 0 for 0. It is the
// fast logarithm that Halide's cost model takes, to the bit, since schedules that
// cost nearly the same are told apart by it. With v+1 = m 2^e and m at least 3/4 and
// less than 3/2 it is a polynomial of degree 7 in m-1, odd and even powers apart, plus
// e ln 2; at most 2e-5 off where that is the value, and less below 1.
func logOnePlus(v float32) float32 {
	bits := math.Float32bits(v + 1)
	mantissa := bits & 0x007fffff
	high := mantissa >> 22 // 1 where v+1 is at least 3/2 of a power of two
	e := float32(int32(bits>>23+high) - 127)
	x := math.Float32frombits(mantissa-high<<23+0x3f800000) - 1
	z := float32(x * x)
	p := &logPolynomial
	odd := float32(p[7]*z) + p[5]
	odd = float32(odd*z) + p[3]
	odd = float32(odd*z) + p[1]
	odd = float32(odd * x)
	even := float32(p[6]*z) + p[4]
	even = float32(even*z) + p[2]
	even = float32(even * z)
	return even + float32(e*math.Ln2) + odd
}

// sigmoid is about 1/(1+exp(-v)), with exp(-v) = 2^k exp(-x) as Halide's vector code
// has it, to the bit: exp(-x) is a polynomial of degree 7.
func sigmoid(v float32) float32 {
	k := float32(math.Floor(float64(float32(v * -math.Log2E))))
	switch {
	case k <= -127:
		return 1
	case k >= 128:
		return 0
	}
	x := float32(k*math.Ln2) + v
	z := float32(x * x)
	p := &expPolynomial
	odd := float32(-p[7]*z) - p[5]
	odd = float32(odd*z) - p[3]
	odd = float32(odd*z) - p[1]
	odd = float32(odd * x)
	even := float32(p[6]*z) + p[4]
	even = float32(even*z) + p[2]
	even = float32(even*z) + p[0]
	power := math.Float32frombits(uint32(int32(k)+127) << 23)
	return 1 / (float32(power*(odd+even)) + 1)
}

// The coefficients of x to the power of the index.
var (
	logPolynomial = [...]float32{0, 1, -0.499975145, 0.333204657, -0.251102597, 0.206252187, -0.162529618, 0.0764031857}
	expPolynomial = [...]float32{1, 1, 0.499998987, 0.166679844, 0.0416018814, 0.0084898863, 0.00119156833, 0.000319659332}
)

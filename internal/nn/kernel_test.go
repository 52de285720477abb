package nn

import (
	"math"
	"math/rand"
	"testing"
)

// drawn are features as schedules have them: many zeros, others of any size.
func drawn(rng *rand.Rand) (f [Inputs]float64) {
	for k := range f {
		if rng.Intn(4) > 0 {
			f[k] = math.Floor(math.Exp(20 * rng.Float64()))
		}
	}
	return f
}

// kernel is one way to compute.
type kernel struct {
	evaluate func(*Weights, *Stage, *[Inputs]float64, *[Padded]float32, *[Outputs]float32) bool
	dot      func(a, b *[Outputs]float32) float32
}

// kernels are those that this machine has; files of processors add theirs.
var kernels = map[string]kernel{"scalar": {evaluate, dotScalar}}

// Vector code and its scalar twin agree to the last bit: 0 ulp.
func TestKernelsAgree(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for seed := range int64(20) {
		w := made(seed)
		s := New(w).Stage(make([]int32, Ops*Types))
		for range 200 {
			in := drawn(rng)
			switch rng.Intn(3) {
			case 0: // fractions, as loads shared between vectors are
				for k := range in {
					in[k] *= rng.Float64()
				}
			case 1: // nearly all that float32 holds
				in[rng.Intn(Inputs)] = math.MaxFloat32 * rng.Float64()
			}
			var f, g [Padded]float32
			var want, got [Outputs]float32
			if !evaluate(w, s, &in, &f, &want) {
				t.Fatalf("refused: %v", in)
			}
			for name, k := range kernels {
				if !k.evaluate(w, s, &in, &g, &got) || got != want || f != g {
					t.Fatalf("%s: %v\nnot %v\nof %v", name, got, want, in)
				}
				var size [Outputs]float32
				copy(size[:], g[:])
				if a, b := k.dot(&got, &size), dotScalar(&got, &size); a != b {
					t.Fatalf("%s: %g, not %g", name, a, b)
				}
			}
		}
	}
}

func TestKernelsRefuse(t *testing.T) {
	w := made(1)
	s := New(w).Stage(make([]int32, Ops*Types))
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, -1e-30, 4e38, math.MaxFloat64} {
		for k := range Inputs {
			var in [Inputs]float64
			in[k] = bad
			for name, kernel := range kernels {
				var f [Padded]float32
				var out [Outputs]float32
				if kernel.evaluate(w, s, &in, &f, &out) {
					t.Errorf("%s: feature %d may be %g", name, k, bad)
				}
			}
		}
	}
}

// The logarithm is within 2 ulp of the true one of v+1 in float32.
func TestLogOnePlus(t *testing.T) {
	if logOnePlus(0) != 0 {
		t.Errorf("ln 1 is %g", logOnePlus(0))
	}
	rng := rand.New(rand.NewSource(1))
	for range 200000 {
		v := float32(math.Exp(88 * rng.Float64() * rng.Float64()))
		if rng.Intn(2) == 0 {
			v = float32(rng.Intn(1000))
		}
		want := math.Log(float64(v + 1))
		ulp := float64(math.Nextafter32(float32(want), 100) - float32(want))
		if got := logOnePlus(v); math.Abs(float64(got)-want) > 2*ulp {
			t.Fatalf("ln %g is %g, not %g", v+1, got, want)
		}
	}
}

func TestDot(t *testing.T) {
	var a, b [Outputs]float32
	for i := range a {
		a[i], b[i] = float32(i), float32(2*i+1)
	}
	for name, k := range kernels {
		if got := k.dot(&a, &b); got != 21328 { // the sum of 2i^2 + i
			t.Errorf("%s: %g", name, got)
		}
	}
}

func TestCoefficientsDoNotAllocate(t *testing.T) {
	n := New(made(1))
	s := n.Stage(make([]int32, Ops*Types))
	in := drawn(rand.New(rand.NewSource(1)))
	var f [Padded]float32
	var out [Outputs]float32
	if allocs := testing.AllocsPerRun(20, func() { n.Coefficients(s, &in, &f, &out); Dot(&out, &out) }); allocs > 0 {
		t.Errorf("%g allocations", allocs)
	}
}

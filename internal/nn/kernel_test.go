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
type kernel func(*Weights, *Stage, *[Inputs]float64, *[Padded]float32, *[Outputs]float32) bool

// kernels are those that this machine has; files of processors add theirs.
var kernels = map[string]kernel{"scalar": evaluate}

// Vector code and its scalar twin agree to the last bit: 0 ulp.
func TestKernelsAgree(t *testing.T) {
	if len(kernels) == 1 {
		t.Skip("this processor has no vector code: there is nothing to compare")
	}
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
				if !k(w, s, &in, &g, &got) || got != want || f != g {
					t.Fatalf("%s: %v\nnot %v\nof %v", name, got, want, in)
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
				if kernel(w, s, &in, &f, &out) {
					t.Errorf("%s: feature %d may be %g", name, k, bad)
				}
			}
		}
	}
}

// The logarithm and the sigmoid are approximations, but near ones.
func TestApproximations(t *testing.T) {
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
		if got := logOnePlus(v); math.Abs(float64(got)-want) > 2e-5*min(1, want)+1e-7*want {
			t.Fatalf("ln %g is %g, not %g", v+1, got, want)
		}
		v = float32(rng.NormFloat64() * 30)
		want = 1 / (1 + math.Exp(-float64(v)))
		if got := sigmoid(v); math.Abs(float64(got)-want) > 1e-5*want+1e-37 {
			t.Fatalf("the sigmoid of %g is %g, not %g", v, got, want)
		}
	}
}

func TestCoefficientsDoNotAllocate(t *testing.T) {
	n := New(made(1))
	s := n.Stage(make([]int32, Ops*Types))
	in := drawn(rand.New(rand.NewSource(1)))
	var f [Padded]float32
	var out [Outputs]float32
	if allocs := testing.AllocsPerRun(20, func() { n.Coefficients(s, &in, &f, &out) }); allocs > 0 {
		t.Errorf("%g allocations", allocs)
	}
}

package nn

import "golang.org/x/sys/cpu"

// useAVX2 chooses the vector code of kernel_amd64.s at run time. It uses no fused
// multiply-adds, which round once where evaluate rounds twice: so a schedule has one
// cost on all machines, at the price of a few instructions more. (Go's own vectors,
// simd/archsimd, would need GOEXPERIMENT to be set to build.)
var useAVX2 = cpu.X86.HasAVX2

func coefficients(w *Weights, s *Stage, in *[Inputs]float64, f *[Padded]float32, out *[Outputs]float32) bool {
	if useAVX2 {
		return evaluateAVX2(w, s, in, f, out)
	}
	return evaluate(w, s, in, f, out)
}

//go:noescape
func evaluateAVX2(w *Weights, s *Stage, in *[Inputs]float64, f *[Padded]float32, out *[Outputs]float32) bool

//go:build !amd64

package nn

func coefficients(w *Weights, s *Stage, in *[Inputs]float64, f *[Padded]float32, out *[Outputs]float32) bool {
	return evaluate(w, s, in, f, out)
}

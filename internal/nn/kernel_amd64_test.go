package nn

func init() {
	if useAVX2 {
		kernels["avx2"] = evaluateAVX2
	}
}

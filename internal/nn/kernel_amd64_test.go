package nn

func init() {
	if useAVX2 {
		kernels["avx2"] = kernel{evaluateAVX2, dotAVX2}
	}
}

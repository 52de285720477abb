package nn

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func init() {
	if useAVX2 {
		kernels["avx2"] = evaluateAVX2
	}
}

// Where the kernel of the system says that there is AVX2 it is used.
func TestVectorsAreUsed(t *testing.T) {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip("nothing says what the processor has")
	}
	if slices.Contains(strings.Fields(string(text)), "avx2") && !useAVX2 {
		t.Error("the processor has AVX2, which is not used")
	}
}

package cost

import (
	"math"

	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/nn"
)

// sum is the cost of a stage of which the network gave coefficients c: those times
// the sizes of the terms. It adds up in the order of the machine code of the cost
// model in Halide 21's plugin, whose compiler was free to choose one, and rounds
// every product and every sum to float32, so that it gives the same bits: a search
// meets children whose costs differ in the last bits only, and takes one of them.
func sum(c *[nn.Outputs]float32, f *[nn.Padded]float32, first bool, cores float32) float32 {
	inner := f[feature.InnerParallelism]
	all := inner * f[feature.OuterParallelism]
	tasks := max(1, all)
	perCore := tasks / cores
	line := max(1, f[feature.InnermostBytesAtTask])
	realised, vectors, scalars := f[feature.NumRealizations], f[feature.NumVectors], f[feature.NumScalars]
	bytes, lines := f[feature.UniqueBytesReadPerVector], f[feature.UniqueLinesReadPerVector]

	kind := 0
	if f[feature.InlinedCalls] != 0 {
		kind = 2
	}
	points := float32(f[feature.VectorSize] * vectors)
	compute := float32(points*c[kind]) + float32(scalars*c[kind+1])
	compute = float32(compute*float32(math.Ceil(float64(perCore)))) / max(1, perCore)

	stored := 2
	sharing, launch := float32(0), float32(0)
	if inner > 1 {
		stored = 0
		sharing = float32((scalars+vectors)*c[22]) / line
		launch = c[25]
	} else if first {
		stored = 1
	}
	written := float32(float32(f[feature.BytesAtTask]*inner)*c[16+stored]) / line
	store := float32((float32(f[feature.BytesAtRealization]*c[19+stored])+written)*realised) + sharing
	faults := float32(all * min(inner, 4096/line))
	store += float32(float32(faults*c[23]) * f[feature.BytesAtProduction])
	store += store // twice: see sizes

	perTask := float32(f[feature.UniqueLinesReadPerTask]*c[15]) + float32(f[feature.UniqueBytesReadPerTask]*c[14])
	perScalar := float32(lines*c[12]) + float32(bytes*c[10]) + float32(f[feature.ScalarLoadsPerScalar]*c[8])
	perVector := float32(bytes*c[11]) + float32(lines*c[13])
	perVector = perVector + float32(f[feature.VectorLoadsPerVector]*c[9]) + float32(f[feature.ScalarLoadsPerVector]*c[7])
	perRealisation := c[24] + float32(f[feature.UniqueLinesReadPerRealization]*c[5]) + float32(f[feature.UniqueBytesReadPerRealization]*c[6])
	load := float32(scalars*perScalar) + float32(realised*perRealisation)
	load += float32(tasks*perTask) + float32(vectors*perVector)

	parallel := launch + float32((inner-1)*c[26])
	outside := store + float32(parallel*f[feature.NumProductions])
	inside := load + float32(f[feature.WorkingSet]*c[27])
	return float32((compute + (outside + inside)) * unit)
}

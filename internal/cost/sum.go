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

	inVectors, oneByOne := vectorCompute, scalarCompute
	if f[feature.InlinedCalls] != 0 {
		inVectors, oneByOne = inlinedVectorCompute, inlinedScalarCompute
	}
	points := float32(f[feature.VectorSize] * vectors)
	compute := float32(points*c[inVectors]) + float32(scalars*c[oneByOne])
	compute = float32(compute*float32(math.Ceil(float64(perCore)))) / max(1, perCore)

	storedLines, storedBytes := linesWritten, bytesWritten
	sharing, launch := float32(0), float32(0)
	if inner > 1 {
		storedLines, storedBytes = parallelLinesWritten, parallelBytesWritten
		sharing = float32((scalars+vectors)*c[falseSharing]) / line
		launch = c[parallelLaunches]
	} else if first {
		storedLines, storedBytes = lastLinesWritten, lastBytesWritten
	}
	written := float32(float32(f[feature.BytesAtTask]*inner)*c[storedLines]) / line
	store := float32((float32(f[feature.BytesAtRealization]*c[storedBytes])+written)*realised) + sharing
	faults := float32(all * min(inner, 4096/line))
	store += float32(float32(faults*c[pageFaults]) * f[feature.BytesAtProduction])
	store += store // twice: see sizes

	perTask := float32(f[feature.UniqueLinesReadPerTask]*c[taskLines]) + float32(f[feature.UniqueBytesReadPerTask]*c[taskBytes])
	perScalar := float32(lines*c[scalarLines]) + float32(bytes*c[scalarBytes]) + float32(f[feature.ScalarLoadsPerScalar]*c[scalarLoads])
	perVector := float32(bytes*c[vectorBytes]) + float32(lines*c[vectorLines])
	perVector = perVector + float32(f[feature.VectorLoadsPerVector]*c[vectorLoads]) + float32(f[feature.ScalarLoadsPerVector]*c[scalarLoadsInVectors])
	perRealisation := c[allocations] + float32(f[feature.UniqueLinesReadPerRealization]*c[linesPerRealization]) + float32(f[feature.UniqueBytesReadPerRealization]*c[bytesPerRealization])
	load := float32(scalars*perScalar) + float32(realised*perRealisation)
	load += float32(tasks*perTask) + float32(vectors*perVector)

	parallel := launch + float32((inner-1)*c[parallelTasks])
	outside := store + float32(parallel*f[feature.NumProductions])
	inside := load + float32(f[feature.WorkingSet]*c[workingSet])
	return float32((compute + (outside + inside)) * unit)
}

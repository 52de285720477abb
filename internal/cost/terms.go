package cost

import (
	"math"

	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/nn"
)

// Term describes one hand-written term: its coefficient comes from the network,
// its size from the schedule's features.
type Term struct {
	Name, Meaning string
}

// The network's coefficients that terms take, in its order.
const (
	vectorCompute = iota
	scalarCompute
	inlinedVectorCompute
	inlinedScalarCompute
	_ // not used
	linesPerRealization
	bytesPerRealization
	scalarLoadsInVectors
	scalarLoads
	vectorLoads
	scalarBytes
	vectorBytes
	scalarLines
	vectorLines
	taskBytes
	taskLines
	parallelLinesWritten
	lastLinesWritten
	linesWritten
	parallelBytesWritten
	lastBytesWritten
	bytesWritten
	falseSharing
	pageFaults
	allocations
	parallelLaunches
	parallelTasks
	workingSet
)

// Terms describes the terms by the coefficient they take, 27 of the network's 32
// (Adams et al. 2019, section 4.2). Those without a name are not used.
var Terms = [nn.Outputs]Term{
	vectorCompute:        {"vector_compute", "points computed in vectors"},
	scalarCompute:        {"scalar_compute", "points computed one by one"},
	inlinedVectorCompute: {"inlined_vector_compute", "the same of inlined Funcs"},
	inlinedScalarCompute: {"inlined_scalar_compute", "the same of inlined Funcs"},
	linesPerRealization:  {"lines_per_realization", "contiguous pieces read, over all realisations"},
	bytesPerRealization:  {"bytes_per_realization", "bytes read, over all realisations"},
	scalarLoadsInVectors: {"scalar_loads_in_vectors", "scalar loads for vectors"},
	scalarLoads:          {"scalar_loads", "loads for points outside vectors"},
	vectorLoads:          {"vector_loads", "vector loads"},
	scalarBytes:          {"scalar_bytes", "bytes read for points outside vectors"},
	vectorBytes:          {"vector_bytes", "bytes read for vectors"},
	scalarLines:          {"scalar_lines", "contiguous pieces read for points outside vectors"},
	vectorLines:          {"vector_lines", "contiguous pieces read for vectors"},
	taskBytes:            {"task_bytes", "bytes tasks read that others computed"},
	taskLines:            {"task_lines", "contiguous pieces of those"},
	parallelLinesWritten: {"parallel_lines_written", "lines written, stages with tasks of their own"},
	lastLinesWritten:     {"last_lines_written", "lines written, the pipeline's last stage"},
	linesWritten:         {"lines_written", "lines written, other stages"},
	parallelBytesWritten: {"parallel_bytes_written", "bytes written, stages with tasks of their own"},
	lastBytesWritten:     {"last_bytes_written", "bytes written, the pipeline's last stage"},
	bytesWritten:         {"bytes_written", "bytes written, other stages"},
	falseSharing:         {"false_sharing", "stores to cache lines that other cores write"},
	pageFaults:           {"page_faults", "pages first touched by several tasks at once"},
	allocations:          {"allocations", "allocations"},
	parallelLaunches:     {"parallel_launches", "parallel loops begun"},
	parallelTasks:        {"parallel_tasks", "parallel tasks"},
	workingSet:           {"working_set", "temporary storage"},
}

// sizes sets out to the size of each term of a stage: the cost is the sum of sizes
// times coefficients. first says that it is the pipeline's last stage to run, which
// is the first in order.
func sizes(f *[nn.Padded]float32, first bool, cores float32, out *[nn.Outputs]float32) {
	*out = [nn.Outputs]float32{}
	inner, outer := f[feature.InnerParallelism], f[feature.OuterParallelism]
	tasks := max(1, inner*outer)
	perCore := tasks / cores
	// Rounded up to what the busiest core does.
	idle := float32(math.Ceil(float64(perCore))) / max(1, perCore)
	realised, vectors, scalars := f[feature.NumRealizations], f[feature.NumVectors], f[feature.NumScalars]

	inVectors, oneByOne := vectorCompute, scalarCompute
	if f[feature.InlinedCalls] != 0 {
		inVectors, oneByOne = inlinedVectorCompute, inlinedScalarCompute
	}
	out[inVectors] = f[feature.VectorSize] * vectors * idle
	out[oneByOne] = scalars * idle

	out[linesPerRealization] = realised * f[feature.UniqueLinesReadPerRealization]
	out[bytesPerRealization] = realised * f[feature.UniqueBytesReadPerRealization]
	out[scalarLoadsInVectors] = vectors * f[feature.ScalarLoadsPerVector]
	out[scalarLoads] = scalars * f[feature.ScalarLoadsPerScalar]
	out[vectorLoads] = vectors * f[feature.VectorLoadsPerVector]
	out[scalarBytes] = scalars * f[feature.UniqueBytesReadPerVector]
	out[vectorBytes] = vectors * f[feature.UniqueBytesReadPerVector]
	out[scalarLines] = scalars * f[feature.UniqueLinesReadPerVector]
	out[vectorLines] = vectors * f[feature.UniqueLinesReadPerVector]
	out[taskBytes] = tasks * f[feature.UniqueBytesReadPerTask]
	out[taskLines] = tasks * f[feature.UniqueLinesReadPerTask]

	// All that stores cost counts twice: Halide's weights were trained that way.
	const twice = 2
	line := max(1, f[feature.InnermostBytesAtTask])
	storedLines, storedBytes := linesWritten, bytesWritten
	if inner > 1 {
		storedLines, storedBytes = parallelLinesWritten, parallelBytesWritten
		out[falseSharing] = twice * (vectors + scalars) / line
	} else if first {
		storedLines, storedBytes = lastLinesWritten, lastBytesWritten
	}
	out[storedLines] = twice * realised * inner * (f[feature.BytesAtTask] / line)
	out[storedBytes] = twice * realised * f[feature.BytesAtRealization]
	out[pageFaults] = twice * f[feature.BytesAtProduction] * min(inner, 4096/line) * inner * outer

	out[allocations] = realised
	if inner > 1 {
		out[parallelLaunches] = f[feature.NumProductions]
	}
	out[parallelTasks] = f[feature.NumProductions] * (inner - 1)
	out[workingSet] = f[feature.WorkingSet]
}

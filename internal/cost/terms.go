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

// Terms describes the terms by the coefficient they take, 27 of the network's 32
// (Adams et al. 2019, section 4.2). Those without a name are not used.
var Terms = [nn.Outputs]Term{
	0:  {"vector_compute", "points computed in vectors"},
	1:  {"scalar_compute", "points computed one by one"},
	2:  {"inlined_vector_compute", "the same of inlined Funcs"},
	3:  {"inlined_scalar_compute", "the same of inlined Funcs"},
	5:  {"lines_per_realization", "contiguous pieces read, over all realisations"},
	6:  {"bytes_per_realization", "bytes read, over all realisations"},
	7:  {"scalar_loads_in_vectors", "scalar loads for vectors"},
	8:  {"scalar_loads", "loads for points outside vectors"},
	9:  {"vector_loads", "vector loads"},
	10: {"scalar_bytes", "bytes read for points outside vectors"},
	11: {"vector_bytes", "bytes read for vectors"},
	12: {"scalar_lines", "contiguous pieces read for points outside vectors"},
	13: {"vector_lines", "contiguous pieces read for vectors"},
	14: {"task_bytes", "bytes tasks read that others computed"},
	15: {"task_lines", "contiguous pieces of those"},
	16: {"parallel_lines_written", "lines written, stages with tasks of their own"},
	17: {"last_lines_written", "lines written, the pipeline's last stage"},
	18: {"lines_written", "lines written, other stages"},
	19: {"parallel_bytes_written", "bytes written, stages with tasks of their own"},
	20: {"last_bytes_written", "bytes written, the pipeline's last stage"},
	21: {"bytes_written", "bytes written, other stages"},
	22: {"false_sharing", "stores to cache lines that other cores write"},
	23: {"page_faults", "pages first touched by several tasks at once"},
	24: {"allocations", "allocations"},
	25: {"parallel_launches", "parallel loops begun"},
	26: {"parallel_tasks", "parallel tasks"},
	27: {"working_set", "temporary storage"},
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

	compute := 0
	if f[feature.InlinedCalls] != 0 {
		compute = 2
	}
	out[compute] = f[feature.VectorSize] * vectors * idle
	out[compute+1] = scalars * idle

	out[5] = realised * f[feature.UniqueLinesReadPerRealization]
	out[6] = realised * f[feature.UniqueBytesReadPerRealization]
	out[7] = vectors * f[feature.ScalarLoadsPerVector]
	out[8] = scalars * f[feature.ScalarLoadsPerScalar]
	out[9] = vectors * f[feature.VectorLoadsPerVector]
	out[10] = scalars * f[feature.UniqueBytesReadPerVector]
	out[11] = vectors * f[feature.UniqueBytesReadPerVector]
	out[12] = scalars * f[feature.UniqueLinesReadPerVector]
	out[13] = vectors * f[feature.UniqueLinesReadPerVector]
	out[14] = tasks * f[feature.UniqueBytesReadPerTask]
	out[15] = tasks * f[feature.UniqueLinesReadPerTask]

	// All that stores cost counts twice: Halide's weights were trained that way.
	const twice = 2
	line := max(1, f[feature.InnermostBytesAtTask])
	stored := 2
	if inner > 1 {
		stored = 0
		out[22] = twice * (vectors + scalars) / line
	} else if first {
		stored = 1
	}
	out[16+stored] = twice * realised * inner * (f[feature.BytesAtTask] / line)
	out[19+stored] = twice * realised * f[feature.BytesAtRealization]
	out[23] = twice * f[feature.BytesAtProduction] * min(inner, 4096/line) * inner * outer

	out[24] = realised
	if inner > 1 {
		out[25] = f[feature.NumProductions]
	}
	out[26] = f[feature.NumProductions] * (inner - 1)
	out[27] = f[feature.WorkingSet]
}

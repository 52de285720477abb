package feature

import "github.com/protuner/protuner/internal/pipeline"

// NumSchedule is how many features depend on the schedule, NumPipeline how many on
// the algorithm alone; a stage has both.
const (
	NumSchedule = 39
	NumPipeline = pipeline.NumFeatures
)

// Indices of the schedule features, in the order of Halide's files (Adams et al.
// 2019, section 4.1; version 3 of Halide's Adams2019). Table says what each is.
const (
	NumRealizations = iota
	NumProductions
	PointsComputedPerRealization
	PointsComputedPerProduction
	PointsComputedTotal
	PointsComputedMinimum
	InnermostLoopExtent
	InnermostPureLoopExtent
	UnrolledLoopExtent
	InnerParallelism
	OuterParallelism
	BytesAtRealization
	BytesAtProduction
	BytesAtRoot
	InnermostBytesAtRealization
	InnermostBytesAtProduction
	InnermostBytesAtRoot
	InlinedCalls
	UniqueBytesReadPerRealization
	UniqueLinesReadPerRealization
	AllocationBytesReadPerRealization
	WorkingSet
	VectorSize
	NativeVectorSize
	NumVectors
	NumScalars
	ScalarLoadsPerVector
	VectorLoadsPerVector
	ScalarLoadsPerScalar
	BytesAtTask
	InnermostBytesAtTask
	UniqueBytesReadPerVector
	UniqueLinesReadPerVector
	UniqueBytesReadPerTask
	UniqueLinesReadPerTask
	WorkingSetAtTask
	WorkingSetAtProduction
	WorkingSetAtRealization
	WorkingSetAtRoot
)

// Info describes one schedule feature.
type Info struct {
	Name, Unit, Meaning string
}

// Table describes the schedule features, by index. "Realisation" is one run of
// the loop a Func is allocated in, "production" one run of the loop it is computed
// in, "task" one iteration of the parallel loop around it.
var Table = [NumSchedule]Info{
	{"num_realizations", "times", "allocations of the Func"},
	{"num_productions", "times", "tiles of the stage computed"},
	{"points_computed_per_realization", "points", "loop iterations over what is stored at once"},
	{"points_computed_per_production", "points", "loop iterations a tile"},
	{"points_computed_total", "points", "iterations over all realisations"},
	{"points_computed_minimum", "points", "iterations without any redundant work"},
	{"innermost_loop_extent", "vectors", "iterations of the loops just around the vector"},
	{"innermost_pure_loop_extent", "vectors", "the same, reductions left out"},
	{"unrolled_loop_extent", "vectors", "the same if those loops are unrolled, else 1"},
	{"inner_parallelism", "tasks", "parallel tasks of the stage's own loops"},
	{"outer_parallelism", "tasks", "parallel tasks of the loops around it"},
	{"bytes_at_realization", "bytes", "region stored at once, not folded"},
	{"bytes_at_production", "bytes", "region computed by a tile"},
	{"bytes_at_root", "bytes", "region if it were computed at root"},
	{"innermost_bytes_at_realization", "bytes", "extent of the innermost dimension of what is stored"},
	{"innermost_bytes_at_production", "bytes", "extent of the innermost dimension of a tile"},
	{"innermost_bytes_at_root", "bytes", "extent of the innermost dimension at root"},
	{"inlined_calls", "calls", "evaluations of an inlined Func"},
	{"unique_bytes_read_per_realization", "bytes", "distinct data read in one realisation"},
	{"unique_lines_read_per_realization", "lines", "contiguous pieces read in one realisation"},
	{"allocation_bytes_read_per_realization", "bytes", "size of the allocations read from"},
	{"working_set", "bytes", "temporary storage of one tile's computation"},
	{"vector_size", "lanes", "lanes used"},
	{"native_vector_size", "lanes", "lanes natural for the narrowest type"},
	{"num_vectors", "vectors", "vectors computed"},
	{"num_scalars", "points", "points computed outside full vectors"},
	{"scalar_loads_per_vector", "loads", "scalar loads a vector: broadcasts, and gathers lane by lane"},
	{"vector_loads_per_vector", "loads", "vector loads a vector; small strides cost as many as they span"},
	{"scalar_loads_per_scalar", "loads", "loads a point outside vectors"},
	{"bytes_at_task", "bytes", "region written by one task"},
	{"innermost_bytes_at_task", "bytes", "extent of the innermost dimension a task writes"},
	{"unique_bytes_read_per_vector", "bytes", "data read for one vector"},
	{"unique_lines_read_per_vector", "lines", "contiguous pieces read for one vector"},
	{"unique_bytes_read_per_task", "bytes", "data a task reads that was computed outside it"},
	{"unique_lines_read_per_task", "lines", "contiguous pieces of that data"},
	{"working_set_at_task", "bytes", "live storage in the task"},
	{"working_set_at_production", "bytes", "live storage where it is computed"},
	{"working_set_at_realization", "bytes", "live storage where it is allocated"},
	{"working_set_at_root", "bytes", "live storage of the whole pipeline"},
}

package space

import (
	"errors"
	"fmt"
)

// Options bound the space. The zero value is not valid: start from Defaults or
// from Adams. Every field that is not in Adams et al. 2019 says so.
type Options struct {
	// Parallelism is the number of cores to keep busy. 1 means no parallel loops,
	// and then also permits sliding windows over outermost loops. No default.
	Parallelism int

	// TasksPerCore bounds the tasks of a parallel loop from above: at most
	// TasksPerCore*Parallelism. Default 16 (section 3.2).
	TasksPerCore int

	// IdleLimit bounds how unevenly the tasks of a Func's own parallel loop may
	// fall on the cores: ceil(tasks/cores) / (tasks/cores). The first choice is
	// always allowed. Default 1.2.
	IdleLimit float64

	// RetileIdleLimit is the same bound for tilings that are made later, when a
	// producer is computed inside the parallel loop. Default 1.1.
	RetileIdleLimit float64

	// Recompute bounds redundant work: no stage may compute more than Recompute
	// times the points that it must compute; stages that only copy are free.
	// Default 10, as the paper has it; Adams takes the 8 of its code, which
	// excludes inlining into a 3x3 window.
	Recompute float64

	// Executed has Recompute count what is executed, not what loops and calls say: what
	// slides once, a call that only some points make, as their channel or the parity of
	// their row has it, for those, and a call that all channels of a point make once for
	// them. Default true; Adams turns it off.
	Executed bool

	// InlinedCalls bounds code size: how often one Func may be inlined into one
	// innermost loop, counted through everything it is inlined into. Default 255.
	InlinedCalls int64

	// UnrollLimit is the largest product of constant pure loops around the
	// vector that is unrolled. Default 12.
	UnrollLimit int64

	// SumsLimit is UnrollLimit for the stages of Funcs with reductions and for those that
	// read such Funcs: where what is unrolled are sums, the more there are the fewer loads
	// each needs. Default 0: three quarters of the target's vector registers, 12 or 24, and
	// no less than UnrollLimit. Not in Adams et al., whose code has 12 for all.
	SumsLimit int64

	// StackBytes is the size below which a Func that is computed inside other
	// loops is stored on the stack. Default 64000.
	StackBytes int64

	// StripSlide widens the space of the paper's code to that of its text: when a
	// Func is stored at an existing loop, the loop below may be split so that the
	// Func is computed along one dimension of it (strips of rows: stored per
	// strip, computed per row). The code asks for that loop to be there already.
	// Default true; Adams turns it off.
	StripSlide bool

	// ShortVectors widens the space by vectors of fewer lanes than the machine's where
	// the first dimension of a Func is as short, as are those of 8x8 blocks: 4 lanes or
	// more; by vectors along dimensions that fill three quarters of one, or one of what is
	// stored, where computing the rest does no harm; by vectors along the other dimensions
	// of outputs of which the one that is dense in memory fills none, as where channels are
	// interleaved; and has vectors as long as what is computed fills where narrower types
	// are only looked up, or multiplied and added up (pipeline.WithOwnLanes). Default true;
	// Adams turns it off.
	ShortVectors bool

	// IndependentRVars widens the space by vectors along reduction loops whose iterations
	// neither read nor write what another writes, as where an update makes a state of the
	// one before, and by tasks along them, inside of other loops where they are not
	// independent otherwise and it is worth it. Default true; Adams turns it off.
	IndependentRVars bool

	// SlideUpdates lets Funcs with updates slide as those without do. Halide reuses what
	// earlier iterations computed along dimensions that all updates go along point by point;
	// of the others all is required wherever anything is. Default true; Adams turns it off.
	SlideUpdates bool

	// UnrollTables has points with a small table each, in which a stage counts, gone through
	// side by side. Default true; Adams turns it off.
	UnrollTables bool

	// Unchecked leaves out the rules of ours that keep schedules from failing (see
	// docs/space.md): sliding windows may begin before the start of an input, and
	// reductions may be reordered. Default false; Adams sets it.
	Unchecked bool

	// MemoryLimit bounds what a schedule allocates, in bytes: the sum over all
	// Funcs that are neither inputs nor outputs. 0 is no limit. Default 0.
	MemoryLimit int64

	// NoSubtiling narrows the space to that of Mullapudi et al. 2016: loops are cut
	// once at most, Funcs are computed at root or inside one level, and what is
	// parallel follows from the loops, after everything else. (The paper's code has
	// it for an ablation.) Default false.
	NoSubtiling bool

	// SliceLeast is how many points of an output a slice must have (see Slices), so that
	// parallel loops inside it are worth beginning. Default 65536. Not in Adams et al.;
	// no action leads to a slice.
	SliceLeast int64

	// Sized lets complete states have a version for the estimated sizes (see Sizable). Who
	// hands such a schedule out must check what computes the other sizes as well. Default
	// false. Not in Adams et al.; no action leads there.
	Sized bool

	// RoundTasks adds tasks that cover powers of two of iterations. The paper's
	// code makes the numbers of tasks such that the sizes hardly ever are. Default
	// true; Adams turns it off.
	RoundTasks bool

	// SumBlocks adds tiles that are a block of sums of six or twelve rows, and lets two
	// iterations of a long reduction be unrolled around a block (see Terms). Default true;
	// Adams turns it off.
	SumBlocks bool

	// SerialStages lets a Func have tasks although one of its stages can have none, as
	// where each point is written first and a few where the data have it then. Default
	// true; Adams turns it off.
	SerialStages bool
}

// Defaults is what tuning uses: the paper's space with our extensions.
func Defaults(parallelism int) Options {
	o := Adams(parallelism)
	o.Recompute = 10
	o.Unchecked = false
	o.StripSlide = true
	o.ShortVectors = true
	o.IndependentRVars = true
	o.SlideUpdates = true
	o.UnrollTables = true
	o.RoundTasks = true
	o.SumBlocks = true
	o.SerialStages = true
	o.Executed = true
	o.SumsLimit = 0
	return o
}

// Adams is the space as the code of Adams et al. 2019 enumerates it.
func Adams(parallelism int) Options {
	return Options{
		Parallelism:     parallelism,
		TasksPerCore:    16,
		IdleLimit:       1.2,
		RetileIdleLimit: 1.1,
		Recompute:       8,
		InlinedCalls:    255,
		UnrollLimit:     12,
		SumsLimit:       12,
		StackBytes:      64000,
		SliceLeast:      1 << 16,
		Unchecked:       true,
	}
}

// Validate names the first field out of range.
func (o Options) Validate() error {
	switch {
	case o.Parallelism < 1:
		return fmt.Errorf("space: parallelism %d: give the number of cores, at least 1", o.Parallelism)
	case o.Parallelism > 1<<16:
		return fmt.Errorf("space: parallelism %d: more than 65536 cores", o.Parallelism)
	case o.TasksPerCore < 1 || o.TasksPerCore > 1<<16:
		return fmt.Errorf("space: %d tasks per core: give 1 to 65536", o.TasksPerCore)
	case !(o.IdleLimit >= 1):
		return fmt.Errorf("space: idle limit %g: at least 1, which allows no idle core", o.IdleLimit)
	case !(o.RetileIdleLimit >= 1):
		return fmt.Errorf("space: retile idle limit %g: at least 1, which allows no idle core", o.RetileIdleLimit)
	case !(o.Recompute >= 1):
		return fmt.Errorf("space: recompute limit %g: at least 1, which allows no redundant work", o.Recompute)
	case o.InlinedCalls < 1:
		return errors.New("space: the limit of inlined calls must be at least 1")
	case o.UnrollLimit < 1:
		return errors.New("space: the unroll limit must be at least 1, which unrolls nothing")
	case o.SumsLimit < 0:
		return errors.New("space: the unroll limit of sums must not be negative; 0 follows the target's registers")
	case o.StackBytes < 0:
		return errors.New("space: the stack limit must not be negative")
	case o.SliceLeast < 1:
		return errors.New("space: a slice must have at least 1 point")
	case o.MemoryLimit < 0:
		return errors.New("space: the memory limit must not be negative; 0 is none")
	}
	return nil
}

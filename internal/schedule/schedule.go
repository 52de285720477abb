// Package schedule says how a pipeline is computed: an ordered list of Halide's
// own scheduling directives, its text form, its hash, and Halide's .schedule.h
// in both directions. It knows nothing of what is computed; where names must be
// tied to a real pipeline the caller hands in a Binding.
package schedule

// Op names one scheduling directive by Halide's own name for it.
type Op string

// The directives of Halide's CPU scheduling that protuner uses. The comment
// says which fields of Directive each one reads, in the order of the text form.
const (
	// Where a Func is computed and stored.
	ComputeRoot      Op = "compute_root"
	ComputeInline    Op = "compute_inline"
	ComputeAt        Op = "compute_at" // At
	StoreRoot        Op = "store_root"
	StoreAt          Op = "store_at"      // At
	HoistStorage     Op = "hoist_storage" // At
	HoistStorageRoot Op = "hoist_storage_root"

	// How its storage looks.
	StoreIn        Op = "store_in"        // Word: stack, heap, register, ... (Halide's MemoryType, lower case)
	ReorderStorage Op = "reorder_storage" // Vars: dimensions, innermost first
	FoldStorage    Op = "fold_storage"    // Vars[0], Ints[0] factor, Flag fold_forward
	AlignStorage   Op = "align_storage"   // Vars[0], Ints[0]
	BoundStorage   Op = "bound_storage"   // Vars[0], Ints[0]
	Bound          Op = "bound"           // Vars[0], Ints[0] min, Ints[1] extent
	BoundExtent    Op = "bound_extent"    // Vars[0], Ints[0]
	AlignBounds    Op = "align_bounds"    // Vars[0], Ints[0] modulus, Ints[1] remainder
	AlignExtent    Op = "align_extent"    // Vars[0], Ints[0]

	// The loops of one stage.
	Split     Op = "split"     // Vars[0]; New outer, inner; Ints[0] factor; Word tail strategy
	Fuse      Op = "fuse"      // Vars inner, outer; New[0]
	Reorder   Op = "reorder"   // Vars: loops, innermost first
	Rename    Op = "rename"    // Vars[0]; New[0]
	Serial    Op = "serial"    // Vars[0]
	Parallel  Op = "parallel"  // Vars[0]
	Vectorize Op = "vectorize" // Vars[0]
	Unroll    Op = "unroll"    // Vars[0]
	Atomic    Op = "atomic"    // Flag: override the associativity test

	// For loops of a reduction that are vectors or parallel although Halide finds no proof that
	// this changes nothing.
	AllowRaceConditions Op = "allow_race_conditions"

	ComputeWith Op = "compute_with" // At (Func, Stage, Loop); Word align strategy
	Prefetch    Op = "prefetch"     // Funcs[0] prefetched; Vars at, from; Ints[0] offset; Word bound strategy

	// A second version of the loops of a stage of an output, and of all that is computed
	// inside them, for when exactly this box of it is asked for, of inputs that are exactly
	// so large and dense in memory.
	Specialize Op = "specialize" // Vars: dimensions; Ints: Span of each; Inputs

	// Structure: these make Funcs that were not there, named As.
	RFactor Op = "rfactor"  // Vars: reduction loops; New: the pure Vars that replace them; As
	In      Op = "in"       // Funcs: consumers, none for a global wrapper; As
	CloneIn Op = "clone_in" // Funcs: consumers; As
)

// Structure is what s begins with to make Funcs that were not there: the longest
// beginning that ends with one of those directives and else only has the splits of loops
// that rfactor takes.
func (s Schedule) Structure() []Directive {
	n := 0
	for i, d := range s.Directives {
		switch {
		case d.As != "":
			n = i + 1
		case d.Op != Split:
			return s.Directives[:n]
		}
	}
	return s.Directives[:n]
}

// Level is a loop of a stage of a consumer, Halide's LoopLevel. Stage is the
// stage's index (0 the pure definition, k its update k-1), or AnyStage.
type Level struct {
	Func  string `json:"func"`
	Stage int    `json:"stage"`
	Loop  string `json:"loop"`
}

// AnyStage leaves open which stage's loop a Level means; Halide then takes
// whichever stage has a loop of that name. compute_with always needs a stage. The
// other Ops may name one, which Check and Nest then hold them to, but Halide 19
// and 21 refuse it: whoever applies a schedule leaves the stage open for those.
const AnyStage = -1

// Directive is one scheduling call. Which fields an Op reads stands beside the
// Op; the others are zero. The JSON form is the bridge's wire form.
type Directive struct {
	Op    Op       `json:"op"`
	Func  string   `json:"func"`
	Stage int      `json:"stage,omitempty"` // 0 the pure definition, k update k-1
	Vars  []string `json:"vars,omitempty"`
	New   []string `json:"new,omitempty"`
	As    string   `json:"as,omitempty"`
	Funcs []string `json:"funcs,omitempty"`
	At    *Level   `json:"at,omitempty"`
	Ints  []int64  `json:"ints,omitempty"`
	Word  string   `json:"word,omitempty"`
	Flag  bool     `json:"flag,omitempty"`

	Inputs []Input `json:"inputs,omitempty"`
}

// Input is an input buffer and where it lies: the min and the extent of each of its
// dimensions, innermost first.
type Input struct {
	Name string  `json:"name"`
	Box  []int64 `json:"box"`
}

// Schedule is an ordered directive list. It is immutable: whoever wants another
// one makes another one. The zero Schedule is Halide's default: everything
// inline, outputs at root, loops serial.
type Schedule struct {
	Directives []Directive
}

// Binding ties the names in a schedule to a real pipeline, for reading and
// writing .schedule.h, where Funcs are numbers and loops are positions.
type Binding struct {
	Funcs []FuncBinding
}

// FuncBinding is one Func as Pipeline::get_func numbers them (its index in
// Binding.Funcs), with the loops of each of its stages as the algorithm leaves
// them, innermost first, without Halide's synthetic __outermost.
type FuncBinding struct {
	Name   string
	Dims   []string   // pure arguments: dimensions of its storage
	Stages [][]string // loops of stage 0 (pure definition), 1 (update 0), ...
}

// Package pipeline says what is computed: the Funcs of a Halide pipeline with
// their stages, loops, bounds relations, accesses and operation counts, as the
// bridge's describe mode reports them. It is what a space, features and a cost
// model need to know, and holds no schedule.
//
// The relations between regions are those of Adams et al. 2019, section 3.1:
// the region required of a Func by its consumers determines the region computed,
// which determines the loops of each stage, which determine the regions required
// of its producers.
package pipeline

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Version is that of the description's form; Decode refuses every other one.
const Version = 1

// Pipeline is one described pipeline. It is immutable once decoded; WithStructure,
// WithOwnLanes and AsCompiled make others.
type Pipeline struct {
	Version   int      `json:"version"`             // of this format
	Generator string   `json:"generator"`           // registered Generator name
	Halide    string   `json:"halide"`              // e.g. "21.0.0"
	Target    string   `json:"target"`              // e.g. "x86-64-linux-avx2-..."
	Algorithm string   `json:"algorithm"`           // 16 hex digits: what the Generator computes; names of Funcs, estimates and schedule excepted
	Structure []string `json:"structure,omitempty"` // structural directives (text form) applied before describing
	Funcs     []Func   `json:"funcs"`               // consumers before producers; Funcs[0] is an output
	Params    []Param  `json:"params"`              // inputs: buffers and scalars
	// CustomPasses counts the Generator's own lowering passes. They run when a
	// schedule is compiled; what they change is not described.
	CustomPasses int `json:"custom_passes,omitempty"`
}

// Param is an input of the pipeline with its estimate.
type Param struct {
	Name    string  `json:"name"`
	Type    string  `json:"type"` // Halide's spelling: uint8, int32, float32, ...
	Buffer  bool    `json:"buffer"`
	Mins    []int64 `json:"mins,omitempty"`    // estimated min per dimension, buffers
	Extents []int64 `json:"extents,omitempty"` // estimated extent per dimension, buffers
	Value   string  `json:"value,omitempty"`   // estimate, scalars
}

// Func is one Func, or one input buffer (Input set), which is never scheduled.
type Func struct {
	Name              string   `json:"name"`
	Index             int      `json:"index"` // for Pipeline::get_func; -1 where it has none
	Args              []string `json:"args"`  // pure arguments, innermost storage dimension first
	Types             []string `json:"types"` // one per tuple element
	BytesPerPoint     int64    `json:"bytes_per_point"`
	VectorSize        int      `json:"vector_size"` // lanes natural for the narrowest type in any stage
	Input             bool     `json:"input,omitempty"`
	Param             string   `json:"param,omitempty"` // the Param that an Input reads, if it is one
	Output            bool     `json:"output,omitempty"`
	Wrapper           bool     `json:"wrapper,omitempty"`
	Pointwise         bool     `json:"pointwise,omitempty"`
	BoundaryCondition bool     `json:"boundary_condition,omitempty"`
	// Copy says that its values are those of another Func, moved along its dimensions or
	// repeated, or a constant: shifts, all boundary conditions, conversions. Wrappers and
	// what Adams et al. call a boundary condition are copies too.
	Copy   bool `json:"copy,omitempty"`
	Extern bool `json:"extern,omitempty"`
	// MustRoot gives the reason why this Func can only be computed at root
	// (extern stages and what they read, whose regions are known only when they
	// run, and Funcs read at coordinates without bounds); empty if free. The edges
	// to it then say what the estimates suppose, and depend on estimates.
	MustRoot string `json:"must_root,omitempty"`
	// MustInline gives the reason why this Func can only be inlined. The stages
	// that read it are described with its definition in its place, so that no edge
	// leads to or from it: it is listed for its name, arguments and loops.
	MustInline string `json:"must_inline,omitempty"`
	// InnermostDims are the dimensions an output's storage is known to be dense
	// in (stride 1), so the only ones worth vectorising; outputs only.
	InnermostDims []int `json:"innermost_dims,omitempty"`
	// Estimate is the region required of an output, per dimension; outputs only.
	Estimate []Span `json:"estimate,omitempty"`
	// Computed gives, per dimension, the region computed as a function of the
	// region required: expressions over Min(d) and Max(d) of the required region.
	Computed []Computed `json:"computed"`
	Stages   []Stage    `json:"stages"` // the pure definition, then its updates
}

// Span is an inclusive interval; Constant says that its extent is known when
// the pipeline is compiled.
type Span struct {
	Min      int64 `json:"min"`
	Max      int64 `json:"max"`
	Constant bool  `json:"constant,omitempty"`
}

// Extent is the number of points in the span.
func (s Span) Extent() int64 { return s.Max - s.Min + 1 }

// Computed is the region computed of one dimension. Exactly one of the three
// forms is set; the first two are shortcuts for common cases and carry a
// meaning of their own (they keep or drop constancy differently).
type Computed struct {
	EqualsRequired    bool      `json:"equals_required,omitempty"`
	Union             *[2]int64 `json:"union,omitempty"` // union of required with [lo, hi]
	Min               *Expr     `json:"min,omitempty"`
	Max               *Expr     `json:"max,omitempty"`
	DependsOnEstimate bool      `json:"depends_on_estimate,omitempty"`
}

// Stage is the pure definition or one update of a Func.
type Stage struct {
	Name       string `json:"name"`  // as Halide names it: f, f.update(0), ...
	Loops      []Loop `json:"loops"` // innermost first
	VectorSize int    `json:"vector_size"`
	Predicate  bool   `json:"predicate,omitempty"` // an RDom with a where clause
	// Trusts says that it reads or writes where values that it loads say and nothing in it
	// bounds that: it must not compute more than is required, for which there are none.
	Trusts bool `json:"trusts,omitempty"`
	// Associative says that the update can be split by rfactor or made atomic.
	Associative bool `json:"associative,omitempty"`
	// SummedAtOnce says, of an associative update that adds up integers, how many of what
	// it multiplies (or adds, where it multiplies nothing) fit where the sum does, if those
	// are two or more: 2 for products of 16 bits in 32, 4 for such of 8 bits. 0 otherwise.
	SummedAtOnce int `json:"summed_at_once,omitempty"`
	// Features are the algorithm-specific features of Adams et al.: 41 rows by 7
	// scalar types, row-major, 287 values; FeatureRows and FeatureTypes name them.
	Features []int32 `json:"features"`
	Edges    []Edge  `json:"edges"` // to the Funcs this stage reads, itself excepted

	passedOver int // numbers of so many bits or fewer do not count in Widths; see WithOwnLanes
}

// Loop is one loop of a stage's default loop nest.
type Loop struct {
	Var  string `json:"var"`
	Pure bool   `json:"pure,omitempty"` // iterations are independent
	RVar bool   `json:"rvar,omitempty"` // a reduction loop
	// Scatters says that a coordinate which is written to is looked up where the loop
	// says: what neighbouring iterations write lies wherever the data have it.
	Scatters bool `json:"scatters,omitempty"`
	// Ragged says that reduction loops end where the data of an iteration have it: of
	// neighbouring ones each has as many as it likes.
	Ragged bool `json:"ragged,omitempty"`
	// Chooses says that the loop alone decides which of several values is computed, as
	// where each of a few channels has a formula of its own.
	Chooses bool `json:"chooses,omitempty"`
	// Period is after how many iterations the loop, divided by constants, leaves the same
	// rest, as where three channels lie side by side in a row; its odd part, 0 where that is 1.
	Period int64 `json:"period,omitempty"`
	// Along is the Func's dimension that a reduction loop writes along, Stride points apart,
	// 0 standing for 1, where iterations that differ in it alone, or in reduction loops inside
	// it too, are independent of each other; nil where there is none. Those that are Apart
	// iterations from each other, as of an echo, or more may depend on each other where it is
	// not 0.
	Along   *int  `json:"along,omitempty"`
	Stride  int64 `json:"stride,omitempty"`
	Apart   int64 `json:"apart,omitempty"`
	PureDim int   `json:"pure_dim"` // the Func's dimension, -1 for a reduction loop
	// Bounds: exactly one of the three. ComputedDim (-1 unset): the region computed
	// of that dimension; Const: fixed; Min and Max: expressions over Min(d) and
	// Max(d) of the region computed.
	ComputedDim int `json:"computed_dim"`
	// UsesParameter says that Const is what estimates of parameters make of it.
	UsesParameter bool      `json:"uses_parameter,omitempty"`
	Const         *[2]int64 `json:"const,omitempty"`
	Min           *Expr     `json:"min,omitempty"`
	Max           *Expr     `json:"max,omitempty"`

	estimated bool // Const is no constant: see AsCompiled
}

// Edge is a producer-consumer relation from a stage to a Func it reads.
type Edge struct {
	Producer int `json:"producer"` // index into Pipeline.Funcs
	Calls    int `json:"calls"`    // per point of the consumer's loop nest
	// Points is Calls with each counted for the share of points that make it, where a
	// condition on loop variables alone decides that, as in a mosaic's even rows or a
	// value by channel, and once where the same point is called again, as for each value
	// of a Tuple; 0 where all points make all calls.
	Points float64 `json:"points,omitempty"`
	// Bounds gives, per dimension of the producer, the interval required as a
	// function of the consumer's loops: expressions over Min(i) and Max(i) of
	// Loops[i].
	Bounds    []Bounds   `json:"bounds"`
	Jacobians []Jacobian `json:"jacobians"`
}

// Executed is how many of the calls a point makes on average.
func (e *Edge) Executed() float64 {
	if e.Points == 0 {
		return float64(e.Calls)
	}
	return e.Points
}

// Moves says whether any coordinate of any of the calls moves with a loop of the consumer.
func (e *Edge) Moves(loop int) bool {
	return slices.ContainsFunc(e.Jacobians, func(j Jacobian) bool { return j.Moves(loop) })
}

// Distinct is how many of the calls go to points of their own, as far as is known.
func (e *Edge) Distinct() int {
	n := 0
	for _, j := range e.Jacobians {
		for k, at := range j.Offsets {
			if at == nil || !slices.ContainsFunc(j.Offsets[:k], func(o []int64) bool { return o != nil && slices.Equal(o, at) }) {
				n++
			}
		}
		n += int(j.Count) - len(j.Offsets)
	}
	return n
}

// Bounds is the interval of a producer's dimension that one point or tile of
// the consumer's loop nest requires.
type Bounds struct {
	Min Bound `json:"min"`
	Max Bound `json:"max"`
}

// Bound is one end of an interval. Where Expr is nil it is affine in one loop
// end: Coeff*end + Const, where end is the Max of loop Dim if UsesMax, else its
// Min; Coeff 0 is a constant.
type Bound struct {
	Coeff             int64 `json:"coeff,omitempty"`
	Const             int64 `json:"const,omitempty"`
	Dim               int   `json:"dim,omitempty"`
	UsesMax           bool  `json:"uses_max,omitempty"`
	DependsOnEstimate bool  `json:"depends_on_estimate,omitempty"`
	// UsesParameter says that what it is at run time a parameter decides. Estimates were
	// put in for those of the consumer's body before the bounds were taken, as Adams2019
	// does, so that DependsOnEstimate does not tell.
	UsesParameter bool  `json:"uses_parameter,omitempty"`
	Expr          *Expr `json:"expr,omitempty"`
}

// Jacobian is the derivative of a load's coordinates (rows: the producer's
// dimensions) by the consumer's loops (columns), and how many loads share it.
type Jacobian struct {
	Count  int64        `json:"count"`
	Coeffs [][]Rational `json:"coeffs"`
	// LookedUp is how many of them lie where a loop over points says by what it looks up
	// or rounds to an integer, and Shifted how many of the others lie where a reduction loop
	// says so.
	LookedUp int64 `json:"looked_up,omitempty"`
	Shifted  int64 `json:"shifted,omitempty"`
	// Offsets holds, for each load sharing the derivative, the constant part of
	// its coordinates where they are affine; null where they are not.
	Offsets [][]int64 `json:"offsets,omitempty"`
}

// Moves says whether any coordinate of the loads moves with a loop of the consumer.
func (j *Jacobian) Moves(loop int) bool {
	return slices.ContainsFunc(j.Coeffs, func(row []Rational) bool { return row[loop].Moves() })
}

// Rational is a derivative, not always in lowest terms; Den 0 says that it is not
// a constant. The JSON form is [num, den].
type Rational struct{ Num, Den int64 }

// Moves says whether a coordinate moves with a loop, or nobody knows.
func (r Rational) Moves() bool { return r.Num != 0 || r.Den == 0 }

// Is reports whether r is the number n; what is no constant is no number.
func (r Rational) Is(n int64) bool { return r.Den != 0 && r.Num == n*r.Den }

// Times is r by s. It is 0 where one of them is, whatever the other: what does not move is
// not moved by anything.
func (r Rational) Times(s Rational) Rational {
	switch {
	case r.Is(0):
		return r
	case s.Is(0):
		return s
	}
	return Rational{Num: r.Num * s.Num, Den: r.Den * s.Den}
}

// Plus is r and s together.
func (r Rational) Plus(s Rational) Rational {
	switch {
	case r.Den == 0 || s.Den == 0:
		return Rational{}
	case r.Den == s.Den:
		return Rational{Num: r.Num + s.Num, Den: r.Den}
	}
	return Rational{Num: r.Num*s.Den + s.Num*r.Den, Den: r.Den * s.Den}.Reduced()
}

// Reduced is r in lowest terms.
func (r Rational) Reduced() Rational {
	if g := GCD(r.Num, r.Den); g > 1 {
		r.Num, r.Den = r.Num/g, r.Den/g
	}
	return r
}

// GCD is the greatest common divisor of two numbers of any sign, not negative.
func GCD(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// MarshalJSON writes [num, den].
func (r Rational) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]int64{r.Num, r.Den})
}

// UnmarshalJSON reads [num, den].
func (r *Rational) UnmarshalJSON(b []byte) error {
	var pair []int64
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("a rational has 2 numbers, not %d", len(pair))
	}
	r.Num, r.Den = pair[0], pair[1]
	return nil
}

// WithStructure returns the same pipeline marked as described after the given
// structural directives, in schedule's text form.
func (p *Pipeline) WithStructure(directives []string) *Pipeline {
	q := *p
	q.Structure = slices.Clone(directives)
	return &q
}

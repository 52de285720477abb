// Package expr reads and evaluates the constraint expressions of a parameter
// space.
//
// The language is the one published scenarios use: Python's operators with
// Python's precedence, over numbers, booleans and the text of categorical
// parameters.
//
//	or and not  in  not in  < <= > >= == !=  | ^ &  << >>  + -  * / // %  - + ~  **
//	&& || !  as other spellings of and, or, not
//	min max abs sqrt exp log log2 log10 floor ceil round where(c, a, b)
//	[1, 2, 4] and (1, 2, 4) on the right of in; 'text' and "text"; True False
//
// Between booleans &, | and ~ are logical. Because they bind tighter than a
// comparison, "a < 3 & b < 4" does not say what it seems to; such text is an
// error that asks for parentheses.
//
// Evaluation is over intervals, so one evaluator serves both a complete
// configuration (every interval a point) and a partial one, where it says
// whether a constraint holds, fails or is still open. An operation that has no
// value (division by zero, the root of a negative number) has none here
// either: it takes part in and/or as Kleene's third value, and a constraint
// without a value does not hold.
package expr

import (
	"fmt"
	"math"
	"slices"
)

// Var is what a name in an expression stands for.
type Var struct {
	// Slot is the variable's place in the arrays given to Eval.
	Slot int
	// Integer says that the variable only takes whole values.
	Integer bool
	// Categories, when not nil, makes the variable categorical: its slot holds
	// an index into Categories.
	Categories []string
}

// Expr is a parsed boolean expression. It is immutable.
type Expr struct {
	text  string
	root  *node
	slots []int
}

// Error is a mistake in an expression.
type Error struct {
	Text string // the whole expression
	Pos  int    // byte offset of the mistake in Text
	Msg  string
}

// Error names the column, counted from 1 in runes.
func (e *Error) Error() string {
	col := 1
	for i := range e.Text {
		if i >= e.Pos {
			break
		}
		col++
	}
	return fmt.Sprintf("constraint %q, column %d: %s", e.Text, col, e.Msg)
}

// Text returns the source of the expression.
func (e *Expr) Text() string { return e.text }

// Slots returns the slots the expression reads, ascending.
func (e *Expr) Slots() []int { return e.slots }

// Conjuncts splits a top-level conjunction into its parts. Parts keep the text
// of the whole.
func (e *Expr) Conjuncts() []*Expr {
	if e.root.op != opAnd {
		return []*Expr{e}
	}
	var out []*Expr
	for _, k := range e.root.kids {
		out = append(out, newExpr(e.text, k).Conjuncts()...)
	}
	return out
}

func newExpr(text string, root *node) *Expr {
	var slots []int
	root.walk(func(n *node) {
		if n.op == opVar || n.op == opTable {
			slots = append(slots, n.slot)
		}
	})
	slices.Sort(slots)
	return &Expr{text: text, root: root, slots: slices.Compact(slots)}
}

type op uint8

const (
	opConst op = iota
	opVar      // a slot
	opTable    // table[slot]
	opSum      // kids with signs
	opMul
	opDiv
	opFloorDiv
	opMod
	opPow
	opNeg
	opLT
	opLE
	opEQ
	opNE
	opAnd
	opOr
	opNot
	opBitAnd
	opBitOr
	opBitXor
	opBitNot
	opShl
	opShr
	opCall
	opWhere
)

// kind is the static type of a node.
type kind uint8

const (
	number kind = iota
	boolean
	text     // a string literal, before it meets a categorical
	category // a categorical variable
)

type node struct {
	op      op
	kind    kind
	integer bool // only whole values
	pos     int
	kids    []*node
	minus   []bool // of opSum, per kid
	val     float64
	slot    int
	table   []float64
	str     string
	cats    []string
	fn      *function
	bare    bool // a bitwise operator without parentheses around it
}

func (n *node) walk(f func(*node)) {
	f(n)
	for _, k := range n.kids {
		k.walk(f)
	}
}

// function is a built-in of one or more arguments, monotone or not.
type function struct {
	args  int // -1: one or more
	whole bool
	eval  func(args []Interval) Interval
}

func monotone(f func(float64) float64, min float64) func([]Interval) Interval {
	return func(a []Interval) Interval {
		x := a[0]
		if x.Hi < min {
			return undefined
		}
		r := Interval{Lo: f(math.Max(x.Lo, min)), Hi: f(x.Hi), Maybe: x.Maybe || x.Lo < min}
		return r
	}
}

var functions = map[string]*function{
	"min": {args: -1, eval: func(a []Interval) Interval {
		r := a[0]
		for _, x := range a[1:] {
			r = Interval{math.Min(r.Lo, x.Lo), math.Min(r.Hi, x.Hi), r.Maybe || x.Maybe}
		}
		return r
	}},
	"max": {args: -1, eval: func(a []Interval) Interval {
		r := a[0]
		for _, x := range a[1:] {
			r = Interval{math.Max(r.Lo, x.Lo), math.Max(r.Hi, x.Hi), r.Maybe || x.Maybe}
		}
		return r
	}},
	"abs": {args: 1, eval: func(a []Interval) Interval {
		x := a[0]
		switch {
		case x.Lo >= 0:
			return x
		case x.Hi <= 0:
			return Interval{-x.Hi, -x.Lo, x.Maybe}
		}
		return Interval{0, math.Max(-x.Lo, x.Hi), x.Maybe}
	}},
	"sqrt":  {args: 1, eval: monotone(math.Sqrt, 0)},
	"exp":   {args: 1, eval: monotone(math.Exp, math.Inf(-1))},
	"log":   {args: 1, eval: monotone(math.Log, math.SmallestNonzeroFloat64)},
	"log2":  {args: 1, eval: monotone(math.Log2, math.SmallestNonzeroFloat64)},
	"log10": {args: 1, eval: monotone(math.Log10, math.SmallestNonzeroFloat64)},
	"floor": {args: 1, whole: true, eval: monotone(math.Floor, math.Inf(-1))},
	"ceil":  {args: 1, whole: true, eval: monotone(math.Ceil, math.Inf(-1))},
	"round": {args: 1, whole: true, eval: monotone(math.RoundToEven, math.Inf(-1))},
}

package expr

import (
	"encoding/binary"
	"math"
)

// Interval is the set of values an expression may take: from Lo to Hi, and,
// when Maybe is set, perhaps none at all. Booleans are 0 and 1. An Interval
// whose Lo is NaN has no value whatever happens.
type Interval struct {
	Lo, Hi float64
	Maybe  bool
}

var (
	undefined = Interval{Lo: math.NaN(), Hi: math.NaN()}
	anything  = Interval{Lo: math.Inf(-1), Hi: math.Inf(1), Maybe: true}
	either    = Interval{Lo: 0, Hi: 1}
	isTrue    = Interval{Lo: 1, Hi: 1}
	isFalse   = Interval{Lo: 0, Hi: 0}
)

func (i Interval) none() bool  { return i.Lo != i.Lo }
func (i Interval) point() bool { return i.Lo == i.Hi && !i.Maybe }

// Verdict is what is known of a constraint.
type Verdict uint8

const (
	Open  Verdict = iota // some completions satisfy it, or it cannot be told
	Holds                // every completion satisfies it
	Fails                // none does
)

// Verdict evaluates e where slot s lies in [lo[s], hi[s]].
func (e *Expr) Verdict(lo, hi []float64) Verdict {
	v := truth(e.root.eval(lo, hi))
	switch {
	case v.none() || v.Hi == 0:
		return Fails
	case v.Lo == 1 && !v.Maybe:
		return Holds
	}
	return Open
}

// Holds evaluates e on a complete assignment.
func (e *Expr) Holds(x []float64) bool { return e.Verdict(x, x) == Holds }

// AppendResidual appends a description of what is left to decide of e: the
// values of the sub-expressions that are settled, and the shape of the rest.
// Two partial assignments of the same slots with equal residuals are satisfied
// by the same completions. mark is called for each slot still open.
func (e *Expr) AppendResidual(dst []byte, lo, hi []float64, mark func(slot int)) []byte {
	return e.root.residual(dst, lo, hi, mark)
}

func (n *node) residual(dst []byte, lo, hi []float64, mark func(int)) []byte {
	if n.op == opConst {
		return dst
	}
	v := n.eval(lo, hi)
	if v.point() || v.none() {
		return appendValue(dst, v.Lo)
	}
	if n.op == opVar || n.op == opTable {
		mark(n.slot)
		return append(dst, 'o')
	}
	dst = append(dst, '(')
	if n.op == opSum || n.op == opMul && n.integer {
		return n.residualFolded(dst, lo, hi, mark)
	}
	for _, k := range n.kids {
		dst = k.residual(dst, lo, hi, mark)
	}
	return dst
}

// residualFolded folds the settled operands of a whole-number sum or product
// into one value, so that different ways to the same partial sum are one.
func (n *node) residualFolded(dst []byte, lo, hi []float64, mark func(int)) []byte {
	if !n.integer {
		for _, k := range n.kids {
			dst = k.residual(dst, lo, hi, mark)
		}
		return dst
	}
	folded := 0.0
	if n.op == opMul {
		folded = 1
	}
	for i, k := range n.kids {
		v := k.eval(lo, hi)
		switch {
		case !v.point():
			dst = k.residual(dst, lo, hi, mark)
			continue
		case n.op == opMul:
			folded *= v.Lo
		case n.minus[i]:
			folded -= v.Lo
		default:
			folded += v.Lo
		}
		dst = append(dst, '.')
	}
	return appendValue(dst, folded)
}

func appendValue(dst []byte, v float64) []byte {
	dst = append(dst, 'v')
	switch {
	case v != v:
		v = math.NaN()
	case v == 0:
		v = 0 // one zero
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

func truth(v Interval) Interval {
	if v.none() {
		return v
	}
	r := either
	switch {
	case v.Lo == 0 && v.Hi == 0:
		r = isFalse
	case v.Lo > 0 || v.Hi < 0:
		r = isTrue
	}
	r.Maybe = v.Maybe
	return r
}

func (n *node) eval(lo, hi []float64) Interval {
	switch n.op {
	case opConst:
		return Interval{Lo: n.val, Hi: n.val}
	case opVar:
		return Interval{Lo: lo[n.slot], Hi: hi[n.slot]}
	case opTable:
		a, b := lo[n.slot], hi[n.slot]
		if a == b {
			return Interval{Lo: n.table[int(a)], Hi: n.table[int(a)]}
		}
		r := Interval{Lo: math.Inf(1), Hi: math.Inf(-1)}
		for _, v := range n.table[int(a) : int(b)+1] {
			r.Lo, r.Hi = math.Min(r.Lo, v), math.Max(r.Hi, v)
		}
		return r
	case opAnd, opOr:
		return n.evalLogic(lo, hi)
	case opWhere:
		return n.evalWhere(lo, hi)
	case opCall:
		args := make([]Interval, len(n.kids))
		for i, k := range n.kids {
			if args[i] = k.eval(lo, hi); args[i].none() {
				return undefined
			}
		}
		return sane(n.fn.eval(args))
	}
	a := n.kids[0].eval(lo, hi)
	if a.none() {
		return undefined
	}
	switch n.op {
	case opNeg:
		return Interval{-a.Hi, -a.Lo, a.Maybe}
	case opNot:
		a = truth(a)
		return Interval{1 - a.Hi, 1 - a.Lo, a.Maybe}
	case opBitNot:
		return Interval{-a.Hi - 1, -a.Lo - 1, a.Maybe}
	case opSum:
		return n.evalSum(a, lo, hi)
	}
	for _, k := range n.kids[1:] {
		b := k.eval(lo, hi)
		if b.none() {
			return undefined
		}
		maybe := a.Maybe || b.Maybe
		a = binary2(n.op, a, b)
		a.Maybe = a.Maybe || maybe
	}
	return sane(a)
}

func (n *node) evalSum(a Interval, lo, hi []float64) Interval {
	if n.minus[0] {
		a.Lo, a.Hi = -a.Hi, -a.Lo
	}
	for i, k := range n.kids[1:] {
		b := k.eval(lo, hi)
		if b.none() {
			return undefined
		}
		if n.minus[i+1] {
			b.Lo, b.Hi = -b.Hi, -b.Lo
		}
		a = Interval{a.Lo + b.Lo, a.Hi + b.Hi, a.Maybe || b.Maybe}
	}
	return sane(a)
}

// sane keeps an undecidable bound (Inf - Inf, 0 * Inf) from passing for "no
// value", which only definite undefinedness may be.
func sane(a Interval) Interval {
	if a.Lo != a.Lo && a.Hi != a.Hi {
		return a
	}
	if a.Lo != a.Lo {
		a.Lo = math.Inf(-1)
	}
	if a.Hi != a.Hi {
		a.Hi = math.Inf(1)
	}
	return a
}

// evalLogic computes and/or over sets of {false, true, no value}.
func (n *node) evalLogic(lo, hi []float64) Interval {
	// For and: the absorbing value is false; for or it is true.
	absorbing := 0.0
	if n.op == opOr {
		absorbing = 1
	}
	canAbsorb, allNeutral, allNotAbsorb, someNone := false, true, true, false
	for _, k := range n.kids {
		v := truth(k.eval(lo, hi))
		none := v.none() || v.Maybe
		absorbs := !v.none() && (v.Lo == absorbing || v.Hi == absorbing)
		neutral := !v.none() && (v.Lo != absorbing || v.Hi != absorbing)
		if absorbs && !neutral && !none {
			return Interval{Lo: absorbing, Hi: absorbing}
		}
		canAbsorb = canAbsorb || absorbs
		allNeutral = allNeutral && neutral
		allNotAbsorb = allNotAbsorb && (neutral || none)
		someNone = someNone || none
	}
	r := Interval{Maybe: allNotAbsorb && someNone}
	switch {
	case canAbsorb && allNeutral:
		r.Lo, r.Hi = 0, 1
	case canAbsorb:
		r.Lo, r.Hi = absorbing, absorbing
	case allNeutral:
		r.Lo, r.Hi = 1-absorbing, 1-absorbing
	default:
		return undefined
	}
	return r
}

func (n *node) evalWhere(lo, hi []float64) Interval {
	c := truth(n.kids[0].eval(lo, hi))
	if c.none() {
		return undefined
	}
	a, b := n.kids[1].eval(lo, hi), n.kids[2].eval(lo, hi)
	var r Interval
	switch {
	case c.Lo == 1:
		r = a
	case c.Hi == 0:
		r = b
	case a.none() && b.none():
		r = undefined
	case a.none():
		r = Interval{b.Lo, b.Hi, true}
	case b.none():
		r = Interval{a.Lo, a.Hi, true}
	default:
		r = Interval{math.Min(a.Lo, b.Lo), math.Max(a.Hi, b.Hi), a.Maybe || b.Maybe}
	}
	r.Maybe = r.Maybe || c.Maybe
	return r
}

func binary2(o op, a, b Interval) Interval {
	points := a.Lo == a.Hi && b.Lo == b.Hi
	switch o {
	case opMul:
		if points {
			return Interval{Lo: a.Lo * b.Lo, Hi: a.Lo * b.Lo}
		}
		return hull(times(a.Lo, b.Lo), times(a.Lo, b.Hi), times(a.Hi, b.Lo), times(a.Hi, b.Hi))
	case opDiv, opFloorDiv:
		return divide(o, a, b, points)
	case opMod:
		return modulo(a, b, points)
	case opPow:
		return power(a, b, points)
	case opLT:
		return compare(a.Hi < b.Lo, a.Lo >= b.Hi)
	case opLE:
		return compare(a.Hi <= b.Lo, a.Lo > b.Hi)
	case opEQ:
		return compare(points && a.Lo == b.Lo, a.Hi < b.Lo || b.Hi < a.Lo)
	case opNE:
		return compare(a.Hi < b.Lo || b.Hi < a.Lo, points && a.Lo == b.Lo)
	}
	return bitwise(o, a, b, points)
}

func compare(yes, no bool) Interval {
	switch {
	case yes:
		return isTrue
	case no:
		return isFalse
	}
	return either
}

func times(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	return a * b
}

func hull(v ...float64) Interval {
	r := Interval{Lo: v[0], Hi: v[0]}
	for _, x := range v[1:] {
		r.Lo, r.Hi = math.Min(r.Lo, x), math.Max(r.Hi, x)
	}
	return r
}

func divide(o op, a, b Interval, points bool) Interval {
	if b.Lo == 0 && b.Hi == 0 {
		return undefined
	}
	if points {
		q := a.Lo / b.Lo
		if o == opFloorDiv {
			q = math.Round((a.Lo - mod(a.Lo, b.Lo)) / b.Lo)
		}
		return Interval{Lo: q, Hi: q}
	}
	if b.Lo <= 0 && b.Hi >= 0 {
		return anything
	}
	r := hull(a.Lo/b.Lo, a.Lo/b.Hi, a.Hi/b.Lo, a.Hi/b.Hi)
	if o == opFloorDiv {
		r.Lo, r.Hi = math.Floor(r.Lo), math.Ceil(r.Hi)
	}
	return r
}

// mod is Python's: the result has the sign of b.
func mod(a, b float64) float64 {
	m := math.Mod(a, b)
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}

func modulo(a, b Interval, points bool) Interval {
	if b.Lo == 0 && b.Hi == 0 {
		return undefined
	}
	if points {
		m := mod(a.Lo, b.Lo)
		return Interval{Lo: m, Hi: m}
	}
	r := Interval{Lo: math.Min(b.Lo, 0), Hi: math.Max(b.Hi, 0), Maybe: b.Lo <= 0 && b.Hi >= 0}
	if b.Lo > 0 && a.Lo >= 0 {
		if a.Hi < b.Lo {
			return Interval{Lo: a.Lo, Hi: a.Hi}
		}
		r.Hi = math.Min(r.Hi, a.Hi)
	}
	return r
}

func power(a, b Interval, points bool) Interval {
	if points {
		p := math.Pow(a.Lo, b.Lo)
		if p != p || math.IsInf(p, 0) && a.Lo == 0 {
			return undefined
		}
		return Interval{Lo: p, Hi: p}
	}
	if a.Lo >= 1 && b.Lo >= 0 {
		return Interval{Lo: math.Pow(a.Lo, b.Lo), Hi: math.Pow(a.Hi, b.Hi)}
	}
	return anything
}

func bitwise(o op, a, b Interval, points bool) Interval {
	if points {
		x, y := a.Lo, b.Lo
		const limit = 1 << 53
		if x != math.Trunc(x) || y != math.Trunc(y) || math.Abs(x) > limit || math.Abs(y) > limit {
			return undefined
		}
		i, j := int64(x), int64(y)
		var r int64
		switch o {
		case opBitAnd:
			r = i & j
		case opBitOr:
			r = i | j
		case opBitXor:
			r = i ^ j
		case opShl, opShr:
			if j < 0 || j > 53 {
				return undefined
			}
			if o == opShr {
				r = i >> j
			} else {
				return Interval{Lo: x * math.Ldexp(1, int(j)), Hi: x * math.Ldexp(1, int(j))}
			}
		}
		return Interval{Lo: float64(r), Hi: float64(r)}
	}
	if o == opBitAnd && a.Lo >= 0 && b.Lo >= 0 {
		return Interval{Lo: 0, Hi: math.Min(a.Hi, b.Hi), Maybe: true}
	}
	return anything
}

package pipeline

import "math"

// opcode is one operation of the stack machine that evaluates formulas.
type opcode uint8

const (
	opConst opcode = iota
	opMinEnd
	opMaxEnd
	opCast
	opAdd
	opSub
	opMul
	opDiv
	opMod
	opMin
	opMax
	opEQ
	opNE
	opLT
	opLE
	opGT
	opGE
	opAnd
	opOr
	opNot
	opSelect
	opAbs
	opAbsDiff
	opShiftLeft
	opShiftRight
	opBitAnd
	opBitOr
	opBitXor
	opBitNot
	opFloat1
	opFloat2 = opFloat1 + opcode(len(float1))
)

// instr is one instruction: typ is the type of its operands (of its result for a
// constant, an end and a cast), n the constant, the span's number, a cast's or
// shift's other type.
type instr struct {
	op  opcode
	typ typ
	n   int64
}

type operandClass uint8

const (
	anyType operandClass = iota
	arithmetic
	integer
	shift
	logical
	float
	choice
)

type resultClass uint8

const (
	same resultClass = iota
	truth
	magnitude // unsigned where the operands are signed
)

type signature struct {
	op       opcode
	operands int
	class    operandClass
	gives    resultClass
}

// The functions of floats, evaluated in double and rounded to the type, as
// Halide's own constant folding does.
var (
	float1 = [...]struct {
		name string
		f    func(float64) float64
	}{
		{"floor", math.Floor}, {"ceil", math.Ceil}, {"trunc", math.Trunc}, {"round", math.RoundToEven},
		{"sqrt", math.Sqrt}, {"exp", math.Exp}, {"log", math.Log},
		{"sin", math.Sin}, {"cos", math.Cos}, {"tan", math.Tan},
		{"asin", math.Asin}, {"acos", math.Acos}, {"atan", math.Atan},
		{"sinh", math.Sinh}, {"cosh", math.Cosh}, {"tanh", math.Tanh},
		{"asinh", math.Asinh}, {"acosh", math.Acosh}, {"atanh", math.Atanh},
	}
	float2 = [...]struct {
		name string
		f    func(a, b float64) float64
	}{
		{"pow", math.Pow}, {"atan2", math.Atan2},
	}
)

var operations = func() map[string]signature {
	m := map[string]signature{
		"+": {opAdd, 2, arithmetic, same}, "-": {opSub, 2, arithmetic, same}, "*": {opMul, 2, arithmetic, same},
		"/": {opDiv, 2, arithmetic, same}, "%": {opMod, 2, arithmetic, same},
		"min": {opMin, 2, anyType, same}, "max": {opMax, 2, anyType, same},
		"==": {opEQ, 2, anyType, truth}, "!=": {opNE, 2, anyType, truth},
		"<": {opLT, 2, anyType, truth}, "<=": {opLE, 2, anyType, truth},
		">": {opGT, 2, anyType, truth}, ">=": {opGE, 2, anyType, truth},
		"&&": {opAnd, 2, logical, same}, "||": {opOr, 2, logical, same}, "!": {opNot, 1, logical, same},
		"select": {opSelect, 3, choice, same},
		"abs":    {opAbs, 1, arithmetic, magnitude}, "absd": {opAbsDiff, 2, arithmetic, magnitude},
		"<<": {opShiftLeft, 2, shift, same}, ">>": {opShiftRight, 2, shift, same},
		"&": {opBitAnd, 2, integer, same}, "|": {opBitOr, 2, integer, same}, "^": {opBitXor, 2, integer, same},
		"~": {opBitNot, 1, integer, same},
	}
	for i, f := range float1 {
		m[f.name] = signature{opFloat1 + opcode(i), 1, float, same}
	}
	for i, f := range float2 {
		m[f.name] = signature{opFloat2 + opcode(i), 2, float, same}
	}
	return m
}()

// Most formulas need few intermediate values, and clearing a large array costs
// more than evaluating them.
const smallStack = 12

// Eval is the formula's value over the given spans, among them all that it names. It
// does not allocate.
func (e *Expr) Eval(ends []Span) int64 {
	if e.depth <= smallStack {
		var stack [smallStack]int64
		return run(e.code, ends, stack[:])
	}
	var stack [maxExprDepth]int64
	return run(e.code, ends, stack[:])
}

// run keeps integers as themselves (unsigned ones as their bits) and floats as
// the bits of a float64.
func run(code []instr, ends []Span, stack []int64) int64 {
	top := -1
	for i := range code {
		in := &code[i]
		switch in.op {
		case opConst:
			top++
			stack[top] = in.n
		case opMinEnd:
			top++
			stack[top] = ends[in.n].Min
		case opMaxEnd:
			top++
			stack[top] = ends[in.n].Max
		case opCast:
			stack[top] = convert(typ(in.n), in.typ, stack[top])
		case opNot:
			stack[top] ^= 1
		case opBitNot:
			stack[top] = wrap(in.typ, ^stack[top])
		case opAbs:
			stack[top] = abs(in.typ, stack[top])
		case opSelect:
			top -= 2
			if stack[top] != 0 {
				stack[top] = stack[top+1]
			} else {
				stack[top] = stack[top+2]
			}
		default:
			if in.op >= opFloat1 && in.op < opFloat2 {
				f := float1[in.op-opFloat1].f(math.Float64frombits(uint64(stack[top])))
				stack[top] = int64(math.Float64bits(roundFloat(in.typ, f)))
				continue
			}
			top--
			stack[top] = binary(in, stack[top], stack[top+1])
		}
	}
	return stack[0]
}

func binary(in *instr, a, b int64) int64 {
	switch {
	case in.typ.isFloat():
		return floatBinary(in, math.Float64frombits(uint64(a)), math.Float64frombits(uint64(b)))
	case in.typ == uint64Type:
		switch in.op {
		case opDiv, opMod, opMin, opMax, opLT, opLE, opGT, opGE, opAbsDiff:
			return unsignedBinary(in.op, uint64(a), uint64(b))
		}
	}
	switch in.op {
	case opAdd:
		return wrap(in.typ, a+b)
	case opSub:
		return wrap(in.typ, a-b)
	case opMul:
		return wrap(in.typ, a*b)
	case opDiv:
		return wrap(in.typ, euclideanDiv(a, b))
	case opMod:
		return euclideanMod(a, b)
	case opMin:
		return min(a, b)
	case opMax:
		return max(a, b)
	case opEQ:
		return truthOf(a == b)
	case opNE:
		return truthOf(a != b)
	case opLT:
		return truthOf(a < b)
	case opLE:
		return truthOf(a <= b)
	case opGT:
		return truthOf(a > b)
	case opGE:
		return truthOf(a >= b)
	case opAnd, opBitAnd:
		return a & b
	case opOr, opBitOr:
		return a | b
	case opBitXor:
		return a ^ b
	case opAbsDiff:
		return max(a, b) - min(a, b)
	case opShiftLeft:
		return shiftBy(in.typ, a, shiftAmount(typ(in.n), b))
	default: // opShiftRight
		return shiftBy(in.typ, a, -shiftAmount(typ(in.n), b))
	}
}

// shiftAmount keeps what shifts everything out from overflowing when negated.
func shiftAmount(t typ, b int64) int64 {
	if t == uint64Type && b < 0 {
		return 64
	}
	return max(-64, min(b, 64))
}

// shiftBy shifts left by b, right where b is negative; bits shifted out are lost,
// and a negative number shifted right keeps its sign.
func shiftBy(t typ, a, b int64) int64 {
	switch {
	case b >= int64(t.bits()):
		return 0
	case b >= 0:
		return wrap(t, a<<uint(b))
	case t.isUnsigned():
		return int64(uint64(a) >> uint(-b))
	default:
		return a >> uint(-b)
	}
}

func unsignedBinary(op opcode, a, b uint64) int64 {
	switch op {
	case opDiv:
		if b == 0 {
			return 0
		}
		return int64(a / b)
	case opMod:
		if b == 0 {
			return 0
		}
		return int64(a % b)
	case opMin:
		return int64(min(a, b))
	case opMax:
		return int64(max(a, b))
	case opLT:
		return truthOf(a < b)
	case opLE:
		return truthOf(a <= b)
	case opGT:
		return truthOf(a > b)
	case opGE:
		return truthOf(a >= b)
	default: // opAbsDiff
		return int64(max(a, b) - min(a, b))
	}
}

func floatBinary(in *instr, a, b float64) int64 {
	var v float64
	switch in.op {
	case opAdd:
		v = a + b
	case opSub:
		v = a - b
	case opMul:
		v = a * b
	case opDiv:
		v = a / b
	case opMod:
		v = a - b*math.Floor(a/b)
	case opMin:
		v = min(a, b)
	case opMax:
		v = max(a, b)
	case opAbsDiff:
		v = math.Abs(a - b)
	case opEQ:
		return truthOf(a == b)
	case opNE:
		return truthOf(a != b)
	case opLT:
		return truthOf(a < b)
	case opLE:
		return truthOf(a <= b)
	case opGT:
		return truthOf(a > b)
	case opGE:
		return truthOf(a >= b)
	default:
		v = float2[in.op-opFloat2].f(a, b)
	}
	return int64(math.Float64bits(roundFloat(in.typ, v)))
}

func truthOf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// euclideanDiv is the division whose remainder is never negative; 0 for b = 0.
func euclideanDiv(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	q := a / b
	if a%b < 0 {
		if b > 0 {
			return q - 1
		}
		return q + 1
	}
	return q
}

// euclideanMod is the remainder of euclideanDiv: at least 0, below |b|; 0 for b = 0.
func euclideanMod(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	r := a % b
	if r < 0 {
		if b > 0 {
			return r + b
		}
		return r - b
	}
	return r
}

func abs(t typ, v int64) int64 {
	switch {
	case t.isFloat():
		return v &^ math.MinInt64 // the sign bit
	case t.isSigned() && v < 0:
		return wrap(t-int8Type+uint8Type, -v)
	}
	return v
}

// wrap brings the result of an integer operation back into its type. Signed 32
// bit values stay as they are: in Halide they do not overflow.
func wrap(t typ, v int64) int64 {
	switch t {
	case boolType:
		return v & 1
	case int8Type:
		return int64(int8(v))
	case int16Type:
		return int64(int16(v))
	case uint8Type:
		return int64(uint8(v))
	case uint16Type:
		return int64(uint16(v))
	case uint32Type:
		return int64(uint32(v))
	}
	return v
}

func convert(from, to typ, v int64) int64 {
	if !from.isFloat() && !to.isFloat() {
		if to == int32Type {
			return int64(int32(v))
		}
		return wrap(to, v)
	}
	var f float64
	switch {
	case from.isFloat():
		f = math.Float64frombits(uint64(v))
	case from == uint64Type:
		f = float64(uint64(v))
	default:
		f = float64(v)
	}
	if to.isFloat() {
		return int64(math.Float64bits(roundFloat(to, f)))
	}
	return convert(int64Type, to, saturate(to, f))
}

// saturate truncates towards zero, to the ends of the 64 bit type of the same
// sign where the number lies beyond; NaN gives 0.
func saturate(to typ, f float64) int64 {
	unsigned := to == boolType || to.isUnsigned()
	switch {
	case f != f:
		return 0
	case unsigned && f <= 0:
		return 0
	case unsigned && f >= 1<<64:
		return -1
	case unsigned:
		return int64(uint64(f))
	case f >= 1<<63:
		return math.MaxInt64
	case f < -(1 << 63):
		return math.MinInt64
	}
	return int64(f)
}

// roundFloat rounds to the nearest value of the type, ties to even.
func roundFloat(t typ, f float64) float64 {
	switch t {
	case float32Type:
		return float64(float32(f))
	case float16Type:
		return roundHalf(f)
	}
	return f
}

// roundHalf rounds to IEEE 754 binary16: 11 significant bits, the least exponent
// -24 for denormals, the largest number 65504.
func roundHalf(f float64) float64 {
	if f == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return f
	}
	_, exp := math.Frexp(f)
	unit := math.Ldexp(1, max(exp-11, -24))
	r := math.RoundToEven(f/unit) * unit
	if math.Abs(r) > 65504 {
		return math.Inf(int(math.Copysign(1, f)))
	}
	return r
}

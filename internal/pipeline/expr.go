package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Expr is a formula for one end of a region, with the meaning Halide gives its
// operations: integer division and modulus are Euclidean and give 0 for a zero
// divisor, narrow and unsigned integers wrap, floats are rounded to their type
// after each operation. Signed 32 and 64 bit integers do not overflow in a valid
// Halide program; here they are computed in 64 bits.
//
// The JSON form is a tree: a number is an int32; "min:2" and "max:2" are the ends
// of the span numbered 2, int32; ["const", type, digits] is a constant of another
// type; ["cast", type, e] converts; [op, e, ...] is an operation, whose type is
// that of its operands (comparisons give bool, abs and absd of signed integers
// unsigned). Types are bool, int8 to int64, uint8 to uint64, float16 to float64.
//
// An Expr is immutable and safe for concurrent use.
type Expr struct {
	text  string // the JSON form, compact
	code  []instr
	depth int
	ends  int // spans it may refer to: 1 + the highest number, 0 for none
}

// Limits of one formula: both far above what bounds inference leaves behind.
const (
	maxExprDepth = 128
	maxExprNodes = 20000
)

// String is the JSON form.
func (e *Expr) String() string { return e.text }

// MarshalJSON writes the form that UnmarshalJSON reads.
func (e *Expr) MarshalJSON() ([]byte, error) {
	if e.text == "" {
		return nil, errors.New("pipeline: an Expr without a formula")
	}
	return []byte(e.text), nil
}

// UnmarshalJSON reads and compiles the formula.
func (e *Expr) UnmarshalJSON(b []byte) error {
	var text bytes.Buffer
	if err := json.Compact(&text, b); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	c := compiler{dec: dec}
	t, err := c.expr(0)
	if err != nil {
		return fmt.Errorf("formula: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("formula: more than one value")
	}
	if t.isFloat() || t == boolType {
		return fmt.Errorf("formula: gives a %s, not an integer", t)
	}
	*e = Expr{text: text.String(), code: c.code, depth: c.deepest, ends: c.ends}
	return nil
}

// typ is the type of a value within a formula.
type typ uint8

const (
	boolType typ = iota
	int8Type
	int16Type
	int32Type
	int64Type
	uint8Type
	uint16Type
	uint32Type
	uint64Type
	float16Type
	float32Type
	float64Type
)

var typNames = [...]string{
	"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
}

func (t typ) String() string   { return typNames[t] }
func (t typ) isFloat() bool    { return t >= float16Type }
func (t typ) isUnsigned() bool { return t >= uint8Type && t <= uint64Type }
func (t typ) isSigned() bool   { return t >= int8Type && t <= int64Type }

// bits is the width of an integer type.
func (t typ) bits() int {
	switch {
	case t == boolType:
		return 1
	case t.isUnsigned():
		return 8 << (t - uint8Type)
	default:
		return 8 << (t - int8Type)
	}
}

func typeNamed(name string) (typ, error) {
	if i := slices.Index(typNames[:], name); i >= 0 {
		return typ(i), nil
	}
	return 0, fmt.Errorf("unknown type %q", name)
}

// compiler reads the tree and writes a program for a stack machine, operands
// before their operation.
type compiler struct {
	dec     *json.Decoder
	code    []instr
	depth   int
	deepest int
	ends    int
}

func (c *compiler) emit(in instr, pops int) error {
	c.depth += 1 - pops
	c.deepest = max(c.deepest, c.depth)
	if c.deepest > maxExprDepth {
		return fmt.Errorf("needs more than %d intermediate values", maxExprDepth)
	}
	if len(c.code) >= maxExprNodes {
		return fmt.Errorf("more than %d operations", maxExprNodes)
	}
	c.code = append(c.code, in)
	return nil
}

// expr reads one subtree. nesting is bounded apart from the stack's depth, since
// a chain of unary operations nests without using any.
func (c *compiler) expr(nesting int) (typ, error) {
	if nesting > 4*maxExprDepth {
		return 0, fmt.Errorf("nested deeper than %d", 4*maxExprDepth)
	}
	token, err := c.dec.Token()
	if err != nil {
		return 0, err
	}
	switch v := token.(type) {
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 32)
		if err != nil {
			return 0, fmt.Errorf("%s is no int32", v)
		}
		return int32Type, c.emit(instr{op: opConst, typ: int32Type, n: n}, 0)
	case string:
		return c.end(v)
	case json.Delim:
		if v == '[' {
			return c.operation(nesting)
		}
	}
	return 0, fmt.Errorf("unexpected %v", token)
}

func (c *compiler) end(s string) (typ, error) {
	which, digits, ok := strings.Cut(s, ":")
	n, err := strconv.ParseUint(digits, 10, 8)
	if !ok || err != nil || (which != "min" && which != "max") {
		return 0, fmt.Errorf("%q is neither min:N nor max:N", s)
	}
	op := opMinEnd
	if which == "max" {
		op = opMaxEnd
	}
	c.ends = max(c.ends, int(n)+1)
	return int32Type, c.emit(instr{op: op, typ: int32Type, n: int64(n)}, 0)
}

func (c *compiler) word() (string, error) {
	token, err := c.dec.Token()
	if err != nil {
		return "", err
	}
	s, ok := token.(string)
	if !ok {
		return "", fmt.Errorf("unexpected %v", token)
	}
	return s, nil
}

func (c *compiler) operation(nesting int) (typ, error) {
	name, err := c.word()
	if err != nil {
		return 0, err
	}
	var t typ
	switch name {
	case "const":
		t, err = c.constant()
	case "cast":
		t, err = c.cast(nesting)
	default:
		t, err = c.apply(name, nesting)
	}
	if err != nil {
		return 0, err
	}
	if token, err := c.dec.Token(); err != nil || token != json.Delim(']') {
		return 0, fmt.Errorf("too many operands of %s", name)
	}
	return t, nil
}

func (c *compiler) namedType() (typ, error) {
	name, err := c.word()
	if err != nil {
		return 0, err
	}
	return typeNamed(name)
}

func (c *compiler) constant() (typ, error) {
	t, err := c.namedType()
	if err != nil {
		return 0, err
	}
	digits, err := c.word()
	if err != nil {
		return 0, err
	}
	in := instr{op: opConst, typ: t}
	switch {
	case t.isFloat():
		var f float64
		if f, err = strconv.ParseFloat(strings.TrimPrefix(digits, "-"), 64); err == nil {
			if strings.HasPrefix(digits, "-") {
				f = -f
			}
			in.n = int64(math.Float64bits(roundFloat(t, f)))
		}
	case t.isSigned():
		in.n, err = strconv.ParseInt(digits, 10, t.bits())
	default:
		var u uint64
		u, err = strconv.ParseUint(digits, 10, t.bits())
		in.n = int64(u)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is no %s", digits, t)
	}
	return t, c.emit(in, 0)
}

func (c *compiler) cast(nesting int) (typ, error) {
	to, err := c.namedType()
	if err != nil {
		return 0, err
	}
	from, err := c.expr(nesting + 1)
	if err != nil {
		return 0, err
	}
	return to, c.emit(instr{op: opCast, typ: to, n: int64(from)}, 1)
}

func (c *compiler) apply(name string, nesting int) (typ, error) {
	sig, ok := operations[name]
	if !ok {
		return 0, fmt.Errorf("unknown operation %q", name)
	}
	var args [3]typ
	for i := range sig.operands {
		t, err := c.expr(nesting + 1)
		if err != nil {
			return 0, err
		}
		args[i] = t
	}
	t := args[sig.operands-1]
	bad := false
	switch sig.class {
	case anyType:
		bad = args[0] != t
	case arithmetic:
		bad = args[0] != t || t == boolType
	case integer:
		bad = args[0] != t || t.isFloat()
	case shift:
		t = args[0]
		bad = t.isFloat() || args[1].isFloat() || t == boolType || args[1].bits() != t.bits()
	case logical:
		bad = args[0] != t || t != boolType
	case float:
		bad = args[0] != t || !t.isFloat()
	case choice:
		bad = args[0] != boolType || args[1] != args[2]
	}
	if bad {
		return 0, fmt.Errorf("%s does not take %v", name, args[:sig.operands])
	}
	in := instr{op: sig.op, typ: t, n: int64(args[1])}
	if err := c.emit(in, sig.operands); err != nil {
		return 0, err
	}
	switch {
	case sig.gives == truth:
		return boolType, nil
	case sig.gives == magnitude && t.isSigned():
		return t - int8Type + uint8Type, nil
	}
	return t, nil
}

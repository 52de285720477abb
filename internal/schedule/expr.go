package schedule

import (
	"fmt"
	"math"
	"strconv"
)

// Constraints are expressions over hole names in the syntax of BaCO's scenario
// files: integers, names, + - * / % (as Python divides: towards minus infinity),
// parentheses, one of <= < >= > == != between two sums, and the words and, or.

// evalConstraint says whether a constraint holds. Every name must be in values;
// division by zero and results beyond int64 are errors.
func evalConstraint(text string, values map[string]int64) (bool, error) {
	e := &exprReader{text: text, values: values}
	v := e.or()
	if e.space(); e.err == nil && e.pos < len(e.text) {
		e.fail("unexpected %q", e.text[e.pos:])
	}
	return v, e.err
}

// exprReader evaluates as it reads. After the first error it does nothing more.
type exprReader struct {
	text   string
	pos    int
	values map[string]int64
	depth  int
	err    error
}

func (e *exprReader) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("constraint %q: "+format, append([]any{e.text}, args...)...)
		e.pos = len(e.text)
	}
}

func (e *exprReader) space() {
	for e.pos < len(e.text) && (e.text[e.pos] == ' ' || e.text[e.pos] == '\t') {
		e.pos++
	}
}

// accept takes an operator; a word only where it ends.
func (e *exprReader) accept(op string) bool {
	e.space()
	end := e.pos + len(op)
	if end > len(e.text) || e.text[e.pos:end] != op {
		return false
	}
	if isNameByte(op[0]) && end < len(e.text) && isNameByte(e.text[end]) {
		return false
	}
	e.pos = end
	return true
}

func (e *exprReader) or() bool {
	v := e.and()
	for e.accept("or") {
		right := e.and()
		v = v || right
	}
	return v
}

func (e *exprReader) and() bool {
	v := e.comparison()
	for e.accept("and") {
		right := e.comparison()
		v = v && right
	}
	return v
}

func (e *exprReader) comparison() bool {
	a := e.sum()
	for _, op := range []string{"<=", ">=", "==", "!=", "<", ">"} {
		if !e.accept(op) {
			continue
		}
		b := e.sum()
		switch op {
		case "<=":
			return a <= b
		case ">=":
			return a >= b
		case "==":
			return a == b
		case "!=":
			return a != b
		case "<":
			return a < b
		}
		return a > b
	}
	e.fail("no comparison")
	return false
}

func (e *exprReader) sum() int64 {
	v := e.product()
	for e.err == nil {
		switch {
		case e.accept("+"):
			v = e.checked('+', v, e.product())
		case e.accept("-"):
			v = e.checked('-', v, e.product())
		default:
			return v
		}
	}
	return 0
}

func (e *exprReader) product() int64 {
	v := e.atom()
	for e.err == nil {
		switch {
		case e.accept("*"):
			v = e.checked('*', v, e.atom())
		case e.accept("/"), e.accept("%"):
			op := e.text[e.pos-1]
			v = e.checked(op, v, e.atom())
		default:
			return v
		}
	}
	return 0
}

func (e *exprReader) checked(op byte, a, b int64) int64 {
	overflow := false
	v := int64(0)
	switch op {
	case '+':
		v = a + b
		overflow = (v > a) != (b > 0) && b != 0
	case '-':
		v = a - b
		overflow = (v < a) != (b > 0) && b != 0
	case '*':
		v = a * b
		overflow = a != 0 && (v/a != b || a == -1 && b == math.MinInt64)
	default:
		if b == 0 {
			e.fail("division by zero")
			return 0
		}
		if a == math.MinInt64 && b == -1 {
			overflow = op == '/'
			break
		}
		q, r := a/b, a%b
		if r != 0 && (r < 0) != (b < 0) {
			q, r = q-1, r+b
		}
		v = q
		if op == '%' {
			v = r
		}
	}
	if overflow {
		e.fail("a result beyond 64 bits")
	}
	return v
}

func (e *exprReader) atom() int64 {
	if e.depth++; e.depth > maxNesting {
		e.fail("nested too deep")
	}
	defer func() { e.depth-- }()
	switch {
	case e.err != nil:
		return 0
	case e.accept("("):
		v := e.sum()
		if !e.accept(")") {
			e.fail("a parenthesis that does not close")
		}
		return v
	case e.accept("-"):
		return e.checked('-', 0, e.atom())
	}
	e.space()
	start := e.pos
	for e.pos < len(e.text) && isNameByte(e.text[e.pos]) {
		e.pos++
	}
	word := e.text[start:e.pos]
	if word == "" {
		e.fail("a value is missing")
		return 0
	}
	if isDigit(word[0]) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			e.fail("%s is no number", word)
		}
		return n
	}
	n, ok := e.values[word]
	if !ok {
		e.fail("no hole %s", word)
	}
	return n
}

package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDepth bounds the nesting of an expression.
const maxDepth = 200

// maxLength bounds the text of an expression in bytes.
const maxLength = 1 << 16

type token struct {
	kind byte // 'n' number, 'i' name, 's' string, 'o' operator, 0 end
	text string
	num  float64
	pos  int
}

type parser struct {
	src     string
	tokens  []token
	at      int
	depth   int
	resolve func(name string) (Var, bool)
}

// Parse reads one constraint. resolve maps a name to its variable. The error
// is an *Error; it says where and what.
func Parse(src string, resolve func(name string) (Var, bool)) (e *Expr, err error) {
	defer func() {
		if r := recover(); r != nil {
			pe, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			e, err = nil, pe
		}
	}()
	p := &parser{src: src, resolve: resolve}
	if len(src) > maxLength {
		p.fail(0, "longer than %d bytes", maxLength)
	}
	p.lex()
	if p.peek().kind == 0 {
		p.fail(0, "empty")
	}
	n := p.or()
	if t := p.peek(); t.kind != 0 {
		if t.text == "=" {
			p.fail(t.pos, "= found; equality is ==")
		}
		p.fail(t.pos, "%q found where an operator or the end was expected", t.text)
	}
	if n.kind == text || n.kind == category {
		p.fail(n.pos, "a condition was expected, not text")
	}
	n = flatten(n)
	return newExpr(src, n), nil
}

func (p *parser) fail(pos int, format string, args ...any) {
	panic(&Error{Text: p.src, Pos: pos, Msg: fmt.Sprintf(format, args...)})
}

var operators = []string{"**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
	"+", "-", "*", "/", "%", "<", ">", "&", "|", "^", "~", "!", "(", ")", "[", "]", ",", "="}

func (p *parser) lex() {
	for i := 0; i < len(p.src); {
		c, size := utf8.DecodeRuneInString(p.src[i:])
		switch {
		case unicode.IsSpace(c):
			i += size
		case c >= '0' && c <= '9' || c == '.':
			i = p.number(i)
		case c == '_' || unicode.IsLetter(c):
			j := i
			for j < len(p.src) {
				r, s := utf8.DecodeRuneInString(p.src[j:])
				if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
					break
				}
				j += s
			}
			p.tokens = append(p.tokens, token{kind: 'i', text: p.src[i:j], pos: i})
			i = j
		case c == '\'' || c == '"':
			end := strings.IndexRune(p.src[i+1:], c)
			if end < 0 {
				p.fail(i, "text without its closing %c", c)
			}
			p.tokens = append(p.tokens, token{kind: 's', text: p.src[i+1 : i+1+end], pos: i})
			i += end + 2
		default:
			i = p.operator(i, c)
		}
	}
	p.tokens = append(p.tokens, token{pos: len(p.src)})
}

func (p *parser) operator(i int, c rune) int {
	for _, o := range operators {
		if strings.HasPrefix(p.src[i:], o) {
			p.tokens = append(p.tokens, token{kind: 'o', text: o, pos: i})
			return i + len(o)
		}
	}
	p.fail(i, "unexpected character %q", c)
	return 0
}

func (p *parser) number(i int) int {
	j := i
	for j < len(p.src) && (p.src[j] >= '0' && p.src[j] <= '9' || p.src[j] == '.' ||
		p.src[j] == 'e' || p.src[j] == 'E' ||
		(p.src[j] == '+' || p.src[j] == '-') && (p.src[j-1] == 'e' || p.src[j-1] == 'E')) {
		j++
	}
	v, err := strconv.ParseFloat(p.src[i:j], 64)
	if err != nil || math.IsInf(v, 0) {
		p.fail(i, "%q is not a number", p.src[i:j])
	}
	p.tokens = append(p.tokens, token{kind: 'n', text: p.src[i:j], num: v, pos: i})
	return j
}

func (p *parser) peek() token { return p.tokens[p.at] }

// accept consumes the next token when it is one of the operators or words.
func (p *parser) accept(texts ...string) (token, bool) {
	t := p.peek()
	if t.kind != 'o' && t.kind != 'i' {
		return t, false
	}
	for _, s := range texts {
		if t.text == s {
			p.at++
			return t, true
		}
	}
	return t, false
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.peek().pos, "nested deeper than %d", maxDepth)
	}
}

func (p *parser) or() *node {
	p.enter()
	defer func() { p.depth-- }()
	n := p.and()
	for {
		t, ok := p.accept("or", "||")
		if !ok {
			return n
		}
		n = p.logic(opOr, t, n, p.and())
	}
}

func (p *parser) and() *node {
	n := p.not()
	for {
		t, ok := p.accept("and", "&&")
		if !ok {
			return n
		}
		n = p.logic(opAnd, t, n, p.not())
	}
}

func (p *parser) logic(o op, t token, a, b *node) *node {
	return &node{op: o, kind: boolean, integer: true, pos: t.pos, kids: []*node{p.value(a), p.value(b)}}
}

func (p *parser) not() *node {
	if t, ok := p.accept("not", "!"); ok {
		p.enter()
		defer func() { p.depth-- }()
		return &node{op: opNot, kind: boolean, integer: true, pos: t.pos, kids: []*node{p.value(p.not())}}
	}
	return p.comparison()
}

// comparison reads a chain such as a < b <= c, as Python does.
func (p *parser) comparison() *node {
	first := p.binary(0)
	left, n, member := first, (*node)(nil), false
	for {
		t, ok := p.accept("<", "<=", ">", ">=", "==", "!=", "in", "not")
		if !ok {
			break
		}
		p.unambiguous(left)
		if member {
			p.fail(t.pos, "no comparison can follow in; use parentheses")
		}
		var c *node
		if t.text == "in" || t.text == "not" {
			if t.text == "not" {
				if _, ok := p.accept("in"); !ok {
					p.fail(t.pos, "not found where an operator was expected (not in?)")
				}
			}
			if n != nil {
				p.fail(t.pos, "in cannot follow another comparison; use parentheses")
			}
			c = p.membership(t, left)
			member = true
		} else {
			right := p.binary(0)
			p.unambiguous(right)
			c = p.relate(t, left, right)
			left = right
		}
		if n == nil {
			n = c
		} else {
			n = &node{op: opAnd, kind: boolean, integer: true, pos: t.pos, kids: []*node{n, c}}
		}
	}
	if n == nil {
		return first
	}
	return n
}

func (p *parser) unambiguous(n *node) {
	if n.bare {
		p.fail(n.pos, "& | and ^ bind tighter than comparisons; put parentheses around each side")
	}
}

func (p *parser) membership(t token, left *node) *node {
	open, ok := p.accept("(", "[")
	if !ok {
		p.fail(p.peek().pos, "a list such as [1, 2, 4] was expected after in")
	}
	end := map[string]string{"(": ")", "[": "]"}[open.text]
	any := &node{op: opOr, kind: boolean, integer: true, pos: t.pos}
	for {
		if _, ok := p.accept(end); ok {
			break
		}
		any.kids = append(any.kids, p.relate(token{text: "==", pos: t.pos}, left, p.binary(0)))
		if _, ok := p.accept(","); !ok {
			if _, ok := p.accept(end); !ok {
				p.fail(p.peek().pos, "%q or , was expected", end)
			}
			break
		}
	}
	if len(any.kids) == 0 {
		p.fail(open.pos, "an empty list: nothing is in it")
	}
	if t.text == "not" {
		return &node{op: opNot, kind: boolean, integer: true, pos: t.pos, kids: []*node{any}}
	}
	return any
}

// relate compares two nodes; > and >= are turned round.
func (p *parser) relate(t token, a, b *node) *node {
	n := &node{kind: boolean, integer: true, pos: t.pos}
	if a.kind >= text || b.kind >= text {
		if t.text != "==" && t.text != "!=" {
			a, b = p.value(a), p.value(b)
		} else {
			a, b = p.texts(a, b)
		}
	}
	switch t.text {
	case "<", ">":
		n.op = opLT
	case "<=", ">=":
		n.op = opLE
	case "==":
		n.op = opEQ
	case "!=":
		n.op = opNE
	}
	if t.text[0] == '>' {
		a, b = b, a
	}
	n.kids = []*node{a, b}
	return n
}

// texts makes an equality with a categorical side one of numbers.
func (p *parser) texts(a, b *node) (*node, *node) {
	if a.kind != category && b.kind != category {
		if a.kind == text && b.kind == text {
			p.fail(a.pos, "two texts are compared; one side must be a parameter")
		}
		n := a
		if b.kind == text {
			n = b
		}
		p.fail(n.pos, "text %q is compared with a number", n.str)
	}
	if a.kind == category && b.kind == category {
		ids := map[string]float64{}
		table := func(c *node) *node {
			t := &node{op: opTable, slot: c.slot, pos: c.pos, integer: true}
			for _, s := range c.cats {
				if _, ok := ids[s]; !ok {
					ids[s] = float64(len(ids))
				}
				t.table = append(t.table, ids[s])
			}
			return t
		}
		return table(a), table(b)
	}
	if a.kind != category {
		b, a = p.texts(b, a)
		return a, b
	}
	if b.kind == text {
		for i, s := range a.cats {
			if s == b.str {
				return &node{op: opVar, slot: a.slot, pos: a.pos, integer: true},
					&node{op: opConst, val: float64(i), pos: b.pos, integer: true}
			}
		}
		p.fail(b.pos, "%q is none of the values %s", b.str, strings.Join(a.cats, ", "))
	}
	return p.value(a), b
}

// value makes a node usable as a number: a categorical whose values all read
// as numbers stands for them.
func (p *parser) value(n *node) *node {
	switch n.kind {
	case text:
		p.fail(n.pos, "text %q where a number was expected", n.str)
	case category:
		t := &node{op: opTable, slot: n.slot, pos: n.pos, integer: true}
		for _, s := range n.cats {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				p.fail(n.pos, "%s is categorical and its value %q is not a number", n.str, s)
			}
			t.table = append(t.table, v)
			t.integer = t.integer && v == math.Trunc(v)
		}
		return t
	}
	return n
}

var levels = [][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%"}}

func (p *parser) binary(level int) *node {
	if level == len(levels) {
		return p.unary()
	}
	n := p.binary(level + 1)
	for {
		t, ok := p.accept(levels[level]...)
		if !ok {
			return n
		}
		n = p.combine(t, n, p.binary(level+1))
	}
}

var binaryOps = map[string]op{"|": opBitOr, "^": opBitXor, "&": opBitAnd, "<<": opShl, ">>": opShr,
	"+": opSum, "-": opSum, "*": opMul, "/": opDiv, "//": opFloorDiv, "%": opMod, "**": opPow}

func (p *parser) combine(t token, a, b *node) *node {
	a, b = p.value(a), p.value(b)
	o := binaryOps[t.text]
	n := &node{op: o, pos: t.pos, kids: []*node{a, b}, integer: a.integer && b.integer && o != opDiv && o != opPow}
	switch o {
	case opBitAnd, opBitOr, opBitXor:
		n.bare = true
		if a.kind == boolean && b.kind == boolean {
			n.kind = boolean
			switch o {
			case opBitAnd:
				n.op = opAnd
			case opBitOr:
				n.op = opOr
			default:
				n.op = opNE
			}
		}
	case opSum:
		n.minus = []bool{false, t.text == "-"}
	}
	return n
}

func (p *parser) unary() *node {
	t, ok := p.accept("-", "+", "~")
	if !ok {
		return p.power()
	}
	p.enter()
	defer func() { p.depth-- }()
	k := p.value(p.unary())
	switch {
	case t.text == "+":
		return k
	case t.text == "-" && k.op == opConst:
		return &node{op: opConst, val: -k.val, pos: t.pos, integer: k.integer}
	case t.text == "-":
		return &node{op: opNeg, pos: t.pos, kids: []*node{k}, integer: k.integer}
	case k.kind == boolean:
		return &node{op: opNot, kind: boolean, pos: t.pos, kids: []*node{k}, integer: true}
	}
	return &node{op: opBitNot, pos: t.pos, kids: []*node{k}, integer: k.integer}
}

func (p *parser) power() *node {
	n := p.atom()
	t, ok := p.accept("**")
	if !ok {
		return n
	}
	return p.combine(t, n, p.unary()) // right associative, and -x may follow
}

func (p *parser) atom() *node {
	t := p.peek()
	p.at++
	switch t.kind {
	case 0:
		p.at--
		p.fail(t.pos, "the expression ends too early")
	case 'n':
		return &node{op: opConst, val: t.num, pos: t.pos, integer: t.num == math.Trunc(t.num)}
	case 's':
		return &node{op: opConst, kind: text, str: t.text, pos: t.pos}
	case 'i':
		return p.name(t)
	}
	if t.text != "(" {
		p.fail(t.pos, "%q found where a value was expected", t.text)
	}
	n := p.or()
	if _, ok := p.accept(")"); !ok {
		p.fail(p.peek().pos, "the parenthesis opened at column %d is not closed", t.pos+1)
	}
	n.bare = false
	return n
}

func (p *parser) name(t token) *node {
	switch t.text {
	case "True", "true":
		return &node{op: opConst, kind: boolean, val: 1, pos: t.pos, integer: true}
	case "False", "false":
		return &node{op: opConst, kind: boolean, pos: t.pos, integer: true}
	case "and", "or", "not", "in":
		p.fail(t.pos, "%s found where a value was expected", t.text)
	}
	if _, ok := p.accept("("); ok {
		return p.call(t)
	}
	v, ok := p.resolve(t.text)
	if !ok {
		p.fail(t.pos, "unknown parameter %s", t.text)
	}
	n := &node{op: opVar, slot: v.Slot, pos: t.pos, integer: v.Integer, str: t.text}
	if v.Categories != nil {
		n.kind, n.cats = category, v.Categories
	}
	return n
}

func (p *parser) call(t token) *node {
	n := &node{op: opCall, pos: t.pos, integer: true}
	for {
		if _, ok := p.accept(")"); ok {
			break
		}
		k := p.value(p.or())
		n.kids = append(n.kids, k)
		n.integer = n.integer && k.integer
		if _, ok := p.accept(")"); ok {
			break
		}
		if _, ok := p.accept(","); !ok {
			p.fail(p.peek().pos, "%q or \")\" was expected in the call of %s", ",", t.text)
		}
	}
	if t.text == "where" {
		if len(n.kids) != 3 {
			p.fail(t.pos, "where takes 3 arguments, not %d", len(n.kids))
		}
		n.op = opWhere
		return n
	}
	fn, ok := functions[t.text]
	if !ok {
		p.fail(t.pos, "unknown function %s", t.text)
	}
	if fn.args >= 0 && len(n.kids) != fn.args || len(n.kids) == 0 {
		p.fail(t.pos, "wrong number of arguments for %s: %d", t.text, len(n.kids))
	}
	n.fn = fn
	switch t.text {
	case "sqrt", "exp", "log", "log2", "log10":
		n.integer = false
	}
	n.integer = n.integer || fn.whole
	return n
}

// flatten joins nested sums, products, ands and ors into one node. Sums and
// products are joined over whole numbers only, where the order does not
// change the value.
func flatten(n *node) *node {
	kids := n.kids
	n.kids = nil
	minus := n.minus
	n.minus = nil
	for i, k := range kids {
		k = flatten(k)
		neg := minus != nil && minus[i]
		joins := k.op == n.op && (n.op == opAnd || n.op == opOr ||
			(n.op == opSum || n.op == opMul) && n.integer && k.integer)
		if !joins {
			n.kids = append(n.kids, k)
			n.minus = append(n.minus, neg)
			continue
		}
		n.kids = append(n.kids, k.kids...)
		for j := range k.kids {
			n.minus = append(n.minus, neg != (k.minus != nil && k.minus[j]))
		}
	}
	return n
}

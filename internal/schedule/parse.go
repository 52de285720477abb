package schedule

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// SyntaxError says where a text form could not be read. Line and Col count from
// 1, Col in bytes.
type SyntaxError struct {
	Line, Col int
	Msg       string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg) }

// Parse reads the text form (see Schedule.String). What it returns is valid;
// errors are *SyntaxError, also where a directive reads well and means nothing.
func Parse(text string) (Schedule, error) {
	var s Schedule
	var c checker
	for i, line := range strings.Split(text, "\n") {
		p := lineParser{text: line, line: i + 1}
		d, some, err := p.directive()
		if err != nil {
			return Schedule{}, err
		}
		if !some {
			continue
		}
		if err := c.add(d); err != nil {
			p.pos = 0
			p.space()
			return Schedule{}, p.fail("%s of %s: %v", d.Op, d.Func, err)
		}
		s.Directives = append(s.Directives, d)
	}
	return s, nil
}

// lineParser reads one directive from one line.
type lineParser struct {
	text string
	pos  int
	line int
}

func (p *lineParser) fail(format string, args ...any) error {
	return &SyntaxError{Line: p.line, Col: p.pos + 1, Msg: fmt.Sprintf(format, args...)}
}

// space skips blanks and, up to the line's end, a comment.
func (p *lineParser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\r':
			p.pos++
		case '#':
			p.pos = len(p.text)
		default:
			return
		}
	}
}

// peek gives the next byte that is not blank, 0 at the end.
func (p *lineParser) peek() byte {
	p.space()
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *lineParser) accept(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.pos++
	return true
}

func (p *lineParser) expect(c byte) error {
	if p.accept(c) {
		return nil
	}
	return p.fail("expected %q, found %s", c, p.found())
}

// found describes what stands at the position, for messages.
func (p *lineParser) found() string {
	if p.peek() == 0 {
		return "the line's end"
	}
	return strconv.Quote(string([]rune(p.text[p.pos:])[0]))
}

// name reads a bare or quoted name; bare says which it was.
func (p *lineParser) name(what string) (name string, bare bool, err error) {
	if p.peek() == '"' {
		quoted, err := strconv.QuotedPrefix(p.text[p.pos:])
		if err != nil {
			return "", false, p.fail("a quoted name that does not end or has a bad escape")
		}
		name, err := strconv.Unquote(quoted)
		if err != nil || name == "" {
			return "", false, p.fail("expected %s, found an empty or bad quoted name", what)
		}
		p.pos += len(quoted)
		return name, false, nil
	}
	end := p.pos
	for end < len(p.text) && (isNameByte(p.text[end]) || p.text[end] == '.') {
		end++
	}
	name = p.text[p.pos:end]
	if !isBare(name) {
		return "", false, p.fail("expected %s, found %s", what, p.found())
	}
	p.pos = end
	return name, true, nil
}

func (p *lineParser) integer(what string) (int64, error) {
	p.space()
	end := p.pos
	if end < len(p.text) && p.text[end] == '-' {
		end++
	}
	for end < len(p.text) && isDigit(p.text[end]) {
		end++
	}
	n, err := strconv.ParseInt(p.text[p.pos:end], 10, 64)
	if err != nil {
		return 0, p.fail("expected %s, a number, found %s", what, p.found())
	}
	p.pos = end
	return n, nil
}

// directive reads the line; some is false where it holds none.
func (p *lineParser) directive() (d Directive, some bool, err error) {
	if p.peek() == 0 {
		return d, false, nil
	}
	name, method, err := p.path()
	if err != nil {
		return d, false, err
	}
	if p.peek() == '=' {
		if method != "" {
			// A bare name with dots, which path took apart.
			name += "." + method
		}
		p.pos++
		d.As = name
		if name, method, err = p.path(); err != nil {
			return d, false, err
		}
	}
	d.Func = name
	if method == "update" {
		if d.Stage, err = p.updateIndex(); err != nil {
			return d, false, err
		}
		if err := p.expect('.'); err != nil {
			return d, false, err
		}
		at := p.pos
		if method, _, err = p.name("a directive"); err != nil {
			return d, false, err
		}
		if strings.Contains(method, ".") {
			p.pos = at
			return d, false, p.fail("unknown directive %q", method)
		}
	}
	if method == "" {
		return d, false, p.fail("expected a directive after the Func %s, found %s", name, p.found())
	}
	d.Op = Op(method)
	sig, ok := signatures[d.Op]
	if !ok {
		return d, false, p.fail("unknown directive %q", method)
	}
	if err := p.arguments(&d, sig); err != nil {
		return d, false, err
	}
	if p.peek() != 0 {
		return d, false, p.fail("expected the line's end, found %s", p.found())
	}
	return d, true, nil
}

// path reads a Func and, after its last dot, a method: "f.g.split" is split of
// f.g. Method is empty where there is none.
func (p *lineParser) path() (name, method string, err error) {
	name, bare, err := p.name("a Func")
	if err != nil {
		return "", "", err
	}
	if bare {
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
			return name[:dot], name[dot+1:], nil
		}
		return name, "", nil
	}
	if !p.accept('.') {
		return name, "", nil
	}
	method, _, err = p.name("a directive")
	return name, method, err
}

// updateIndex reads "(k)" and gives the stage, k+1.
func (p *lineParser) updateIndex() (int, error) {
	if err := p.expect('('); err != nil {
		return 0, err
	}
	p.space()
	at := p.pos
	k, err := p.integer("an update")
	if err != nil {
		return 0, err
	}
	if k < 0 || k >= math.MaxInt32 {
		p.pos = at
		return 0, p.fail("there is no update %d", k)
	}
	return int(k) + 1, p.expect(')')
}

// arguments reads "(...)" as the signature says.
func (p *lineParser) arguments(d *Directive, sig signature) error {
	if err := p.expect('('); err != nil {
		return err
	}
	first := true
	// more steps over the comma before an argument that is there.
	more := func() bool {
		if p.peek() == ')' {
			return false
		}
		if first {
			first = false
			return true
		}
		return p.accept(',')
	}
	for _, s := range sig.slots {
		if s.kind == loopsSlot || s.kind == dimsSlot || s.kind == funcsSlot {
			list := &d.Vars
			if s.kind == funcsSlot {
				list = &d.Funcs
			}
			for more() {
				name, _, err := p.name(s.what)
				if err != nil {
					return err
				}
				*list = append(*list, name)
			}
			continue
		}
		if s.kind == boxSlot {
			for more() {
				if err := p.span(d, s); err != nil {
					return err
				}
			}
			continue
		}
		if !more() {
			switch {
			case s.kind == flagSlot:
				d.Flag = s.flag
			case s.kind == intSlot && s.def != nil:
				d.Ints = append(d.Ints, *s.def)
			case s.kind == wordSlot && s.word != "":
			default:
				return p.fail("expected %s, found %s", s.what, p.found())
			}
			continue
		}
		if err := p.argument(d, s); err != nil {
			return err
		}
	}
	return p.expect(')')
}

// span reads a dimension of a box, "x, 0, 640" or "x, 0%64, 640", or an input,
// "input[0, 640, 0, 480]".
func (p *lineParser) span(d *Directive, s slot) error {
	name, _, err := p.name(s.what)
	if err != nil {
		return err
	}
	if p.accept('[') {
		in := Input{Name: name}
		for !p.accept(']') {
			if len(in.Box) > 0 {
				if err := p.expect(','); err != nil {
					return err
				}
			}
			n, err := p.integer("where the input lies")
			if err != nil {
				return err
			}
			in.Box = append(in.Box, n)
		}
		d.Inputs = append(d.Inputs, in)
		return nil
	}
	d.Vars = append(d.Vars, name)
	var span Span
	if err := p.expect(','); err != nil {
		return err
	}
	if span.Min, err = p.integer("its min"); err != nil {
		return err
	}
	if p.accept('%') {
		if span.Step, err = p.integer("the step of its min"); err != nil {
			return err
		}
	}
	if err := p.expect(','); err != nil {
		return err
	}
	if span.Extent, err = p.integer("its extent"); err != nil {
		return err
	}
	d.Ints = append(d.Ints, span.Min, span.Step, span.Extent)
	return nil
}

// argument reads one argument that is no bare list.
func (p *lineParser) argument(d *Directive, s slot) error {
	switch s.kind {
	case loopSlot, dimSlot, newSlot, funcSlot:
		name, _, err := p.name(s.what)
		if err != nil {
			return err
		}
		switch s.kind {
		case newSlot:
			d.New = append(d.New, name)
		case funcSlot:
			d.Funcs = append(d.Funcs, name)
		default:
			d.Vars = append(d.Vars, name)
		}
	case groupSlot:
		return p.group(s, &d.Vars)
	case newsSlot:
		return p.group(s, &d.New)
	case levelSlot, stageSlot:
		return p.level(d, s)
	case intSlot:
		n, err := p.integer(s.what)
		if err != nil {
			return err
		}
		d.Ints = append(d.Ints, n)
	case wordSlot:
		word, _, err := p.name(s.what)
		if err != nil {
			return err
		}
		d.Word = word
	case flagSlot:
		word, _, err := p.name(s.what)
		if err != nil {
			return err
		}
		if word != "true" && word != "false" {
			return p.fail("%s is true or false, not %s", s.what, word)
		}
		d.Flag = word == "true"
	}
	return nil
}

// group reads "[a, b]".
func (p *lineParser) group(s slot, list *[]string) error {
	if err := p.expect('['); err != nil {
		return err
	}
	for p.peek() != ']' {
		if len(*list) > 0 {
			if err := p.expect(','); err != nil {
				return err
			}
		}
		name, _, err := p.name(s.what)
		if err != nil {
			return err
		}
		*list = append(*list, name)
	}
	return p.expect(']')
}

// level reads "g, x", "g.pure(), x" or "g.update(1), x".
func (p *lineParser) level(d *Directive, s slot) error {
	fn, bare, err := p.name(s.what)
	if err != nil {
		return err
	}
	at := Level{Func: fn, Stage: AnyStage}
	if s.kind == stageSlot {
		at.Stage = 0
	}
	method := ""
	if bare && p.peek() == '(' {
		dot := strings.LastIndexByte(fn, '.')
		if dot < 0 {
			return p.fail("expected a stage as update(0) or pure() after a Func")
		}
		at.Func, method = fn[:dot], fn[dot+1:]
	} else if !bare && p.accept('.') {
		if method, _, err = p.name("update or pure"); err != nil {
			return err
		}
	}
	switch method {
	case "":
	case "update":
		if at.Stage, err = p.updateIndex(); err != nil {
			return err
		}
	case "pure":
		at.Stage = 0
		if err := p.expect('('); err != nil {
			return err
		}
		if err := p.expect(')'); err != nil {
			return err
		}
	default:
		return p.fail("a level's stage is update(k) or pure(), not %s", method)
	}
	if err := p.expect(','); err != nil {
		return err
	}
	if at.Loop, _, err = p.name("loop"); err != nil {
		return err
	}
	d.At = &at
	return nil
}

package schedule

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// ParseHalide reads a .schedule.h, or only the statements of its function, as
// Adams2019, Mullapudi2016, Li2018 and HalideBody write them, for the pipeline b.
//
// It understands the C++ they use and no more: declarations of Func, Var and RVar,
// get_func, args(), get_schedule().dims() and .rvars(), update(), and chains of
// directives. Halide's shorthands become what they stand for (tile, and
// vectorize, unroll and parallel with a factor, are splits; the loop a shorthand
// makes gets a name of ours). Names need no declaration, since Li2018 and, in
// places, Mullapudi2016 declare none: an unknown one is a Func of b, by its own
// name or as C++ spells it, or a loop of the stage at hand. A compute_at or
// store_at whose loop is only made further down moves to the end.
//
// Errors are *HalideError: syntax, a directive that is not ours, and Funcs,
// stages, loops and dimensions that b does not have. A file for several targets
// (one branch each) is refused.
func ParseHalide(src []byte, b Binding) (Schedule, error) {
	tokens, err := lexHalide(string(src))
	if err != nil {
		return Schedule{}, err
	}
	r := &halideReader{binding: b, nests: newNests(b), tokens: functionBody(tokens), scopes: []map[string]cxxValue{{}}}
	for r.peek().kind != cxxEnd {
		if err := r.statement(0); err != nil {
			return Schedule{}, err
		}
	}
	return r.finish()
}

// HalideAlgorithm gives the hash of the algorithm that a .schedule.h written by
// HalideBody was found for; ok is false where it holds none.
func HalideAlgorithm(src []byte) (hash string, ok bool) {
	tokens, err := lexHalide(string(src))
	if err != nil {
		return "", false
	}
	for i, t := range tokens[:max(len(tokens)-2, 0)] {
		if t.kind == cxxName && t.text == algorithmConstant && tokens[i+1].text == "=" && tokens[i+2].kind == cxxString {
			return tokens[i+2].text, true
		}
	}
	return "", false
}

// SameHalide reports whether s and t are one schedule as far as a .schedule.h tells (see
// HalideBody); neither is where one of them cannot be written.
func (s Schedule) SameHalide(t Schedule, b Binding) bool {
	var read [2]Schedule
	for i, of := range []Schedule{s, t} {
		body, err := of.HalideBody(b, "", "")
		if err != nil {
			return false
		}
		if read[i], err = ParseHalide([]byte(body), b); err != nil {
			return false
		}
	}
	return read[0].Hash() == read[1].Hash()
}

// Decisions gives the decisions that HalideBody, or Annotated, wrote beside a schedule, a
// line each; empty where there are none.
func Decisions(src []byte) string {
	var o strings.Builder
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSpace(line)
		for _, mark := range []string{"// ", "# "} {
			if d, ok := strings.CutPrefix(line, mark+decided); ok {
				o.WriteString(d + "\n")
			}
		}
	}
	return o.String()
}

// functionBody gives the tokens between the braces of apply_schedule_<name>, or
// all of them where there is no such function.
func functionBody(tokens []cxxToken) []cxxToken {
	end := tokens[len(tokens)-1]
	at := slices.IndexFunc(tokens, func(t cxxToken) bool {
		return t.kind == cxxName && strings.HasPrefix(t.text, "apply_schedule_")
	})
	if at < 0 {
		return tokens
	}
	open := slices.IndexFunc(tokens[at:], func(t cxxToken) bool { return t.kind == cxxPunct && t.text == "{" })
	if open < 0 {
		return tokens
	}
	body := tokens[at+open+1:]
	depth := 1
	for i, t := range body {
		if t.kind != cxxPunct {
			continue
		}
		switch t.text {
		case "{":
			depth++
		case "}":
			depth--
		}
		if depth == 0 {
			end.line = t.line
			return append(slices.Clone(body[:i]), end)
		}
	}
	return body
}

// cxxValue is what an expression of a schedule file comes to.
type cxxValue struct {
	kind  valueKind
	name  string     // funcValue; nameValue: Var, RVar, string, enumerator or unknown identifier
	stage int        // funcValue, scheduleValue
	n     int64      // intValue; dimensionValue, minValue, extentValue: which
	list  []cxxValue // listValue
	level Level      // levelValue
	line  int
}

type valueKind uint8

const (
	funcValue      valueKind = iota + 1 // a Func, or a stage of one
	nameValue                           // text that its place gives a meaning
	intValue                            // a number
	listValue                           // {a, b}
	levelValue                          // a LoopLevel
	pipelineValue                       // the function's pipeline
	scheduleValue                       // get_schedule() of a stage
	bufferValue                         // output_buffer() of a Func
	dimensionValue                      // dim(n) of one
	minValue                            // min() of one
	extentValue                         // extent() of one
	nothingValue                        // nothing that could be used further
)

// halideReader interprets the statements and collects directives.
type halideReader struct {
	binding Binding
	nests   *nests
	check   checker
	tokens  []cxxToken
	pos     int
	scopes  []map[string]cxxValue
	out     []Directive
	lines   []int           // of out
	late    []lateDirective // levels whose loop is not there yet, and what must follow them
	made    string          // name for the next Func a directive makes
}

type lateDirective struct {
	d    Directive
	line int
}

func (r *halideReader) peek() cxxToken { return r.tokens[r.pos] }

func (r *halideReader) next() cxxToken {
	t := r.tokens[r.pos]
	if t.kind != cxxEnd {
		r.pos++
	}
	return t
}

func (r *halideReader) is(punct string) bool {
	t := r.peek()
	return t.kind == cxxPunct && t.text == punct
}

func (r *halideReader) accept(punct string) bool {
	if !r.is(punct) {
		return false
	}
	r.pos++
	return true
}

func (r *halideReader) expect(punct string) error {
	if r.accept(punct) {
		return nil
	}
	return halideErrorf(r.peek().line, "expected %q, found %s", punct, r.peek())
}

// maxNesting bounds blocks and expressions, so that no input exhausts the stack.
const maxNesting = 100

func (r *halideReader) statement(depth int) error {
	t := r.peek()
	if depth > maxNesting {
		return halideErrorf(t.line, "blocks nested too deep")
	}
	if r.accept("{") {
		r.scopes = append(r.scopes, map[string]cxxValue{})
		for !r.is("}") {
			if r.peek().kind == cxxEnd {
				return halideErrorf(t.line, "a block that does not end")
			}
			if err := r.statement(depth + 1); err != nil {
				return err
			}
		}
		r.scopes = r.scopes[:len(r.scopes)-1]
		return r.expect("}")
	}
	if r.accept(";") {
		return nil
	}
	if r.is("[") || r.is("(") {
		return r.skip()
	}
	if t.kind != cxxName {
		return halideErrorf(t.line, "expected a statement, found %s", t)
	}
	switch t.text {
	case "if", "else":
		return halideErrorf(t.line, "a schedule with a branch for each target: keep the one that is wanted")
	case "using", "return", "const", "constexpr", "static", "auto":
		return r.skip()
	case "Func", "Var", "RVar":
		r.pos++
		return r.declaration(t.text)
	}
	if r.tokens[r.pos+1].kind == cxxPunct && r.tokens[r.pos+1].text == "=" {
		// Li2018 assigns the Func that rfactor makes to a name it never declares.
		return r.declaration("Func")
	}
	if _, err := r.expression(0); err != nil {
		return err
	}
	// Li2018 leaves out the semicolon after the stage of a Func it made.
	if after := r.peek(); after.kind == cxxName && after.line > r.tokens[r.pos-1].line {
		return nil
	}
	return r.expect(";")
}

// skip steps over a statement that schedules nothing.
func (r *halideReader) skip() error {
	depth := 0
	for line := r.peek().line; ; {
		switch t := r.next(); {
		case t.kind == cxxEnd:
			return halideErrorf(line, "a statement that does not end")
		case t.kind != cxxPunct:
		case t.text == "{":
			depth++
		case t.text == "}":
			depth--
		case t.text == ";" && depth <= 0:
			return nil
		}
	}
}

// declaration reads the names after Func, Var or RVar, each with "(value)",
// "= value" or nothing.
func (r *halideReader) declaration(class string) error {
	for {
		t := r.next()
		if t.kind != cxxName {
			return halideErrorf(t.line, "expected a name after %s, found %s", class, t)
		}
		v := cxxValue{kind: nameValue, name: t.text, line: t.line}
		closing := ""
		if r.accept("(") {
			closing = ")"
		} else if !r.accept("=") {
			closing = "none"
		}
		if closing != "none" {
			if class == "Func" {
				r.made = t.text
			}
			var err error
			if v, err = r.expression(0); err != nil {
				return err
			}
			r.made = ""
			if closing != "" {
				if err := r.expect(closing); err != nil {
					return err
				}
			}
		}
		switch {
		case class == "Func" && v.kind != funcValue:
			return halideErrorf(t.line, "%s is no Func of the pipeline", t.text)
		case class != "Func" && v.kind != nameValue:
			return halideErrorf(t.line, "%s is no loop", t.text)
		}
		r.scopes[len(r.scopes)-1][t.text] = v
		if !r.accept(",") {
			return r.expect(";")
		}
	}
}

// expression reads a primary with its calls, indices and members.
func (r *halideReader) expression(depth int) (cxxValue, error) {
	if depth > maxNesting {
		return cxxValue{}, halideErrorf(r.peek().line, "an expression nested too deep")
	}
	v, err := r.primary(depth)
	if err != nil {
		return v, err
	}
	for r.accept(".") {
		t := r.next()
		if t.kind != cxxName {
			return v, halideErrorf(t.line, "expected a name after a dot, found %s", t)
		}
		if t.text == string(Specialize) {
			if v, err = r.specialize(v, t, depth); err != nil {
				return v, err
			}
			continue
		}
		var args []cxxValue
		if r.is("(") {
			if args, err = r.list("(", ")", depth); err != nil {
				return v, err
			}
		} else {
			return v, halideErrorf(t.line, "no member %s is known here", t.text)
		}
		if v, err = r.method(v, t, args); err != nil {
			return v, err
		}
	}
	return v, nil
}

func (r *halideReader) primary(depth int) (cxxValue, error) {
	t := r.peek()
	switch {
	case r.is("{"):
		list, err := r.list("{", "}", depth)
		return cxxValue{kind: listValue, list: list, line: t.line}, err
	case r.accept("-"):
		v, err := r.number()
		v.n = -v.n
		return v, err
	case t.kind == cxxNumber:
		return r.number()
	case t.kind == cxxString:
		r.pos++
		return cxxValue{kind: nameValue, name: t.text, line: t.line}, nil
	case t.kind != cxxName:
		return cxxValue{}, halideErrorf(t.line, "expected a value, found %s", t)
	}
	r.pos++
	if r.is("(") {
		args, err := r.list("(", ")", depth)
		if err != nil {
			return cxxValue{}, err
		}
		return r.construct(t, args)
	}
	for _, scope := range slices.Backward(r.scopes) {
		if v, ok := scope[t.text]; ok {
			v.line = t.line
			return v, nil
		}
	}
	if t.text == "pipeline" {
		return cxxValue{kind: pipelineValue, line: t.line}, nil
	}
	return cxxValue{kind: nameValue, name: t.text, line: t.line}, nil
}

func (r *halideReader) number() (cxxValue, error) {
	t := r.next()
	n, err := strconv.ParseInt(t.text, 10, 64)
	if t.kind != cxxNumber || err != nil || n > math.MaxInt32 {
		return cxxValue{}, halideErrorf(t.line, "expected a whole number below 2^31, found %s", t)
	}
	return cxxValue{kind: intValue, n: n, line: t.line}, nil
}

// list reads values between brackets.
func (r *halideReader) list(open, closing string, depth int) ([]cxxValue, error) {
	if err := r.expect(open); err != nil {
		return nil, err
	}
	var out []cxxValue
	for !r.is(closing) {
		if len(out) > 0 {
			if err := r.expect(","); err != nil {
				return nil, err
			}
		}
		v, err := r.expression(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, r.expect(closing)
}

// construct reads Var("x"), RVar("x"), LoopLevel(f, x, k) and Var::outermost().
func (r *halideReader) construct(t cxxToken, args []cxxValue) (cxxValue, error) {
	switch {
	case t.text == "Var::outermost" && len(args) == 0:
		return cxxValue{kind: nameValue, name: Outermost, line: t.line}, nil
	case (t.text == "Var" || t.text == "RVar") && len(args) == 1 && args[0].kind == nameValue:
		return args[0], nil
	case t.text == "LoopLevel" && (len(args) == 2 || len(args) == 3):
		fn, err := r.asFunc(args[0])
		if err != nil {
			return cxxValue{}, err
		}
		at := Level{Func: fn.name, Stage: AnyStage}
		if at.Loop, err = asName(args[1]); err != nil {
			return cxxValue{}, err
		}
		if len(args) == 3 {
			if args[2].kind != intValue {
				return cxxValue{}, halideErrorf(t.line, "a LoopLevel's stage is a number")
			}
			at.Stage = int(args[2].n)
		}
		return cxxValue{kind: levelValue, level: at, line: t.line}, nil
	}
	return cxxValue{}, halideErrorf(t.line, "%s with %d arguments is not known here", t.text, len(args))
}

// specialize reads the one condition known here: that an output's dimensions have
// certain mins, or remainders of them, and extents.
func (r *halideReader) specialize(v cxxValue, t cxxToken, depth int) (cxxValue, error) {
	f, err := r.asFunc(v)
	if err != nil {
		return v, err
	}
	unknown := halideErrorf(t.line, "specialize is known here where a Func's output_buffer().dim(k).min() and .extent() are compared with numbers")
	if err := r.expect("("); err != nil {
		return v, err
	}
	dims := r.nests.funcs[f.name].dims
	spans := map[valueKind]map[string]int64{minValue: {}, extentValue: {}}
	steps := map[string]int64{}
	d := Directive{Op: Specialize, Func: f.name, Stage: f.stage}
	for {
		if t := r.peek(); t.kind == cxxName && t.text == inputFunction {
			in, err := r.input()
			if err != nil {
				return v, err
			}
			d.Inputs = append(d.Inputs, in)
		} else {
			end, step, number, err := r.comparison(f, depth, unknown)
			if err != nil {
				return v, err
			}
			name := dims[end.n]
			spans[end.kind][name] = number
			if step != 0 {
				steps[name] = step
			}
			if !slices.Contains(d.Vars, name) {
				d.Vars = append(d.Vars, name)
			}
		}
		if !r.accept("&") {
			break
		}
		if err := r.expect("&"); err != nil {
			return v, err
		}
	}
	for _, name := range d.Vars {
		low, some := spans[minValue][name]
		extent, both := spans[extentValue][name]
		if !some || !both {
			return v, unknown
		}
		d.Ints = append(d.Ints, low, steps[name], extent)
	}
	if err := r.expect(")"); err != nil {
		return v, err
	}
	// What Halide returns is the new version, of which directives say nothing.
	return cxxValue{kind: nothingValue, line: t.line}, r.add(t.line, d)
}

// comparison reads which end of f's dimensions is compared, min or extent, the step where it is
// the min's remainder, else 0, and the number. It fails with unknown on anything else.
func (r *halideReader) comparison(f cxxValue, depth int, unknown error) (end cxxValue, step, number int64, err error) {
	if end, err = r.expression(depth + 1); err != nil {
		return end, 0, 0, err
	}
	if end.kind != minValue && end.kind != extentValue || end.name != f.name || end.n < 0 || end.n >= int64(len(r.nests.funcs[f.name].dims)) {
		return end, 0, 0, unknown
	}
	integer := func() (int64, error) {
		v, err := r.expression(depth + 1)
		if err == nil && v.kind != intValue {
			err = unknown
		}
		return v.n, err
	}
	if end.kind == minValue && r.accept("%") {
		if step, err = integer(); err != nil {
			return end, 0, 0, err
		}
	}
	for range len("==") {
		if !r.accept("=") {
			return end, 0, 0, unknown
		}
	}
	number, err = integer()
	return end, step, number, err
}

// input reads where HalideBody says that an input lies.
func (r *halideReader) input() (Input, error) {
	t := r.next()
	if err := r.expect("("); err != nil {
		return Input{}, err
	}
	name := r.next()
	if name.kind != cxxString {
		return Input{}, halideErrorf(t.line, "expected the name of an input, found %s", name)
	}
	if err := r.expect(","); err != nil {
		return Input{}, err
	}
	box, err := r.expression(0)
	if err != nil {
		return Input{}, err
	}
	in := Input{Name: name.text}
	for _, n := range box.list {
		if n.kind != intValue {
			return in, halideErrorf(t.line, "where the input %s lies is no list of numbers", in.Name)
		}
		in.Box = append(in.Box, n.n)
	}
	return in, r.expect(")")
}

// finish plays the directives that waited for a loop and checks the whole.
func (r *halideReader) finish() (Schedule, error) {
	for _, l := range r.late {
		r.out = append(r.out, l.d)
		r.lines = append(r.lines, l.line)
	}
	s := Schedule{Directives: r.out}
	// A loop that was there may be gone: fused, split or renamed.
	for i, d := range s.Directives {
		if d.At == nil {
			continue
		}
		if _, err := r.nests.level(*d.At); err != nil {
			return Schedule{}, halideErrorf(r.lines[i], "%s of %s: %v", d.Op, d.Func, err)
		}
	}
	return s, nil
}

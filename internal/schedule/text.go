package schedule

import (
	"strconv"
	"strings"
)

// String gives the text form: one directive a line, each ended by a newline,
// close to Halide's C++:
//
//	intm = hist.update(0).rfactor([r$y], [u])
//	wrap = f.in(g, h)
//	harris.split(y, yo, yi, 32, guard_with_if)
//	f.update(0).vectorize(x)
//	f.compute_at(g, yo)            # whichever stage of g has a loop yo
//	f.compute_at(g.pure(), yo)     # the pure definition's
//	f.compute_at(g.update(1), yo)
//	f.compute_with(g, yo)          # compute_with always means one stage: the pure one here
//	out.specialize(x, 0, 640, y, 0%64, 480, in[0, 642, 0, 482]) # where out is asked for x from 0 on 640 points, y from a multiple of 64 on, ...
//
// A name is bare when it is made of letters, digits, _, $ and inner dots and
// does not start with a digit; any other is quoted as Go quotes strings. Blank
// lines and what follows # are nothing. Parse reads it back to an equal Schedule.
func (s Schedule) String() string {
	var b strings.Builder
	for _, d := range s.Directives {
		d.print(&b)
		b.WriteByte('\n')
	}
	return b.String()
}

// Annotated is String with what was decided, a line each, as comments.
func (s Schedule) Annotated(decisions string) string { return s.String() + commented("#", decisions) }

// String gives the text form of one directive, without a newline.
func (d Directive) String() string {
	var b strings.Builder
	d.print(&b)
	return b.String()
}

func (d Directive) print(b *strings.Builder) {
	if d.As != "" {
		b.WriteString(quoteName(d.As) + " = ")
	}
	b.WriteString(quoteName(d.Func))
	if d.Stage != 0 {
		b.WriteString(".update(" + strconv.Itoa(d.Stage-1) + ")")
	}
	b.WriteString("." + string(d.Op) + "(" + strings.Join(d.arguments(), ", ") + ")")
}

// arguments gives the text of each argument. Fields that are missing are left
// out, so that an invalid directive can be shown in an error.
func (d Directive) arguments() []string {
	var args []string
	names := func(list *[]string, most int) []string {
		n := min(most, len(*list))
		out := make([]string, n)
		for i, name := range (*list)[:n] {
			out[i] = quoteName(name)
		}
		*list = (*list)[n:]
		return out
	}
	const all = int(^uint(0) >> 1)
	for _, s := range signatures[d.Op].slots {
		switch s.kind {
		case loopSlot, dimSlot:
			args = append(args, names(&d.Vars, 1)...)
		case loopsSlot, dimsSlot:
			args = append(args, names(&d.Vars, all)...)
		case boxSlot:
			for i, name := range names(&d.Vars, all) {
				args = append(args, name)
				if span, ok := d.span(i); ok {
					args = append(args, span.begin(), strconv.FormatInt(span.Extent, 10))
				}
			}
			for _, in := range d.Inputs {
				args = append(args, quoteName(in.Name)+"["+integers(in.Box)+"]")
			}
		case groupSlot:
			args = append(args, "["+strings.Join(names(&d.Vars, all), ", ")+"]")
		case newSlot:
			args = append(args, names(&d.New, 1)...)
		case newsSlot:
			args = append(args, "["+strings.Join(names(&d.New, all), ", ")+"]")
		case funcSlot:
			args = append(args, names(&d.Funcs, 1)...)
		case funcsSlot:
			args = append(args, names(&d.Funcs, all)...)
		case levelSlot, stageSlot:
			if d.At != nil {
				args = append(args, d.At.stageText(s.kind == stageSlot), quoteName(d.At.Loop))
			}
		case intSlot:
			if len(d.Ints) > 0 {
				args = append(args, strconv.FormatInt(d.Ints[0], 10))
				d.Ints = d.Ints[1:]
			}
		case wordSlot:
			if d.Word != "" {
				args = append(args, d.Word)
			}
		case flagSlot:
			if d.Flag != s.flag {
				args = append(args, strconv.FormatBool(d.Flag))
			}
		}
	}
	return args
}

// begin writes where s begins, "0" or "0%64".
func (s Span) begin() string {
	text := strconv.FormatInt(s.Min, 10)
	if s.Step != 0 {
		text += "%" + strconv.FormatInt(s.Step, 10)
	}
	return text
}

// integers lists numbers, "0, 640".
func integers(ns []int64) string {
	out := make([]string, len(ns))
	for i, n := range ns {
		out[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(out, ", ")
}

// stageText writes the Func and stage of a level; bareIsPure says that a bare
// Func means its pure definition and not any of its stages.
func (l Level) stageText(bareIsPure bool) string {
	switch {
	case l.Stage > 0:
		return quoteName(l.Func) + ".update(" + strconv.Itoa(l.Stage-1) + ")"
	case l.Stage == 0 && !bareIsPure:
		return quoteName(l.Func) + ".pure()"
	}
	return quoteName(l.Func)
}

func quoteName(name string) string {
	if isBare(name) {
		return name
	}
	return strconv.Quote(name)
}

// isBare reports whether a name can stand unquoted: parts of letters, digits, _
// and $, joined by single dots, the first part not starting with a digit.
func isBare(name string) bool {
	if name == "" || isDigit(name[0]) {
		return false
	}
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case isNameByte(c):
		case c == '.' && i > 0 && i+1 < len(name) && name[i+1] != '.':
		default:
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isNameByte reports whether c can stand inside a bare name, dots apart.
func isNameByte(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
}

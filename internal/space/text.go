package space

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FormatTrace writes decisions as text, one a line, for people, files and tests:
//
//	blur_x inline
//	gray compute harris [1536,1] store harris [1536,32] vector x
//	lut compute root vector none
//	harris tasks [1536,128]
//	harris tasks serial
//	gray block y 2
//	rows slice c
//	grid scalar
//	convolved lanes 16
//	convolved dot 2
//	filtered terms 9
//	harris sized
//
// A place is a stage, as the description names it, and what one iteration of the
// loop covers of the stage's loops, innermost first; store is left out where it
// is the same. Names with blanks are quoted as in Go.
func (sp *Space) FormatTrace(trace []Decision) string {
	var b strings.Builder
	for _, d := range trace {
		b.WriteString(sp.FormatDecision(d))
		b.WriteByte('\n')
	}
	return b.String()
}

// FormatDecision writes one decision as FormatTrace does, without a newline.
func (sp *Space) FormatDecision(d Decision) string {
	n := &sp.nodes[d.Func]
	head := word(n.Name) + " " + d.Kind.String()
	switch d.Kind {
	case Compute:
		head += " " + sp.formatPlace(d.Compute)
		if !d.Store.Equal(d.Compute) {
			head += " store " + sp.formatPlace(d.Store)
		}
		if d.Vector < 0 {
			return head + " vector none"
		}
		return head + " vector " + word(n.Args[d.Vector])
	case Tasks:
		if d.Task == nil {
			return head + " serial"
		}
		return head + " " + formatTile(d.Task)
	case Block:
		return fmt.Sprintf("%s %s %d", head, word(n.Args[d.Dim]), d.Factor)
	case Slice:
		return head + " " + word(n.Args[d.Dim])
	case Lanes, Dot, Across, Terms:
		return fmt.Sprintf("%s %d", head, d.Factor)
	}
	return head
}

func (sp *Space) formatPlace(p Place) string {
	if p.Func < 0 {
		return "root"
	}
	return word(sp.nodes[p.Func].Stages[p.Stage].Name) + " " + formatTile(p.Tile)
}

func formatTile(t []int64) string {
	s := make([]string, len(t))
	for i, v := range t {
		s[i] = strconv.FormatInt(v, 10)
	}
	return "[" + strings.Join(s, ",") + "]"
}

func word(name string) string {
	if name == "" || strings.ContainsAny(name, " \t\r\n\"\\#") || name[0] == '[' || name == "root" || name == "none" {
		return strconv.Quote(name)
	}
	return name
}

// ParseTrace reads what FormatTrace writes; blank lines and lines that start with
// # are skipped. Errors name the line.
func (sp *Space) ParseTrace(text string) ([]Decision, error) {
	var out []Decision
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		d, err := sp.parseDecision(line)
		if err != nil {
			return nil, fmt.Errorf("space: line %d: %q: %w", i+1, line, err)
		}
		out = append(out, d)
	}
	return out, nil
}

func (sp *Space) parseDecision(line string) (Decision, error) {
	words, err := splitWords(line)
	if err != nil {
		return Decision{}, err
	}
	r := &wordReader{words: words}
	d := Decision{Vector: -1}
	name := r.next()
	if d.Func = slices.IndexFunc(sp.nodes, func(n node) bool { return n.Name == name && !n.given }); d.Func < 0 {
		return d, fmt.Errorf("there is no Func %q to schedule", name)
	}
	switch verb := r.next(); verb {
	case "inline":
		d.Kind = Inline
	case "compute":
		d.Kind = Compute
		if err := sp.parseCompute(r, &d); err != nil {
			return d, err
		}
	case "tasks":
		d.Kind = Tasks
		if r.peek() == "serial" {
			r.next()
		} else if d.Task, err = parseTile(r.next(), len(sp.nodes[d.Func].Stages[0].Loops)); err != nil {
			return d, err
		}
	case "block":
		d.Kind = Block
		if err := sp.parseBlock(r, &d); err != nil {
			return d, err
		}
	case "slice":
		d.Kind = Slice
		if d.Dim, err = sp.parseDim(r, d.Func); err != nil {
			return d, err
		}
	case "scalar":
		d.Kind = Scalar
	case "lanes":
		d.Kind = Lanes
		if d.Factor, err = parseFactor(r, "number of lanes"); err != nil {
			return d, err
		}
	case "dot":
		d.Kind = Dot
		if d.Factor, err = parseFactor(r, "number of iterations to add up"); err != nil {
			return d, err
		}
	case "across":
		d.Kind = Across
		if d.Factor, err = parseFactor(r, "number of iterations to a vector"); err != nil {
			return d, err
		}
	case "interchange":
		d.Kind = Interchange
	case "terms":
		d.Kind = Terms
		if d.Factor, err = parseFactor(r, "number of iterations to unroll"); err != nil {
			return d, err
		}
	case "sized":
		d.Kind = Sized
	default:
		return d, fmt.Errorf("%q is none of inline, compute, tasks, block, slice, scalar, lanes, dot, across, interchange, terms, sized", verb)
	}
	if r.peek() != "" {
		return d, fmt.Errorf("%q is too much", r.peek())
	}
	return d, nil
}

func (sp *Space) parseCompute(r *wordReader, d *Decision) error {
	var err error
	if d.Compute, err = sp.parsePlace(r); err != nil {
		return err
	}
	d.Store = d.Compute
	if r.peek() == "store" {
		r.next()
		if d.Store, err = sp.parsePlace(r); err != nil {
			return err
		}
	}
	if r.next() != "vector" {
		return fmt.Errorf("no vector dimension: say vector and its name, or none")
	}
	if r.peek() == "none" && !r.quoted() {
		r.next()
		return nil
	}
	d.Vector, err = sp.parseDim(r, d.Func)
	return err
}

func (sp *Space) parseDim(r *wordReader, f int) (int, error) {
	n := &sp.nodes[f]
	name := r.next()
	dim := slices.Index(n.Args, name)
	if dim < 0 {
		return 0, fmt.Errorf("%s has no dimension %q", n.Name, name)
	}
	return dim, nil
}

func (sp *Space) parseBlock(r *wordReader, d *Decision) error {
	var err error
	if d.Dim, err = sp.parseDim(r, d.Func); err != nil {
		return err
	}
	d.Factor, err = parseFactor(r, "number of iterations to unroll")
	return err
}

func parseFactor(r *wordReader, what string) (int64, error) {
	word := r.next()
	n, err := strconv.ParseInt(word, 10, 32)
	if err != nil || n < 2 {
		return 0, fmt.Errorf("%q is no %s: at least 2", word, what)
	}
	return n, nil
}

func (sp *Space) parsePlace(r *wordReader) (Place, error) {
	if r.peek() == "root" && !r.quoted() {
		r.next()
		return Root, nil
	}
	name := r.next()
	for i := range sp.stages {
		st := &sp.stages[i]
		if st.Name == name {
			tile, err := parseTile(r.next(), len(st.Loops))
			return Place{Func: st.fn, Stage: st.idx, Tile: tile}, err
		}
	}
	return Root, fmt.Errorf("there is no stage %q", name)
}

func parseTile(s string, loops int) ([]int64, error) {
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' {
		return nil, fmt.Errorf("%q is no tile: say [a,b,...] without blanks", s)
	}
	out := []int64{}
	if s != "[]" {
		for _, v := range strings.Split(s[1:len(s)-1], ",") {
			n, err := strconv.ParseInt(v, 10, 32)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("%q is no tile size", v)
			}
			out = append(out, n)
		}
	}
	if len(out) != loops {
		return nil, fmt.Errorf("the tile %s has %d sizes for %d loops", s, len(out), loops)
	}
	return out, nil
}

// wordReader hands out the words of a line; "" at its end.
type wordReader struct {
	words []lineWord
	at    int
}

type lineWord struct {
	text   string
	quoted bool
}

func (r *wordReader) peek() string {
	if r.at == len(r.words) {
		return ""
	}
	return r.words[r.at].text
}

func (r *wordReader) quoted() bool { return r.at < len(r.words) && r.words[r.at].quoted }

func (r *wordReader) next() string {
	w := r.peek()
	r.at = min(r.at+1, len(r.words))
	return w
}

func splitWords(line string) ([]lineWord, error) {
	var out []lineWord
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] == '"' {
			q, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("a quote that does not end: %s", line)
			}
			text, err := strconv.Unquote(q)
			if err != nil {
				return nil, err
			}
			out = append(out, lineWord{text, true})
			line = line[len(q):]
			continue
		}
		end := strings.IndexAny(line, " \t")
		if end < 0 {
			end = len(line)
		}
		out = append(out, lineWord{line[:end], false})
		line = line[end:]
	}
	return out, nil
}

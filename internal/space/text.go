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
	}
	if d.Kind.about().dim {
		head += " " + word(n.Args[d.Dim])
	}
	if d.Kind.about().factor != "" {
		head += fmt.Sprintf(" %d", d.Factor)
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
	if d.Func, err = sp.scheduledFunc(r.next()); err != nil {
		return d, err
	}
	verb := r.next()
	kind := slices.IndexFunc(kinds[:], func(k about) bool { return k.name == verb })
	if kind < int(Inline) {
		var names []string
		for _, k := range kinds[Inline:] {
			names = append(names, k.name)
		}
		return d, fmt.Errorf("%q is none of %s", verb, strings.Join(names, ", "))
	}
	d.Kind = Kind(kind)
	switch d.Kind {
	case Compute:
		err = sp.parseCompute(r, &d)
	case Tasks:
		if r.peek() == "serial" {
			r.next()
		} else {
			d.Task, err = parseTile(r.next(), len(sp.nodes[d.Func].Stages[0].Loops))
		}
	}
	if err == nil && kinds[kind].dim {
		d.Dim, err = sp.parseDim(r, d.Func)
	}
	if what := kinds[kind].factor; err == nil && what != "" {
		d.Factor, err = parseFactor(r, what)
	}
	if err == nil && r.peek() != "" {
		err = fmt.Errorf("%q is too much", r.peek())
	}
	return d, err
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

package space

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// written is one level of a loop nest as text has it. Its children are in order
// of execution.
type written struct {
	fn, stage  int
	size       []int64
	constant   []bool
	vectorLoop int // the loop marked v, -1 for none
	vectorDim  int // -2 where the text does not say
	innermost  bool
	parallel   bool
	stored     []int
	inlined    []Inlined
	children   []*written
	parent     *written
	open       *openSizes // instead of sizes, where they are not known; see there
}

// parseNest reads a loop nest as State.String writes it and as Halide's Adams2019
// does: that one names Funcs where there are stages, and gives the vectorised loop
// and dimension in parentheses. Lines before the first realize line are skipped.
func (sp *Space) parseNest(text string) (*written, error) {
	root := &written{fn: -1, stage: -1, vectorLoop: -1, vectorDim: -2}
	type open struct {
		indent int
		level  *written
	}
	stack := []open{{-1, root}}
	started := false
	for i, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if !started {
			started = len(words) > 0 && (words[0] == "realize:" || words[0] == "inlined:")
		}
		if !started || len(words) == 0 {
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		for stack[len(stack)-1].indent >= indent {
			stack = stack[:len(stack)-1]
		}
		in := stack[len(stack)-1].level
		made, err := sp.parseLevel(in, words)
		if err != nil {
			return nil, fmt.Errorf("space: line %d of a loop nest: %q: %w", i+1, strings.TrimSpace(line), err)
		}
		if made != nil {
			stack = append(stack, open{indent, made})
		}
	}
	if !started {
		return nil, errors.New("space: no loop nest: no line begins with \"realize:\"")
	}
	return root, nil
}

// parseLevel adds to level in what one line says, and returns the level it opens,
// if it does.
func (sp *Space) parseLevel(in *written, words []string) (*written, error) {
	switch words[0] {
	case "realize:":
		if len(words) != 2 {
			return nil, errors.New("want realize: and a Func")
		}
		f, err := sp.scheduledFunc(words[1])
		in.stored = append(in.stored, f)
		return nil, err
	case "inlined:":
		if len(words) != 3 {
			return nil, errors.New("want inlined:, a Func and a number of calls")
		}
		f, err := sp.scheduledFunc(words[1])
		if err != nil {
			return nil, err
		}
		calls, err := strconv.ParseInt(words[2], 10, 64)
		in.inlined = append(in.inlined, Inlined{Func: f, Calls: calls})
		return nil, err
	}
	l := &written{vectorLoop: -1, vectorDim: -2, parent: in}
	if err := sp.nameLevel(l, words[0]); err != nil {
		return nil, err
	}
	loops := len(sp.stages[sp.nodes[l.fn].first+l.stage].Loops)
	if len(words) < 1+loops {
		return nil, fmt.Errorf("%d loops are missing", 1+loops-len(words))
	}
	for i, w := range words[1 : 1+loops] {
		digits := strings.TrimRight(w, "vc")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no size of a loop", w)
		}
		l.size = append(l.size, n)
		l.constant = append(l.constant, strings.Contains(w[len(digits):], "c"))
		if strings.Contains(w[len(digits):], "v") {
			l.vectorLoop = i
		}
	}
	for rest := words[1+loops:]; len(rest) > 0; rest = rest[1:] {
		switch w := rest[0]; {
		case w == "t": // follows from how the nest came about
		case w == "*":
			l.innermost = true
		case w == "p":
			l.parallel = true
		case w[0] == '(' && len(rest) > 1 && strings.HasSuffix(rest[1], ")"):
			d, err := strconv.Atoi(strings.TrimSuffix(rest[1], ")"))
			if err != nil || d < -1 || d >= max(1, sp.nodes[l.fn].dims) {
				return nil, fmt.Errorf("%q is no dimension of %s", rest[1], sp.nodes[l.fn].Name)
			}
			l.vectorDim = d
			rest = rest[1:]
		default:
			return nil, fmt.Errorf("%q is none of t, p, *", w)
		}
	}
	in.children = append(in.children, l)
	return l, nil
}

func (sp *Space) scheduledFunc(name string) (int, error) {
	f := sp.funcNamed(name)
	if f < 0 || sp.nodes[f].given {
		return -1, fmt.Errorf("there is no Func %q to schedule", name)
	}
	return f, nil
}

// nameLevel finds the stage of a level. A Func's name alone stands for the stage
// of the loops around, or for the Func's next stage at that place.
func (sp *Space) nameLevel(l *written, name string) error {
	in := l.parent
	for i := range sp.stages {
		if st := &sp.stages[i]; st.idx > 0 && st.Name == name {
			l.fn, l.stage = st.fn, st.idx
			return nil
		}
	}
	f, err := sp.scheduledFunc(name)
	if err != nil {
		return err
	}
	l.fn = f
	if in.fn == f {
		l.stage = in.stage
		return nil
	}
	for _, c := range in.children {
		if c.fn == f {
			l.stage++
		}
	}
	if l.stage >= len(sp.nodes[f].Stages) {
		return fmt.Errorf("%s has %d stages only", name, len(sp.nodes[f].Stages))
	}
	return nil
}

// chain lists the levels of the same stage from l inwards, which must be its
// outermost.
func (l *written) chain() []*written {
	out := []*written{l}
	for i := 0; i < len(out); i++ {
		for _, c := range out[i].children {
			if c.fn == l.fn && c.stage == l.stage {
				out = append(out, c)
				break
			}
		}
	}
	return out
}

func (l *written) stores(f int) bool { return slices.Contains(l.stored, f) }

// holds reports whether a Func below limit is stored or computed in l's own body.
func (l *written) holds(limit int) bool {
	for _, f := range l.stored {
		if f < limit {
			return true
		}
	}
	for _, c := range l.children {
		if c.fn < limit && c.fn != l.fn {
			return true
		}
	}
	return false
}

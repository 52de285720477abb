package schedule

import (
	"slices"
	"strings"
	"unicode"
)

// asFunc gives the Func or stage a value means: one declared, or an undeclared
// name of the pipeline, as it is or as C++ spells it.
func (r *halideReader) asFunc(v cxxValue) (cxxValue, error) {
	switch v.kind {
	case funcValue:
		return v, nil
	case nameValue:
		if _, ok := r.nests.funcs[v.name]; ok {
			return cxxValue{kind: funcValue, name: v.name, line: v.line}, nil
		}
		found := ""
		for _, f := range r.binding.Funcs {
			if identifier(f.Name) != v.name {
				continue
			}
			if found != "" {
				return v, halideErrorf(v.line, "%s could be the Func %s or %s", v.name, found, f.Name)
			}
			found = f.Name
		}
		if found != "" {
			return cxxValue{kind: funcValue, name: found, line: v.line}, nil
		}
		return v, halideErrorf(v.line, "no Func %s in this pipeline", v.name)
	}
	return v, halideErrorf(v.line, "expected a Func")
}

func asName(v cxxValue) (string, error) {
	if v.kind != nameValue {
		return "", halideErrorf(v.line, "expected the name of a loop or dimension")
	}
	return v.name, nil
}

// names reads loops given one by one or as one list.
func names(args []cxxValue) ([]string, error) {
	if len(args) == 1 && args[0].kind == listValue {
		args = args[0].list
	}
	var out []string
	for _, a := range args {
		n, err := asName(a)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// asWord turns an enumerator into our word: TailStrategy::RoundUp, and Li2018's
// bare RoundUp, into round_up.
func asWord(v cxxValue) (string, error) {
	if v.kind != nameValue {
		return "", halideErrorf(v.line, "expected a strategy or memory type")
	}
	text := v.name[strings.LastIndexByte(v.name, ':')+1:]
	var b strings.Builder
	for i, c := range text {
		if unicode.IsUpper(c) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String(), nil
}

// ofBuffer are the methods of an output's buffer and its dimensions.
var ofBuffer = map[string]struct {
	of, is valueKind
	args   int
}{
	"dim":    {bufferValue, dimensionValue, 1},
	"min":    {dimensionValue, minValue, 0},
	"extent": {dimensionValue, extentValue, 0},
}

// method applies ".name(args)" to a value.
func (r *halideReader) method(v cxxValue, t cxxToken, args []cxxValue) (cxxValue, error) {
	if v.kind == pipelineValue {
		if t.text != "get_func" || len(args) != 1 || args[0].kind != intValue {
			return v, halideErrorf(t.line, "pipeline.%s is not known here", t.text)
		}
		if n := args[0].n; n < 0 || n >= int64(len(r.binding.Funcs)) {
			return v, halideErrorf(t.line, "get_func(%d): this pipeline has %d Funcs", n, len(r.binding.Funcs))
		}
		return cxxValue{kind: funcValue, name: r.binding.Funcs[args[0].n].Name, line: t.line}, nil
	}
	if v.kind == scheduleValue {
		return r.position(v, t)
	}
	if kind, ok := ofBuffer[t.text]; ok && kind.of == v.kind && len(args) == kind.args {
		v.kind = kind.is
		if len(args) == 1 {
			if args[0].kind != intValue {
				return v, halideErrorf(t.line, "%s takes a number", t.text)
			}
			v.n = args[0].n
		}
		return v, nil
	}
	f, err := r.asFunc(v)
	if err != nil {
		return v, err
	}
	switch t.text {
	case "output_buffer":
		f.kind = bufferValue
		return f, nil
	case "update":
		return r.update(f, t, args)
	case "args":
		return r.position(f, t)
	case "get_schedule":
		f.kind = scheduleValue
		return f, nil
	case "unscheduled":
		return f, nil
	}
	return r.directive(f, t, args)
}

func (r *halideReader) update(f cxxValue, t cxxToken, args []cxxValue) (cxxValue, error) {
	k := int64(0)
	if len(args) == 1 && args[0].kind == intValue {
		k = args[0].n
	} else if len(args) > 0 {
		return f, halideErrorf(t.line, "update takes a number")
	}
	n := int64(len(r.nests.funcs[f.name].stages)) - 1
	if f.stage != 0 || k < 0 || k >= n {
		return f, halideErrorf(t.line, "the Func %s has no update %d, it has %d", f.name, k, n)
	}
	f.stage = int(k) + 1
	return f, nil
}

// position reads args()[i], dims()[i].var and rvars()[i].var: loops of the stage
// as the algorithm leaves it.
func (r *halideReader) position(v cxxValue, t cxxToken) (cxxValue, error) {
	i := slices.IndexFunc(r.binding.Funcs, func(f FuncBinding) bool { return f.Name == v.name })
	if i < 0 || v.stage >= len(r.binding.Funcs[i].Stages) {
		return v, halideErrorf(t.line, "%s is made by this schedule: its loops go by name", v.name)
	}
	f := r.binding.Funcs[i]
	var loops []string
	switch t.text {
	case "args":
		loops = f.Dims
	case "dims":
		loops = f.Stages[v.stage]
	case "rvars":
		for _, l := range initialLoops(f.Dims, v.stage, f.Stages[v.stage]) {
			if l.Reduction {
				loops = append(loops, l.Name)
			}
		}
	default:
		return v, halideErrorf(t.line, "get_schedule().%s is not known here", t.text)
	}
	if err := r.expect("["); err != nil {
		return v, err
	}
	k, err := r.number()
	if err != nil {
		return v, err
	}
	if err := r.expect("]"); err != nil {
		return v, err
	}
	if k.n >= int64(len(loops)) {
		return v, halideErrorf(t.line, "%s()[%d] of %s: there are %d", t.text, k.n, f.Name, len(loops))
	}
	if t.text != "args" {
		if r.next(); r.tokens[r.pos-1].text != "." || r.next().text != "var" {
			return v, halideErrorf(t.line, "expected .var after %s()[%d]", t.text, k.n)
		}
	}
	return cxxValue{kind: nameValue, name: loops[k.n], line: t.line}, nil
}

// add plays one directive and keeps it.
func (r *halideReader) add(line int, d Directive) error {
	fail := func(err error) error { return halideErrorf(line, "%s of %s: %v", d.Op, d.Func, err) }
	if err := r.check.add(d); err != nil {
		return fail(err)
	}
	if err := r.nests.apply(d); err != nil {
		return fail(err)
	}
	wait := false
	if d.At != nil {
		if _, err := r.nests.fn(d.At.Func); err != nil {
			return fail(err)
		}
		_, err := r.nests.level(*d.At)
		wait = err != nil
	}
	// The last word about where a Func is computed or stored must stay the last.
	switch d.Op {
	case ComputeRoot, ComputeInline, ComputeAt, StoreRoot, StoreAt, HoistStorage, HoistStorageRoot:
		wait = wait || slices.ContainsFunc(r.late, func(l lateDirective) bool { return l.d.Func == d.Func })
	}
	if wait {
		r.late = append(r.late, lateDirective{d, line})
		return nil
	}
	r.out = append(r.out, d)
	r.lines = append(r.lines, line)
	return nil
}

// directive reads one scheduling call on f and gives what it returns.
func (r *halideReader) directive(f cxxValue, t cxxToken, args []cxxValue) (cxxValue, error) {
	d := Directive{Op: Op(t.text), Func: f.name, Stage: f.stage}
	sig, ok := signatures[d.Op]
	if t.text == "tile" {
		return f, r.tile(d, t, args)
	}
	if !ok {
		return f, halideErrorf(t.line, "%s is no directive known here", t.text)
	}
	if !sig.stages {
		d.Stage = 0
	}
	if (d.Op == Parallel || d.Op == Vectorize || d.Op == Unroll) && len(args) > 1 {
		return f, r.shorthand(d, t, args)
	}
	args, err := expand(d.Op, args)
	if err != nil {
		return f, err
	}
	for _, a := range sig.slots {
		if args, err = r.argument(&d, a, t, args); err != nil {
			return f, err
		}
	}
	if len(args) > 0 {
		return f, halideErrorf(t.line, "%s has %d arguments too many", t.text, len(args))
	}
	if sig.makes {
		d.As = r.freshFunc(d)
		f = cxxValue{kind: funcValue, name: d.As, line: t.line}
	}
	return f, r.add(t.line, d)
}

// expand brings the ways C++ writes one directive to the one our slots expect.
func expand(op Op, args []cxxValue) ([]cxxValue, error) {
	switch {
	case op == RFactor:
		if len(args) == 2 {
			args = []cxxValue{{kind: listValue, list: []cxxValue{{kind: listValue, list: args}}}}
		}
		if len(args) != 1 || args[0].kind != listValue {
			return args, nil
		}
		pairs := args[0].list
		vars, pure := cxxValue{kind: listValue}, cxxValue{kind: listValue}
		for _, p := range pairs {
			if p.kind != listValue || len(p.list) != 2 {
				return nil, halideErrorf(args[0].line, "rfactor takes pairs of a reduction loop and a Var")
			}
			vars.list = append(vars.list, p.list[0])
			pure.list = append(pure.list, p.list[1])
		}
		return []cxxValue{vars, pure}, nil
	case (op == In || op == CloneIn) && len(args) == 1 && args[0].kind == listValue:
		return args[0].list, nil
	}
	return args, nil
}

// argument takes what one slot needs off the front of args.
func (r *halideReader) argument(d *Directive, a slot, t cxxToken, args []cxxValue) ([]cxxValue, error) {
	rest := func(list *[]string) (err error) {
		*list, err = names(args)
		args = nil
		return err
	}
	switch a.kind {
	case loopsSlot, dimsSlot:
		return args, rest(&d.Vars)
	case funcsSlot:
		for _, v := range args {
			f, err := r.asFunc(v)
			if err != nil {
				return nil, err
			}
			d.Funcs = append(d.Funcs, f.name)
		}
		return nil, nil
	}
	if len(args) == 0 {
		switch {
		case a.kind == flagSlot:
			d.Flag = a.flag
		case a.kind == intSlot && a.def != nil:
			d.Ints = append(d.Ints, *a.def)
		case a.kind == intSlot && d.Op == Prefetch:
			d.Ints = append(d.Ints, 1)
		case a.kind == wordSlot && a.word != "":
		default:
			return nil, halideErrorf(t.line, "%s lacks its %s", t.text, a.what)
		}
		return nil, nil
	}
	v := args[0]
	args = args[1:]
	var err error
	var name string
	switch a.kind {
	case loopSlot, dimSlot:
		name, err = asName(v)
		d.Vars = append(d.Vars, name)
	case newSlot:
		name, err = asName(v)
		d.New = append(d.New, name)
	case groupSlot, newsSlot:
		list := &d.Vars
		if a.kind == newsSlot {
			list = &d.New
		}
		*list, err = names([]cxxValue{v})
	case funcSlot:
		v, err = r.asFunc(v)
		d.Funcs = append(d.Funcs, v.name)
	case levelSlot, stageSlot:
		return r.levelArgument(d, a, t, v, args)
	case intSlot:
		if v.kind != intValue {
			return nil, halideErrorf(v.line, "%s: its %s is no number", t.text, a.what)
		}
		d.Ints = append(d.Ints, v.n)
	case wordSlot:
		d.Word, err = asWord(v)
	case flagSlot:
		if v.kind != nameValue || v.name != "true" && v.name != "false" {
			return nil, halideErrorf(v.line, "%s: its %s is true or false", t.text, a.what)
		}
		d.Flag = v.name == "true"
	}
	return args, err
}

func (r *halideReader) levelArgument(d *Directive, a slot, t cxxToken, v cxxValue, args []cxxValue) ([]cxxValue, error) {
	if v.kind == levelValue {
		at := v.level
		d.At = &at
		return args, nil
	}
	f, err := r.asFunc(v)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return nil, halideErrorf(t.line, "%s lacks its loop", t.text)
	}
	loop, err := asName(args[0])
	if err != nil {
		return nil, err
	}
	d.At = &Level{Func: f.name, Stage: f.stage, Loop: loop}
	if f.stage == 0 && a.kind == levelSlot {
		d.At.Stage = AnyStage
	}
	return args[1:], nil
}

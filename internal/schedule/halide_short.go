package schedule

import "strconv"

// shorthand reads parallel, vectorize and unroll with a factor: a split, whose
// outer loop keeps the name, and the directive itself, on the outer loop for
// parallel and on the inner one otherwise.
func (r *halideReader) shorthand(d Directive, t cxxToken, args []cxxValue) error {
	loop, err := asName(args[0])
	if err != nil {
		return err
	}
	inner := r.freshLoop(d, loop)
	made := []cxxValue{args[0], args[0], {kind: nameValue, name: inner, line: t.line}}
	if err := r.call(d, Split, t, append(made, args[1:]...)); err != nil {
		return err
	}
	d.Vars = []string{inner}
	if d.Op == Parallel {
		d.Vars[0] = loop
	}
	return r.add(t.line, d)
}

// call reads another directive on the stage of d.
func (r *halideReader) call(d Directive, op Op, t cxxToken, args []cxxValue) error {
	t.text = string(op)
	_, err := r.directive(cxxValue{kind: funcValue, name: d.Func, stage: d.Stage, line: t.line}, t, args)
	return err
}

// tile reads its four forms: two loops or lists of loops, their outer loops named
// or keeping the names of what they split. It is a split of each loop in turn and
// a reorder of all inner loops before all outer ones.
func (r *halideReader) tile(d Directive, t cxxToken, args []cxxValue) error {
	bad := halideErrorf(t.line, "tile with these %d arguments is not known here", len(args))
	lists := 0
	for lists < len(args) && args[lists].kind == listValue {
		lists++
	}
	var parts [][]cxxValue // loops, outer loops if named, inner loops, factors
	var tails []cxxValue
	switch {
	case lists == 5 && len(args) == 5:
		tails = args[4].list
		args, lists = args[:4], 4
		fallthrough
	case lists == 3 || lists == 4:
		for _, a := range args[:lists] {
			parts = append(parts, a.list)
		}
		args = args[lists:]
	case lists == 0 && len(args) >= 6 && len(args) <= 9:
		for ; len(args) >= 2; args = args[2:] {
			parts = append(parts, args[:2])
		}
	default:
		return bad
	}
	if len(parts) == 3 {
		parts = [][]cxxValue{parts[0], parts[0], parts[1], parts[2]}
	}
	n := len(parts[0])
	if len(args) == 1 {
		for range n {
			tails = append(tails, args[0])
		}
		args = nil
	}
	if len(args) > 0 || tails != nil && len(tails) != n {
		return bad
	}
	for _, p := range parts {
		if len(p) != n {
			return bad
		}
	}
	for i := range n {
		split := []cxxValue{parts[0][i], parts[1][i], parts[2][i], parts[3][i]}
		if tails != nil {
			split = append(split, tails[i])
		}
		if err := r.call(d, Split, t, split); err != nil {
			return err
		}
	}
	return r.call(d, Reorder, t, append(append([]cxxValue{}, parts[2]...), parts[1]...))
}

// freshLoop names the inner loop a shorthand makes: the loop's name and an i, as
// Adams2019 names them, and a number where that is taken.
func (r *halideReader) freshLoop(d Directive, loop string) string {
	loops, err := r.nests.stage(d.Func, d.Stage)
	name := loop + "i"
	for k := 2; err == nil && findLoop(loops, name) >= 0; k++ {
		name = loop + "i" + strconv.Itoa(k)
	}
	return name
}

// freshFunc names the Func a directive makes: as the variable it is declared to,
// otherwise after the Func it is made from.
func (r *halideReader) freshFunc(d Directive) string {
	base := r.made
	r.made = ""
	if base == "" {
		base = d.Func + "_" + string(d.Op)
	}
	name := base
	for k := 2; r.nests.funcs[name] != nil || r.check.used[name]; k++ {
		name = base + "_" + strconv.Itoa(k)
	}
	return name
}

package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// HalideFile is what a .schedule.h says besides the schedule.
type HalideFile struct {
	Name      string // of the library, with its namespaces ("ns::harris")
	Target    string // for the heading
	Params    string // for the heading: the autoscheduler's parameters
	Algorithm string // hash of the algorithm; empty to leave it out
	Decisions string // that led to the schedule, a line each; empty to leave them out
}

// algorithmConstant is the name under which the algorithm's hash stands in what
// we write, so that HalideAlgorithm can read it back.
const algorithmConstant = "protuner_algorithm"

// decided begins the lines of comment that hold decisions, so that Decisions can read
// them back.
const decided = "decided: "

// Halide writes s as the whole .schedule.h, in the form Halide gives its own:
// an include guard around
//
//	inline void apply_schedule_<name>(::Halide::Pipeline pipeline, ::Halide::Target target)
//
// with the loops and Funcs of HalideBody. It compiles against Halide 19 and 21.
func (s Schedule) Halide(b Binding, f HalideFile) (string, error) {
	spaces := strings.Split(f.Name, "::")
	for _, part := range spaces {
		if part == "" || part != identifier(part) {
			return "", fmt.Errorf("%q cannot be part of a C++ name: a library is named by identifiers parted by double colons", f.Name)
		}
	}
	if strings.ContainsAny(f.Target+f.Params, "\r\n\\") {
		return "", fmt.Errorf("target and parameters must each fit on one line of a comment")
	}
	body, err := s.HalideBody(b, f.Algorithm, f.Decisions)
	if err != nil {
		return "", err
	}
	name := spaces[len(spaces)-1]
	spaces = spaces[:len(spaces)-1]
	guard := strings.ReplaceAll(f.Name, "::", "_") + "_SCHEDULE_H"

	var o strings.Builder
	fmt.Fprintf(&o, "#ifndef %s\n#define %s\n\n", guard, guard)
	o.WriteString("// MACHINE GENERATED -- DO NOT EDIT\n// This schedule was found by ProTuner\n")
	fmt.Fprintf(&o, "// for target=%s  // NOLINT\n// with autoscheduler_params=%s\n\n#include \"Halide.h\"\n\n", f.Target, f.Params)
	for _, n := range spaces {
		fmt.Fprintf(&o, "namespace %s {\n", n)
	}
	fmt.Fprintf(&o, "\ninline void apply_schedule_%s(\n    ::Halide::Pipeline pipeline,\n    ::Halide::Target target\n) {\n", name)
	for _, n := range []string{"Func", "MemoryType", "RVar", "TailStrategy", "Var"} {
		fmt.Fprintf(&o, "    using ::Halide::%s;\n", n)
	}
	for line := range strings.Lines(body) {
		if line != "\n" {
			line = "    " + line
		}
		o.WriteString(line)
	}
	o.WriteString("}\n")
	slices.Reverse(spaces)
	for _, n := range spaces {
		fmt.Fprintf(&o, "}  // namespace %s\n", n)
	}
	fmt.Fprintf(&o, "\n#endif  // %s\n", guard)
	return o.String(), nil
}

// HalideBody writes s as the statements inside apply_schedule_<name>: what a
// plugin hands Halide as AutoSchedulerResults::schedule_source, and Halide wraps
// in the rest. Funcs are taken by their index in b, loops by their position in
// the unscheduled stage that has them first, so that names Halide makes up
// (v0, r12$x) may differ where it is read; both are taken before the first
// directive, which could renumber them. The algorithm's hash goes in as a
// constant unless empty, and what was decided, a line each, as comments.
//
// ParseHalide gives the same schedule back, save that compute_at, store_at and
// hoist_storage come back with AnyStage, that those whose loop is only made
// further down come back behind it, and that names no C++ identifier can be are
// changed where they are the schedule's own (As).
func (s Schedule) HalideBody(b Binding, algorithm, decisions string) (string, error) {
	final, err := s.nests(b)
	if err != nil {
		return "", err
	}
	if strings.ContainsFunc(algorithm, func(r rune) bool { return !isNameByte(byte(r)) || r >= 128 }) {
		return "", fmt.Errorf("the algorithm's hash %q is no word of letters and digits", algorithm)
	}
	if strings.Contains(decisions+"\n", "\\\n") {
		return "", fmt.Errorf("a decision ends in a backslash, which goes on with a comment in the next line")
	}
	w := &halideWriter{binding: b, now: newNests(b), final: final, base: map[string]string{},
		funcs: map[string]string{}, vars: map[cxxVar]string{}, taken: map[string]bool{}}
	for _, word := range reserved {
		w.taken[word] = true
	}
	w.nameFuncs(s)
	var body strings.Builder
	for i := 0; i < len(s.Directives); {
		n, err := w.statement(&body, s.Directives[i:])
		if err != nil {
			return "", fmt.Errorf("directive %d, %s: %w", i+1, s.Directives[i], err)
		}
		i += n
	}
	var o strings.Builder
	if algorithm != "" {
		o.WriteString("// The hash of the algorithm this schedule was found for; another one makes it stale.\n")
		fmt.Fprintf(&o, "[[maybe_unused]] constexpr const char *%s = %q;\n", algorithmConstant, algorithm)
	}
	if slices.ContainsFunc(s.Directives, func(d Directive) bool { return len(d.Inputs) > 0 }) {
		o.WriteString(inputFunctionText)
	}
	o.WriteString(w.funcDecls.String() + w.varDecls.String() + body.String())
	o.WriteString(commented("//", decisions))
	return o.String(), nil
}

// commented writes decisions as lines of comment that begin with mark.
func commented(mark, decisions string) string {
	var o strings.Builder
	for line := range strings.Lines(decisions) {
		fmt.Fprintf(&o, "%s %s%s\n", mark, decided, strings.TrimSuffix(line, "\n"))
	}
	return o.String()
}

// reserved are C++ words, and names that mean something inside the function, that
// Funcs and loops may well be called.
var reserved = strings.Fields(`alignas alignof and and_eq asm auto bitand bitor bool break case catch char class
	compl const const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit
	export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
	operator or or_eq private protected public register reinterpret_cast return short signed sizeof static
	static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename
	union unsigned using virtual void volatile wchar_t while xor xor_eq linux unix NULL
	Func Halide MemoryType RVar TailStrategy Var pipeline target ` + algorithmConstant + " " + inputFunction)

// cxxVar is a loop variable as C++ sees it: a name is two variables where it is a
// reduction loop of one stage and a pure loop of another.
type cxxVar struct {
	name      string
	reduction bool
}

type halideWriter struct {
	binding   Binding
	now       *nests            // before the directive being written
	final     *nests            // after all of them
	base      map[string]string // made Func to the Func it was made from
	funcs     map[string]string // Func to C++ identifier
	vars      map[cxxVar]string // loop to C++ identifier
	taken     map[string]bool   // C++ identifiers
	funcDecls strings.Builder
	varDecls  strings.Builder
}

// identifier makes a C++ identifier of a name, as Halide does in the files it
// writes: whatever cannot stand in one becomes an underscore.
func identifier(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !isNameByte(c) || c == '$' {
			c = '_'
		}
		if i == 0 && isDigit(c) {
			b.WriteByte('_')
		}
		b.WriteByte(c)
	}
	return b.String()
}

func (w *halideWriter) unique(name string) string {
	id := identifier(name)
	for k := 2; w.taken[id]; k++ {
		id = identifier(name) + "_" + strconv.Itoa(k)
	}
	w.taken[id] = true
	return id
}

// nameFuncs names every Func in use and takes those of the pipeline by index.
func (w *halideWriter) nameFuncs(s Schedule) {
	used := map[string]bool{}
	for _, d := range s.Directives {
		used[d.Func] = true
		for _, f := range d.Funcs {
			used[f] = true
		}
		if d.At != nil {
			used[d.At.Func] = true
		}
	}
	for i, f := range slices.Backward(w.binding.Funcs) {
		if used[f.Name] {
			id := w.unique(f.Name)
			w.funcs[f.Name] = id
			fmt.Fprintf(&w.funcDecls, "Func %s = pipeline.get_func(%d);\n", id, i)
		}
	}
	for _, d := range s.Directives {
		if d.As != "" {
			w.funcs[d.As] = w.unique(d.As)
			w.base[d.As] = d.Func
		}
	}
}

// statement writes a chain of directives on one stage, or one that makes a Func,
// and gives how many it took.
func (w *halideWriter) statement(o *strings.Builder, ds []Directive) (int, error) {
	first := ds[0]
	on := w.stageText(first.Func, first.Stage)
	if first.As != "" {
		call, err := w.call(first)
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(o, "Func %s = %s%s;\n", w.funcs[first.As], on, call)
		return 1, w.now.apply(first)
	}
	o.WriteString(on)
	n := 0
	for _, d := range ds {
		if d.As != "" || d.Func != first.Func || d.Stage != first.Stage {
			break
		}
		call, err := w.call(d)
		if err != nil {
			return 0, err
		}
		o.WriteString("\n    " + call)
		if err := w.now.apply(d); err != nil {
			return 0, err
		}
		n++
		if d.Op == Specialize {
			break // what it returns is the new version
		}
	}
	o.WriteString(";\n")
	return n, nil
}

func (w *halideWriter) stageText(fn string, stage int) string {
	if stage == 0 {
		return w.funcs[fn]
	}
	return fmt.Sprintf("%s.update(%d)", w.funcs[fn], stage-1)
}

// call writes ".op(arguments)".
func (w *halideWriter) call(d Directive) (string, error) {
	loops, err := w.now.stage(d.Func, d.Stage)
	if err != nil {
		return "", err
	}
	var args []string
	vars, made, funcs, ints := d.Vars, d.New, d.Funcs, d.Ints
	reduction := false // of the loops named so far, which those made of them are too
	loop := func(name string) string {
		if name == Outermost {
			return "::Halide::Var::outermost()"
		}
		i := findLoop(loops, name)
		reduction = reduction || i >= 0 && loops[i].Reduction
		return w.variable(d.Func, d.Stage, name, i >= 0 && loops[i].Reduction)
	}
	for _, a := range signatures[d.Op].slots {
		switch a.kind {
		case loopSlot:
			args = append(args, loop(vars[0]))
			vars = vars[1:]
		case loopsSlot:
			var list []string
			for _, v := range vars {
				list = append(list, loop(v))
			}
			args = append(args, "{"+strings.Join(list, ", ")+"}")
		case groupSlot:
			args = append(args, w.preserved(d, loop))
		case newsSlot: // written beside the reduction loops
		case dimSlot:
			args = append(args, w.variable(d.Func, 0, vars[0], false))
			vars = vars[1:]
		case dimsSlot:
			var list []string
			for _, v := range vars {
				list = append(list, w.variable(d.Func, 0, v, false))
			}
			args = append(args, "{"+strings.Join(list, ", ")+"}")
		case boxSlot:
			args = append(args, w.within(d))
		case newSlot:
			args = append(args, w.variable("", 0, made[0], reduction))
			made = made[1:]
		case funcSlot:
			args = append(args, w.funcs[funcs[0]])
		case funcsSlot:
			var list []string
			for _, f := range funcs {
				list = append(list, w.funcs[f])
			}
			text := strings.Join(list, ", ")
			// One Func in braces would be a Func or a list of one: ambiguous.
			if len(list) > 1 {
				text = "{" + text + "}"
			}
			if text != "" {
				args = append(args, text)
			}
		case levelSlot, stageSlot:
			text, err := w.level(*d.At, a.kind == stageSlot)
			if err != nil {
				return "", err
			}
			args = append(args, text)
		case intSlot:
			args = append(args, strconv.FormatInt(ints[0], 10))
			ints = ints[1:]
		case wordSlot:
			if d.Word != "" {
				args = append(args, enumOf[d.Op]+"::"+camelCase(d.Word))
			}
		case flagSlot:
			if d.Flag != a.flag {
				args = append(args, strconv.FormatBool(d.Flag))
			}
		}
	}
	return "." + string(d.Op) + "(" + strings.Join(args, ", ") + ")", nil
}

// within writes the condition that exactly a box of an output is asked for.
func (w *halideWriter) within(d Directive) string {
	var all []string
	for i, v := range d.Vars {
		dim := fmt.Sprintf("%s.output_buffer().dim(%d)", w.funcs[d.Func], slices.Index(w.now.funcs[d.Func].dims, v))
		span, _ := d.span(i)
		begin := dim + ".min()"
		if span.Step != 0 {
			begin += fmt.Sprintf(" %% %d", span.Step)
		}
		all = append(all, fmt.Sprintf("%s == %d", begin, span.Min), fmt.Sprintf("%s.extent() == %d", dim, span.Extent))
	}
	for _, in := range d.Inputs {
		all = append(all, fmt.Sprintf("%s(%s, {%s})", inputFunction, cxxQuote(in.Name), integers(in.Box)))
	}
	return strings.Join(all, " && ")
}

// inputFunction is what says in C++ that an input lies somewhere, dense in memory.
// Directives have the inputs' names alone, so it looks for the buffer behind one; where
// the algorithm says something of its strides nothing more is said of them. The plugin
// says the same of a directive (lies_in in halide/directives.cpp).
const inputFunction = "protuner_input"

const inputFunctionText = `auto ` + inputFunction + ` = [&](const char *name, const std::vector<int> &box) {
    std::vector<::Halide::Internal::Function> outputs;
    for (const auto &f : pipeline.outputs()) outputs.push_back(f.function());
    ::Halide::Expr same = ::Halide::Internal::const_true();
    for (const auto &in : ::Halide::Internal::infer_arguments(::Halide::Internal::Stmt(), outputs)) {
        if (in.arg.name != name || !in.arg.is_buffer() || !in.param.defined()) continue;
        auto is = [&](const char *what, int dim, int value) {
            std::string symbol = in.arg.name + "." + what + "." + std::to_string(dim);
            same = same && ::Halide::Internal::Variable::make(::Halide::Int(32), symbol, in.param) == value;
        };
        bool dense = ::Halide::Internal::is_const_one(in.param.stride_constraint(0));
        for (int dim = 1; dim < (int)box.size() / 2; dim++) dense = dense && !in.param.stride_constraint(dim).defined();
        int64_t stride = 1;
        for (int dim = 0; dim < (int)box.size() / 2; dim++) {
            is("min", dim, box[2 * dim]);
            is("extent", dim, box[2 * dim + 1]);
            if (dense && dim > 0) is("stride", dim, (int)stride);
            stride *= box[2 * dim + 1];
        }
    }
    return same;
};
`

// preserved writes rfactor's pairs; a single one as two arguments, since a list
// of one pair in braces could be read as the pair itself.
func (w *halideWriter) preserved(d Directive, loop func(string) string) string {
	var pairs []string
	for i, v := range d.Vars {
		pairs = append(pairs, loop(v)+", "+w.variable("", 0, d.New[i], false))
	}
	if len(pairs) == 1 {
		return pairs[0]
	}
	return "{{" + strings.Join(pairs, "}, {") + "}}"
}

// level writes where a Func is computed. The loop may be made by a directive
// further down. The stage is written for compute_with alone: elsewhere Halide 19
// and 21 compare the stage of a level with that of the loops they found, which
// they leave open, and so refuse every level that says one.
func (w *halideWriter) level(at Level, ofStage bool) (string, error) {
	state, err := w.now.level(at)
	if err != nil {
		if state, err = w.final.level(at); err != nil {
			return "", err
		}
	}
	stage := max(at.Stage, 0)
	v := "::Halide::Var::outermost()"
	if at.Loop != Outermost {
		v = w.variable(at.Func, stage, at.Loop, state.Reduction)
	}
	on := w.funcs[at.Func]
	if ofStage {
		on = w.stageText(at.Func, at.Stage)
	}
	return on + ", " + v, nil
}

// variable gives the C++ variable of a loop or dimension, declared at its first
// use: by its position where it is a loop of the unscheduled stage (of fn, or of
// the Func that fn was made from), by its name where a directive makes it.
func (w *halideWriter) variable(fn string, stage int, name string, reduction bool) string {
	key := cxxVar{name, reduction}
	if id, ok := w.vars[key]; ok {
		return id
	}
	id := w.unique(name)
	w.vars[key] = id
	class := "Var"
	if reduction {
		class = "RVar"
	}
	fmt.Fprintf(&w.varDecls, "%s %s(%s);\n", class, id, w.accessor(fn, stage, name))
	return id
}

// accessor gives the expression for a loop's name.
func (w *halideWriter) accessor(fn string, stage int, name string) string {
	for made := w.base[fn]; made != ""; made = w.base[fn] {
		fn = made
	}
	i := slices.IndexFunc(w.binding.Funcs, func(f FuncBinding) bool { return f.Name == fn })
	if i >= 0 {
		f := w.binding.Funcs[i]
		if stage < len(f.Stages) {
			if k := slices.Index(f.Stages[stage], name); k >= 0 {
				return fmt.Sprintf("%s.get_schedule().dims()[%d].var", w.stageText(fn, stage), k)
			}
		}
		for other, loops := range f.Stages {
			if k := slices.Index(loops, name); k >= 0 {
				return fmt.Sprintf("%s.get_schedule().dims()[%d].var", w.stageText(fn, other), k)
			}
		}
		if k := slices.Index(f.Dims, name); k >= 0 {
			return fmt.Sprintf("%s.args()[%d]", w.funcs[fn], k)
		}
	}
	return cxxQuote(name)
}

// cxxQuote writes a C++ string literal, whatever the bytes.
func cxxQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		if c := s[i]; isNameByte(c) || c == '.' || c == ' ' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "\\%03o", c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// enumOf is the enumeration of an Op's word.
var enumOf = map[Op]string{
	Split:       "TailStrategy",
	StoreIn:     "MemoryType",
	ComputeWith: "::Halide::LoopAlignStrategy",
	Prefetch:    "::Halide::PrefetchBoundStrategy",
}

// camelCase turns our words into Halide's: guard_with_if, GuardWithIf.
func camelCase(word string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(word, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

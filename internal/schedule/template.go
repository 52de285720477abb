package schedule

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Hole is one number of a schedule that may be another.
type Hole struct {
	Name     string // an identifier, unique in its template
	Min      int64  // inclusive
	Max      int64  // inclusive
	Value    int64
	Values   []int64 // ascending, Value among them; none where every integer from Min to Max will do
	Role     HoleRole
	Extent   int64 // of a split's hole: of the loop that is split, or the largest factor tried where that is not known
	position int   // of its directive, whose first number it is
}

// HoleRole says what the number does.
type HoleRole string

// The roles of holes.
const (
	FactorRole   HoleRole = "factor"   // extent of the inner loop of a split
	VectorRole   HoleRole = "vector"   // the same, vectorized
	UnrollRole   HoleRole = "unroll"   // the same, unrolled
	TasksRole    HoleRole = "tasks"    // trips of the parallel outer loop of a split of known extent
	FoldRole     HoleRole = "fold"     // fold_storage's factor
	AlignRole    HoleRole = "align"    // align_storage's alignment
	PrefetchRole HoleRole = "prefetch" // prefetch's offset
)

// Template is a complete schedule whose numbers are holes. It is immutable. The
// original values meet every one of its constraints. Numbers that say what is
// computed or promise something about it (bound, align_bounds, bound_storage, the
// splits that rfactor takes, ...) are no holes.
type Template struct {
	Holes       []Hole
	Constraints []Constraint
	schedule    Schedule
	tasks       map[string]taskSplit // by hole
}

// Constraint is a comparison over holes, by their names.
type Constraint struct {
	text  string
	holds func(values map[string]int64) bool // of all holes
}

// String gives the comparison in the syntax of BaCO's scenario files, which the
// bayes package reads.
func (c Constraint) String() string { return c.text }

// taskSplit is a split whose hole is its number of tasks and not its factor.
type taskSplit struct {
	extent int64
	factor int64    // originally
	inner  []string // holes of splits of its inner loop, which must fit into it
}

// Open makes a template of s. extents gives the estimated extent of a loop as the
// algorithm leaves it (stage 0 the pure definition, k update k-1), false where it
// is not known; it bounds the holes and gives parallel loops their number of
// tasks, n tasks meaning a factor of ceil(extent/n). s must be valid.
//
// Constraints hold a split's factor to the extent of the loop it splits, where
// that is itself made of holes; keep an inner factor a divisor where its tail
// rounds up and it was one; and keep factors equal that stages joined by
// compute_with shared.
func Open(s Schedule, extents func(fn string, stage int, loop string) (int64, bool)) Template {
	o := &opener{t: Template{schedule: s, tasks: map[string]taskSplit{}}, extents: extents,
		loops: map[stageKey]map[string]*loopNode{}, names: map[int]string{}, taken: map[string]bool{}, joined: map[int]bool{}, structure: len(s.Structure())}
	pairs := twins(s)
	for _, twin := range pairs {
		o.joined[twin[0]], o.joined[twin[1]] = true, true
	}
	o.kinds(s)
	// Again, now that what becomes of each loop is known.
	o.loops = map[stageKey]map[string]*loopNode{}
	for i, d := range s.Directives {
		o.directive(i, d)
	}
	for _, twin := range pairs {
		a, b := o.names[twin[0]], o.names[twin[1]]
		// The splits that rfactor takes have no holes.
		if a != "" && b != "" {
			o.constrain(a+" == "+b, func(values map[string]int64) bool { return values[a] == values[b] })
		}
	}
	return o.t
}

type stageKey struct {
	fn    string
	stage int
}

// extent is n, or the value of hole when set, divided in turn by each of by and
// rounded up; known is false where nothing is known of it.
type extent struct {
	known bool
	n     int64
	hole  string
	by    []string
	tasks string // the hole, where this is the inner loop of a split into tasks
}

// holdsLast says whether the last of count pieces, each as long as the product of
// by, begins within what e is divided of.
func (e extent) holdsLast(count string, by ...string) func(values map[string]int64) bool {
	return func(values map[string]int64) bool {
		// The product may go beyond int64. As float64 it is exact as far as extents go.
		begin, end := float64(values[count]-1), e.n
		for _, b := range by {
			begin *= float64(values[b])
		}
		if e.hole != "" {
			end = values[e.hole]
		}
		return begin < float64(end)
	}
}

// loopNode is a loop while a schedule is played.
type loopNode struct {
	extent extent
	marks  []*loopMarks // what becomes of it, and of loops it is fused of
}

type loopMarks struct{ parallel, vectorized, unrolled bool }

type splitMarks struct{ outer, inner *loopMarks }

type opener struct {
	t       Template
	extents func(fn string, stage int, loop string) (int64, bool)
	loops   map[stageKey]map[string]*loopNode
	splits  map[int]splitMarks // by position of the split
	joined  map[int]bool       // splits, by position, whose factor another stage shares
	// structure is how many directives say which Funcs there are.
	structure int
	names     map[int]string  // of holes, by position
	taken     map[string]bool // names of holes
}

func (o *opener) loop(d Directive, name string) *loopNode {
	key := stageKey{d.Func, d.Stage}
	if o.loops[key] == nil {
		o.loops[key] = map[string]*loopNode{}
	}
	n := o.loops[key][name]
	if n == nil {
		n = &loopNode{marks: []*loopMarks{{}}}
		if e, ok := o.extents(d.Func, d.Stage, name); ok && e > 0 {
			n.extent = extent{known: true, n: e}
		}
		o.loops[key][name] = n
	}
	return n
}

// set names a loop anew; old names of it are gone first.
func (o *opener) set(d Directive, n *loopNode, name string, gone ...string) {
	key := stageKey{d.Func, d.Stage}
	for _, g := range gone {
		delete(o.loops[key], g)
	}
	o.loops[key][name] = n
}

// kinds plays the schedule once to learn which loops end parallel, vectorized or
// unrolled.
func (o *opener) kinds(s Schedule) {
	o.splits = map[int]splitMarks{}
	for i, d := range s.Directives {
		switch d.Op {
		case Split:
			o.loop(d, d.Vars[0])
			m := splitMarks{&loopMarks{}, &loopMarks{}}
			o.splits[i] = m
			o.set(d, &loopNode{marks: []*loopMarks{m.outer}}, d.New[0], d.Vars[0])
			o.set(d, &loopNode{marks: []*loopMarks{m.inner}}, d.New[1])
		case Fuse, Rename:
			o.rename(d)
		case Parallel, Vectorize, Unroll:
			for _, m := range o.loop(d, d.Vars[0]).marks {
				m.parallel = m.parallel || d.Op == Parallel
				m.vectorized = m.vectorized || d.Op == Vectorize
				m.unrolled = m.unrolled || d.Op == Unroll
			}
		}
	}
}

// rename plays fuse and rename. The extent of a fused loop is left unknown.
func (o *opener) rename(d Directive) {
	n := o.loop(d, d.Vars[0])
	if d.Op == Fuse {
		n = &loopNode{marks: slices.Concat(n.marks, o.loop(d, d.Vars[1]).marks)}
	}
	o.set(d, n, d.New[0], d.Vars...)
}

// directive makes the holes of one directive.
func (o *opener) directive(i int, d Directive) {
	switch d.Op {
	case Split:
		o.split(i, d)
	case Fuse, Rename:
		o.rename(d)
	case FoldStorage:
		// A smaller fold could lose what is still to be read.
		v := d.Ints[0]
		o.hole(i, d, d.Vars[0]+"_fold", Hole{Role: FoldRole, Value: v, Values: doubled(v)})
	case AlignStorage:
		o.hole(i, d, d.Vars[0]+"_align", powers(AlignRole, d.Ints[0], 256))
	case Prefetch:
		v := d.Ints[0]
		o.hole(i, d, d.Vars[0]+"_prefetch", Hole{Role: PrefetchRole, Value: v, Max: max(16, v)})
	}
}

// doubled gives v, 2v, 4v and 8v, as far as Halide's int32 goes.
func doubled(v int64) []int64 {
	var out []int64
	for ; len(out) < 4 && v <= math.MaxInt32; v *= 2 {
		out = append(out, v)
	}
	return out
}

// powers makes a hole of value and the powers of two up to most, or up to value
// where that is a larger one.
func powers(role HoleRole, value, most int64) Hole {
	h := Hole{Role: role, Value: value}
	if value&(value-1) == 0 {
		most = max(most, value)
	}
	for p := int64(1); p <= most; p *= 2 {
		h.Values = append(h.Values, p)
	}
	if at, found := slices.BinarySearch(h.Values, value); !found {
		h.Values = slices.Insert(h.Values, at, value)
	}
	return h
}

// hole adds h, completed, and gives its name.
func (o *opener) hole(i int, d Directive, what string, h Hole) string {
	name := identifier(d.Func)
	if d.Stage > 0 {
		name += "_u" + strconv.Itoa(d.Stage-1)
	}
	name += "_" + identifier(what)
	h.Name = name
	for k := 2; o.taken[h.Name]; k++ {
		h.Name = name + "_" + strconv.Itoa(k)
	}
	o.names[i], o.taken[h.Name] = h.Name, true
	h.position = i
	if len(h.Values) > 0 {
		h.Min, h.Max = h.Values[0], h.Values[len(h.Values)-1]
	}
	o.t.Holes = append(o.t.Holes, h)
	return h.Name
}

const (
	maxVector = 64  // lanes: bytes of AVX-512
	maxUnroll = 16  // beyond it code grows faster than it gains
	freeRange = 64  // a factor's bound where no extent is known: this, or 4 times its value
	manyTasks = 32  // numbers of tasks up to here are all tried, larger ones
	taskRatio = 1.2 // at least this far apart
)

// split makes the hole of one split and the extents of the loops it makes.
func (o *opener) split(i int, d Directive) {
	old := o.loop(d, d.Vars[0]).extent
	value := d.Ints[0]
	if i < o.structure {
		outer := extent{}
		if n, ok := o.bound(old); ok {
			outer = extent{known: true, n: ceilDiv(n, value)}
		}
		o.set(d, &loopNode{extent: outer}, d.New[0], d.Vars[0])
		o.set(d, &loopNode{extent: extent{known: true, n: value}}, d.New[1])
		return
	}
	marks := o.splits[i]
	most := max(freeRange, 4*value)
	if bound, ok := o.bound(old); ok {
		most = bound
	}
	most = min(max(most, value), math.MaxInt32)
	h := Hole{Role: FactorRole, Min: 1, Max: most, Value: value}
	constant := old.known && old.hole == "" && len(old.by) == 0
	switch {
	case marks.inner.vectorized:
		h = powers(VectorRole, value, min(most, maxVector))
	case marks.outer.parallel && constant && !o.joined[i]:
		h = Hole{Role: TasksRole, Value: ceilDiv(old.n, value)}
		h.Values = taskCounts(old.n, h.Value)
	case marks.inner.unrolled:
		h.Role, h.Max = UnrollRole, max(min(most, maxUnroll), value)
	}
	h.Extent = most
	name := o.hole(i, d, d.New[1], h)

	outer, inner := extent{}, extent{known: true, hole: name}
	if old.known {
		outer = extent{known: true, n: old.n, hole: old.hole, by: append(slices.Clip(old.by), name)}
	}
	if h.Role == TasksRole {
		outer = extent{known: true, hole: name}
		inner = extent{known: true, n: old.n, by: []string{name}, tasks: name}
		o.t.tasks[name] = taskSplit{extent: old.n, factor: value}
	} else {
		o.fits(d, name, old)
	}
	o.set(d, &loopNode{extent: outer}, d.New[0], d.Vars[0])
	o.set(d, &loopNode{extent: inner}, d.New[1])
}

// bound gives the largest value an extent can have.
func (o *opener) bound(e extent) (int64, bool) {
	if !e.known || e.hole == "" {
		return e.n, e.known
	}
	for _, h := range o.t.Holes {
		if h.Name == e.hole {
			return h.Max, true
		}
	}
	return 0, false
}

// fits constrains a factor to the extent of the loop it splits.
func (o *opener) fits(d Directive, name string, old extent) {
	if !old.known {
		return
	}
	top := old.hole
	if top == "" {
		top = strconv.FormatInt(old.n, 10)
	}
	switch {
	case old.tasks != "":
		// Tasks of any size that still makes so many of them.
		o.constrain(fmt.Sprintf("%s * (%s - 1) < %s", name, old.tasks, top), old.holdsLast(old.tasks, name))
		if t := o.t.tasks[old.tasks]; d.Ints[0] <= t.factor {
			t.inner = append(t.inner, name)
			o.t.tasks[old.tasks] = t
		}
	case len(old.by) > 0:
		text := "(" + name + " - 1)"
		for _, b := range old.by {
			text += " * " + b
		}
		o.constrain(text+" < "+top, old.holdsLast(name, old.by...))
	case old.hole != "":
		o.constrain(name+" <= "+top, func(values map[string]int64) bool { return values[name] <= values[top] })
		if d.Word == "round_up" {
			o.constrain(top+" % "+name+" == 0", func(values map[string]int64) bool {
				return values[name] > 0 && values[top]%values[name] == 0
			})
		}
	}
}

// constrain keeps a constraint if the original values meet it: a schedule that
// does not shows that it need not be met.
func (o *opener) constrain(text string, holds func(values map[string]int64) bool) {
	values := map[string]int64{}
	for _, h := range o.t.Holes {
		values[h.Name] = h.Value
	}
	if holds(values) {
		o.t.Constraints = append(o.t.Constraints, Constraint{text, holds})
	}
}

// twins finds the splits that two stages joined by compute_with have in common,
// by the names of their loops: their positions, in pairs.
func twins(s Schedule) [][2]int {
	var out [][2]int
	for _, c := range s.Directives {
		if c.Op != ComputeWith {
			continue
		}
		for i, a := range s.Directives {
			if a.Op != Split || a.Func != c.Func || a.Stage != c.Stage {
				continue
			}
			for j, b := range s.Directives {
				if b.Op == Split && b.Func == c.At.Func && b.Stage == c.At.Stage &&
					b.Vars[0] == a.Vars[0] && slices.Equal(a.New, b.New) {
					out = append(out, [2]int{i, j})
				}
			}
		}
	}
	return out
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// taskCounts gives the numbers of tasks that some factor makes of a loop of n
// iterations, thinned out where they are many, and value.
func taskCounts(n, value int64) []int64 {
	var out []int64
	for t := int64(1); ; {
		out = append(out, t)
		next := t + 1
		if t >= manyTasks {
			next = int64(float64(t)*taskRatio) + 1
		}
		if next > n {
			break
		}
		// The largest factor with no fewer tasks than next.
		factor := ceilDiv(n, next)
		if ceilDiv(n, factor) < next {
			factor--
		}
		t = ceilDiv(n, factor)
	}
	if at, found := slices.BinarySearch(out, value); !found {
		out = slices.Insert(out, at, value)
	}
	return out
}

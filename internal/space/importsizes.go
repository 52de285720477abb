package space

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// farthest is more than any loop iterates.
const farthest = math.MaxInt32

// openSizes stand for the sizes of a level that directives give: not how often it
// iterates, but what one of its iterations covers. A split by 3 of 10 iterations
// may come of four tiles or of five, the last of them empty; which of them there
// were only the iterations that the stage was split from tell, and they depend on
// the state.
type openSizes struct {
	top   *openStage
	parts []part  // its loops, outermost first
	span  []int64 // per loop, iterations that the level goes over; 0 for all
	cover []int64 // those that one iteration covers; 0 for all
	there []bool  // the level has a loop for it
}

// openStage is common to the levels of a stage.
type openStage struct {
	lanes  int64
	vector int      // the loop that is vectorised, -1 for none
	whole  []int64  // per loop, all iterations; nil until the Func was placed
	twice  *written // the level that has two parts of a loop, and so is two levels
}

func newOpenSizes(top *openStage, span []int64, parts []part) *openSizes {
	o := &openSizes{top: top, parts: parts, span: span, cover: slices.Clone(span), there: make([]bool, len(span))}
	for _, p := range parts {
		o.there[p.loop], o.cover[p.loop] = true, p.cover
	}
	return o
}

// twice holds where a loop is there in two parts.
func (o *openSizes) twice() bool {
	seen := make([]bool, len(o.span))
	for _, p := range o.parts {
		if seen[p.loop] {
			return true
		}
		seen[p.loop] = true
	}
	return false
}

// sizes bounds how often a level iterates over loop i.
func (l *written) sizes(i int) (least, most int64) {
	o := l.open
	if o == nil {
		return l.size[i], l.size[i]
	}
	if l.vectorLoop >= 0 { // the vector itself
		if i == l.vectorLoop {
			return o.top.lanes, o.top.lanes
		}
		return 1, 1
	}
	cover, span := o.cover[i], o.span[i]
	switch {
	case !o.there[i] && cover == 1:
		return 1, farthest // nothing is left to iterate over, however often
	case !o.there[i] || cover == 0:
		return 1, 1
	}
	if span == 0 {
		if o.top.whole == nil {
			return 1, farthest
		}
		span = o.top.whole[i]
	}
	unit := int64(1)
	if i == o.top.vector {
		unit = o.top.lanes
	}
	least, most = ceilDiv(span, cover), farthest
	if cover > unit {
		most = ceilDiv(span, cover-unit) - 1
	}
	return least, most
}

// measure notes how many iterations the loops of f, just placed below n, have.
func (im *importer) measure(n *Nest, f int) {
	tops := im.tops[f]
	if len(tops) == 0 || tops[0].open == nil {
		return
	}
	for _, c := range n.Children {
		switch {
		case c.Func != f:
			if c.Reads(f) {
				im.measure(c, f)
			}
		case n.Func != f:
			for _, top := range tops {
				loops := n.Bounds(f).Loops(top.stage)
				top.open.top.whole = make([]int64, len(loops))
				for i, l := range loops {
					top.open.top.whole[i] = l.Extent()
				}
			}
			return
		}
	}
}

// tiles lists the ways to cut a level of this size into the levels outer and inner.
// What text gives is known; what directives leave open is tried in the order of how
// well it fits, first what leaves inner as few iterations as there can be.
func (im *importer) tiles(size []int64, outer, inner levels, kind tilingKind) [][]int64 {
	l := outer.chain[outer.to]
	if l.open == nil && outer.from == outer.to {
		return [][]int64{l.size}
	}
	all := im.sp.tilings(size, kind)
	if l.open == nil {
		return all
	}
	want, least := make([]int64, len(size)), make([]int64, len(size))
	for i := range want {
		n, _ := outer.count(i)
		want[i] = min(n, size[i])
		least[i], _ = inner.count(i)
	}
	fits := func(t []int64) bool {
		for i := range t {
			if !outer.may(i, t[i]) {
				return false
			}
		}
		return true
	}
	left := func(t []int64) []int64 {
		in := make([]int64, len(t))
		for i := range t {
			in[i] = ceilDiv(size[i], t[i])
		}
		return in
	}
	kept := slices.DeleteFunc(slices.Clone(all), func(t []int64) bool { return !fits(t) })
	slices.SortStableFunc(kept, func(a, b []int64) int {
		return cmp.Or(cmp.Compare(apart(left(a), least), apart(left(b), least)), cmp.Compare(apart(a, want), apart(b, want)))
	})
	if !contains(kept, want) && fits(want) {
		kept = append(kept, want)
	}
	return kept
}

// apart is how many iterations more or fewer there are than wanted.
func apart(t, want []int64) int64 {
	n := int64(0)
	for i := range t {
		n += max(t[i]-want[i], want[i]-t[i])
	}
	return n
}

// wantedTasks are the tasks of f that directives ask for, if its outermost loops
// are all of them.
func (im *importer) wantedTasks(f int) []int64 {
	n := &im.sp.nodes[f]
	want := make([]int64, n.dims)
	for d := range want {
		want[d] = 1
	}
	for i, l := range im.sp.stages[n.first].Loops {
		if l.PureDim >= 0 {
			want[l.PureDim], _ = im.tops[f][0].sizes(i)
		}
	}
	return want
}

// withEdges calls try with each way in which the tasks of the stages of a Func may
// have ended inside their levels: tasks that were cut again, for something computed
// in fewer and larger ones, leave an edge between two levels that nothing else
// shows. It stops when try gives a state.
func (im *importer) withEdges(tops []*written, try func() *State) *State {
	if len(tops) == 0 {
		return try()
	}
	rest := func() *State { return im.withEdges(tops[1:], try) }
	top := tops[0]
	if top.open == nil {
		return rest()
	}
	if top.open.top.twice == nil {
		if end := rest(); end != nil {
			return end
		}
	}
	for _, l := range top.chain()[1:] {
		if l.vectorLoop >= 0 || top.open.top.twice != nil && top.open.top.twice != l || !top.holds(len(im.sp.nodes)) {
			continue
		}
		for q := 1; q <= len(l.open.parts); q++ {
			if q == len(l.open.parts) && l.holds(len(im.sp.nodes)) {
				continue
			}
			undo, ok := l.split(q)
			if ok {
				if end := rest(); end != nil {
					return end
				}
			}
			undo()
		}
	}
	return nil
}

// split puts the first q loops of a level into one of their own around it. It
// reports false where one of the two still has a loop twice.
func (l *written) split(q int) (undo func(), ok bool) {
	in, was := l.parent, l.open
	at := slices.Index(in.children, l)
	outer := &written{fn: l.fn, stage: l.stage, vectorLoop: -1, vectorDim: -2, parent: in, children: []*written{l}}
	outer.open = newOpenSizes(was.top, was.span, was.parts[:q])
	l.open = newOpenSizes(was.top, outer.open.cover, was.parts[q:])
	in.children[at], l.parent = outer, outer
	return func() { in.children[at], l.parent, l.open = l, in, was }, !outer.open.twice() && !l.open.twice()
}

// placeApart computes f, which slides, in a level of its own: the level that the
// goal has it in is split entirely, so that what was in there already is in another
// one, of a single iteration, inside. Directives do not tell the two apart.
func (im *importer) placeApart(s *State, f int, tasks map[*written]int) *State {
	in := im.tops[f][0].parent
	if in.open == nil || in.stores(f) || in.innermost {
		return nil
	}
	for _, r := range im.align(s, tasks) {
		if r.chain[r.to] != in {
			continue
		}
		inside := tasks
		if n := tasks[r.chain[0]]; n > r.to {
			inside = maps.Clone(tasks)
			inside[r.chain[0]]++
		}
		defer in.apart(f)()
		return im.place(s, f, inside)
	}
	return nil
}

// apart moves all that Funcs before f have in l into a new level inside.
func (l *written) apart(f int) (undo func()) {
	was := *l
	inner := &written{fn: l.fn, stage: l.stage, vectorLoop: -1, vectorDim: -2, parent: l,
		open: newOpenSizes(l.open.top, l.open.cover, nil)}
	l.stored, l.children = nil, nil
	for _, g := range was.stored {
		to := l
		if g < f {
			to = inner
		}
		to.stored = append(to.stored, g)
	}
	for _, c := range was.children {
		to := l
		if c.fn < f {
			to = inner
		}
		c.parent = to
		to.children = append(to.children, c)
	}
	l.children = append(l.children, inner)
	return func() {
		l.stored, l.children = was.stored, was.children
		for _, c := range l.children {
			c.parent = l
		}
	}
}

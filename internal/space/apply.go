package space

import (
	"cmp"
	"slices"

	"github.com/protuner/protuner/internal/schedule"
)

// loopVar is one loop of a stage while splits are applied to it.
type loopVar struct {
	name      string
	loop      int // which of the stage's loops it is part of
	extent    int64
	least     int64 // iterations that there are whenever it runs, counted as before any split of it: see shorten
	covers    int64 // how many of those one of its own is
	pure      bool
	there     bool // the loop exists; splits by one leave only one of two
	whole     bool // not the inner part of any split
	constant  bool // its extent is known when Halide compiles
	vector    bool // part of the loop that is vectorised
	ragged    bool // sums end where its data have it, and no vector is along it
	inside    bool // the vector is around it: see outerVector
	longer    bool // inside a tile that wholeBlocks made longer than the level has it
	parallel  bool
	unrolled  bool
	vectorise bool
}

// fewest is how many iterations of its own there are whenever the loop runs.
func (v *loopVar) fewest() int64 { return ceilDiv(v.least, v.covers) }

// stageLoops is a stage's schedule in the making.
type stageLoops struct {
	vars       []loopVar // innermost first, in groups of one per loop: one per level
	names      map[string]bool
	directives []schedule.Directive // renames and splits
	partial    bool                 // a tile may hold less than its factor wherever it is, not only at the end
	guarded    bool                 // a tile may hold less than its factor, at the end at least
}

// place is where a Func ends up.
type place struct {
	compute, store *schedule.Level // nil: root
	levels         [2]*Nest        // of compute and store
	stack          bool
	vector         int
	realised       bool
}

// writer turns a loop nest into directives. What it does about splits, loop
// orders, unrolling and storage is what Adams et al. do when they apply a state
// (section 3.3 of the paper says it in words). Ours are tails (see tail), blocks, terms,
// dots, lanes, vectors across reductions, interchange, slices and periods.
type writer struct {
	sp     *Space
	stages []*stageLoops
	places []place
	state  *State
}

// Schedule is the state as directives, which for a partial state leave the Funcs
// not decided about inline. It begins with the structural directives that the
// description was made after, and applies to Halide as it stands: consumers come
// before the Funcs computed in their loops, splits before what uses the loops.
func (s *State) Schedule() schedule.Schedule {
	w := writer{sp: s.sp, stages: make([]*stageLoops, len(s.sp.stages)), places: make([]place, len(s.sp.nodes)), state: s}
	for _, c := range s.root.Children {
		w.level(c, s.root, nil, 1)
	}
	for _, f := range s.root.StoreAt {
		w.places[f].levels[1] = s.root
	}
	if s.slice != nil {
		w.slice(s.root, s.slice)
	}
	out := schedule.Schedule{Directives: slices.Clone(s.sp.head.Directives)}
	for f := range s.sp.nodes {
		if w.places[f].realised {
			out.Directives = append(out.Directives, w.directives(f)...)
		}
	}
	if s.sized {
		out, _ = Specialized(s.sp.p, out)
	}
	return out
}

// level applies one loop level: here is the Halide loop it is inside of, nil at
// root, depth its depth below the root.
func (w *writer) level(n, parent *Nest, here *schedule.Level, depth int) {
	node := &w.sp.nodes[n.Func]
	num := n.stageNumber()
	top := parent.Func != n.Func
	if top {
		w.stages[num] = w.begin(n, parent)
		if n.Stage == 0 {
			p := &w.places[n.Func]
			p.realised, p.vector, p.compute = true, n.VectorDim, here
			if p.levels[0] = parent; w.sp.jumps(parent, n) {
				p.store, p.levels[1] = p.compute, parent
			}
			p.stack = w.sp.bytes(n.Func, parent) < float64(w.sp.o.StackBytes) && depth > 2
		}
	}
	st := w.stages[num]
	if n.Innermost {
		switch {
		case w.sumsAcross(st, n):
		case n.VectorLoop < 0:
			loops := w.block(st, n)
			w.terms(st, n, loops)
		case !w.onePoint(n):
			st.vectorised().vectorise = true
			w.longerVectors(st, n, parent)
			w.shorterVectors(st, n)
			w.dot(st, n)
		}
		return
	}
	group := w.splitLevel(st, n)
	here = &schedule.Level{Func: node.Name, Stage: schedule.AnyStage, Loop: st.innermost()}
	st.vars = append(group, st.vars...)
	for _, f := range n.StoreAt {
		w.places[f].store = here
		w.places[f].levels[1] = n
	}
	for _, c := range slices.Backward(n.Children) {
		w.level(c, n, here, depth+1)
	}
}

// suffixes are loop names that Halide 19 and 21 have a use of their own for: the outer part
// of a split of x, where it is called s, is x.s, as is what the simplifier splits off the
// value of x, and one is taken for the other. Sums over tiles of a dimension of that name
// were added up once for each vector of the tile, those over one called max were NaN.
var suffixes = [...]string{"s", "min", "max", "loop_min", "loop_max"}

// begin lists the loops of a stage as the algorithm leaves them, except that the
// vectorised one comes first of the pure ones around it, and those of a name that Halide
// confuses have another.
func (w *writer) begin(n, parent *Nest) *stageLoops {
	st := &w.sp.stages[n.stageNumber()]
	out := &stageLoops{names: map[string]bool{}}
	around := parent.Bounds(n.Func).Loops(n.Stage)
	outer := st.outerVector(n.VectorLoop)
	for _, l := range st.Loops {
		out.names[l.Var] = true
	}
	for i, l := range st.Loops {
		name := l.Var
		if slices.Contains(suffixes[:], name) {
			name = out.fresh(name)
			out.directives = append(out.directives, schedule.Directive{Op: schedule.Rename, Func: w.sp.nodes[n.Func].Name, Stage: n.Stage,
				Vars: []string{l.Var}, New: []string{name}})
		}
		out.vars = append(out.vars, loopVar{
			name: name, loop: i, pure: l.Pure, there: true, whole: true,
			extent: around[i].Extent(), least: around[i].Extent(), covers: 1, constant: around[i].Constant,
			vector: i == n.VectorLoop, ragged: l.Ragged && i != n.VectorLoop && !w.sp.o.Unchecked, parallel: (l.Pure || i == st.shared) && n.Parallel,
			inside: outer && i < n.VectorLoop && !l.Pure,
		})
	}
	w.shorten(out, n, parent)
	if !st.ordered && !w.sp.o.Unchecked {
		out.shortInside()
	}
	for i := n.VectorLoop - 1; i >= 0 && out.vars[i].pure; i-- {
		out.vars[i], out.vars[i+1] = out.vars[i+1], out.vars[i]
	}
	return out
}

// fewTerms is how many iterations short reduction loops have, and mostTerms how many they
// have together where they are unrolled.
const fewTerms, mostTerms = 4, 16

// shortInside has the short loops of a stage that is all reduction inside the long ones, and
// unrolls them: of the four cells of a mesh that a point is spread over, each needs where the
// point lies, and the algorithm may go through the points once for each.
func (s *stageLoops) shortInside() {
	var short, long []loopVar
	terms := int64(1)
	for _, v := range s.vars {
		switch {
		case v.pure:
			return
		case v.constant && v.extent <= fewTerms:
			v.unrolled = v.extent > 1
			terms *= v.extent
			short = append(short, v)
		default:
			long = append(long, v)
		}
	}
	if terms <= mostTerms {
		s.vars = append(short, long...)
	}
}

// Schedules are checked at an output that is smaller by so much where it has so many points
// in a dimension (kCrop and kCropFrom of halide/dataset.cpp), and should be good for that.
const (
	smallerFrom = 32
	smallerBy   = 10
)

// shorten finds where the loops of a stage can be shorter than the bounds of the level
// they are in say. Where these are the estimates, at root or where no loop around cuts them,
// the output may be smaller. Of a Func that slides Halide computes in an iteration no more than
// those before have not: a step. That goes for what it reads too, so it is taken to go for all
// that is computed there; in a loop that moves none of it that is nothing after the first
// iteration. And in a tile that is not full, or where a condition leaves out iterations,
// anything may be short.
func (w *writer) shorten(s *stageLoops, n, parent *Nest) {
	if !w.sp.o.Unchecked {
		all := w.sp.Extents(n.Func, n.Stage)
		for i := range s.vars {
			if v := &s.vars[i]; !v.constant && v.extent >= smallerFrom && (parent.IsRoot() || v.extent == all[i]) {
				v.least -= smallerBy
			}
		}
	}
	if parent.IsRoot() {
		return
	}
	st, around := &w.sp.stages[n.stageNumber()], w.stages[parent.stageNumber()]
	if around.guarded && !slices.Contains(parent.StoreAt, n.Func) {
		for i := range s.vars { // where it slides into a tile that is not full less is new
			s.vars[i].constant = s.vars[i].constant && !s.vars[i].pure
		}
	}
	if around.partial || w.sp.nodes[n.Func].partly {
		for i := range s.vars {
			s.vars[i].least = 1
		}
		return
	}
	if !slices.ContainsFunc(parent.Children, parent.slides) {
		return
	}
	if parent.stands(n.Func) {
		for i := range s.vars {
			s.vars[i].least = 0
		}
		return
	}
	parent.eachStep(n.Func, func(dim int, step, overlap int64) {
		for i, l := range st.Loops {
			if l.PureDim == dim && step > 0 && overlap > 0 {
				s.vars[i].least = min(s.vars[i].least, step)
			}
		}
	})
}

// onePoint holds where the state has it that a stage makes one point after the other. A
// vector of points that lie wherever the data have it is read and written back by as many
// loads and stores as it has lanes, and put together and taken apart besides; one of sums
// that end wherever the data have it goes on until all possible ends.
func (w *writer) onePoint(n *Nest) bool {
	_, ok := w.state.vectorsOf(n.Func, Scalar)
	return ok && diverges(w.sp.stages[n.stageNumber()].Loops[n.VectorLoop])
}

// toItsEnd holds where a stage makes one point after the other of sums that end where the
// data have it, and nothing else is computed in its level around them.
func (w *writer) toItsEnd(n, points *Nest) bool {
	return points.VectorLoop >= 0 && len(n.Children) == 1 && len(n.StoreAt) == 0 &&
		w.onePoint(points) && w.sp.stages[n.stageNumber()].Loops[points.VectorLoop].Ragged
}

// sumInside moves the reduction loops of the innermost level into the group of points inside
// it and inside of these: only there can Halide end them where the point's sum does.
func (s *stageLoops) sumInside(group []loopVar) {
	for i := range group {
		if v := &s.vars[i]; !v.pure && v.there && !group[i].there {
			group[i] = *v
			v.there, v.extent = false, 1
		}
	}
	reductionsInside(group)
}

// outerVector holds where the vector is along a reduction loop that has others inside it
// whose order counts: it is made where it stands, around all of these, since Halide changes
// no order that it cannot prove irrelevant. So they are cut by no level.
func (st *stage) outerVector(loop int) bool {
	return loop >= 0 && !st.Loops[loop].Pure && st.ordered
}

// vectorised is the innermost loop that is there of those vectorised.
func (s *stageLoops) vectorised() *loopVar {
	for i := range s.vars {
		if s.vars[i].vector && s.vars[i].there {
			return &s.vars[i]
		}
	}
	panic("space: a vectorised stage lost its vector loop")
}

// innermost names the innermost loop that is there.
func (s *stageLoops) innermost() string {
	for i := range s.vars {
		if s.vars[i].there {
			return s.vars[i].name
		}
	}
	return outermost
}

// outermost is Halide's name for the loop around all others of a stage.
const outermost = schedule.Outermost

// fresh derives the name of an inner loop that the stage does not have yet.
func (s *stageLoops) fresh(of string) string {
	name := of + "i"
	for s.names[name] {
		name += "i"
	}
	s.names[name] = true
	return name
}

// splitLevel splits the current innermost group of loops for level n and returns
// the group inside it.
func (w *writer) splitLevel(s *stageLoops, n *Nest) []loopVar {
	st := &w.sp.stages[n.stageNumber()]
	child := n.innerLevel()
	last := child
	for last != nil && !last.Innermost {
		last = last.innerLevel()
	}
	group := make([]loopVar, len(st.Loops))
	for i := range group {
		v := &s.vars[i]
		if !v.there {
			group[i] = loopVar{loop: v.loop, extent: 1}
			continue
		}
		size := n.Size[v.loop]
		factor := ceilDiv(v.extent, size)
		if lanes := last.Size[v.loop]; v.vector {
			points := ceilDiv(factor, lanes) * lanes
			switch whole := w.wholeBlocks(n.Func, n.VectorDim, lanes, points, v.extent); {
			case child.Innermost && v.longer:
				factor, size = lanes, ceilDiv(v.extent, lanes)
			case whole > points:
				factor, size = whole, ceilDiv(v.extent, whole)
				v.longer = true
			default:
				factor = points
			}
			if shorter := w.lanesIn(n, last); shorter < lanes {
				factor, size = shorter, ceilDiv(v.extent, shorter)
			}
		} else {
			factor = max(factor, lanes)
		}
		switch {
		case factor == 1 && !v.inside:
			group[i] = loopVar{loop: v.loop}
		case v.inside || size == 1 && !(child.Innermost && v.vector && v.whole):
			// Nothing to split: the loop moves inwards as it is.
			group[i] = *v
			group[i].parallel = false
			v.there, v.extent = false, 1
		default:
			tail := w.tail(st, v, factor)
			s.partial = s.partial || tail == guard && factor > v.fewest()
			s.guarded = s.guarded || tail == guard && v.pure
			group[i] = w.split(s, n, v, factor, tail)
			v.extent = size
		}
	}
	switch {
	case !child.Innermost:
	case w.toItsEnd(n, child):
		s.sumInside(group)
	default:
		loops := len(group)
		if w.interchanges(n) || !s.unroll(loops, w.sp.UnrollLimit(n.Func, n.Stage)) {
			loops = w.block(s, n)
		}
		w.terms(s, n, loops)
	}
	return group
}

// split splits the loop v of stage n and returns its inner part. How often the outer one
// iterates is for whoever splits to say.
func (w *writer) split(s *stageLoops, n *Nest, v *loopVar, factor int64, tail string) loopVar {
	inner := *v
	inner.name = s.fresh(v.name)
	inner.extent, inner.least, inner.covers, inner.parallel, inner.whole = factor, factor, 1, false, false
	inner.constant = tail != guard
	v.covers *= factor
	s.directives = append(s.directives, schedule.Directive{Op: schedule.Split, Func: w.sp.nodes[n.Func].Name, Stage: n.Stage,
		Vars: []string{v.name}, New: []string{v.name, inner.name}, Ints: []int64{factor}, Word: tail})
	return inner
}

// unroll unrolls the pure loops of the group around the innermost level when they
// are at most so many iterations of constant number, so that what they hold fits
// registers, and reports whether they are; reductions move outside them, but for those
// whose sums end where their data have it: no two of these share a loop. Loops that
// moved inwards whole count too: theirs is the vector's number of iterations then.
func (s *stageLoops) unroll(loops int, limit int64) bool {
	group := s.vars[:loops]
	product, constant := int64(1), true
	for _, v := range group {
		if v.pure && !v.ragged {
			product *= v.extent
			constant = constant && v.constant
		}
	}
	if product > limit || !constant {
		return false
	}
	unrollPoints(group)
	return true
}

// unrollPoints unrolls a group's loops over points inside its reductions, but for ragged ones.
func unrollPoints(group []loopVar) {
	slices.SortStableFunc(group, func(a, b loopVar) int { return cmp.Or(outside(a)-outside(b), rank(a)-rank(b)) })
	for i := range group {
		v := &group[i]
		v.unrolled = v.pure && !v.ragged && v.there && v.extent > 1
	}
}

// reductionsInside moves the reduction loops of a group inside its pure ones.
func reductionsInside(group []loopVar) {
	slices.SortStableFunc(group, func(a, b loopVar) int { return rank(b) - rank(a) })
}

// reductionsOutside moves them outside.
func reductionsOutside(group []loopVar) {
	slices.SortStableFunc(group, func(a, b loopVar) int { return rank(a) - rank(b) })
}

func rank(v loopVar) int {
	if v.pure {
		return 0
	}
	return 1
}

// outside is 1 for loops that stay around the reductions inside them, which end by each.
func outside(v loopVar) int {
	if v.ragged {
		return 1
	}
	return 0
}

// The tail strategies used, by their names in directives.
const (
	guard   = "guard_with_if"
	roundUp = "round_up"
	shift   = "shift_inwards"
)

// tail picks what happens when factor does not divide the loop v:
//
//   - Reduction loops, and loops of an update that come from inside a split,
//     cannot repeat or add iterations: guard.
//   - Where computing more of the Func than required reads no more of any input
//     and asks for no more of any output, rounding up costs least.
//   - Elsewhere pure definitions shift the last tile inwards, if a tile always
//     fits and an update does not fill it, and updates guard.
//
// Adams et al. also round up where only the loop nest's own accesses are no
// inputs; we look through producers too, because a Func that is rounded up makes
// its producers compute more, and they then read beyond an input.
func (w *writer) tail(st *stage, v *loopVar, factor int64) string {
	loop := &st.Loops[v.loop]
	switch {
	case loop.RVar || !loop.Pure || st.idx > 0 && !v.whole:
		return guard
	case !w.sp.nodes[st.fn].spillsAlong(loop.PureDim):
		return roundUp
	case st.idx > 0 || factor > v.fewest() || w.fillsTile(st.fn, loop.PureDim):
		return guard
	}
	return shift
}

// fillsTile holds where f is computed in the loops of an update that reads, along a dimension,
// as many points as a tile of its own has. What the update guards, Halide takes for an extent
// that varies, and a tile that is shifted by it, for one that may begin before all that there
// is; with whole tiles no guard is left.
func (w *writer) fillsTile(f, dim int) bool {
	n := w.places[f].levels[0]
	if n == nil || n.Stage <= 0 {
		return false
	}
	st := &w.sp.nodes[n.Func].Stages[n.Stage]
	for e := range st.Edges {
		for k := range st.Edges[e].Jacobians {
			if j := &st.Edges[e].Jacobians[k]; st.Edges[e].Producer == f && (!has(j, dim) || rowReduced(st, j.Coeffs[dim])) {
				return false
			}
		}
	}
	return true
}

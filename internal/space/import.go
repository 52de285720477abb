package space

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// maxImportSteps bounds the decisions that Import tries. A nest of 100 Funcs is
// read in a few hundred.
const maxImportSteps = 20000

// Import makes a state of a loop nest given as text, as State.String writes it or
// as Halide's Adams2019 does (HL_DEBUG_AUTOSCHEDULE=2), which may be that of a
// partial schedule.
//
// The text gives the sizes of loops but not the representative iterations that
// bounds are taken at (see docs/features.md): these depend on the order of the splits
// that led there. So Import looks for decisions that lead to the nest, in the
// order in which they are taken. They are nearly always determined: each place
// where a level was split holds the Func that it was split for. Where tiles do not
// divide a loop several may do, and the first is taken; the marks of constant
// extents have to agree as well.
//
// A nest may break the limits of the space, which the state then records as it
// does where nothing is legal. Errors name the first Func whose decision leads to
// no nest like the one given.
func (sp *Space) Import(text string) (*State, error) { return sp.ImportAs(text, nil) }

// ImportAs is Import of a loop nest whose text leaves open which of several states it
// is: of those, the first that accept, unless it is nil, takes.
func (sp *Space) ImportAs(text string, accept func(*State) bool) (*State, error) {
	goal, err := sp.parseNest(text)
	if err != nil {
		return nil, err
	}
	im := sp.newImporter(goal)
	im.accept = accept
	s := im.follow(sp.start, nil)
	switch {
	case s != nil:
		return s, nil
	case im.steps > im.limit:
		return nil, errors.New("space: import of a loop nest: too many ways to read it")
	case accept != nil:
		return nil, errors.New("space: import of a loop nest: none of the states found for it is accepted")
	}
	return nil, fmt.Errorf("space: import of a loop nest: no decision about %s leads to it", sp.nodes[max(0, im.furthest/2)].Name)
}

func (sp *Space) newImporter(goal *written) *importer {
	im := &importer{sp: sp, goal: goal, tops: map[int][]*written{}, inlined: map[int]bool{}, named: map[int]bool{}, furthest: -1, limit: maxImportSteps}
	im.list(goal)
	return im
}

type importer struct {
	sp       *Space
	goal     *written
	tops     map[int][]*written // outermost levels by Func
	inlined  map[int]bool
	named    map[int]bool // Funcs that the goal has in any way
	steps    int
	limit    int               // on steps
	furthest int               // position of the last decision that was reached
	accept   func(*State) bool // unless nil, has the last word about a complete state
	plain    bool              // levels that slide hold what was there before them, if they may: see placeApart
}

func (im *importer) list(l *written) {
	for _, in := range l.inlined {
		im.inlined[in.Func], im.named[in.Func] = true, true
	}
	for _, f := range l.stored {
		im.named[f] = true
	}
	for _, c := range l.children {
		im.named[c.fn] = true
		if c.fn != l.fn || c.stage != l.stage {
			im.tops[c.fn] = append(im.tops[c.fn], c)
		}
		im.list(c)
	}
}

// follow takes the decisions from s on, nil where none of those left leads to the
// goal. tasks says, per stage cut into tasks, how many of its levels in the goal
// are outside the tasks.
func (im *importer) follow(s *State, tasks map[*written]int) *State {
	im.steps++
	if im.steps > im.limit {
		return nil
	}
	if s.Complete() {
		return im.finished(s, tasks)
	}
	im.furthest = max(im.furthest, s.pos)
	f, kind := s.Deciding()
	if kind == Tasks {
		return im.followTasks(s, f, tasks)
	}
	if im.inlined[f] {
		if len(im.tops[f]) > 0 || !im.sp.CanInline(f) {
			return nil
		}
		return im.try(s, Action{Kind: Inline, Func: f}, tasks)
	}
	if len(im.tops[f]) == 0 {
		return im.finished(s, tasks) // a partial schedule ends here
	}
	ways := []func(*State, int, map[*written]int) *State{im.place, im.placeApart}
	if in := im.tops[f][0].parent; in.open != nil && in.holds(f) && !im.plain {
		slices.Reverse(ways) // the likelier where something was in there before
	}
	for _, way := range ways {
		if end := way(s, f, tasks); end != nil {
			return end
		}
	}
	return nil
}

// place computes f where the goal has it.
func (im *importer) place(s *State, f int, tasks map[*written]int) *State {
	for _, v := range im.vectors(f) {
		for _, a := range im.placements(s, f, v, tasks) {
			if end := im.try(s, a, tasks); end != nil {
				return end
			}
		}
	}
	return nil
}

// finished is s if it is the goal: nothing is left that it does not have, and
// extents are constant where the goal's are.
func (im *importer) finished(s *State, tasks map[*written]int) *State {
	for f := range im.named {
		if 2*f >= s.pos {
			return nil
		}
	}
	at := im.align(s, tasks)
	if at == nil {
		return nil
	}
	for l, r := range at {
		if !l.IsRoot() && (r.from != r.to || !r.chain[r.from].sameExtents(s, l)) {
			return nil
		}
	}
	if im.accept != nil && !im.accept(s) {
		return nil
	}
	return s
}

// sameExtents holds where a level's loops are constant where the text says so.
func (l *written) sameExtents(s *State, n *Nest) bool {
	around := s.root.around(n).Bounds(n.Func).Loops(n.Stage)
	for i, c := range l.constant {
		if around[i].Constant != c {
			return false
		}
	}
	return true
}

// around is the level that has l as a child.
func (n *Nest) around(l *Nest) *Nest {
	for _, c := range n.Children {
		if c == l {
			return n
		}
		if up := c.around(l); up != nil {
			return up
		}
	}
	return nil
}

// try takes one step and goes on from there if it is on the way to the goal.
func (im *importer) try(s *State, a Action, tasks map[*written]int) *State {
	next := s.step(a)
	if a.Kind == Compute {
		im.measure(next.root, a.Func)
	}
	if im.align(next, tasks) == nil {
		return nil
	}
	return im.follow(next, tasks)
}

// vectors lists the dimensions that f may be vectorised over in the goal.
func (im *importer) vectors(f int) []int {
	n := &im.sp.nodes[f]
	for _, top := range im.tops[f] {
		for _, l := range top.chain() {
			switch {
			case n.dims == 0 || n.Extern:
				return []int{-1}
			case l.vectorDim >= -1:
				return []int{l.vectorDim}
			case l.vectorLoop >= 0:
				if d := im.sp.stages[n.first+l.stage].along[l.vectorLoop]; d >= 0 {
					return []int{d}
				}
			}
		}
	}
	return n.vectorDims
}

// placements lists the ways to compute f where the goal has it.
func (im *importer) placements(s *State, f, v int, tasks map[*written]int) []Action {
	a := Action{Kind: Compute, Func: f, Vector: v}
	compute := im.tops[f][0].parent
	if im.sp.OnlyRoot(f) && compute != im.goal {
		return nil
	}
	store := compute
	for !store.stores(f) {
		if store = store.parent; store == nil {
			return nil
		}
	}
	at := im.align(s, tasks)
	path := im.sp.appendPath(nil, s.root, f)
	for i, l := range path {
		r, ok := at[l]
		if !ok || !r.contains(store) {
			continue
		}
		a.Level = i
		out := []Action{a}
		if !l.IsRoot() {
			out = im.cuts(out, l.Size, r, store, splits, func(a *Action, t []int64) { a.Tile = t })
		}
		if store == compute {
			return out
		}
		for j := range out {
			out[j].Slide = true
		}
		if in := (levels{r.chain, r.find(store) + 1, r.to}); !l.IsRoot() && in.from <= in.to {
			return im.within(out, l.Size, in, compute)
		}
		if i+1 == len(path) {
			return nil
		}
		c := path[i+1]
		if r, ok = at[c]; !ok || !r.contains(compute) {
			return nil
		}
		if r.find(compute) < r.to && !im.sp.o.StripSlide && !c.strip(c.Size) {
			return nil // such a split cannot have been made for this Func
		}
		kind := whole
		if im.sp.o.StripSlide {
			kind = stepped
		}
		return im.cuts(out, c.Size, r, compute, kind, func(a *Action, t []int64) { a.Inner = t })
	}
	return nil
}

// within splits the inner half of the level that the actions cut, in in the goal,
// so that a Func can be computed at compute.
func (im *importer) within(as []Action, size []int64, in levels, compute *written) []Action {
	var out []Action
	if !in.contains(compute) {
		return nil
	}
	for _, a := range as {
		half := make([]int64, len(size))
		for i := range half {
			half[i] = ceilDiv(size[i], a.Tile[i])
		}
		out = append(out, im.cuts([]Action{a}, half, in, compute, whole, func(a *Action, t []int64) { a.Inner = t })...)
	}
	return out
}

// cuts completes actions that put something into level l of the goal, which is
// one of r, which is one level of this size so far: where l is not the last of
// them that level has to be cut first.
func (im *importer) cuts(as []Action, size []int64, r levels, l *written, kind tilingKind, set func(*Action, []int64)) []Action {
	k := r.find(l)
	if k == r.to {
		return as
	}
	outer, inner := levels{r.chain, r.from, k}, levels{r.chain, k + 1, r.to}
	var out []Action
	add := func(t []int64) {
		for _, a := range as {
			set(&a, t)
			out = append(out, a)
		}
	}
	for _, t := range im.tiles(size, outer, inner, kind) {
		fit := true
		for i := range t {
			fit = fit && kind.has(size[i], t[i]) && t[i] <= size[i] && outer.may(i, t[i]) && inner.may(i, ceilDiv(size[i], t[i]))
		}
		if fit {
			add(t)
		}
	}
	return out
}

// followTasks cuts f into the goal's tasks.
func (im *importer) followTasks(s *State, f int, tasks map[*written]int) *State {
	tops := im.tops[f]
	if len(tops) == 0 || !tops[0].chain()[0].parallel {
		return im.try(s, Action{Kind: Tasks, Func: f, Vector: -1}, tasks)
	}
	var all [][]int64
	for _, o := range im.sp.taskOptions(s.root, f) {
		all = append(all, o.tasks)
	}
	end := im.withEdges(tops, func() *State { return im.anyTasks(s, f, all, tasks) })
	if want := []int64(nil); end == nil && tops[0].open != nil {
		if want = im.wantedTasks(f); !contains(all, want) {
			end = im.anyTasks(s, f, [][]int64{want}, tasks)
		}
	}
	return end
}

// anyTasks cuts f into any of these tasks.
func (im *importer) anyTasks(s *State, f int, all [][]int64, tasks map[*written]int) *State {
	for _, t := range all {
		next := s.step(Action{Kind: Tasks, Func: f, Vector: -1, Tile: t})
		if end := im.taskLevels(next, im.tops[f], tasks); end != nil {
			return end
		}
	}
	return nil
}

// taskLevels tries, stage after stage, how many of the goal's levels the tasks of
// the new state s amount to: later decisions may have split them.
func (im *importer) taskLevels(s *State, tops []*written, tasks map[*written]int) *State {
	if len(tops) == 0 {
		if im.align(s, tasks) == nil {
			return nil
		}
		return im.follow(s, tasks)
	}
	top, chain := tops[0], tops[0].chain()
	var l *Nest
	for _, c := range s.root.Children {
		if c.Func == top.fn && c.Stage == top.stage {
			l = c
		}
	}
	for k := 1; k < len(chain); k++ {
		r := levels{chain, 0, k - 1}
		fit := true
		for i, n := range l.Size {
			fit = fit && r.may(i, n)
		}
		if !fit {
			continue
		}
		more := map[*written]int{top: k}
		for t, n := range tasks {
			more[t] = n
		}
		if end := im.taskLevels(s, tops[1:], more); end != nil {
			return end
		}
	}
	return nil
}

// levels are consecutive levels of one stage in the goal.
type levels struct {
	chain    []*written
	from, to int
}

func (r levels) find(l *written) int { return slices.Index(r.chain, l) }

func (r levels) contains(l *written) bool {
	k := r.find(l)
	return k >= r.from && k <= r.to
}

// may holds where a loop i of n iterations may have been split into these levels.
func (r levels) may(i int, n int64) bool {
	least, most := r.count(i)
	return least <= n && n <= most
}

// count bounds the iterations of loop i before they were split: splits round up.
func (r levels) count(i int) (least, most int64) {
	if r.from == r.to {
		return r.chain[r.from].sizes(i)
	}
	least, most = math.MaxInt64, 1
	for l := r.from; l <= r.to; l++ {
		_, n := r.chain[l].sizes(i)
		most = min(most, farthest) * n
	}
	for k := r.from; k < r.to; k++ {
		outer, _ := levels{r.chain, r.from, k}.count(i)
		inner, _ := levels{r.chain, k + 1, r.to}.count(i)
		least = min(least, (min(inner, farthest)-1)*min(outer, farthest)+1)
	}
	return least, most
}

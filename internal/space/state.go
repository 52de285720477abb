package space

import (
	"math/rand"
	"strings"

	"github.com/protuner/protuner/internal/pipeline"
)

// State is a partial schedule: decisions made so far, in order, and the loop nest
// they amount to. It never changes once made, shares with other states what they
// have in common, and is safe for concurrent use.
//
// Two decisions are taken per Func, consumers before producers: where it is
// computed and stored, and then, if it ended at root and there is more than one
// core, its parallel tasks. Decisions with nothing to decide (inputs, the tasks
// of a Func inside other loops) are not steps.
type State struct {
	sp     *Space
	root   *Nest
	pos    int    // twice the Func to decide about next, plus one for its tasks
	spared bitset // Funcs that broke a limit because nothing else was legal
	parent *State
	by     Action // what led here from parent
}

func (sp *Space) newStart() *State {
	root := &Nest{Func: -1, Stage: -1, VectorDim: -1, VectorLoop: -1, site: sp.root}
	s := &State{sp: sp, root: sp.seal(root)}
	s.settle()
	return s
}

// settle moves on past decisions with nothing to decide.
func (s *State) settle() {
	for s.pos < 2*len(s.sp.nodes) {
		n := &s.sp.nodes[s.pos/2]
		if !n.given && (s.pos%2 == 0 || s.hasTasks(s.pos/2)) {
			return
		}
		s.pos++
	}
}

// hasTasks holds for a Func whose loops can be made parallel.
func (s *State) hasTasks(f int) bool {
	n := &s.sp.nodes[f]
	if s.sp.o.Parallelism == 1 || n.dims == 0 || n.Extern {
		return false
	}
	for _, l := range s.root.Children {
		if l.Func == f {
			return true
		}
	}
	return false
}

// Space is what the state is part of.
func (s *State) Space() *Space { return s.sp }

// Pipeline is what is scheduled.
func (s *State) Pipeline() *pipeline.Pipeline { return s.sp.p }

// Root is the loop nest of the Funcs decided so far.
func (s *State) Root() *Nest { return s.root }

// Depth is how far the decisions have come, in Adams et al.'s count: two a Func,
// those with nothing to decide included. States of equal depth decide about the
// same thing next.
func (s *State) Depth() int { return s.pos }

// Complete holds when nothing is left to decide.
func (s *State) Complete() bool { return s.pos == 2*len(s.sp.nodes) }

// Next decision's Func and kind; Kind Compute stands for inlining too.
func (s *State) Deciding() (fn int, kind Kind) {
	switch {
	case s.Complete():
		return -1, 0
	case s.pos%2 == 0:
		return s.pos / 2, Compute
	}
	return s.pos / 2, Tasks
}

// Key identifies the state: equal for equal loop nests at equal depth, however
// they were reached, and different with overwhelming likelihood otherwise.
func (s *State) Key() uint64 {
	h := newHash()
	h.add(s.root.hash, uint64(s.pos))
	for _, w := range s.spared {
		h.add(w)
	}
	return uint64(h)
}

// String is the loop nest, outermost first, in the notation of Adams et al.'s
// code.
func (s *State) String() string {
	var b strings.Builder
	s.sp.dump(&b, s.root, nil, "")
	return b.String()
}

// make is the state that a leads to, and whether a is legal. A state that breaks
// a limit is made all the same: it stands in where nothing is legal.
func (s *State) make(a Action) (*State, bool) {
	root := s.root
	switch {
	case a.Kind == Inline:
		root = s.sp.inline(root, a.Func)
	case a.Kind == Compute:
		var ok bool
		if root, ok = s.sp.place(root, a); !ok {
			return nil, false
		}
	case a.Tile != nil:
		root = s.sp.parallelise(root, a.Func, a.Tile)
	}
	a.made = nil
	next := &State{sp: s.sp, root: root, pos: s.pos + 1, spared: s.spared, parent: s, by: a}
	broken := s.sp.broken(root, s.spared)
	if broken != nil {
		if s.spared != nil {
			broken.union(s.spared)
		}
		next.spared = broken
	}
	next.settle()
	return next, broken == nil
}

// step is the state that a leads to, within limits or not; nil where a is no
// action of the state's.
func (s *State) step(a Action) *State {
	next, _ := s.make(a)
	return next
}

// Next is the state that a, one of the state's actions, leads to. It panics on an
// action that is none of any state's: that is a mistake of the program.
func (s *State) Next(a Action) *State {
	if a.made != nil && a.made.parent == s {
		return a.made
	}
	next := s.step(a)
	if next == nil {
		panic("space: not an action of this state: " + a.String())
	}
	return next
}

// Actions appends every legal action to dst, in a fixed order. There are none
// exactly when the state is complete.
func (s *State) Actions(dst []Action) []Action {
	f, kind := s.Deciding()
	switch kind {
	case Compute:
		return s.computeActions(dst, f)
	case Tasks:
		return s.taskActions(dst, f)
	}
	return dst
}

func (s *State) computeActions(dst []Action, f int) []Action {
	none := len(dst)
	n := &s.sp.nodes[f]
	inline, can := s.inlineAction(f)
	if can {
		dst = append(dst, inline)
	}
	if can && n.onlyInline || n.MustInline != "" {
		return dst
	}
	for _, fam := range s.sp.families(s.root, f) {
		s.each(fam, func(a Action) {
			if _, ok := s.make(a); ok {
				dst = append(dst, a)
			}
		})
	}
	if len(dst) == none {
		dst = append(dst, s.fallback(f))
	}
	return dst
}

// fallback is to compute f at root: always valid, if not always within limits.
func (s *State) fallback(f int) Action {
	return Action{Kind: Compute, Func: f, Vector: s.sp.nodes[f].vectorDims[0]}
}

// inlineAction is the inlining of f, if that is legal.
func (s *State) inlineAction(f int) (Action, bool) {
	a := Action{Kind: Inline, Func: f}
	n := &s.sp.nodes[f]
	if n.MustInline != "" {
		return a, true
	}
	if !n.inlinable() {
		return a, false
	}
	_, ok := s.make(a)
	return a, ok
}

// each calls add with every action of a family.
func (s *State) each(fam family, add func(Action)) {
	a := *fam.at
	if fam.tiles == nil {
		s.eachInner(fam, a, add)
		return
	}
	for _, t := range fam.tiles {
		a.Tile = t
		s.eachInner(fam, a, add)
	}
}

func (s *State) eachInner(fam family, a Action, add func(Action)) {
	if fam.inners == nil {
		add(a)
	} else {
		for _, u := range fam.inners {
			a.Inner = u
			add(a)
		}
	}
	if fam.deep {
		for _, u := range s.deepInners(a) {
			a.Inner = u
			add(a)
		}
	}
}

// deepInners lists the splits of the inner half that the tile of a leaves.
func (s *State) deepInners(a Action) [][]int64 {
	l := s.sp.path(s.root, a.Func)[a.Level]
	size := make([]int64, len(l.Size))
	for i := range size {
		size[i] = ceilDiv(l.Size[i], a.Tile[i])
	}
	return s.sp.tilings(size, whole)
}

// taskActions filters the ways to cut f into tasks. The first legal one is
// allowed however uneven it is; then only those within IdleLimit are.
func (s *State) taskActions(dst []Action, f int) []Action {
	none := len(dst)
	for _, o := range s.sp.taskOptions(s.root, f) {
		if len(dst) > none && o.idle > s.sp.o.IdleLimit {
			break
		}
		a := Action{Kind: Tasks, Func: f, Vector: -1, Tile: o.tasks}
		if _, ok := s.make(a); ok {
			dst = append(dst, a)
		}
	}
	if len(dst) == none {
		dst = append(dst, Action{Kind: Tasks, Func: f, Vector: -1})
	}
	return dst
}

// maxDraws is how many draws Sample makes before it lists the legal actions
// instead. Where one in ten is legal it misses once in 850 times.
const maxDraws = 64

// Sample draws one legal action without making the others; false when the state
// is complete. Every legal action has a positive probability and no other one
// has any:
//
//   - where to compute: inlining, if it is legal, and each family of placements
//     (vector dimension, loop level, direct or in tiles, slid or not) are equally
//     likely; within a family the tile sizes are, and given those the splits of
//     the level further in. Draws that break a limit are drawn again; after 64 of
//     them in a row, one of the legal actions is taken with equal probability.
//   - tasks: each legal tiling is equally likely.
func (s *State) Sample(rng *rand.Rand) (Action, bool) {
	f, kind := s.Deciding()
	switch kind {
	case Compute:
		return s.sampleCompute(rng, f), true
	case Tasks:
		as := s.taskActions(nil, f)
		return as[rng.Intn(len(as))], true
	}
	return Action{}, false
}

func (s *State) sampleCompute(rng *rand.Rand, f int) Action {
	n := &s.sp.nodes[f]
	inline, can := s.inlineAction(f)
	if can && n.onlyInline || n.MustInline != "" {
		return inline
	}
	fams := s.sp.families(s.root, f)
	choices := len(fams)
	if can {
		choices++
	}
	for range maxDraws {
		k := rng.Intn(choices)
		if k == len(fams) {
			return inline
		}
		a := s.draw(rng, fams[k])
		if next, ok := s.make(a); ok {
			a.made = next
			return a
		}
	}
	as := s.computeActions(nil, f)
	return as[rng.Intn(len(as))]
}

// draw draws an action of a family, its members being as likely as Sample says.
func (s *State) draw(rng *rand.Rand, fam family) Action {
	a := *fam.at
	if fam.tiles != nil {
		a.Tile = fam.tiles[rng.Intn(len(fam.tiles))]
	}
	inners := fam.inners
	if inners == nil {
		inners = [][]int64{nil}
	}
	if fam.deep {
		inners = append([][]int64{nil}, s.deepInners(a)...)
	}
	a.Inner = inners[rng.Intn(len(inners))]
	return a
}

package space

import (
	"strings"
	"sync/atomic"

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
	sp      *Space
	root    *Nest
	pos     int    // twice the Func to decide about next, plus one for its tasks
	spared  bitset // Funcs that broke a limit because nothing else was legal
	parent  *State
	by      Action                   // what led here from parent
	blocks  []Decision               // of a complete state: see Blocks
	vectors []Decision               // of a complete state: see Vectors
	slice   *Decision                // of a complete state: see Slices; nil for none
	sized   bool                     // of a complete state: see Sized
	said    atomic.Pointer[Decision] // the same by intent, once asked for
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
		s.pos = s.sp.after(s.pos)
	}
}

// after is the position after pos. With NoSubtiling all Funcs are placed before the
// tasks of the first are decided about.
func (sp *Space) after(pos int) int {
	last := 2 * len(sp.nodes)
	switch {
	case !sp.o.NoSubtiling:
		return pos + 1
	case pos == last-2:
		return 1
	}
	return min(pos+2, last)
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

// Parent is the state that a decision led here from, nil at the start.
func (s *State) Parent() *State { return s.parent }

// Space is what the state is part of.
func (s *State) Space() *Space { return s.sp }

// Pipeline is what is scheduled.
func (s *State) Pipeline() *pipeline.Pipeline { return s.sp.p }

// Root is the loop nest of the Funcs decided so far.
func (s *State) Root() *Nest { return s.root }

// Depth is how far the decisions have come, in Adams et al.'s count: two a Func,
// those with nothing to decide included. States of equal depth decide about the
// same thing next.
func (s *State) Depth() int {
	n := len(s.sp.nodes)
	if !s.sp.o.NoSubtiling || s.Complete() {
		return s.pos
	}
	return s.pos%2*n + s.pos/2
}

// Placed is how many Funcs it is decided about where to compute them: the first
// ones.
func (s *State) Placed() int {
	if s.sp.o.NoSubtiling && s.pos%2 == 1 {
		return len(s.sp.nodes)
	}
	return (s.pos + 1) / 2
}

// Complete holds when nothing is left to decide.
func (s *State) Complete() bool { return s.pos == 2*len(s.sp.nodes) }

// Deciding is the next decision's Func and kind; Compute stands for inlining too.
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
	h.add(s.root.key(), uint64(s.pos))
	for _, w := range s.spared {
		h.add(w)
	}
	h.add(^uint64(0))
	for _, b := range s.blocks {
		h.add(uint64(b.Func), uint64(b.Dim), uint64(b.Factor))
	}
	h.add(^uint64(0))
	for _, d := range s.vectors {
		h.add(uint64(d.Func), uint64(d.Kind), uint64(d.Factor))
	}
	h.add(^uint64(0))
	if s.slice != nil {
		h.add(uint64(s.slice.Func), uint64(s.slice.Dim))
	}
	h.flag(s.sized)
	return uint64(h)
}

// String is the loop nest, outermost first, in the notation of Adams et al.'s
// code.
func (s *State) String() string {
	var b strings.Builder
	s.sp.dump(&b, s.root, nil, "")
	return b.String()
}

// step is the state that a leads to, within limits or not.
func (s *State) step(a Action) *State {
	if a.of != s {
		a.cut, a.task = nil, nil
	}
	next := &State{sp: s.sp, pos: s.sp.after(s.pos), spared: s.spared, parent: s, by: a}
	switch {
	case a.Kind == Inline:
		next.root = s.sp.inline(s.root, a.Func)
	case a.Kind == Compute:
		var store [12]*Nest
		next.root = s.sp.place(s.sp.appendPath(store[:0], s.root, a.Func), &a)
	case a.Tile == nil:
		next.root = s.root
	case a.task != nil:
		next.root = s.sp.parallelise(s.root, a.Func, a.task.levels)
	default:
		next.root = s.sp.parallelise(s.root, a.Func, s.sp.inTasks(s.root, a.Func, a.Tile))
	}
	next.by.of, next.by.cut, next.by.task, next.by.made = nil, nil, nil, nil
	if a.of != s {
		if broken := s.sp.broken(next.root, s.spared); broken != nil {
			if s.spared != nil {
				broken.union(s.spared)
			}
			next.spared = broken
		}
	}
	next.settle()
	return next
}

// Next is the state that a, one of the state's actions, leads to. It panics on an
// action that is none of any state's: that is a mistake of the program.
func (s *State) Next(a Action) *State {
	if a.made != nil && a.of == s {
		return a.made
	}
	if f, kind := s.Deciding(); a.Func != f || (a.Kind == Tasks) != (kind == Tasks) {
		panic("space: not an action of this state: " + a.String())
	}
	return s.step(a)
}

package space

import (
	"math"
	"slices"
)

// Place is a loop by what one iteration of it covers, and so keeps its meaning
// when other decisions change: the loop of that Func's stage inside which one
// tile of Tile iterations of the stage's own loops happens. Func -1 is outside
// all loops.
type Place struct {
	Func, Stage int
	Tile        []int64 // per loop of the stage, innermost first, vectors by lanes
}

// Root is the place outside all loops.
var Root = Place{Func: -1, Stage: -1}

// Equal reports whether two places are the same.
func (p Place) Equal(q Place) bool {
	return p.Func == q.Func && p.Stage == q.Stage && slices.Equal(p.Tile, q.Tile)
}

// Decision is one decision by what it is meant to do. A trace of them, one or two
// a Func, can be changed and played again: Replay turns each into the nearest
// legal action. The zero value of a field it does not use is ignored.
type Decision struct {
	Func int
	Kind Kind
	// Vector is the dimension to vectorise, for Compute; -1 for none.
	Vector int
	// Store and Compute say where a Func is stored and computed. For Inline they
	// are where to go instead if it cannot be inlined; unset, to root.
	Store, Compute Place
	// Task says, for Tasks, how many iterations of the pure stage's loops a task
	// covers, vectors by lanes; nil leaves them serial.
	Task []int64

	exact *Action // the action it was read off
}

// Edited is the decision without the memory of the action it was read off: what a
// changed decision must be.
func (d Decision) Edited() Decision {
	d.exact = nil
	return d
}

// Trace lists the decisions that led to the state, in order. Replay of it gives
// the same state.
func (s *State) Trace() []Decision {
	var out []Decision
	for t := s; t.parent != nil; t = t.parent {
		out = append(out, t.parent.intent(t.by))
	}
	slices.Reverse(out)
	return out
}

// intent reads a decision off an action of s.
func (s *State) intent(a Action) Decision {
	d := Decision{Func: a.Func, Kind: a.Kind, Vector: -1, exact: &a}
	switch a.Kind {
	case Compute:
		d.Vector = a.Vector
		d.Store, d.Compute = s.places(s.sp.path(s.root, a.Func), a)
	case Tasks:
		d.Task = s.task(a)
	}
	return d
}

// places are where a, a Compute action, stores and computes.
func (s *State) places(path []*Nest, a Action) (store, compute Place) {
	l := path[a.Level]
	if l.IsRoot() {
		store = Root
	} else {
		store = Place{Func: l.Func, Stage: l.Stage, Tile: l.cover()}
	}
	compute = store
	size := l.Size
	if a.Tile != nil {
		size = make([]int64, len(l.Size))
		store.Tile = slices.Clone(compute.Tile)
		for i, t := range a.Tile {
			size[i] = ceilDiv(l.Size[i], t)
			store.Tile[i] *= size[i]
		}
		if !a.Slide {
			return store, store
		}
	} else if a.Slide {
		l = l.Children[l.onlyReader(a.Func)]
		size = l.Size
		compute = Place{Func: l.Func, Stage: l.Stage, Tile: l.cover()}
	}
	if a.Inner != nil {
		compute.Tile = slices.Clone(compute.Tile)
		for i, u := range a.Inner {
			compute.Tile[i] *= ceilDiv(size[i], u)
		}
	}
	return store, compute
}

// task is what one task of a Tasks action covers, per loop of the pure stage.
func (s *State) task(a Action) []int64 {
	if a.Tile == nil {
		return nil
	}
	for _, l := range s.root.Children {
		if l.Func == a.Func && l.Stage == 0 {
			tile := l.cover()
			for i, t := range s.sp.tasksOf(l, a.Tile) {
				tile[i] *= ceilDiv(l.Size[i], t)
			}
			return tile
		}
	}
	return nil
}

// far measures how far place p is from the place wanted: the sum over loops of
// the logarithms of the ratios of tile sizes. Loops of another stage are compared
// by position, which for images means the same thing, at a price that no
// difference of sizes outweighs a little of.
func far(p, want Place) float64 {
	switch {
	case p.Func < 0 && want.Func < 0:
		return 0
	case p.Func < 0 || want.Func < 0:
		return 64
	}
	d := 0.0
	if p.Func != want.Func {
		d = 16
	} else if p.Stage != want.Stage {
		d = 8
	}
	for i := range min(len(p.Tile), len(want.Tile)) {
		d += math.Abs(math.Log2(float64(p.Tile[i]) / float64(want.Tile[i])))
	}
	return d
}

func farTask(have, want []int64) float64 {
	if have == nil || want == nil {
		if have == nil && want == nil {
			return 0
		}
		return 64
	}
	d := 0.0
	for i := range min(len(have), len(want)) {
		d += math.Abs(math.Log2(float64(have[i]) / float64(want[i])))
	}
	return d
}

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

// Decision is one decision by what it is meant to do. A trace of them, a few
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
	// Dim and Factor say, for Block, of which dimension how many iterations are unrolled
	// (how many vectors, along the vector's). Dim says, for Slice, along which dimension;
	// Factor, for Lanes, how many, for Dot how many iterations are added up at once, for
	// Across how many are a vector, and for Terms how many are unrolled.
	Dim    int
	Factor int64

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
	steps := 0
	for t := s; t.parent != nil; t = t.parent {
		steps++
	}
	if steps == 0 {
		return nil
	}
	out := make([]Decision, steps, steps+len(s.blocks)+len(s.vectors))
	for t := s; t.parent != nil; t = t.parent {
		steps--
		out[steps] = *t.decision()
	}
	out = append(out, s.blocks...)
	out = append(out, s.vectors...)
	if s.slice != nil {
		out = append(out, *s.slice)
	}
	if s.sized {
		d, _ := s.sp.Sizable()
		out = append(out, d)
	}
	return out
}

// Blocks are the register blocks of a complete state by Func and dimension, one of each at
// most. The slice is shared.
func (s *State) Blocks() []Decision { return s.blocks }

// Vectors are the decisions of a complete state of the Kinds that are OfVectors, by Func and
// Kind, one of each at most. The slice is shared.
func (s *State) Vectors() []Decision { return s.vectors }

// vectorsOf is the Factor of the decision of a Kind about the vectors of f, 1 where it has
// none, and whether there is one.
func (s *State) vectorsOf(f int, kind Kind) (factor int64, ok bool) {
	for _, d := range s.vectors {
		if d.Func == f && d.Kind == kind {
			return d.Factor, true
		}
	}
	return 1, false
}

// Sized says that a complete state has a version of its own for the estimated sizes.
func (s *State) Sized() bool { return s.sized }

// with is s, which is complete, with these blocks, vectors and this slice instead of its
// own, sized or not.
func (s *State) with(blocks, vectors []Decision, slice *Decision, sized bool) *State {
	return &State{sp: s.sp, root: s.root, pos: s.pos, spared: s.spared, parent: s.parent, by: s.by, blocks: blocks, vectors: vectors, slice: slice, sized: sized}
}

// decision is the one that led to s, which is not the start. States that have it in
// common share it.
func (s *State) decision() *Decision {
	if d := s.said.Load(); d != nil {
		return d
	}
	d := s.parent.intent(&s.by)
	s.said.Store(&d)
	return &d
}

// intent reads a decision off an action of s, which must not change any more.
func (s *State) intent(a *Action) Decision {
	d := Decision{Func: a.Func, Kind: a.Kind, Vector: -1, exact: a}
	switch a.Kind {
	case Compute:
		d.Vector = a.Vector
		var store [12]*Nest
		var m placeMemory
		d.Store, d.Compute = m.places(s.sp.appendPath(store[:0], s.root, a.Func), a)
		d.Store.Tile = slices.Clone(d.Store.Tile)
		d.Compute.Tile = slices.Clone(d.Compute.Tile)
	case Tasks:
		d.Task = s.task(a.Tile, a.Func)
	}
	return d
}

// placeMemory is memory for the places of one action after the other.
type placeMemory struct {
	level, further *Nest // the last one asked for
	cover, inner   []int64
	store, compute []int64
	size           []int64
}

// ratios remembers how far sizes are apart: a place is compared with many.
type ratios [64]struct { // by hash
	a, b int64
	far  float64
}

// places are where a, a Compute action, stores and computes. What it gives lasts
// until it is asked again.
func (m *placeMemory) places(path []*Nest, a *Action) (store, compute Place) {
	l := path[a.Level]
	if l.IsRoot() {
		store = Root
	} else {
		if m.level != l {
			m.level, m.cover = l, l.appendCover(m.cover[:0])
		}
		store = Place{Func: l.Func, Stage: l.Stage, Tile: m.cover}
	}
	compute = store
	size := l.Size
	if a.Tile != nil {
		m.size, m.store = m.size[:0], m.store[:0]
		for i, t := range a.Tile {
			in := ceilDiv(l.Size[i], t)
			m.size = append(m.size, in)
			m.store = append(m.store, m.cover[i]*in)
		}
		size, store.Tile = m.size, m.store
		if !a.Slide {
			return store, store
		}
	} else if a.Slide {
		l = l.Children[l.onlyReader(a.Func)]
		if m.further != l {
			m.further, m.inner = l, l.appendCover(m.inner[:0])
		}
		size = l.Size
		compute = Place{Func: l.Func, Stage: l.Stage, Tile: m.inner}
	}
	if a.Inner != nil {
		m.compute = m.compute[:0]
		for i, u := range a.Inner {
			m.compute = append(m.compute, compute.Tile[i]*ceilDiv(size[i], u))
		}
		compute.Tile = m.compute
	}
	return store, compute
}

// task is what one of so many tasks of f, per dimension, covers, per loop of the pure
// stage; nil where there are none.
func (s *State) task(tasks []int64, f int) []int64 {
	if tasks == nil {
		return nil
	}
	for _, l := range s.root.Children {
		if l.Func == f && l.Stage == 0 {
			tile := l.appendCover(nil)
			for i, t := range s.sp.tasksOf(l, tasks) {
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
func (r *ratios) far(p, want Place) float64 {
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
		d += r.farSize(p.Tile[i], want.Tile[i])
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
		d += farSize(have[i], want[i])
	}
	return d
}

func (r *ratios) farSize(a, b int64) float64 {
	if a == b {
		return 0
	}
	known := &r[uint64(a*31+b)*0x9e3779b97f4a7c15>>58]
	if known.a != a || known.b != b {
		known.a, known.b, known.far = a, b, farSize(a, b)
	}
	return known.far
}

// farSize is the logarithm of the ratio of two sizes, without its sign.
func farSize(a, b int64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(math.Log2(float64(a) / float64(b)))
}

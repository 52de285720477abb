package search

import (
	"math/rand"
	"slices"

	"github.com/protuner/protuner/internal/space"
)

// move makes another state of one: in evolution of one that was measured, in
// StateNode.Vary of any that the search stands at. False where it does not apply. The
// other parent is only for moves that take two.
type move struct {
	name  string
	apply func(m *mover, from, other *space.State) (*space.State, bool)
}

// moves are the kinds of changes that evolution makes. Those over a chain of Funcs
// at once are there because the way to some of the best schedules has no good
// half: sliding windows pay when every producer of a loop slides.
var moves = []move{
	{"mutate", (*mover).mutate},
	{"retile", (*mover).retile},
	{"retask", (*mover).retask},
	{"reshape", (*mover).reshape},
	{"chain-slide", (*mover).chainSlide},
	{"chain-tile", (*mover).chainTile},
	{"chain-shift", (*mover).chainShift},
	{"chain-inline", (*mover).chainInline},
	{"chain-root", (*mover).chainRoot},
	{"chain-vector", (*mover).chainVector},
	{"crossover", (*mover).crossover},
	{"block", (*mover).block},
	{"chain-block", (*mover).chainBlock},
	{"slice", (*mover).slice},
	{"scalar", (*mover).scalar},
	{"lanes", (*mover).lanes},
	{"dot", (*mover).dot},
	{"across", (*mover).across},
	{"interchange", (*mover).interchange},
	{"terms", (*mover).terms},
	{"size", (*mover).size},
}

// varied is how many of the moves searches guided by the model make too: the first ones,
// which need no other parent and change something that the model sees.
var varied = slices.IndexFunc(moves, func(m move) bool { return m.name == "crossover" })

// mover makes moves below a state, whose decisions stay.
type mover struct {
	sp   *space.Space
	base *space.State
	rng  *rand.Rand
}

func newMover(base *space.State, rng *rand.Rand) *mover {
	return &mover{sp: base.Space(), base: base, rng: rng}
}

// mutate draws one decision anew and keeps the others as far as they go. The state
// it changes must be below the mover's.
func (m *mover) mutate(from, _ *space.State) (*space.State, bool) {
	open := 0
	for s := from; s.Depth() > m.base.Depth(); s = s.Parent() {
		open++
	}
	if open == 0 {
		return nil, false
	}
	before := from
	for range open - m.rng.Intn(open) {
		before = before.Parent()
	}
	a, ok := before.Sample(m.rng)
	if !ok {
		return nil, false
	}
	s, _, err := before.Next(a).Replay(from.Trace(), space.Nearest)
	return s, err == nil
}

// retile scales one tile size, wherever that tile is meant: all Funcs at that
// place, and its owner's tasks if they are the same, keep going together.
func (m *mover) retile(from, _ *space.State) (*space.State, bool) {
	p := planOf(m.base, from)
	var places []space.Place
	for _, d := range p.place {
		if d.Kind != space.Compute {
			continue
		}
		for _, q := range []space.Place{d.Compute, d.Store} {
			if q.Func >= 0 && !slices.ContainsFunc(places, q.Equal) {
				places = append(places, q)
			}
		}
	}
	if len(places) == 0 {
		return nil, false
	}
	old := places[m.rng.Intn(len(places))]
	scaled, ok := m.scale(old.Tile, p.sp.Extents(old.Func, old.Stage))
	if !ok {
		return nil, false
	}
	made := space.Place{Func: old.Func, Stage: old.Stage, Tile: scaled}
	for f := range p.place {
		d := p.place[f]
		if d.Kind != space.Compute || !d.Compute.Equal(old) && !d.Store.Equal(old) {
			continue
		}
		if d.Compute.Equal(old) {
			d.Compute = made
		}
		if d.Store.Equal(old) {
			d.Store = made
		}
		p.place[f] = d.Edited()
	}
	if t := p.tasks[old.Func]; t.Kind != 0 && old.Stage == 0 && slices.Equal(t.Task, old.Tile) {
		p.cut(old.Func, scaled)
	}
	return p.state(), true
}

// reshape scales one size of all tiles of one stage alike, and of its tasks where it is
// a pure one. Half of the time it scales another size the other way, so that they cover
// about as much: the way there by one tile at a time leads over many that fit nothing.
func (m *mover) reshape(from, _ *space.State) (*space.State, bool) {
	p := planOf(m.base, from)
	owners := p.tiled()
	if len(owners) == 0 {
		return nil, false
	}
	of := owners[m.rng.Intn(len(owners))]
	extents := p.sp.Extents(of.Func, of.Stage)
	loops := divisible(extents)
	if len(loops) == 0 {
		return nil, false
	}
	// By three halves and two thirds, too: some tilings are thirds of an extent.
	by := [][2]int64{{2, 1}, {1, 2}, {3, 2}, {2, 3}, {4, 1}, {1, 4}}[m.rng.Intn(6)]
	i := loops[m.rng.Intn(len(loops))]
	j := i
	if m.rng.Intn(2) == 0 {
		j = loops[m.rng.Intn(len(loops))]
	}
	scaled := func(tile []int64) []int64 {
		out := slices.Clone(tile)
		out[i] = min(max(1, out[i]*by[0]/by[1]), extents[i])
		if j != i {
			out[j] = min(max(1, out[j]*by[1]/by[0]), extents[j])
		}
		return out
	}
	change := func(q space.Place) space.Place {
		if q.Func == of.Func && q.Stage == of.Stage {
			q.Tile = scaled(q.Tile)
		}
		return q
	}
	for f, d := range p.place {
		if d.Kind == space.Compute {
			d.Compute, d.Store = change(d.Compute), change(d.Store)
			p.place[f] = d.Edited()
		}
	}
	if t := p.tasks[of.Func].Task; of.Stage == 0 && t != nil {
		p.cut(of.Func, scaled(t))
	}
	return p.state(), true
}

// divisible lists the loops that have more than one iteration.
func divisible(extents []int64) []int {
	var loops []int
	for i, e := range extents {
		if e > 1 {
			loops = append(loops, i)
		}
	}
	return loops
}

// scale doubles or halves one size of a tile, or sets it to one or to all.
func (m *mover) scale(tile, extents []int64) ([]int64, bool) {
	loops := divisible(extents)
	if len(loops) == 0 {
		return nil, false
	}
	i := loops[m.rng.Intn(len(loops))]
	out := slices.Clone(tile)
	switch m.rng.Intn(6) {
	case 0:
		out[i] = 1
	case 1:
		out[i] = extents[i]
	case 2, 3:
		out[i] = min(2*out[i], extents[i])
	default:
		out[i] = max(1, out[i]/2)
	}
	return out, out[i] != tile[i]
}

// retask cuts a Func at root, or all of them alike, into other tasks.
func (m *mover) retask(from, _ *space.State) (*space.State, bool) {
	p := planOf(m.base, from)
	var with []int
	for f, d := range p.tasks {
		if d.Kind != 0 && d.Task != nil {
			with = append(with, f)
		}
	}
	if len(with) == 0 {
		return nil, false
	}
	if m.rng.Intn(3) > 0 {
		i := m.rng.Intn(len(with))
		with = with[i : i+1]
	}
	done := false
	for _, f := range with {
		if t, ok := m.scale(p.tasks[f].Task, p.sp.Extents(f, 0)); ok {
			p.cut(f, t)
			done = true
		}
	}
	return p.state(), done
}

// crossover takes the decisions about some Func and all it reads from the other
// parent, and the rest from this one.
func (m *mover) crossover(from, other *space.State) (*space.State, bool) {
	if other == nil || other == from {
		return nil, false
	}
	p, q := planOf(m.base, from), planOf(m.base, other)
	f := m.rng.Intn(m.sp.Funcs())
	if !m.sp.Scheduled(f) {
		return nil, false
	}
	for _, g := range append([]int{f}, m.sp.Upstream(f)...) {
		p.place[g], p.tasks[g], p.blocks[g], p.vectors[g] = q.place[g], q.tasks[g], q.blocks[g], q.vectors[g]
	}
	return p.state(), true
}

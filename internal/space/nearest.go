package space

import (
	"cmp"
	"math"
	"slices"
)

// maxRepairs bounds how many placements are built to find the nearest legal one, and
// fewRepairs how many are at first.
const (
	maxRepairs = 128
	fewRepairs = 4
)

// nearest takes the legal placement of f that is nearest to want.
func (s *State) nearest(want *Decision, f int) (*State, bool) {
	vector := want.Vector
	if !slices.Contains(s.sp.nodes[f].vectorDims, vector) {
		vector = s.sp.nodes[f].vectorDims[0]
	}
	p := s.placing(f)
	defer p.free()
	p.families(sought)
	p.fams = slices.DeleteFunc(p.fams, func(fam family) bool { return fam.vector != vector })
	// Mostly one of the first is legal; where none is, more are looked at.
	near := &p.seek.near
	for from, most := 0, fewRepairs; ; from, most = most, maxRepairs {
		p.findNearest(want, most)
		for _, o := range near.order[min(from, len(near.order)):] {
			if a := near.actions[o.action]; p.legal(&a) {
				return s.Next(a), o.far == 0 && vector == want.Vector
			}
		}
		if most == maxRepairs || len(near.order) < most {
			break
		}
	}
	if a := (Action{Kind: Compute, Func: f, Vector: vector}); p.legal(&a) {
		return s.Next(a), false
	}
	a := s.computeActions(nil, f)[0]
	store, compute := p.places.places(p.path, &a)
	return s.Next(a), a.Kind == want.Kind && a.Vector == want.Vector && store.Equal(want.Store) && compute.Equal(want.Compute)
}

// findNearest makes the list of so many placements of the families, which are sought in,
// that are nearest to want, whether legal or not; of equally near ones, as far as
// rounding lets see that, the first ones in the order of each. What needs no search goes
// first: with that in the list, most of the rest can be passed over.
func (p *placing) findNearest(want *Decision, most int) {
	k := &p.seek
	k.p, k.want = p, want
	k.near.empty(most)
	for i := range p.fams {
		if fam := &p.fams[i]; fam.cuts() == 0 {
			k.uncut(i, fam)
		}
	}
	for i := 0; i < len(p.fams); i++ {
		fam := &p.fams[i]
		if fam.cuts() == 0 {
			continue
		}
		k.cut(i, fam)
		if fam.deep {
			i++ // it has the same tiles, and they went together
		}
	}
}

// seeker finds, among the ways there are to place a Func, those that are nearest to one
// that is wanted. How far a tiling is is a sum over loops, and the tilings of a level
// are all combinations of the choices for each loop (tileSet). So they are gone through
// loop by loop, nearest choices first, and where what is left cannot come into the list
// any more it is passed over (branch and bound).
type seeker struct {
	p      *placing
	want   *Decision
	near   shortlist
	ratios ratios

	// Of the family at hand, which has tiles.
	number int
	fam    *family
	level  *Nest
	loops  []loopChoices // but the outermost
	outer  loopChoices
	// trivial are those for the outermost with inner ones that would make the tiling
	// trivial with some of its choices.
	trivial loopChoices
	outers  int     // choices for the outermost, at most
	cover   []int64 // per loop, what the innermost half covers
	tile    []int64 // the tiling at hand, and the split of the inner half
	inner   []int64
}

// loopChoices are the choices for one loop, nearest first.
type loopChoices struct {
	list  []loopChoice
	least float64 // that it adds at least to how far it is
	after float64 // that the loops after it do
	span  int     // tilings with the same choice for it and those before it
}

// loopChoice cuts a loop into so many tiles.
type loopChoice struct {
	tiles int64
	at    int     // its number among the choices
	far   float64 // what it adds at least to how far the tiling is
}

// uncut puts members of a family without tiles into the list.
func (k *seeker) uncut(number int, fam *family) {
	a := &k.p.action
	*a = fam.action(k.p.f)
	if fam.inners == nil {
		k.weigh(member{family: number})
	}
	for i, u := range fam.inners {
		a.Inner = u
		k.weigh(member{family: number, inner: i})
	}
}

// weigh puts the action at hand into the list if it is near enough.
func (k *seeker) weigh(m member) {
	a := &k.p.action
	store, compute := k.p.places.places(k.p.path, a)
	k.near.add(a, 2*k.ratios.far(compute, k.want.Compute)+k.ratios.far(store, k.want.Store), m)
}

// cut puts members of a family with tiles, and those of the next one where the two go
// together, into the list.
func (k *seeker) cut(number int, fam *family) {
	l := k.p.path[fam.level]
	k.number, k.fam, k.level = number, fam, l
	k.cover = l.appendCover(k.cover[:0])
	k.tile, k.inner = append(k.tile[:0], l.Size...), append(k.inner[:0], l.Size...)
	set := fam.set
	inner := set.inner
	for len(k.loops) < len(inner) {
		k.loops = append(k.loops, loopChoices{})
	}
	k.outers = len(set.outer)
	k.outer.least = math.Inf(1)
	for _, x := range set.trivia {
		if x.at >= 0 {
			k.outers = max(k.outers, len(x.outer))
			k.choose(&k.outer, len(inner), x.outer)
		}
	}
	k.choose(&k.outer, len(inner), set.outer)
	span, after := k.outers, k.outer.least
	for i := len(inner) - 1; i >= 0; i-- {
		c := &k.loops[i]
		c.least, c.after, c.span = math.Inf(1), after, span
		k.choose(c, i, inner[i])
		span *= len(inner[i])
		after += c.least
	}
	at := Place{Func: l.Func, Stage: l.Stage}
	k.descend(0, k.ratios.far(at, k.want.Store)+2*k.ratios.far(at, k.want.Compute), 0)
	for i, t := range set.more {
		k.tile = append(k.tile[:0], t...)
		k.allowed(member{family: number, tile: set.total - len(set.more) + i})
	}
}

// choose makes the choices for loop i, and lowers what it adds at least.
func (k *seeker) choose(c *loopChoices, i int, tiles []int64) {
	c.list = c.list[:0]
	for at, t := range tiles {
		x := loopChoice{tiles: t, at: at, far: k.adds(i, ceilDiv(k.level.Size[i], t))}
		c.least = min(c.least, x.far)
		j := len(c.list)
		c.list = append(c.list, x)
		for ; j > 0 && c.list[j-1].far > x.far; j-- {
			c.list[j] = c.list[j-1]
		}
		c.list[j] = x
	}
}

// adds is what tiles of so many iterations of loop i add at least to how far the tiling
// is: see weigh and ratios.far. Further in a loop is all inside or all outside.
func (k *seeker) adds(i int, inside int64) float64 {
	far := 0.0
	if w := k.want.Store; w.Func >= 0 && i < len(w.Tile) {
		far = k.ratios.farSize(k.cover[i]*inside, w.Tile[i])
	}
	if w := k.want.Compute; w.Func >= 0 && i < len(w.Tile) {
		least := k.ratios.farSize(k.cover[i]*inside, w.Tile[i])
		if k.fam.deep {
			least = min(least, k.ratios.farSize(k.cover[i], w.Tile[i]))
		}
		far += 2 * least
	}
	return far
}

// descend goes through the choices for loop i and those after it. So far is how far the
// tilings are by the loops before it, and tile the number of the first of them.
func (k *seeker) descend(i int, soFar float64, tile int) {
	if i == len(k.fam.set.inner) {
		k.complete(soFar, tile)
		return
	}
	c := &k.loops[i]
	for _, x := range c.list {
		first := tile + x.at*c.span
		far := soFar + x.far + c.after
		if !k.near.takes(far, member{family: k.number, tile: first}) {
			if far > k.near.enough() {
				return // and so are those after it
			}
			continue
		}
		k.tile[i] = x.tiles
		k.descend(i+1, soFar+x.far, first)
	}
}

// complete goes through the choices for the outermost loop.
func (k *seeker) complete(soFar float64, tile int) {
	c, last := &k.outer, len(k.fam.set.inner)
	if of, trivial := k.fam.set.outers(tile / k.outers); trivial {
		c = &k.trivial
		k.choose(c, last, of)
	}
	for _, x := range c.list {
		m := member{family: k.number, tile: tile + x.at}
		if far := soFar + x.far; !k.near.takes(far, m) {
			if far > k.near.enough() {
				return
			}
			continue
		}
		k.tile[last] = x.tiles
		k.allowed(m)
	}
}

// allowed weighs those with the tiling at hand, which is the first of m, if it is allowed.
func (k *seeker) allowed(m member) {
	if k.p.s.sp.allows(k.level, k.tile) {
		k.members(m)
	}
}

// members weighs those with the tiling at hand, which is the first of m.
func (k *seeker) members(m member) {
	a := &k.p.action
	*a = k.fam.action(k.p.f)
	a.Tile = k.tile
	k.weigh(m)
	if !k.fam.deep {
		return
	}
	k.p.halve(a)
	a.Inner = k.inner
	for i := range k.p.half.total {
		k.p.half.at(i, k.inner)
		m.inner++
		k.weigh(m)
	}
	*a = k.p.fams[k.number+1].action(k.p.f)
	a.Tile = k.tile
	m.inner++
	k.weigh(m)
}

// member is the place of an action in the order of each, without its vector: the number
// of its family, of its tiling there, and of its split further in.
type member struct{ family, tile, inner int }

func (m member) compare(n member) int {
	return cmp.Or(cmp.Compare(m.family, n.family), cmp.Compare(m.tile, n.tile), cmp.Compare(m.inner, n.inner))
}

// shortlist keeps the nearest actions, nearest first and of equally near ones the
// first first.
type shortlist struct {
	most    int
	order   []nearAction
	actions []Action // not in order
}

type nearAction struct {
	far    float64
	member member
	action int // in actions
}

// enough is the farthest that an action may be to come into the list.
func (l *shortlist) enough() float64 {
	if len(l.order) < l.most {
		return math.Inf(1)
	}
	return l.order[l.most-1].far
}

// takes reports whether an action would come into the list.
func (l *shortlist) takes(far float64, m member) bool {
	if len(l.order) < l.most {
		return true
	}
	last := &l.order[l.most-1]
	return far < last.far || far == last.far && m.compare(last.member) < 0
}

// add puts a copy of an action into the list, if that takes it.
func (l *shortlist) add(a *Action, far float64, m member) {
	if !l.takes(far, m) {
		return
	}
	at := len(l.order)
	if at == l.most {
		at = l.order[at-1].action
		l.order = l.order[:l.most-1]
	} else {
		l.actions = append(l.actions, Action{})
	}
	l.actions[at] = *a
	l.actions[at].Tile, l.actions[at].Inner = slices.Clone(a.Tile), slices.Clone(a.Inner)
	i := len(l.order)
	l.order = append(l.order, nearAction{})
	for ; i > 0 && (far < l.order[i-1].far || far == l.order[i-1].far && m.compare(l.order[i-1].member) < 0); i-- {
		l.order[i] = l.order[i-1]
	}
	l.order[i] = nearAction{far, m, at}
}

// empty makes it a list of so many at most.
func (l *shortlist) empty(most int) {
	clear(l.actions)
	l.most, l.order, l.actions = most, l.order[:0], l.actions[:0]
}

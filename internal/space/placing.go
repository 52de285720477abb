package space

import "sync"

// placing is the choice of where to compute one Func of one state: what is asked
// for again and again while its actions are listed or drawn.
type placing struct {
	s      *State
	f      int
	path   []*Nest
	levels []level // path, with how often each is entered
	fams   []family
	// tiles are the tilings of each of path, and sets the memory for those that are
	// not listed; half is that for the inner half of a level.
	tiles []family
	sets  []*tileSet
	half  tileSet
	seek  seeker
	// changed gives, for the levels of path that a tiling was tried on, what is
	// computed in them.
	changed []*amounts
	called  []float64 // per Func, where it is inlined; made when asked for
	places  placeMemory
	action  Action // that each is at
}

// placings are those no longer in use: their memory serves again.
var placings = sync.Pool{New: func() any { return new(placing) }}

// placing starts the choice for f. Whoever is done with it may free it.
func (s *State) placing(f int) *placing {
	p := placings.Get().(*placing)
	p.s, p.f = s, f
	if s.sp.OnlyRoot(f) {
		p.path = append(p.path[:0], s.root)
	} else {
		p.path = s.sp.appendPath(p.path[:0], s.root, f)
	}
	p.levels = p.levels[:0]
	entered := 1.0
	for _, n := range p.path {
		if s.sp.o.Executed {
			entered *= anew(p.levels, n)
		}
		l := level{n, entered}
		p.levels = append(p.levels, l)
		entered = l.runs()
	}
	return p
}

func (p *placing) free() {
	clear(p.path)
	clear(p.levels)
	clear(p.fams)
	clear(p.tiles)
	p.s, p.changed, p.called, p.action = nil, nil, nil, Action{}
	p.places.level, p.places.further = nil, nil
	p.seek.want, p.seek.fam, p.seek.level = nil, nil, nil
	p.seek.near.empty(0)
	placings.Put(p)
}

func product(size []int64) float64 {
	n := 1.0
	for _, s := range size {
		n *= float64(s)
	}
	return n
}

// each calls do with every action of the families, in the order of families,
// before the pruning that needs more than the levels there are; and with the number
// of its tile in its family. The families must be listed. The action is do's for the
// time of the call.
func (p *placing) each(do func(a *Action, tile int)) {
	for i := 0; i < len(p.fams); i++ {
		fam := &p.fams[i]
		a := fam.action(p.f)
		switch {
		case fam.cuts() == 0:
			p.eachInner(fam, a, 0, do)
		case fam.deep:
			// The family after it has the same tiles, and they go together.
			i++
			flat := p.fams[i].action(p.f)
			for k, t := range fam.tiles {
				a.Tile, flat.Tile = t, t
				p.eachInner(fam, a, k, do)
				p.action = flat
				do(&p.action, k)
			}
		default:
			for k, t := range fam.tiles {
				a.Tile = t
				p.eachInner(fam, a, k, do)
			}
		}
	}
}

func (p *placing) eachInner(fam *family, a Action, tile int, do func(a *Action, tile int)) {
	if fam.inners == nil {
		p.action = a
		do(&p.action, tile)
	}
	inners := fam.inners
	if fam.deep {
		inners = p.deepInners(&a)
	}
	for _, u := range inners {
		p.action = a
		p.action.Inner = u
		do(&p.action, tile)
	}
}

// deepInners lists the splits of the inner half that the tile of a leaves.
func (p *placing) deepInners(a *Action) [][]int64 {
	var store [8]int64
	return p.s.sp.tilings(p.inHalf(a, store[:0]), whole)
}

// halve makes half the set of those splits.
func (p *placing) halve(a *Action) {
	var store [8]int64
	p.half.init(p.inHalf(a, store[:0]), whole)
}

// inHalf appends the size of the inner half that the tile of a leaves.
func (p *placing) inHalf(a *Action, dst []int64) []int64 {
	for i, size := range p.path[a.Level].Size {
		dst = append(dst, ceilDiv(size, a.Tile[i]))
	}
	return dst
}

// legal holds where an action of the families is within the limits of the space,
// and notes in it what it found out.
func (p *placing) legal(a *Action) bool {
	s, sp := p.s, p.s.sp
	n := &sp.nodes[p.f]
	l := p.path[a.Level]
	store, runs := l.site, p.levels[a.Level].runs()
	a.of = s
	if a.Tile != nil {
		if a.cut == nil {
			a.cut = sp.cutSite(l, p.path[a.Level-1].site, a.Tile)
		}
		store, runs = a.cut, p.levels[a.Level].entered*product(a.Tile)
		if a.Slide && !sp.mayDeepen(l, store, a) || !p.staysWithin(a) {
			return false
		}
	}
	if !n.Wrapper && (s.spared == nil || !s.spared.has(p.f)) {
		b := store.bounds(p.f)
		for i, least := range n.minimum {
			if points(b.Loops(i))*runs > sp.o.Recompute*least {
				return false
			}
		}
	}
	if sp.o.MemoryLimit > 0 || !sp.o.Unchecked && (a.Slide || s.root.slid) {
		next := s.step(*a)
		if a.Slide && !sp.o.Unchecked && !sp.slidesCleanly(slid(next.root, p.f), p.f) || s.breaks(next.root) {
			return false
		}
		a.made = next
	}
	return true
}

// breaks reports whether a loop nest that s leads to breaks those limits that can
// only be told from it: on memory, and on reading too early.
func (s *State) breaks(root *Nest) bool {
	for _, f := range root.early {
		if s.spared == nil || !s.spared.has(f) {
			return true
		}
	}
	limit := s.sp.o.MemoryLimit
	if limit == 0 || s.spared != nil && s.spared.has(len(s.sp.nodes)) {
		return false
	}
	return s.sp.workOf(root).memory > float64(limit)
}

// amounts are what a level computes: points of stages stored in it, and points of
// Funcs inlined in it.
type amounts struct {
	stored, inlined []amount
}

type amount struct {
	fn     int
	points float64 // in all runs of the level
	most   float64 // points allowed
}

// staysWithin holds where the tiles of a, should they not divide the loops, do not
// make what is inside compute too much.
func (p *placing) staysWithin(a *Action) bool {
	sp := p.s.sp
	l := p.path[a.Level]
	before, after := product(l.Size), 1.0
	for i, t := range a.Tile {
		after *= float64(t * ceilDiv(l.Size[i], t))
	}
	if before == after {
		return true
	}
	if p.changed == nil {
		p.changed = make([]*amounts, len(p.path))
	}
	in := p.changed[a.Level]
	if in == nil {
		in = &amounts{}
		in.add(sp, l, p.levels[:a.Level], p.levels[a.Level].entered, p.s.spared)
		p.changed[a.Level] = in
	}
	for _, x := range in.stored {
		if x.points/before*after > x.most {
			return false
		}
	}
	for _, x := range in.inlined {
		if p.called == nil {
			p.called = sp.workOf(p.s.root).called
		}
		if p.called[x.fn]-x.points+x.points/before*after > x.most {
			return false
		}
	}
	return true
}

// add counts what level n, inside of those above it and entered so often, computes and
// that is limited.
func (m *amounts) add(sp *Space, n *Nest, above []level, entered float64, spared bitset) {
	runs := entered * product(n.Size)
	here := sp.below(above, n, entered)
	limited := func(f int) bool {
		return !sp.nodes[f].Wrapper && (spared == nil || !spared.has(f))
	}
	for _, f := range n.StoreAt {
		if !limited(f) {
			continue
		}
		b := n.Bounds(f)
		for s, least := range sp.nodes[f].minimum {
			m.stored = append(m.stored, amount{f, points(b.Loops(s)) * runs, sp.o.Recompute * least})
		}
	}
	for _, in := range n.Inlined {
		if !limited(in.Func) {
			continue
		}
		x := amount{in.Func, in.Executed * runs, sp.o.Recompute * sp.nodes[in.Func].minimum[0]}
		known := false
		for i := range m.inlined {
			if m.inlined[i].fn == in.Func {
				m.inlined[i].points += x.points
				known = true
			}
		}
		if !known {
			m.inlined = append(m.inlined, x)
		}
	}
	for _, c := range n.Children {
		m.add(sp, c, here, runs*anew(here, c), spared)
	}
}

// inlining is the inlining of f, and whether that is legal.
func (s *State) inlining(f int) (Action, bool) {
	a := Action{Kind: Inline, Func: f, of: s}
	sp, n := s.sp, &s.sp.nodes[f]
	if !n.inlinable() {
		return a, false
	}
	if s.spared == nil || !s.spared.has(f) {
		points, calls := sp.calls(s.root, f, nil, 1)
		if calls > sp.o.InlinedCalls || !n.Wrapper && points > sp.o.Recompute*n.minimum[0] {
			return a, false
		}
	}
	if sp.o.MemoryLimit > 0 || !sp.o.Unchecked && s.root.slid {
		next := s.step(a)
		if s.breaks(next.root) {
			return a, false
		}
		a.made = next
	}
	return a, true
}

// calls counts how often f would be called if it were inlined into n, which is inside of
// the levels above it and entered so often: in all, and at most in one place for one
// point.
func (sp *Space) calls(n *Nest, f int, above []level, entered float64) (all float64, most int64) {
	runs := entered * product(n.Size)
	here := sp.below(above, n, entered)
	for _, c := range n.Children {
		if c.Reads(f) {
			a, m := sp.calls(c, f, here, runs*anew(here, c))
			all, most = all+a, max(most, m)
		}
	}
	if n.Innermost {
		calls, executed := sp.callsIn(n.stageNumber(), n.Inlined, &sp.nodes[f])
		all, most = all+executed*runs, max(most, calls)
	}
	return all, most
}

package search

import (
	"iter"
	"slices"

	"github.com/protuner/protuner/internal/space"
)

// chain is a set of Funcs to be moved together, and the loops they feed.
type chain struct {
	owner space.Reader
	funcs []int
}

// layers sorts the Funcs upstream of f by how many steps at most lie between.
func layers(sp *space.Space, f int) [][]int {
	depth := make([]int, sp.Funcs())
	var out [][]int
	for _, g := range append([]int{f}, sp.Upstream(f)...) { // consumers come before producers
		d := depth[g]
		for len(out) < d {
			out = append(out, nil)
		}
		if d > 0 {
			out[d-1] = append(out[d-1], g)
		}
		for read := range producers(sp, g) {
			depth[read] = max(depth[read], d+1)
		}
	}
	return out
}

// producers are the Funcs that f reads, once for each time that one of its stages does.
func producers(sp *space.Space, f int) iter.Seq[int] {
	stages := sp.Pipeline().Funcs[f].Stages
	return func(yield func(int) bool) {
		for s := range stages {
			for e := range stages[s].Edges {
				if !yield(stages[s].Edges[e].Producer) {
					return
				}
			}
		}
	}
}

// leads says whether there are Funcs upstream of f. Moves ask it of every Func, so no list
// of them is made.
func leads(sp *space.Space, f int) bool {
	for g := range producers(sp, f) {
		if sp.Scheduled(g) {
			return true
		}
	}
	return false
}

// heads lists the Funcs that are computed, with others upstream: those at root in the
// plan, or those inside other loops.
func (p *plan) heads(atRoot bool) []int {
	var out []int
	for f, d := range p.place {
		if d.Kind == space.Compute && d.Compute.Equal(space.Root) == atRoot && leads(p.sp, f) {
			out = append(out, f)
		}
	}
	return out
}

// pick draws a chain: an owner, and of the Funcs upstream of it a band of neighbouring
// layers, all of one kind (light or not, see isLight) or all there are. The owner is at
// root in the plan; one time in four it is one that was not and goes there now, so that
// a long chain is cut in one step.
func (m *mover) pick(p *plan) (chain, bool) {
	owners := p.heads(true)
	if len(owners) == 0 {
		return chain{}, false
	}
	f := owners[m.rng.Intn(len(owners))]
	if inner := p.heads(false); len(inner) > 0 && m.rng.Intn(4) == 0 {
		f = inner[m.rng.Intn(len(inner))]
		p.root(f)
		p.even(f, 0)
	}
	stages := len(m.sp.Pipeline().Funcs[f].Stages)
	c := chain{owner: space.Reader{Func: f, Stage: m.rng.Intn(stages)}}
	bands := layers(m.sp, f)
	first, last := 0, len(bands)
	switch m.rng.Intn(4) {
	case 0: // all
	case 1:
		first = m.rng.Intn(len(bands))
	case 2:
		last = 1 + m.rng.Intn(len(bands))
	default:
		first = m.rng.Intn(len(bands))
		last = first + 1 + m.rng.Intn(len(bands)-first)
	}
	kind := m.rng.Intn(4)
	for _, band := range bands[first:last] {
		for _, g := range band {
			if !m.sp.OnlyRoot(g) && (kind < 2 || isLight(m.sp, g) == (kind == 2)) {
				c.funcs = append(c.funcs, g)
			}
		}
	}
	return c, len(c.funcs) > 0
}

// power draws a power of two between two, inclusive.
func (m *mover) power(low, high int) int64 { return 1 << (low + m.rng.Intn(high-low+1)) }

// onChain draws a chain and changes it; false where there is none, or the change does not
// apply to it.
func (m *mover) onChain(from *space.State, change func(p *plan, c chain) bool) (*space.State, bool) {
	p := planOf(m.base, from)
	c, ok := m.pick(p)
	if !ok || !change(p, c) {
		return nil, false
	}
	return p.state(), true
}

// chainSlide computes a chain row by row of its owner and stores it strip by
// strip, so that each row computes only what the rows before did not.
func (m *mover) chainSlide(from, _ *space.State) (*space.State, bool) {
	return m.onChain(from, func(p *plan, c chain) bool { return p.slide(c, m.power(0, 2), m.power(2, 8)) })
}

// slide is chainSlide with so many rows at a time and in a strip.
func (p *plan) slide(c chain, rows, strip int64) bool {
	row, ok := p.strip(c.owner.Func, c.owner.Stage, rows)
	if !ok || strip <= rows {
		return false
	}
	around, _ := p.strip(c.owner.Func, c.owner.Stage, strip)
	for _, f := range c.funcs {
		p.at(f, row, around)
	}
	p.tasksAround(c.owner, around)
	return true
}

// tasksAround gives the owner tasks that are strips too, so that the chain may be
// stored right inside them.
func (p *plan) tasksAround(owner space.Reader, strip space.Place) {
	if owner.Stage == 0 && p.tasks[owner.Func].Kind != 0 {
		p.cut(owner.Func, strip.Tile)
	}
}

// chainTile computes a chain tile by tile of its owner, few channels together or one. Half of
// the time it slides there: a column of tiles stores what each of them does not compute again.
func (m *mover) chainTile(from, _ *space.State) (*space.State, bool) {
	return m.onChain(from, func(p *plan, c chain) bool {
		width, rows, planes := m.power(4, 10), m.power(0, 7), m.rng.Intn(4) == 0
		at, ok := p.tile(c.owner.Func, c.owner.Stage, width, rows, planes)
		if !ok {
			return false
		}
		around := at
		if m.rng.Intn(2) == 0 {
			around, _ = p.tile(c.owner.Func, c.owner.Stage, width, rows*m.power(1, 6), planes)
		}
		for _, f := range c.funcs {
			p.at(f, at, around)
		}
		return true
	})
}

// chainShift moves all Funcs that are computed at one place, or some of them, in
// or out together: to where they are stored, or to where another Func is computed
// or stored in the same owner's loops.
func (m *mover) chainShift(from, _ *space.State) (*space.State, bool) {
	p := planOf(m.base, from)
	var inside []int
	for f, d := range p.place {
		if d.Kind == space.Compute && d.Compute.Func >= 0 {
			inside = append(inside, f)
		}
	}
	if len(inside) == 0 {
		return nil, false
	}
	model := p.place[inside[m.rng.Intn(len(inside))]]
	targets := []space.Place{space.Root, model.Store}
	for _, f := range inside {
		for _, q := range []space.Place{p.place[f].Compute, p.place[f].Store} {
			if q.Func == model.Compute.Func && !slices.ContainsFunc(targets, q.Equal) {
				targets = append(targets, q)
			}
		}
	}
	to := targets[m.rng.Intn(len(targets))]
	store := m.rng.Intn(2) == 0
	for _, f := range inside {
		d := p.place[f]
		if !d.Compute.Equal(model.Compute) {
			continue
		}
		if store {
			p.at(f, d.Compute, to)
		} else {
			p.at(f, to, to)
		}
	}
	return p.state(), true
}

// chainInline inlines a chain.
func (m *mover) chainInline(from, _ *space.State) (*space.State, bool) {
	return m.onChain(from, func(p *plan, c chain) bool {
		for _, f := range c.funcs {
			if m.sp.CanInline(f) {
				p.inline(f)
			}
		}
		return true
	})
}

// chainRoot computes a chain at root.
func (m *mover) chainRoot(from, _ *space.State) (*space.State, bool) {
	return m.onChain(from, func(p *plan, c chain) bool {
		for _, f := range c.funcs {
			p.root(f)
			if p.tasks[f].Kind == 0 {
				p.even(f, 0)
			}
		}
		return true
	})
}

// chainVector vectorises a chain over the same dimension.
func (m *mover) chainVector(from, _ *space.State) (*space.State, bool) {
	return m.onChain(from, func(p *plan, c chain) bool {
		dims := m.sp.VectorDims(c.funcs[m.rng.Intn(len(c.funcs))])
		dim := dims[m.rng.Intn(len(dims))]
		done := false
		for _, f := range c.funcs {
			d := p.place[f]
			if d.Kind == space.Compute && d.Vector != dim && slices.Contains(m.sp.VectorDims(f), dim) {
				d.Vector = dim
				p.place[f] = d.Edited()
				done = true
			}
		}
		return done
	})
}

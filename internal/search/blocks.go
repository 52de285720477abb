package search

import (
	"slices"

	"github.com/protuner/protuner/internal/space"
)

// factors are how many iterations of a dimension register blocks hold.
var factors = []int64{2, 3, 4, 8}

// unroll says how many iterations of a dimension of f are unrolled around its vector, 1
// for none.
func (p *plan) unroll(f, dim int, factor int64) {
	p.dropBlocks(f, func(d int) bool { return d == dim })
	if factor > 1 {
		p.blocks[f] = append(p.blocks[f], space.Decision{Func: f, Kind: space.Block, Dim: dim, Factor: factor})
	}
}

// dropBlocks takes the blocks over some dimensions from f. Other plans may have them too.
func (p *plan) dropBlocks(f int, over func(dim int) bool) {
	p.blocks[f] = slices.DeleteFunc(slices.Clone(p.blocks[f]), func(b space.Decision) bool { return over(b.Dim) })
}

// realised are the Funcs that are not inlined.
func (p *plan) realised() []int {
	var out []int
	for f, d := range p.place {
		if d.Kind == space.Compute {
			out = append(out, f)
		}
	}
	return out
}

// block gives one Func another register block, over any dimension, that of several vectors
// included, and beside those over others or in their place, or a block of sums, or none.
func (m *mover) block(from, _ *space.State) (*space.State, bool) {
	p := planOf(m.base, from)
	funcs := p.realised()
	if len(funcs) == 0 {
		return nil, false
	}
	f := funcs[m.rng.Intn(len(funcs))]
	if m.rng.Intn(4) == 0 && p.sums([]int{f}) {
		return p.state(), true
	}
	loops := p.scalarLoops(f)
	if v := p.vector(f); v >= 0 {
		loops = append(loops, scalarLoop{dim: v})
	}
	if len(loops) == 0 {
		return nil, false
	}
	l := loops[m.rng.Intn(len(loops))]
	factor := int64(1)
	if m.rng.Intn(2) == 0 {
		p.dropBlocks(f, func(d int) bool { return d != l.dim })
	}
	switch {
	case len(p.blocks[f]) > 0 && m.rng.Intn(4) == 0:
	case l.dim != p.vector(f) && p.sp.Channels(f, l.dim):
		factor = l.extent
	default:
		factor = factors[m.rng.Intn(len(factors))]
	}
	p.unroll(f, l.dim, factor)
	return p.state(), true
}

// scalarLoop is a loop over a dimension of a Func other than its vector's.
type scalarLoop struct {
	dim    int
	extent int64
}

// scalarLoops are those of more than one iteration, innermost first.
func (p *plan) scalarLoops(f int) []scalarLoop {
	var out []scalarLoop
	for i, e := range p.sp.Extents(f, 0) {
		if l := p.sp.Pipeline().Funcs[f].Stages[0].Loops[i]; l.Pure && l.PureDim >= 0 && l.PureDim != p.vector(f) && e > 1 {
			out = append(out, scalarLoop{l.PureDim, e})
		}
	}
	return out
}

// tables gives Funcs that count in tables, one a point, blocks of points side by side, as
// far as tasks are made of whole ones, where they have none.
func (p *plan) tables() {
	for _, f := range p.realised() {
		most := min(space.TablesAtOnce, p.sp.Tables(f))
		loops := p.scalarLoops(f)
		if most < 2 || len(loops) == 0 || len(p.blocks[f]) > 0 {
			continue
		}
		points := loops[0].extent
		if task := p.tasks[f].Task; task != nil {
			points = task[p.sp.Pipeline().Funcs[f].Stages[0].PureLoop(loops[0].dim)]
		}
		for points%most != 0 {
			most--
		}
		p.unroll(f, loops[0].dim, most)
	}
}

// sums gives those of the Funcs that add up something a block of sums to be kept in
// registers: two vectors, or all lanes of what a reduction was factored into, times so many
// of the innermost other dimension as are unrolled at most. Tasks have at least as many.
// False where none can have any.
func (p *plan) sums(funcs []int) bool {
	done := false
	for _, f := range funcs {
		loops := p.scalarLoops(f)
		if !p.sp.Sums(f) || p.vector(f) < 0 || len(loops) == 0 {
			continue
		}
		last := len(p.sp.Pipeline().Funcs[f].Stages) - 1
		vectors := min(2, p.sumsLimit(f))
		if p.sp.Factored(f, p.vector(f)) {
			vectors = max(1, p.pointsAlong(f)/p.sp.Lanes(f, last, p.vector(f)))
		}
		factor := powerOfTwoIn(loops[0].extent, p.sumsLimit(f)/vectors)
		p.unroll(f, p.vector(f), vectors)
		p.unroll(f, loops[0].dim, factor)
		if task := slices.Clone(p.tasks[f].Task); task != nil {
			i := p.sp.Pipeline().Funcs[f].Stages[0].PureLoop(loops[0].dim)
			task[i] = max(task[i], factor)
			p.cut(f, task)
		}
		done = true
	}
	return done
}

// rowSums gives those of the Funcs that add up something one point at a time, which is not
// along a row of what they read, several vectors of their sums to be kept in registers: as
// many as are unrolled at most. What is added to one need not wait for the one before then.
func (p *plan) rowSums(funcs []int) {
	for _, f := range funcs {
		dim := p.vector(f)
		if _, along := p.vectors[f][space.Across]; along || dim < 0 || !p.sp.Sums(f) {
			continue
		}
		last := len(p.sp.Pipeline().Funcs[f].Stages) - 1
		p.unroll(f, dim, powerOfTwoIn(p.pointsAlong(f)/p.sp.Lanes(f, last, dim), p.sumsLimit(f)))
	}
}

// sumsLimit is how many vectors of sums of f are in registers at most, where a point of a tuple
// has several.
func (p *plan) sumsLimit(f int) int64 {
	fn := &p.sp.Pipeline().Funcs[f]
	return max(1, p.sp.UnrollLimit(f, len(fn.Stages)-1)/int64(len(fn.Types)))
}

// powerOfTwoIn is the largest power of two that divides a loop and is at most so much, 1 at least.
func powerOfTwoIn(extent, most int64) int64 {
	factor := int64(1)
	for extent%(2*factor) == 0 && 2*factor <= most {
		factor *= 2
	}
	return factor
}

// inRegisters computes what adds up something in tiles of what reads it that are a block of
// sums, two vectors times so many points as are unrolled at most, so that these never leave
// the registers; and what leads to it in strips, where g has any. Of points that are made of
// sums in common, as of the four that a transform makes of one, a tile has all. False where
// nothing adds up like this.
func inRegisters(sp *space.Space, g grouping) (*plan, bool) {
	done := false
	p := grouped(sp, g, func(p *plan, f int, owner space.Reader) bool {
		if sums := sp.Sums(f); sums || isLight(sp, f) {
			if tile, ok := p.sumsTile(f, owner, false); ok {
				p.at(f, tile, tile)
				p.wholeTasks(tile)
				done = done || sums
				return true
			}
		}
		strip, ok := p.strip(owner.Func, owner.Stage, g.rows)
		return ok && g.rows > 0 && g.put(p, f, strip, strip)
	})
	return p, done
}

// sumsTile is the tile of f's owner for that, false where f is mostly computed twice in any.
// Where columns say that no task ends within rows, it may be of space.SumRows.
func (p *plan) sumsTile(f int, owner space.Reader, columns bool) (space.Place, bool) {
	stages := p.sp.Pipeline().Funcs[owner.Func].Stages
	vector := p.vector(owner.Func)
	loops := p.scalarLoops(owner.Func)
	if owner.Stage > 0 || vector < 0 || len(loops) == 0 {
		return space.Root, false
	}
	along := stages[0].PureLoop(vector)
	tile := p.sp.Extents(owner.Func, 0)
	// Each point may be made of several, as of what many filters have of it.
	limit := max(1, p.sumsLimit(f)/max(1, volume(p.sp.Extents(f, 0))/volume(tile)))
	lanes := p.sp.Lanes(owner.Func, 0, vector)
	vectors, rows := min(2, limit), powerOfTwoIn(loops[0].extent, limit/2)
	if most, all := limit/space.SumRows, loops[0].extent; columns && p.sp.SumBlocks(f) && most > 1 && tile[along] >= most*lanes && all > space.SumRows {
		if over := (space.SumRows - all%space.SumRows) % space.SumRows; over <= all/16 {
			vectors, rows = most, space.SumRows
		}
	}
	for i := range tile {
		if i == along {
			tile[i] = min(tile[i], vectors*lanes)
		} else {
			tile[i] = 1
		}
	}
	tile[stages[0].PureLoop(loops[0].dim)] = rows
	place := space.Place{Func: owner.Func, Stage: 0, Tile: tile}
	for _, l := range loops[1:] {
		i := stages[0].PureLoop(l.dim)
		switch {
		case p.sp.Repeats(f, place) <= mostRepeats:
		case p.sp.Channels(owner.Func, l.dim):
			tile[i] = l.extent
		case l.extent%2 == 0:
			tile[i] = 2
		}
	}
	return place, p.sp.Repeats(f, place) <= mostRepeats
}

// volume is how many points so many iterations of loops are.
func volume(extents []int64) int64 {
	n := int64(1)
	for _, e := range extents {
		n *= e
	}
	return n
}

// wholeTasks makes tasks of whole tiles of a place, where it has tasks.
func (p *plan) wholeTasks(tile space.Place) {
	task := slices.Clone(p.tasks[tile.Func].Task)
	for i := range task {
		task[i] = (task[i] + tile.Tile[i] - 1) / tile.Tile[i] * tile.Tile[i]
	}
	if task != nil {
		p.cut(tile.Func, task)
	}
}

// channels unrolls the dimension of few channels of those of the Funcs that have one, so
// that what these have in common is computed once. False where none has any.
func (p *plan) channels(funcs []int) bool {
	done := false
	for _, f := range funcs {
		for _, l := range p.scalarLoops(f) {
			if p.sp.Channels(f, l.dim) {
				p.unroll(f, l.dim, l.extent)
				done = true
			}
		}
	}
	return done
}

// inChannels holds for what all channels of a point of a Func that is not inlined call once
// together, not once each: inlined where these are unrolled it is computed once.
func (p *plan) inChannels(f int) bool {
	readers := p.sp.Readers(f)
	return len(readers) == 1 && p.place[readers[0].Func].Kind == space.Compute && p.sp.CallsTogether(f) <= oneCall
}

// chainBlock gives all Funcs, or those of a chain, blocks of so many rows, or of all their
// channels.
func (m *mover) chainBlock(from, _ *space.State) (*space.State, bool) {
	p := planOf(m.base, from)
	funcs := p.realised()
	if m.rng.Intn(3) == 0 {
		c, ok := m.pick(p)
		if !ok {
			return nil, false
		}
		funcs = append(c.funcs, c.owner.Func)
	}
	if m.rng.Intn(3) == 0 && p.channels(funcs) {
		return p.state(), true
	}
	done := p.jam(funcs, factors[m.rng.Intn(len(factors))])
	return p.state(), done
}

// jam gives Funcs blocks of so many rows, and makes those that are computed fewer rows
// at a time be computed as many: a stencil loads what its rows have in common once only
// if it makes them together. False where none can have any.
func (p *plan) jam(funcs []int, factor int64) bool {
	done := false
	for _, f := range funcs {
		i, _, _ := p.rowsLoop(f, 0)
		d := p.place[f]
		if i < 0 || d.Kind != space.Compute {
			continue
		}
		p.unroll(f, p.sp.Pipeline().Funcs[f].Stages[0].Loops[i].PureDim, factor)
		done = true
		at := d.Compute
		if at.Func < 0 {
			continue
		}
		rows, row, _ := p.rowsLoop(at.Func, at.Stage)
		if rows < 0 || at.Tile[rows] >= factor*row {
			continue
		}
		at.Tile = slices.Clone(at.Tile)
		at.Tile[rows] = factor * row
		if d.Store.Equal(d.Compute) {
			d.Store = at
		}
		d.Compute = at
		p.place[f] = d.Edited()
	}
	return done
}

// slice computes what is at root slice by slice of an output, or not so any more.
func (m *mover) slice(from, _ *space.State) (*space.State, bool) {
	p := planOf(m.base, from)
	all := m.sp.Slices()
	switch {
	case len(all) == 0:
		return nil, false
	case p.slice.Kind != 0:
		p.slice = space.Decision{}
	default:
		p.slice = all[m.rng.Intn(len(all))]
	}
	return p.state(), true
}

// size gives the whole a version for the estimated sizes, or takes it away.
func (m *mover) size(from, _ *space.State) (*space.State, bool) {
	if _, ok := m.sp.Sizable(); !ok {
		return nil, false
	}
	p := planOf(m.base, from)
	p.sized = !p.sized
	return p.state(), true
}

// sized is the state with a version for the estimated sizes.
func sized(s *space.State) *space.State {
	p := planOf(s.Space().Start(), s)
	p.sized = true
	return p.state()
}

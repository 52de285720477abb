package search

import (
	"fmt"
	"math"
	"slices"

	"github.com/protuner/protuner/internal/space"
)

// Prototypes are the schedules that people would try first, made for this pipeline from
// nothing: everything inlined, everything at root, and, for the Funcs that feed one place
// alone, sliding windows over strips of rows and tiles, of several sizes; each of those
// with light Funcs inlined and not, and some with several rows, all of a few channels or a
// block of sums made at a time. What feeds one place by several ways may be kept whole, too: of a
// pyramid, whose levels are all read twice, each strip would otherwise compute nearly
// everything. A long chain is cut into groups that compute little twice. Strips may be
// merged from the inputs up, no further than nothing is computed often. And where channels
// or images have nothing to do with each other, one may be done with before the next.
// Sums may be added up in registers where they are read, a tile of them at a time (inRegisters),
// with what a column of such tiles reads over and over copied for all of them.
// Histograms and the like are written point by point, several with a table each side by side
// (tables), and sums of products of short integers several products at once (fitVectors).
// Which are good depends on pipeline and machine: they are different enough that one of
// them is usually a good start. Equal ones are left out.
func Prototypes(sp *space.Space) []Candidate {
	b := &prototyper{sp: sp, known: seen{}}
	windows := everyRoot(sp, false).terms() // whose few terms are added up where they are wanted
	// What compiles soon and cannot be very slow comes first, then what most often is good.
	b.add("root-light", everyRoot(sp, true))
	b.dottedTiles()
	if windows {
		b.tilesInRegisters()
	}
	b.columnsOfSums()
	b.leadingStrips()
	b.sumsAtRoot()
	if !windows {
		b.tilesInRegisters()
	}
	b.columnsInRegisters()
	b.acrossLoops()
	b.add("root", everyRoot(sp, false))
	b.mergedStrips()
	b.sliced("root-light", everyRoot(sp, true))
	b.blocked("root", grouping{inlined: light, by: 4}, everyRoot(sp, true))
	b.blocked("root", grouping{inlined: light, channels: true}, everyRoot(sp, true))
	b.furtherStrips()
	b.add("inline", everyInline(sp))
	b.unsharedInline()
	b.tiles()
	b.columns()
	b.fusedStrips()
	return b.out
}

// prototyper collects prototypes, the first of equal ones alone.
type prototyper struct {
	sp    *space.Space
	known seen
	out   []Candidate
}

func (b *prototyper) add(name string, p *plan) {
	p.fitVectors()
	p.tables()
	c := NewCandidate(p.state(), "prototype:"+name)
	if b.known.take(c) {
		b.out = append(b.out, c)
	}
}

// blocked adds what g's blocks make of a plan.
func (b *prototyper) blocked(name string, g grouping, p *plan) {
	if g.by > 0 {
		p.jam(p.realised(), g.by)
	}
	g.channels = g.channels && p.channels(p.realised())
	b.add(name+g.String(), p)
}

// termed adds a plan, and what unrolling reductions makes of it.
func (b *prototyper) termed(name string, p *plan, unroll func(*plan) bool) {
	b.add(name, p)
	if unroll(p) {
		b.add(name+"-terms", p)
	}
}

// sliced adds what doing one channel or image after the other makes of a plan.
func (b *prototyper) sliced(name string, p *plan) {
	for _, by := range b.sp.Slices() {
		p.slice = by
		b.add(name+"-sliced", p)
	}
}

// strips adds what g's strips make, in each of which a row is computed at a time.
func (b *prototyper) strips(g grouping) { b.blocked(fmt.Sprintf("strips-%d", g.rows), g, b.slid(g)) }

// slid slides what feeds one place over the rows of g's strips of it.
func (b *prototyper) slid(g grouping) *plan {
	return grouped(b.sp, g, func(p *plan, f int, owner space.Reader) bool {
		row, ok := p.strip(owner.Func, owner.Stage, 1)
		strip, _ := p.strip(owner.Func, owner.Stage, g.rows)
		return ok && g.put(p, f, row, strip)
	})
}

// leading are the strips that most often are good.
var leading = []grouping{
	// Where there are no channels these two are those without.
	{inlined: light, rows: 32, channels: true}, {inlined: few, apart: true, rows: 32, channels: true},
	// A mosaic's rows and columns alternate: of two rows at a time all is known.
	{inlined: light, rows: 64, by: 2, channels: true},
	{inlined: light, rows: 256, by: 2}, {inlined: light, rows: 32}, {inlined: few, apart: true, rows: 32},
	{inlined: light, rows: 64, by: 4}, {inlined: few, apart: true, rows: 32, by: 2},
	{inlined: light, rows: 256, by: 2, sparing: true}, {inlined: light, rows: 64, sparing: true},
}

func (b *prototyper) leadingStrips() {
	for _, g := range leading {
		b.strips(g)
	}
}

func (b *prototyper) furtherStrips() {
	for _, rows := range []int64{32, 8, 128} {
		for _, g := range []grouping{{inlined: light}, {inlined: few, apart: true}, {inlined: light, apart: true}, {}} {
			g.rows = rows
			if !slices.Contains(leading, g) {
				b.strips(g)
			}
		}
	}
}

// dottedTiles are early: where products are packed for several at once nothing else is as
// fast, and nothing that was measured of others says so.
func (b *prototyper) dottedTiles() {
	if p, _ := tiled(b.sp, grouping{inlined: light, rows: 8}, twoVectors(b.sp), 0); p.dot() {
		b.add("tiles-light-dotted", p)
	}
}

func (b *prototyper) tilesInRegisters() {
	for _, rows := range []int64{0, 8} {
		if p, ok := inRegisters(b.sp, grouping{inlined: light, rows: rows}); ok {
			p.sized = true
			b.termed(fmt.Sprintf("registers-%d", rows), p, (*plan).terms)
		}
	}
}

// inPlanes has tiles of one channel.
var inPlanes = grouping{inlined: light, rows: 8, planes: true}

func (b *prototyper) columnsOfSums() {
	if p, columns := tiled(b.sp, inPlanes, 32, 64); columns && p.sums(p.realised()) {
		b.add(fmt.Sprintf("columns-64%v-sums", inPlanes), p)
	}
}

func (b *prototyper) sumsAtRoot() {
	if p := everyRoot(b.sp, true); p.sums(p.realised()) {
		p.sized = true // updates have whole blocks of loops that are all there is then
		b.termed("root-light-sums", p, (*plan).terms)
	}
	if p := everyRoot(b.sp, true); p.turn() && p.sums(p.realised()) {
		p.sized = true
		b.add("root-light-turned-sums", p)
	}
}

func (b *prototyper) columnsInRegisters() {
	g := grouping{rows: 8, registers: true}
	if p, columns := tiled(b.sp, g, 1, 64); columns {
		b.termed(fmt.Sprintf("columns-64%v", g), p, (*plan).longTerms)
	}
}

func (b *prototyper) acrossLoops() {
	for _, g := range []grouping{{inlined: light}, {inlined: light, rows: 64}, {inlined: light, rows: 64, by: 4}} {
		name, p := "across", everyRoot(b.sp, true)
		if g.rows > 0 {
			name, p = fmt.Sprintf("across-%d", g.rows), b.slid(g)
		}
		if p.across() {
			p.rowSums(p.realised())
			p.sized = true
			b.blocked(name, g, p)
		}
	}
}

func (b *prototyper) mergedStrips() {
	for _, rows := range []int64{16, 64} {
		name, p := fmt.Sprintf("strips-%d-merged", rows), merged(b.sp, rows)
		b.add(name, p)
		b.sliced(name, p)
	}
}

func (b *prototyper) unsharedInline() {
	b.add("inline-unshared", grouped(b.sp, grouping{inlined: light}, func(p *plan, f int, _ space.Reader) bool {
		p.inline(f)
		return b.sp.CanInline(f)
	}))
}

func (b *prototyper) tiles() {
	for _, t := range [][2]int64{{128, 32}, {64, 8}, {256, 128}} {
		for _, g := range []grouping{{inlined: light}, {}} {
			g.rows = t[1]
			p, _ := tiled(b.sp, g, t[0], t[0])
			b.add(fmt.Sprintf("tiles-%dx%d%v", t[0], t[1], g), p)
		}
	}
}

func (b *prototyper) columns() {
	for _, g := range []grouping{{inlined: light, rows: 8}, {rows: 8}, inPlanes} {
		if p, columns := tiled(b.sp, g, 1, 1); columns {
			b.add(fmt.Sprintf("columns%v", g), p)
		}
	}
}

func (b *prototyper) fusedStrips() {
	for _, rows := range []int64{4, 16, 64} {
		g := grouping{inlined: light, rows: rows}
		b.add(fmt.Sprintf("strips-%d-fused", rows), grouped(b.sp, g, func(p *plan, f int, owner space.Reader) bool {
			strip, ok := p.strip(owner.Func, owner.Stage, rows)
			return ok && g.put(p, f, strip, strip)
		}))
	}
}

// twoVectors is how many integers of 32 bits two vectors hold.
func twoVectors(sp *space.Space) int64 { return int64(2 * sp.Pipeline().VectorBits() / 32) }

// tiled computes what feeds one place in tiles of it, of g's rows and so many points wide, a
// vector at least. What each of a column of tiles would compute anew, as a scan over the rows
// needs all of them, is computed for a column so many points wide, and tasks are columns
// then, if there are any. States of a scan that are many for each point fit a cache where
// columns are narrow, or of one channel. Not columned, either, where nothing that adds up is in
// the tiles of registers that g asks for.
func tiled(sp *space.Space, g grouping, width, columnWidth int64) (_ *plan, columned bool) {
	columns := map[int][]int64{} // by owner
	done := !g.registers
	p := grouped(sp, g, func(p *plan, f int, owner space.Reader) bool {
		wide := max(width, sp.Lanes(owner.Func, owner.Stage, p.vector(owner.Func)))
		tile, ok := p.tile(owner.Func, owner.Stage, wide, g.rows, g.planes)
		if g.registers {
			if block, some := p.sumsTile(f, owner, true); some {
				tile, done = block, done || sp.Sums(f)
				wide = tile.Tile[sp.Pipeline().Funcs[owner.Func].Stages[0].PureLoop(p.vector(owner.Func))]
			}
		}
		if !ok || g.put(p, f, tile, tile) {
			return ok
		}
		column, _ := p.tile(owner.Func, owner.Stage, max(wide, columnWidth), math.MaxInt64, g.planes)
		if !g.put(p, f, column, column) {
			return false
		}
		if owner.Stage == 0 {
			columns[owner.Func] = column.Tile
		}
		return true
	})
	for f, column := range columns {
		p.cut(f, column)
	}
	return p, done && len(columns) > 0
}

// grouping says how grouped goes about it.
type grouping struct {
	inlined inlining
	// apart sends what several Funcs read to root, even if one place needs it all.
	apart bool
	// rows of a task of what is at root; 0 to cut evenly.
	rows int64
	// by is how many rows are made at a time, 0 for one.
	by int64
	// sparing sends to root, where it starts strips of its own, what would be computed more
	// than fewRepeats times in those it feeds: each Func of a long chain begins a strip
	// with more rows than the one that reads it.
	sparing bool
	// channels makes all of a few channels at a time, and inlines what they have in common.
	channels bool
	// planes has tiles of one channel.
	planes bool
	// registers has tiles that are a block of sums each, where they can be (see inRegisters).
	registers bool
}

func (g grouping) String() string {
	name := map[inlining]string{light: "-light", few: "-few"}[g.inlined]
	if g.apart {
		name = "-apart" + name
	}
	if g.sparing {
		name = "-sparing" + name
	}
	if g.by > 0 {
		name += fmt.Sprintf("-by-%d", g.by)
	}
	if g.channels {
		name += "-channels"
	}
	if g.planes {
		name += "-planes"
	}
	if g.registers {
		name += "-registers"
	}
	return name
}

// inlining says which Funcs are inlined where that is legal.
type inlining int

const (
	none  inlining = iota
	light          // see isLight
	// few also inlines what one Func alone reads, if no point of it is then computed
	// more than fewTimes for one of the Func that it ends up in.
	few
)

// fewTimes is the three taps of a short filter.
const fewTimes = 3

// fewRepeats is what sparing groups may compute too much, about a seventh.
const fewRepeats = 1.15

// put computes f at a place and stores it at another, unless each tile of that would
// compute too much of it anew. Groups that are not sparing go as far as the space does,
// which counts all that is in a nest and so finds the end later: a strip of a pyramid's
// coarsest level would compute nearly all of it.
func (g grouping) put(p *plan, f int, compute, store space.Place) bool {
	most := p.sp.Options().Recompute
	if g.sparing {
		most = fewRepeats
	}
	if p.sp.Repeats(f, store) > most {
		return false
	}
	p.at(f, compute, store)
	return true
}

// isLight holds for Funcs that are usually best inlined: those that read each of
// their inputs at their own point only, copies, of which nothing is computed but where
// they read, and those called once (see once). What is written where the data say is written
// point by point, and so would be computed what is inlined into it: of what it reads, copies
// aside, vectors are made before.
func isLight(sp *space.Space, f int) bool { return sp.CanInline(f) && (isSlight(sp, f) || once(sp, f)) }

// isSlight holds for those of them that are inlined however often they are called.
func isSlight(sp *space.Space, f int) bool {
	fn := &sp.Pipeline().Funcs[f]
	return fn.Pointwise && !scattered(sp, f) || fn.Wrapper || fn.Copy
}

// scattered holds for what a stage reads that writes where the data say.
func scattered(sp *space.Space, f int) bool { return slices.ContainsFunc(sp.Readers(f), sp.Scatters) }

// oneCall is one call for each point: thirds of one add up to a little more.
const oneCall = 1 + 1e-9

// once holds for what is called once, or by one stage once for each point that they have,
// which inlining does not compute more often, unless that is inlined in its turn where it is
// called more often; and not what would be computed point by point there (see isLight).
func once(sp *space.Space, f int) bool {
	readers := sp.Readers(f)
	if scattered(sp, f) || sp.Calls(f) != 1 && (len(readers) != 1 || sp.CallsPerPoint(f) > oneCall) {
		return false
	}
	return !slices.ContainsFunc(readers, func(r space.Reader) bool {
		return isSlight(sp, r.Func) && sp.CanInline(r.Func) && !once(sp, r.Func)
	})
}

// grouped gives each Func that feeds a single stage's loops to that stage, its
// owner, by calling place; the others own themselves and go to root.
func grouped(sp *space.Space, g grouping, place func(p *plan, f int, owner space.Reader) bool) *plan {
	p := newPlan(sp)
	owners := make([]space.Reader, sp.Funcs())
	times := make([]int, sp.Funcs()) // how often a point is computed for one of where it is inlined, up to more than fewTimes
	for f := range sp.Funcs() {
		if !sp.Scheduled(f) {
			continue
		}
		readers, calls := sp.Readers(f), sp.CallsBy(f)
		alone := !slices.ContainsFunc(readers, func(r space.Reader) bool { return r.Func != readers[0].Func })
		owner, shared := space.Reader{Func: f}, sp.OnlyRoot(f) || sp.Strips(f) || g.apart && !alone
		for i, r := range readers {
			o := r
			if owners[r.Func].Func != r.Func {
				o = owners[r.Func]
			}
			if i == 0 {
				owner = o
			}
			shared = shared || o != owner
			times[f] = min(times[f]+calls[i]*max(1, times[r.Func]), fewTimes+1)
		}
		owners[f] = owner
		atRoot := shared || !place(p, f, owner)
		if atRoot {
			owners[f] = space.Reader{Func: f}
			p.root(f)
			rows := g.rows
			if sp.Strips(f) {
				rows = 0 // of strips there may be no more than tasks need
			}
			p.even(f, rows)
		}
		fits := sp.CanInline(f) && !scattered(sp, f)
		fewOnes := fits && g.inlined == few && alone && times[f] <= fewTimes
		common := fits && g.channels && p.inChannels(f)
		// A copy of an input is for the tiles that read it over and over, not for all of them.
		useless := fits && g.registers && atRoot && sp.Pipeline().Funcs[f].Wrapper
		if !sp.OnlyRoot(f) && (fewOnes || common || useless || g.inlined >= light && isLight(sp, f)) {
			p.preferInline(f)
		} else {
			times[f] = 0
		}
	}
	return p
}

// mostRepeats is how often a point may be computed for merged to go on.
const mostRepeats = 1.5

// merged inlines light Funcs and merges the others from the inputs up: a Func, with what
// was merged with it before, is computed in strips of the only one that reads it, unless
// any point would then be computed more than mostRepeats times. Grouping from the output
// down would take as many as it can into the last strips and leave whole what needs all
// rows of one of them; like this each of two passes over rows and columns has its own.
func merged(sp *space.Space, rows int64) *plan {
	p := newPlan(sp)
	owners := make([]space.Reader, sp.Funcs())
	through := make([][]space.Reader, sp.Funcs()) // readers, those of inlined ones in their place
	inlined := func(f int) bool { return !sp.OnlyRoot(f) && isLight(sp, f) }
	for f := range sp.Funcs() {
		owners[f] = space.Reader{Func: f}
		for _, r := range sp.Readers(f) {
			rs := []space.Reader{r}
			if inlined(r.Func) {
				rs = through[r.Func]
			}
			for _, r := range rs {
				if !slices.Contains(through[f], r) { // there are far more ways to readers than readers
					through[f] = append(through[f], r)
				}
			}
		}
	}
	for f := sp.Funcs() - 1; f >= 0; f-- {
		rs := through[f]
		if !sp.Scheduled(f) || inlined(f) || sp.OnlyRoot(f) || slices.ContainsFunc(rs, func(r space.Reader) bool { return r != rs[0] }) {
			continue
		}
		strip, ok := p.strip(rs[0].Func, rs[0].Stage, rows)
		often := func(g int) bool { return owners[g].Func == f && sp.Repeats(g, strip) > mostRepeats }
		if !ok || slices.ContainsFunc(append(sp.Upstream(f), f), often) {
			continue
		}
		for g := range owners {
			if owners[g].Func == f {
				owners[g] = rs[0]
			}
		}
	}
	for f, owner := range owners {
		if !sp.Scheduled(f) {
			continue
		}
		if strip, ok := p.strip(owner.Func, owner.Stage, rows); ok && owner.Func != f {
			p.at(f, strip, strip)
		} else {
			p.root(f)
			p.even(f, rows)
		}
		if inlined(f) {
			p.preferInline(f)
		}
	}
	return p
}

// even cuts f into tasks of so many rows, or into eight a core where rows is 0.
func (p *plan) even(f int, rows int64) {
	place, ok := p.strip(f, 0, max(rows, 1))
	if !ok {
		return
	}
	if rows == 0 {
		i, row, _ := p.rowsLoop(f, 0)
		cores := int64(p.sp.Options().Parallelism)
		place.Tile[i] = max(1, p.sp.Extents(f, 0)[i]/(8*cores*row)) * row
	}
	p.cut(f, place.Tile)
}

// everyInline inlines all that may be.
func everyInline(sp *space.Space) *plan {
	p := everyRoot(sp, false)
	for f := range sp.Funcs() {
		if sp.Scheduled(f) && sp.CanInline(f) {
			p.inline(f)
		}
	}
	return p
}

// everyRoot computes everything at root, light Funcs perhaps excepted.
func everyRoot(sp *space.Space, light bool) *plan {
	p := newPlan(sp)
	for f := range sp.Funcs() {
		if !sp.Scheduled(f) {
			continue
		}
		p.root(f)
		p.even(f, 0)
		if light && isLight(sp, f) {
			p.preferInline(f)
		}
	}
	return p
}

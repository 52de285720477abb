package space

import "slices"

// appendPath appends the levels from the root inwards into whose bodies Func f may be
// put: each time the only child that reads f, as long as that makes the region
// of f smaller. A Func read by two children can go no deeper.
func (sp *Space) appendPath(path []*Nest, root *Nest, f int) []*Nest {
	path = append(path, root)
	for n := root; ; {
		c := n.onlyReader(f)
		if c < 0 || sp.o.NoSubtiling && !n.IsRoot() {
			return path
		}
		child := n.Children[c]
		if n.IsRoot() && sp.o.Parallelism > 1 && ones(child.Size) == len(child.Size) {
			return path // a single iteration could never be made parallel
		}
		if !shrinks(child.site, n.site, f) {
			return path
		}
		path = append(path, child)
		n = child
	}
}

// onlyReader is the index of the one child that reads f, -1 where there are none
// or several.
func (n *Nest) onlyReader(f int) int {
	found := -1
	for i, c := range n.Children {
		if c.Reads(f) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// shrinks holds where less of f is needed inside than around.
func shrinks(inside, around *site, f int) bool {
	return points(inside.bounds(f).computed()) < points(around.bounds(f).computed())
}

// breaksVectors holds where too little of f is needed inside to fill a vector
// over dimension v while there was enough around.
func (sp *Space) breaksVectors(inside, around *site, f, v int) bool {
	if v < 0 {
		return false
	}
	there := around.bounds(f).Computed(v).Extent()
	enough := sp.filling(f, v, there)
	return there >= enough && inside.bounds(f).Computed(v).Extent() < enough
}

func ones(size []int64) int {
	n := 0
	for _, s := range size {
		if s == 1 {
			n++
		}
	}
	return n
}

// strip holds where a loop nest has exactly one loop that iterates and that is
// not the vectorised one: what sliding windows work along (section 3.2).
func (n *Nest) strip(size []int64) bool {
	return ones(size) == len(size)-1 && (n.VectorLoop < 0 || size[n.VectorLoop] == 1)
}

// family is a set of actions that differ only in tile sizes: the unit of
// enumeration and of drawing. Vector, level and slide are those of Action.
type family struct {
	vector, level int
	slide         bool
	// tiles are the tilings of the level, if it is cut: listed, or as a set, which may
	// hold some that are not allowed where the families are sought in.
	tiles [][]int64
	set   *tileSet
	// inners are the splits of the level further in, where those do not depend
	// on the tile; deep says that they follow from the tile instead, and that none
	// is possible too.
	inners [][]int64
	deep   bool
}

// cuts is how many ways there are to cut the level.
func (fam *family) cuts() int {
	if fam.set != nil {
		return fam.set.total
	}
	return len(fam.tiles)
}

// action is the member of the family without tiles.
func (fam *family) action(f int) Action {
	return Action{Kind: Compute, Func: f, Vector: fam.vector, Level: fam.level, Slide: fam.slide}
}

// families lists the ways to compute f, before the pruning that needs more than
// the levels there are. Together with inlining they are what Actions and Sample
// choose from. The order is that of Adams et al.'s code: by vector dimension; then
// by level from the root inwards, directly, then tiling by tiling (each stored in
// the tiles and computed further in, then wholly in them); then, from the innermost
// level out, stored there and computed one level further in.
func (p *placing) families(to use) {
	sp := p.s.sp
	n := &sp.nodes[p.f]
	p.tiles = p.tiles[:0]
	for i, l := range p.path {
		var t family
		switch {
		case !p.cuts(i):
		case to == sought || to == drawn && sp.anyTiles(l):
			t.set = p.setOf(i)
		default:
			t.tiles = p.listed(i)
		}
		p.tiles = append(p.tiles, t)
	}
	slides := p.slides()
	out := p.fams[:0]
	for _, v := range n.vectorDims {
		for i := range p.path {
			if p.goesInto(i, v) {
				out = append(out, family{vector: v, level: i})
			}
			if t := &p.tiles[i]; t.cuts() > 0 {
				if slides {
					out = append(out, family{vector: v, level: i, slide: true, tiles: t.tiles, set: t.set, deep: true})
				}
				out = append(out, family{vector: v, level: i, tiles: t.tiles, set: t.set})
			}
		}
		if !slides {
			continue
		}
		for i := len(p.path) - 2; i >= 0; i-- {
			if !p.slidesIn(i) {
				continue
			}
			if p.slidesInto(i+1, v) {
				out = append(out, family{vector: v, level: i, slide: true})
			}
			if inners := sp.slideSplits(p.path[i+1]); len(inners) > 0 {
				out = append(out, family{vector: v, level: i, slide: true, inners: inners})
			}
		}
	}
	p.fams = out
}

// use is what families are made for.
type use uint8

const (
	// listed: to go through all actions.
	listed use = iota
	// drawn: to draw one. Where a level may be cut in whatever way there is, that is
	// done without a list.
	drawn
	// sought: to look for some, among sets that hold some tilings that allows does not.
	sought
)

// goesInto holds where f may be computed and stored directly in level i, vectorised
// over v.
func (p *placing) goesInto(i, v int) bool {
	l := p.path[i]
	return i == 0 || !l.Innermost && !p.s.sp.breaksVectors(l.site, p.path[i-1].site, p.f, v)
}

// cuts holds where level i may be cut.
func (p *placing) cuts(i int) bool { return i > 0 && p.path[i].Tileable }

// slides holds where f may be computed further in than it is stored.
func (p *placing) slides() bool {
	return len(p.s.sp.nodes[p.f].Stages) == 1 || p.s.sp.o.SlideUpdates
}

// slidesIn holds where level i, uncut, may store f while a level further in computes
// it: parallel loops cannot slide.
func (p *placing) slidesIn(i int) bool {
	return i < len(p.path)-1 && (i > 0 || p.s.sp.o.Parallelism <= 1)
}

// slidesInto holds where f may be computed in all of level i, vectorised over v, while
// the level around stores it.
func (p *placing) slidesInto(i, v int) bool {
	l := p.path[i]
	return l.strip(l.Size) && p.s.sp.fitsInside(l, l.Size, p.path[i-1].site, p.f, v)
}

// setOf is the set of the tilings of level i, allowed or not. It lasts until asked for
// again.
func (p *placing) setOf(i int) *tileSet {
	for len(p.sets) <= i {
		p.sets = append(p.sets, new(tileSet))
	}
	p.sets[i].init(p.path[i].Size, splits)
	p.eachSumBlock(i, p.sets[i].add)
	return p.sets[i]
}

// listed are the tilings of level i that are allowed. The slice is shared.
func (p *placing) listed(i int) [][]int64 {
	sp, l := p.s.sp, p.path[i]
	out := slices.Clip(sp.tiles(l))
	p.eachSumBlock(i, func(t []int64) {
		if sp.allows(l, t) && !contains(out, t) {
			out = append(out, t)
		}
	})
	return out
}

// SumRows is how many points of one loop a block of sums has that takes the fewest loads: by two
// vectors they are the 12 sums that 16 registers bear, by four the 24 of 32.
const SumRows = 6

// sumRows are how many a block may have beside three and powers of two.
var sumRows = [...]int64{SumRows, 2 * SumRows}

// SumBlocks says whether there are tiles for f that are a block of sums of so many rows.
func (sp *Space) SumBlocks(f int) bool { return sp.nodes[f].sumBlocks }

// eachSumBlock calls add with the tilings of level i whose tiles are such a block of what f adds
// up and nothing else: so many points of the innermost loop there is beside the vector's, by one,
// two or four vectors, as far as there are registers for their sums. With such sizes for all
// loops of all tiles a space would have more choices, of which hardly any is better. Points of
// partial results are several sums each.
func (p *placing) eachSumBlock(i int, add func(tiling []int64)) {
	sp, l := p.s.sp, p.path[i]
	if l.VectorLoop < 0 || !sp.SumBlocks(p.f) {
		return
	}
	row := -1
	for k, o := range sp.stages[l.stageNumber()].Loops {
		if o.Pure && k != l.VectorLoop && l.Size[k] > 1 {
			row = k
			break
		}
	}
	if row < 0 {
		return
	}
	most := sp.UnrollLimit(p.f, len(sp.nodes[p.f].Stages)-1)
	along, up := l.Size[l.VectorLoop], l.Size[row]
	for _, rows := range sumRows {
		tiles := ceilDiv(up, rows)
		if tiles == 1 || wasteful(up, rows, tiles) {
			continue
		}
		for vectors := int64(1); vectors <= min(4, most/rows) && along%vectors == 0; vectors *= 2 {
			t := slices.Clone(l.Size)
			t[l.VectorLoop], t[row] = along/vectors, tiles
			add(t)
		}
	}
}

// fitsInside holds where f may be computed directly in the body of level l, here
// of this size, while stored around it: not within a vector, not inside the
// vectorised loop's iterations, and not so far in that it could fill no vector.
func (sp *Space) fitsInside(l *Nest, size []int64, around *site, f, v int) bool {
	if l.Innermost || sp.breaksVectors(l.site, around, f, v) {
		return false
	}
	// Their code indexes the level's loops by the level's vectorised dimension.
	d := l.VectorDim
	return d < 0 || d >= len(size) || size[d] == 1
}

// tiles lists the tilings of a level, those of a parallel level that would leave
// cores idle excepted, and those that would reorder a reduction.
func (sp *Space) tiles(l *Nest) [][]int64 {
	if sp.anyTiles(l) {
		return sp.tilings(l.Size, splits)
	}
	return sp.remembered(l.Size, tilesOf(l.stageNumber(), l.Parallel), func() [][]int64 {
		var kept [][]int64
		for _, t := range sp.tilings(l.Size, splits) {
			if sp.allows(l, t) {
				kept = append(kept, t)
			}
		}
		return kept
	})
}

// allows holds where a tiling of a level leaves no cores idle, if it is parallel, and
// keeps the order of a reduction.
func (sp *Space) allows(l *Nest, t []int64) bool {
	st := &sp.stages[l.stageNumber()]
	return (!l.Parallel || sp.idle(st, t) <= sp.o.RetileIdleLimit) && (sp.o.Unchecked || st.keepsOrder(l.Size, t))
}

// anyTiles holds where all tilings of a level are allowed.
func (sp *Space) anyTiles(l *Nest) bool {
	return !l.Parallel && (sp.o.Unchecked || !sp.stages[l.stageNumber()].ordered)
}

// idle is by how much the slowest core exceeds the average when a level's pure
// loops of these extents are spread over the cores.
func (sp *Space) idle(st *stage, size []int64) float64 {
	return idleness(st.tasks(size), sp.o.Parallelism)
}

// keepsOrder holds where cutting loops of this size into t tiles visits a
// reduction that must keep its order in that order: outside the innermost
// reduction loop that is cut, the others must be entirely outside.
func (st *stage) keepsOrder(size, t []int64) bool {
	if !st.ordered {
		return true
	}
	cut := false
	for i, l := range st.Loops {
		if l.Pure {
			continue
		}
		if cut && t[i] != size[i] {
			return false
		}
		cut = cut || t[i] > 1
	}
	return true
}

// slideSplits lists the splits of level c for computing f in its tiles while
// storing it around c. The code of Adams et al. asks that c be a strip already;
// their tilings then hold only the one that leaves all its iterations outside, if
// the last loop is none of them. With StripSlide the outer part must be a strip, of which
// a step may be two or four iterations.
func (sp *Space) slideSplits(c *Nest) [][]int64 {
	strip := c.strip(c.Size)
	if !c.Tileable || !strip && !sp.o.StripSlide {
		return nil
	}
	if !sp.o.StripSlide {
		return sp.tilings(c.Size, whole)
	}
	return sp.remembered(c.Size, stripsOf(c.stageNumber(), c.VectorLoop), func() [][]int64 {
		st := &sp.stages[c.stageNumber()]
		var kept [][]int64
		for _, u := range sp.tilings(c.Size, stepped) {
			if c.strip(u) && (sp.o.Unchecked || st.keepsOrder(c.Size, u)) {
				kept = append(kept, u)
			}
		}
		return kept
	})
}

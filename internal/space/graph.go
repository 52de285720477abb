package space

import (
	"cmp"
	"math"
	"slices"

	"github.com/protuner/protuner/internal/pipeline"
)

// What a search needs to know of the pipeline to make up decisions of its own.

// Funcs is how many Funcs there are, inputs included; they are numbered with
// consumers before producers.
func (sp *Space) Funcs() int { return len(sp.nodes) }

// funcNamed is the Func of that name, -1 where there is none.
func (sp *Space) funcNamed(name string) int {
	return slices.IndexFunc(sp.nodes, func(n node) bool { return n.Name == name })
}

// Scheduled reports whether there is anything to decide about Func f: all but
// inputs and Funcs that nothing reads.
func (sp *Space) Scheduled(f int) bool { return !sp.nodes[f].given }

// CanInline reports whether f may be inlined as far as its definition goes; the
// limits of the space may still forbid it somewhere.
func (sp *Space) CanInline(f int) bool {
	return sp.nodes[f].inlinable()
}

// OnlyRoot reports whether f can be computed at root only.
func (sp *Space) OnlyRoot(f int) bool {
	n := &sp.nodes[f]
	return n.Output || n.Extern || n.MustRoot != ""
}

// VectorDims lists the dimensions f may be vectorised over, -1 standing for none.
func (sp *Space) VectorDims(f int) []int { return sp.nodes[f].vectorDims }

// AlongMemory is the dimension in VectorDims(f) along which most loads of a reduction are
// dense, where what it reads goes along memory by the same rule, those counted against it that
// have a stride. Where none has more than the others it is the first of them, and of all else;
// of a reduction without one that fills a vector the longest.
func (sp *Space) AlongMemory(f int) int { return sp.nodes[f].alongMemory }

// findAlongMemory finds it.
func (sp *Space) findAlongMemory(f int) int {
	n := &sp.nodes[f]
	score := func(d int) float64 {
		loads := 0.0
		for s := range n.Stages {
			st := &n.Stages[s]
			along := st.PureLoop(d)
			if along < 0 {
				return 0 // not all of it goes along d
			}
			for e := range st.Edges {
				loads += densely(&st.Edges[e], sp.nodes[st.Edges[e].Producer].alongMemory, along) * points(sp.root.bounds(f).Loops(s))
			}
		}
		return loads
	}
	best := n.vectorDims[0]
	if best < 0 || !n.reduces {
		return best
	}
	most := score(best)
	for _, d := range n.vectorDims[1:] {
		if s := score(d); s > max(most, 0) {
			best, most = d, s
		}
	}
	if b := sp.root.bounds(f); most <= 0 && b.Computed(best).Extent() < int64(n.VectorSize) {
		for _, d := range n.vectorDims { // none fills a vector
			if b.Computed(d).Extent() > b.Computed(best).Extent() {
				best = d
			}
		}
	}
	return best
}

// densely is how many loads of an edge are dense along a loop, less those that go along
// another dimension than row, the producer's innermost.
func densely(e *pipeline.Edge, row, loop int) float64 {
	n := 0.0
	for k := range e.Jacobians {
		switch j := &e.Jacobians[k]; {
		case isDenseIn(j, row, loop):
			n += float64(j.Count)
		case strides(j, row, loop):
			n -= float64(j.Count)
		}
	}
	return n
}

// Extents gives the extents of the loops of a stage of f when it is computed at
// root, innermost first.
func (sp *Space) Extents(f, stage int) []int64 {
	loops := sp.root.bounds(f).Loops(stage)
	out := make([]int64, len(loops))
	for i, l := range loops {
		out[i] = l.Extent()
	}
	return out
}

// Reader is a stage that reads a Func.
type Reader struct{ Func, Stage int }

// Readers lists the stages that read f, consumers first.
func (sp *Space) Readers(f int) []Reader {
	out := make([]Reader, len(sp.nodes[f].consumers))
	for i, c := range sp.nodes[f].consumers {
		out[i] = Reader{c.fn, c.idx}
	}
	return out
}

// Calls is how often f is called in all, each reader counted per point of its own.
func (sp *Space) Calls(f int) int {
	calls := 0
	for _, c := range sp.nodes[f].consumers {
		calls += c.edge.Calls
	}
	return calls
}

// CallsBy is how often each of Readers(f) calls f, per point of its own.
func (sp *Space) CallsBy(f int) []int {
	out := make([]int, len(sp.nodes[f].consumers))
	for i, c := range sp.nodes[f].consumers {
		out[i] = c.edge.Calls
	}
	return out
}

// CallsPerPoint is how often each point of f is called on average: at most 1 where inlining
// f computes nothing twice, as where two by two points of it make one. A call that only
// some points make, as their channel has it, counts for those.
func (sp *Space) CallsPerPoint(f int) float64 {
	return sp.perPoint(f, func(c consumer) float64 { return c.edge.Executed() })
}

// CallsTogether is CallsPerPoint where all channels of a point of those that call f are made
// together (see Channels): what all of them call counts once.
func (sp *Space) CallsTogether(f int) float64 {
	return sp.perPoint(f, func(c consumer) float64 { return c.executed })
}

// perPoint is how often each point of f is called on average, by how many calls a point of a
// consumer makes.
func (sp *Space) perPoint(f int, by func(c consumer) float64) float64 {
	calls := 0.0
	for _, c := range sp.nodes[f].consumers {
		calls += by(c) * points(sp.root.bounds(c.fn).Loops(c.idx))
	}
	return calls / points(sp.root.bounds(f).computed())
}

// Upstream lists the scheduled Funcs that f reads, directly or not, in order.
func (sp *Space) Upstream(f int) []int {
	all := sp.newSet()
	for s := range sp.nodes[f].Stages {
		all.union(sp.stages[sp.nodes[f].first+s].upstream)
	}
	var out []int
	for g := range sp.nodes {
		if all.has(g) && !sp.nodes[g].given {
			out = append(out, g)
		}
	}
	return out
}

// Channels holds for a dimension of f that is short enough to be unrolled whole: of up to four
// points, or of up to sixteen where each of them has a formula of its own.
func (sp *Space) Channels(f, dim int) bool {
	const few, many = 4, 16
	extent := sp.root.bounds(f).Computed(dim).Extent()
	return extent <= few || extent <= many && sp.nodes[f].chosen[dim]
}

// findChosen marks the dimensions of Funcs where a Func, or one that it reads point for point,
// has a formula of its own for each point (pipeline.Loop.Chooses).
func (sp *Space) findChosen() {
	for f := len(sp.nodes) - 1; f >= 0; f-- { // producers first
		n := &sp.nodes[f]
		n.chosen = make([]bool, n.dims)
		extents := sp.Extents(f, 0)
		for i, l := range n.Stages[0].Loops {
			if l.PureDim >= 0 {
				n.chosen[l.PureDim] = l.Chooses || sp.followsChosen(f, i, extents[i])
			}
		}
	}
}

// followsChosen holds where a loop of the pure stage of f, so long, goes through all of a
// dimension that another Func is chosen by, one by one.
func (sp *Space) followsChosen(f, loop int, extent int64) bool {
	for _, e := range sp.nodes[f].Stages[0].Edges {
		read := sp.Extents(e.Producer, 0)
		for i, l := range sp.nodes[e.Producer].Stages[0].Loops {
			if l.PureDim < 0 || !sp.nodes[e.Producer].chosen[l.PureDim] || read[i] != extent {
				continue
			}
			for _, j := range e.Jacobians {
				if j.Coeffs[l.PureDim][loop].Is(1) {
					return true
				}
			}
		}
	}
	return false
}

// fewChannels is how many a pixel may have; what is longer is a row.
const fewChannels = 64

// A list has at most fewValues of each kind for a point, and manyVectors times as many vectors
// of points as these at least.
const fewValues, manyVectors = 16, 8

// RowsLoop picks the loop of a stage along which to cut strips, and how many of its
// iterations are a row: the longest pure one that is not of the dimension vectorised, -1
// for none; where there is no other, or these go over the few values of each of a long list's
// points, the vectorised one itself, of which each vector is a row; -1 where that is no longer
// than one. Where vectors are along a pixel's few channels, fewer than there are pixels either
// way, rows are of pixels, along the next loop if another is a quarter as long: within is that
// loop, else -1.
func (sp *Space) RowsLoop(f, stage, vector int) (loop int, row int64, within int) {
	var others []int // longer than one, innermost first
	extents := sp.Extents(f, stage)
	for i, e := range extents {
		if l := sp.nodes[f].Stages[stage].Loops[i]; l.Pure && !l.RVar && (l.PureDim != vector || vector < 0) && e > 1 {
			others = append(others, i)
		}
	}
	longest := func(of []int) int {
		return slices.MaxFunc(of, func(i, k int) int { return cmp.Compare(extents[i], extents[k]) })
	}
	points := int64(math.MaxInt64) // along the vectors
	if along := sp.nodes[f].Stages[stage].PureLoop(vector); vector >= 0 && along >= 0 {
		points = extents[along]
		lanes, values := sp.Lanes(f, stage, vector), int64(0)
		if len(others) > 0 {
			values = extents[longest(others)]
		}
		if values <= fewValues && points > lanes*max(1, manyVectors*values) {
			return along, lanes, -1
		}
	}
	if len(others) == 0 {
		return -1, 1, -1
	}
	if len(others) > 1 && points <= fewChannels {
		pixels, rows := extents[others[0]], longest(others[1:])
		if points < pixels && points < extents[rows] && pixels <= 4*extents[rows] {
			return rows, 1, others[0]
		}
	}
	return longest(others), 1, -1
}

// Strip is the place in the loops of a stage where one iteration covers so many of its
// rows and everything of its other loops.
func (sp *Space) Strip(f, stage, vector int, rows int64) (Place, bool) {
	i, row, _ := sp.RowsLoop(f, stage, vector)
	if i < 0 {
		return Root, false
	}
	tile := sp.Extents(f, stage)
	if rows < ceilDiv(tile[i], row) {
		tile[i] = rows * row
	}
	return Place{Func: f, Stage: stage, Tile: tile}, true
}

// Repeats is how often each point of f is computed on average where f is computed for
// every tile of that place, whose Func is at root; 1 where no point is computed twice.
func (sp *Space) Repeats(f int, in Place) float64 {
	tile, tiles := sp.inTile(in)
	return tiles * points(tile.bounds(f).computed()) / points(sp.root.bounds(f).computed())
}

// inTile is what a representative tile of that place, whose Func is at root, needs, and
// how many tiles there are.
func (sp *Space) inTile(in Place) (tile *site, tiles float64) {
	own := sp.root.bounds(in.Func).inStage(in.Stage)
	tiles = 1
	for i := range own.Loops(in.Stage) {
		loop := &own.Loops(in.Stage)[i]
		n := ceilDiv(loop.Extent(), in.Tile[i])
		*loop = middle(*loop, n)
		tiles *= float64(n)
	}
	return sp.newSite(sp.nodes[in.Func].first+in.Stage, own), tiles
}

package space

import (
	"slices"
	"sync"

	"github.com/protuner/protuner/internal/pipeline"
)

// computed are the loops of one Func at one site, vectorised one way, in the order
// of Nest.Children. They depend on nothing else, so all loop nests share them.
type computed struct {
	fn, vector int
	levels     []*Nest
	once       sync.Once
	tasks      []taskOption // see Space.tasks
	next       *computed
}

// levelsAt gives the loops of f at a site, made on first use.
func (t *site) levelsAt(f, v int) []*Nest {
	list := &t.levels
	if t.stage < 0 {
		list = &t.sp.levels[f]
	}
	for c := list.Load(); c != nil; c = c.next {
		if c.fn == f && c.vector == v {
			return c.levels
		}
	}
	c := &computed{fn: f, vector: v, levels: t.sp.loops(t, f, v)}
	for {
		c.next = list.Load()
		if list.CompareAndSwap(c.next, c) {
			return c.levels
		}
	}
}

// Forget lets go of the loops at root that are remembered for all loop nests to come,
// with all that was found out inside them, which grows with every nest that a search
// looks at: on a pipeline of 70 stages to hundreds of megabytes. Nests that are there
// keep theirs, and what is still of use is soon found out again. It may be called at
// any time.
func (sp *Space) Forget() {
	for f := range sp.levels {
		sp.levels[f].Store(nil)
	}
}

// levelPair is the memory of a level over vectors and one within a vector, which
// are made and forgotten together.
type levelPair struct {
	nests  [2]Nest
	sites  [2]site
	bounds [2]Bound
	child  [1]*Nest
}

// loops makes the loops of all stages of f at a site, vectorised over dimension v.
// Each stage becomes one level over vectors and one within a vector, or a single
// level where nothing is vectorised. The inside is represented by one iteration in
// the middle.
func (sp *Space) loops(at *site, f, v int) []*Nest {
	n := &sp.nodes[f]
	here := at.bounds(f)
	out := make([]*Nest, 0, len(n.Stages))
	for s := len(n.Stages) - 1; s >= 0; s-- {
		st := &sp.stages[n.first+s]
		loops := here.Loops(s)
		made := &levelPair{}
		spans := make([]pipeline.Span, 2*len(loops))
		size := make([]int64, 2*len(loops))
		point := here.inStageTo(&made.bounds[0], s, spans[:len(loops):len(loops)])
		inside := point.Loops(s)
		l := &made.nests[0]
		*l = Nest{Func: f, Stage: s, Size: size[:len(loops):len(loops)], Innermost: true,
			Tileable: !n.Extern && (at.stage < 0 || !sp.o.NoSubtiling), VectorDim: v, VectorLoop: -1}
		lanes, natural := int64(1), n.lanes(st.VectorSize, v)
		for i, span := range loops {
			l.Size[i] = span.Extent()
			width := int64(1)
			if v >= 0 && st.along[i] == v && st.VectorSize > 1 && (!st.Loops[i].RVar || l.Size[i] >= natural && st.Loops[i].Stride == 0 && sp.vectorlessAlong(f, s)) {
				l.VectorLoop = i
				lanes, width = natural, natural
				l.Size[i] = ceilDiv(l.Size[i], lanes)
			}
			first := span.Min + width*(l.Size[i]/2)
			inside[i] = pipeline.Span{Min: first, Max: first + width - 1, Constant: true}
		}
		l.site = &made.sites[0]
		l.site.sp, l.site.stage, l.site.own = sp, n.first+s, point
		if l.VectorLoop >= 0 {
			lane := point.inStageTo(&made.bounds[1], s, spans[len(loops):])
			span := &lane.Loops(s)[l.VectorLoop]
			span.Max = span.Min
			vec := &made.nests[1]
			*vec = Nest{Func: f, Stage: s, Size: size[len(loops):], Innermost: true,
				VectorDim: v, VectorLoop: l.VectorLoop, site: &made.sites[1]}
			vec.site.sp, vec.site.stage, vec.site.own = sp, n.first+s, lane
			for i := range vec.Size {
				vec.Size[i] = 1
			}
			vec.Size[l.VectorLoop] = lanes
			l.Innermost = false
			made.child[0] = sp.seal(vec)
			l.Children = made.child[:]
		}
		out = append(out, sp.seal(l))
	}
	return out
}

// vectorlessAlong holds where a stage has no loop of its own along the dimension that the
// Func's vectors are along before any other. Only then can a reduction loop be a vector:
// columns of an update that has rows of points are what a model likes and memory does not.
func (sp *Space) vectorlessAlong(f, s int) bool {
	n := &sp.nodes[f]
	return n.Stages[s].PureLoop(n.vectorDims[0]) < 0
}

// compute adds to c, a copy not yet sealed, the loops of all stages of f,
// vectorised over dimension v.
func (sp *Space) compute(c *Nest, f, v int) {
	levels := c.site.levelsAt(f, v)
	children := make([]*Nest, len(c.Children)+len(levels))
	copy(children, c.Children)
	copy(children[len(c.Children):], levels)
	c.Children = children
	if sp.o.NoSubtiling {
		c.Tileable = false
	}
}

// cut splits a level into an outer one of t tiles, whose body is at the site
// inside (see cutSite), and an inner one with all that was inside; neither is
// sealed.
func (n *Nest) cut(inside *site, t []int64) (outer, inner *Nest) {
	outer, inner = n.copy(), n.copy()
	outer.Children, outer.Inlined, outer.StoreAt, outer.Innermost = nil, nil, nil, false
	outer.Size, inner.Size = t, make([]int64, len(t))
	for i := range t {
		inner.Size[i] = ceilDiv(n.Size[i], t[i])
	}
	inner.Parallel = false
	if n.site.sp.o.NoSubtiling {
		outer.Tileable, inner.Tileable = false, false
	}
	outer.site = inside
	return outer, inner
}

// middle is the tile in the middle of a loop that is cut into so many.
func middle(around pipeline.Span, tiles int64) pipeline.Span {
	in := ceilDiv(around.Extent(), tiles)
	first := around.Min + (tiles/2)*in
	return pipeline.Span{Min: first, Max: first + in - 1}
}

// cutSite is the site inside one tile in the middle, where level n is cut into t
// tiles. above is the site around the level.
func (sp *Space) cutSite(n *Nest, above *site, t []int64) *site {
	b := n.site.own.inStage(n.Stage)
	around, inside := above.bounds(n.Func).Loops(n.Stage), b.Loops(n.Stage)
	for i, tiles := range t {
		p := around[i]
		inside[i] = middle(p, tiles)
		inside[i].Constant = (p.Constant || tiles > 1) && (inside[i].Extent() == 1 || tiles == 1 || n.Stage == 0)
	}
	return sp.newSite(n.stageNumber(), b)
}

// cutTasks cuts a level at root into parallel tasks, t per loop.
func (sp *Space) cutTasks(n *Nest, t []int64) *Nest {
	size := slices.Clone(t)
	b := n.site.own.inStage(n.Stage)
	st := &sp.stages[n.stageNumber()]
	around, inside := sp.root.bounds(n.Func).Loops(n.Stage), b.Loops(n.Stage)
	for i := range size {
		size[i] = ceilDiv(n.Size[i], ceilDiv(n.Size[i], t[i]))
		p := around[i]
		inside[i] = middle(p, size[i])
		inside[i].Constant = p.Constant || size[i] > 1 && st.Loops[i].Pure
	}
	outer, inner := n.cut(sp.newSite(n.stageNumber(), b), size)
	for i := range size {
		inner.Size[i] = ceilDiv(n.Size[i], t[i])
	}
	outer.Parallel, outer.Tileable = true, !sp.o.NoSubtiling
	outer.Children = []*Nest{sp.seal(inner)}
	return sp.seal(outer)
}

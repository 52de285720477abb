package space

import (
	"sync/atomic"

	"github.com/protuner/protuner/internal/pipeline"
)

// Bound is the region of one Func at one place of a loop nest: what is required
// of it there, what is computed, and the loops of its stages, as intervals of
// representative iterations. It is immutable.
type Bound struct {
	lay   *layout
	spans []pipeline.Span // but for those that loops stands for; shared, then
	loops []pipeline.Span // of stage, unless nil
	stage int
	fn    int
	next  *Bound // another one at the same site
}

// layout says where in Bound.spans things are: the required region, then the
// computed one, then the loops of each stage.
type layout struct {
	dims  int
	loops []int // start of each stage's loops
	total int
}

func newLayout(f *pipeline.Func) layout {
	l := layout{dims: len(f.Args), total: 2 * len(f.Args)}
	for s := range f.Stages {
		l.loops = append(l.loops, l.total)
		l.total += len(f.Stages[s].Loops)
	}
	return l
}

// Required is what consumers ask for of dimension d.
func (b *Bound) Required(d int) pipeline.Span { return b.spans[d] }

// Computed is what must be computed of dimension d so that the rest is right.
func (b *Bound) Computed(d int) pipeline.Span { return b.spans[b.lay.dims+d] }

// Loops are the intervals of the loops of a stage, innermost first.
func (b *Bound) Loops(stage int) []pipeline.Span {
	if b.loops != nil && b.stage == stage {
		return b.loops
	}
	end := b.lay.total
	if stage+1 < len(b.lay.loops) {
		end = b.lay.loops[stage+1]
	}
	return b.spans[b.lay.loops[stage]:end]
}

func (b *Bound) required() []pipeline.Span { return b.spans[:b.lay.dims] }
func (b *Bound) computed() []pipeline.Span { return b.spans[b.lay.dims : 2*b.lay.dims] }

// inStage is b with loops of a stage of its own, to be changed before anyone else sees
// them. All else, and that is most where a Func has many stages, the two share.
func (b *Bound) inStage(stage int) *Bound {
	if n := len(b.Loops(stage)); n <= 4 {
		c := &struct {
			Bound
			store [4]pipeline.Span
		}{}
		return b.inStageTo(&c.Bound, stage, c.store[:n:n])
	}
	return b.inStageTo(&Bound{}, stage, make([]pipeline.Span, len(b.Loops(stage))))
}

// inStageTo is inStage in memory that is there.
func (b *Bound) inStageTo(c *Bound, stage int, loops []pipeline.Span) *Bound {
	copy(loops, b.Loops(stage))
	*c = Bound{lay: b.lay, spans: b.spans, loops: loops, stage: stage, fn: b.fn}
	return c
}

// newBound makes a Bound, with its spans beside it where they are as few as those of
// most Funcs.
func newBound(lay *layout, f int) *Bound {
	switch {
	case lay.total <= 6:
		b := &struct {
			Bound
			store [6]pipeline.Span
		}{}
		b.lay, b.fn, b.spans = lay, f, b.store[:lay.total:lay.total]
		return &b.Bound
	case lay.total <= 9:
		b := &struct {
			Bound
			store [9]pipeline.Span
		}{}
		b.lay, b.fn, b.spans = lay, f, b.store[:lay.total:lay.total]
		return &b.Bound
	}
	return &Bound{lay: lay, fn: f, spans: make([]pipeline.Span, lay.total)}
}

// points is how many points a box holds. It is a float because a product of
// extents can pass 2^63.
func points(box []pipeline.Span) float64 {
	n := 1.0
	for _, s := range box {
		n *= float64(s.Extent())
	}
	return n
}

// site is where a loop of a nest stands, as far as bounds are concerned: which
// stage's loop it is and which of that stage's iterations are inside. What a Func
// needs there follows from that alone, and so do the loops of one computed there.
// Levels that are copied along a path share their site and with it everything
// worked out so far.
type site struct {
	sp     *Space
	stage  int // number of the stage, -1 at root
	own    *Bound
	known  [4]atomic.Pointer[Bound] // lists, by Func; at root Space.atRoot is instead
	levels atomic.Pointer[computed] // a list; at root Space.levels is instead
	next   atomic.Pointer[[]atomic.Pointer[site]]
}

func (sp *Space) newSite(stage int, own *Bound) *site {
	return &site{sp: sp, stage: stage, own: own}
}

// bounds gives the region of Func f at the site. The site's own Func has the one
// it was made with; f must be read inside.
func (t *site) bounds(f int) *Bound {
	if t.stage < 0 {
		if b := t.sp.atRoot[f].Load(); b != nil {
			return b
		}
		b := t.sp.computeBounds(t, f)
		t.sp.atRoot[f].Store(b)
		return b
	}
	if t.own.fn == f {
		return t.own
	}
	list := &t.known[f%len(t.known)]
	for b := list.Load(); b != nil; b = b.next {
		if b.fn == f {
			return b
		}
	}
	b := t.sp.computeBounds(t, f)
	for {
		b.next = list.Load()
		if list.CompareAndSwap(b.next, b) {
			return b
		}
	}
}

// ahead is the site one iteration of loop i later.
func (t *site) ahead(i, stage int) *site {
	all := t.next.Load()
	if all == nil {
		made := make([]atomic.Pointer[site], len(t.own.Loops(stage)))
		if !t.next.CompareAndSwap(nil, &made) {
			return t.ahead(i, stage)
		}
		all = &made
	}
	if s := (*all)[i].Load(); s != nil {
		return s
	}
	own := t.own.inStage(stage)
	loop := &own.Loops(stage)[i]
	by := loop.Extent()
	loop.Min, loop.Max = loop.Min+by, loop.Max+by
	(*all)[i].CompareAndSwap(nil, t.sp.newSite(t.stage, own))
	return (*all)[i].Load()
}

// computeBounds follows section 3.1 and Adams et al.'s analysis: the loops of the
// consumers inside the site give the region required, that the region computed,
// and that the loops.
func (sp *Space) computeBounds(t *site, f int) *Bound {
	n := &sp.nodes[f]
	b := newBound(&n.layout, f)
	req := b.required()
	if n.Output && t.stage < 0 {
		copy(req, n.Estimate)
	} else {
		for d := range req {
			req[d] = pipeline.EmptySpan()
		}
		for _, c := range n.consumers {
			if t.stage >= 0 && t.stage != c.stage && !sp.stages[t.stage].upstream.has(c.fn) {
				continue
			}
			c.edge.Footprint(t.bounds(c.fn).Loops(c.idx), req)
		}
	}
	n.RegionComputed(req, b.computed())
	for s := range n.Stages {
		n.Stages[s].LoopNest(b.computed(), b.Loops(s))
	}
	return b
}

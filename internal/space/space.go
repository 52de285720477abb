// Package space is the space of schedules of a pipeline in which a search moves:
// immutable partial schedules and the legal decisions from each.
//
// It is that of Adams et al. 2019, "Learning to Optimize Halide with Tree Search
// and Random Programs", section 3: Funcs are scheduled from the outputs back to
// the inputs; for each one it is first decided where it is computed and stored,
// possibly inside new tilings of its consumers, and then, for a Func at root,
// into which parallel tasks its loops are cut. A partial schedule is represented
// as its loop nest. docs/space.md says what differs from the paper and its code.
package space

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// Space is the space of one pipeline. It is immutable after New and safe for
// concurrent use.
type Space struct {
	p      *pipeline.Pipeline
	o      Options
	head   schedule.Schedule // the structural directives the description was made after
	nodes  []node            // parallel to p.Funcs
	stages []stage
	words  int   // of a set of Funcs
	packed bool  // see isPacked
	root   *site // bounds of every Func at root
	atRoot []atomic.Pointer[Bound]
	levels []atomic.Pointer[computed] // at root, by Func: lists
	start  *State
	tiled  [1 << 12]atomic.Pointer[tilingSet] // by hash

	slicingOnce sync.Once
	sliced      []slicing
}

// node is what the space knows of one Func beyond its description.
type node struct {
	*pipeline.Func
	dims        int
	layout      layout
	first       int // number of its first stage
	consumers   []consumer
	callers     int       // edges that read it
	vectorDims  []int     // dimensions worth vectorising, in order of preference
	alongMemory int       // of these the one that inputs are read along
	short       int64     // lanes of vectors along the first dimension where those are fewer than elsewhere, else 0
	stored      int64     // lanes of what is stored that a vector has, on average over several values
	minimum     []float64 // per stage: points that must be computed at least
	spills      bool      // computing more of it reads more of an input or output
	spillsIn    []bool    // by dimension, whether computing more along it alone does
	factored    int       // of its dimensions, the last so many were a reduction's loops
	strips      bool      // of these one counts strips of it, to run in parallel
	onlyInline  bool      // inlining is the only choice: pointwise among pointwise Funcs, or copied again
	given       bool      // nothing to decide: an input, or a Func that nothing reads
	reduces     bool      // has a stage with reduction loops
	partly      bool      // feeds a reduction with a condition: loops may need any part of what they say
	divergent   []int     // see Divergent
	shorter     []int64   // see Shorter
	dots        []int64   // see Dots
	across      []int64   // see Across
	terms       []int64   // see Terms
	sumBlocks   bool      // see SumBlocks
	chosen      []bool    // see findChosen, by dimension
}

// consumer is one edge from the consumer's side.
type consumer struct {
	fn, idx int // Func, index of its stage
	stage   int // number of the stage
	edge    *pipeline.Edge
	// executed is how many of the calls a point makes on average where the channels of the
	// consumer are made together (see Channels).
	executed float64
}

// stage is one stage of one Func; stages are numbered across the pipeline.
type stage struct {
	*pipeline.Stage
	fn, idx  int
	reads    bitset // Funcs it reads
	upstream bitset // Funcs it reads, through others too
	ordered  bool   // its reduction loops must keep their order
	unrolled int64  // vectors at most, see Options.SumsLimit
	dots     [2]int // see dotLoop, by dotFactors
	terms    bool   // it has reductions to unroll, see Terms
	window   bool   // they are short ones
	across   int    // the loop that can be a vector by itself, see Across; -1 for none
	along    []int  // the Func's dimension that a loop runs along, -1 for none; see findAlong
	shared   int    // the reduction loop that can be cut into tasks inside others, -1 for none; see findShared
}

// bitset is a set of Funcs.
type bitset []uint64

func (b bitset) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bitset) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) union(c bitset) {
	for i := range c {
		b[i] |= c[i]
	}
}

// newSet has room for all Funcs and one more bit: the memory limit, see broken.
func (sp *Space) newSet() bitset { return make(bitset, sp.words) }

// Structure are the structural directives that the pipeline was described after.
func (sp *Space) Structure() []schedule.Directive { return sp.head.Directives }

// New prepares the space of p. It fails, naming the Func, on a description that
// cannot be scheduled: no Funcs, empty or unbounded regions.
func New(p *pipeline.Pipeline, o Options) (*Space, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if len(p.Funcs) == 0 {
		return nil, fmt.Errorf("space: pipeline %s has no Funcs", p.Generator)
	}
	head, err := p.StructureSchedule()
	if err != nil {
		return nil, fmt.Errorf("space: %w", err)
	}
	if !o.Unchecked {
		p = p.AsCompiled()
	}
	sp, err := bounded(p, o, head)
	if err == nil && o.ShortVectors {
		sp, err = bounded(p.WithOwnLanes(sp.extentsOf), o, head)
	}
	if err != nil {
		return nil, err
	}
	sp.derive()
	sp.start = sp.newStart()
	return sp, nil
}

// bounded is a space of p of which no more is known than the bounds of every Func at root.
func bounded(p *pipeline.Pipeline, o Options, head schedule.Schedule) (*Space, error) {
	sp := &Space{p: p, o: o, head: head, words: len(p.Funcs)/64 + 1, nodes: make([]node, len(p.Funcs))}
	if err := sp.link(); err != nil {
		return nil, err
	}
	sp.atRoot = make([]atomic.Pointer[Bound], len(sp.nodes))
	sp.levels = make([]atomic.Pointer[computed], len(sp.nodes))
	sp.root = sp.newSite(-1, nil)
	return sp, sp.checkRoot()
}

// extentsOf are the Extents of a stage of f, nil where there is nothing to decide of f.
func (sp *Space) extentsOf(f, stage int) []int64 {
	if sp.nodes[f].given {
		return nil
	}
	return sp.Extents(f, stage)
}

// Pipeline is what the space was made of.
func (sp *Space) Pipeline() *pipeline.Pipeline { return sp.p }

// Options are the space's own.
func (sp *Space) Options() Options { return sp.o }

// Start is the state in which nothing is decided yet.
func (sp *Space) Start() *State { return sp.start }

// link numbers stages and turns edges around.
func (sp *Space) link() error {
	for f := range sp.p.Funcs {
		fn := &sp.p.Funcs[f]
		n := &sp.nodes[f]
		n.Func, n.dims, n.first = fn, len(fn.Args), len(sp.stages)
		n.layout, n.given = newLayout(fn), fn.Input
		for _, d := range sp.head.Directives {
			if d.Op == schedule.RFactor && d.As == fn.Name {
				n.factored, n.strips = len(d.New), sp.keepsStrips(d)
			}
		}
		if len(fn.Stages) == 0 && !fn.Input {
			return fmt.Errorf("space: %s has no stages", fn.Name)
		}
		for s := range fn.Stages {
			st := stage{Stage: &fn.Stages[s], fn: f, idx: s, reads: sp.newSet(), upstream: sp.newSet()}
			impure := 0
			for _, l := range st.Loops {
				if !l.Pure {
					impure++
				}
			}
			st.ordered = impure > 1 && !st.Associative
			st.along = sp.findAlong(st.Stage)
			n.reduces = n.reduces || impure > 0
			sp.stages = append(sp.stages, st)
		}
	}
	for i := len(sp.stages) - 1; i >= 0; i-- {
		st := &sp.stages[i]
		for e := range st.Edges {
			edge := &st.Edges[e]
			if edge.Producer <= st.fn || edge.Producer >= len(sp.nodes) {
				return fmt.Errorf("space: %s reads Func %d, which does not come after it", st.Name, edge.Producer)
			}
			producer := &sp.nodes[edge.Producer]
			st.reads.set(edge.Producer)
			st.upstream.set(edge.Producer)
			for s := range producer.Stages {
				st.upstream.union(sp.stages[producer.first+s].upstream)
			}
		}
	}
	for i := range sp.stages {
		st := &sp.stages[i]
		reader := &sp.nodes[st.fn]
		reader.given = reader.Input || !reader.Output && reader.callers == 0
		for e := range st.Edges {
			if reader.given {
				break
			}
			edge := &st.Edges[e]
			n := &sp.nodes[edge.Producer]
			n.consumers = append(n.consumers, consumer{fn: st.fn, idx: st.idx, stage: i, edge: edge})
			n.callers++
		}
	}
	for f := range sp.nodes {
		n := &sp.nodes[f]
		if n.Output && len(n.Estimate) != n.dims {
			return fmt.Errorf("space: output %s has estimates for %d of %d dimensions", n.Name, len(n.Estimate), n.dims)
		}
	}
	return nil
}

// findAlong is, by loop, the dimension of the Func that the loop runs along. A reduction loop
// does where its iterations are independent of each other while the loops outside it stand
// still, or those of a vector at least: it can be a vector, if it writes one point after the
// other, and where they are independent whatever the others do it is as good as a pure loop.
func (sp *Space) findAlong(st *pipeline.Stage) []int {
	along := make([]int, len(st.Loops))
	for i, l := range st.Loops {
		along[i] = l.PureDim
		if sp.o.IndependentRVars && l.Along != nil && (l.Apart == 0 || l.Apart >= int64(st.VectorSize)) {
			along[i] = *l.Along
		}
	}
	return along
}

// loopAlong is the loop of the stage along a dimension of the Func, -1 for none.
func (st *stage) loopAlong(dim int) int {
	if dim < 0 {
		return -1
	}
	return slices.Index(st.along, dim)
}

// findShared is the outermost reduction loop whose iterations are independent of each other
// while the loops outside it stand still, but not always, where all that is inside is worth
// waking the cores for: they share it anew for each iteration of those outside, as the rows
// of a plane for each step in time.
func (sp *Space) findShared(st *stage) int {
	if !sp.o.IndependentRVars {
		return -1
	}
	shared, inside := -1, int64(1)
	for i, e := range sp.Extents(st.fn, st.idx) {
		inside *= e
		if l := st.Loops[i]; l.Along != nil && l.Apart == 0 && !l.Pure && inside >= leastParallel {
			shared = i
		}
	}
	return shared
}

// checkRoot computes the bounds of every Func at root and refuses those that
// later arithmetic could not stand.
func (sp *Space) checkRoot() error {
	for f := range sp.nodes {
		if !sp.nodes[f].Output && sp.nodes[f].callers == 0 {
			continue
		}
		b := sp.root.bounds(f)
		for _, s := range b.spans {
			if s.Max < s.Min {
				return fmt.Errorf("space: the region of %s is empty: [%d, %d]", sp.nodes[f].Name, s.Min, s.Max)
			}
			if s.Min < math.MinInt32 || s.Max > math.MaxInt32 {
				return fmt.Errorf("space: the region of %s leaves Halide's int32: [%d, %d]", sp.nodes[f].Name, s.Min, s.Max)
			}
		}
	}
	return nil
}

// derive computes what needs bounds.
func (sp *Space) derive() {
	bits := sp.p.VectorBits()
	factors := slices.ContainsFunc(sp.nodes, func(n node) bool { return n.factored > 0 })
	looksUp := sp.LooksUp(func(f int) bool { return sp.nodes[f].inlinable() })
	for f := range sp.nodes {
		n := &sp.nodes[f]
		if n.given {
			continue
		}
		n.short = sp.findShort(f)
		n.stored = int64(bits*len(n.Types)) / max(8*n.BytesPerPoint, 1)
		n.partly = slices.ContainsFunc(n.consumers, func(c consumer) bool { // these come first
			return sp.stages[c.stage].Predicate || sp.nodes[c.fn].partly
		})
		n.onlyInline = sp.isOnlyInline(f)
		n.minimum = sp.minimumPoints(f)
		n.divergent = n.findDivergent()
		n.shorter = n.findShorter(bits, looksUp[f])
		n.dots = sp.findDots(f)
		n.sumBlocks = sp.o.SumBlocks && !factors && sp.Sums(f)
		n.terms = sp.findTerms(f)
	}
	for f := len(sp.nodes) - 1; f >= 0; f-- {
		n := &sp.nodes[f]
		n.spills = sp.findSpills(f, func(int) bool { return true })
		n.spillsIn = make([]bool, n.dims)
		for d := range n.spillsIn {
			n.spillsIn[d] = n.spills && sp.findSpills(f, func(dim int) bool { return dim == d })
		}
		if !n.given { // asks whether it spills
			n.vectorDims = sp.findVectorDims(f)
			n.alongMemory = sp.findAlongMemory(f)
			n.across = sp.findAcross(f)
		}
	}
	for i := range sp.stages {
		sp.stages[i].unrolled = sp.unrollLimit(&sp.stages[i])
		sp.stages[i].shared = sp.findShared(&sp.stages[i])
	}
	sp.findChosen()
	sp.countTogether()
	sp.packed = sp.isPacked()
}

// unrollLimit is how many vectors of a stage are unrolled at most.
func (sp *Space) unrollLimit(st *stage) int64 {
	reads := func(e pipeline.Edge) bool { return sp.nodes[e.Producer].reduces }
	if !sp.nodes[st.fn].reduces && !slices.ContainsFunc(st.Edges, reads) {
		return sp.o.UnrollLimit
	}
	if sp.o.SumsLimit > 0 {
		return sp.o.SumsLimit
	}
	return max(int64(sp.p.VectorRegisters())*3/4, sp.o.UnrollLimit)
}

// UnrollLimit is how many vectors of a stage are unrolled at most.
func (sp *Space) UnrollLimit(f, stage int) int64 {
	return sp.stages[sp.nodes[f].first+stage].unrolled
}

// shortBits is how long a short vector is at least along a dimension whose extent only a
// version for the estimated sizes knows: shorter ones fill no register.
const shortBits = 128

// findShort is how many lanes vectors along the first dimension have where that is short:
// all of it, a power of two that is known when compiling, or by the estimates where what is
// read lies along it and along no other dimension.
func (sp *Space) findShort(f int) int64 {
	n := &sp.nodes[f]
	if !sp.o.ShortVectors || n.Extern || n.dims < 2 {
		return 0
	}
	first := sp.root.bounds(f).Computed(0)
	e := first.Extent()
	if e < leastLanes || e >= int64(n.VectorSize) || e&(e-1) != 0 {
		return 0
	}
	if first.Constant && !n.Output || sp.o.Sized && n.readAlongFirst(e) {
		return e
	}
	return 0
}

// readAlongFirst holds where a stage reads what lies along the first dimension alone, or for
// the most part what every other dimension would gather, and so many points of that fill a
// register.
func (n *node) readAlongFirst(points int64) bool {
	return slices.ContainsFunc(n.Stages, func(st pipeline.Stage) bool {
		_, widest := st.Widths()
		loop := st.PureLoop(0)
		return loop >= 0 && points*int64(widest) >= shortBits && (readsRows(&st, loop, asItLies) || gathersBut(&st, loop))
	})
}

// lanes is how many lanes vectors along dimension d have where so many are natural.
func (n *node) lanes(natural, d int) int64 {
	if d == 0 && n.short > 0 {
		return min(int64(natural), n.short)
	}
	return int64(max(natural, 1))
}

// Lanes is how many lanes vectors of a stage have along dimension d of its Func.
func (sp *Space) Lanes(f, stage, d int) int64 {
	n := &sp.nodes[f]
	return n.lanes(n.Stages[stage].VectorSize, d)
}

// filling is how many elements fill a vector of f along dimension d where there are
// that many: as many as it has lanes or, where they are fewer and computing those that
// lack does no harm, three quarters of that, or as many as fill one of what is stored:
// sums of bytes do where the bytes do not, if these have no more than twice the lanes.
func (sp *Space) filling(f, d int, there int64) int64 {
	n := &sp.nodes[f]
	lanes := n.lanes(n.VectorSize, d)
	if there < lanes && sp.o.ShortVectors && !n.spillsAlong(d) {
		return min(lanes-lanes/4, max(lanes/2, n.stored))
	}
	return lanes
}

// findVectorDims lists the dimensions to try vectorising over: for outputs, whose
// storage is not ours, those that are dense in memory, but first those that fill a vector
// where the dense ones do not, as interleaved channels; for others each one that fills a
// vector; where there are none, all of them.
func (sp *Space) findVectorDims(f int) []int {
	n := &sp.nodes[f]
	if n.Extern {
		return []int{-1}
	}
	b := sp.root.bounds(f)
	var dims, full []int
	for d := range n.dims {
		if e := b.Computed(d).Extent(); e >= sp.filling(f, d, e) {
			full = append(full, d)
		}
	}
	if dims = full; n.Output {
		dims = n.InnermostDims
		others := slices.DeleteFunc(slices.Clone(full), func(d int) bool { return slices.Contains(n.InnermostDims, d) })
		switch {
		case sp.o.ShortVectors && len(others) == len(full):
			dims = append(others, dims...)
		case n.short > 0:
			dims = slices.Concat(dims, others)
		}
	}
	if len(dims) == 0 {
		for d := range n.dims {
			dims = append(dims, d)
		}
	}
	if len(dims) == 0 {
		return []int{-1} // a scalar
	}
	return dims
}

// diverges holds for loops of which neighbouring iterations do what their data say.
func diverges(l pipeline.Loop) bool { return l.Scatters || l.Ragged }

// findDivergent lists the stages that diverge along a pure loop.
func (n *node) findDivergent() []int {
	pure := func(l pipeline.Loop) bool { return l.Pure && l.PureDim >= 0 && diverges(l) }
	var out []int
	for s := range n.Stages {
		if slices.ContainsFunc(n.Stages[s].Loops, pure) {
			out = append(out, s)
		}
	}
	return out
}

// Divergent lists the stages of f that scatter along a pure loop, or that go on for as long
// as the data have it, so that a vector along it can be left out: by a decision of the Kind
// Scalar, for a trace to end with. The slice is shared.
func (sp *Space) Divergent(f int) []int { return sp.nodes[f].divergent }

// isOnlyInline holds for Funcs in chains of pointwise ones and for what is copied again:
// inlining them is never worse, and not having to choose keeps long chains cheap.
func (sp *Space) isOnlyInline(f int) bool {
	n := &sp.nodes[f]
	if !sp.o.Unchecked && sp.isCopiedAgain(f) {
		return true
	}
	if !n.Pointwise || !n.inlinable() || n.callers != 1 {
		return false
	}
	for _, e := range n.Stages[0].Edges {
		if !sp.nodes[e.Producer].Pointwise {
			return false
		}
	}
	c := &sp.nodes[n.consumers[0].fn]
	return c.Pointwise || c.BoundaryCondition
}

// isCopiedAgain holds for what only loads an input, for copies alone, as Halide has it before a
// mirrored boundary condition: computed by itself it is a copy too many, and Halide, which
// does not see that a mirror stays inside, reads beyond the input for some tiles of it. What
// structural directives made was meant to be computed.
func (sp *Space) isCopiedAgain(f int) bool {
	n := &sp.nodes[f]
	meant := func(d schedule.Directive) bool { return d.As == n.Name }
	computes := func(c consumer) bool { return !sp.nodes[c.fn].Copy }
	return sp.loadsInput(n) && n.inlinable() && len(n.consumers) > 0 &&
		!slices.ContainsFunc(n.consumers, computes) && !slices.ContainsFunc(sp.head.Directives, meant)
}

// loadsInput holds for what does nothing but load an input.
func (sp *Space) loadsInput(n *node) bool {
	input := func(e pipeline.Edge) bool { return sp.nodes[e.Producer].Input }
	return n.Wrapper && len(n.Stages) == 1 && slices.ContainsFunc(n.Stages[0].Edges, input)
}

func (n *node) inlinable() bool {
	return len(n.Stages) == 1 && !n.Output && !n.Extern && n.MustRoot == ""
}

// minimumPoints says how many points each stage must compute at least: those of
// its loops at root, or, where that is fewer, those its consumers ask for.
func (sp *Space) minimumPoints(f int) []float64 {
	n := &sp.nodes[f]
	b := sp.root.bounds(f)
	out := make([]float64, len(n.Stages))
	for s := range out {
		out[s] = points(b.Loops(s))
	}
	if len(out) == 1 && !n.Output {
		inlined := 0.0
		for _, c := range n.consumers {
			inlined += sp.nodes[c.fn].minimum[c.idx] * float64(c.edge.Calls)
		}
		out[0] = min(out[0], inlined)
	}
	return out
}

// spillsAlong says whether computing more of a Func along dimension d reads more of an input
// or output. The dimensions that rfactor made of a reduction's loops always do: what is read
// along them is promised to be within the reduction's domain, so that bounds tell nothing.
func (n *node) spillsAlong(d int) bool { return n.spillsIn[d] || n.isFactored(d) }

func (n *node) isFactored(d int) bool { return d >= n.dims-n.factored }

// Factored says whether rfactor made dimension d of f of a reduction's loops.
func (sp *Space) Factored(f, d int) bool { return sp.nodes[f].isFactored(d) }

// findSpills holds where computing a Func beyond what is required, in some of its dimensions,
// would read an input, or ask for an output, beyond what is there. Boundary conditions stop
// that; whether a read is clamped is found by asking for a far larger region. And where a
// stage reads or writes wherever values have it, what it needs for more than is required
// was not computed, and may be any address: Halide computes of a producer what is required.
func (sp *Space) findSpills(f int, beyond func(dim int) bool) bool {
	n := &sp.nodes[f]
	if n.given || n.Output {
		return true
	}
	b := sp.root.bounds(f)
	for s := range n.Stages {
		st := &sp.stages[n.first+s]
		if st.Trusts && !sp.o.Unchecked || st.CallsImages() {
			return true
		}
		loops := b.Loops(s)
		wide := make([]pipeline.Span, len(loops))
		for i, l := range loops {
			wide[i] = l
			if d := st.Loops[i].PureDim; d >= 0 && beyond(d) {
				margin := 4*l.Extent() + 256
				wide[i].Min, wide[i].Max = l.Min-margin, l.Max+margin
			}
		}
		for e := range st.Edges {
			edge := &st.Edges[e]
			if sp.grows(edge, wide) {
				return true
			}
		}
	}
	return false
}

// grows reports whether wider loops require more of the producer than root does, where that
// reads more of an input or output.
func (sp *Space) grows(e *pipeline.Edge, wide []pipeline.Span) bool {
	have := sp.root.bounds(e.Producer)
	want := make([]pipeline.Span, sp.nodes[e.Producer].dims)
	for d := range want {
		want[d] = pipeline.EmptySpan()
	}
	e.Footprint(wide, want)
	for d := range want {
		more := want[d].Min < have.Required(d).Min || want[d].Max > have.Required(d).Max
		if more && sp.nodes[e.Producer].spillsAlong(d) {
			return true
		}
	}
	return false
}

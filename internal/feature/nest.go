package feature

import (
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/space"
)

// around is what the levels around one pass to it.
type around struct {
	parent, grandparent *space.Nest
	instances           int64 // how often it runs
	parallelism         int64 // tasks of the loops around
}

// realise computes the features of a stage that is stored in level n, which runs so
// many times.
func (x *Extractor) realise(n *space.Nest, stage int, instances int64) {
	st, t, ft := &x.stages[stage], &x.sites[stage], &x.feats[stage]
	b := n.Bounds(st.fn)
	points := 1.0
	vectors, scalars := float64(instances), float64(instances)
	vectorised := false
	lanes := x.sp.Lanes(st.fn, st.idx, x.vectorDim(t.produce))
	for i, l := range b.Loops(st.idx) {
		e := l.Extent()
		points *= float64(e)
		if i == t.produce.VectorLoop {
			vectors *= float64(e / lanes)
			scalars *= float64(e % lanes)
			vectorised = true
		} else {
			vectors *= float64(e)
			scalars *= float64(e)
		}
	}
	if !vectorised {
		vectors = 0
	}
	ft[NumRealizations] = float64(instances)
	ft[PointsComputedPerRealization] = points
	ft[PointsComputedTotal] = points * float64(instances)
	ft[NumVectors], ft[NumScalars] = vectors, scalars
	ft[BytesAtRealization] = bytesComputed(st.f, b)
	ft[InnermostBytesAtRealization] = innermostBytes(st.f, b, x.vectorDim(t.produce))
	if !n.IsRoot() {
		ft[BytesAtTask] = ft[BytesAtRealization]
		ft[InnermostBytesAtTask] = ft[InnermostBytesAtRealization]
	}
}

func bytesComputed(fn *pipeline.Func, b *space.Bound) float64 {
	bytes := float64(fn.BytesPerPoint)
	for d := range fn.Args {
		bytes *= float64(b.Computed(d).Extent())
	}
	return bytes
}

// innermostBytes is the size of one line along dimension v, of one point where
// the Func has no such dimension.
func innermostBytes(fn *pipeline.Func, b *space.Bound, v int) float64 {
	if v < 0 || v >= len(fn.Args) {
		return float64(fn.BytesPerPoint)
	}
	return float64(fn.BytesPerPoint * b.Computed(v).Extent())
}

// liveIn adds to live, the storage in use inside the children of n, what n itself
// allocates, and records the sum where it is a feature.
func (x *Extractor) liveIn(n *space.Nest, live int64) int64 {
	for _, f := range n.StoreAt {
		live += int64(x.feats[x.first[f]][BytesAtProduction])
	}
	for _, f := range n.StoreAt {
		for s := range x.p.Funcs[f].Stages {
			x.feats[x.first[f]+s][WorkingSetAtRealization] = float64(live)
		}
	}
	for _, c := range n.Children {
		if c.Func != n.Func {
			x.feats[x.first[c.Func]+c.Stage][WorkingSetAtProduction] = float64(live)
		}
	}
	return live
}

// atRoot sets the features that compare with computing at root.
func (x *Extractor) atRoot(ft *Schedule, c *placed) {
	st := &x.stages[c.stage]
	ft[BytesAtRoot], ft[PointsComputedMinimum] = st.bytes, st.least
	ft[InnermostBytesAtRoot] = innermostBytes(st.f, x.root.Bounds(st.fn), x.vectorDim(c.site.produce))
}

// level computes the features of everything inside n and returns the storage in
// use there.
func (x *Extractor) level(n *space.Nest, up around) int64 {
	st := x.first[n.Func] + n.Stage
	s, ft := &x.stages[st], &x.feats[st]
	iterations, tasks := x.iterations(n, up)
	in := around{parent: n, grandparent: up.parent, instances: up.instances * iterations, parallelism: up.parallelism * tasks}
	for _, f := range n.StoreAt {
		for s := range x.p.Funcs[f].Stages {
			x.realise(n, x.first[f]+s, in.instances)
		}
	}
	if n.Innermost {
		ft[VectorSize] = 1
		if n.VectorLoop >= 0 {
			ft[VectorSize] = float64(n.Size[n.VectorLoop])
		}
		if ft[VectorSize] == 1 {
			ft[NumScalars] += ft[NumVectors]
			ft[NumVectors] = 0
		}
	} else {
		// Levels further in overwrite this, down to the one around the vector.
		all, pure := int64(1), int64(1)
		for i, size := range n.Size {
			all *= size
			if !s.Loops[i].RVar {
				pure *= size
			}
		}
		ft[InnermostLoopExtent], ft[InnermostPureLoopExtent] = float64(all), float64(pure)
	}
	atProduction := up.parent.Func != n.Func
	if up.parent.IsRoot() {
		x.task(n, st)
	}
	if atProduction {
		b := up.parent.Bounds(n.Func)
		ft[NumProductions] = float64(up.instances)
		ft[InnerParallelism], ft[OuterParallelism] = float64(tasks), float64(up.parallelism)
		ft[NativeVectorSize] = float64(s.VectorSize)
		ft[BytesAtProduction] = bytesComputed(s.f, b)
		ft[InnermostBytesAtProduction] = innermostBytes(s.f, b, x.vectorDim(n))
	}
	live := int64(0)
	for _, c := range n.Children {
		live += x.level(c, in)
	}
	live = x.liveIn(n, live)
	if up.parent.IsRoot() {
		x.liveAtTask(n, live)
	}
	if atProduction {
		ft[WorkingSet] = float64(live)
	}
	if n.Innermost {
		ft[UnrolledLoopExtent] = x.unrolled(n, up)
	}
	if n.Innermost || atProduction {
		x.loaded(n, st, up, in.instances)
	}
	for _, i := range n.Inlined {
		x.calls = append(x.calls, call{
			stage:       x.first[i.Func],
			calls:       float64(i.Calls),
			evaluations: float64(i.Calls * in.instances),
			vectors:     ft[NumVectors],
			scalars:     ft[NumScalars],
			lanes:       ft[VectorSize],
			native:      float64(s.VectorSize),
			pureExtent:  ft[InnermostPureLoopExtent],
			parallelism: float64(up.parallelism),
		})
	}
	return live
}

// iterations counts those of level n, and its tasks. Where tasks are still to be
// decided about, eight a core are assumed.
func (x *Extractor) iterations(n *space.Nest, up around) (all, tasks int64) {
	s := &x.stages[x.first[n.Func]+n.Stage]
	all, tasks = 1, 1
	inReduction := false
	for i := len(n.Size) - 1; i >= 0; i-- {
		size := n.Size[i]
		all *= size
		switch {
		case s.Loops[i].Pure && !inReduction:
			if x.cores > 1 && (n.Parallel || up.parent.IsRoot() && tasks < x.cores) {
				tasks *= size
				if !n.Parallel && tasks > x.cores*8 {
					tasks = x.cores * 8
				}
			}
		case size != 1:
			inReduction = true
		}
	}
	return all, tasks
}

func (x *Extractor) liveAtTask(n *space.Nest, live int64) {
	for _, c := range n.Children {
		x.liveAtTask(c, live)
		x.feats[x.first[c.Func]+c.Stage][WorkingSetAtTask] = float64(live)
	}
}

// unrolled is the extent of the loops around the innermost level n if those are
// unrolled: few of them, all known when compiling.
func (x *Extractor) unrolled(n *space.Nest, up around) float64 {
	st := x.first[n.Func] + n.Stage
	pure := x.feats[st][InnermostPureLoopExtent]
	if up.parent.Func != n.Func || pure > float64(x.sp.UnrollLimit(n.Func, n.Stage)) {
		return 1
	}
	loops := up.grandparent.Bounds(n.Func).Loops(n.Stage)
	for i := range loops {
		if !x.stages[st].Loops[i].RVar && !loops[i].Constant {
			return 1
		}
	}
	return pure
}

// call is one place where a Func is inlined: what the Func's features take from the
// level that calls it.
type call struct {
	stage                               int // the Func's
	calls, evaluations                  float64
	vectors, scalars, lanes, pureExtent float64
	native                              float64 // lanes natural for the caller
	parallelism                         float64
}

// addTo adds the place to the features of the Func.
func (c *call) addTo(to *Schedule) {
	to[InlinedCalls] += c.evaluations
	to[NumVectors] += c.calls * c.vectors
	to[NumScalars] += c.calls * c.scalars
	to[NativeVectorSize] = c.native
	if to[VectorSize] > 0 {
		to[VectorSize] = min(to[VectorSize], c.native)
	} else {
		to[VectorSize] = c.lanes
	}
	if to[InnermostPureLoopExtent] > 0 {
		to[InnermostPureLoopExtent] = min(to[InnermostPureLoopExtent], c.pureExtent)
	} else {
		to[InnermostPureLoopExtent] = c.pureExtent
	}
	to[InnerParallelism], to[OuterParallelism] = 1, c.parallelism
}

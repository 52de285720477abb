package feature

import (
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/space"
)

// footprint is what one run of some loops reads.
type footprint struct{ bytes, lines, allocations int64 }

// loaded computes the features of what stage st reads at level n, which is where
// it is computed, its innermost one, or both. instances is how often the body of n
// runs.
func (x *Extractor) loaded(n *space.Nest, st int, up around, instances int64) {
	ft, s := &x.feats[st], &x.stages[st]
	// What a realisation reads is what its readers' store levels require; what a
	// vector reads is what the loop around it requires.
	at, runs := x.sites[st].store, int64(ft[NumRealizations])
	if n.Innermost {
		at, runs = up.parent, up.instances
		x.loads.reset()
	}
	fp := x.reads(n, up.parent, st, at, max(runs, 1))
	if up.parent.Func != n.Func {
		ft[UniqueBytesReadPerRealization] = float64(fp.bytes)
		ft[UniqueLinesReadPerRealization] = float64(fp.lines)
		ft[AllocationBytesReadPerRealization] = float64(fp.allocations)
		if s.idx > 0 {
			// An update may read all that was produced so far.
			ft[UniqueBytesReadPerRealization] += ft[BytesAtProduction]
			ft[UniqueLinesReadPerRealization] += ft[BytesAtProduction] / ft[InnermostBytesAtProduction]
			ft[AllocationBytesReadPerRealization] += ft[BytesAtProduction]
		}
	}
	if !n.Innermost {
		return
	}
	l := &x.loads
	ft[PointsComputedPerProduction] = float64(instances) / ft[NumProductions]
	ft[VectorLoadsPerVector] = l.dense + 2*l.stride[2] + 3*l.stride[3] + 4*l.stride[4]
	ft[ScalarLoadsPerVector] = l.broadcast + ft[VectorSize]*l.gather
	ft[ScalarLoadsPerScalar] = l.all
	if s.idx > 0 { // an update loads what it updates
		ft[VectorLoadsPerVector]++
		ft[ScalarLoadsPerScalar]++
	}
	ft[UniqueBytesReadPerVector] = float64(fp.bytes)
	ft[UniqueLinesReadPerVector] = float64(fp.lines)
}

// reads follows what a stage reads, through the Funcs inlined into it, and adds up
// the regions required at level at, which runs so many times, and, where n is where
// the stage is computed, the allocations. At innermost levels it classifies the loads
// as well.
func (x *Extractor) reads(n, parent *space.Nest, st int, at *space.Nest, runs int64) footprint {
	var fp footprint
	x.pending = append(x.pending[:0], st)
	for len(x.pending) > 0 {
		from := x.pending[len(x.pending)-1]
		x.pending = x.pending[:len(x.pending)-1]
		consumer := &x.stages[from]
		for i := range consumer.Edges {
			e := &consumer.Edges[i]
			if n.Innermost {
				x.loads.follow(e, from == st, consumer.fn, len(x.stages[st].Loops))
			}
			producer := x.first[e.Producer]
			t := &x.sites[producer]
			if t.inlined {
				x.pending = append(x.pending, producer)
				continue
			}
			fn := &x.p.Funcs[e.Producer]
			dim, known := x.innermostOf(fn, t)
			if n.Innermost {
				x.classify(n, parent, st, e.Producer, dim, known)
			}
			if x.see(e.Producer) {
				continue
			}
			x.regions(&fp, fn, t, e.Producer, at, dim, known, parent.Func != n.Func, runs)
		}
	}
	x.forget()
	return fp
}

// innermostOf is the innermost dimension in the storage of a Func, and whether it is known
// yet: before it is decided where to produce the Func it is not, and -1.
func (x *Extractor) innermostOf(fn *pipeline.Func, t *site) (dim int, known bool) {
	switch {
	case fn.Input:
		return 0, true
	case t.produce != nil:
		return x.vectorDim(t.produce), true
	}
	return -1, false
}

// required is how many bytes b requires of a Func, and how many lines along its innermost
// dimension.
func required(fn *pipeline.Func, b *space.Bound, dim int, known bool) (bytes, lines int64) {
	bytes, lines = fn.BytesPerPoint, 1
	longest := int64(1)
	for d := range fn.Args {
		extent := b.Required(d).Extent()
		longest = max(longest, extent)
		bytes *= extent
		if d != dim {
			lines *= extent
		}
	}
	if !known { // vectorised along its longest dimension
		lines /= longest
	}
	return bytes, lines
}

// regions adds what is read of one producer. Regions that do not enter are not asked
// for: finding them costs more than all else here.
func (x *Extractor) regions(fp *footprint, fn *pipeline.Func, t *site, f int, at *space.Nest, dim int, known, allocated bool, runs int64) {
	inner := int64(1)
	if known && !t.store.IsRoot() {
		inner = int64(x.feats[x.first[f]][NumRealizations])
	}
	if inner > runs && inner/runs > 1 {
		// It is stored inside the loops of its reader; folding keeps it that small.
		at = t.store
	}
	bytes, lines := required(fn, at.Bounds(f), dim, known)
	fp.bytes += bytes
	fp.lines += lines
	if allocated {
		computed, bytes := t.compute.Bounds(f), fn.BytesPerPoint
		for d := range fn.Args {
			bytes *= computed.Computed(d).Extent()
		}
		fp.allocations += bytes
	}
}

// see marks a Func and reports whether it was marked already; forget unmarks all.
func (x *Extractor) see(f int) bool {
	if x.seen[f] {
		return true
	}
	x.seen[f] = true
	x.seenAt = append(x.seenAt, f)
	return false
}

func (x *Extractor) forget() {
	for _, f := range x.seenAt {
		x.seen[f] = false
	}
	x.seenAt = x.seenAt[:0]
}

// task computes the features of the level n at root as a task of stage st: what
// one task writes, and what it reads from outside.
func (x *Extractor) task(n *space.Nest, st int) {
	ft, s := &x.feats[st], &x.stages[st]
	if n.Parallel {
		b := n.Bounds(n.Func)
		v := x.vectorDim(n)
		bytes, line := float64(s.f.BytesPerPoint), int64(1)
		for d := range s.f.Args {
			extent := b.Computed(d).Extent()
			if l := s.loopOf[d]; l >= 0 {
				extent /= n.Size[l]
			}
			bytes *= float64(extent)
			if d == v {
				line = extent
			}
		}
		ft[BytesAtTask], ft[InnermostBytesAtTask] = bytes, float64(s.f.BytesPerPoint*line)
	} else {
		// Tasks are still to be decided about: a core's share, as one piece.
		ft[BytesAtTask] = (ft[BytesAtRealization] + float64(x.cores) - 1) / float64(x.cores)
		ft[InnermostBytesAtTask] = min(ft[BytesAtTask], ft[InnermostBytesAtRealization])
	}
	var bytes, lines int64
	x.pending = append(x.pending[:0], st)
	for len(x.pending) > 0 {
		from := x.pending[len(x.pending)-1]
		x.pending = x.pending[:len(x.pending)-1]
		for i := range x.stages[from].Edges {
			f := x.stages[from].Edges[i].Producer
			if x.see(f) {
				continue
			}
			switch t := &x.sites[x.first[f]]; {
			case t.store.IsRoot():
				b, l := x.fromRoot(n, f, t)
				bytes, lines = bytes+b, lines+l
			case t.produce != nil:
				for p := range x.p.Funcs[f].Stages {
					x.pending = append(x.pending, x.first[f]+p)
				}
			}
		}
	}
	x.forget()
	ft[UniqueBytesReadPerTask], ft[UniqueLinesReadPerTask] = float64(bytes), float64(lines)
}

// fromRoot is what the task n reads of Func f, which is stored at root.
func (x *Extractor) fromRoot(n *space.Nest, f int, t *site) (bytes, lines int64) {
	fn := &x.p.Funcs[f]
	dim, known := x.innermostOf(fn, t)
	return required(fn, n.Bounds(f), dim, known)
}

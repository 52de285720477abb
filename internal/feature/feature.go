// Package feature turns schedules into numbers: the features of Adams et al. 2019,
// "Learning to Optimize Halide with Tree Search and Random Programs", section 4.1,
// as version 3 of Halide's Adams2019 computes them, and the files that hold them.
// docs/features.md lists them all and says what is peculiar about some.
package feature

import (
	"fmt"
	"math"
	"slices"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/space"
)

// Schedule holds the schedule features of one stage, by index.
type Schedule [NumSchedule]float64

// StageID names a stage: its Func, and its number within that.
type StageID struct{ Func, Stage int }

// Stages lists the stages of p that have features, in the order of Halide's files:
// Funcs with consumers first, inputs left out, each with its last update first.
func Stages(p *pipeline.Pipeline) []StageID {
	var out []StageID
	for f := range p.Funcs {
		if p.Funcs[f].Input {
			continue
		}
		for s := len(p.Funcs[f].Stages) - 1; s >= 0; s-- {
			out = append(out, StageID{f, s})
		}
	}
	return out
}

// Extractor computes features of states of one space. It remembers what it computed
// for the parts of loop nests that states share (see block), and keeps scratch
// memory between calls, so that a call allocates nothing once it has seen states as
// large; it is not safe for concurrent use.
type Extractor struct {
	sp      *space.Space
	p       *pipeline.Pipeline
	cores   int64
	first   []int // number of each Func's first stage
	place   []int // per stage, its place in the order of Stages, -1 for inputs
	until   []int // per Func, how many stages of the Funcs before it that order has
	stages  []stage
	readers [][]pipeline.Reader
	root    *space.Nest // that of the start; bounds at root are the same in all states

	known cache

	// Of the state at hand.
	blocks []*block
	at     []position // per stage
	sites  []site     // per stage, where it is needed: see prepare

	// Of the block at hand.
	nth     []int      // per stage, its place in block.computed
	feats   []Schedule // per stage
	calls   []call
	pending []int
	seen    []bool // Funcs
	seenAt  []int  // those to clear
	loads   loads
}

// stage is what stays the same about a stage.
type stage struct {
	*pipeline.Stage
	fn, idx int
	f       *pipeline.Func
	loopOf  []int   // per dimension of the Func, the loop over it, -1 for none
	points  float64 // of its loops at root
	bytes   float64 // of its Func at root
	least   float64 // points computed at least; no number where they are too many
}

// site says where a stage is computed and stored: levels of the nest, nil where
// not known.
type site struct {
	compute, store, produce, innermost *space.Nest
	inlined                            bool
}

// position is a level of the state's nest: that of blocks[block] with that number,
// 0 being the root; block is nowhere for none.
type position struct{ block, level int32 }

const nowhere = -1

// New prepares an extractor for states of sp.
func New(sp *space.Space) *Extractor {
	p := sp.Pipeline()
	x := &Extractor{sp: sp, p: p, cores: int64(sp.Options().Parallelism), readers: p.Readers(), root: sp.Start().Root(),
		seen: make([]bool, len(p.Funcs)), known: newCache()}
	placed := 0
	for f := range p.Funcs {
		fn := &p.Funcs[f]
		x.first = append(x.first, len(x.stages))
		x.until = append(x.until, placed)
		for s := range fn.Stages {
			st := stage{Stage: &fn.Stages[s], fn: f, idx: s, f: fn, loopOf: make([]int, len(fn.Args))}
			for d, arg := range fn.Args {
				st.loopOf[d] = -1
				for l := range st.Loops {
					if st.Loops[l].Var == arg {
						st.loopOf[d] = l
						break
					}
				}
			}
			if sp.Scheduled(f) {
				b := x.root.Bounds(f)
				st.points, st.bytes = 1, bytesComputed(fn, b)
				for _, l := range b.Loops(s) {
					st.points *= float64(l.Extent())
				}
				if st.least = x.leastPoints(&st); !st.fits() {
					st.least = math.NaN()
				}
			}
			x.stages = append(x.stages, st)
			if fn.Input {
				x.place = append(x.place, -1)
			} else {
				x.place = append(x.place, placed+len(fn.Stages)-1-s)
			}
		}
		if len(fn.Stages) == 0 { // an input takes one place, for its site
			x.stages = append(x.stages, stage{Stage: &pipeline.Stage{}, fn: f, f: fn})
			x.place = append(x.place, -1)
		}
		if !fn.Input {
			placed += len(fn.Stages)
		}
	}
	x.until = append(x.until, placed)
	x.at = make([]position, len(x.stages))
	x.nth = make([]int, len(x.stages))
	x.sites = make([]site, len(x.stages))
	x.feats = make([]Schedule, len(x.stages))
	for f := range p.Funcs {
		if p.Funcs[f].Input {
			x.sites[x.first[f]] = site{compute: x.root, store: x.root}
		}
	}
	return x
}

// leastPoints are the points of a stage that must be computed: those at root, or,
// where those are fewer, what its readers ask for.
func (x *Extractor) leastPoints(st *stage) float64 {
	if len(st.f.Stages) > 1 || st.f.Output {
		return st.points
	}
	inlined := 0.0
	for _, r := range x.readers[st.fn] {
		reader := &x.stages[x.first[r.Func]+r.Stage]
		inlined += reader.least * float64(reader.Edges[r.Edge].Calls)
	}
	return min(st.points, inlined)
}

// Features appends the features of the stages that s schedules, in the order of
// Stages: of all stages where s is complete, of the first ones otherwise. About
// stages not yet scheduled it assumes the best: as far in as they could be, and
// vectorised along whatever dimension suits each reader (section 3.2). Stages that
// nothing needs have zeros.
//
// The parts of the nest below the root that the extractor has met before, in the
// same surroundings, are taken over; the others are computed. The result is the same
// to the bit.
//
// Register blocks (space.Block), which Adams et al. do not have, count as the extent of
// their Func's first stage that is unrolled; stages that diverge and are computed point
// by point (space.Scalar) have vectors of one lane, and where vectors are of several
// shorter ones (space.Lanes) or add up several products at once (space.Dot) there are as
// many more or fewer of them; vectors along a reduction (space.Across) end in a scalar each.
// What is unrolled of reductions (space.Terms) counts for the stage that has them.
func (x *Extractor) Features(s *space.State, dst []Schedule) []Schedule {
	funcs := s.Placed()
	x.prepare(s.Root())
	x.guessSites(funcs)
	from := len(dst)
	dst = slices.Grow(dst, x.until[funcs])[:from+x.until[funcs]]
	out := dst[from:]
	clear(out)
	live := int64(0)
	for _, b := range x.blocks {
		live += x.fill(out, b, x.result(b))
	}
	for _, f := range s.Root().StoreAt {
		live += int64(out[x.place[x.first[f]]][BytesAtProduction])
	}
	x.wholeNest(out, s.Root(), float64(live))
	for i, b := range s.Blocks() {
		extent := &out[x.place[x.first[b.Func]]][UnrolledLoopExtent]
		if i == 0 || s.Blocks()[i-1].Func != b.Func {
			*extent = 1
		}
		*extent *= float64(b.Factor)
	}
	for _, d := range s.Vectors() {
		for stage := range s.Pipeline().Funcs[d.Func].Stages {
			otherVectors(s.Space(), &out[x.place[x.first[d.Func]+stage]], d, stage)
		}
	}
	return dst
}

// otherVectors says in the features of a stage what d, a decision about the vectors of its
// Func, makes of them.
func otherVectors(sp *space.Space, ft *Schedule, d space.Decision, stage int) {
	switch {
	case d.Kind == space.Scalar && slices.Contains(sp.Divergent(d.Func), stage):
		ft[NumScalars] += ft[NumVectors] * ft[VectorSize]
		ft[NumVectors], ft[VectorSize] = 0, 1
	case d.Kind == space.Lanes && ft[VectorSize] > float64(d.Factor):
		ft[NumVectors] *= ft[VectorSize] / float64(d.Factor)
		ft[VectorSize] = float64(d.Factor)
	case d.Kind == space.Across && sp.SumsAcross(d.Func, stage, d.Factor):
		ft[NumVectors] *= ft[VectorSize] / float64(d.Factor)
		ft[VectorSize] = float64(d.Factor)
		ft[NumScalars] += ft[NumVectors] // each is added up in the end
	case d.Kind == space.Dot && sp.Dot(d.Func, stage, d.Factor):
		ft[NumVectors] /= float64(d.Factor)
	case d.Kind == space.Terms && sp.UnrollsTerms(d.Func, stage):
		ft[UnrolledLoopExtent] = max(1, ft[UnrolledLoopExtent]) * float64(d.Factor)
	}
}

// fill takes over what was computed of a block, and returns the storage in use in it.
func (x *Extractor) fill(out []Schedule, b *block, r *result) int64 {
	for i := range b.computed {
		out[x.place[b.computed[i].stage]] = r.feats[i]
	}
	for i := range r.calls {
		r.calls[i].addTo(&out[x.place[r.calls[i].stage]])
	}
	for i := range b.inlined {
		x.atRoot(&out[x.place[b.inlined[i].stage]], &b.inlined[i])
	}
	return r.live
}

// wholeNest sets the features that depend on everything: live is the storage in use
// in the whole nest.
func (x *Extractor) wholeNest(out []Schedule, root *space.Nest, live float64) {
	for _, b := range x.blocks {
		for i := range b.computed {
			out[x.place[b.computed[i].stage]][WorkingSetAtRoot] = live
		}
		for i := range b.inlined {
			out[x.place[b.inlined[i].stage]][WorkingSetAtRoot] = live
		}
		out[x.place[x.first[b.nest.Func]+b.nest.Stage]][WorkingSetAtProduction] = live
	}
	for _, f := range root.StoreAt {
		for s := range x.p.Funcs[f].Stages {
			out[x.place[x.first[f]+s]][WorkingSetAtRealization] = live
		}
	}
}

// prepare finds the blocks of a nest, where in it each stage is, and, for stages at
// root, what others need to know of them.
func (x *Extractor) prepare(root *space.Nest) {
	x.known.begin()
	x.blocks = x.blocks[:0]
	for st := range x.at {
		x.at[st] = position{block: nowhere}
	}
	for i, n := range root.Children {
		b := x.block(n)
		x.blocks = append(x.blocks, b)
		for k := range b.computed {
			x.at[b.computed[k].stage] = position{int32(i), b.computed[k].level}
		}
		for k := range b.inlined {
			x.at[b.inlined[k].stage] = position{int32(i), b.inlined[k].level}
		}
		x.sites[x.first[n.Func]+n.Stage] = site{compute: x.root, store: x.root, produce: n}
	}
}

// guessSites places what the state, which has decided about so many Funcs, has not
// decided about: outputs at root, others in the innermost level around all their
// readers.
func (x *Extractor) guessSites(decided int) {
	for f := decided; f < len(x.p.Funcs); f++ {
		fn := &x.p.Funcs[f]
		if fn.Input {
			continue
		}
		at := position{block: nowhere}
		if fn.Output {
			at = position{}
		} else {
			for _, r := range x.readers[f] {
				if p := x.at[x.first[r.Func]+r.Stage]; p.block != nowhere {
					at = x.around(at, p)
				}
			}
		}
		if at.block == nowhere {
			continue // nothing reads it
		}
		level := x.root
		if at.level > 0 {
			level = x.blocks[at.block].levels[at.level].nest
		}
		for s := range fn.Stages {
			x.at[x.first[f]+s] = at
			x.sites[x.first[f]+s] = site{compute: level, store: level}
		}
	}
}

// around is the deepest level around both a, which may be nowhere, and b. Where one
// of two different levels is around the other it is the level around both of them,
// as in Adams et al.'s code, which their weights and search are used to.
func (x *Extractor) around(a, b position) position {
	switch {
	case a.block == nowhere || a == b:
		return b
	case a.level == 0 || b.level == 0 || a.block != b.block:
		return position{}
	}
	levels := x.blocks[a.block].levels
	for levels[a.level].depth > levels[b.level].depth {
		a.level = levels[a.level].parent
	}
	for levels[b.level].depth > levels[a.level].depth {
		b.level = levels[b.level].parent
	}
	for {
		a.level, b.level = levels[a.level].parent, levels[b.level].parent
		if a.level == b.level {
			return a
		}
	}
}

// vectorDim is the innermost dimension in the storage of what n computes. Adams et
// al.'s code has 0 where there is nothing to vectorise.
func (x *Extractor) vectorDim(n *space.Nest) int {
	if n.VectorDim < 0 && len(x.p.Funcs[n.Func].Args) == 0 {
		return 0
	}
	return n.VectorDim
}

// most is how many points or bytes of one stage at root features are computed of.
// With more, sums and products over a whole nest, which may compute a multiple, could
// leave int64.
const most = 1 << 50

// fits holds for stages that features can be computed of.
func (s *stage) fits() bool { return s.points <= most && s.bytes <= most }

// Fits fails, naming the stage, where one of the stages of sp's pipeline is too large
// for its features to be right. Extractors give the stage one that is no number, so
// that no cost is predicted either.
func Fits(sp *space.Space) error {
	for _, st := range New(sp).stages {
		if !st.fits() {
			return fmt.Errorf("feature: %s has %.3g points of %.3g bytes in all at root; features are right up to %.3g: give smaller estimates",
				st.Name, st.points, st.bytes, float64(most))
		}
	}
	return nil
}

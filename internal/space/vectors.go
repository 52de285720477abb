package space

import (
	"slices"

	"github.com/protuner/protuner/internal/pipeline"
)

// What a stage's vectors are made of. Adams et al. have vectors of as many lanes as the
// narrowest type of a stage fills, whatever else is in it, along one of its dimensions.

// leastLanes is the fewest lanes that a vector is given.
const leastLanes = 4

// Shorter are the lengths that vectors of f may have besides their own, longest first: down
// to what the widest type that one of its stages computes with fills, where that is not as
// narrow as its narrowest, and to half of that where something may be looked up in f (see
// LooksUp). A vector of bytes is four vectors of their sums, or of the floats that they are
// rounded from; what is looked up comes lane by lane, and some processors have two halves of
// it sooner than one whole. The slice is shared.
func (sp *Space) Shorter(f int) []int64 { return sp.nodes[f].shorter }

// findShorter finds them, where vectors have so many bits.
func (n *node) findShorter(bits int, looksUp bool) []int64 {
	var out []int64
	for s := range n.Stages {
		st := &n.Stages[s]
		_, widest := st.Widths()
		least := int64(bits / max(widest, 1))
		if looksUp {
			least /= 2
		}
		least = max(leastLanes, least)
		for lanes := int64(st.VectorSize) / 2; lanes >= least; lanes /= 2 {
			if !slices.Contains(out, lanes) {
				out = append(out, lanes)
			}
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return slices.Clip(out)
}

// LooksUp says of each Func whether it reads something at places that the data have, by
// itself or in what is inlined into it, as inlined says.
func (sp *Space) LooksUp(inlined func(f int) bool) []bool {
	out := make([]bool, len(sp.nodes))
	for f := len(sp.nodes) - 1; f >= 0; f-- { // producers before those that read them
		for _, st := range sp.nodes[f].Stages {
			out[f] = out[f] || slices.ContainsFunc(st.Edges, func(e pipeline.Edge) bool {
				lookedUp := func(j pipeline.Jacobian) bool { return j.LookedUp > 0 }
				return slices.ContainsFunc(e.Jacobians, lookedUp) || inlined(e.Producer) && out[e.Producer]
			})
		}
	}
	return out
}

// Sums says whether f has an update that adds up, or otherwise reduces, something to the
// points it is at, which goes the faster the more of them are in registers.
func (sp *Space) Sums(f int) bool {
	for s, st := range sp.nodes[f].Stages {
		if st.Reduces() && !sp.writesElsewhere(f, s) {
			return true
		}
	}
	return false
}

// dotFactors are how many short products processors add up at once.
var dotFactors = [2]int64{2, 4}

// Dots are how many iterations of a reduction the updates of f can add up at once in each
// lane, by a decision of the Kind Dot: processors have instructions that multiply short
// integers and add up two or four neighbouring products (Halide makes them of a reduction
// loop that is vectorised inside the vector). The slice is shared.
func (sp *Space) Dots(f int) []int64 { return sp.nodes[f].dots }

// findDots finds the loops of f's stages, and the factors that any of them has one for.
func (sp *Space) findDots(f int) []int64 {
	n := &sp.nodes[f]
	var out []int64
	for i, factor := range dotFactors {
		any := false
		for s := range n.Stages {
			loop := sp.findDotLoop(f, s, factor)
			sp.stages[n.first+s].dots[i] = loop
			any = any || loop >= 0
		}
		if any {
			out = append(out, factor)
		}
	}
	return slices.Clip(out)
}

// Dot says whether a stage of f can add up so many iterations at once.
func (sp *Space) Dot(f, stage int, factor int64) bool { return sp.dotLoop(f, stage, factor) >= 0 }

// dotLoop is the reduction loop of a stage of which so many iterations are added up at
// once, -1 where there is none.
func (sp *Space) dotLoop(f, s int, factor int64) int {
	i := slices.Index(dotFactors[:], factor)
	if i < 0 {
		return -1
	}
	return sp.stages[sp.nodes[f].first+s].dots[i]
}

// findDotLoop picks, of the loops that steps of factor divide, the innermost along which
// something is read densely, or else the innermost.
func (sp *Space) findDotLoop(f, s int, factor int64) int {
	st := &sp.nodes[f].Stages[s]
	if int64(st.SummedAtOnce) < factor || sp.writesElsewhere(f, s) {
		return -1
	}
	extents := sp.Extents(f, s)
	first := -1
	for i, l := range st.Loops {
		if !l.RVar || extents[i]%factor != 0 {
			continue
		}
		if readsDensely(st, i, asItLies) {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

// Across is how many iterations of a reduction the updates of f can have in one vector, by a
// decision of the Kind Across: where everything that moves along it lies so in memory, and
// nothing along f's own dimensions, a vector of points would gather. The length of a vector
// of what is added up, or of several, which are added up before their lanes are; shortest
// first, or none. The slice is shared.
func (sp *Space) Across(f int) []int64 { return sp.nodes[f].across }

// SumsAcross says whether a stage of f can have vectors of so many iterations.
func (sp *Space) SumsAcross(f, stage int, lanes int64) bool {
	return sp.acrossLoop(f, stage, lanes) >= 0
}

// acrossLoop is the reduction loop that they are along, -1 where there is none.
func (sp *Space) acrossLoop(f, s int, lanes int64) int {
	n := &sp.nodes[f]
	loop := sp.stages[n.first+s].across
	if loop < 0 || !slices.Contains(n.across, lanes) || sp.Extents(f, s)[loop]%lanes != 0 {
		return -1
	}
	return loop
}

// findAcross finds the loops of f's stages for that, and how long the vectors are.
func (sp *Space) findAcross(f int) []int64 {
	n := &sp.nodes[f]
	var out []int64
	for s := range n.Stages {
		st := &sp.stages[n.first+s]
		st.across = -1
		narrowest, widest := st.Widths()
		vector := int64(st.VectorSize * narrowest / max(widest, 1))
		lanes := vector
		for lanes > 0 && lanes < leastLanes {
			lanes *= 2
		}
		if len(n.Types) > 1 || !st.Associative || lanes == 0 || sp.writesElsewhere(f, s) || len(out) > 0 && out[0] != lanes {
			continue
		}
		extents := sp.Extents(f, s)
		for i, l := range st.Loops {
			if l.RVar && extents[i]%lanes == 0 && readsRows(st.Stage, i, sp.AlongMemory) {
				st.across = i
				break
			}
		}
		for long := lanes; st.across >= 0 && long <= vectorsAtOnce*vector && extents[st.across]%long == 0; long *= 2 {
			if !slices.Contains(out, long) {
				out = append(out, long)
			}
		}
	}
	return slices.Clip(out)
}

// asItLies is the innermost dimension of all that nothing is decided about.
func asItLies(int) int { return 0 }

// readsRows holds where a stage reads something along a loop point by point in memory,
// nothing that moves along it otherwise, and nothing so along another loop over points;
// innermost is the dimension of a Func that lies densely.
func readsRows(st *pipeline.Stage, loop int, innermost func(f int) int) bool {
	for i, l := range st.Loops {
		if i != loop && !l.RVar && readsDensely(st, i, innermost) {
			return false
		}
	}
	for e := range st.Edges {
		for k := range st.Edges[e].Jacobians {
			if strides(&st.Edges[e].Jacobians[k], innermost(st.Edges[e].Producer), loop) {
				return false
			}
		}
	}
	return readsDensely(st, loop, innermost)
}

// readsDensely holds where something is read along a loop point by point in memory.
func readsDensely(st *pipeline.Stage, loop int, innermost func(f int) int) bool {
	for e := range st.Edges {
		for k := range st.Edges[e].Jacobians {
			if isDenseIn(&st.Edges[e].Jacobians[k], innermost(st.Edges[e].Producer), loop) {
				return true
			}
		}
	}
	return false
}

// gathersBut holds where a stage has more loads that are dense along a loop, and that any other
// loop over points would gather by places that are computed, than loads that another loop has
// dense: of an image that is turned, all channels of a pixel lie side by side, and what
// the next pixel of a row reads is anywhere.
func gathersBut(st *pipeline.Stage, loop int) bool {
	var gathered, dense int64
	for e := range st.Edges {
		for k := range st.Edges[e].Jacobians {
			j := &st.Edges[e].Jacobians[k]
			others, scattered := false, true
			for i, l := range st.Loops {
				if i != loop && !l.RVar {
					others = others || isDense(j, i)
					scattered = scattered && movesAnyhow(j, i)
				}
			}
			switch {
			case others:
				dense += j.Count
			case scattered && isDense(j, loop):
				gathered += j.Count
			}
		}
	}
	return gathered > dense
}

// movesAnyhow holds where nobody knows how a load moves with a loop.
func movesAnyhow(j *pipeline.Jacobian, loop int) bool {
	return slices.ContainsFunc(j.Coeffs, func(row []pipeline.Rational) bool { return row[loop].Den == 0 })
}

// isDense holds where one more iteration of a loop loads what comes next in memory.
func isDense(j *pipeline.Jacobian, loop int) bool { return isDenseIn(j, 0, loop) }

// isDenseIn holds for that where dimension row is the innermost.
func isDenseIn(j *pipeline.Jacobian, row, loop int) bool {
	return has(j, row) && j.Coeffs[row][loop].Is(1)
}

// strides holds where a load moves with a loop, but not in dimension row, as far as is known.
func strides(j *pipeline.Jacobian, row, loop int) bool {
	return j.Moves(loop) && !(has(j, row) && j.Coeffs[row][loop].Num != 0)
}

// has says whether what is loaded has that dimension, which a scalar has not, and -1 is not.
func has(j *pipeline.Jacobian, row int) bool { return row >= 0 && row < len(j.Coeffs) }

// lanesIn is how many lanes the vectors have that a level n is cut into: fewer than those of
// vector, the level of one, where a decision of the Kind Lanes says so. One to an iteration, of
// which there are more then. That is not what the level's bounds have, so nothing else may be
// computed in its iterations; nor is it for what is added up, whose sums are as many vectors
// in registers as the level was made for.
func (w *writer) lanesIn(n, vector *Nest) int64 {
	own := vector.Size[vector.VectorLoop]
	lanes, ok := w.state.vectorsOf(n.Func, Lanes)
	if !ok || lanes >= own || n.innerLevel() != vector || !n.bare() || w.sp.Sums(n.Func) {
		return own
	}
	return lanes
}

// shorterVectors makes a vector that is longer than a decision of the Kind Lanes says, where
// the level around could not be cut into shorter ones (see lanesIn), of several that are not,
// one after the other.
func (w *writer) shorterVectors(s *stageLoops, n *Nest) {
	lanes, ok := w.state.vectorsOf(n.Func, Lanes)
	at := slices.IndexFunc(s.vars, func(v loopVar) bool { return v.vectorise })
	v := &s.vars[at]
	if !ok || v.extent <= lanes || v.extent%lanes != 0 || v.whole {
		return
	}
	in := w.split(s, n, v, lanes, w.tail(&w.sp.stages[n.stageNumber()], v, lanes))
	v.extent /= lanes
	v.vectorise, v.unrolled = false, true
	s.vars = slices.Insert(s.vars, at, in)
}

// dot vectorises some iterations of the reduction inside the vector, so that each lane
// adds them up at once, where there are no others.
func (w *writer) dot(s *stageLoops, n *Nest) {
	if factor, ok := w.state.vectorsOf(n.Func, Dot); ok {
		w.vectoriseReduction(s, n, w.sp.dotLoop(n.Func, n.Stage, factor), factor)
	}
}

// sumsAcross makes a vector of some iterations of a reduction where the state has it so, in
// place of one of points, and says whether it did.
func (w *writer) sumsAcross(s *stageLoops, n *Nest) bool {
	lanes, ok := w.state.vectorsOf(n.Func, Across)
	return ok && w.vectoriseReduction(s, n, w.sp.acrossLoop(n.Func, n.Stage, lanes), lanes)
}

// alongReduction is how many iterations of a reduction loop of a stage the state has in one
// vector, 1 where that is not along it.
func (w *writer) alongReduction(n *Nest, loop int) int64 {
	if factor, ok := w.state.vectorsOf(n.Func, Dot); ok && w.sp.dotLoop(n.Func, n.Stage, factor) == loop {
		return factor
	}
	if lanes, ok := w.state.vectorsOf(n.Func, Across); ok && w.sp.acrossLoop(n.Func, n.Stage, lanes) == loop {
		return lanes
	}
	return 1
}

// vectoriseReduction makes a vector, inside all other loops, of so many iterations of a
// reduction loop, where that many divide what is left of it, and says whether it did.
func (w *writer) vectoriseReduction(s *stageLoops, n *Nest, loop int, factor int64) bool {
	at := slices.IndexFunc(s.vars, func(v loopVar) bool { return v.loop == loop && v.there && !v.vector && !v.parallel })
	if at < 0 || s.vars[at].extent%factor != 0 {
		return false
	}
	v := &s.vars[at]
	in := w.split(s, n, v, factor, guard)
	v.extent /= factor
	in.vectorise, in.unrolled = true, false
	s.vars = slices.Insert(s.vars, 0, in)
	return true
}

package space

import "slices"

// block splits loops around the vector, that over several vectors too, or the innermost
// ones where there is none, by the factors of the Func's blocks and unrolls the inner parts
// inside all loops ("unroll and jam"), so that what neighbouring iterations read in common
// is loaded once, and what they add up goes to accumulators of their own. Nothing may be
// computed in these loops, and whole blocks must fit. Updates cannot have the rest of a
// division shifted, only guarded; they have blocks where a loop holds some number of them
// exactly, as estimated where there is a version for that. The lanes of what a reduction was
// factored into are a block anyway, if that is not too much with the others: there are as many
// as hide how long one addition takes. Reductions are inside what is left of the loops over
// points, as nearly always they are already: only with all of a block's points in registers is
// it one. A decision of the Kind Interchange has them around. The number of loops, of blocks and
// of the level, is returned.
func (w *writer) block(s *stageLoops, n *Nest) int {
	st := &w.sp.stages[n.stageNumber()]
	if !n.bare() {
		return len(st.Loops)
	}
	var inner []loopVar
	for _, b := range w.blocks(s, n) {
		for i := range st.Loops {
			v := &s.vars[i]
			if l := &st.Loops[v.loop]; !l.Pure || l.PureDim != b.Dim || !v.there || v.parallel || v.ragged || v.extent < b.Factor {
				continue
			}
			exact := st.idx > 0 && v.extent%b.Factor == 0 && (v.constant || !v.whole || w.state.sized)
			if tail := w.tail(st, v, b.Factor); tail != guard || exact {
				in := w.split(s, n, v, b.Factor, tail)
				in.unrolled, in.vector = true, false
				v.extent = ceilDiv(v.extent, b.Factor)
				inner = append(inner, in)
			}
			break
		}
	}
	group := s.vars[:len(st.Loops)]
	if w.sp.Factored(n.Func, n.VectorDim) {
		inner = withLanes(group, inner, st.unrolled)
	}
	switch {
	case w.interchanges(n):
		reductionsOutside(group)
	case len(inner) > 0:
		reductionsInside(group)
	default:
		w.tables(n, group)
	}
	s.vars = slices.Insert(s.vars, 0, inner...)
	return len(inner) + len(st.Loops)
}

// blocks are what the state says of the stage's Func, and where that is nothing all points of
// a tile that are as few as unroll takes, but of whose number Halide knows only in a version
// for the estimated sizes, as where a tile has all channels: of those that something is added
// up to.
func (w *writer) blocks(s *stageLoops, n *Nest) []Decision {
	var out []Decision
	for _, b := range w.state.blocks {
		if b.Func == n.Func {
			out = append(out, b)
		}
	}
	st := &w.sp.stages[n.stageNumber()]
	if len(out) > 0 || !w.state.sized || w.interchanges(n) || !w.sp.Sums(n.Func) {
		return out
	}
	points := int64(1)
	for _, v := range s.vars[:len(st.Loops)] {
		if v.pure && v.there {
			if v.parallel || v.ragged {
				return nil
			}
			points *= v.extent
			if l := &st.Loops[v.loop]; v.extent > 1 {
				out = append(out, Decision{Func: n.Func, Kind: Block, Dim: l.PureDim, Factor: v.extent})
			}
		}
	}
	if points > w.sp.UnrollLimit(n.Func, n.Stage) {
		return nil
	}
	return out
}

// tables unrolls the innermost loops over points inside the reductions where a stage counts in
// tables, one a point: what is counted in a table waits for what was counted there before, as
// far as the processor can tell, but not for what is counted in others. They are few that a
// tile was made for.
func (w *writer) tables(n *Nest, group []loopVar) {
	if !n.Innermost || n.VectorLoop >= 0 {
		return
	}
	points := int64(1)
	for _, v := range group {
		if v.pure && v.there {
			if v.ragged || v.whole || v.parallel {
				return
			}
			points *= v.extent
		}
	}
	if points == 1 || points > min(w.sp.UnrollLimit(n.Func, n.Stage), w.sp.tables(Reader{n.Func, n.Stage})) {
		return
	}
	unrollPoints(group)
}

// withLanes moves what is left of the group's vectorised loop into a block, inner, that is
// unrolled, where that makes it no larger than most.
func withLanes(group, inner []loopVar, most int64) []loopVar {
	i := slices.IndexFunc(group, func(v loopVar) bool { return v.vector && v.there })
	if i < 0 || !group[i].constant {
		return inner
	}
	lanes := group[i]
	all := lanes.extent
	for _, in := range inner {
		all *= in.extent
	}
	if all > most {
		return inner
	}
	lanes.unrolled, lanes.vector = true, false
	group[i].there, group[i].extent = false, 1
	return append(inner, lanes)
}

// wholeBlocks is a tile of so many points along the vector's dimension, of which there are
// extent, larger by an eighth at most where that makes it blocks of several vectors with
// nothing left over: else the next tile begins anywhere in what a block of three is for (see
// Periods).
func (w *writer) wholeBlocks(f, dim int, lanes, points, extent int64) int64 {
	for _, b := range w.state.blocks {
		if b.Func == f && b.Dim == dim {
			block := lanes * b.Factor
			if whole := ceilDiv(points, block) * block; whole <= min(points+points/8, extent) {
				return whole
			}
		}
	}
	return points
}

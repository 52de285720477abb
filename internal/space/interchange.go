package space

import (
	"slices"

	"github.com/protuner/protuner/internal/pipeline"
)

// Which of a level's reductions and points are the outer loops. Adams et al. have reductions
// inside the loops over points, unless these are unrolled: each sum is in a register until it
// is done. Around them each iteration of a reduction goes over a row of sums, which are loaded
// and stored each time, but whatever it looks up or decides is done once a row.

// Interchanges says whether f has an update with loops of both kinds, so that a decision of
// the Kind Interchange can be made about it.
func (sp *Space) Interchanges(f int) bool {
	return slices.ContainsFunc(sp.nodes[f].Stages, func(st pipeline.Stage) bool { return reducesPoints(&st) })
}

// reducesPoints holds where a stage has loops over points and reductions.
func reducesPoints(st *pipeline.Stage) bool {
	return st.Reduces() && slices.ContainsFunc(st.Loops, func(l pipeline.Loop) bool { return !l.RVar })
}

// Shifts says whether an update of f reads rows from where its reduction looks up, and bounds
// them: a point beside the other's is beside what that reads, as far as anybody knows, but the
// next iteration's row begins anywhere. Only with that loop around the row can it be known
// while the row is gone over where it ends, and be loaded in vectors inside of that.
func (sp *Space) Shifts(f int) bool {
	n := &sp.nodes[f]
	return slices.ContainsFunc(n.Stages, func(st pipeline.Stage) bool {
		row := st.PureLoop(n.vectorDims[0])
		return row >= 0 && slices.ContainsFunc(st.Edges, func(e pipeline.Edge) bool {
			return slices.ContainsFunc(e.Jacobians, func(j pipeline.Jacobian) bool { return shifts(&st, &j, row) })
		})
	})
}

// shifts holds where loads move along memory with this loop over points, in no way that is
// known beforehand, and with no other.
func shifts(st *pipeline.Stage, j *pipeline.Jacobian, row int) bool {
	if j.Shifted == 0 || !has(j, 0) || j.Coeffs[0][row].Den != 0 {
		return false
	}
	for i, l := range st.Loops {
		if i != row && !l.RVar && j.Coeffs[0][i].Moves() {
			return false
		}
	}
	return true
}

// interchanges holds where the state has the reductions of n's stage around its points, which
// needs loops that nothing else is computed in.
func (w *writer) interchanges(n *Nest) bool {
	_, ok := w.state.vectorsOf(n.Func, Interchange)
	return ok && n.bare() && reducesPoints(w.sp.stages[n.stageNumber()].Stage)
}

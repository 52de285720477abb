package space

import (
	"slices"

	"github.com/protuner/protuner/internal/schedule"
)

// directives writes what was worked out for one Func.
func (w *writer) directives(f int) []schedule.Directive {
	n := &w.sp.nodes[f]
	p := &w.places[f]
	var out []schedule.Directive
	say := func(d schedule.Directive) {
		d.Func = n.Name
		out = append(out, d)
	}
	switch {
	case p.compute == nil:
		say(schedule.Directive{Op: schedule.ComputeRoot})
	default:
		say(schedule.Directive{Op: schedule.ComputeAt, At: p.compute})
		if p.levels[0] != p.levels[1] {
			if p.store == nil {
				say(schedule.Directive{Op: schedule.StoreRoot})
			} else if *p.store != *p.compute {
				say(schedule.Directive{Op: schedule.StoreAt, At: p.store})
			}
		}
	}
	if p.stack {
		say(schedule.Directive{Op: schedule.StoreIn, Word: "stack"})
	}
	if p.vector > 0 && !n.Output {
		// An output's storage is its user's.
		dims := append([]string{n.Args[p.vector]}, slices.Delete(slices.Clone(n.Args), p.vector, p.vector+1)...)
		say(schedule.Directive{Op: schedule.ReorderStorage, Vars: dims})
	}
	if n.Extern {
		return out
	}
	for s := range n.Stages {
		if st := w.stages[n.first+s]; st != nil {
			out = append(out, w.loops(st, f, s)...)
		}
	}
	return out
}

// loops writes the loop directives of one stage: splits, the order, parallel
// loops made one where Halide can, unrolling, the vector.
func (w *writer) loops(st *stageLoops, f, index int) []schedule.Directive {
	name := w.sp.nodes[f].Name
	out := st.directives
	say := func(op schedule.Op, vars, made []string) {
		out = append(out, schedule.Directive{Op: op, Func: name, Stage: index, Vars: vars, New: made})
	}
	var order []string
	for _, v := range st.vars {
		if v.there {
			order = append(order, v.name)
		}
	}
	if len(order) > 1 {
		say(schedule.Reorder, order, nil)
	}
	parallel, mixed := w.parallelLoops(st, w.sp.nodes[f].first+index)
	if !mixed {
		// The inner name stays, for what is computed at that loop.
		for i := 1; i < len(parallel); i++ {
			say(schedule.Fuse, []string{parallel[i], parallel[i-1]}, []string{parallel[i]})
		}
		if len(parallel) > 0 {
			parallel = parallel[len(parallel)-1:]
		}
	}
	if w.races(st, w.sp.nodes[f].first+index) {
		say(schedule.AllowRaceConditions, nil, nil)
	}
	for _, v := range parallel {
		say(schedule.Parallel, []string{v}, nil)
	}
	for _, v := range st.vars {
		if v.there && v.unrolled && !v.parallel {
			say(schedule.Unroll, []string{v.name}, nil)
		}
	}
	for _, v := range st.vars {
		if v.there && v.vectorise {
			if w.sp.nodes[f].Stages[index].Loops[v.loop].RVar && !v.vector { // see dot
				say(schedule.Atomic, nil, nil)
			}
			say(schedule.Vectorize, []string{v.name}, nil)
		}
	}
	return out
}

// races holds where a loop that Halide does not prove independent is a vector or tasks.
func (w *writer) races(st *stageLoops, number int) bool {
	loops := w.sp.stages[number].Loops
	return slices.ContainsFunc(st.vars, func(v loopVar) bool {
		return v.there && !loops[v.loop].Pure && (v.vector && v.vectorise || v.parallel && v.extent > 1)
	})
}

// parallelLoops names the parallel loops, outermost first, where those of a reduction that
// they are inside of do not count; mixed says that Vars and RVars are among them, which
// Halide does not fuse.
func (w *writer) parallelLoops(st *stageLoops, number int) (loops []string, mixed bool) {
	var vars, rvars bool
	for _, v := range slices.Backward(st.vars) {
		if !v.there || v.extent == 1 {
			continue
		}
		if !v.parallel {
			if shared := w.sp.stages[number].shared; v.loop > shared && shared >= 0 && len(loops) == 0 {
				continue
			}
			break
		}
		if w.sp.stages[number].Loops[v.loop].RVar {
			rvars = true
		} else {
			vars = true
		}
		loops = append(loops, v.name)
	}
	return loops, vars && rvars
}

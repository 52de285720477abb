package space

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/protuner/protuner/internal/schedule"
)

// goalOf makes of a schedule the loop nest that Import looks for, its sizes left
// open, and lists what is not the manner of the space. A stage's loops are levels
// apart where something is computed or stored, around a vector, and inside tasks.
func (sp *Space) goalOf(p *played) (*written, []*Foreign) {
	g := goalMaker{sp: sp, p: p, root: &written{fn: -1, stage: -1, vectorLoop: -1, vectorDim: -2}, at: map[playedAt]*written{}}
	for f := range sp.nodes {
		n := &sp.nodes[f]
		if n.given || p.inlines(sp, f) {
			continue
		}
		compute, store := g.level(p.compute[f]), g.level(p.store[f])
		if compute == nil || store == nil {
			continue // foreign already
		}
		store.stored = append(store.stored, f)
		parallel := g.tasks(f)
		for s := range n.Stages {
			g.stage(f, s, compute, parallel)
		}
	}
	g.inlined()
	g.sort(g.root)
	return g.root, g.foreign
}

type goalMaker struct {
	sp      *Space
	p       *played
	root    *written
	at      map[playedAt]*written // levels by the loop they end with; by is not used
	foreign []*Foreign
}

func (g *goalMaker) say(by int, format string, args ...any) {
	f := &Foreign{Reason: fmt.Sprintf(format, args...)}
	if by >= 0 {
		f.Directive = g.p.directives[by]
	}
	g.foreign = append(g.foreign, f)
}

func (g *goalMaker) level(at playedAt) *written {
	if at.stage == -1 {
		return g.root
	}
	return g.at[playedAt{stage: at.stage, loop: at.loop}]
}

// taskLoops is how many loops of a stage, outermost ones, are its tasks, 0 for
// none; by is the directive that makes a loop parallel that is none of them, -1 if
// there is none. Loops of a single iteration count where they are among them, and so do those
// of a reduction that the loop which the cores share is inside of.
func (sp *Space) taskLoops(p *played, stage int) (pos, by int) {
	st := &sp.stages[stage]
	whole := sp.root.bounds(st.fn).Loops(st.idx)
	loops := p.stages[stage]
	ended := false
	for k := range loops {
		l := &loops[len(loops)-1-k]
		single := len(l.parts) == 1 && whole[l.parts[0].loop].Extent() == 1
		switch {
		case l.kind == schedule.ParallelLoop && ended:
			return pos, l.by
		case l.kind == schedule.ParallelLoop:
			pos = k + 1
		case pos == 0 && st.shared >= 0 && l.parts[0].loop > st.shared:
			// Around the tasks, as for parallelLoops.
		case !single:
			ended = true
		case pos > 0 && !ended:
			pos = k + 1
		}
	}
	return pos, -1
}

// tasks says whether Func f is cut into tasks. One that is a single vector at root
// always is, into one, which no directive tells.
func (g *goalMaker) tasks(f int) bool {
	n := &g.sp.nodes[f]
	parallel := false
	for s := range n.Stages {
		for _, l := range g.p.stages[n.first+s] {
			if l.kind != schedule.ParallelLoop {
				continue
			}
			parallel = true
			switch {
			case g.sp.o.Parallelism == 1:
				g.say(l.by, "with a parallelism of 1 the space has no parallel loops")
				return false
			case g.p.compute[f].stage >= 0:
				g.say(l.by, "only Funcs at root have parallel loops in the space")
				return false
			}
		}
	}
	if parallel || g.sp.o.Parallelism == 1 || n.dims == 0 || n.Extern || g.p.compute[f].stage >= 0 {
		return parallel
	}
	for i, l := range g.sp.root.bounds(f).Loops(0) {
		lanes := int64(1)
		if loops := g.p.stages[n.first]; len(loops) > 0 && loops[0].kind == schedule.VectorizedLoop && loops[0].parts[0].loop == i {
			lanes = g.sp.Lanes(f, 0, n.Stages[0].Loops[i].PureDim)
		}
		if l.Extent() > lanes {
			return false
		}
	}
	return true
}

// stage adds the levels of a stage of f inside the level in.
func (g *goalMaker) stage(f, s int, in *written, parallel bool) {
	st := &g.sp.stages[g.sp.nodes[f].first+s]
	number := g.sp.nodes[f].first + s
	vector, loops := g.vectorOf(st, g.p.stages[number])
	var ends []int // how many loops are outside of the end of a level
	for k := range g.sp.nodes {
		for _, at := range []playedAt{g.p.compute[k], g.p.store[k]} {
			if at.stage == number && !g.p.inlines(g.sp, k) {
				ends = append(ends, len(loops)-at.loop)
			}
		}
	}
	tasks := 0
	if parallel {
		var by int
		if tasks, by = g.sp.taskLoops(g.p, number); by >= 0 {
			g.say(by, "parallel loops are outermost and together in the space")
		}
		ends = append(ends, tasks)
	}
	if vector >= 0 {
		ends = append(ends, len(loops)-1)
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	if parallel && vector >= 0 && tasks == len(loops)-1 {
		ends = append(ends, tasks) // around the vector, of one iteration
	}
	ends = append(ends, len(loops))
	top := &openStage{lanes: 1, vector: vector}
	if vector >= 0 {
		top.lanes = g.sp.Lanes(f, s, st.along[vector])
	}
	span := make([]int64, len(st.Loops))
	from := 0
	for k, end := range ends {
		l := &written{fn: f, stage: s, vectorLoop: -1, vectorDim: -2, parent: in, innermost: k == len(ends)-1, parallel: k == 0 && parallel}
		if l.innermost && vector >= 0 {
			l.vectorLoop = vector
		}
		var parts []part
		for j := from; j < end; j++ {
			parts = append(parts, g.parts(st, loops[len(loops)-1-j])...)
		}
		l.open = newOpenSizes(top, span, parts)
		span = l.open.cover
		if l.open.twice() && (k == 0 || !parallel || top.twice != nil) {
			g.say(-1, "%s: nothing is computed between two loops that one was split into, which the space then does not split", st.Name)
		} else if l.open.twice() {
			top.twice = l
		}
		in.children = append(in.children, l)
		at := playedAt{stage: number, loop: len(loops) - end}
		if g.at[at] == nil { // where two end with the same loop things are in the outer one
			g.at[at] = l
		}
		in, from = l, end
	}
}

// vectorOf is the loop of the stage that is vectorised, -1 for none, and the loops with the
// vector as the innermost: reductions that it is made around (see outerVector) belong to the
// level outside of it in a nest.
func (g *goalMaker) vectorOf(st *stage, loops []playedLoop) (vector int, ordered []playedLoop) {
	vector, ordered = -1, loops
	for k, l := range loops {
		if l.kind != schedule.VectorizedLoop {
			continue
		}
		part := l.parts[0]
		lanes := g.sp.Lanes(st.fn, st.idx, st.along[part.loop])
		switch {
		case len(l.parts) > 1 || slices.ContainsFunc(loops[:k], func(in playedLoop) bool { return !st.goesInside(in, part.loop) }):
			g.say(l.by, "vectors are innermost in the space")
		case st.VectorSize < 2:
			g.say(l.by, "%s has no vectors in the space", st.Name)
		case part.span != lanes || part.cover != 1:
			g.say(l.by, "vectors of %s have %d lanes in the space", st.Name, lanes)
		default:
			vector = part.loop
			ordered = slices.Concat(loops[k:k+1], loops[:k], loops[k+1:])
		}
	}
	return vector, ordered
}

// goesInside holds for a plain loop that a vector along another one is made around.
func (st *stage) goesInside(l playedLoop, vector int) bool {
	return st.outerVector(vector) && l.kind == schedule.SerialLoop && !slices.ContainsFunc(l.parts, func(p part) bool { return st.Loops[p.loop].Pure || p.loop > vector })
}

// parts are what a loop is made of, outermost first. Fused ones are one only where
// they are parallel, which is the same as all of them being so.
func (g *goalMaker) parts(st *stage, l playedLoop) []part {
	if len(l.parts) > 1 && l.kind != schedule.ParallelLoop {
		g.say(-1, "%s: only parallel loops are fused in the space, not %s", st.Name, l.name)
	}
	out := slices.Clone(l.parts)
	slices.Reverse(out)
	return out
}

// inlined notes in every innermost level how often each Func that is nowhere
// computed is called there.
func (g *goalMaker) inlined() {
	var visit func(l *written)
	visit = func(l *written) {
		if l.innermost {
			number := g.sp.nodes[l.fn].first + l.stage
			for f := range g.sp.nodes {
				if g.sp.nodes[f].given || !g.p.inlines(g.sp, f) {
					continue
				}
				if calls, _ := g.sp.callsIn(number, l.inlined, &g.sp.nodes[f]); calls > 0 {
					l.inlined = append(l.inlined, Inlined{Func: f, Calls: calls})
				}
			}
		}
		for _, c := range l.children {
			visit(c)
		}
	}
	visit(g.root)
}

// sort puts what is inside a level in order of execution: producers first, and the
// stages of a Func in order.
func (g *goalMaker) sort(l *written) {
	slices.SortStableFunc(l.children, func(a, b *written) int {
		return cmp.Or(cmp.Compare(b.fn, a.fn), cmp.Compare(a.stage, b.stage))
	})
	for _, c := range l.children {
		g.sort(c)
	}
}

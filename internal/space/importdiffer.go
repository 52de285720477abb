package space

import (
	"cmp"
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/schedule"
)

// differences lists, in the order of its directives, what one schedule says that
// another does not, then what the other says besides: tail strategies and store_in
// aside, and, of a stage whose tails differ, what is unrolled, which depends on
// them.
func (sp *Space) differences(p, other *played) []*Foreign {
	var out []*Foreign
	for _, d := range sp.lacks(p, other) {
		out = append(out, &Foreign{d, "the space says otherwise"})
	}
	for _, d := range sp.lacks(other, p) {
		if missing := d.String(); !slices.ContainsFunc(out, func(f *Foreign) bool { return f.Directive.String() == missing }) {
			out = append(out, &Foreign{Reason: "the space would also say " + missing})
		}
	}
	return out
}

// lacks lists the directives of p that do not hold of other.
func (sp *Space) lacks(p, other *played) []schedule.Directive {
	var out []schedule.Directive
	for i, d := range p.directives {
		f := sp.funcNamed(d.Func)
		if !sp.holds(p, other, i, f) {
			out = append(out, d)
		}
	}
	return out
}

// holds reports whether directive i of p, which is of Func f, holds of other.
func (sp *Space) holds(p, other *played, i, f int) bool {
	d := p.directives[i]
	n := &sp.nodes[f]
	if d.Op == schedule.Reorder && (n.given || p.inlines(sp, f)) {
		return true // of loops that are not there
	}
	if n.given || d.Op != schedule.ComputeInline && other.inlines(sp, f) {
		return false
	}
	st := n.first + d.Stage
	switch d.Op {
	case schedule.ComputeInline:
		return other.inlines(sp, f) || p.compute[f].by >= 0
	case schedule.ComputeRoot, schedule.ComputeAt:
		return p.compute[f].by != i || sp.samePlace(p, other, p.compute[f], other.compute[f])
	case schedule.StoreRoot, schedule.StoreAt:
		return p.store[f].by != i || sp.samePlace(p, other, p.store[f], other.store[f])
	case schedule.ReorderStorage:
		return storageOrder(n, p.storage[f]) == storageOrder(n, other.storage[f])
	case schedule.Split:
		return slices.Equal(p.cuts(st), other.cuts(st))
	case schedule.Reorder:
		pure := !p.sameTails(other, st)
		return slices.Equal(sp.order(p, st, pure), sp.order(other, st, pure))
	case schedule.Parallel, schedule.Vectorize, schedule.Unroll:
		kind := map[schedule.Op]schedule.LoopKind{schedule.Parallel: schedule.ParallelLoop,
			schedule.Vectorize: schedule.VectorizedLoop, schedule.Unroll: schedule.UnrolledLoop}[d.Op]
		at := slices.IndexFunc(p.stages[st], func(l playedLoop) bool { return l.by == i })
		if at < 0 || d.Op == schedule.Unroll && !p.sameTails(other, st) {
			return true
		}
		return p.stages[st][at].kindHolds(other.stages[st], kind)
	case schedule.AllowRaceConditions:
		return slices.ContainsFunc(other.directives, func(o schedule.Directive) bool { return o.String() == d.String() })
	}
	return true
}

// samePlace compares places by the stage and by what one iteration covers.
func (sp *Space) samePlace(p, other *played, a, b playedAt) bool {
	if a.stage < 0 || b.stage < 0 {
		return a.stage == b.stage
	}
	return sp.covered(p, a).Equal(sp.covered(other, b))
}

func storageOrder(n *node, order string) string {
	if order == "" {
		return strings.Join(n.Args, " ")
	}
	return order
}

// cuts lists what the parts of a stage's loops cover, loop by loop.
func (p *played) cuts(st int) []part {
	var out []part
	for _, l := range p.stages[st] {
		for _, part := range l.parts {
			part.span = 0
			out = append(out, part)
		}
	}
	slices.SortFunc(out, func(a, b part) int { return cmp.Or(cmp.Compare(a.loop, b.loop), cmp.Compare(a.cover, b.cover)) })
	return out
}

// sameTails compares the tail strategies of a stage's splits.
func (p *played) sameTails(other *played, stage int) bool {
	a, b := slices.Sorted(slices.Values(p.tails[stage])), slices.Sorted(slices.Values(other.tails[stage]))
	return slices.Equal(a, b)
}

// order lists the parts of a stage's loops, innermost first, those of loops with
// only one iteration left out, or also those of reductions: where loops are
// unrolled reductions are outside them.
func (sp *Space) order(p *played, stage int, pure bool) []part {
	st := &sp.stages[stage]
	whole := sp.root.bounds(st.fn).Loops(st.idx)
	var out []part
	for _, l := range p.stages[stage] {
		for _, part := range l.parts {
			if part.span = 0; whole[part.loop].Extent() > 1 && (!pure || st.Loops[part.loop].Pure) {
				out = append(out, part)
			}
		}
	}
	return out
}

// kindHolds holds where all parts of a loop are of that kind.
func (l playedLoop) kindHolds(others []playedLoop, kind schedule.LoopKind) bool {
	for _, of := range l.parts {
		at := slices.IndexFunc(others, func(o playedLoop) bool {
			return o.kind == kind && slices.ContainsFunc(o.parts, func(q part) bool { return q.loop == of.loop && q.cover == of.cover })
		})
		if at < 0 {
			return false
		}
	}
	return true
}

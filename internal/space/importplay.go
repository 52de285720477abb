package space

import (
	"fmt"
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/schedule"
)

// Foreign is something that a schedule says and the space cannot.
type Foreign struct {
	// Directive is what says it; its Op is empty where nothing of the schedule does,
	// but the space would say more than the schedule.
	Directive schedule.Directive
	// Reason says what the space has instead.
	Reason string
}

func (f *Foreign) Error() string {
	if f.Directive.Op == "" {
		return f.Reason
	}
	return fmt.Sprintf("%s: %s", f.Directive, f.Reason)
}

// part is what splits left of one loop of a stage.
type part struct {
	loop  int
	cover int64 // iterations of the loop that one of the part's stands for
	span  int64 // and all of them together; 0 for the whole loop
}

// playedLoop is a loop that a schedule leaves: some part of a loop of its stage, or
// several that were fused, innermost first.
type playedLoop struct {
	name  string
	parts []part
	kind  schedule.LoopKind
	by    int // the directive that gave it its kind, -1 for none
}

// played is a schedule played on the loops that the description has.
type played struct {
	directives []schedule.Directive
	stages     [][]playedLoop // innermost first, by number of the stage
	tails      [][]string     // per stage, of all its splits
	compute    []playedAt     // by Func
	store      []playedAt
	storage    []string  // by Func, dimensions in the order of storage; empty as they are
	readers    [][][]int // by Func, see there
	stack      []bool    // by Func, stored on the stack
}

// playedAt is a place that a directive names.
type playedAt struct {
	by    int // the directive, -1 for none
	stage int // number of the stage, -1 for root
	loop  int // in the stage's loops; their number for the place outside of all
}

// binding ties schedules to all Funcs of the description, those included that the
// structural directives made.
func (sp *Space) binding() schedule.Binding {
	var b schedule.Binding
	for i := range sp.nodes {
		b.Funcs = append(b.Funcs, sp.nodes[i].Binding())
	}
	return b
}

// play plays a schedule and lists what no state says, whatever else is said. The
// error is of a schedule that is not one of this pipeline at all, or not of its
// structure.
func (sp *Space) play(s schedule.Schedule) (*played, []*Foreign, error) {
	head := sp.head.Directives
	rest := s.Directives
	for i, d := range head {
		if i >= len(rest) || rest[i].String() != d.String() {
			return nil, nil, fmt.Errorf("space: import of a schedule: it does not begin with %s, after which the pipeline was described", d)
		}
	}
	rest = rest[len(head):]
	for _, d := range rest {
		if d.As != "" {
			return nil, nil, fmt.Errorf("space: import of a schedule: %s makes a Func: describe the pipeline after it", d)
		}
	}
	if err := (schedule.Schedule{Directives: rest}).Check(sp.binding()); err != nil {
		return nil, nil, fmt.Errorf("space: import of a schedule: %w", err)
	}
	p := &played{directives: rest, stages: make([][]playedLoop, len(sp.stages)), tails: make([][]string, len(sp.stages)),
		compute: make([]playedAt, len(sp.nodes)), store: make([]playedAt, len(sp.nodes)), storage: make([]string, len(sp.nodes)), readers: make([][][]int, len(sp.nodes)), stack: make([]bool, len(sp.nodes))}
	for i := range sp.stages {
		for l, loop := range sp.stages[i].Loops {
			p.stages[i] = append(p.stages[i], playedLoop{name: loop.Var, parts: []part{{loop: l, cover: 1}}, kind: schedule.SerialLoop, by: -1})
		}
	}
	for f := range sp.nodes {
		p.compute[f], p.store[f] = playedAt{by: -1, stage: -1}, playedAt{by: -1, stage: -1}
	}
	var foreign []*Foreign
	for i, d := range rest {
		if why := sp.playOne(p, i, d); why != "" {
			foreign = append(foreign, &Foreign{d, why})
		}
	}
	for f := range sp.nodes {
		for _, at := range []*playedAt{&p.compute[f], &p.store[f]} {
			if at.by < 0 || rest[at.by].At == nil {
				continue
			}
			if why := sp.findPlace(p, f, at); why != "" {
				foreign = append(foreign, &Foreign{rest[at.by], why})
			}
		}
		if p.store[f].by < 0 {
			p.store[f] = p.compute[f]
		}
	}
	return p, foreign, nil
}

// playOne plays one directive and says why the space cannot say it, if so.
func (sp *Space) playOne(p *played, i int, d schedule.Directive) string {
	f := sp.funcNamed(d.Func)
	n := &sp.nodes[f]
	if n.given && d.Op == schedule.Reorder {
		return "" // of loops that are not there
	}
	if n.given {
		return "inputs, and Funcs that nothing reads, are not scheduled"
	}
	st := n.first + d.Stage
	loops := p.stages[st]
	find := func(name string) int {
		return slices.IndexFunc(loops, func(l playedLoop) bool { return l.name == name || strings.HasSuffix(l.name, "."+name) })
	}
	switch d.Op {
	case schedule.ComputeRoot, schedule.ComputeAt:
		p.compute[f].by = i
	case schedule.ComputeInline:
		p.compute[f].by = -1
	case schedule.StoreRoot, schedule.StoreAt:
		p.store[f].by = i
	case schedule.StoreIn:
		if d.Word != "stack" && d.Word != "auto" {
			return "only the stack and the heap are stored in"
		}
		p.stack[f] = d.Word == "stack"
	case schedule.ReorderStorage:
		p.storage[f] = strings.Join(d.Vars, " ")
	case schedule.Split:
		at := find(d.Vars[0])
		old := loops[at]
		if len(old.parts) != 1 {
			return "loops that were fused are not split again"
		}
		outer, inner := old, old
		out, in := old.parts[0], old.parts[0]
		outer.name, inner.name = d.New[0], d.New[1]
		in.span = min(d.Ints[0]*in.cover, farthest)
		out.cover = in.span
		outer.parts, inner.parts = onePart(out), onePart(in)
		loops[at] = outer
		p.stages[st] = slices.Insert(loops, at, inner)
		p.tails[st] = append(p.tails[st], fmt.Sprint(out, d.Word))
	case schedule.Fuse:
		inner, outer := find(d.Vars[0]), find(d.Vars[1])
		loops[inner].parts = append(slices.Clone(loops[inner].parts), loops[outer].parts...)
		loops[inner].name = d.New[0]
		p.stages[st] = slices.Delete(loops, outer, outer+1)
	case schedule.Reorder:
		var at []int
		for _, v := range d.Vars {
			at = append(at, find(v))
		}
		places, before := slices.Sorted(slices.Values(at)), slices.Clone(loops)
		for k, to := range places {
			loops[to] = before[at[k]]
		}
	case schedule.Rename:
		loops[find(d.Vars[0])].name = d.New[0]
	case schedule.Serial, schedule.Parallel, schedule.Vectorize, schedule.Unroll:
		l := &loops[find(d.Vars[0])]
		l.kind = map[schedule.Op]schedule.LoopKind{schedule.Serial: schedule.SerialLoop, schedule.Parallel: schedule.ParallelLoop,
			schedule.Vectorize: schedule.VectorizedLoop, schedule.Unroll: schedule.UnrolledLoop}[d.Op]
		l.by = i
	case schedule.AllowRaceConditions:
		if !sp.stages[st].mayRace() {
			return "all loops that are vectors or tasks in the space are independent for Halide"
		}
	default:
		return "the space has nothing like it"
	}
	return ""
}

// mayRace holds where a reduction loop can be a vector or tasks without Halide's proof.
func (st *stage) mayRace() bool {
	for i, l := range st.Loops {
		if !l.Pure && st.along[i] >= 0 {
			return true
		}
	}
	return false
}

func onePart(p part) []part { return []part{p} }

// findPlace finds the loop that compute_at or store_at of f names among those that
// all directives leave. Halide looks for it in any stage of the Func named; here it
// is in the one that reads f.
func (sp *Space) findPlace(p *played, f int, at *playedAt) string {
	d := p.directives[at.by]
	owner := sp.funcNamed(d.At.Func)
	at.stage = -2
	for _, path := range sp.readers(p, f) {
		k := slices.IndexFunc(path, func(st int) bool { return sp.stages[st].fn == owner })
		switch {
		case k < 0:
			return fmt.Sprintf("%s is also read outside of the loops of %s", sp.nodes[f].Name, d.At.Func)
		case at.stage >= 0 && at.stage != path[k]:
			return fmt.Sprintf("two stages of %s read %s, which then is computed outside of both", d.At.Func, sp.nodes[f].Name)
		}
		at.stage = path[k]
	}
	if at.stage < 0 {
		return "nothing reads " + sp.nodes[f].Name
	}
	loops := p.stages[at.stage]
	at.loop = len(loops)
	if d.At.Loop == outermost {
		return ""
	}
	at.loop = slices.IndexFunc(loops, func(l playedLoop) bool {
		return l.name == d.At.Loop || strings.HasSuffix(l.name, "."+d.At.Loop)
	})
	if at.loop < 0 || d.At.Stage != schedule.AnyStage && d.At.Stage != sp.stages[at.stage].idx {
		stage := sp.stages[at.stage].Name
		at.stage = -2
		return fmt.Sprintf("%s, which reads %s, has no such loop", stage, sp.nodes[f].Name)
	}
	return ""
}

// readers lists, for everything that reads f, the stages around it: its own first,
// outermost last. Consumers must have their places already.
func (sp *Space) readers(p *played, f int) [][]int {
	if p.readers[f] != nil {
		return p.readers[f]
	}
	var out [][]int
	for _, c := range sp.nodes[f].consumers {
		if p.inlines(sp, c.fn) {
			out = append(out, sp.readers(p, c.fn)...)
			continue
		}
		stages := []int{c.stage}
		for fn := c.fn; p.compute[fn].stage >= 0; fn = sp.stages[p.compute[fn].stage].fn {
			stages = append(stages, p.compute[fn].stage)
		}
		out = append(out, stages)
	}
	slices.SortFunc(out, slices.Compare)
	p.readers[f] = slices.CompactFunc(out, slices.Equal)
	return p.readers[f]
}

// inlines holds for Funcs that no directive computes anywhere.
func (p *played) inlines(sp *Space, f int) bool {
	return p.compute[f].by < 0 && !sp.nodes[f].Output
}

package space

import (
	"fmt"
	"slices"

	"github.com/protuner/protuner/internal/schedule"
)

// ImportSchedule makes a state of a schedule given as directives: State.Schedule's
// own, those of a .schedule.h that Halide's Adams2019 wrote, or others. The state's
// Schedule says the same, tail strategies and places of storage (store_in) aside:
// these follow from a loop nest by rules of ours, which are not Adams2019's.
// docs/import.md says what directives leave open of a loop nest.
//
// A *Foreign error names the first directive that no state says. Others are of a
// schedule that is not one of this pipeline. The state may break the limits of the
// space and have tile sizes that the space would not try: a strict Replay of its
// Trace tells.
func (sp *Space) ImportSchedule(s schedule.Schedule) (*State, error) {
	all, err := sp.ImportReadings(s, 1)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// ImportReadings makes all states, at most so many, that ImportSchedule could have
// made: different loop nests with the same Schedule, the one ImportSchedule takes
// first. Of one with a version for one box it is what that was made of.
func (sp *Space) ImportReadings(s schedule.Schedule, most int) ([]*State, error) {
	p, foreign, err := sp.play(s.General())
	if err != nil {
		return nil, err
	}
	goal, more := sp.goalOf(p)
	if foreign = append(foreign, more...); len(foreign) > 0 {
		return nil, fmt.Errorf("space: import of a schedule: %w", foreign[0])
	}
	r := reader{sp: sp, p: p, goal: goal, most: most}
	for _, plain := range []bool{false, true} {
		if r.read(plain); len(r.found) > 0 {
			return r.found, nil
		}
	}
	if len(r.stored) > 0 {
		return r.stored[:min(most, len(r.stored))], nil
	}
	why := sp.stuck(p, r.furthest/2)
	if r.differs != nil {
		why = r.differs[0]
	}
	return nil, fmt.Errorf("space: import of a schedule: %w", why)
}

// reader collects states that are a schedule's.
type reader struct {
	sp       *Space
	p        *played
	goal     *written
	most     int
	found    []*State
	stored   []*State   // others, which store in other places: that depends on how many levels there are
	differs  []*Foreign // of the complete state that came nearest
	furthest int        // decision
}

// read looks for states until there are enough.
func (r *reader) read(plain bool) {
	im := r.sp.newImporter(r.goal)
	im.plain, im.limit = plain, maxReadingSteps
	ends := 0
	im.accept = func(end *State) bool {
		if slices.ContainsFunc(r.found, func(s *State) bool { return s.Key() == end.Key() }) {
			return false
		}
		again, _, err := r.sp.play(end.Schedule())
		if ends++; ends == maxReadingEnds {
			im.steps = im.limit
		}
		if err != nil {
			return false
		}
		if d := r.sp.differences(r.p, again); len(d) > 0 {
			if r.differs == nil || len(d) < len(r.differs) {
				r.differs = d
			}
			return false
		}
		if !slices.Equal(r.p.stack, again.stack) {
			r.stored = append(r.stored, end)
			return false
		}
		r.found = append(r.found, end)
		return len(r.found) == r.most
	}
	im.follow(r.sp.start, nil)
	r.furthest = max(r.furthest, im.furthest)
}

// maxReadingEnds bounds how many complete states are compared with a schedule, and
// maxReadingSteps the decisions tried. What directives leave open is nearly always
// read right the first time, in as many steps as there are decisions.
const (
	maxReadingEnds  = 64
	maxReadingSteps = 5000
)

// stuck is what to say where no decision about Func f is like the schedule's.
func (sp *Space) stuck(p *played, f int) *Foreign {
	n := &sp.nodes[f]
	at := p.compute[f]
	if at.by < 0 {
		return &Foreign{Reason: n.Name + " has no compute_root or compute_at, and cannot be inlined"}
	}
	d := p.directives[at.by]
	if d.At == nil {
		return &Foreign{d, "the space has no loops of " + n.Name + " at root like these: one loop a dimension and level, vectors innermost, tasks outermost"}
	}
	return &Foreign{d, fmt.Sprintf("the space does not compute %s there, with the loops of %s cut like these", n.Name, d.At.Func)}
}

// Near is a schedule compared with the space.
type Near struct {
	// State is the schedule's own where Exact, otherwise the nearest that is legal.
	State *State
	Exact bool
	// Foreign lists the directives that the state's schedule has not, and what it
	// says besides. Empty if Exact.
	Foreign []*Foreign
}

// NearSchedule finds the state nearest to a schedule: its own, if that is one that
// decisions within all limits lead to, otherwise what Replay makes of the places at
// which the schedule computes and stores. It is an error where the schedule is not
// one of this pipeline.
func (sp *Space) NearSchedule(s schedule.Schedule) (Near, error) {
	p, foreign, err := sp.play(s.General())
	if err != nil {
		return Near{}, err
	}
	trace := sp.decisions(p)
	if all, err := sp.ImportReadings(s, maxNearReadings); err == nil {
		trace = all[0].Trace()
		for _, read := range all {
			if again, _, err := sp.Replay(read.Trace(), Strict); err == nil && again.String() == read.String() {
				return Near{State: again, Exact: true}, nil
			}
		}
	}
	near, repaired, err := sp.Replay(trace, Inward)
	if err != nil {
		return Near{}, err
	}
	again, _, err := sp.play(near.Schedule())
	if err != nil {
		return Near{}, err
	}
	_, more := sp.goalOf(p)
	foreign = append(foreign, more...)
	for _, d := range sp.differences(p, again) {
		if d.Directive.Op == "" && len(foreign) > 0 {
			break // what is said instead
		}
		if !slices.ContainsFunc(foreign, func(f *Foreign) bool { return f.Directive.String() == d.Directive.String() }) {
			foreign = append(foreign, d)
		}
	}
	if len(foreign) == 0 {
		for _, f := range repaired {
			foreign = append(foreign, &Foreign{Reason: "the decisions about " + sp.nodes[f].Name + " break a limit of the space, or its tile sizes are none that the space tries"})
		}
	}
	return Near{State: near, Foreign: foreign}, nil
}

// maxNearReadings is how many loop nests with the directives asked for are tried for
// one that the space has.
const maxNearReadings = 8

// decisions reads off a schedule what it decides about each Func.
func (sp *Space) decisions(p *played) []Decision {
	var out []Decision
	for f := range sp.nodes {
		n := &sp.nodes[f]
		if n.given {
			continue
		}
		if p.inlines(sp, f) {
			out = append(out, Decision{Func: f, Kind: Inline, Vector: -1})
			continue
		}
		d := Decision{Func: f, Kind: Compute, Vector: n.vectorDims[0], Compute: sp.covered(p, p.compute[f]), Store: sp.covered(p, p.store[f])}
		if loops := p.stages[n.first]; len(loops) > 0 && loops[0].kind == schedule.VectorizedLoop {
			if dim := n.Stages[0].Loops[loops[0].parts[0].loop].PureDim; dim >= 0 {
				d.Vector = dim
			}
		}
		out = append(out, d)
		if pos, _ := sp.taskLoops(p, n.first); pos > 0 {
			task := sp.covered(p, playedAt{stage: n.first, loop: len(p.stages[n.first]) - pos})
			out = append(out, Decision{Func: f, Kind: Tasks, Vector: -1, Task: task.Tile})
		}
	}
	return out
}

// covered is the place that a loop is, by what one of its iterations covers; of
// loops not split that is all the iterations at root.
func (sp *Space) covered(p *played, at playedAt) Place {
	if at.stage < 0 {
		return Root
	}
	st := &sp.stages[at.stage]
	place := Place{Func: st.fn, Stage: st.idx, Tile: make([]int64, len(st.Loops))}
	for i, l := range sp.root.bounds(st.fn).Loops(st.idx) {
		place.Tile[i] = l.Extent()
	}
	for _, l := range p.stages[at.stage][at.loop:] {
		for _, part := range l.parts {
			place.Tile[part.loop] = min(place.Tile[part.loop], part.cover)
		}
	}
	return place
}

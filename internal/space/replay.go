package space

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Repair says what Replay does with a decision that is not legal as it stands.
type Repair uint8

const (
	// Strict refuses it.
	Strict Repair = iota + 1
	// Nearest takes the legal one that comes nearest to it.
	Nearest
	// Inward is Nearest, but for a Func that may not be inlined: it is computed inside
	// the innermost loops that its consumers share and not at root. What is nearer to
	// inlining in a schedule that somebody wrote is no better to search from: with
	// changed traces an ensemble's best of nl_means is an eighth dearer.
	Inward
)

// ErrIllegal is returned by a strict replay.
var ErrIllegal = errors.New("decision is not legal here")

// Replay plays a trace, which may have been changed, from the start: each Func's
// decisions are looked up by Func and kind, so their order means nothing. Under
// Nearest a decision that is not legal gives way to the nearest that is (where it
// is computed counts before where it is stored, then tile sizes by ratio), and one
// that is missing to computing at root, or to the first choice of tasks; the state
// is always complete. Repaired lists the Funcs whose decisions were not
// taken as they stood. Under Strict both are errors, which wrap ErrIllegal, and a
// trace that stops leads to a partial state. Blocks, slices and what is said of vectors are
// taken as they are, but of what is inlined: where one cannot be, Schedule leaves it out.
// Sized is left out where it cannot be.
func (sp *Space) Replay(trace []Decision, repair Repair) (s *State, repaired []int, err error) {
	return sp.start.Replay(trace, repair)
}

// Replay plays a trace from a state on: what is decided there stays, whatever the
// trace says of it.
func (s *State) Replay(trace []Decision, repair Repair) (end *State, repaired []int, err error) {
	sp := s.sp
	type decisions struct{ place, tasks *Decision }
	var store [64]decisions
	wanted := append(store[:0], make([]decisions, len(sp.nodes))...) // by Func
	besides := false                                                 // something that is no action
	var blocks, vectors []Decision
	var slice *Decision
	sized := false
	for i := range trace {
		d := &trace[i]
		if d.Func < 0 || d.Func >= len(sp.nodes) {
			return nil, nil, fmt.Errorf("space: replay: there is no Func %d", d.Func)
		}
		switch d.Kind {
		case Inline, Compute:
			wanted[d.Func].place = d
		case Tasks:
			wanted[d.Func].tasks = d
		case Block:
			blocks, besides = put(blocks, d, func(d *Decision) int { return d.Dim }), true
		case Slice:
			slice, besides = &Decision{Func: d.Func, Kind: Slice, Dim: d.Dim}, true
		case Sized:
			_, sized = sp.Sizable()
			besides = true
		default:
			if !d.Kind.OfVectors() {
				return nil, nil, fmt.Errorf("space: replay: %s is nothing to decide", d.Kind)
			}
			vectors, besides = put(vectors, d, func(d *Decision) int { return int(d.Kind) }), true
		}
	}
	for !s.Complete() {
		f, kind := s.Deciding()
		want := wanted[f].place
		if kind == Tasks {
			want = wanted[f].tasks
		}
		if want == nil && repair == Strict {
			return s, nil, nil
		}
		next, ok := s.follow(want, f, kind, repair)
		if !ok {
			if repair == Strict {
				return nil, nil, fmt.Errorf("space: replay: %s of %s: %w", want.Kind, sp.nodes[f].Name, ErrIllegal)
			}
			if want != nil && (len(repaired) == 0 || repaired[len(repaired)-1] != f) {
				repaired = append(repaired, f)
			}
		}
		s = next
	}
	if besides {
		// Of what is inlined nothing is left that these could change.
		inlined := func(d Decision) bool { return !s.root.computes(d.Func) }
		blocks, vectors = slices.DeleteFunc(blocks, inlined), slices.DeleteFunc(vectors, inlined)
		s = s.with(blocks, vectors, slice, sized)
	}
	return s, repaired, nil
}

// Decided is the complete state that decisions as text (FormatTrace) lead to, each of them
// taken as it stands; nil where they lead to none, as those of another space.
func (sp *Space) Decided(text string) *State {
	trace, err := sp.ParseTrace(text)
	if err != nil {
		return nil
	}
	s, _, err := sp.Replay(trace, Strict)
	if err != nil || !s.Complete() {
		return nil
	}
	return s
}

// put inserts d where it belongs by Func and key, in the place of one that has these.
func put(into []Decision, d *Decision, key func(*Decision) int) []Decision {
	at, found := slices.BinarySearchFunc(into, d, func(b Decision, d *Decision) int {
		return cmp.Or(cmp.Compare(b.Func, d.Func), cmp.Compare(key(&b), key(d)))
	})
	if found {
		into[at] = *d
		return into
	}
	return slices.Insert(into, at, *d)
}

// Shared is the last state on the way from base to s that a replay of trace from base
// may begin at instead, for the trace says of all that is decided until there what s
// does. It is base where s is not below it.
func (s *State) Shared(base *State, trace []Decision) *State {
	if s == base || s.parent == nil {
		return base
	}
	var steps [128]*State
	way := steps[:0]
	// The last step is never shared: with it what s has besides its actions would be.
	for t := s.parent; t != base; t = t.parent {
		if t.parent == nil {
			return base
		}
		way = append(way, t)
	}
	var store [128]*Decision
	wanted := append(store[:0], make([]*Decision, 2*len(s.sp.nodes))...) // by Func and kind
	slot := func(d *Decision) **Decision {
		if d.Kind == Tasks {
			return &wanted[2*d.Func+1]
		}
		return &wanted[2*d.Func]
	}
	for i := range trace {
		if trace[i].Kind <= Tasks {
			*slot(&trace[i]) = &trace[i]
		}
	}
	for _, t := range slices.Backward(way) {
		d := t.decision()
		if w := *slot(d); w == nil || !w.same(d) {
			return t.parent
		}
	}
	return s.parent
}

// same holds for decisions of one Func, read off actions, that mean the same.
func (d *Decision) same(e *Decision) bool {
	return d.Kind == e.Kind && d.Vector == e.Vector && d.Store.Equal(e.Store) && d.Compute.Equal(e.Compute) &&
		(d.Task == nil) == (e.Task == nil) && slices.Equal(d.Task, e.Task)
}

// follow takes the legal action nearest to want and says whether it is want
// itself. A nil want is to compute at root, or the first choice of tasks.
func (s *State) follow(want *Decision, f int, kind Kind, repair Repair) (*State, bool) {
	if kind == Tasks {
		return s.followTasks(want, f)
	}
	n := &s.sp.nodes[f]
	inline, can := s.inlining(f)
	only := can && n.onlyInline
	if want == nil {
		want = &Decision{Func: f, Kind: Compute, Vector: n.vectorDims[0], Store: Root, Compute: Root}
	}
	if only || can && want.Kind == Inline {
		return s.Next(inline), want.Kind == Inline
	}
	if want.Kind == Inline {
		instead := *want
		switch {
		case want.Compute.Tile != nil:
		case repair == Inward:
			instead = s.furthestIn(f)
		default:
			instead = Decision{Func: f, Vector: n.vectorDims[0], Store: Root, Compute: Root}
		}
		instead.Kind = Compute
		next, _ := s.nearest(&instead, f)
		return next, false
	}
	if want.exact != nil {
		if next, ok := s.again(want, f); ok {
			return next, true
		}
	}
	return s.nearest(want, f)
}

// furthestIn computes f inside the innermost loops that all of its consumers share, legal
// or not: what of all places is most like inlining it.
func (s *State) furthestIn(f int) Decision {
	p := s.placing(f)
	defer p.free()
	d := Decision{Func: f, Kind: Compute, Vector: s.sp.nodes[f].vectorDims[0], Store: Root, Compute: Root}
	if last := p.path[len(p.path)-1]; !last.IsRoot() {
		d.Store = Place{Func: last.Func, Stage: last.Stage, Tile: last.appendCover(nil)}
		d.Compute = d.Store
	}
	return d
}

// again takes the very action that want was read off, if it is one of this
// state's actions and still means what it meant.
func (s *State) again(want *Decision, f int) (*State, bool) {
	a := *want.exact
	p := s.placing(f)
	defer p.free()
	if !p.offers(&a) {
		return nil, false
	}
	store, compute := p.places.places(p.path, &a)
	if !store.Equal(want.Store) || !compute.Equal(want.Compute) || !p.legal(&a) {
		return nil, false
	}
	return s.Next(a), true
}

// offers reports whether a is a member of the families, the limits aside.
func (p *placing) offers(a *Action) bool {
	sp := p.s.sp
	if a.Level >= len(p.path) || !slices.Contains(sp.nodes[p.f].vectorDims, a.Vector) || a.Slide && !p.slides() {
		return false
	}
	switch {
	case a.Tile != nil:
		if l := p.path[a.Level]; !p.cuts(a.Level) || !p.setOf(a.Level).holds(a.Tile) || !sp.allows(l, a.Tile) {
			return false
		}
		if !a.Slide || a.Inner == nil {
			return a.Inner == nil
		}
		p.halve(a)
		return p.half.holds(a.Inner)
	case !a.Slide:
		return a.Inner == nil && p.goesInto(a.Level, a.Vector)
	case !p.slidesIn(a.Level):
		return false
	case a.Inner == nil:
		return p.slidesInto(a.Level+1, a.Vector)
	}
	return contains(sp.slideSplits(p.path[a.Level+1]), a.Inner)
}

func (s *State) followTasks(want *Decision, f int) (*State, bool) {
	var best *taskOption
	least := 0.0
	var store [8]int64
	s.eachTask(f, func(o *taskOption) bool {
		d := 0.0
		if want != nil {
			d = farTask(o.task(store[:0]), want.Task)
		}
		if best == nil || d < least {
			best, least = o, d
		}
		return want != nil && least > 0
	})
	if best == nil {
		serial := Action{Kind: Tasks, Func: f, Vector: -1}
		return s.Next(serial), want == nil || want.Task == nil
	}
	return s.Next(s.cutInto(f, best)), least == 0
}

package search

import (
	"maps"
	"slices"

	"github.com/protuner/protuner/internal/space"
)

// plan is a trace opened for changing: what is intended for each Func. Whatever a
// plan says, Replay makes a legal state of it.
type plan struct {
	sp     *space.Space
	base   *space.State       // what it decides stays, whatever the plan says
	from   *space.State       // what the plan was opened from, nil for none
	place  []space.Decision   // by Func: Inline or Compute; Kind 0 where nothing is said
	tasks  []space.Decision   // by Func
	blocks [][]space.Decision // by Func
	// vectors are what is said of the vectors of Funcs: by Func, the Factor by Kind.
	vectors []map[space.Kind]int64
	slice   space.Decision // Kind 0 for none
	sized   bool           // where it can be
}

func newPlan(sp *space.Space) *plan {
	n := sp.Funcs()
	all := make([]space.Decision, 2*n)
	return &plan{sp: sp, base: sp.Start(), place: all[:n:n], tasks: all[n:], blocks: make([][]space.Decision, n), vectors: make([]map[space.Kind]int64, n)}
}

// planOf opens the trace of a state, for changing below base.
func planOf(base, s *space.State) *plan {
	p := newPlan(s.Space())
	p.base, p.from = base, s
	for _, d := range s.Trace() {
		switch d.Kind {
		case space.Inline, space.Compute:
			p.place[d.Func] = d
		case space.Tasks:
			p.tasks[d.Func] = d
		case space.Block:
			p.blocks[d.Func] = append(p.blocks[d.Func], d)
		case space.Slice:
			p.slice = d
		case space.Sized:
			p.sized = true
		default:
			if !d.Kind.OfVectors() {
				panic("search: a plan has no room for " + d.Kind.String())
			}
			p.say(d.Func, d.Kind, d.Factor)
		}
	}
	return p
}

// state is the legal state nearest to the plan.
func (p *plan) state() *space.State {
	trace := make([]space.Decision, 0, len(p.place)+len(p.tasks))
	for f := range p.place {
		if p.place[f].Kind != 0 {
			trace = append(trace, p.place[f])
		}
		if p.tasks[f].Kind != 0 {
			trace = append(trace, p.tasks[f])
		}
		if p.place[f].Kind == space.Compute {
			trace = append(trace, p.blocks[f]...)
			for kind, factor := range p.vectors[f] { // Replay sorts them
				trace = append(trace, space.Decision{Func: f, Kind: kind, Factor: factor})
			}
		}
	}
	if p.slice.Kind != 0 {
		trace = append(trace, p.slice)
	}
	if d, ok := p.sp.Sizable(); ok && p.sized {
		trace = append(trace, d)
	}
	begin := p.base
	if p.from != nil {
		begin = p.from.Shared(begin, trace)
	}
	s, _, err := begin.Replay(trace, space.Nearest)
	if err != nil {
		panic(err) // only a Func or a Kind that is not there, which a plan cannot name
	}
	return s
}

// say says something of the vectors of f. Other plans may have what was said before.
func (p *plan) say(f int, kind space.Kind, factor int64) {
	p.drop(f, kind)
	if p.vectors[f] == nil {
		p.vectors[f] = map[space.Kind]int64{}
	}
	p.vectors[f][kind] = factor
}

// drop takes back what say said.
func (p *plan) drop(f int, kind space.Kind) {
	p.vectors[f] = maps.Clone(p.vectors[f])
	delete(p.vectors[f], kind)
}

func (p *plan) inline(f int) { p.place[f] = space.Decision{Func: f, Kind: space.Inline} }

// preferInline inlines f if that is legal and leaves it where it was otherwise.
func (p *plan) preferInline(f int) { p.place[f].Kind = space.Inline }

// vector is the dimension f is vectorised over so far, or the preferred one.
func (p *plan) vector(f int) int {
	if d := p.place[f]; d.Kind == space.Compute {
		return d.Vector
	}
	return p.sp.AlongMemory(f)
}

// pointsAlong is how many points f has along its vectors, which it must have.
func (p *plan) pointsAlong(f int) int64 {
	return p.sp.Extents(f, 0)[p.sp.Pipeline().Funcs[f].Stages[0].PureLoop(p.vector(f))]
}

// at computes f at a place and stores it at another.
func (p *plan) at(f int, compute, store space.Place) {
	p.place[f] = space.Decision{Func: f, Kind: space.Compute, Vector: p.vector(f), Compute: compute, Store: store}
}

func (p *plan) root(f int) { p.at(f, space.Root, space.Root) }

// turn computes copies of inputs at root, each stored along the dimension that its readers'
// vectors move along, where that is not how the input lies. False where there are none.
func (p *plan) turn() bool { return p.storeAlong(p.sp.Turning) }

// storeAlong computes at root what has a dimension to be stored along, -1 being none, and
// stores it so. False where nothing has.
func (p *plan) storeAlong(dimension func(f int) int) bool {
	done := false
	for f := range p.place {
		if dim := dimension(f); dim >= 0 {
			p.root(f)
			p.place[f].Vector = dim
			done = true
		}
	}
	return done
}

// dot computes copies of inputs at root, each stored along what its readers add up several at
// once of, and has these add up as many as they can. False where there are none.
func (p *plan) dot() bool {
	if !p.storeAlong(p.sp.Dotted) {
		return false
	}
	p.sayMost(space.Dot, p.sp.Dots)
	return true
}

// tiled lists the stages that have tiles with others in them, or tasks.
func (p *plan) tiled() []space.Reader {
	var out []space.Reader
	add := func(q space.Place) {
		r := space.Reader{Func: q.Func, Stage: q.Stage}
		if q.Func >= 0 && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	for f, d := range p.place {
		if d.Kind == space.Compute {
			add(d.Compute)
			add(d.Store)
		}
		if p.tasks[f].Task != nil {
			add(space.Place{Func: f})
		}
	}
	return out
}

// cut says what a task of f should cover.
func (p *plan) cut(f int, task []int64) {
	p.tasks[f] = space.Decision{Func: f, Kind: space.Tasks, Task: task}
}

// rowsLoop is Space.RowsLoop with the vector planned.
func (p *plan) rowsLoop(f, stage int) (loop int, row int64, within int) {
	return p.sp.RowsLoop(f, stage, p.vector(f))
}

// strip is Space.Strip with the vector planned.
func (p *plan) strip(f, stage int, rows int64) (space.Place, bool) {
	return p.sp.Strip(f, stage, p.vector(f), rows)
}

// tile is the place where one iteration covers so many points of the vectorised
// loop and of the rows, where they are others, and one of every other pure loop. Few channels
// stay together, unless it is to be of single planes; more images do not. Where a row is of
// pixels of a few channels it covers that many of those together.
func (p *plan) tile(f, stage int, width, rows int64, planes bool) (space.Place, bool) {
	i, _, within := p.rowsLoop(f, stage)
	if i < 0 {
		return space.Root, false
	}
	st := &p.sp.Pipeline().Funcs[f].Stages[stage]
	tile := p.sp.Extents(f, stage)
	vector, channels := p.vector(f), int64(1)
	if within >= 0 {
		channels = tile[st.PureLoop(vector)]
	}
	for k := range tile {
		switch l := st.Loops[k]; {
		case l.PureDim >= 0 && l.PureDim == vector:
			tile[k] = min(width, tile[k])
		case k == i:
			tile[k] = min(rows, tile[k])
		case k == within:
			tile[k] = min(max(1, width/channels), tile[k])
		case l.Pure && !l.RVar && (planes || tile[k] > 16):
			tile[k] = 1
		}
	}
	return space.Place{Func: f, Stage: stage, Tile: tile}, true
}

package search

import (
	"fmt"

	"github.com/protuner/protuner/internal/space"
)

// Prototypes are the schedules that people would try first, made for this
// pipeline from nothing: everything inlined, everything at root, and, for the
// Funcs that feed one place alone, sliding windows over strips of rows and tiles,
// of several sizes; each of those with light Funcs inlined and not. Which are
// good depends on pipeline and machine: they are different enough that one of
// them is usually a good start. Equal ones are left out.
func Prototypes(sp *space.Space) []Candidate {
	var out []Candidate
	known := seen{}
	add := func(name string, p *plan) {
		c := newCandidate(p.state(), "prototype:"+name)
		if known.take(c) {
			out = append(out, c)
		}
	}
	// What compiles soon and cannot be very slow comes first: fusing fifty Funcs into one
	// nest of strips can take half a minute to compile.
	add("root-light", everyRoot(sp, true))
	add("root", everyRoot(sp, false))
	for _, rows := range []int64{32, 8, 128} {
		for _, light := range []bool{true, false} {
			add(fmt.Sprintf("strips-%d%s", rows, suffix(light)), grouped(sp, light, func(p *plan, f int, owner space.Reader) bool {
				row, ok := p.strip(owner.Func, owner.Stage, 1)
				strip, _ := p.strip(owner.Func, owner.Stage, rows)
				if ok {
					p.at(f, row, strip)
				}
				return ok
			}, rows))
		}
	}
	add("inline", everyInline(sp))
	add("inline-unshared", grouped(sp, true, func(p *plan, f int, _ space.Reader) bool {
		p.inline(f)
		return sp.CanInline(f)
	}, 0))
	for _, t := range [][2]int64{{128, 32}, {64, 8}, {256, 128}} {
		for _, light := range []bool{true, false} {
			add(fmt.Sprintf("tiles-%dx%d%s", t[0], t[1], suffix(light)), grouped(sp, light, func(p *plan, f int, owner space.Reader) bool {
				at, ok := p.tile(owner.Func, owner.Stage, t[0], t[1])
				if ok {
					p.at(f, at, at)
				}
				return ok
			}, t[1]))
		}
	}
	for _, rows := range []int64{4, 16, 64} {
		add(fmt.Sprintf("strips-%d-fused", rows), grouped(sp, true, func(p *plan, f int, owner space.Reader) bool {
			strip, ok := p.strip(owner.Func, owner.Stage, rows)
			if ok {
				p.at(f, strip, strip)
			}
			return ok
		}, rows))
	}
	return out
}

func suffix(light bool) string {
	if light {
		return "-light"
	}
	return ""
}

// isLight holds for Funcs that are usually best inlined: those that read each of
// their inputs at their own point only, and those called once, which inlining does
// not compute more often.
func isLight(sp *space.Space, f int) bool {
	fn := &sp.Pipeline().Funcs[f]
	return sp.CanInline(f) && (fn.Pointwise || fn.Wrapper || fn.BoundaryCondition || sp.Calls(f) == 1)
}

// grouped gives each Func that feeds a single stage's loops to that stage, its
// owner, by calling place; the others own themselves and go to root. Tasks of
// owners cover so many rows, where rows is not 0, and are cut evenly otherwise.
func grouped(sp *space.Space, light bool, place func(p *plan, f int, owner space.Reader) bool, rows int64) *plan {
	p := newPlan(sp)
	owners := make([]space.Reader, sp.Funcs())
	for f := range sp.Funcs() {
		if !sp.Scheduled(f) {
			continue
		}
		owner, shared := space.Reader{Func: f}, sp.OnlyRoot(f)
		for i, r := range sp.Readers(f) {
			o := r
			if owners[r.Func].Func != r.Func {
				o = owners[r.Func]
			}
			if i == 0 {
				owner = o
			}
			shared = shared || o != owner
		}
		if !shared && place(p, f, owner) {
			owners[f] = owner
			if light && isLight(sp, f) {
				p.preferInline(f)
			}
			continue
		}
		owners[f] = space.Reader{Func: f}
		p.root(f)
		p.even(f, rows)
		if light && isLight(sp, f) && !sp.OnlyRoot(f) {
			p.preferInline(f)
		}
	}
	return p
}

// even cuts f into tasks of so many rows, or into eight a core where rows is 0.
func (p *plan) even(f int, rows int64) {
	place, ok := p.strip(f, 0, max(rows, 1))
	if !ok {
		return
	}
	if rows == 0 {
		i := p.rowsLoop(f, 0)
		cores := int64(p.sp.Options().Parallelism)
		place.Tile[i] = max(1, p.sp.Extents(f, 0)[i]/(8*cores))
	}
	p.cut(f, place.Tile)
}

// everyInline inlines all that may be.
func everyInline(sp *space.Space) *plan {
	p := everyRoot(sp, false)
	for f := range sp.Funcs() {
		if sp.Scheduled(f) && sp.CanInline(f) {
			p.inline(f)
		}
	}
	return p
}

// everyRoot computes everything at root, light Funcs perhaps excepted.
func everyRoot(sp *space.Space, light bool) *plan {
	p := newPlan(sp)
	for f := range sp.Funcs() {
		switch {
		case !sp.Scheduled(f):
		default:
			p.root(f)
			p.even(f, 0)
			if light && isLight(sp, f) {
				p.preferInline(f)
			}
		}
	}
	return p
}

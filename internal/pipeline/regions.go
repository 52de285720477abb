package pipeline

import (
	"math"
	"slices"
)

// The three relations between regions (Adams et al. 2019, section 3.1), with the
// rules of Halide's Adams2019 for which extents stay constants of the compiled
// program. None of them allocates.

// EmptySpan is the span that Footprint widens first: it holds no point, and its
// union with another span is that span.
func EmptySpan() Span {
	return Span{Min: math.MaxInt64, Max: math.MinInt64, Constant: true}
}

// AsCompiled is p with nothing constant that parameters decide, of which Halide has no
// estimates when it compiles. Adams2019 takes those for constants; p and the result
// share all else.
func (p *Pipeline) AsCompiled() *Pipeline {
	out := *p
	out.Funcs = slices.Clone(p.Funcs)
	for f := range out.Funcs {
		fn := &out.Funcs[f]
		fn.Stages = slices.Clone(fn.Stages)
		for s := range fn.Stages {
			st := &fn.Stages[s]
			st.Loops, st.Edges = slices.Clone(st.Loops), slices.Clone(st.Edges)
			for i := range st.Loops {
				st.Loops[i].estimated = st.Loops[i].UsesParameter
			}
			for e := range st.Edges {
				st.Edges[e] = st.Edges[e].asCompiled()
			}
		}
	}
	return &out
}

// asCompiled is e with bounds that depend on estimates where parameters decide them.
func (e *Edge) asCompiled() Edge {
	out := *e
	out.Bounds = slices.Clone(e.Bounds)
	for d := range out.Bounds {
		for _, b := range []*Bound{&out.Bounds[d].Min, &out.Bounds[d].Max} {
			b.DependsOnEstimate = b.DependsOnEstimate || b.UsesParameter
		}
	}
	return out
}

// RegionComputed sets dst to the region computed of f where the given region is
// required. Both have one span a dimension and must not overlap.
func (f *Func) RegionComputed(required, dst []Span) {
	for d := range f.Computed {
		c := &f.Computed[d]
		switch {
		case c.EqualsRequired:
			dst[d] = required[d]
		case c.Union != nil:
			dst[d] = Span{Min: min(required[d].Min, c.Union[0]), Max: max(required[d].Max, c.Union[1])}
		default:
			dst[d] = Span{Min: c.Min.Eval(required), Max: c.Max.Eval(required)}
		}
	}
}

// LoopNest sets dst, one span a loop, innermost first, to the loops of s over the
// region computed of its Func.
func (s *Stage) LoopNest(computed, dst []Span) {
	for i := range s.Loops {
		l := &s.Loops[i]
		switch {
		case l.ComputedDim >= 0:
			dst[i] = computed[l.ComputedDim]
		case l.Const != nil:
			dst[i] = Span{Min: l.Const[0], Max: l.Const[1], Constant: !l.estimated}
		default:
			dst[i] = Span{Min: l.Min.Eval(computed), Max: l.Max.Eval(computed)}
		}
	}
}

// Footprint widens required, one span a dimension of the producer, by what the
// consumer reads in one run of the given loops. An extent stays constant only if
// both ends are affine, follow loops of constant extent, and no estimate entered.
func (e *Edge) Footprint(loops, required []Span) {
	for d := range e.Bounds {
		b := &e.Bounds[d]
		constant := true
		lo := b.Min.at(loops, &constant)
		hi := b.Max.at(loops, &constant)
		r := &required[d]
		r.Min = min(r.Min, lo)
		r.Max = max(r.Max, hi)
		r.Constant = r.Constant && constant
	}
}

func (b *Bound) at(loops []Span, constant *bool) int64 {
	if b.DependsOnEstimate {
		*constant = false
	}
	if b.Expr != nil {
		*constant = false
		return b.Expr.Eval(loops)
	}
	if b.Coeff == 0 {
		return b.Const
	}
	l := &loops[b.Dim]
	if !l.Constant {
		*constant = false
	}
	if b.UsesMax {
		return l.Max*b.Coeff + b.Const
	}
	return l.Min*b.Coeff + b.Const
}

// Reader is the place of one edge: Funcs[Func].Stages[Stage].Edges[Edge].
type Reader struct{ Func, Stage, Edge int }

// Readers lists, for every Func, the edges that lead to it: consumers in the
// order of Funcs, their stages and edges in order.
func (p *Pipeline) Readers() [][]Reader {
	out := make([][]Reader, len(p.Funcs))
	for i := range p.Funcs {
		for s := range p.Funcs[i].Stages {
			for e := range p.Funcs[i].Stages[s].Edges {
				to := p.Funcs[i].Stages[s].Edges[e].Producer
				out[to] = append(out[to], Reader{Func: i, Stage: s, Edge: e})
			}
		}
	}
	return out
}

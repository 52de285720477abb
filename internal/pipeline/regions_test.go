package pipeline

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

// regions holds what one Func needs where everything is computed at root.
type regions struct {
	required, computed []Span
	loops              [][]Span
}

// rootRegions follows the estimates of the outputs up to the inputs.
func rootRegions(p *Pipeline) []regions {
	readers := p.Readers()
	out := make([]regions, len(p.Funcs))
	for i := range p.Funcs {
		f := &p.Funcs[i]
		r := regions{required: make([]Span, len(f.Args)), computed: make([]Span, len(f.Args))}
		for d := range r.required {
			r.required[d] = EmptySpan()
			if f.Output {
				r.required[d] = f.Estimate[d]
			}
		}
		if !f.Output {
			for _, e := range readers[i] {
				p.Funcs[e.Func].Stages[e.Stage].Edges[e.Edge].Footprint(out[e.Func].loops[e.Stage], r.required)
			}
		}
		f.RegionComputed(r.required, r.computed)
		for s := range f.Stages {
			loops := make([]Span, len(f.Stages[s].Loops))
			f.Stages[s].LoopNest(r.computed, loops)
			r.loops = append(r.loops, loops)
		}
		out[i] = r
	}
	return out
}

// Every pipeline reads its inputs within their estimated extents, and no region
// is empty, unless the Func is inlined or an input read past a boundary.
func TestRootRegionsStayWithinEstimates(t *testing.T) {
	for name, b := range goldens(t) {
		p, err := Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		params := map[string]*Param{}
		for i := range p.Params {
			params[p.Params[i].Name] = &p.Params[i]
		}
		for i, r := range rootRegions(p) {
			f := &p.Funcs[i]
			if f.MustInline != "" {
				continue
			}
			for d, s := range r.computed {
				if s.Extent() < 1 {
					t.Errorf("%s: %s computes [%d, %d] of dimension %d", name, f.Name, s.Min, s.Max, d)
				}
				if q := params[f.Param]; q != nil && (s.Min < q.Mins[d] || s.Max >= q.Mins[d]+q.Extents[d]) {
					t.Errorf("%s: %s reads [%d, %d] of dimension %d, which has %d from %d",
						name, f.Name, s.Min, s.Max, d, q.Extents[d], q.Mins[d])
				}
			}
		}
	}
}

// Regions worked out by hand: a 3x3 stencil over a 3x3 stencil over the image.
func TestRootRegionsOfHarris(t *testing.T) {
	p := golden(t, "harris")
	want := map[string][]Span{
		"output":   {{Min: 3, Max: 1532}, {Min: 3, Max: 2556}},
		"grad_x":   {{Min: 2, Max: 1533}, {Min: 2, Max: 2557}},
		"luma":     {{Min: 1, Max: 1534}, {Min: 1, Max: 2558}},
		"input_im": {{Min: 1, Max: 1534}, {Min: 1, Max: 2558}, {Min: 0, Max: 2, Constant: true}},
	}
	for i, r := range rootRegions(p) {
		if w, ok := want[p.Funcs[i].Name]; ok {
			if !reflect.DeepEqual(r.computed, w) {
				t.Errorf("%s: %v, not %v", p.Funcs[i].Name, r.computed, w)
			}
			delete(want, p.Funcs[i].Name)
		}
	}
	if len(want) != 0 {
		t.Errorf("not in harris: %v", want)
	}
}

func expr(t testing.TB, s string) *Expr {
	t.Helper()
	e := new(Expr)
	if err := json.Unmarshal([]byte(s), e); err != nil {
		t.Fatal(err)
	}
	return e
}

// Which extents stay constant of the compiled program, form by form.
func TestConstancy(t *testing.T) {
	fixed, open := Span{Min: 2, Max: 5, Constant: true}, Span{Min: 2, Max: 5}
	f := Func{Computed: []Computed{
		{EqualsRequired: true}, {EqualsRequired: true}, {Union: &[2]int64{0, 3}},
		{Min: expr(t, `"min:0"`), Max: expr(t, `["+","max:1",1]`)},
	}}
	computed := make([]Span, 4)
	f.RegionComputed([]Span{fixed, open, fixed, fixed}, computed)
	if want := []Span{fixed, open, {Min: 0, Max: 5}, {Min: 2, Max: 6}}; !reflect.DeepEqual(computed, want) {
		t.Errorf("region computed %v, not %v", computed, want)
	}

	s := Stage{Loops: []Loop{
		{ComputedDim: 0}, {ComputedDim: 1}, {ComputedDim: -1, Const: &[2]int64{0, 7}},
		{ComputedDim: -1, Min: expr(t, `"min:0"`), Max: expr(t, `"max:0"`)},
	}}
	loops := make([]Span, 4)
	s.LoopNest(computed, loops)
	if want := []Span{fixed, open, {Min: 0, Max: 7, Constant: true}, {Min: 2, Max: 5}}; !reflect.DeepEqual(loops, want) {
		t.Errorf("loops %v, not %v", loops, want)
	}

	affine := func(dim int) Bounds {
		return Bounds{Min: Bound{Coeff: 2, Const: -1, Dim: dim}, Max: Bound{Coeff: 2, Const: 1, Dim: dim, UsesMax: true}}
	}
	estimated := affine(0)
	estimated.Max.DependsOnEstimate = true
	e := Edge{Bounds: []Bounds{
		affine(0), affine(1), {Max: Bound{Const: 9}}, estimated,
		{Min: Bound{Expr: expr(t, `["/","min:0",2]`)}, Max: Bound{Const: 9}},
	}}
	required := []Span{EmptySpan(), EmptySpan(), EmptySpan(), EmptySpan(), EmptySpan()}
	e.Footprint(loops, required)
	want := []Span{{Min: 3, Max: 11, Constant: true}, {Min: 3, Max: 11}, {Min: 0, Max: 9, Constant: true}, {Min: 3, Max: 11}, {Min: 1, Max: 9}}
	if !reflect.DeepEqual(required, want) {
		t.Errorf("required %v, not %v", required, want)
	}
	// A second reader widens, and one open reader opens.
	widened := []Span{{Min: 0, Max: 4, Constant: true}}
	(&Edge{Bounds: []Bounds{affine(1)}}).Footprint(loops, widened)
	if want := (Span{Min: 0, Max: 11}); widened[0] != want {
		t.Errorf("widened to %v, not %v", widened[0], want)
	}
}

// What a parameter decides is a constant to Adams2019 and none to Halide.
func TestAsCompiled(t *testing.T) {
	theirs := &Pipeline{Funcs: []Func{{Stages: []Stage{{
		Loops: []Loop{{ComputedDim: -1, Const: &[2]int64{0, 7}, UsesParameter: true}, {ComputedDim: -1, Const: &[2]int64{0, 2}}},
		Edges: []Edge{{Bounds: []Bounds{{Max: Bound{Const: 3, UsesParameter: true}}, {Max: Bound{Const: 3}}}}},
	}}}}}
	constant := func(p *Pipeline) []bool {
		st := &p.Funcs[0].Stages[0]
		loops, required := make([]Span, 2), []Span{EmptySpan(), EmptySpan()}
		st.LoopNest(nil, loops)
		st.Edges[0].Footprint(loops, required)
		return []bool{loops[0].Constant, loops[1].Constant, required[0].Constant, required[1].Constant}
	}
	if got := constant(theirs.AsCompiled()); !reflect.DeepEqual(got, []bool{false, true, false, true}) {
		t.Errorf("constant as compiled: %v", got)
	}
	if got := constant(theirs); !reflect.DeepEqual(got, []bool{true, true, true, true}) {
		t.Errorf("constant as estimated, once AsCompiled was asked for: %v", got)
	}
}

func TestEmptySpan(t *testing.T) {
	if e := EmptySpan(); e.Min != math.MaxInt64 || e.Max != math.MinInt64 || !e.Constant {
		t.Errorf("%v", e)
	}
}

// Funcs that can only be at root or inline say so, and why.
func TestRestrictedFuncs(t *testing.T) {
	for _, tt := range []struct{ golden, fn, root, inline string }{
		{"extern_stage", "outside", "extern function", ""},
		{"extern_stage", "before", "extern stage outside", ""},
		{"unbounded_root", "table", "without bounds", ""},
		{"unbounded_inline", "safe", "", "without bounds"},
		{"unbounded_inline", "prepared", "", ""},
		{"offset", "f", "", "without bounds"},
		{"offset", "input_im", "", ""},
		{"strict", "f", "", ""},
		{"unread", "pair", "", "without bounds"},
		{"unread", "used", "", ""},
		{"unread", "unused", "", "no stage needs"},
		{"unread", "before", "", "no stage needs"},
	} {
		p := golden(t, tt.golden)
		found := false
		for i := range p.Funcs {
			f := &p.Funcs[i]
			if f.Name != tt.fn {
				continue
			}
			found = true
			if !strings.Contains(f.MustRoot, tt.root) || (tt.root == "") != (f.MustRoot == "") {
				t.Errorf("%s: %s must be at root: %q", tt.golden, f.Name, f.MustRoot)
			}
			if !strings.Contains(f.MustInline, tt.inline) || (tt.inline == "") != (f.MustInline == "") {
				t.Errorf("%s: %s must be inline: %q", tt.golden, f.Name, f.MustInline)
			}
		}
		if !found {
			t.Errorf("%s: no %s", tt.golden, tt.fn)
		}
	}
}

func TestRegionsDoNotAllocate(t *testing.T) {
	for _, name := range []string{"harris", "gather"} {
		p := golden(t, name)
		root := rootRegions(p)
		if n := testing.AllocsPerRun(10, func() { follow(p, root) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// follow does again, in place, what rootRegions did.
func follow(p *Pipeline, root []regions) {
	for i := range p.Funcs {
		f := &p.Funcs[i]
		f.RegionComputed(root[i].required, root[i].computed)
		for s := range f.Stages {
			f.Stages[s].LoopNest(root[i].computed, root[i].loops[s])
			for e := range f.Stages[s].Edges {
				edge := &f.Stages[s].Edges[e]
				edge.Footprint(root[i].loops[s], root[edge.Producer].required)
			}
		}
	}
}

// BenchmarkRegions follows all regions of a pipeline once: camera_pipe and harris
// are affine throughout, gather is not.
func BenchmarkRegions(b *testing.B) {
	for _, name := range []string{"harris", "camera_pipe", "gather"} {
		b.Run(name, func(b *testing.B) {
			p := golden(b, name)
			root := rootRegions(p)
			b.ReportAllocs()
			for b.Loop() {
				follow(p, root)
			}
		})
	}
}

func BenchmarkExpr(b *testing.B) {
	e := expr(b, `["+",["cast","int32",["floor",["*",["cast","float32","max:0"],["const","float32","0.37"]]]],["min","max:1",1]]`)
	spans := []Span{{Min: 0, Max: 99}, {Min: 3, Max: 40}}
	b.ReportAllocs()
	for b.Loop() {
		e.Eval(spans)
	}
}

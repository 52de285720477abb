package pipeline

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// goldens are real descriptions by file name, e.g. harris.h21.json.
func goldens(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.h*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden descriptions: %v", err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = b
	}
	return out
}

func golden(t testing.TB, name string) *Pipeline {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".h21.json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Decode(b)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

// marshal writes as describe does, without escaping what HTML would need.
func marshal(t testing.TB, v any) []byte {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestGoldensRoundTrip(t *testing.T) {
	for name, b := range goldens(t) {
		p, err := Decode(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again := marshal(t, p)
		if !bytes.Equal(again, b) {
			t.Errorf("%s: marshals to\n%s", name, again)
		}
		q, err := Decode(again)
		if err != nil || !reflect.DeepEqual(p, q) {
			t.Errorf("%s: changed by a round trip: %v", name, err)
		}
	}
}

// The two versions of Halide describe one pipeline alike, its hash included.
func TestGoldensAgreeAcrossVersions(t *testing.T) {
	all := goldens(t)
	for name, b := range all {
		base, ok := strings.CutSuffix(name, ".h21.json")
		if !ok {
			continue
		}
		old, ok := all[base+".h19.json"]
		if !ok {
			t.Errorf("%s: no description by Halide 19", base)
			continue
		}
		old = bytes.Replace(old, []byte(`"halide":"19.0.0"`), []byte(`"halide":"21.0.0"`), 1)
		// rfactor was made anew in between: 21 keeps a split's guard as a predicate. And
		// strict floats are operations of their own there, in 19 a mark around others.
		if !bytes.Equal(old, b) && !slices.Contains([]string{"softmax_parts", "exposure_parts", "hist_parts", "strict"}, base) {
			t.Errorf("%s: Halide 19 and 21 describe it differently", base)
		}
	}
}

// Each corruption of a real description is refused with an error naming the place.
func TestDecodeRefuses(t *testing.T) {
	for _, tt := range []struct{ path, value, want string }{
		{"version", `2`, "version 2, not 1"},
		{"versoin", `1`, `unknown field "versoin"`},
		{"algorithm", `"xyz"`, "no hash of 16 hex digits"},
		{"funcs", `[]`, "no Funcs"},
		{"funcs.0.output", `false`, "first Func output is no output"},
		{"funcs.1.name", `"output"`, "empty or taken"},
		{"funcs.1.index", `70000`, "index 70000"},
		{"funcs.1.types", `[]`, "no types"},
		{"funcs.1.bytes_per_point", `0`, "0 bytes per point"},
		{"funcs.1.vector_size", `-4`, "vector size -4"},
		{"funcs.1.input", `true`, "an input that is computed from Funcs"},
		{"funcs.1.must_inline", `"because"`, "must be inlined, yet has an edge"},
		{"funcs.1.param", `"input"`, "no input buffer"},
		{"funcs.1.computed", `[]`, "0 regions computed for 2 dimensions"},
		{"funcs.1.computed.0", `{}`, "0 forms instead of one"},
		{"funcs.1.computed.0", `{"equals_required":true,"union":[0,1]}`, "2 forms instead of one"},
		{"funcs.1.computed.0", `{"min":1}`, "one end without the other"},
		{"funcs.1.computed.0", `{"min":"min:0","max":"max:2"}`, "beyond 2"},
		{"funcs.1.stages", `[]`, "no stages"},
		{"funcs.0.innermost_dims", `[2]`, "innermost dimension 2 of 2"},
		{"funcs.0.estimate", `[]`, "0 estimates for 2 dimensions"},
		{"funcs.0.estimate.0.max", `-1`, "estimated [3, -1]"},
		{"funcs.0.stages.0.vector_size", `0`, "vector size 0"},
		{"funcs.0.stages.0.features", `[1,2,3]`, "3 features, not 287"},
		{"funcs.0.stages.0.features.7", `-1`, "feature 7 is -1"},
		{"funcs.0.stages.0.features.7", `4294967296`, "cannot unmarshal"},
		{"funcs.0.stages.0.loops.1.var", `"x"`, "empty or taken"},
		{"funcs.0.stages.0.loops.0.pure_dim", `2`, "of 2"},
		{"funcs.0.stages.0.loops.0.computed_dim", `-1`, "0 forms instead of one"},
		{"funcs.0.stages.0.loops.0.computed_dim", `-2`, "of 2"},
		{"funcs.0.stages.0.loops.0.const", `[1,0]`, "runs from 1 to 0"},
		{"funcs.0.stages.0.loops.0.along", `0`, "writes along dimension 0"},
		{"funcs.0.stages.0.loops.0.stride", `2`, "writes 2 points apart"},
		{"funcs.0.stages.0.loops.0.apart", `20`, "iterations that meet are 20 apart"},
		{"funcs.0.stages.0.edges.0.producer", `0`, "producer 0"},
		{"funcs.0.stages.0.edges.0.producer", `99`, "producer 99"},
		{"funcs.0.stages.0.edges.0.calls", `-1`, "-1 calls"},
		{"funcs.0.stages.0.edges.0.points", `-1`, "-1 of "},
		{"funcs.0.stages.0.edges.0.points", `100`, "100 of "},
		{"funcs.0.stages.0.edges.0.bounds", `[]`, "0 bounds for 2 dimensions"},
		{"funcs.0.stages.0.edges.0.bounds.0.min", `{"coeff":1,"dim":5}`, "follows loop 5 of 2"},
		{"funcs.0.stages.0.edges.0.bounds.0.min", `{"dim":1}`, "a constant that follows a loop"},
		{"funcs.0.stages.0.edges.0.bounds.0.min", `{"coeff":1,"expr":1}`, "both a formula and affine"},
		{"funcs.0.stages.0.edges.0.bounds.0.min", `{"expr":"max:2"}`, "beyond 2"},
		{"funcs.0.stages.0.edges.0.bounds.0.min", `{"expr":["+",1]}`, "unexpected ]"},
		{"funcs.0.stages.0.edges.0.jacobians.0.count", `0`, "count 0"},
		{"funcs.0.stages.0.edges.0.jacobians.0.looked_up", `2`, "of 1 loads 2 are looked up"},
		{"funcs.0.stages.0.edges.0.jacobians.0.shifted", `-1`, "0 are looked up and -1 shifted"},
		{"funcs.0.stages.0.edges.0.jacobians.0.coeffs", `[]`, "0 rows for 2 dimensions"},
		{"funcs.0.stages.0.edges.0.jacobians.0.coeffs.0", `[[1,1]]`, "1 columns for 2 loops"},
		{"funcs.0.stages.0.edges.0.jacobians.0.coeffs.0.0", `[1,1,1]`, "2 numbers, not 3"},
		{"funcs.0.stages.0.edges.0.jacobians.0.offsets", `[]`, ""},
		{"funcs.0.stages.0.edges.0.jacobians.0.offsets", `[[0,0],[0,0]]`, "2 offsets for 1 loads"},
		{"funcs.0.stages.0.edges.0.jacobians.0.offsets.0", `[0]`, "1 dimensions, not 2"},
		{"funcs.0.stages.0.edges", `[]`, "nothing reads it"},
		{"params.0.extents", `[0,1,1]`, "extent 0"},
		{"params.0.mins", `[0]`, "1 mins, 3 extents"},
		{"params.0.buffer", `false`, "a scalar with extents"},
		{"custom_passes", `-1`, "negative number"},
	} {
		var root any
		if err := json.Unmarshal(goldens(t)["harris.h21.json"], &root); err != nil {
			t.Fatal(err)
		}
		edit(t, root, strings.Split(tt.path, "."), tt.value)
		_, err := Decode(marshal(t, root))
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s = %s: %v", tt.path, tt.value, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s = %s: %v, not about %q", tt.path, tt.value, err, tt.want)
		}
	}
}

// edit sets the value at a path of member names and indices.
func edit(t *testing.T, node any, path []string, value string) {
	t.Helper()
	last := len(path) == 1
	switch n := node.(type) {
	case map[string]any:
		if last {
			n[path[0]] = json.RawMessage(value)
			return
		}
		edit(t, n[path[0]], path[1:], value)
	case []any:
		var i int
		if err := json.Unmarshal([]byte(path[0]), &i); err != nil || i >= len(n) {
			t.Fatalf("no element %s", path[0])
		}
		if last {
			n[i] = json.RawMessage(value)
			return
		}
		edit(t, n[i], path[1:], value)
	default:
		t.Fatalf("no member %s", path[0])
	}
}

func TestDecodeRefusesOtherTexts(t *testing.T) {
	harris := goldens(t)["harris.h21.json"]
	for _, b := range [][]byte{nil, []byte("null"), []byte("[]"), []byte("{}"), harris[:len(harris)/2], append(bytes.Clone(harris), harris...)} {
		if _, err := Decode(b); err == nil {
			t.Errorf("%.40q was taken", b)
		}
	}
}

func TestWithStructure(t *testing.T) {
	p := golden(t, "harris")
	directives := []string{"rfactor f"}
	q := p.WithStructure(directives)
	directives[0] = "changed"
	if p.Structure != nil || len(q.Structure) != 1 || q.Structure[0] != "rfactor f" {
		t.Errorf("%q, then %q", p.Structure, q.Structure)
	}
}

func TestBinding(t *testing.T) {
	b := golden(t, "scan").Binding()
	var names []string
	for _, f := range b.Funcs {
		names = append(names, f.Name)
	}
	// Halide numbers producers first.
	if got := strings.Join(names, " "); got != "input_im histogram total run output" {
		t.Errorf("Funcs %s", got)
	}
	run := b.Funcs[3]
	if got := [][]string{run.Dims, run.Stages[0], run.Stages[1]}; !reflect.DeepEqual(got, [][]string{{"x", "y"}, {"x", "y"}, {"row$x", "y"}}) {
		t.Errorf("run: %q", got)
	}
	// A Func that rfactor made has no number.
	if b := golden(t, "scan_rfactor").Binding(); len(b.Funcs) != 5 {
		t.Errorf("%d Funcs after rfactor", len(b.Funcs))
	}
}

func TestFeatureNames(t *testing.T) {
	if NumFeatures != 287 {
		t.Errorf("%d features", NumFeatures)
	}
	row := map[string]int{}
	for i, name := range FeatureRows {
		row[name] = i
	}
	// The pure definition of luma: three loads of the input, each scaled.
	p := golden(t, "harris")
	for i := range p.Funcs {
		f := &p.Funcs[i]
		if f.Name != "luma" {
			continue
		}
		at := func(name string) int32 { return f.Stages[0].Features[row[name]*len(FeatureTypes)+5] }
		got := []int32{at("types_in_use"), at("op_func_call"), at("op_mul"), at("op_add"), at("pointwise_store"), at("slice_load_func")}
		if want := []int32{1, 3, 3, 2, 1, 3}; !reflect.DeepEqual(got, want) {
			t.Errorf("luma: %v, not %v", got, want)
		}
		return
	}
	t.Error("no luma in harris")
}

func FuzzDecode(f *testing.F) {
	for _, b := range goldens(f) {
		if len(b) < 12000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Decode(b)
		if err != nil {
			return
		}
		rootRegions(p)
		p.Binding()
		q, err := Decode(marshal(t, p))
		if err != nil {
			t.Fatalf("refuses its own text: %v", err)
		}
		if !reflect.DeepEqual(p, q) {
			t.Fatal("changed by a round trip")
		}
	})
}

// A call that loops alone decide about counts for the points that make it; one that data
// or a parameter decides about, or that stops at a border, counts for all.
func TestExecuted(t *testing.T) {
	p := golden(t, "shares")
	want := map[string]float64{"mux_third": 1. / 3, "third": 1. / 3, "next_third": 1. / 3, "last_third": 1. / 3,
		"quarter": 0.25, "half": 0.5, "most": 0.75}
	others := 0
	for i := range p.Funcs {
		if p.Funcs[i].Name != "output" {
			continue
		}
		for _, e := range p.Funcs[i].Stages[0].Edges {
			name := p.Funcs[e.Producer].Name
			share, some := want[name]
			if !some {
				share = float64(e.Calls)
				others++
			}
			if e.Executed() != share {
				t.Errorf("%s: %g of %d calls, want %g", name, e.Executed(), e.Calls, share)
			}
			delete(want, name)
		}
	}
	if len(want) > 0 || others != 9 {
		t.Errorf("%v are not read, and %d others", want, others)
	}
}

// The same point called again, for another value of a Tuple or for the same, counts once.
func TestExecutedOnce(t *testing.T) {
	for _, c := range []struct{ golden, reader, read string }{
		{"tuple_update", "output", "best"}, {"scan", "histogram", "input_im"}, {"offset", "output", "size"},
	} {
		p := golden(t, c.golden)
		found := false
		for i := range p.Funcs {
			for _, s := range p.Funcs[i].Stages {
				for _, e := range s.Edges {
					if p.Funcs[i].Name == c.reader && p.Funcs[e.Producer].Name == c.read {
						found = true
						if e.Calls != 2 || e.Executed() != 1 {
							t.Errorf("%s calls %s %d times, at %g points; want 2 and 1", s.Name, c.read, e.Calls, e.Executed())
						}
					}
				}
			}
		}
		if !found {
			t.Errorf("%s: %s does not read %s", c.golden, c.reader, c.read)
		}
	}
}

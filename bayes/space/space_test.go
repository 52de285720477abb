package space_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/protuner/protuner/bayes/space"
)

func scenario(t testing.TB, name string) *space.Scenario {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc, err := space.ReadScenario(f)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func ordinal(name string, values ...float64) space.Param {
	return space.Param{Name: name, Type: space.Ordinal, Values: values}
}

func powers(name string, lo, hi float64) space.Param {
	p := space.Param{Name: name, Type: space.Ordinal, Log: true}
	for v := lo; v <= hi; v *= 2 {
		p.Values = append(p.Values, v)
	}
	return p
}

func mustNew(t testing.TB, params []space.Param, constraints ...string) *space.Space {
	t.Helper()
	s, err := space.New(params, constraints...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// toys are small spaces of every shape, for brute force.
func toys(t testing.TB) map[string]*space.Space {
	perm := func(n int) space.Param { return space.Param{Name: "p", Type: space.Permutation, Size: n} }
	return map[string]*space.Space{
		"paper figure 4": mustNew(t, []space.Param{
			ordinal("p1", 2, 4), ordinal("p2", 2, 4), ordinal("p3", 1, 4), ordinal("p4", 1, 2, 4), ordinal("p5", 2, 4, 8),
		}, "p1 >= p2", "p4 >= p3", "p5 >= 2*p4"),
		"skewed": mustNew(t, []space.Param{ordinal("a", 1, 2, 3, 4), {Name: "b", Type: space.Integer, Min: 1, Max: 16}},
			"b <= 2 ** a"),
		"order": mustNew(t, []space.Param{perm(5)}, "p_i0 < p_i3 and p_i1 < p_i3", "p_i0 < p_i2 and p_i1 < p_i2",
			"(p_i3 < p_i2) | (p_i3 < p_i4)"),
		"order and tile": mustNew(t, []space.Param{perm(4), {Name: "t", Type: space.Integer, Min: 0, Max: 3},
			{Name: "c", Type: space.Categorical, Categories: []string{"x", "y", "z"}}},
			"p_0 != t", "c == 'x' or p_i2 > p_1"),
		"sum": mustNew(t, []space.Param{
			{Name: "a", Type: space.Integer, Min: 0, Max: 5}, {Name: "b", Type: space.Integer, Min: 0, Max: 5},
			{Name: "c", Type: space.Integer, Min: 0, Max: 5}, {Name: "d", Type: space.Integer, Min: 0, Max: 5}},
			"a + b + c + d == 9", "a != 2"),
		"fractions": mustNew(t, []space.Param{ordinal("a", 0.1, 0.2, 0.3), ordinal("b", 0.1, 0.2, 0.3), ordinal("c", 0.1, 0.2, 0.3)},
			"a + b + c <= 0.6"),
		"division": mustNew(t, []space.Param{
			{Name: "a", Type: space.Integer, Min: 0, Max: 8}, {Name: "b", Type: space.Integer, Min: 0, Max: 4}},
			"a % b == 0 or b == 0"),
		"negative": mustNew(t, []space.Param{{Name: "a", Type: space.Integer, Min: -4, Max: -1}, {Name: "b", Type: space.Integer, Min: -5, Max: 2}},
			"a * b >= 2", "a // b != 1"),
		"free":  mustNew(t, []space.Param{perm(3), ordinal("a", 1, 2, 3), {Name: "c", Type: space.Categorical, Categories: []string{"x", "y"}}}),
		"whole": mustNew(t, []space.Param{{Name: "n", Type: space.Integer, Min: 0, Max: 1 << 20}}, "n % 131072 == 5"),
	}
}

// brute lists the feasible points of a space by trying everything.
func brute(s *space.Space) map[string]bool {
	out := map[string]bool{}
	var x space.Point
	params := s.Params()
	var next func(i int)
	next = func(i int) {
		if i == len(params) {
			if s.Feasible(x) {
				out[x.Key()] = true
			}
			return
		}
		n := len(x)
		p := params[i]
		switch p.Type {
		case space.Ordinal:
			for _, v := range p.Values {
				x = append(x[:n], v)
				next(i + 1)
			}
		case space.Categorical:
			for v := range p.Categories {
				x = append(x[:n], float64(v))
				next(i + 1)
			}
		case space.Integer:
			for v := p.Min; v <= p.Max; v++ {
				x = append(x[:n], v)
				next(i + 1)
			}
		case space.Permutation:
			var place func(used int)
			place = func(used int) {
				if len(x) == n+p.Size {
					next(i + 1)
					return
				}
				m := len(x)
				for e := range p.Size {
					if used&(1<<e) == 0 {
						x = append(x[:m], float64(e))
						place(used | 1<<e)
						x = x[:m]
					}
				}
			}
			x = x[:n]
			place(0)
		}
		x = x[:n]
	}
	next(0)
	return out
}

func TestTreesAgainstBruteForce(t *testing.T) {
	for name, s := range toys(t) {
		want := brute(s)
		if got := s.Size(); got != float64(len(want)) {
			t.Errorf("%s: size %v, brute force %d", name, got, len(want))
		}
		seen := map[string]bool{}
		for x := range s.All() {
			if !want[x.Key()] || seen[x.Key()] {
				t.Fatalf("%s: %v is infeasible or enumerated twice", name, s.Config(x))
			}
			seen[x.Key()] = true
		}
		if len(seen) != len(want) {
			t.Errorf("%s: enumerated %d of %d", name, len(seen), len(want))
		}
	}
}

// TestUnbiasedSampling compares draws with enumeration by a chi-squared test.
// With a fixed seed it is deterministic; the level leaves 1 in 10,000 per
// space to chance in the choice of the seed.
func TestUnbiasedSampling(t *testing.T) {
	for name, s := range toys(t) {
		rng := rand.New(rand.NewSource(7))
		index := map[string]int{}
		for x := range s.All() {
			index[x.Key()] = len(index)
		}
		counts := make([]float64, len(index))
		draws := 60 * len(index)
		for range draws {
			x, err := s.Sample(rng)
			if err != nil {
				t.Fatal(err)
			}
			i, ok := index[x.Key()]
			if !ok {
				t.Fatalf("%s: drew infeasible %v", name, s.Config(x))
			}
			counts[i]++
		}
		if p := chiSquared(counts, float64(draws)/float64(len(index))); p < 1e-4 {
			t.Errorf("%s: p-value %.2g over %d leaves", name, p, len(index))
		}
	}
}

func chiSquared(counts []float64, expected float64) float64 {
	if len(counts) < 2 {
		return 1
	}
	x2 := 0.0
	for _, c := range counts {
		x2 += (c - expected) * (c - expected) / expected
	}
	return distuv.ChiSquared{K: float64(len(counts) - 1)}.Survival(x2)
}

// TestBiasedSampling checks that the biased sampler has the bias it is there
// for: the root's children are equally likely whatever their subtrees.
func TestBiasedSampling(t *testing.T) {
	s := toys(t)["skewed"] // a=1: 2 leaves, a=4: 16 leaves
	rng := rand.New(rand.NewSource(3))
	counts := map[float64]int{}
	const n = 20000
	for range n {
		x, err := s.SampleBiased(rng)
		if err != nil {
			t.Fatal(err)
		}
		counts[x[0]]++
	}
	leaves := map[string]float64{}
	for x := range s.All() {
		leaves[x.Key()]++
	}
	if len(leaves) != 2+4+8+16 {
		t.Fatalf("%d leaves", len(leaves))
	}
	share := float64(counts[1]) / n
	if uniform := 2.0 / 30; share < 2*uniform {
		t.Errorf("a=1 drawn with share %.3f; an unbiased sampler gives %.3f", share, uniform)
	}
}

// TestPublishedSpaces counts spaces of the paper (table 3).
func TestPublishedSpaces(t *testing.T) {
	for name, want := range map[string]float64{"spmm": 46656, "sddmm": 77760, "mttkrp": 680400} {
		s := scenario(t, name).Space
		if got := s.Size(); got != want {
			t.Errorf("%s: %v feasible, want %v", name, got, want)
		}
		if _, err := s.Default(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := scenario(t, "mm_gpu").Space
	if s.Unconstrained() < 2.5e10 || !s.Exact() {
		t.Errorf("mm_gpu: %v unconstrained, exact %v", s.Unconstrained(), s.Exact())
	}
	n, rng := 0, rand.New(rand.NewSource(1))
	for range 2000 {
		x, err := s.Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		if s.Feasible(x) {
			n++
		}
	}
	if n != 2000 {
		t.Errorf("mm_gpu: only %d of 2000 samples feasible", n)
	}
}

// sparse is a space of 1e15 configurations, of which those are feasible that
// divide each other in a chain: C(24, 9) of them.
func sparse(t testing.TB, more ...string) *space.Space {
	var params []space.Param
	cons := more
	for i := range 15 {
		params = append(params, powers(fmt.Sprintf("t%d", i), 1, 512))
		if i > 0 {
			cons = append(cons, fmt.Sprintf("t%d %% t%d == 0", i-1, i))
		}
	}
	return mustNew(t, params, cons...)
}

// bound keeps the partial sums of sparse apart, so that little is shared.
const bound = "t0 + t1 + t2 + t3 + t4 + t5 + t6 + t7 + t8 + t9 + t10 + t11 + t12 + t13 + t14 <= 3000"

func TestSparseSpace(t *testing.T) {
	s := sparse(t)
	if s.Unconstrained() != 1e15 || !s.Exact() || s.Size() != 1307504 {
		t.Fatalf("%v feasible of %v, exact %v", s.Size(), s.Unconstrained(), s.Exact())
	}
	bounded := sparse(t, bound)
	n := 0.0
	for x := range s.All() {
		if bounded.Feasible(x) {
			n++
		}
	}
	if bounded.Size() != n {
		t.Errorf("with a bound: %v, counted %v", bounded.Size(), n)
	}
	rng := rand.New(rand.NewSource(1))
	for range 200 {
		x, err := bounded.Sample(rng)
		if err != nil || !bounded.Feasible(x) {
			t.Fatalf("%v: %v", bounded.Config(x), err)
		}
	}
}

// TestLongPermutation counts linear extensions that are known in closed form
// without listing 20! orders.
func TestLongPermutation(t *testing.T) {
	p := space.Param{Name: "p", Type: space.Permutation, Size: 20}
	fact := 1.0
	for i := 2.0; i <= 20; i++ {
		fact *= i
	}
	if n := mustNew(t, []space.Param{p}).Size(); n != fact {
		t.Errorf("free: %v, want %v", n, fact)
	}
	s := mustNew(t, []space.Param{p}, "p_i0 < p_i1", "p_i1 < p_i2", "p_i7 < p_i3")
	if n := s.Size(); math.Abs(n/(fact/12)-1) > 1e-12 {
		t.Errorf("three precedences: %v, want %v", n, fact/12)
	}
	rng := rand.New(rand.NewSource(1))
	for range 100 {
		x, err := s.Sample(rng)
		if err != nil || !s.Feasible(x) {
			t.Fatalf("%v: %v", s.Config(x), err)
		}
	}
}

func TestRealConstraints(t *testing.T) {
	s := mustNew(t, []space.Param{
		{Name: "x", Type: space.Real, Min: 0, Max: 1}, {Name: "y", Type: space.Real, Min: 0, Max: 1},
		{Name: "n", Type: space.Integer, Min: 1, Max: 4}, {Name: "p", Type: space.Permutation, Size: 3},
	}, "x + y <= 1", "n * x <= 2", "p_0 != 1")
	if !math.IsInf(s.Size(), 1) {
		t.Errorf("size %v", s.Size())
	}
	rng := rand.New(rand.NewSource(2))
	by := make([]float64, 5)
	const draws = 20000
	for range draws {
		x, err := s.Sample(rng)
		if err != nil || !s.Feasible(x) {
			t.Fatalf("%v: %v", x, err)
		}
		by[int(x[2])]++
	}
	// Volume under x+y<=1 and x<=2/n: 1/2 for n<=2, 4/9 for 3, 3/8 for 4.
	total := 0.5 + 0.5 + 4.0/9 + 3.0/8
	for n, v := range []float64{0, 0.5, 0.5, 4.0 / 9, 3.0 / 8} {
		if got := by[n] / draws; math.Abs(got-v/total) > 0.015 {
			t.Errorf("n=%d drawn with share %.3f, want %.3f", n, got, v/total)
		}
	}
}

func TestEmptySpaceNamesTheClash(t *testing.T) {
	_, err := space.New([]space.Param{ordinal("a", 1, 2, 3), ordinal("b", 1, 2, 3), ordinal("c", 1, 2)},
		"a < b", "c >= 1", "b < a", "a != 7")
	var e *space.EmptyError
	if !errors.As(err, &e) || !errors.Is(err, space.ErrEmpty) {
		t.Fatalf("error %v", err)
	}
	if want := []string{"a < b", "b < a"}; !slices.Equal(e.Clash, want) {
		t.Errorf("clash %q, want %q", e.Clash, want)
	}
	_, err = space.New([]space.Param{ordinal("a", 1, 2, 3)}, "a % 2 == 0", "a > 2")
	if !errors.As(err, &e) || len(e.Clash) != 2 {
		t.Errorf("one parameter: %v", err)
	}
}

func TestTooLargeForATree(t *testing.T) {
	defer space.SetMaxNodes(2000)()
	// No two partial sums of these are equal, so nothing is shared.
	var params []space.Param
	var terms []string
	for i := range 30 {
		params = append(params, space.Param{Name: fmt.Sprintf("x%d", i), Type: space.Ordinal, Values: []float64{0, 1, 2}})
		terms = append(terms, fmt.Sprintf("x%d * %v", i, math.Sqrt(float64(i+2))))
	}
	s := mustNew(t, params, strings.Join(terms, " + ")+" <= 100", strings.Join(terms, " + ")+" >= 90")
	if s.Exact() || !math.IsNaN(s.Size()) {
		t.Fatalf("exact %v, size %v", s.Exact(), s.Size())
	}
	rng := rand.New(rand.NewSource(1))
	for range 50 {
		x, err := s.Sample(rng)
		if err != nil || !s.Feasible(x) {
			t.Fatalf("%v: %v", x, err)
		}
	}
}

func TestNeighbors(t *testing.T) {
	for name, s := range toys(t) {
		rng := rand.New(rand.NewSource(1))
		for range 20 {
			x, err := s.Sample(rng)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{x.Key(): true}
			for _, y := range s.Neighbors(nil, x, rng) {
				if !s.Feasible(y) || seen[y.Key()] || differing(s, x, y) != 1 {
					t.Fatalf("%s: %v is no neighbour of %v", name, s.Config(y), s.Config(x))
				}
				seen[y.Key()] = true
			}
		}
	}
	s := mustNew(t, []space.Param{{Name: "p", Type: space.Permutation, Size: 7}, ordinal("a", 1, 2, 3), ordinal("b", 1, 2, 3)}, "a != 2 or b == 3")
	c, err := s.Parse(map[string]any{"p": []int{0, 1, 2, 3, 4, 5, 6}, "a": 1, "b": 1})
	if err != nil {
		t.Fatal(err)
	}
	// 21 exchanges, a up to 3 (2 is infeasible), b up to 2.
	if n := len(s.Neighbors(nil, c.Point(), rand.New(rand.NewSource(1)))); n != 23 {
		t.Errorf("%d neighbours, want 23", n)
	}
}

// A parameter is drawn again evenly among what the others leave it.
func TestRedraw(t *testing.T) {
	s := mustNew(t, []space.Param{ordinal("tile", 1, 2, 4, 8), ordinal("vec", 1, 2, 4, 8), {Name: "r", Type: space.Real, Min: 0, Max: 1}}, "tile % vec == 0", "r < 0.5 or tile < 8")
	rng := rand.New(rand.NewSource(1))
	c, err := s.Parse(map[string]any{"tile": 4, "vec": 2, "r": 0.25})
	if err != nil {
		t.Fatal(err)
	}
	const n = 3000
	counts := map[float64]int{}
	for range n {
		y := s.Redraw(c.Point(), 1, 1, rng)
		if differing(s, c.Point(), y) > 1 || !s.Feasible(y) {
			t.Fatalf("%v from %v", s.Config(y), c)
		}
		counts[s.Config(y).Float("vec")]++
	}
	for _, v := range []float64{1, 2, 4} { // five standard deviations
		if math.Abs(float64(counts[v])-n/3) > 5*math.Sqrt(n*2/9.) {
			t.Errorf("vec %g was drawn %d of %d times", v, counts[v], n)
		}
	}
	if len(counts) != 3 {
		t.Errorf("drawn %v", counts)
	}
	if c, err = s.Parse(map[string]any{"tile": 8, "vec": 2, "r": 0.25}); err != nil {
		t.Fatal(err)
	}
	if y := s.Redraw(c.Point(), 2, 100, rng); y == nil || s.Config(y).Float("r") >= 0.5 {
		t.Errorf("r of %v became %v", c, y)
	}
}

func differing(s *space.Space, x, y space.Point) int {
	n := 0
	a, b := s.Config(x), s.Config(y)
	for _, p := range s.Params() {
		if a.Text(p.Name) != b.Text(p.Name) {
			n++
		}
	}
	return n
}

func TestConfigRoundTrip(t *testing.T) {
	s := scenario(t, "spmm").Space
	rng := rand.New(rand.NewSource(1))
	for range 100 {
		x, err := s.Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		data, err := s.Config(x).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := s.ParseJSON(data)
		if err != nil || back.Point().Key() != x.Key() {
			t.Fatalf("%s came back as %v: %v", data, back, err)
		}
		if back, err = s.Parse(s.Config(x).Map()); err != nil || back.Point().Key() != x.Key() {
			t.Fatalf("map came back as %v: %v", back, err)
		}
	}
}

// What goes to programs and people reads as the number everywhere.
func TestLargeNumbersHaveNoExponent(t *testing.T) {
	sc, err := space.ReadScenario(strings.NewReader(`{"application_name":"n","input_parameters":{
		"buffer":{"parameter_type":"ordinal","values":[1048576,2097152]},
		"kind":{"parameter_type":"categorical","values":[1000000,"none"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := sc.Space.ParseJSON([]byte(`{"buffer":1048576,"kind":1000000}`))
	if err != nil {
		t.Fatal(err)
	}
	if c.Text("buffer") != "1048576" || c.Text("kind") != "1000000" {
		t.Errorf("%s", c)
	}
	if again, err := sc.Space.Parse(c.Map()); err != nil || again.String() != c.String() {
		t.Errorf("read again: %s, %v", again, err)
	}
}

// Every configuration is enumerated, also of integers too many to be listed.
func TestAllOfALongRange(t *testing.T) {
	s := mustNew(t, []space.Param{{Name: "n", Type: space.Integer, Min: -1, Max: 4998}, ordinal("m", 1, 2)})
	seen := map[string]bool{}
	for x := range s.All() {
		if !s.Feasible(x) {
			t.Fatalf("%v", s.Config(x))
		}
		seen[x.Key()] = true
	}
	if float64(len(seen)) != s.Size() || len(seen) != 10000 {
		t.Errorf("%d of %v", len(seen), s.Size())
	}
	n := 0
	for range s.All() {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("stopped after %d", n)
	}
}

// However many values an ordinal has, each is drawn and none else.
func TestLongOrdinal(t *testing.T) {
	var values []float64
	for v := 8.0; v <= 40000; v += 8 {
		values = append(values, v)
	}
	s := mustNew(t, []space.Param{ordinal("tile", values...)})
	rng := rand.New(rand.NewSource(1))
	drawn := map[string]bool{}
	for range 20 {
		x, err := s.Sample(rng)
		if err != nil || !s.Feasible(x) || x[0] < 8 {
			t.Fatalf("%v, %v", x, err)
		}
		drawn[x.Key()] = true
	}
	n := 0
	for range s.All() {
		n++
	}
	if len(drawn) < 15 || n != len(values) {
		t.Errorf("%d of 20 draws differ; all are %d of %d", len(drawn), n, len(values))
	}
}

func TestParseRefuses(t *testing.T) {
	s := scenario(t, "spmm").Space
	good := `{"cs":16,"uf":8,"ocs":1,"ont":32,"ost":"static","p":[0,1,2,3,4]}`
	for change, want := range map[string]string{
		`"cs":16->"cs":17`:             "parameter cs: 17 is not among its values",
		`"uf":8->"uf":16`:              "uf < cs",
		`"ost":"static"->"ost":"auto"`: `"auto" is not one of static, dynamic`,
		`[0,1,2,3,4]->[0,1,2,3,3]`:     "not an order of 0..4",
		`[0,1,2,3,4]->[0,1,2,3,1e300]`: "not an order of 0..4",
		`[0,1,2,3,4]->[0,1]`:           "2 elements, not 5",
		`"ocs":1,->`:                   "parameter ocs has no value",
		`{"cs"->{"x":1,"cs"`:           "no parameter x",
		`"ont":32->"ont":"32"`:         "a number was expected",
	} {
		from, to, _ := strings.Cut(change, "->")
		_, err := s.ParseJSON([]byte(strings.Replace(good, from, to, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", change, err, want)
		}
	}
}

// No number that is no element gets into an order, whatever it is as an int.
func TestOrdersOfElements(t *testing.T) {
	s := mustNew(t, []space.Param{{Name: "p", Type: space.Permutation, Size: 3}})
	for _, e := range []float64{1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN(), -1, 0.5, 3} {
		if _, err := s.Parse(map[string]any{"p": []any{0.0, e, 2.0}}); err == nil || !strings.Contains(err.Error(), "not an order of 0..2") {
			t.Errorf("%v: error %v", e, err)
		}
	}
}

func TestBadParameters(t *testing.T) {
	for want, p := range map[string]space.Param{
		"a name is":              {Name: "2x", Type: space.Real, Max: 1},
		"is not one":             {Name: "x", Type: space.Real, Min: 2, Max: 1},
		"whole ends":             {Name: "x", Type: space.Integer, Min: 0.5, Max: 1},
		"at least one value":     {Name: "x", Type: space.Ordinal},
		"there twice":            ordinal("x", 1, 2, 1),
		"not finite":             ordinal("x", 1, math.NaN()),
		"above 0; the lowest is": {Name: "x", Type: space.Integer, Min: 0, Max: 3, Log: true},
		"1 to 64 elements":       {Name: "x", Type: space.Permutation, Size: 65},
		"unknown type":           {Name: "x"},
		"default: parameter x":   {Name: "x", Type: space.Integer, Min: 0, Max: 3, Default: 4},
	} {
		if _, err := space.New([]space.Param{p}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", p, err, want)
		}
	}
}

func TestThousandParameters(t *testing.T) {
	var params []space.Param
	var cons []string
	for i := range 1000 {
		params = append(params, powers(fmt.Sprintf("x%d", i), 1, 64))
		if i%2 == 1 {
			cons = append(cons, fmt.Sprintf("x%d <= x%d", i, i-1))
		}
	}
	s := mustNew(t, params, cons...)
	rng := rand.New(rand.NewSource(1))
	for range 20 {
		x, err := s.Sample(rng)
		if err != nil || !s.Feasible(x) {
			t.Fatal(err)
		}
	}
}

// TestUniformBeyondFloats: values of a group with more configurations than a float64 can hold
// are drawn as evenly as those of one with few.
func TestUniformBeyondFloats(t *testing.T) {
	var params []space.Param
	var cons []string
	for i := range 800 {
		params = append(params, powers(fmt.Sprintf("x%d", i), 1, 64))
		if i > 0 {
			cons = append(cons, fmt.Sprintf("x%d <= 32 * x%d", i-1, i)) // all but one of 49 pairs
		}
	}
	s := mustNew(t, params, cons...)
	if !s.Exact() || !math.IsInf(s.Size(), 1) {
		t.Fatalf("%v configurations, exact %v", s.Size(), s.Exact())
	}
	rng := rand.New(rand.NewSource(1))
	seen := map[float64]int{}
	for range 700 {
		x, err := s.Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		seen[x[0]]++
	}
	if len(seen) != 7 {
		t.Errorf("%d of 7 values were drawn: %v", len(seen), seen)
	}
	for v, n := range seen {
		if n < 60 || n > 140 {
			t.Errorf("%v was drawn %d times of 700", v, n)
		}
	}
}

func BenchmarkBuildSparse(b *testing.B) {
	for range b.N {
		sparse(b, bound)
	}
}

func BenchmarkSample(b *testing.B) {
	s := scenario(b, "mm_gpu").Space
	rng := rand.New(rand.NewSource(1))
	for range b.N {
		if _, err := s.Sample(rng); err != nil {
			b.Fatal(err)
		}
	}
}

// TestFingerprint: what makes another space, or another distance in it, is told apart, since
// stored trials are not taken over; the default is no part of it.
func TestFingerprint(t *testing.T) {
	constraints := []string{"tile <= n"}
	params := func() []space.Param {
		return []space.Param{
			powers("tile", 1, 32), {Name: "n", Type: space.Integer, Min: 1, Max: 8, Default: 4},
			{Name: "p", Type: space.Permutation, Size: 3, Metric: space.Kendall},
		}
	}
	first := mustNew(t, params(), constraints...).Fingerprint()
	for name, c := range map[string]struct {
		change      func(p []space.Param)
		constraints []string
		same        bool
	}{
		"nothing":                 {func([]space.Param) {}, constraints, true},
		"another default":         {func(p []space.Param) { p[1].Default = 5 }, constraints, true},
		"no default":              {func(p []space.Param) { p[1].Default = nil }, constraints, true},
		"values in another order": {func(p []space.Param) { slices.Reverse(p[0].Values) }, constraints, true},
		"another constraint":      {func([]space.Param) {}, []string{"tile < n"}, false},
		"one constraint more":     {func([]space.Param) {}, append([]string{"p_0 != 1"}, constraints...), false},
		"no constraint":           {func([]space.Param) {}, nil, false},
		"without logarithms":      {func(p []space.Param) { p[0].Log = false }, constraints, false},
		"another metric":          {func(p []space.Param) { p[2].Metric = space.Hamming }, constraints, false},
		"another range":           {func(p []space.Param) { p[1].Max = 9 }, constraints, false},
		"another value":           {func(p []space.Param) { p[0].Values[0] = 3 }, constraints, false},
		"another name":            {func(p []space.Param) { p[2].Name = "q" }, constraints, false},
		"another order of them":   {slices.Reverse[[]space.Param], constraints, false},
	} {
		p := params()
		c.change(p)
		if got := mustNew(t, p, c.constraints...).Fingerprint(); (got == first) != c.same {
			t.Errorf("%s: the fingerprint is the same: %t", name, got == first)
		}
	}
}

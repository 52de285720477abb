package schedule

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/protuner/protuner/bayes/expr"
)

// TestTemplate runs testdata/template. "open" opens the schedule below the
// extents ("f 0 x 1536": Func, stage, loop, extent), parted by a line of ==, and
// prints holes and constraints; "fill" fills the last one opened with its original
// values but those given ("hole value").
func TestTemplate(t *testing.T) {
	var last Template
	datadriven.RunTest(t, "testdata/template", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "open":
			head, text, _ := strings.Cut(d.Input, "==\n")
			extents := map[string]int64{}
			for line := range strings.Lines(head) {
				f := strings.Fields(line)
				n, err := strconv.ParseInt(f[3], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				extents[strings.Join(f[:3], " ")] = n
			}
			s := mustParse(t, text)
			last = Open(s, func(fn string, stage int, loop string) (int64, bool) {
				n, ok := extents[fmt.Sprint(fn, " ", stage, " ", loop)]
				return n, ok
			})
			checkTemplate(t, s, last)
			var b strings.Builder
			for _, h := range last.Holes {
				fmt.Fprintf(&b, "%s = %d: %s [%d, %d]", h.Name, h.Value, h.Role, h.Min, h.Max)
				if len(h.Values) > 0 {
					fmt.Fprintf(&b, " %v", h.Values)
				}
				b.WriteByte('\n')
			}
			for _, c := range last.Constraints {
				b.WriteString(c.String() + "\n")
			}
			return b.String()
		case "fill":
			values := last.Values()
			for line := range strings.Lines(d.Input) {
				f := strings.Fields(line)
				if f[1] == "gone" {
					delete(values, f[0])
					continue
				}
				n, err := strconv.ParseInt(f[1], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				values[f[0]] = n
			}
			s, err := last.Fill(values)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			return s.String()
		}
		t.Fatalf("unknown command %s", d.Cmd)
		return ""
	})
}

// checkTemplate fails unless the original values give the original schedule and
// every hole makes sense by itself.
func checkTemplate(t testing.TB, s Schedule, tmpl Template) {
	t.Helper()
	again, err := tmpl.Fill(tmpl.Values())
	if err != nil {
		t.Fatalf("the original values: %v\n%s", err, s)
	}
	if again.Hash() != s.Hash() || !reflect.DeepEqual(again, s) {
		t.Fatalf("the original values changed\n%sto\n%s", s, again)
	}
	if values, ok := tmpl.Read(s); !ok || !reflect.DeepEqual(values, tmpl.Values()) {
		t.Fatalf("read %v, %v, of the schedule itself:\n%s", values, ok, s)
	}
	for _, h := range tmpl.Holes {
		if h.Min > h.Value || h.Value > h.Max || h.Name != identifier(h.Name) {
			t.Fatalf("hole %+v", h)
		}
		pow2 := h.Role == VectorRole || h.Role == AlignRole
		for i, v := range h.Values {
			if i > 0 && v <= h.Values[i-1] || v < 0 || pow2 && v != h.Value && v&(v-1) != 0 {
				t.Fatalf("hole %+v", h)
			}
		}
	}
}

// TestFillSamples opens what the autoschedulers wrote, with made-up extents, and
// fills it at random: whatever is accepted fits its pipeline, has the same
// structure, and splits no loop into more than it holds.
func TestFillSamples(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	files, _ := filepath.Glob("testdata/halide/*.schedule.h")
	filled := 0
	for _, file := range files {
		pipeline, _, _ := strings.Cut(filepath.Base(file), ".")
		b := binding(t, pipeline)
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseHalide(src, b)
		if err != nil {
			t.Fatal(err)
		}
		tmpl := Open(s, func(fn string, stage int, loop string) (int64, bool) {
			return int64(500 + 100*len(loop) + 7*stage), loop != "c"
		})
		checkTemplate(t, s, tmpl)
		if len(tmpl.Holes) == 0 {
			t.Errorf("%s: no holes", file)
		}
		for range 200 {
			values := tmpl.Values()
			for range 1 + rng.Intn(3) {
				h := tmpl.Holes[rng.Intn(len(tmpl.Holes))]
				values[h.Name] = h.Min + rng.Int63n(h.Max-h.Min+1)
				if len(h.Values) > 0 {
					values[h.Name] = h.Values[rng.Intn(len(h.Values))]
				}
			}
			other, err := tmpl.Fill(values)
			if err != nil {
				continue
			}
			filled++
			if err := other.Check(b); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if read, ok := tmpl.Read(other); !ok || !reflect.DeepEqual(read, values) {
				t.Fatalf("%s: read %v, %v, of %v", file, read, ok, values)
			}
			for _, h := range tmpl.Holes {
				if h.Role != TasksRole {
					continue
				}
				split := tmpl.tasks[h.Name]
				factor := other.Directives[h.position].Ints[0]
				if got := ceilDiv(split.extent, factor); got != values[h.Name] {
					t.Fatalf("%s: %s = %d makes %d tasks of %d, %d each", file, h.Name, values[h.Name], got, split.extent, factor)
				}
			}
		}
	}
	if filled < 300 {
		t.Errorf("only %d fillings accepted", filled)
	}
}

func TestTaskCounts(t *testing.T) {
	for n := int64(1); n < 400; n++ {
		possible := map[int64]bool{}
		for f := int64(1); f <= n; f++ {
			possible[ceilDiv(n, f)] = true
		}
		got := taskCounts(n, 1)
		seen := map[int64]bool{}
		for _, c := range got {
			if !possible[c] {
				t.Errorf("no factor makes %d tasks of %d", c, n)
			}
			seen[c] = true
		}
		for c := range possible {
			if c <= manyTasks && !seen[c] {
				t.Errorf("%d tasks of %d are missing", c, n)
			}
		}
	}
	if n := len(taskCounts(1<<40, 3)); n > 250 {
		t.Errorf("%d values for a huge loop", n)
	}
}

// TestConstraints checks what constraints hold for against their texts, as bayes
// reads them.
func TestConstraints(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, c := range []struct {
		text    string
		extents map[string]int64 // of loops, by name
		want    []string
	}{
		{`
f.split(y, y, yi, 32)
f.parallel(y)
f.split(yi, yi, yii, 8)`, map[string]int64{"y": 1530}, []string{"f_yii * (f_yi - 1) < 1530"}},
		{`
f.split(x, x, xi, 64)
f.split(xi, xi, xii, 8, round_up)
f.split(xi, xi, xiii, 2)`, map[string]int64{"x": 640},
			[]string{"f_xii <= f_xi", "f_xi % f_xii == 0", "(f_xiii - 1) * f_xii < f_xi"}},
		// Products beyond 64 bits.
		{`
f.split(x, x, a, 2)
f.split(x, x, b, 2)
f.split(x, x, c, 2)`, map[string]int64{"x": 1 << 40},
			[]string{"(f_b - 1) * f_a < 1099511627776", "(f_c - 1) * f_a * f_b < 1099511627776"}},
		{`
f.split(y, yo, yi, 40)
g.split(y, yo, yi, 40)
f.compute_with(g, yo)`, map[string]int64{"y": 100}, []string{"f_yi == g_yi"}},
		// Splits in common that have no holes.
		{`
f.update(0).split(r, ro, ri, 16)
f_intm = f.update(0).rfactor([ri], [u])
g.update(0).split(r, ro, ri, 16)
g_intm = g.update(0).rfactor([ri], [u])
f.update(0).compute_with(g.update(0), ro)`, map[string]int64{"r": 4096}, nil},
	} {
		tmpl := Open(mustParse(t, c.text), func(_ string, _ int, loop string) (int64, bool) {
			n, ok := c.extents[loop]
			return n, ok
		})
		var texts []string
		for _, constraint := range tmpl.Constraints {
			texts = append(texts, constraint.String())
		}
		if !slices.Equal(texts, c.want) {
			t.Errorf("constraints %q, want %q:%s", texts, c.want, c.text)
		}
		for _, constraint := range tmpl.Constraints {
			read, err := expr.Parse(constraint.String(), func(name string) (expr.Var, bool) {
				i := slices.IndexFunc(tmpl.Holes, func(h Hole) bool { return h.Name == name })
				return expr.Var{Slot: i, Integer: true}, i >= 0
			})
			if err != nil {
				t.Fatal(err)
			}
			met := 0
			for range 1000 {
				values, slots := drawn(rng, tmpl)
				want := read.Holds(slots)
				if got := constraint.holds(values); got != want {
					t.Fatalf("%s: %v, want %v, of %v", constraint, got, want, values)
				}
				if want {
					met++
				}
			}
			if met == 0 || met == 1000 {
				t.Errorf("%s: met %d times of 1000", constraint, met)
			}
		}
	}
}

// drawn gives values of all holes, of any order of magnitude, by name and in the
// order of the holes.
func drawn(rng *rand.Rand, tmpl Template) (map[string]int64, []float64) {
	values := map[string]int64{}
	var slots []float64
	for _, h := range tmpl.Holes {
		v := min(h.Max, h.Min+rng.Int63n(1<<rng.Intn(32)))
		if len(h.Values) > 0 {
			v = h.Values[rng.Intn(len(h.Values))]
		}
		values[h.Name] = v
		slots = append(slots, float64(v))
	}
	return values, slots
}

// TestNest runs testdata/nest: "nest" plays the input on a pipeline and prints the
// loops of one stage, innermost first.
func TestNest(t *testing.T) {
	datadriven.RunTest(t, "testdata/nest", func(t *testing.T, d *datadriven.TestData) string {
		var pipeline, fn string
		var stage int
		d.ScanArgs(t, "pipeline", &pipeline)
		d.ScanArgs(t, "func", &fn)
		d.MaybeScanArgs(t, "stage", &stage)
		loops, err := mustParse(t, d.Input).Nest(binding(t, pipeline), fn, stage)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		var b strings.Builder
		for _, l := range loops {
			fmt.Fprintf(&b, "%s %s", l.Name, l.Kind)
			if l.Reduction {
				b.WriteString(" reduction")
			}
			b.WriteByte('\n')
		}
		return b.String()
	})
}

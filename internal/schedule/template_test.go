package schedule

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
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
				fmt.Fprintf(&b, "%s = %d: %s %s [%d, %d]", h.Name, h.Value, h.Role, h.Kind, h.Min, h.Max)
				if len(h.Values) > 0 {
					fmt.Fprintf(&b, " %v", h.Values)
				}
				b.WriteByte('\n')
			}
			for _, c := range last.Constraints {
				b.WriteString(c + "\n")
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
		for i, v := range h.Values {
			if i > 0 && v <= h.Values[i-1] || v < 0 || h.Kind == Pow2Hole && v&(v-1) != 0 {
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

func TestConstraints(t *testing.T) {
	values := map[string]int64{"a": 7, "b_1": -3, "big": 1 << 62, "order": 1}
	for text, want := range map[string]string{
		"a <= 7":                          "true",
		"a<7":                             "false",
		"a % 4 == 3 and b_1 < 0":          "true",
		"b_1 % 4 == 1":                    "true", // as Python
		"b_1 / 2 == -2":                   "true",
		"-a + 2 * (b_1 - 1) == -15":       "true",
		"a > 9 or a != 7 or b_1 >= -3":    "true",
		"order == 1 and a > 9":            "false",
		"a":                               "error",
		"a < 8 a":                         "error",
		"a < c":                           "error",
		"a / 0 < 1":                       "error",
		"big * 4 > 0":                     "error",
		"big + big > 0":                   "error",
		"0 - big - big - big < 0":         "error",
		"(a < 3":                          "error",
		"":                                "error",
		"99999999999999999999 > 1":        "error",
		strings.Repeat("(", 1000) + "1<2": "error",
		strings.Repeat("-", 1000) + "1<2": "error",
	} {
		ok, err := evalConstraint(text, values)
		got := fmt.Sprint(ok)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q is %s (%v), not %s", text, got, err, want)
		}
	}
}

func FuzzConstraint(f *testing.F) {
	f.Add("(a - 1) * b < 9 and a % b == 0 or a / b != 2")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = evalConstraint(text, map[string]int64{"a": 3, "b": -5})
	})
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

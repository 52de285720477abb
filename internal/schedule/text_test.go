package schedule

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestText runs testdata/text. "parse" prints what Parse read; "same" says
// whether the two schedules, parted by a line of ==, have one hash.
func TestText(t *testing.T) {
	datadriven.RunTest(t, "testdata/text", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "parse":
			s, err := Parse(d.Input)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			checkRoundTrip(t, s)
			return s.String()
		case "json":
			s, err := Parse(d.Input)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			out, err := json.Marshal(s.Directives)
			if err != nil {
				t.Fatal(err)
			}
			return strings.ReplaceAll(string(out), "},{", "},\n{") + "\n"
		case "decode":
			var s Schedule
			if err := json.Unmarshal([]byte(d.Input), &s); err != nil {
				return "error: " + err.Error() + "\n"
			}
			return s.String()
		case "same":
			a, b, _ := strings.Cut(d.Input, "==\n")
			return fmt.Sprintln(mustParse(t, a).Hash() == mustParse(t, b).Hash())
		}
		t.Fatalf("unknown command %s", d.Cmd)
		return ""
	})
}

func mustParse(t testing.TB, text string) Schedule {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkRoundTrip fails unless s survives its text and JSON forms unchanged.
func checkRoundTrip(t testing.TB, s Schedule) {
	t.Helper()
	if err := s.Validate(); err != nil {
		t.Fatalf("what Parse gave is invalid: %v\n%s", err, s)
	}
	again, err := Parse(s.String())
	if err != nil {
		t.Fatalf("its own text: %v\n%s", err, s)
	}
	if !reflect.DeepEqual(s, again) {
		t.Fatalf("text changed it from\n%#v\nto\n%#v", s, again)
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var decoded Schedule
	if err := json.Unmarshal(data, &decoded); err != nil {
		t.Fatalf("its own JSON: %v\n%s", err, data)
	}
	if decoded.Hash() != s.Hash() || decoded.String() != s.String() {
		t.Fatalf("JSON changed it from\n%s\nto\n%s", s, decoded)
	}
}

// everyOp holds one directive of each Op, so that nothing can be added to the
// table and stay untested.
const everyOp = `
intm = hist.update(0).rfactor([r$y, r$x], [u, v])
wrap = f.in(g, h)
all = f.in()
copy = f.clone_in(g)
f.compute_root()
f.compute_inline()
f.compute_at(g, yo)
f.store_root()
f.store_at(g.update(1), yo)
f.hoist_storage(g.pure(), y)
f.hoist_storage_root()
f.store_in(stack)
f.reorder_storage(y, x)
f.fold_storage(y, 4)
f.align_storage(x, 16)
f.bound_storage(x, 64)
f.bound(c, 0, 3)
f.bound_extent(c, 3)
f.align_bounds(x, 8, 1)
f.align_extent(x, 8)
f.split(y, yo, yi, 32, guard_with_if)
f.fuse(yo, c, t)
f.reorder(x, yi, t)
f.rename(t, task)
f.serial(x)
f.parallel(task)
f.vectorize(x)
f.unroll(yi)
f.update(0).atomic(true)
f.update(0).allow_race_conditions()
f.compute_with(h, y, align_end)
f.prefetch(in, y, y, 2, clamp)
f.specialize(x, 0, 640, y, -2, 480, c, 2%64, 3)
`

func TestEveryOp(t *testing.T) {
	s := mustParse(t, everyOp)
	checkRoundTrip(t, s)
	if got := strings.TrimSpace(s.String()); got != strings.TrimSpace(everyOp) {
		t.Errorf("printed\n%s", got)
	}
	seen := map[Op]bool{}
	for _, d := range s.Directives {
		seen[d.Op] = true
	}
	for op := range signatures {
		if !seen[op] {
			t.Errorf("%s is not in everyOp", op)
		}
	}
}

// TestValidate spoils each directive of everyOp field by field: what an Op does
// not read must be refused, and what it reads must be there.
func TestValidate(t *testing.T) {
	for _, d := range mustParse(t, everyOp).Directives {
		spoilt := map[string]Directive{}
		more := d
		more.Vars = append([]string{"q1", "q2", "q3"}, d.Vars...)
		more.New = append([]string{"p"}, d.New...)
		spoilt["more names"] = more
		more = d
		more.Ints = append([]int64{1, 2}, d.Ints...)
		spoilt["more numbers"] = more
		more = d
		more.Word = "sideways"
		spoilt["odd word"] = more
		less := d
		less.Func = ""
		spoilt["no Func"] = less
		less = d
		less.Op = "gpu_blocks"
		spoilt["odd Op"] = less
		if len(d.Vars) > 0 {
			less = d
			less.Vars = nil
			spoilt["no loops"] = less
			less.Vars = append([]string{""}, d.Vars[1:]...)
			spoilt["empty name"] = less
		}
		if len(d.Ints) > 0 {
			less = d
			less.Ints = nil
			spoilt["no numbers"] = less
			less.Ints = append([]int64{1 << 40}, d.Ints[1:]...)
			spoilt["a large number"] = less
		}
		if d.At != nil {
			less = d
			less.At = nil
			spoilt["no level"] = less
		} else {
			less = d
			less.At = &Level{Func: "g", Loop: "x"}
			spoilt["a level"] = less
		}
		less = d
		if less.As = "extra"; d.As != "" {
			less.As = ""
		}
		spoilt["made Func"] = less
		for what, bad := range spoilt {
			err := Schedule{Directives: []Directive{bad}}.Validate()
			if err == nil {
				t.Errorf("%s: %s: accepted", d, what)
			} else if !strings.HasPrefix(err.Error(), "directive 1, ") {
				t.Errorf("%s: %s: no position: %v", d, what, err)
			}
			_ = bad.String() // must not panic on what is invalid
		}
	}
}

func TestWithLeavesTheOriginal(t *testing.T) {
	s := mustParse(t, "f.compute_root()\n")
	a := s.With(Directive{Op: Parallel, Func: "f", Vars: []string{"y"}})
	b := s.With(Directive{Op: Serial, Func: "f", Vars: []string{"y"}})
	if len(s.Directives) != 1 || a.Directives[1].Op != Parallel || b.Directives[1].Op != Serial {
		t.Errorf("%v\n%v\n%v", s, a, b)
	}
}

// TestHashIsStable pins the hash: it keys databases that outlive this program.
func TestHashIsStable(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "cf8be0fbbbd8e1f1",
		"f.split(x, xo, xi, 8)\n":           "dd099f6256c126d2",
		"f.compute_root()\nf.parallel(y)\n": "1cc34fc25ff42c57",
	} {
		if got := mustParse(t, text).HashString(); got != want {
			t.Errorf("%q hashes to %s, not %s", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(everyOp)
	f.Add(`"odd name".split("0", a.b, "\x41", 3) # comment`)
	f.Add(`a.b = f.g.update(0).rfactor([], [])`)
	f.Add(`f.compute_at("g h".update(2), __outermost)`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		checkRoundTrip(t, s)
		checkTemplate(t, s, Open(s, func(_ string, stage int, loop string) (int64, bool) {
			return int64(stage*1000 + 100*len(loop)), len(loop) < 3
		}))
	})
}

// Structure ends where the directives that make Funcs, and the splits for them, do.
func TestStructure(t *testing.T) {
	for text, want := range map[string]int{
		"": 0,
		"f.split(x, x, xi, 8, guard_with_if)\nf.compute_root()\n": 0,
		"w = f.in(g)\nf.compute_root()\n":                         1,
		"f.update(0).split(r, a, b, 8, guard_with_if)\ng = f.update(0).rfactor([b], [u])\nw = g.in()\nf.compute_root()\n":        3,
		"f.update(0).split(r, a, b, 8, guard_with_if)\ng = f.update(0).rfactor([b], [u])\nf.split(x, x, xi, 8, guard_with_if)\n": 2,
		"f.compute_root()\nw = f.in(g)\n": 0,
	} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(s.Structure()); got != want {
			t.Errorf("%d directives, not %d, of\n%s", got, want, text)
		}
	}
}

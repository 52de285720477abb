package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// binding reads testdata/halide/NAME.json, which a real pipeline was asked for.
func binding(t testing.TB, name string) Binding {
	t.Helper()
	data, err := os.ReadFile("testdata/halide/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var b Binding
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHalide runs testdata/halide.txt on the pipeline that its argument names.
// "read" reads the input, or a file that an autoscheduler wrote, as .schedule.h;
// "write" writes a schedule's body and "file" the whole file.
func TestHalide(t *testing.T) {
	datadriven.RunTest(t, "testdata/halide.txt", func(t *testing.T, d *datadriven.TestData) string {
		var pipeline, file string
		d.ScanArgs(t, "pipeline", &pipeline)
		b := binding(t, pipeline)
		switch d.Cmd {
		case "read":
			src := []byte(d.Input)
			if d.MaybeScanArgs(t, "file", &file) {
				var err error
				if src, err = os.ReadFile("testdata/halide/" + pipeline + "." + file + ".schedule.h"); err != nil {
					t.Fatal(err)
				}
			}
			s, err := ParseHalide(src, b)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			checkHalide(t, s, b)
			return s.String()
		case "write", "file":
			s := mustParse(t, d.Input)
			out, err := s.HalideBody(b, "", "")
			if d.Cmd == "file" {
				out, err = s.Halide(b, HalideFile{Name: "demo::" + pipeline, Target: "host", Params: "a=b", Algorithm: "0123abcd"})
			}
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			return out
		}
		t.Fatalf("unknown command %s", d.Cmd)
		return ""
	})
}

// checkHalide fails unless s fits b and survives being written and read.
func checkHalide(t testing.TB, s Schedule, b Binding) {
	t.Helper()
	if err := s.Check(b); err != nil {
		t.Fatalf("does not fit its pipeline: %v\n%s", err, s)
	}
	checkRoundTrip(t, s)
	body, err := s.HalideBody(b, "", "")
	if err != nil {
		t.Fatalf("%v\n%s", err, s)
	}
	again, err := ParseHalide([]byte(body), b)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	if again.Hash() != s.Hash() {
		t.Fatalf("written and read it went from\n%s\nto\n%s", s, again)
	}
}

// TestHalideSamples reads every file the autoschedulers wrote, and finds the
// algorithm's hash only in ours.
func TestHalideSamples(t *testing.T) {
	files, err := filepath.Glob("testdata/halide/*.schedule.h")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		pipeline, _, _ := strings.Cut(filepath.Base(file), ".")
		b := binding(t, pipeline)
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseHalide(src, b)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		checkHalide(t, s, b)
		if hash, ok := HalideAlgorithm(src); ok {
			t.Errorf("%s: an algorithm's hash %s", file, hash)
		}
		decisions := "f inline\n\"g h\" compute root vector x\n"
		whole, err := s.Halide(b, HalideFile{Name: pipeline, Algorithm: "f00d", Decisions: decisions})
		if err != nil {
			t.Fatal(err)
		}
		if hash, ok := HalideAlgorithm([]byte(whole)); !ok || hash != "f00d" {
			t.Errorf("%s: algorithm %q, %v", file, hash, ok)
		}
		if got, plain := Decisions([]byte(whole)), Decisions([]byte(s.Annotated(decisions))); got != decisions || plain != decisions || Decisions(src) != "" {
			t.Errorf("%s: decisions %q, in text %q", file, got, plain)
		}
		if _, err := s.HalideBody(b, "", "f inline\\\ng inline\n"); err == nil {
			t.Errorf("%s: a comment that goes on in the next line", file)
		}
		if again, err := ParseHalide([]byte(whole), b); err != nil || again.Hash() != s.Hash() {
			t.Errorf("%s: the whole file reads otherwise: %v", file, err)
		}
	}
}

// TestHalideWrongPipeline reads each sample for every other pipeline: an error
// with a line, or a schedule that fits.
func TestHalideWrongPipeline(t *testing.T) {
	files, _ := filepath.Glob("testdata/halide/*.schedule.h")
	refused := 0
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range []string{"harris", "unsharp", "hist", "iir_blur", "conv_layer", "sum1", "toy"} {
			b := binding(t, other)
			s, err := ParseHalide(src, b)
			var at *HalideError
			switch {
			case err == nil:
				if err := s.Check(b); err != nil {
					t.Errorf("%s for %s: %v", file, other, err)
				}
			case !errors.As(err, &at) || at.Line < 1:
				t.Errorf("%s for %s: no line: %v", file, other, err)
			default:
				refused++
			}
		}
	}
	if refused < 30 {
		t.Errorf("only %d refused", refused)
	}
}

func TestHalideNames(t *testing.T) {
	b := Binding{Funcs: []FuncBinding{
		{Name: "f$1", Dims: []string{"x", "int"}, Stages: [][]string{{"x", "int"}, {"x", "r$x"}}},
		{Name: "f_1", Dims: []string{"f$1"}, Stages: [][]string{{"f$1"}}},
		{Name: "target", Dims: []string{"x"}, Stages: [][]string{{"x"}}},
	}}
	s := mustParse(t, `
f$1.reorder(int, x)
f$1.update(0).rename(r$x, x.y)
f_1.vectorize(f$1)
target.split(x, pipeline, r_x, 4)
`)
	body, err := s.HalideBody(b, "", "")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for line := range strings.Lines(body) {
		var class, name string
		if n, _ := fmt.Sscanf(strings.NewReplacer("(", " ", "=", " ").Replace(line), "%s %s", &class, &name); n < 2 {
			continue
		}
		if class != "Func" && class != "Var" && class != "RVar" {
			continue
		}
		if declared[name] || name == "target" || name == "pipeline" || name == "int" {
			t.Errorf("%s is declared twice or means something else", name)
		}
		declared[name] = true
	}
	if len(declared) != 10 {
		t.Errorf("%d names declared in\n%s", len(declared), body)
	}
	checkHalide(t, s, b)
}

func FuzzParseHalide(f *testing.F) {
	files, _ := filepath.Glob("testdata/halide/*.schedule.h")
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Add([]byte(`Func w = f.in({g, h}); w.tile({x}, {xi}, {8}); hist.update().rfactor({{r$x, u}}).compute_at(LoopLevel(f, x, 0));`))
	b := binding(f, "toy")
	b.Funcs = append(b.Funcs, binding(f, "hist").Funcs...)
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := ParseHalide(src, b)
		if err != nil {
			return
		}
		if err := s.Check(b); err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
		if _, err := s.HalideBody(b, "", ""); err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
	})
}

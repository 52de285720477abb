package tune

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/space"
)

// work is what a workload is made of.
type work struct {
	o      Options
	g      *bridge.Generator
	p      *pipeline.Pipeline
	inputs []bridge.Input
}

// What changes a schedule's time makes another key, and nothing else does: times under one
// key are compared.
func TestKeysTellWorkloadsApart(t *testing.T) {
	dir := t.TempDir()
	fill := func(name, content string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return "raw:" + path
	}
	made := func() *work {
		t.Helper()
		return &work{
			valid(),
			&bridge.Generator{
				Name: "harris", Params: []bridge.Param{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}},
				Toolchain: &bridge.Toolchain{Halide: &bridge.Halide{Version: "21.0.0"}},
			},
			pipelinetest.Described(t, "harris.h21"),
			[]bridge.Input{{Name: "input", Fill: fill("input", "a picture")}, {Name: "factor", Value: "2"}},
		}
	}
	key := func(w *work) string {
		t.Helper()
		out, err := workload(w.o, w.g, w.p, w.inputs)
		if err != nil {
			t.Fatal(err)
		}
		return out.Key()
	}
	variable, permitted, _ := strings.Cut(bridge.PermitUnroll, "=")
	t.Setenv(variable, "") // whoever runs the test may permit it
	first := key(made())
	for name, c := range map[string]struct {
		change func(*work)
		same   bool
	}{
		"nothing":                      {func(*work) {}, true},
		"parameters in another order":  {func(w *work) { w.g.Params[0], w.g.Params[1] = w.g.Params[1], w.g.Params[0] }, true},
		"the same file elsewhere":      {func(w *work) { w.inputs[0].Fill = fill("copy", "a picture") }, true},
		"how it is searched":           {func(w *work) { w.o.Search, w.o.Seed, w.o.Trials = "evolve", 7, 7 }, true},
		"another file at its place":    {func(*work) { fill("input", "a Picture") }, false},
		"another rule":                 {func(w *work) { w.inputs[0].Fill = "random:1" }, false},
		"another size of an input":     {func(w *work) { w.inputs[0].Extents = []int64{1536, 2560, 4} }, false},
		"another scalar":               {func(w *work) { w.inputs[1].Value = "3" }, false},
		"another estimate":             {func(w *work) { w.p.Funcs[0].Estimate[0].Max++ }, false},
		"another estimate of an input": {func(w *work) { w.p.Params[0].Extents[0]++ }, false},
		"another parameter's value":    {func(w *work) { w.g.Params[1].Value = "3" }, false},
		"one parameter less":           {func(w *work) { w.g.Params = w.g.Params[:1] }, false},
		"more threads":                 {func(w *work) { w.o.Threads++ }, false},
		"another structure":            {func(w *work) { w.p = w.p.WithStructure([]string{"output.in()"}) }, false},
		"another algorithm":            {func(w *work) { w.p.Algorithm += "0" }, false},
		"another Halide":               {func(w *work) { w.g.Toolchain.Halide.Version = "19.0.0" }, false},
		"the same Halide elsewhere":    {func(w *work) { w.g.Toolchain.Halide.Root = "elsewhere" }, true},
		"another build of Halide":      {func(w *work) { w.g.Toolchain.Halide.Build = "b" }, false},
		"another target":               {func(w *work) { w.p.Target += "-no_asserts" }, false},
		"another tolerance":            {func(w *work) { w.o.Protocol.IntegerEvery++ }, false},
	} {
		w := made()
		c.change(w)
		if got := key(w); (got == first) != c.same {
			t.Errorf("%s: the key is the same: %t", name, got == first)
		}
	}
	t.Setenv(variable, permitted)
	if key(made()) == first {
		t.Error("loops that cannot be unrolled may be kept: the key is the same")
	}
	w := made()
	w.inputs[0].Fill = "raw:" + filepath.Join(dir, "nowhere")
	if _, err := workload(w.o, w.g, w.p, w.inputs); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the input's file: %v", err)
	}
}

// TestRunsKeepTheirOptions: a run can be repeated from what the database has of it.
func TestRunsKeepTheirOptions(t *testing.T) {
	o := Defaults()
	o.Generator = bridge.Options{Path: "f.cpp", Params: []bridge.Param{{Name: "taps", Value: "5"}}, CompileFlags: []string{"-DN=3"}}
	o.Judge, o.Unmeasured, o.Trials, o.Finalists, o.Weights = false, true, 7, 2, "mine.weights"
	so := space.Defaults(3)
	so.Sized = true
	screening := o
	screening.Protocol.Relative *= 10
	text, err := json.Marshal(newManifest(screening, o.Protocol, so))
	if err != nil {
		t.Fatal(err)
	}
	var back manifest
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.Options, o) || back.Space != so || back.Program == "" || back.CPU == "" {
		t.Errorf("of %+v there is %+v", o, back)
	}
}

// TestProcessorsHaveNames: machines of other processors are told apart where Linux gives
// numbers in place of a name.
func TestProcessorsHaveNames(t *testing.T) {
	for info, want := range map[string]string{
		"processor\t: 0\nmodel name\t: A Fast One\nflags\t: sse\n": "A Fast One",
		"processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU variant\t: 0x1\nCPU part\t: 0xd05\n": runtime.GOARCH +
			" implementer 0x41 variant 0x3 part 0xd0c variant 0x1 part 0xd05",
		"": runtime.GOARCH,
	} {
		if got := cpuModel(info); got != want {
			t.Errorf("%q is %q, want %q", info, got, want)
		}
	}
}

package bridge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

var directivesGenerator = filepath.Join("..", "..", "halide", "testdata", "directives_generator.cpp")

// allOps are all that a schedule can say.
var allOps = []schedule.Op{
	schedule.ComputeRoot, schedule.ComputeInline, schedule.ComputeAt, schedule.StoreRoot, schedule.StoreAt, schedule.HoistStorage,
	schedule.HoistStorageRoot, schedule.StoreIn, schedule.ReorderStorage, schedule.FoldStorage, schedule.AlignStorage,
	schedule.BoundStorage, schedule.Bound, schedule.BoundExtent, schedule.AlignBounds, schedule.AlignExtent, schedule.Split,
	schedule.Fuse, schedule.Reorder, schedule.Rename, schedule.Serial, schedule.Parallel, schedule.Vectorize, schedule.Unroll,
	schedule.Atomic, schedule.AllowRaceConditions, schedule.ComputeWith, schedule.Prefetch, schedule.Specialize, schedule.RFactor, schedule.In, schedule.CloneIn,
}

type namedSchedule struct {
	name string
	schedule.Schedule
}

// directiveSchedules reads testdata/directives.txt, which together says everything.
func directiveSchedules(t *testing.T) []namedSchedule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "directives.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []namedSchedule
	said := map[schedule.Op]bool{}
	for _, part := range strings.Split("\n"+string(text), "\n== ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		s, err := schedule.Parse(body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, d := range s.Directives {
			said[d.Op] = true
		}
		out = append(out, namedSchedule{name, s})
	}
	for _, op := range allOps {
		if !said[op] {
			t.Errorf("no schedule says %s", op)
		}
	}
	return out
}

// twoAtATime runs f on every element, each as a test of its own.
func twoAtATime[T any](t *testing.T, all []T, name func(T) string, f func(t *testing.T, x T)) {
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for _, x := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			t.Run(name(x), func(t *testing.T) { f(t, x) })
		})
	}
	wg.Wait()
}

// TestEveryDirectiveApplies compiles and runs, under both versions, schedules that
// together hold every directive there is.
func TestEveryDirectiveApplies(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		s, _, _ := serveGenerator(t, version, directivesGenerator, "directives", Options{}, ServerOptions{})
		twoAtATime(t, directiveSchedules(t), func(n namedSchedule) string { return n.name }, func(t *testing.T, n namedSchedule) {
			if err := runsOf(t.Context(), s, BuildRequest{Schedule: n.Schedule}, 1); err != nil {
				t.Errorf("%v\n%s", err, n)
			}
		})
	})
}

// TestScheduleFilesCompileAndApply writes each of those schedules as a .schedule.h,
// compiles a Generator that includes them all, and runs what it builds with each
// one against the reference.
func TestScheduleFilesCompileAndApply(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		_, p, ref := serveGenerator(t, version, directivesGenerator, "directives", Options{}, ServerOptions{})
		schedules := directiveSchedules(t)
		header := writeScheduleFiles(t, version, p, schedules)
		g := openApp(t, version, directivesGenerator, Options{
			CompileFlags: []string{fmt.Sprintf("-DSCHEDULES=%q", header), "-I" + filepath.Dir(header)},
		})
		runner, err := g.Toolchain.Runner(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		type numbered struct {
			namedSchedule
			number int
		}
		var all []numbered
		for i, s := range schedules {
			all = append(all, numbered{s, i})
		}
		twoAtATime(t, all, func(n numbered) string { return n.name }, func(t *testing.T, n numbered) {
			dir, h := t.TempDir(), *g
			h.Params = []Param{{"which", fmt.Sprint(n.number)}}
			e := Emission{Dir: dir, Function: "directives", Outputs: []string{"static_library", "c_header"}}
			if err := h.Emit(t.Context(), "", nil, Limits{Time: time.Minute}, e); err != nil {
				t.Fatalf("%v\n%s", err, n)
			}
			library, err := g.Toolchain.Library(t.Context(), filepath.Join(dir, "directives.a"), dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := (Fresh{Runner: runner, Library: library, Function: "directives", Data: ref.Data}).Run(t.Context(), quick); err != nil {
				t.Errorf("%v\n%s", err, n)
			}
		})
	})
}

// writeScheduleFiles gives a header that includes every schedule's .schedule.h and
// applies the one of a number. It lies where it lay in the last run, so that the
// Generator that includes it is compiled once.
func writeScheduleFiles(t *testing.T, version string, p *pipeline.Pipeline, schedules []namedSchedule) string {
	t.Helper()
	dir := filepath.Join(DefaultCache().Dir, "test-schedules-"+version)
	var all, cases strings.Builder
	for i, s := range schedules {
		name := fmt.Sprintf("number_%d", i)
		text, err := s.Halide(p.Binding(), schedule.HalideFile{Name: name, Target: "host", Algorithm: p.Algorithm})
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if hash, ok := schedule.HalideAlgorithm([]byte(text)); !ok || hash != p.Algorithm {
			t.Errorf("%s: the algorithm's hash is %q, want %q", s.name, hash, p.Algorithm)
		}
		writeFile(t, filepath.Join(dir, name+".schedule.h"), text)
		fmt.Fprintf(&all, "#include \"%s.schedule.h\"\n", name)
		fmt.Fprintf(&cases, "    case %d: apply_schedule_%s(p, t); break;\n", i, name)
	}
	header := filepath.Join(dir, "schedules.h")
	writeFile(t, header, all.String()+"inline void apply_schedules(int which, Halide::Pipeline p, Halide::Target t) {\n    switch (which) {\n"+
		cases.String()+"    default: break;\n    }\n}\n")
	return header
}

// TestForeignSchedulesApply lets the installed autoschedulers write .schedule.h
// files, reads them and runs what they say.
func TestForeignSchedulesApply(t *testing.T) {
	type foreign struct {
		scheduler string
		params    []Param
	}
	schedulers := []foreign{
		{"adams2019", []Param{{"beam_size", "1"}, {"parallelism", "2"}}},
		{"mullapudi2016", []Param{{"parallelism", "2"}}},
		{"li2018", []Param{{"parallelism", "2"}}},
	}
	everyVersion(t, func(t *testing.T, version string) {
		for _, app := range []string{"harris", "hist"} {
			s, p, _ := serveGenerator(t, version, appSource(app), app, Options{}, ServerOptions{})
			g := openApp(t, version, appSource(app), Options{Name: app})
			twoAtATime(t, schedulers, func(f foreign) string { return app + "/" + f.scheduler }, func(t *testing.T, f foreign) {
				dir := t.TempDir()
				e := Emission{Dir: dir, Function: app, Outputs: []string{"schedule"}}
				if err := g.Emit(t.Context(), f.scheduler, f.params, Limits{Time: 2 * time.Minute}, e); err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(filepath.Join(dir, app+".schedule.h"))
				if err != nil {
					t.Fatal(err)
				}
				read, err := schedule.ParseHalide(text, p.Binding())
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				if len(read.Directives) == 0 {
					t.Fatalf("nothing was read of\n%s", text)
				}
				b := BuildRequest{Schedule: read}
				once := quick
				once.MinSamples, once.MaxSamples = 1, 1
				if p.UsesFloats() {
					once.Integer, once.Share = 2, 1e-3 // as measure.Protocol.ForPipeline allows
				}
				c, err := s.Build(t.Context(), b)
				if err != nil {
					t.Fatalf("%v\n%s", err, read)
				}
				defer c.Drop()
				if _, err := c.Run(t.Context(), once); err != nil {
					t.Errorf("%v\n%s", err, read)
				}
			})
		}
	})
}

// What is compiled for one size alone is right there and fails at any other, which the
// whole does not; an input that is not there is refused by name.
func TestOnlySpecial(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		s, _, _ := serveGenerator(t, version, filepath.Join("..", "..", "apps", "unsharp", "unsharp_generator.cpp"), "unsharp", Options{}, ServerOptions{})
		const plain = "output.split(y, yo, yi, 16)\noutput.parallel(yo)\nluma.compute_at(output, yo)\n"
		special, err := schedule.Parse(plain + "output.specialize(x, 0, 1536, y, 0, 2560, c, 0, 3, input[0, 1536, 0, 2560, 0, 3])\n")
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Build(t.Context(), BuildRequest{Schedule: special, OnlySpecial: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(t.Context(), quick); err != nil {
			t.Error(err)
		}
		c.Drop()
		if err := runsOf(t.Context(), s, BuildRequest{Schedule: special}, 1); err != nil {
			t.Errorf("the whole: %v", err)
		}
		if err := runsOf(t.Context(), s, BuildRequest{Schedule: special, OnlySpecial: true}, 1); err == nil {
			t.Error("what is compiled for one size alone works at another")
		}
		for _, input := range []string{"inputs[0, 1536, 0, 2560, 0, 3]", "input[0, 1536, 0, 2560]"} {
			none, err := schedule.Parse(plain + "output.specialize(x, 0, 1536, y, 0, 2560, c, 0, 3, " + input + ")\n")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Build(t.Context(), BuildRequest{Schedule: none}); err == nil || !strings.Contains(err.Error(), "there is no input input") {
				t.Errorf("%s: %v", input, err)
			}
		}
	})
}

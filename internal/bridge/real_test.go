package bridge

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge/bridgetest"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// halideDir is the tested installation of that version that `make` unpacked. A
// missing one fails: a suite that skips where it was not asked to (-short) proves nothing.
func halideDir(t testing.TB, version string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
	dir := filepath.Join(DataDir(), "halide", version)
	if !exists(dir) {
		t.Fatalf("Halide %s is not in %s; run scripts/halide.sh %s", version, dir, version)
	}
	return dir
}

func openApp(t testing.TB, version, source string, o Options) *Generator {
	t.Helper()
	o.Path = source
	o.HalideDir = halideDir(t, version)
	g, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func appSource(name string) string {
	return filepath.Join("..", "..", "apps", name, name+"_generator.cpp")
}

// everyVersion runs a test on each Halide that is supported.
func everyVersion(t *testing.T, f func(t *testing.T, version string)) {
	for _, v := range TestedVersions {
		t.Run("halide"+v, func(t *testing.T) { f(t, v) })
	}
}

// plain computes every Func at root, the plainest schedule there is.
func plain(p *pipeline.Pipeline) schedule.Schedule {
	var ds []schedule.Directive
	for _, f := range p.Funcs {
		if !f.Input && !f.Output && f.MustInline == "" {
			ds = append(ds, schedule.Directive{Op: schedule.ComputeRoot, Func: f.Name})
		}
	}
	return schedule.Schedule{Directives: ds}
}

var quick = RunProtocol{
	Tolerance: check.Tolerance, MinTotal: time.Millisecond, MinSamples: 2, MaxSamples: 5, Timeout: 20 * time.Second,
}

// check asks for a comparison at a smaller size once a candidate is built.
var check = &CheckProtocol{Tolerance: Tolerance{Relative: 1e-4, Absolute: 1e-5}}

func serveHarris(t *testing.T, version string, faults bool, o ServerOptions) (*Server, *pipeline.Pipeline) {
	t.Helper()
	s, p, _ := serve(t, openApp(t, version, appSource("harris"), Options{Faults: faults}), o)
	return s, p
}

// serve starts a fork server whose reference is the plainest schedule.
func serve(t *testing.T, g *Generator, o ServerOptions) (*Server, *pipeline.Pipeline, *Reference) {
	t.Helper()
	p, err := g.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if o.BuildTime == 0 {
		o.BuildTime = 2 * time.Minute
	}
	s, err := g.Serve(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	ref, err := s.Reference(t.Context(), plain(p))
	if err != nil {
		t.Fatal(err)
	}
	return s, p, ref
}

func TestServesRealCandidates(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		s, p := serveHarris(t, version, false, ServerOptions{})
		for name, b := range map[string]BuildRequest{
			"plain": {Schedule: plain(p), Check: check},
			"own":   {Own: true, Check: check},
		} {
			c, err := s.Build(t.Context(), b)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for range 2 {
				r, err := c.Run(t.Context(), quick)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if len(r.Samples) < 2 || r.Samples[0] <= 0 {
					t.Fatalf("%s: samples %v", name, r.Samples)
				}
			}
			c.Drop()
		}
	})
}

// What is updated in place begins at the same values each time, so that it can be compared
// after any number of executions.
func TestUpdatesInPlace(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		source := filepath.Join("..", "..", "halide", "testdata", "describe_generators.cpp")
		s, p, _ := serve(t, openApp(t, version, source, Options{Name: "in_place"}), ServerOptions{})
		c, err := s.Build(t.Context(), BuildRequest{Schedule: plain(p), Check: check})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := c.Run(t.Context(), quick); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What is right each time it is looked at may still break whoever calls it.
func TestSeesWritesBesideIntermediates(t *testing.T) {
	const gates = `gates.compute_root()
gates.update(0).split(i, i, ii, 128, guard_with_if)
gates.update(0).split(ii, ii, iii, 64, guard_with_if)
gates.update(0).reorder(iii, k$x, ii, i)
`
	everyVersion(t, func(t *testing.T, version string) {
		source := filepath.Join("..", "..", "halide", "testdata", "overrun_generator.cpp")
		s, _, _ := serve(t, openApp(t, version, source, Options{Name: "gates"}), ServerOptions{})
		sch, err := schedule.Parse(gates)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Build(t.Context(), BuildRequest{Schedule: sch, Check: check}); err == nil || !strings.Contains(err.Error(), "wrong_output: what is computed in between is written outside its memory") {
			t.Errorf("a tile that is not full: %v", err)
		}
		g := openApp(t, version, source, Options{Name: "overrun"})
		p, err := g.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, err = g.Serve(t.Context(), ServerOptions{BuildTime: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.Reference(t.Context(), plain(p)); err == nil || !strings.Contains(err.Error(), "the algorithm writes outside the memory") {
			t.Errorf("a promise that does not hold: %v", err)
		}
	})
}

// Executions far beyond the best go on for as long as caches may still be filling.
func TestShortExecutionsGetWarm(t *testing.T) {
	source := filepath.Join("..", "..", "halide", "testdata", "describe_generators.cpp")
	s, p, _ := serve(t, openApp(t, TestedVersions[0], source, Options{Name: "in_place"}), ServerOptions{})
	c, err := s.Build(t.Context(), BuildRequest{Schedule: plain(p), Check: check})
	if err != nil {
		t.Fatal(err)
	}
	run := quick
	run.MinTotal, run.MaxSamples, run.GiveUp = 30*time.Millisecond, 200, 1
	r, err := c.Run(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	var total time.Duration
	for _, d := range r.Samples {
		total += d
	}
	if total < 3*time.Millisecond && len(r.Samples) < 200 {
		t.Errorf("given up after %v in %d executions", total, len(r.Samples))
	}
}

func TestEndsHopelessExecutions(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		s, p := serveHarris(t, version, false, ServerOptions{})
		hopeless := *check
		hopeless.Hopeless = 1 // a nanosecond of processor time
		var failure *Failure
		if _, err := s.Build(t.Context(), BuildRequest{Schedule: plain(p), Check: &hopeless}); !errors.As(err, &failure) || failure.Status != "timed_out" {
			t.Fatalf("a nanosecond was enough: %v", err)
		}
		hopeless.Hopeless = time.Minute
		c, err := s.Build(t.Context(), BuildRequest{Schedule: plain(p), Check: &hopeless})
		if err != nil {
			t.Fatalf("a minute was not: %v", err)
		}
		defer c.Drop()
		run := quick
		run.Hopeless = 1
		if _, err := c.Run(t.Context(), run); !errors.As(err, &failure) || failure.Status != "timed_out" {
			t.Fatalf("a nanosecond was enough to run: %v", err)
		}
	})
}

// Half the estimated rows hold no tile of 1500, ten less than them do; tiles of all
// rows fit no smaller size.
func TestChecksAtASizeThatTilesFit(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		s, p := serveHarris(t, version, false, ServerOptions{})
		tiled := func(rows int64) (*Candidate, error) {
			what := plain(p)
			what.Directives = append(what.Directives, schedule.Directive{
				Op: schedule.Split, Func: "output", Vars: []string{"y"}, New: []string{"yo", "yi"}, Ints: []int64{rows}, Word: "shift_inwards",
			})
			return s.Build(t.Context(), BuildRequest{Schedule: what, Check: check})
		}
		c, err := tiled(1500)
		if err != nil {
			t.Fatalf("tiles that fit the larger of the smaller sizes: %v", err)
		}
		c.Drop()
		var failure *Failure
		if _, err := tiled(2554); !errors.As(err, &failure) || failure.Status != "crashed" {
			t.Errorf("tiles that fit none: %v", err)
		}
	})
}

// A hand-written schedule that directives can say is read whole, with what it factors, and
// where nothing has a name in the Generator, so that two builds of it share none.
func TestReadsOwnSchedules(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		for _, source := range []string{appSource("harris"), appSource("softmax"), ownSource("unnamed")} {
			g := openApp(t, version, source, Options{})
			own, err := g.Own(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !own.Complete {
				t.Fatalf("%s is incomplete: %v", source, own.Notes)
			}
			s, _, _ := serve(t, g, ServerOptions{})
			c, err := s.Build(t.Context(), BuildRequest{Schedule: own.Schedule, Check: check})
			if err != nil {
				t.Fatalf("%s: %v", source, err)
			}
			if _, err := c.Run(t.Context(), quick); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Funcs that only a number tells apart belong together by it, also where the second build's
// have one digit and two, which alphabetical order would mix.
func TestPairsNumberedFuncs(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		for _, name := range []string{"none", "term"} {
			g := openApp(t, version, ownSource("numbered"), Options{Params: []Param{{"name", name}}})
			own, err := g.Own(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p, err := g.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var terms []string
			for _, f := range p.Funcs {
				if !f.Input && !f.Output {
					terms = append(terms, f.Name)
				}
			}
			slices.Sort(terms) // all numbers have one digit
			if len(terms) != 7 {
				t.Fatalf("named %q: %v", name, terms)
			}
			want := schedule.Schedule{Directives: []schedule.Directive{
				{Op: schedule.ComputeRoot, Func: terms[1]},
				{Op: schedule.ComputeRoot, Func: terms[5]},
				{Op: schedule.StoreIn, Func: terms[5], Word: "stack"},
			}}
			got := slices.Clone(own.Schedule.Directives)
			slices.SortStableFunc(got, func(a, b schedule.Directive) int { return strings.Compare(a.Func, b.Func) })
			if own.Schedule.Directives = got; !own.Complete || own.Schedule.String() != want.String() {
				t.Errorf("named %q: complete %v, got\n%swant\n%s", name, own.Complete, own.Schedule, want)
			}
		}
	})
}

// A Func that is called as what rfactor makes of another would be is its own all the same.
func TestReadsFuncsCalledAsPartialSums(t *testing.T) {
	source := bridgetest.Source(t, `#include "Halide.h"
class Sum : public Halide::Generator<Sum> {
public:
    Input<Buffer<float, 1>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};
    void generate() {
        Halide::Var x("x"), y("y");
        Halide::RDom r(0, 8);
        Halide::Func sum("sum"), twice("sum_intm");
        twice(x) = input(x) * 2.0f;
        sum(x, y) += twice(x + r) * y;
        output(x, y) = sum(x, y);
        input.set_estimates({{0, 328}});
        output.set_estimates({{0, 320}, {0, 64}});
        if (using_autoscheduler()) return;
        sum.compute_root();
        twice.compute_root().vectorize(x, 8);
    }
};
HALIDE_REGISTER_GENERATOR(Sum, sum)
`)
	everyVersion(t, func(t *testing.T, version string) {
		own, err := openApp(t, version, source, Options{}).Own(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if text := own.Schedule.String(); !own.Complete || !strings.Contains(text, "sum_intm.compute_root()\n") {
			t.Errorf("complete %v, %v:\n%s", own.Complete, own.Notes, text)
		}
	})
}

func ownSource(name string) string {
	return filepath.Join("..", "..", "halide", "testdata", name+"_generator.cpp")
}

// What a hand-written schedule says beyond directives is said to be left out, and what
// the algorithm itself promises is not.
func TestOwnSchedulesThatSayMore(t *testing.T) {
	source := ownSource("own")
	everyVersion(t, func(t *testing.T, version string) {
		for also, want := range map[string]string{
			"nothing": "", "extent": "alignment of output", "stride": "alignment of input", "alignment": "alignment of output",
			"async": "asynchronous", "partition": "partitioned", "specialize": "specialized", "memory": "memory",
			"stages": "other dimensions or stages",
		} {
			own, err := openApp(t, version, source, Options{Params: []Param{{Name: "also", Value: also}}}).Own(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(own.Notes, "; ")
			if own.Complete != (want == "") || !strings.Contains(notes, want) {
				t.Errorf("with %s: complete %v, %q", also, own.Complete, notes)
			}
		}
	})
}

// Histogram equalisation turns floats into integers, some of which lie on the edge of
// two: its hand-written schedule and the plain one differ there unless floats are strict.
func TestStrictFloatsMakeIntegersExact(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		s, _, _ := serve(t, openApp(t, version, appSource("hist"), Options{}).Strict(), ServerOptions{})
		c, err := s.Build(t.Context(), BuildRequest{Own: true, Check: check})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(t.Context(), quick); err != nil {
			t.Fatal(err)
		}
	})
}

// Where floats are not strict the two are held to be the same by a share of the largest
// value, here that of two levels of brightness.
func TestIntegersMayBeOffByAShareOfTheLargest(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		s, _, _ := serve(t, openApp(t, version, appSource("hist"), Options{}), ServerOptions{})
		run := quick
		run.Largest, run.Share = 2.5/255, 0.05
		c, err := s.Build(t.Context(), BuildRequest{Own: true, Check: &CheckProtocol{Tolerance: run.Tolerance}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	})
}

// Nor where so few of them are off that it does not matter by how much.
func TestAFewElementsMayStray(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		s, _, _ := serve(t, openApp(t, version, appSource("hist"), Options{}), ServerOptions{})
		for share, right := range map[float64]bool{0.05: true, 1e-9: false} {
			run := quick
			run.Stray = share
			c, err := s.Build(t.Context(), BuildRequest{Own: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Run(t.Context(), run); (err == nil) != right {
				t.Errorf("a share of %g astray: %v", share, err)
			}
			c.Drop()
		}
	})
}

// Of a hundred elements one may, where any may at all: it is no share of fewer than a thousand.
func TestOneElementMayStray(t *testing.T) {
	const otherwise = "exact.compute_root()\nsum.compute_root()\nsum.update(0).reorder(x, r$y, r$x)\n"
	everyVersion(t, func(t *testing.T, version string) {
		source := filepath.Join("..", "..", "halide", "testdata", "rest_generator.cpp")
		s, _, _ := serve(t, openApp(t, version, source, Options{}), ServerOptions{})
		sch, err := schedule.Parse(otherwise)
		if err != nil {
			t.Fatal(err)
		}
		for share, right := range map[float64]bool{1e-3: true, 0: false} {
			run := quick
			run.Stray = share
			c, err := s.Build(t.Context(), BuildRequest{Schedule: sch})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Run(t.Context(), run); (err == nil) != right || err != nil && !strings.Contains(err.Error(), "1 of 128 elements") {
				t.Errorf("a share of %g astray: %v", share, err)
			}
			c.Drop()
		}
	})
}

// Scalars have their value, in whatever type and whichever it is: of what was computed the
// first elements are the scalars themselves.
func TestScalarsKeepTheirValue(t *testing.T) {
	const source = "../../halide/testdata/floats_generators.cpp"
	infinite := float32(math.Inf(1))
	everyVersion(t, func(t *testing.T, version string) {
		for _, c := range []struct {
			inputs []Input
			want   [4]float32
		}{
			{nil, [4]float32{1.5, -2.5, infinite, 3 + 7}},
			{[]Input{{Name: "limit", Value: "-Inf"}}, [4]float32{1.5, -2.5, -infinite, 3 + 7}},
		} {
			s, p, ref := serveGenerator(t, version, source, "scalars", Options{Params: []Param{{"half.type", "float16"}, {"brain.type", "bfloat16"}}}, ServerOptions{Inputs: c.inputs})
			if err := runsOf(t.Context(), s, BuildRequest{Schedule: plain(p)}, 1); err != nil {
				t.Error(err)
			}
			var set struct {
				Path  string
				Slots []struct {
					Output  bool
					Regions []struct{ Offset int64 }
				}
			}
			if err := json.Unmarshal(ref.Data, &set); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(set.Path)
			if err != nil {
				t.Fatal(err)
			}
			var got [4]float32
			for _, slot := range set.Slots {
				if slot.Output {
					if _, err := binary.Decode(data[slot.Regions[0].Offset:], binary.LittleEndian, &got); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		}
	})
}

// A constraint says how large an input is where no estimate does, a default value what a scalar
// is: the data are made of what the description says.
func TestConstraintsAndDefaultsAreEstimates(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		s, p, ref := serveGenerator(t, version, testGenerators, "promises", Options{}, ServerOptions{})
		if in := ref.Inputs["input"]; !slices.Equal(in.Mins, []int64{0, 0, 0}) || !slices.Equal(in.Extents, []int64{66, 64, 3}) {
			t.Errorf("the input lies in %v", in)
		}
		if err := runsOf(t.Context(), s, BuildRequest{Schedule: plain(p)}, 1); err != nil {
			t.Error(err)
		}
	})
}

// What is infinite is close to nothing but itself.
func TestInfiniteResultsAreCompared(t *testing.T) {
	const source = "../../halide/testdata/floats_generators.cpp"
	everyVersion(t, func(t *testing.T, version string) {
		s, p, _ := serveGenerator(t, version, source, "overflow", Options{}, ServerOptions{})
		if err := runsOf(t.Context(), s, BuildRequest{Schedule: plain(p)}, 1); err != nil {
			t.Errorf("the same: %v", err)
		}
		finite, err := schedule.Parse("sum.compute_root()\nsum.update(0).reorder(x, r$y, r$x)\n")
		if err != nil {
			t.Fatal(err)
		}
		err = runsOf(t.Context(), s, BuildRequest{Schedule: finite}, 1)
		var f *Failure
		if !errors.As(err, &f) || f.Status != "wrong_output" || !strings.Contains(f.Message, "reference inf") {
			t.Errorf("a finite sum where the reference's is infinite: %v", err)
		}
	})
}

// What calls functions of its own program is described, and refused once it is to be measured:
// candidates are loaded without them. Those of the C library are there.
func TestOwnFunctionsAreRefused(t *testing.T) {
	everyVersion(t, func(t *testing.T, version string) {
		for call, name := range map[string]string{"library": "", "function": "protuner_test_twice", "stage": "protuner_test_stage"} {
			g := openApp(t, version, "../../halide/testdata/extern_generators.cpp", Options{Params: []Param{{"call", call}}})
			p, err := g.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s, err := g.Serve(t.Context(), ServerOptions{BuildTime: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			_, err = s.Reference(t.Context(), plain(p))
			if name == "" {
				if err == nil {
					err = runsOf(t.Context(), s, BuildRequest{Schedule: plain(p)}, 1)
				}
				if err != nil {
					t.Errorf("%s: %v", call, err)
				}
				continue
			}
			var f *Failure
			if !errors.As(err, &f) || f.Status != "build_failed" || !strings.Contains(f.Message, "without your program (undefined symbol: "+name+")") {
				t.Errorf("%s: %v", call, err)
			}
		}
	})
}

func TestFaultsAreTyped(t *testing.T) {
	typed := map[string]int{} // faults, by version
	everyVersion(t, func(t *testing.T, version string) {
		marked := mark(t)
		// The server's limit is for what hangs; all else has time on slow machines.
		s, p := serveHarris(t, version, true, ServerOptions{MemoryBytes: 2 << 30, BuildTime: 2 * time.Second})
		const patient = 2 * time.Minute
		want := map[string]string{
			"crash": "crashed", "abort": "crashed", "exit": "crashed", "nonsense": "crashed", "truncate": "crashed",
			"flood": "crashed", "other": "crashed", "orphan": "crashed", "allocate": "out_of_memory",
			"hang": "timed_out", "spin": "timed_out",
		}
		for fault, status := range want {
			what := BuildRequest{Schedule: plain(p), Fault: fault}
			if status != "timed_out" {
				what.Limit = patient
			}
			_, err := s.Build(t.Context(), what)
			var f *Failure
			if !errors.As(err, &f) || f.Status != status {
				t.Errorf("%s: got %v, want %s", fault, err, status)
				continue
			}
			typed[version]++
		}
		// One that answers twice is found out at the second answer, whoever asks then.
		c, err := s.Build(t.Context(), BuildRequest{Schedule: plain(p), Limit: patient, Fault: "twice"})
		if err == nil {
			_, err = c.Run(t.Context(), quick)
		}
		var f *Failure
		if !errors.As(err, &f) || f.Status != "crashed" {
			t.Errorf("twice: got %v, want crashed", err)
		} else {
			typed[version]++
		}
		// After all of them an honest candidate is served as if nothing had been.
		c, err = s.Build(t.Context(), BuildRequest{Schedule: plain(p), Limit: patient, Check: check})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Run(t.Context(), quick); err != nil {
			t.Fatal(err)
		}
		c.Drop()
		// Dropping has no answer; it must have happened within a moment.
		settled(t, "files left behind", func() bool {
			left, _ := filepath.Glob(filepath.Join(s.Scratch(), "*"))
			left = slices.DeleteFunc(left, func(path string) bool { return strings.HasPrefix(filepath.Base(path), "parts") })
			return len(left) <= 1 // the data set
		})
		alone(t, s, marked)
		scratch := s.Scratch()
		s.Close()
		if exists(scratch) {
			t.Errorf("%s was left behind", scratch)
		}
	})
	t.Logf("figure: faults that were typed as what they are, by version of Halide: %v", typed)
}

// settled waits for something that happens by itself, and fails where it does not.
func settled(t *testing.T, otherwise string, done func() bool) {
	t.Helper()
	bridgetest.Settled(t, done, func() string { return otherwise })
}

// mark marks what the test starts from here on, and what that starts.
func mark(t *testing.T) string {
	t.Helper()
	m := t.TempDir()
	t.Setenv(bridgetest.MarkVariable, m)
	return m
}

// alone waits until the server is the last that lives of all with that mark: also of what it
// did not start itself, and what is nobody's child any more.
func alone(t *testing.T, s *Server, mark string) {
	t.Helper()
	bridgetest.Settled(t, func() bool {
		living := bridgetest.Marked(mark)
		return len(living) == 1 && strings.HasPrefix(living[0], strconv.Itoa(s.PID())+" ")
	}, func() string {
		return fmt.Sprintf("not the server, %d, alone lives on but %q", s.PID(), bridgetest.Marked(mark))
	})
}

func TestRefusedDirectivesAreBuildFailures(t *testing.T) {
	s, _ := serveHarris(t, DefaultVersion, false, ServerOptions{})
	for _, d := range []schedule.Directive{
		{Op: schedule.ComputeRoot, Func: "nobody"},
		{Op: schedule.Vectorize, Func: "output", Vars: []string{"nowhere"}},
		{Op: schedule.Vectorize, Func: "output", Vars: []string{"x"}}, // no constant extent
	} {
		_, err := s.Build(t.Context(), BuildRequest{Schedule: schedule.Schedule{Directives: []schedule.Directive{d}}})
		var f *Failure
		if !errors.As(err, &f) || f.Status != "build_failed" {
			t.Errorf("%v: got %v, want build_failed", d, err)
		}
	}
}

// Halide refuses to unroll a loop of unknown extent unless its environment permits it.
func TestOptionsReachTheEnvironment(t *testing.T) {
	unrolled := BuildRequest{Schedule: schedule.Schedule{Directives: []schedule.Directive{
		{Op: schedule.Unroll, Func: "output", Vars: []string{"y"}},
	}}}
	name, _, _ := strings.Cut(PermitUnroll, "=")
	t.Setenv(name, "") // whoever runs the test may permit it
	for _, env := range [][]string{nil, {PermitUnroll}} {
		s, _, _ := serve(t, openApp(t, DefaultVersion, appSource("harris"), Options{Env: env}), ServerOptions{})
		c, err := s.Build(t.Context(), unrolled)
		var f *Failure
		switch refused := errors.As(err, &f) && f.Status == "build_failed" && UnrollRefused(f.Message); {
		case env == nil && !refused:
			t.Errorf("without the permission: got %v, want build_failed by what UnrollRefused knows", err)
		case env != nil && err != nil:
			t.Errorf("with %v: %v", env, err)
		case err == nil:
			c.Drop()
		}
	}
}

func TestDroppedWorkStops(t *testing.T) {
	marked := mark(t)
	s, p := serveHarris(t, DefaultVersion, true, ServerOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := s.Build(ctx, BuildRequest{Schedule: plain(p), Fault: "hang"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	alone(t, s, marked)
}

// Buffers are stored as the pipeline asks for, also where that leaves room between elements.
func TestRoomBetweenElements(t *testing.T) {
	const source = "../../halide/testdata/targets_generator.cpp"
	everyVersion(t, func(t *testing.T, version string) {
		s, p, _ := serveGenerator(t, version, source, "padded", Options{}, ServerOptions{})
		if s.Sizes() < 2 {
			t.Errorf("%d sizes", s.Sizes())
		}
		if err := runsOf(t.Context(), s, BuildRequest{Schedule: plain(p)}, 2); err != nil {
			t.Error(err)
		}
		// A version for this size is taken, too.
		special, err := schedule.Parse("output.specialize(x, 0, 320, y, 0, 200, c, 0, 3, input[0, 321, 0, 200, 0, 3], planes[0, 321, 0, 200, 0, 3])\n")
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Build(t.Context(), BuildRequest{Schedule: special, OnlySpecial: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Drop()
		if _, err := c.Run(t.Context(), quick); err != nil {
			t.Error(err)
		}
	})
}

// Where the server's folder is gone that is no candidate's fault, whatever it meets of it.
func TestTheFolderIsGone(t *testing.T) {
	s, p, _ := serveGenerator(t, DefaultVersion, appSource("sobel"), "", Options{}, ServerOptions{})
	built, err := s.Build(t.Context(), BuildRequest{Schedule: plain(p), Check: check})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(s.Scratch()); err != nil {
		t.Fatal(err)
	}
	var f *Failure
	if _, err := built.Run(t.Context(), quick); err != nil && (!errors.As(err, &f) || f.Status != "infra_failed") {
		t.Errorf("one that was built: %v", err)
	}
	if _, err := s.Build(t.Context(), BuildRequest{Schedule: plain(p), Check: check}); !errors.As(err, &f) || f.Status != "infra_failed" {
		t.Errorf("one that is built: %v", err)
	}
}

package tune

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/bridge/bridgetest"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// defaultHalide is the installation that `make` unpacked, whatever the environment names.
func defaultHalide() string { return filepath.Join(bridge.DataDir(), "halide", bridge.DefaultVersion) }

// served is a tuner of a Generator on two cores, whose reference is computed. On x86-64 its
// target is that of the golden descriptions: what is drawn of the space differs with a
// machine's vectors.
func served(t *testing.T, g bridge.Options) *tuner {
	t.Helper()
	g.HalideDir = defaultHalide()
	if runtime.GOARCH == "amd64" {
		g.Params = append(g.Params, bridge.Param{Name: "target", Value: "x86-64-linux-avx-avx2-f16c-fma-sse41"})
	}
	o := Defaults()
	o.Threads, o.Generator = 2, g
	tu := &tuner{o: o, stood: map[uint64]bool{}}
	if err := tu.describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tu.serve(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tu.server.Close() })
	return tu
}

// A long sum of floats is factored, and what is added up cloned for the partial sums. Some
// bytes that are made of it differ from the reference's then; with strict floats none differs
// from those of a plain schedule that factors alike.
func TestFactoredSumsAreRight(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
	tu := served(t, bridge.Options{Path: "../../halide/testdata/describe_generators.cpp", Name: "exposure"})
	if err := tu.makeSpaces(t.Context(), space.Defaults(2)); err != nil {
		t.Fatal(err)
	}
	if len(tu.spaces) != 3 {
		t.Fatalf("%d spaces", len(tu.spaces))
	}
	factored := tu.spaces[2]
	structure := schedule.Schedule{Directives: factored.Structure()}.String()
	for _, want := range []string{"total_parts = total.update(0).rfactor(", ".clone_in(total_parts)"} {
		if !strings.Contains(structure, want) {
			t.Fatalf("without %s:\n%s", want, structure)
		}
	}
	// Whether any byte differs depends on the draw.
	var s schedule.Schedule
	var b bridge.BuildRequest
	status := measure.OK
	for seed := int64(1); seed <= 8 && status != measure.WrongOutput; seed++ {
		s = drawn(factored, seed).Schedule()
		b = bridge.BuildRequest{Schedule: s}
		status, _ = measure.StatusOf(measure.CheckOnce(t.Context(), tu.server, b, tu.handedOut, 2))
	}
	if status != measure.WrongOutput {
		t.Fatal("not one byte differs: this shows nothing")
	}
	if err := measure.CheckOnce(t.Context(), tu.server, b, tu.o.Protocol, 2); err != nil {
		t.Errorf("screening leaves it out: %v", err)
	}
	e := tu.newExact()
	defer e.close()
	if err := e.check(t.Context(), s); err != nil {
		t.Errorf("%v\n%s", err, s)
	}
	// Against a reference that adds up in one chain it fails.
	plain, err := measure.PlainSchedules(tu.pipe)
	if err != nil {
		t.Fatal(err)
	}
	unfactored, err := e.strict(t.Context(), plain)
	if err != nil {
		t.Fatal(err)
	}
	alike, err := e.alike(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	other := tu.newExact()
	other.servers[alike[0].String()] = unfactored
	if err := other.check(t.Context(), s); err == nil || !strings.Contains(err.Error(), "with strict floats") {
		t.Errorf("against the unfactored: %v", err)
	}
}

// What is computed at the estimated size only has a version for it all the same, and both
// versions are checked there; where other sizes are checked the other version is at these.
func TestVersionForTheOnlySize(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
	source := bridgetest.Source(t, `#include "Halide.h"
class Rows : public Halide::Generator<Rows> {
public:
    Input<Buffer<float, 2>> input{"input"};
    Output<Buffer<float, 1>> output{"output"};
    void generate() {
        Halide::RDom r(0, 64);
        Halide::Var y("y");
        output(y) = 0.0f;
        output(y) += input(r, y);
        input.set_estimates({{0, 64}, {0, 24}});
        output.set_estimates({{0, 24}});
    }
};
HALIDE_REGISTER_GENERATOR(Rows, rows)
`)
	for path, only := range map[string]bool{source: true, "../../apps/sobel/sobel_generator.cpp": false} {
		tu := served(t, bridge.Options{Path: path})
		so := space.Defaults(2)
		so.Sized = tu.specializes()
		sp := spacetest.New(t, tu.pipe, so)
		d, ok := sp.Sizable()
		if !ok || (tu.server.Sizes() == 1) != only {
			t.Fatalf("%s is checked at %d sizes, and may have a version: %v", path, tu.server.Sizes(), ok)
		}
		s, _, err := drawn(sp, 1).Replay([]space.Decision{d}, space.Nearest)
		if err != nil {
			t.Fatal(err)
		}
		if !s.Schedule().Specializes() {
			t.Errorf("%s: no version in\n%s", path, s.Schedule())
		}
		e := tu.newExact()
		if err := e.check(t.Context(), s.Schedule()); err != nil {
			t.Errorf("%s: %v\n%s", path, err, s.Schedule())
		}
		e.close()
	}
}

// The plain schedule that a sum is compared with has its loops, whatever they are called and
// however they were made: what has its failure is left out for good.
func TestPlainSchedulesHaveTheLoopsOfSums(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
	source := bridgetest.Source(t, `#include "Halide.h"
class Sums : public Halide::Generator<Sums> {
public:
    Input<Buffer<float, 3>> input{"input"};
    Output<Buffer<float, 2>> output{"output"};
    void generate() {
        Halide::RDom r(0, 64, "r");
        Halide::Var s("s"), y("y");
        Halide::Func sums("sums");
        sums(s, y) = 0.0f;
        sums(s, y) += input(r, s, y);
        output(s, y) = sums(s, y) * 2.0f;
        input.set_estimates({{0, 64}, {0, 96}, {0, 48}});
        output.set_estimates({{0, 96}, {0, 48}});
    }
};
HALIDE_REGISTER_GENERATOR(Sums, sums)
`)
	tu := served(t, bridge.Options{Path: source})
	sp := spacetest.New(t, tu.pipe, space.Defaults(2))
	fused, err := schedule.Parse("sums.compute_root()\nsums.update(0).fuse(s, y, both)\nsums.update(0).split(both, bo, bi, 32, guard_with_if)\nsums.update(0).reorder(bi, r$x, bo)\n")
	if err != nil {
		t.Fatal(err)
	}
	e := tu.newExact()
	defer e.close()
	all := []schedule.Schedule{fused}
	for seed := range int64(8) {
		all = append(all, drawn(sp, seed).Schedule())
	}
	split := 0
	for _, s := range all {
		alike, err := e.alike(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(alike[0].String(), "sums.update(0).split(") {
			split++
		}
		if err := e.near(t.Context(), alike); err != nil {
			t.Errorf("%v: of\n%s%s", err, s, alike[0])
		}
	}
	if split < 2 {
		t.Errorf("loops of sums are split in %d of %d: this shows nothing", split, len(all))
	}
}

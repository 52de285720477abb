package tune

import (
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
)

// A long sum of floats is factored, and what is added up cloned for the partial sums. Some
// bytes that are made of it differ from the reference's then; with strict floats none differs
// from those of a plain schedule that factors alike.
func TestFactoredSumsAreRight(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
	o := Defaults()
	o.Threads = 2
	o.Generator = bridge.Options{Path: "../../halide/testdata/describe_generators.cpp", Name: "exposure"}
	tu := &tuner{o: o, stood: map[uint64]bool{}}
	if err := tu.describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tu.serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer tu.server.Close()
	if err := tu.makeSpaces(t.Context(), space.Defaults(2)); err != nil {
		t.Fatal(err)
	}
	if len(tu.spaces) != 3 {
		t.Skipf("Halide %s has no space of factored sums", tu.pipe.Halide)
	}
	factored := tu.spaces[2]
	structure := schedule.Schedule{Directives: factored.Structure()}.String()
	for _, want := range []string{"total_parts = total.update(0).rfactor(", ".clone_in(total_parts)"} {
		if !strings.Contains(structure, want) {
			t.Fatalf("without %s:\n%s", want, structure)
		}
	}
	s := drawn(factored, 1).Schedule() // it has the loops over parts in another order
	b := bridge.BuildRequest{Schedule: s}
	if err := measure.CheckOnce(t.Context(), tu.server, b, tu.handedOut, 2); err == nil {
		t.Error("not one byte differs: this shows nothing")
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

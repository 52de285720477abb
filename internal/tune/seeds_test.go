package tune

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
	"github.com/protuner/protuner/internal/tunedb"
)

// drawn is a complete state.
func drawn(sp *space.Space, seed int64) *space.State {
	return sp.Start().SampleDown(rand.New(rand.NewSource(seed)))
}

// What was found at another size is played again here; what cannot be read is left out.
func TestEarlierIsPlayedAgain(t *testing.T) {
	sp := spacetest.New(t, pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	state := drawn(sp, 1)
	db := database(t)
	with := func(param string) tunedb.Workload {
		return tunedb.Workload{Generator: "harris", Params: []string{param}}
	}
	for param, trace := range map[string]string{"n=1": sp.FormatTrace(state.Trace()), "n=2": "nobody compute root vector x\n", "n=3": ""} {
		record(t, begin(t, db, with(param)), tunedb.Measurement{Hash: param, Text: param, Trace: trace, Status: measure.OK, Samples: []time.Duration{1}, Best: 1})
	}
	tu := &tuner{spaces: []*space.Space{sp}, recorder: begin(t, db, with("n=4"))}
	got, err := tu.remember(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := state.Schedule().Hash(); len(got) != 1 || got[0].Hash != want || got[0].Origin != "seed:earlier" {
		t.Errorf("got %+v, want %x alone", got, want)
	}
}

// What was measured is known again, as a state where its trace leads to it and without one
// where it leads elsewhere; but not where it is of Funcs that are not made now.
func TestWhatWasMeasuredIsKnown(t *testing.T) {
	sp := spacetest.New(t, pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	state := drawn(sp, 1)
	other := drawn(sp, 2)
	cloned := schedule.Schedule{Directives: append([]schedule.Directive{{Op: schedule.CloneIn, Func: "gray", As: "gray_1", Funcs: []string{"output"}}}, state.Schedule().Directives...)}
	sized, ok := space.Specialized(sp.Pipeline(), state.Schedule())
	if !ok {
		t.Fatal("there is no version for the estimated sizes")
	}
	tu := &tuner{spaces: []*space.Space{sp}} // which offers no such version
	for name, c := range map[string]struct {
		schedule      schedule.Schedule
		origin, trace string
		known, state  bool
	}{
		"its trace":             {state.Schedule(), "crossover", sp.FormatTrace(state.Trace()), true, true},
		"another's trace":       {state.Schedule(), "crossover", sp.FormatTrace(other.Trace()), true, false},
		"a seed":                {state.Schedule(), "seed:own", "", true, false},
		"a seed with a clone":   {cloned, "seed:own", "", true, false},
		"found with a clone":    {cloned, "crossover", "gray_1 inline\n", false, false},
		"polished":              {state.Schedule(), polished, "", true, false},
		"polished with a clone": {cloned, polished, "", false, false},
		"polished, sized":       {sized, polished, "", false, false},
	} {
		m := tunedb.Measurement{Hash: c.schedule.HashString(), Text: c.schedule.String(), Origin: c.origin, Trace: c.trace}
		got, ok := tu.rebuild(m)
		if ok != c.known || (got.State != nil) != c.state || ok && got.Hash != c.schedule.Hash() {
			t.Errorf("%s: known %t, with a state %t", name, ok, got.State != nil)
		}
		m.Hash = "another"
		if _, ok := tu.rebuild(m); ok {
			t.Errorf("%s: known by another hash", name)
		}
	}
}

// The hand-written schedule of box_blur wraps a Func: its seed is of the pipeline as it
// is then, which is searched as well, unless Funcs are to be left as they are.
func TestSeedsAreLookedForInTheirOwnStructure(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
	gen, err := bridge.Open(t.Context(), bridge.Options{Path: "../../apps/box_blur/box_blur_generator.cpp", HalideDir: defaultHalide(), Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	o, err := gen.Own(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	structure := func(s schedule.Schedule) string { return fmt.Sprint(s.Structure()) }
	if head := structure(o.Schedule); !strings.Contains(head, ".in(") {
		t.Fatalf("the hand-written schedule begins with %s", head)
	}
	for _, restructure := range []bool{true, false} {
		options := Defaults()
		options.Restructure = restructure
		tu := &tuner{o: options, gen: gen, ref: &bridge.Reference{}}
		if tu.pipe, err = gen.Describe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := tu.makeSpaces(t.Context(), space.Defaults(2)); err != nil {
			t.Fatal(err)
		}
		before := len(tu.spaces)
		for range 2 { // of the same structure, which takes one space
			f := foreign{schedule: o.Schedule, partial: !o.Complete}
			tu.sow(t.Context(), Own, &f)
			for _, c := range f.candidates {
				if restructure && c.State != nil && structure(c.State.Schedule()) != structure(o.Schedule) {
					t.Errorf("found %s", c.Schedule)
				}
			}
		}
		if further := len(tu.spaces) - before; further != 0 && !restructure || further != 1 && restructure {
			t.Errorf("restructure %v: in %d spaces of its own", restructure, further)
		}
	}
}

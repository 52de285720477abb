package tune

import (
	"reflect"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
	"github.com/protuner/protuner/internal/tunedb"
)

// A single schedule is what tune handed out last, though the search timed another one as
// faster; of several the fastest come first, and only what was handed out was checked.
func TestWhatIsHandedOut(t *testing.T) {
	db, r := recorder(t)
	add := func(hash string, status measure.Status, took time.Duration) {
		t.Helper()
		record(t, r, tunedb.Measurement{Hash: hash, Text: hash + ".compute_root()\n", Trace: "how to " + hash, Status: status, Best: took})
	}
	report := func(o Report) {
		t.Helper()
		if err := r.End(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, n int, checked map[string]bool, hashes ...string) *Handout {
		t.Helper()
		runs, err := db.Runs(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		got, err := HandedOut(t.Context(), db, runs[0], n)
		if err != nil {
			t.Fatal(err)
		}
		var top []string
		for _, m := range got.Top {
			top = append(top, m.Hash)
		}
		if !reflect.DeepEqual(top, hashes) || !reflect.DeepEqual(got.Checked, checked) {
			t.Fatalf("%s: got %v, checked %v; want %v, %v", what, top, got.Checked, hashes, checked)
		}
		return got
	}

	add("broken", measure.Crashed, 0)
	want("where nothing works", 1, map[string]bool{})
	report(Report{Hash: "predicted", Schedule: "predicted.compute_root()\n"})
	want("where the model alone was asked", 1, map[string]bool{"predicted": true}, "predicted")
	report(Report{})
	add("fast", measure.OK, time.Millisecond)
	add("slow", measure.OK, 2*time.Millisecond)
	want("before tune hands anything out", 1, map[string]bool{}, "fast")

	slow := map[string]bool{"slow": true}
	report(Report{Hash: "slow", Schedule: "slow.compute_root()\n", Seconds: 2e-3})
	if got := want("one", 1, slow, "slow"); got.Top[0].Trace != "how to slow" || got.Top[0].Best != 2*time.Millisecond || got.Kept != 0 {
		t.Errorf("not as it was measured: %+v", got)
	}
	want("two", 2, slow, "fast", "slow")
	want("more than there are", 9, slow, "fast", "slow")

	report(Report{Hash: "slow", Schedule: "slow.compute_root()\n", Seconds: 2e-3, Kept: true})
	if got := want("one that the Generator's own beat", 1, slow, "slow"); got.Kept != r.RunID() {
		t.Errorf("the own schedule was handed back by run %d, not %d", r.RunID(), got.Kept)
	}
	report(Report{Hash: "slow", Schedule: "slow.compute_root()\n"})
	want("where what was handed out was not timed", 1, slow, "fast")
	report(Report{Hash: "broken", Schedule: "broken.compute_root()\n", Seconds: 1e-3})
	want("where what was handed out failed since", 1, map[string]bool{}, "fast")
	report(Report{Hash: "made", Schedule: "made.compute_root()\n", Seconds: 1e-3})
	if got := want("one that was made of what was measured", 1, map[string]bool{"made": true}, "made"); got.Top[0].Text != "made.compute_root()\n" {
		t.Errorf("not as it was handed out: %+v", got)
	}
}

// What the space cannot say is passed over, and so is what was timed otherwise than it would be
// here: only inputs, and what counts as working, may be others.
func TestFastestThatTheSpaceCanSay(t *testing.T) {
	p := pipelinetest.Described(t, "harris.h21")
	sp := spacetest.New(t, p, space.Defaults(2))
	state := drawn(sp, 1)
	db := database(t)
	gen := &bridge.Generator{
		Name: "harris", Params: []bridge.Param{{Name: "width", Value: "512"}},
		Toolchain: &bridge.Toolchain{Halide: &bridge.Halide{Version: "21.0.0"}},
	}
	here, err := Here(gen, sp.Pipeline(), 2)
	if err != nil {
		t.Fatal(err)
	}
	work, err := workload(Options{Threads: 2, Protocol: measure.Protocol{IntegerEvery: 1}}, gen, p, []bridge.Input{{Name: "input", Fill: "random:1"}})
	if err != nil {
		t.Fatal(err)
	}
	said := tunedb.Measurement{Hash: state.Schedule().HashString(), Text: state.Schedule().String(), Trace: sp.FormatTrace(state.Trace()), Status: measure.OK}
	for what, change := range map[string]func(*tunedb.Workload){
		"parameters": func(w *tunedb.Workload) { w.Params = []string{"width=4096"} },
		"sizes":      func(w *tunedb.Workload) { w.Estimates = []string{"output [{0 4095 false}]"} },
		"host":       func(w *tunedb.Workload) { w.Host = "server" },
		"threads":    func(w *tunedb.Workload) { w.Threads = 1 },
		"target":     func(w *tunedb.Workload) { w.Target = "another" },
		"Halide":     func(w *tunedb.Workload) { w.Halide = "19.0.0" },
	} {
		other := work
		change(&other)
		said.Best = time.Microsecond
		record(t, begin(t, db, other), said)
		if got, err := FastestSaid(t.Context(), db, here, sp); err != nil || got != nil {
			t.Errorf("timed with other %s: %+v, %v", what, got, err)
		}
	}
	r := begin(t, db, work)
	record(t, r, tunedb.Measurement{Hash: "foreign", Text: "nobody.compute_root()\n", Status: measure.OK, Best: time.Millisecond})
	if got, err := FastestSaid(t.Context(), db, here, sp); err != nil || got != nil {
		t.Fatalf("of another pipeline's Funcs alone: %+v, %v", got, err)
	}
	said.Best = 2 * time.Millisecond
	record(t, r, said)
	got, err := FastestSaid(t.Context(), db, here, sp)
	if err != nil || got == nil || got.State.Schedule().Hash() != state.Schedule().Hash() || got.Best != said.Best || got.Run != r.RunID() {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A schedule that only the model was asked about can be handed out, too.
func TestSourcesThatNothingMeasured(t *testing.T) {
	db, r := recorder(t)
	here := tunedb.Workload{Algorithm: "a", Generator: "g"}
	sources := func() (working, idle int) {
		t.Helper()
		w, i, err := Sources(t.Context(), db, here)
		if err != nil {
			t.Fatal(err)
		}
		return len(w), len(i)
	}
	begin(t, db, tunedb.Workload{Algorithm: "b", Generator: "g"})
	if working, idle := sources(); working != 0 || idle != 1 {
		t.Errorf("%d work and %d do not before there is a report", working, idle)
	}
	if err := r.End(t.Context(), Report{Hash: "predicted", Schedule: "predicted.compute_root()\n"}); err != nil {
		t.Fatal(err)
	}
	if working, idle := sources(); working != 1 || idle != 0 {
		t.Errorf("%d work and %d do not with one that the model found", working, idle)
	}
}

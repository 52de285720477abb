package tune

import (
	"reflect"
	"testing"
	"time"

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

// What the space cannot say is passed over, and so is what ran on another target.
func TestFastestThatTheSpaceCanSay(t *testing.T) {
	sp := spacetest.New(t, pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	p, state := sp.Pipeline(), drawn(sp, 1)
	db := database(t)
	on := func(target string) tunedb.Workload {
		return tunedb.Workload{Algorithm: p.Algorithm, Target: target, Generator: "harris"}
	}
	here := begin(t, db, on(p.Target))
	for _, m := range []tunedb.Measurement{
		{Hash: "foreign", Text: "nobody.compute_root()\n", Best: time.Millisecond},
		{Hash: state.Schedule().HashString(), Text: state.Schedule().String(), Trace: sp.FormatTrace(state.Trace()), Best: 2 * time.Millisecond},
	} {
		m.Status = measure.OK
		record(t, here, m)
		if m.Trace != "" {
			continue
		}
		if got, err := FastestSaid(t.Context(), db, "harris", sp); err != nil || got != nil {
			t.Fatalf("of another pipeline's Funcs alone: %+v, %v", got, err)
		}
	}
	begin(t, db, on("another"))
	got, err := FastestSaid(t.Context(), db, "harris", sp)
	if err != nil || got == nil || got.State.Schedule().Hash() != state.Schedule().Hash() || got.Best != 2*time.Millisecond || got.Run != here.RunID() {
		t.Errorf("got %+v, %v", got, err)
	}
}

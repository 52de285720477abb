package tunedb

import (
	"bytes"
	"testing"

	"github.com/protuner/protuner/internal/measure"
)

// An import is a run of the workloads of which it brings something, and of no others: it would
// be the newest of what is known already.
func TestImportsOfNothingNewAreNoRuns(t *testing.T) {
	exported := func(db *DB) string {
		t.Helper()
		var text bytes.Buffer
		if _, err := db.Export(t.Context(), &text); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	db := fresh(t)
	record(t, begin(t, db, workload("a1")), measurement(1, measure.OK))
	other := fresh(t)
	record(t, begin(t, other, workload("a1")), measurement(1, measure.OK))
	record(t, begin(t, other, workload("a2")), measurement(2, measure.OK))
	theirs := exported(other)
	for _, step := range []struct {
		what, text string
		lines      int
		runs       int
	}{
		{"its own", exported(db), 1, 1},
		{"one known and one new", theirs, 2, 2},
		{"the same again", theirs, 2, 2},
	} {
		if n, err := db.Import(t.Context(), bytes.NewReader([]byte(step.text))); n != step.lines || err != nil {
			t.Fatalf("%s: imported %d, %v", step.what, n, err)
		}
		runs, err := db.Runs(t.Context(), "")
		if err != nil || len(runs) != step.runs {
			t.Fatalf("%s: %d runs, want %d, %v", step.what, len(runs), step.runs, err)
		}
		for _, r := range runs {
			if r.Imported() != (r.Workload.Algorithm == "a2") {
				t.Errorf("%s: run %d of %s is an import: %t", step.what, r.ID, r.Workload.Algorithm, r.Imported())
			}
		}
	}
	if got := exported(db); got != theirs {
		t.Errorf("there is\n%s\nwant\n%s", got, theirs)
	}
}

// What timed out while it was built is tried again in time; an import that does not say whether
// what timed out was built changes nothing about that, and one that worked does.
func TestImportsOfTimeoutsDecideNothing(t *testing.T) {
	db, late := fresh(t), measurement(1, measure.TimedOut)
	late.BuildLimit = 20
	here := begin(t, db, workload("a1"))
	record(t, here, late)
	for _, want := range []measure.Status{measure.TimedOut, measure.OK} {
		other := fresh(t)
		record(t, begin(t, other, workload("a1")), measurement(1, want))
		var text bytes.Buffer
		if _, err := other.Export(t.Context(), &text); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Import(t.Context(), &text); err != nil {
			t.Fatal(err)
		}
		got := known(t, here)
		if len(got) != 1 || got[0].Status != want || (got[0].BuildLimit == late.BuildLimit) != (want == measure.TimedOut) {
			t.Errorf("after an import of %v: %+v", want, got)
		}
	}
}

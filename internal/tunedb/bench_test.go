package tunedb

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/measure"
)

func TestBenchIsKept(t *testing.T) {
	db := fresh(t)
	ctx := t.Context()
	if _, _, _, err := db.Bench(ctx); !errors.Is(err, ErrNoBench) {
		t.Fatalf("of a new database: %v", err)
	}
	first, err := db.BeginBench(ctx, map[string]int{"seed": 1})
	if err != nil || string(first) != `{"seed":1}` {
		t.Fatalf("begun: %s, %v", first, err)
	}
	// One that goes on hears what was begun.
	if again, err := db.BeginBench(ctx, map[string]int{"seed": 2}); err != nil || string(again) != `{"seed":1}` {
		t.Fatalf("begun again: %s, %v", again, err)
	}
	entry := BenchEntry{App: "harris", Method: "expert", Repeat: 1, Seed: 7, Status: measure.OK, Schedule: "f.compute_root()\n", Took: time.Second, Made: at(1)}
	race := BenchRace{App: "harris", Times: 1, Rounds: 2, Thrown: 1, Sentinel: []time.Duration{3, 4}, Taken: at(2),
		Lanes: []BenchLane{{Method: "expert", Repeat: 1, Laps: []time.Duration{1, 2}}, {Method: "beam", Repeat: 1, Laps: []time.Duration{5, 0}, Failure: "crashed"}}}
	later := entry
	later.Checked, later.Cost = true, 1.25
	for _, e := range []BenchEntry{entry, {App: "bgu", Method: "beam", Repeat: 1, Status: measure.OutOfMemory, Message: "why", Made: at(3)}, later} {
		if err := db.PutBenchEntry(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	fewer := race
	fewer.Lanes = race.Lanes[:1]
	for _, r := range []BenchRace{fewer, race} {
		if err := db.PutBenchRace(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := db.BenchEntries(ctx)
	if err != nil || len(entries) != 2 || entries[0].App != "bgu" || !reflect.DeepEqual(entries[1], later) {
		t.Errorf("entries %+v, %v", entries, err)
	}
	races, err := db.BenchRaces(ctx)
	if err != nil || len(races) != 1 || !reflect.DeepEqual(races[0], race) {
		t.Errorf("races %+v, %v", races, err)
	}
	if _, _, ended, err := db.Bench(ctx); err != nil || !ended.IsZero() {
		t.Errorf("ended %v, %v", ended, err)
	}
	if err := db.EndBench(ctx); err != nil {
		t.Fatal(err)
	}
	manifest, began, ended, err := db.Bench(ctx)
	if err != nil || !json.Valid(manifest) || began.IsZero() || ended.Before(began) {
		t.Errorf("%s from %v to %v, %v", manifest, began, ended, err)
	}
	if err := db.EndBench(ctx); err != nil {
		t.Fatal(err)
	}
	if _, _, second, _ := db.Bench(ctx); !second.Equal(ended) {
		t.Errorf("ended at %v and again at %v", ended, second)
	}
}

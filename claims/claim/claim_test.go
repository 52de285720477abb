package claim

import (
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

// A method is found by its name, wherever a folder's run has it.
func TestMethodsAreFoundByName(t *testing.T) {
	s := &bench.Summary{
		Methods: []string{"mullapudi2016", "protuner", "adams2019:beam"},
		Means:   []bench.Mean{{Method: "mullapudi2016", Apps: 1}, {Method: "protuner", Apps: 2}, {Method: "adams2019:beam", Apps: 3}},
		Apps: []bench.Row{
			{App: "harris", Cells: []bench.Cell{{Seconds: 1}, {Seconds: 2}, {Status: measure.OutOfMemory, Message: "too much"}}},
			{App: "hist", Cells: []bench.Cell{{Seconds: 4}, {}, {Seconds: 6}}},
		},
	}
	ours, beam := Method(s, "protuner"), Method(s, "adams2019:beam")
	if ours.Apps != 2 || ours.Cells[0].Seconds != 2 || !slices.Equal(ours.Untimed, []string{"hist:"}) {
		t.Errorf("ours: %+v", ours)
	}
	if beam.Apps != 3 || beam.Cells[1].Seconds != 6 || !slices.Equal(beam.Untimed, []string{"harris: out_of_memory too much"}) {
		t.Errorf("the beam's: %+v", beam)
	}
}

// What a database's key does not tell apart its path does.
func TestKeptDatabasesAreApart(t *testing.T) {
	paths := map[string]bool{}
	for _, change := range []func(*tune.Options){
		func(*tune.Options) {},
		func(o *tune.Options) { o.Seeds = nil },
		func(o *tune.Options) { o.Seeds = []string{"own"} },
		func(o *tune.Options) { o.Seed = 2 },
		func(o *tune.Options) { o.Budget = time.Minute },
		func(o *tune.Options) { o.Search = "evolve" },
		func(o *tune.Options) { o.Judge = false },
		func(o *tune.Options) { o.Restructure = false },
		func(o *tune.Options) { o.Specialize = false },
		func(o *tune.Options) { o.Polish = false },
	} {
		o := tune.Defaults()
		change(&o)
		path := Kept("dir", "harris", o)
		if paths[path] {
			t.Errorf("two ways to tune in %s", path)
		}
		paths[path] = true
	}
	o := tune.Defaults()
	o.Seeds = nil
	if got, want := Kept("dir", "harris", o), filepath.Join("dir", "protuner-5m0s-seed1-none", "harris.db"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// left begins a run in a database, which does not end, and records one measurement.
func left(t *testing.T, path string, w tunedb.Workload, text string) {
	t.Helper()
	db, err := tunedb.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := db.Begin(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := tunedb.Measurement{Hash: text, Text: text, Status: measure.OK, Best: time.Millisecond, Taken: time.Now()}
	if err := r.Record(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// The last run is the one that began last.
func TestTheLastRunIsMeasured(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	left(t, path, tunedb.Workload{Algorithm: "a", Generator: "harris", Threads: 1}, "first")
	left(t, path, tunedb.Workload{Algorithm: "a", Generator: "harris", Threads: 2}, "last")
	if got := Measured(t.Context(), path, "harris"); len(got) != 1 || got[0].Text != "last" {
		t.Errorf("got %+v", got)
	}
}

// What a stopped run has left is not known to the next; a run that ended is not run again;
// one of something else is refused.
func TestTunedOnceAndAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("tunes with a real Halide")
	}
	o := tune.Defaults()
	o.Generator.Path = filepath.Join("..", "..", "internal", "bench", "testdata", "apps", "tiny_blur", "tiny_blur_generator.cpp")
	o.Search, o.Trials, o.Finalists, o.Seeds, o.Baselines = "random", 2, 1, nil, nil
	o.DB = filepath.Join(t.TempDir(), "tiny_blur.db")
	left(t, o.DB, tunedb.Workload{Algorithm: "a", Generator: "tiny_blur"}, "stopped")
	first := Tuned(t.Context(), o)
	if first.Run != 1 || first.Schedule == "" {
		t.Errorf("run %d found %q", first.Run, first.Schedule)
	}
	if again := Tuned(t.Context(), o); again.Run != 1 || again.Schedule != first.Schedule || !again.Started.Equal(first.Started) {
		t.Errorf("again run %d of %v, the first was of %v", again.Run, again.Started, first.Started)
	}
	o.Threads++
	if _, err := ended(t.Context(), o); err == nil || !strings.Contains(err.Error(), "name another folder") {
		t.Errorf("with other threads: %v", err)
	}
}

// A Generator that was tuned and has no verdict against its own schedule is said, and the
// claim does not hold.
func TestUnracedIsMissing(t *testing.T) {
	raced := func(value float64) tune.BaselineReport {
		return tune.BaselineReport{Verdict: &measure.Verdict{Ratio: measure.Interval{Value: value, Low: value, High: value}}}
	}
	failed := tune.BaselineReport{Failure: "crashed"}
	var a against
	a.take("one", raced(2), failed)
	a.take("two", raced(1.5), raced(3))
	if !a.holds() || a.least != "two" || len(a.own) != 2 || len(a.beam) != 1 || len(a.missing) != 0 {
		t.Errorf("all raced: %+v", a)
	}
	a.take("three", failed, raced(3))
	if a.holds() || !strings.HasSuffix(a.said(), "not tuned or not raced: three (its own schedule: crashed)") {
		t.Errorf("one was not raced: %s", a.said())
	}
}

// The interval is over the applications: one that gained much is no sign for others.
func TestOneApplicationIsNoMean(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, c := range []struct {
		ratios []float64
		above  bool
	}{
		{[]float64{1.1, 1.2, 1.05, 1.3, 1.1}, true}, {[]float64{3, 0.99, 1, 1, 1}, false},
	} {
		mean := AcrossApps(rng, c.ratios)
		if value := measure.GeometricMean(c.ratios); mean.Value != value || (mean.Low > 1) != c.above || mean.Low > value || mean.High < value {
			t.Errorf("%v: %s", c.ratios, mean.Text(3))
		}
	}
}

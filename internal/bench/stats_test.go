package bench

import (
	"encoding/json"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tunedb"
)

// TestStatisticsAgreeWithSciPy compares with what testdata/scipy_tests.py wrote.
func TestStatisticsAgreeWithSciPy(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "scipy_tests.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		SciPy       string
		MannWhitney []struct {
			A, B  []float64
			P     float64
			Exact bool
		}
		Holm          []struct{ P, Adjusted []float64 }
		GeometricMean []struct {
			X    []float64
			Mean float64
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.MannWhitney) == 0 || len(all.Holm) == 0 || len(all.GeometricMean) == 0 {
		t.Fatal("the file holds nothing")
	}
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-9*math.Max(1e-3, math.Abs(want)) }
	for _, c := range all.MannWhitney {
		if got := MannWhitney(c.A, c.B); !near(got, c.P) {
			t.Errorf("MannWhitney of %d and %d (exact %v) is %.12g, SciPy %s says %.12g", len(c.A), len(c.B), c.Exact, got, all.SciPy, c.P)
		}
	}
	for _, c := range all.Holm {
		for i, got := range Holm(c.P) {
			if !near(got, c.Adjusted[i]) {
				t.Errorf("Holm(%v)[%d] = %g, want %g", c.P, i, got, c.Adjusted[i])
			}
		}
	}
	for _, c := range all.GeometricMean {
		if got := measure.GeometricMean(c.X); !near(got, c.Mean) {
			t.Errorf("the geometric mean of %v is %g, SciPy says %g", c.X, got, c.Mean)
		}
	}
}

func TestMannWhitneyOfNothing(t *testing.T) {
	for _, c := range [][2][]float64{{nil, {1}}, {{1}, nil}, {{2, 2, 2}, {2, 2}}} {
		if p := MannWhitney(c[0], c[1]); p != 1 {
			t.Errorf("%v: %g", c, p)
		}
	}
}

// An application of parts is compared by the ratio of its sums: where every lap is
// exact, so is the ratio.
func TestPartsAreWeighed(t *testing.T) {
	ratio := func(a, b time.Duration) []float64 { return []float64{float64(a) / float64(b), float64(a) / float64(b)} }
	rng := rand.New(rand.NewSource(1))
	// Ours takes 3 x 10 ms and 1 x 40 ms, the other's 3 x 20 ms and 1 x 20 ms.
	got, draws := weighed(rng, []group{{3 * 0.010, ratio(20, 10)}, {0.040, ratio(20, 40)}})
	if want := 80.0 / 70; math.Abs(got.Value-want) > 1e-12 || math.Abs(got.Low-want) > 1e-12 || math.Abs(got.High-want) > 1e-12 || len(draws) != measure.Resamplings {
		t.Errorf("got %v, want %g", got, want)
	}
	if got, _ := weighed(rng, []group{{1, nil}}); got != nil {
		t.Errorf("of no pairs: %v", got)
	}
}

// The bootstrap interval of one part is the one that measure gives of the same draws.
func TestIntervalsAreMeasures(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	xs := make([]float64, 25)
	for i := range xs {
		xs[i] = 1.5 * math.Exp(0.02*rng.NormFloat64())
	}
	got, _ := weighed(rand.New(rand.NewSource(1)), []group{{1, xs}})
	want := measure.BootstrapMedian(rand.New(rand.NewSource(1)), xs, measure.Confidence)
	if *got != want {
		t.Errorf("got %v, measure says %v", *got, want)
	}
}

// suite is a run of two methods, the first of three seeds, on one application and on one of
// three layers; nothing was made of them yet.
func suite() *Stored {
	s := &Stored{Manifest: Manifest{
		Options: valid(), Entries: []Entry{{"protuner", 3}, {"expert", 1}},
		Parts: []Part{{App: "harris", Times: 1}, {App: "net", Name: "one", Times: 1}, {App: "net", Name: "two", Times: 2}, {App: "net", Name: "three", Times: 1}},
	}}
	for _, p := range s.Manifest.Parts {
		s.Races = append(s.Races, tunedb.BenchRace{App: p.App, Part: p.Name, Times: p.Times, Rounds: 5, Sentinel: slices.Repeat([]time.Duration{time.Millisecond}, 5)})
	}
	return s
}

// made adds a seed to a part; of what is OK there are so many laps.
func (s *Stored) made(part int, method string, repeat int, status measure.Status, message string, rounds int) {
	p, race := s.Manifest.Parts[part], &s.Races[part]
	s.Entries = append(s.Entries, tunedb.BenchEntry{App: p.App, Part: p.Name, Method: method, Repeat: repeat, Status: status, Message: message})
	if status == measure.OK {
		race.Lanes = append(race.Lanes, tunedb.BenchLane{Method: method, Repeat: repeat, Laps: slices.Repeat([]time.Duration{time.Millisecond}, rounds)})
	}
}

// What failed is named by layer: seeds, where others of their method have a time, and layers
// without a time, not the first of them alone.
func TestWhatFailedIsNamed(t *testing.T) {
	s := suite()
	s.made(0, "protuner", 1, measure.WrongOutput, "it differs", 0)
	s.made(0, "protuner", 2, measure.OK, "", 5)
	s.made(0, "protuner", 3, measure.WrongOutput, "it differs more", 0)
	s.made(0, "expert", 1, measure.OK, "", 5)
	s.made(1, "protuner", 1, measure.OK, "", 5)
	s.made(1, "protuner", 2, measure.WrongOutput, "it differs", 0)
	s.made(1, "protuner", 3, measure.OK, "", 5)
	s.Races[1].Lanes[1].Failure = "segmentation fault" // seed 3
	s.made(1, "expert", 1, measure.BuildFailed, "no such loop", 0)
	s.made(2, "protuner", 1, measure.OK, "", 5)
	s.made(2, "protuner", 2, measure.OK, "", 5)
	s.made(2, "protuner", 3, measure.TimedOut, "too long", 0)
	s.made(2, "expert", 1, measure.OK, "", 5)
	s.made(3, "protuner", 1, measure.OK, "", 5) // the other seeds are to come
	s.made(3, "expert", 1, measure.Crashed, "illegal instruction", 0)
	sum, err := s.Summarise("")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"harris by protuner: 2 of 3 seeds failed: wrong_output (2); the first: it differs",
		"net/one by protuner: 2 of 3 seeds failed: crashed (1), wrong_output (1); the first: it differs",
		"net/two by protuner: 1 of 3 seeds failed: timed_out (1); the first: too long",
		"net/one by expert: build_failed: no such loop",
		"net/three by expert: crashed: illegal instruction",
	}
	if !slices.Equal(sum.Missing, want) {
		t.Errorf("missing %q, want %q", sum.Missing, want)
	}
	for i, want := range [][]Cell{{{Status: measure.OK, Failed: 2}, {Status: measure.OK}}, {{Status: measure.OK, Failed: 3}, {Status: measure.BuildFailed, Failed: 2}}} {
		for k, c := range sum.Apps[i].Cells {
			if c.Status != want[k].Status || c.Failed != want[k].Failed || (c.Seconds > 0) != (c.Status == measure.OK) {
				t.Errorf("%s by %s: %s, %d seeds failed, %g s", sum.Apps[i].App, c.Method, c.Status, c.Failed, c.Seconds)
			}
		}
	}
}

// What all layers lack is said once.
func TestWhatAllLayersLackIsOneLine(t *testing.T) {
	s := suite()
	for part := 1; part <= 3; part++ {
		s.made(part, "expert", 1, measure.BuildFailed, "it does not compile", 0)
	}
	s.made(1, "protuner", 1, measure.Crashed, "segmentation fault", 0)
	sum, err := s.Summarise("")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"harris by protuner: not raced yet", "harris by expert: not raced yet",
		"net/one by protuner: crashed: segmentation fault", "net by protuner: not raced yet",
		"net (3 layers) by expert: build_failed: it does not compile",
	}
	if !slices.Equal(sum.Missing, want) {
		t.Errorf("missing %q, want %q", sum.Missing, want)
	}
}

// A ratio says from how many rounds it is: those that both are in, of layers the fewest.
func TestPairsAreCounted(t *testing.T) {
	s := suite()
	for part := range s.Manifest.Parts {
		s.made(part, "protuner", 1, measure.OK, "", 5)
		s.made(part, "expert", 1, measure.OK, "", 5-part%3) // harris 5, the layers 4, 3 and 5
	}
	sum, err := s.Summarise("")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int{{5, 5}, {5, 3}} {
		for k, c := range sum.Apps[i].Cells {
			if c.Ratio == nil || c.Pairs != want[k] {
				t.Errorf("%s by %s: %d pairs, want %d", sum.Apps[i].App, c.Method, c.Pairs, want[k])
			}
		}
	}
}

// bothTimed is a run of two methods with their own schedules: harris is one application,
// net has two layers, of which the first occurs three times. All ten laps of each take 10 ms.
func bothTimed() *Stored {
	o := valid()
	o.Threads = 2
	s := &Stored{Dir: "out", Manifest: Manifest{
		Options: o, CPU: "one", Host: "2 processors", Halide: "21.0.0",
		Parts:   []Part{{App: "harris", Times: 1}, {App: "net", Name: "one", Times: 3}, {App: "net", Name: "two", Times: 1}},
		Entries: []Entry{{"ours", 1}, {"expert", 1}},
	}}
	for _, p := range s.Manifest.Parts {
		race := tunedb.BenchRace{App: p.App, Part: p.Name, Times: p.Times, Rounds: 10, Sentinel: tenLaps(10)}
		for _, e := range s.Manifest.Entries {
			s.Entries = append(s.Entries, tunedb.BenchEntry{App: p.App, Part: p.Name, Method: e.Method, Repeat: 1, Status: measure.OK, Schedule: e.Method})
			race.Lanes = append(race.Lanes, tunedb.BenchLane{Method: e.Method, Repeat: 1, Laps: tenLaps(10)})
		}
		s.Races = append(s.Races, race)
	}
	return s
}

func tenLaps(ms float64) []time.Duration {
	return slices.Repeat([]time.Duration{time.Duration(ms * 1e6)}, 10)
}

// pairOf an application and a method.
func pairOf(t *testing.T, c *Comparison, app, method string) Pair {
	t.Helper()
	i := slices.IndexFunc(c.Pairs, func(p Pair) bool { return p.App == app && p.Method == method })
	if i < 0 {
		t.Fatalf("no pair of %s by %s in %+v", app, method, c.Pairs)
	}
	return c.Pairs[i]
}

// However many layers an application has, it counts once in a mean, by the sum of their
// times: where every lap is exact, so is the ratio.
func TestLayersAreOneApplicationOfTwoRuns(t *testing.T) {
	a, b := bothTimed(), bothTimed()
	a.Races[1].Lanes[0].Laps = tenLaps(30)     // 3 x 30 ms and 1 x 10 ms, in B 3 x 10 ms and 1 x 10 ms
	a.Races[2].Lanes[0].Laps = tenLaps(10)[:5] // a race that had fewer rounds
	c, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Pairs) != 4 || len(c.Means) != 2 {
		t.Fatalf("%d pairs, %d means", len(c.Pairs), len(c.Means))
	}
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-12 }
	exactly := func(i measure.Interval, want float64) bool {
		return near(i.Value, want) && near(i.Low, want) && near(i.High, want)
	}
	net := pairOf(t, c, "net", "ours")
	if net.Parts != 2 || !near(net.A, 0.1) || !near(net.B, 0.04) || !exactly(net.Ratio, 2.5) || !net.Significant() {
		t.Errorf("net: %+v", net)
	}
	if harris := pairOf(t, c, "harris", "ours"); harris.Parts != 1 || !exactly(harris.Ratio, 1) || harris.Significant() {
		t.Errorf("harris: %+v", harris)
	}
	if m := c.Means[0]; m.Method != "ours" || m.Apps != 2 || !exactly(*m.Ratio, math.Sqrt(2.5)) {
		t.Errorf("the mean is %+v of %v", m, m.Ratio)
	}
}

// What is not compared is named, with how it went in both runs.
func TestComparisonsNameWhatIsMissing(t *testing.T) {
	fail := func(s *Stored, entry int, status measure.Status, message string) {
		s.Entries[entry].Status, s.Entries[entry].Message = status, message
		race := &s.Races[entry/2]
		race.Lanes = slices.DeleteFunc(race.Lanes, func(l tunedb.BenchLane) bool { return l.Method == s.Entries[entry].Method })
	}
	for _, c := range []struct {
		name   string
		change func(a, b *Stored)
		want   []string
	}{
		{"nothing", func(a, b *Stored) {}, nil},
		{"timed out in A", func(a, b *Stored) { fail(a, 0, measure.TimedOut, "stopped at its limit") },
			[]string{"harris by ours: timed_out in A, ok in B; A: stopped at its limit"}},
		{"a layer crashed in B's race", func(a, b *Stored) {
			lane := &b.Races[2].Lanes[1]
			lane.Status, lane.Failure = measure.Crashed, "crashed: segmentation fault"
		}, []string{"net by expert: ok in A, crashed in B; B: two: in the race: crashed: segmentation fault"}},
		{"failed in both", func(a, b *Stored) {
			fail(a, 1, measure.WrongOutput, "it differs")
			fail(b, 1, measure.Crashed, "it died")
		}, []string{"harris by expert: wrong_output in A, crashed in B; A: it differs; B: it died"}},
		{"not raced in B", func(a, b *Stored) { b.Races = b.Races[1:] },
			[]string{"harris by ours: ok in A, not raced in B", "harris by expert: ok in A, not raced in B"}},
		{"an application of A", func(a, b *Stored) { b.Manifest.Parts = b.Manifest.Parts[1:] }, []string{"application harris: in A alone"}},
		{"a method of B", func(a, b *Stored) { b.Manifest.Entries = append(b.Manifest.Entries, Entry{"random", 1}) }, []string{"method random: in B alone"}},
		{"other layers", func(a, b *Stored) { b.Manifest.Parts = b.Manifest.Parts[:2] }, []string{"net: other layers in A (2) than in B (1)"}},
		{"other counts of layers", func(a, b *Stored) { b.Manifest.Parts[1].Times = 4 }, []string{"net: other layers in A (2) than in B (2)"}},
	} {
		a, b := bothTimed(), bothTimed()
		c.change(a, b)
		got, err := Compare(a, b)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !slices.Equal(got.Missing, c.want) {
			t.Errorf("%s: missing %q, want %q", c.name, got.Missing, c.want)
		}
	}
}

// What the runs were made under is said where it differs, and laid to drift where it changes
// how long the same schedule takes.
func TestComparisonsNoteWhatDiffers(t *testing.T) {
	for _, c := range []struct {
		change  func(a, b *Manifest)
		note    string // empty: none, as the next
		driftOf string
	}{
		{func(a, b *Manifest) { b.CPU = "two" }, "another CPU: one and two", ""},
		{func(a, b *Manifest) { b.Host = "4 processors" }, "another machine: 2 processors and 4 processors", ""},
		{func(a, b *Manifest) { b.Halide = "19.0.0" }, "another Halide: 21.0.0 and 19.0.0", "another Halide"},
		{func(a, b *Manifest) { a.HalideBuild, b.HalideBuild = "12ab", "34cd" }, "another build of Halide: 12ab and 34cd", "another build of Halide"},
		{func(a, b *Manifest) { a.HalideBuild, b.HalideBuild, b.Halide = "12ab", "34cd", "19.0.0" }, "another Halide: 21.0.0 and 19.0.0", "another Halide"},
		{func(a, b *Manifest) { b.HalideBuild = "34cd" }, "", ""},
		{func(a, b *Manifest) { b.Options.Threads = 4 }, "another number of threads: 2 and 4", "another number of threads"},
		{func(a, b *Manifest) { b.Options.Budget = time.Minute }, "another budget: 5m0s and 1m0s", ""},
		{func(a, b *Manifest) { b.Options.PeerTime = time.Minute }, "another limit of the peers' time: the budget and 1m0s", ""},
		{func(a, b *Manifest) { b.Options.PeerMemory = 8 << 30 }, "another limit of the peers' memory: 6144 MiB and 8192 MiB", ""},
		{func(a, b *Manifest) { b.Options.Divide = 10 }, "another divisor: 1 and 10", ""},
		{func(a, b *Manifest) { b.Options.Repeat = 3 }, "another number of seeds: 1 and 3", ""},
		{func(a, b *Manifest) { b.Options.Finalists = 3 }, "another number of finalists: 5 and 3", ""},
		{func(a, b *Manifest) { b.Options.Weights = "my.weights" }, "another file of weights: Halide's and my.weights", ""},
		{func(a, b *Manifest) { a.WeightsHash, b.WeightsHash = "0123456789", "abcdef0123" }, "another content of the weights: 01234567 and abcdef01", ""},
		{func(a, b *Manifest) { a.Parts[0].Source, b.Parts[0].Source = "one", "two" }, "another program: the files of harris changed", "other files of harris"},
	} {
		a, b := bothTimed(), bothTimed()
		c.change(&a.Manifest, &b.Manifest)
		got, err := Compare(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(got.Notes, "; ") != c.note || strings.Join(got.DriftOf, "; ") != c.driftOf {
			t.Errorf("notes %q, want %q; drift of %q, want %q", got.Notes, c.note, got.DriftOf, c.driftOf)
		}
	}
	// Files of what has another schedule now are not in the drift.
	a, b := bothTimed(), bothTimed()
	a.Manifest.Parts[0].Source, b.Manifest.Parts[0].Source = "one", "two"
	b.Entries[0].Schedule, b.Entries[1].Schedule = "another", "another"
	if got, err := Compare(a, b); err != nil || len(got.Notes) != 1 || got.DriftOf != nil || got.Drift.Apps != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// The same schedules are 10/9 as fast in B: a difference up to that is within the drift, one
// beyond it or against it is not.
func TestDifferencesWithinTheDrift(t *testing.T) {
	for ms, want := range map[float64]bool{9.5: true, 5: false, 10.5: false} {
		a, b := bothTimed(), bothTimed()
		for i := range b.Races {
			b.Races[i].Lanes[1].Laps = tenLaps(9)
		}
		b.Entries[0].Schedule, b.Races[0].Lanes[0].Laps = "another", tenLaps(ms)
		b.Entries[2].Schedule = "another" // or net by ours would be of the drift
		c, err := Compare(a, b)
		if err != nil {
			t.Fatal(err)
		}
		if c.Drift.Apps != 2 || math.Abs(c.Drift.Ratio.Value-10.0/9) > 1e-9 {
			t.Errorf("drift %+v of %v", c.Drift, c.Drift.Ratio)
		}
		if p := pairOf(t, c, "harris", "ours"); p.WithinDrift != want || !p.Significant() {
			t.Errorf("%g ms: within the drift %v of %v, want %v", ms, p.WithinDrift, p.Ratio, want)
		}
	}
	drift := measure.Interval{Value: 0.9, Low: 0.85, High: 0.95}
	for _, c := range []struct {
		ratio measure.Interval
		drift *measure.Interval
		want  bool
	}{
		{measure.Interval{Value: 0.92, Low: 0.91, High: 0.93}, &drift, true},
		{measure.Interval{Value: 0.7, Low: 0.6, High: 0.86}, &drift, true},
		{measure.Interval{Value: 0.7, Low: 0.6, High: 0.8}, &drift, false},
		{measure.Interval{Value: 1.05, Low: 1.04, High: 1.06}, &drift, false},
		{measure.Interval{Value: 0.97, Low: 0.96, High: 0.98}, &measure.Interval{Value: 0.98, Low: 0.95, High: 1.01}, false},
		{measure.Interval{Value: 0.97, Low: 0.96, High: 0.98}, nil, false},
	} {
		if got := within(c.ratio, c.drift); got != c.want {
			t.Errorf("%v within %v: %v", c.ratio, c.drift, got)
		}
	}
}

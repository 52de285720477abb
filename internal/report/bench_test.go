package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tunedb"
)

// benchSample is a finished run of three methods: alpha is one application, whose beam
// died; net is one of two layers; gone was never raced.
func benchSample() *bench.Stored {
	ms := func(xs ...float64) (out []time.Duration) {
		for _, x := range xs {
			out = append(out, time.Duration(x*1e6))
		}
		return out
	}
	o := bench.Defaults()
	o.Threads, o.Budget, o.Divide, o.Repeat = 2, 10*time.Minute, 10, 2
	b := &bench.Stored{Dir: "out", Began: time.Unix(1e9, 0), Ended: time.Unix(1e9+600, 0)}
	b.Manifest = bench.Manifest{
		Options: o, Command: "protuner bench run --apps alpha,net,gone", Program: "v1", CPU: "a CPU", Host: "2 processors", Halide: "21.0.0",
		Parts:   []bench.Part{{App: "alpha", Times: 1}, {App: "net", Name: "one", Times: 3}, {App: "net", Name: "two", Times: 1}, {App: "gone", Times: 1}},
		Entries: []bench.Entry{{Method: "ours", Repeats: 2}, {Method: "beam", Repeats: 1}, {Method: "expert", Repeats: 1}},
	}
	entry := func(app, part, method string, repeat int, status measure.Status, message string) {
		e := tunedb.BenchEntry{App: app, Part: part, Method: method, Repeat: repeat, Seed: int64(repeat), Status: status, Message: message, Took: time.Minute, Schedule: "f.compute_root()\n"}
		if method == "ours" {
			e.Evaluations, e.Roots, e.Greedy, e.Cost, e.Measured = 1000, 10, 3, 2, 40
		}
		if method == "ours" && app == "alpha" {
			e.Note, e.Cut = "the last 3 of 10 roots were not timed: 3m0s of timing were over", true
		}
		if method == "beam" && status == measure.OK {
			e.Cost = 2.5
		}
		b.Entries = append(b.Entries, e)
	}
	entry("alpha", "", "ours", 1, measure.OK, "")
	entry("alpha", "", "ours", 2, measure.OK, "")
	entry("alpha", "", "beam", 1, measure.OutOfMemory, "stopped at its limit of 6144 MiB of memory")
	entry("alpha", "", "expert", 1, measure.OK, "")
	for _, part := range []string{"one", "two"} {
		entry("net", part, "ours", 1, measure.OK, "")
		entry("net", part, "ours", 2, measure.WrongOutput, "output at 3, 4 is 5, should be 6")
		entry("net", part, "beam", 1, measure.OK, "")
		entry("net", part, "expert", 1, measure.OK, "")
	}
	b.Races = []tunedb.BenchRace{
		{App: "alpha", Times: 1, Rounds: 4, Thrown: 1, Sentinel: ms(2, 2.02, 1.98, 2.01), Disturbed: ms(4), Lanes: []tunedb.BenchLane{
			{Method: "ours", Repeat: 1, Laps: ms(2.01, 2, 2, 1.99), Disturbed: ms(5)}, {Method: "ours", Repeat: 2, Laps: ms(3, 3, 3, 3)},
			{Method: "expert", Repeat: 1, Laps: ms(1.51, 1.5, 1.49, 1.5)},
		}},
		{App: "net", Part: "one", Times: 3, Rounds: 3, Sentinel: ms(1, 1, 1), Lanes: []tunedb.BenchLane{
			{Method: "ours", Repeat: 1, Laps: ms(1, 1, 1)}, {Method: "beam", Repeat: 1, Laps: ms(2, 2, 2.2)}, {Method: "expert", Repeat: 1, Laps: ms(1, 1, 1)},
		}},
		{App: "net", Part: "two", Times: 1, Rounds: 5, Sentinel: ms(5, 5, 5, 5, 5), Lanes: []tunedb.BenchLane{
			{Method: "ours", Repeat: 1, Laps: ms(5, 5, 5, 5, 5)}, {Method: "beam", Repeat: 1, Laps: ms(20, 20, 20, 20, 20)},
			{Method: "expert", Repeat: 1, Laps: ms(5, 4, 0, 0, 0), Failure: "crashed: segmentation fault"},
		}},
	}
	return b
}

func TestBenchTables(t *testing.T) {
	b := benchSample()
	datadriven.RunTest(t, filepath.Join("testdata", "bench"), func(t *testing.T, d *datadriven.TestData) string {
		against := ""
		if d.HasArg("against") {
			d.ScanArgs(t, "against", &against)
		}
		s, err := b.Summarise(against)
		if err != nil {
			return err.Error() + "\n"
		}
		var out bytes.Buffer
		switch d.Cmd {
		case "text":
			Bench(&out, b, s)
		case "markdown":
			out.WriteString(BenchMarkdown(b, s))
		case "csv":
			err = BenchCSV(&out, s)
		case "laps":
			err = LapsCSV(&out, b)
		case "headline":
			out.WriteString(strings.Join(headline(s), "\n") + "\n")
		case "compare":
			// Against itself with one schedule half as fast, and one that did not crash.
			slower := benchSample()
			for i, l := range slower.Races[0].Lanes {
				for k := range l.Laps {
					if l.Method == "expert" {
						slower.Races[0].Lanes[i].Laps[k] *= 2
					}
				}
			}
			slower.Races[2].Lanes[2].Failure = ""
			c, compareErr := bench.Compare(slower, b)
			if err = compareErr; err == nil {
				BenchComparison(&out, c)
			}
		default:
			t.Fatalf("no command %s", d.Cmd)
		}
		if err != nil {
			return err.Error() + "\n"
		}
		return out.String()
	})
}

// A verdict is of B, and says where the difference may be none of the schedule's.
func TestVerdictsOfTwoRuns(t *testing.T) {
	const unlikely, likely = 0.001, 0.5
	for want, p := range map[string]bench.Pair{
		"faster":                                {Ratio: measure.Interval{Value: 1.5}, Adjusted: unlikely},
		"slower":                                {Ratio: measure.Interval{Value: 0.62}, Adjusted: unlikely},
		"faster, within the drift":              {Ratio: measure.Interval{Value: 1.05}, Adjusted: unlikely, WithinDrift: true},
		"slower, the same schedule":             {Ratio: measure.Interval{Value: 0.9}, Adjusted: unlikely, Same: true},
		"no difference seen":                    {Ratio: measure.Interval{Value: 1.05}, Adjusted: likely, WithinDrift: true},
		"no difference seen, the same schedule": {Ratio: measure.Interval{Value: 1.05}, Adjusted: likely, Same: true},
	} {
		if got := said(p); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The machine alone is named only where nothing else differs that changes times.
func TestDriftSaysWhatItIsOf(t *testing.T) {
	for want, c := range map[string]bench.Comparison{
		"drift: where both have the same schedule B is 1.00 [0.99, 1.02] times as fast in geometric mean of 3, which is what the machine alone changed": {
			Drift: bench.Mean{Apps: 3, Ratio: &measure.Interval{Value: 1, Low: 0.99, High: 1.02}},
		},
		"drift: where both have the same schedule B is 0.90 [0.88, 0.91] times as fast in geometric mean of 2, which is what the machine changed together with another Halide, other files of net; its interval excludes 1, so a difference within it need not be the schedule's": {
			Drift: bench.Mean{Apps: 2, Ratio: &measure.Interval{Value: 0.9, Low: 0.88, High: 0.91}}, DriftOf: []string{"another Halide", "other files of net"},
		},
	} {
		if got := drift(&c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A cell without a time says in a word or two why.
func TestCellsSayWhyThereIsNoTime(t *testing.T) {
	for want, c := range map[string]bench.Cell{
		"not yet":       {},
		"not raced":     {Message: "it cannot be described"},
		"too long":      {Status: measure.TimedOut, Message: "stopped at its limit"},
		"out of memory": {Status: measure.OutOfMemory},
		"wrong output":  {Status: measure.WrongOutput},
	} {
		if got := short(c); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
}

// Intervals from too few rounds are marked, with what is made of them, and where there are
// some there is a line that says so. Of an application of layers the worst layer counts.
func TestIntervalsFromFewRoundsAreMarked(t *testing.T) {
	b := benchSample()
	cutTo := func(race, rounds int) {
		fit := func(laps []time.Duration) []time.Duration {
			for len(laps) < rounds {
				laps = append(laps, laps[len(laps)-1])
			}
			return laps[:rounds]
		}
		r := &b.Races[race]
		r.Rounds, r.Sentinel = rounds, fit(r.Sentinel)
		for i := range r.Lanes {
			r.Lanes[i].Laps = fit(r.Lanes[i].Laps)
		}
	}
	for race := range b.Races {
		cutTo(race, 5)
	}
	const line = "* marks an interval from fewer than 5 rounds"
	for _, c := range []struct {
		rounds int // of one of the layers
		want   []string
	}{
		{5, nil},
		{4, []string{"net (2 layers): beam", "net (2 layers): noise floor", "geometric mean: beam", "geometric mean: noise floor"}},
	} {
		cutTo(1, c.rounds)
		s, err := b.Summarise("")
		if err != nil {
			t.Fatal(err)
		}
		table := ratiosTable(s)
		var got []string
		for _, row := range table.Rows {
			for k, cell := range row {
				if strings.Contains(cell, "]*") {
					got = append(got, row[0]+": "+table.Header[k])
				}
			}
		}
		if !slices.Equal(got, c.want) || strings.Contains(table.About, line) != (c.want != nil) {
			t.Errorf("%d rounds: marked are %q; %s", c.rounds, got, table.About)
		}
		said := strings.Join(headline(s), "\n")
		if marked := c.want != nil; strings.Contains(said, "]* times as fast as beam") != marked || strings.Contains(said, line) != marked ||
			!strings.Contains(said, "] times as fast as expert") {
			t.Errorf("%d rounds: %s", c.rounds, said)
		}
	}
}

// The table for programs says what its ratios are against, and has the means.
func TestBenchCSVHasTheMeans(t *testing.T) {
	s, err := benchSample().Summarise("expert")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := BenchCSV(&text, s); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	var means []string
	for _, row := range rows[1:] {
		if row[column("against")] != "expert" {
			t.Errorf("against %q: %q", row[column("against")], row)
		}
		if app := row[column("application")]; strings.HasPrefix(app, "geometric mean") {
			means = append(means, strings.Join([]string{app, row[column("method")], row[column("ratio")], row[column("high")], row[column("floor")], row[column("floor_high")]}, " "))
		}
	}
	ours, floor := s.Means[0].Ratio, s.Floor.Ratio
	want := []string{
		"geometric mean of 1 ours " + number(ours.Value) + " " + number(ours.High) + "  ",
		"geometric mean of 1 expert 1 1  ",
		"geometric mean of 2    " + number(floor.Value) + " " + number(floor.High),
	}
	if !slices.Equal(means, want) {
		t.Errorf("means %q, want %q", means, want)
	}
}

// Everything is written, and what programs read back is what was found.
func TestBenchFiles(t *testing.T) {
	b := benchSample()
	s, err := b.Summarise("")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files, err := WriteBench(dir, b, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"report.txt", "report.md", "report.csv", "laps.csv", "report.json", "report.html", "throughput.svg", "throughput.png", "ratio.svg", "cost.png", "greedy.svg"} {
		info, err := os.Stat(filepath.Join(dir, want))
		if err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", want, err)
		}
	}
	if len(files) != 14 {
		t.Errorf("told of %v", files)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"took_seconds": 120,`, `"cost_ms": 2,`, `"failed_seeds": 2,`, `"cut_seeds": 2,`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("report.json has no %s", want)
		}
	}
	var back benchJSON
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Summary.Apps[1].Cells[1].Seconds; math.Abs(got-0.026) > 1e-12 || !back.Ended || back.Manifest.Options.Divide != 10 {
		t.Errorf("read back %v, %+v", got, back.Manifest)
	}
	plot, err := os.ReadFile(filepath.Join(dir, "ratio.svg"))
	if err != nil {
		t.Fatal(err)
	}
	// Every text is given its width, or a machine with another font draws it over the bars.
	if texts, fixed := strings.Count(string(plot), "<text "), strings.Count(string(plot), "textLength="); texts == 0 || fixed != texts {
		t.Errorf("%d of %d texts of the plot have their width", fixed, texts)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "out of memory", "alpha by beam: out_of_memory", "net (2 layers) by ours: 1 of 2 seeds failed: wrong_output (1)", "<td>geometric mean</td>", "protuner bench run --apps"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

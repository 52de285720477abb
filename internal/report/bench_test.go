package report

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
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
			e.Note = "the last 3 of 10 roots were not timed: 3m0s of timing were over"
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
		{App: "alpha", Times: 1, Rounds: 4, Thrown: 1, Sentinel: ms(2, 2.02, 1.98, 2.01), Lanes: []tunedb.BenchLane{
			{Method: "ours", Repeat: 1, Laps: ms(2.01, 2, 2, 1.99)}, {Method: "ours", Repeat: 2, Laps: ms(3, 3, 3, 3)},
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
			// Against itself with one schedule half as fast.
			slower := benchSample()
			for i, l := range slower.Races[0].Lanes {
				for k := range l.Laps {
					if l.Method == "expert" {
						slower.Races[0].Lanes[i].Laps[k] *= 2
					}
				}
			}
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
	for _, want := range []string{"<svg", "out of memory", "alpha by beam: out_of_memory", "<td>geometric mean</td>", "protuner bench run --apps"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

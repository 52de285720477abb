package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

func TestDurations(t *testing.T) {
	for seconds, want := range map[float64]string{
		0: "-", -1: "-", 999.4e-6: "999 us", 999.9e-6: "1 ms", 0.9999: "1 s", 1234: "1230 s", 1.5e-6: "1.5 us", 123.4e-6: "123 us", 2.345e-3: "2.34 ms", 0.5: "500 ms", 1: "1 s", 61.7: "61.7 s",
	} {
		if got := Duration(seconds); got != want {
			t.Errorf("%v s is %q, want %q", seconds, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"as long", 7, "as long"}, {"longer", 4, "long..."}, {"in ‘x’", 4, "in ..."}, {"in ‘x’", 6, "in ‘..."}, {"‘", 1, "..."},
	} {
		if got := cut(c.text, c.most); got != c.want {
			t.Errorf("%q cut to %d is %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

// A report of what was not raced says so, before its table.
func TestMarkdownOfWhatWasNotRaced(t *testing.T) {
	r := sample()
	r.NoiseFloor, r.Baselines = nil, []tune.BaselineReport{{Name: "adams2019", Failure: "timed_out: too long"}}
	if md := Markdown(r); !strings.Contains(md, "fresh process: 1.9 ms\n\nnot raced: adams2019: timed_out: too long\n\n| | |\n") {
		t.Errorf("got\n%s", md)
	}
}

func sample() *tune.Report {
	floor := measure.Interval{Value: 1.001, Low: 0.995, High: 1.007}
	verdict := func(v, low, high, minima float64, inconclusive bool) *measure.Verdict {
		return &measure.Verdict{Ratio: measure.Interval{Value: v, Low: low, High: high}, Minima: minima, Inconclusive: inconclusive}
	}
	return &tune.Report{
		Run: 3, DB: "p.db", Generator: "harris", Algorithm: "a1", Halide: "21.0.0", Target: "x86|64", Host: "CPU", Threads: 2,
		Search: "evolve", Seed: 1, Budget: 300, Searched: 60, Measured: 120, Known: 7,
		Failures: map[measure.Status]int{measure.TimedOut: 1, measure.BuildFailed: 2}, Hash: "00ff", Schedule: "f.compute_root()\n", Origin: "random",
		Seconds: 2e-3, Final: 1.9e-3, NoiseFloor: &floor, Rounds: 12, Thrown: 1,
		Seeds: []tune.SeedReport{
			{Name: "own", Seconds: 2.2e-3}, {Name: "mullapudi2016", Nearest: true}, {Name: "li2018", Failure: "its scheduler failed: signal: aborted"},
		},
		Baselines: []tune.BaselineReport{
			{Name: "own", Seconds: 1.8e-3, Verdict: verdict(0.95, 0.93, 0.97, 0.95, false)},
			{Name: "adams2019", Seconds: 3e-3, Verdict: verdict(1.5, 1.4, 1.6, 1.55, false), Note: strings.Repeat("n", 200)},
			{Name: "li2018", Seconds: 2e-3, Verdict: verdict(1, 0.99, 1.01, 1, false)},
			{Name: "other", Seconds: 2e-3, Verdict: verdict(1.1, 1.05, 1.2, 0.9, true)},
			{Name: "mullapudi2016", Failure: "stopped at its limit of 6144 MiB of memory"},
		},
	}
}

func TestFinishedRunsAreTold(t *testing.T) {
	var out bytes.Buffer
	Tuned(&out, sample())
	for _, want := range []string{
		"harris: 120 schedules measured in 1m0s (120 a minute), 7 known from earlier runs; failed: 2 build_failed, 1 timed_out",
		"best: 2 ms, found by random, run 3 of p.db",
		"it began with own 2.2 ms, mullapudi2016 (no time), not li2018 (its scheduler failed: signal: aborted)", "12 interleaved rounds (1 thrown away as disturbed)",
		"1.500 [1.400, 1.600]", "faster;  ", "nnn", "slower", "no difference seen", "inconclusive: median and minima disagree",
		"stopped at its limit of 6144 MiB of memory", "1.001 [0.995, 1.007]", "noise floor",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), strings.Repeat("n", 101)) || strings.Contains(out.String(), "files:") {
		t.Errorf("too much in\n%s", &out)
	}
	// A run that was interrupted had no race.
	r := sample()
	r.Final, r.Seeds, r.Baselines, r.NoiseFloor, r.Failures, r.Known = 0, nil, nil, nil, nil, 0
	out.Reset()
	if Tuned(&out, r); strings.Contains(out.String(), "Final race") || !strings.Contains(out.String(), "failed: none") || !strings.Contains(out.String(), "began with nobody's schedule") {
		t.Errorf("without a race:\n%s", &out)
	}
}

// Where the Generator's own schedule beat the search's best that is said, and so is what few
// rounds are worth.
func TestKeptSchedulesAreTold(t *testing.T) {
	const hint = "Fewer than 10 rounds counted"
	var plain, kept bytes.Buffer
	r := sample()
	Tuned(&plain, r)
	if text := plain.String() + Markdown(r); strings.Contains(text, hint) || strings.Contains(text, "as it stands") || !strings.Contains(text, "\n## Schedule\n") {
		t.Errorf("of 12 rounds that the search's best won:\n%s", text)
	}
	r.Kept, r.Rounds = true, 5
	Tuned(&kept, r)
	const stands, itself = "the Generator's own schedule as it stands", "noise floor: the search's best against itself"
	// A terminal's table is too narrow for the second.
	for _, want := range []string{stands, "noise floor: the search's best against", "5 interleaved rounds", hint} {
		if !strings.Contains(kept.String(), want) {
			t.Errorf("%q is not in\n%s", want, &kept)
		}
	}
	md := Markdown(r)
	for _, want := range []string{stands, itself, "\n## The search's best, which the Generator's own schedule beat\n"} {
		if !strings.Contains(md, want) {
			t.Errorf("%q is not in\n%s", want, md)
		}
	}
}

// Without baselines there is nothing to race.
func TestRunsWithoutARaceAreTold(t *testing.T) {
	r := sample()
	r.Rounds, r.Thrown, r.Baselines, r.NoiseFloor = 0, 0, nil, nil
	var out bytes.Buffer
	Tuned(&out, r)
	if text := out.String(); strings.Contains(text, "Final race") || !strings.Contains(text, "checked in a fresh process: 1.9 ms") {
		t.Errorf("told:\n%s", text)
	}
	if text := Markdown(r); strings.Contains(text, "Final race") {
		t.Errorf("written:\n%s", text)
	}
}

func TestReportsAreWritten(t *testing.T) {
	r := sample()
	r.Out = t.TempDir()
	for range 2 { // again is no other
		if err := Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.Files) != 2 {
		t.Errorf("files %v", r.Files)
	}
	text, err := os.ReadFile(filepath.Join(r.Out, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	back := new(tune.Report)
	if err := json.Unmarshal(text, back); err != nil || back.Hash != r.Hash || len(back.Baselines) != 5 || *back.NoiseFloor != *r.NoiseFloor {
		t.Errorf("read back %+v, %v", back, err)
	}
	md, err := os.ReadFile(filepath.Join(r.Out, "report.md"))
	if err != nil || !strings.Contains(string(md), "f.compute_root()") || !strings.Contains(string(md), `x86\|64`) {
		t.Errorf("%v\n%s", err, md)
	}
	r.Out = filepath.Join(r.Out, "nowhere")
	if err := Write(r); err == nil {
		t.Error("written to nowhere")
	}
}

func TestRunsAreListed(t *testing.T) {
	runs := []ListedRun{
		Listed(tunedb.Run{ID: 3, Workload: tunedb.Workload{Generator: "blur"}, Started: time.Now(), Report: []byte("{}")}),
		Listed(tunedb.Run{ID: 2, Workload: tunedb.Workload{Generator: "hist"}, Started: time.Now()}),
		Listed(tunedb.Run{ID: 1, Workload: tunedb.Workload{Generator: "harris"}, Started: time.Now(), Ended: time.Now(), Report: []byte("{}")}),
	}
	runs[2].Measured, runs[2].Fastest = 31, 2e-3
	var out bytes.Buffer
	if err := Runs(&out, runs); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"blur", "stopped", "hist", "not finished", "harris", "ended", "2 ms", "31"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// Where nobody watches, lines are plain and few; on a terminal one line is
// rewritten.
func TestProgress(t *testing.T) {
	play := func(p *Progress) {
		e := p.Events()
		e.Phase("searching")
		for i := range 50 {
			e.Measured(tune.Progress{Status: measure.OK, Seconds: 3e-3, Best: 2e-3, Improved: i == 0, Done: i + 1, Origin: "random",
				Elapsed: time.Second, Budget: time.Minute, Failures: map[measure.Status]int{measure.Crashed: 1}})
		}
		e.Round(1, 30)
		e.Baseline("adams2019", time.Second, errors.New("no memory:\n  "+strings.Repeat("many words ", 40)))
		e.Baseline("own", time.Second, nil)
		p.Close()
	}
	var plain, live bytes.Buffer
	play(&Progress{w: &plain, start: time.Now(), last: time.Now()})
	play(&Progress{w: &live, start: time.Now(), live: true})
	if n := strings.Count(plain.String(), "\n"); n != 4 || strings.Contains(plain.String(), "\r") || len(plain.String()) > 500 {
		t.Errorf("%d plain lines:\n%s", n, &plain)
	}
	for _, want := range []string{"best so far 2 ms after 1 schedules, by random", "1 crashed", "59s left", "\r", "adams2019: no memory: many words many"} {
		if !strings.Contains(live.String(), want) {
			t.Errorf("%q is not in %q", want, live.String())
		}
	}
	if !strings.HasSuffix(live.String(), "\n") && !strings.HasSuffix(live.String(), "\r") {
		t.Errorf("it ends with %q", live.String()[live.Len()-20:])
	}
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/protuner/protuner/internal/bench"
)

var tinyApps = filepath.Join(source("internal"), "bench", "testdata", "apps")

func TestBenchRefusesBadInput(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "text"), "no database, but longer than a database's header would be, so that it can be told")
	for want, args := range map[string][]string{
		`there is no application "alchemy" in`:     {"run", "--apps", "alchemy", "--apps-dir", tinyApps},
		`there is no method "alchemy"`:             {"run", "--apps", "tiny_blur", "--methods", "alchemy", "--apps-dir", tinyApps},
		`there is no profile "alchemy"`:            {"run", "--profile", "alchemy"},
		"times can be divided by 1 to 10":          {"run", "--divide", "20"},
		"nothing.weights: no such file":            {"run", "--apps", "tiny_blur", "--apps-dir", tinyApps, "--weights", "nothing.weights"},
		"--halide names":                           {"run", "--apps", "tiny_blur", "--apps-dir", tinyApps, "--halide", "nowhere"},
		"there is no run":                          {"report", "nowhere"},
		"holds no run of bench":                    {"report", dir},
		"is no protuner database":                  {"report", "text"},
		"there is no run: stat nowhere: no such f": {"compare", "nowhere", dir},
	} {
		args = append([]string{"bench"}, args...)
		if args[1] == "run" {
			args = append(args, "--out", "results")
		}
		r := execute(t, dir, args...)
		if r.code != exitUsage || !strings.HasPrefix(r.words, "protuner: ") || !strings.Contains(r.words, want) || strings.Count(r.words, "\n") != 1 {
			t.Errorf("%v: exit %d, %q", args, r.code, r.words)
		}
		if _, err := os.Stat(filepath.Join(dir, "results", "bench.db")); err == nil {
			t.Errorf("%v made a database", args)
		}
	}
}

// Two tiny applications from one end to the other: a run that is killed and goes on, with
// names that there are none of, the same command again, its report, other options, and the
// run beside itself.
func TestBenchRunReportCompare(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
	dir := t.TempDir()
	args := []string{"bench", "run", "--apps", "tiny_blur", "--apps-dir", tinyApps, "--methods", "expert", "--layers", "1",
		"--max-rounds", "3", "--race-time", "5s", "--out", "results", "--json"}
	killed := command(t, dir, args...)
	progress, err := killed.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	<-said(progress, "tiny_blur: expert made in")
	_ = killed.Process.Signal(syscall.SIGKILL)
	_ = killed.Wait()
	args[3], args[7] = "tiny_blur,lead", "gold,expert"
	r := execute(t, dir, args...)
	if r.code != exitUsage || strings.Contains(r.words, "expert made in") || !strings.Contains(r.words, "1 schedules are there already") {
		t.Errorf("after a kill: exit %d: %s", r.code, r.words)
	}
	for _, want := range []string{`left out: there is no application "lead" in`, `left out: there is no method "gold"`} {
		if !strings.Contains(r.words, want) || !strings.Contains(r.out, strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%q is not in both of %s and %s", want, r.words, r.out)
		}
	}
	args[3], args[7] = "tiny_layer", "expert,mullapudi2016" // added to what is there
	first := execute(t, dir, args...)
	if first.code != exitDone || strings.Contains(first.words, "tiny_blur: expert made in") {
		t.Fatalf("exit %d: %s", first.code, first.words)
	}
	var got struct{ Summary bench.Summary }
	if err := json.Unmarshal([]byte(first.out), &got); err != nil {
		t.Fatalf("%v in %s", err, first.out)
	}
	if n := got.Summary.Timed(); n != 4 || len(got.Summary.Missing) != 0 {
		t.Errorf("%d times; missing %q", n, got.Summary.Missing)
	}
	if len(first.left) > 0 {
		t.Errorf("left behind: %v", first.left)
	}
	again := execute(t, dir, args...)
	if again.code != exitDone || again.out != first.out || strings.Contains(again.words, "made in") {
		t.Errorf("again: exit %d, %s", again.code, again.words)
	}
	if r := execute(t, dir, append(args, "--seed", "2")...); r.code != exitUsage || !strings.Contains(r.words, "results holds a run under other options (protuner bench run --apps") {
		t.Errorf("another seed: exit %d, %s", r.code, r.words)
	}
	if r := execute(t, dir, "bench", "report", "results", "--markdown"); r.code != exitDone || !strings.Contains(r.out, "| tiny_blur |") {
		t.Errorf("report: exit %d, %s%s", r.code, r.out, r.words)
	}
	if r := execute(t, dir, "bench", "compare", "results", "results"); r.code != exitDone || strings.Count(r.out, "no difference seen") != 4 {
		t.Errorf("compare: exit %d, %s%s", r.code, r.out, r.words)
	}
}

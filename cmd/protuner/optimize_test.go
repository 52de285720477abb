package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
	"github.com/protuner/protuner/internal/bridge/bridgetest"
)

const twoParameters = `{"application_name": "two", "optimization_objectives": ["time"], "input_parameters": {
 "tile": {"parameter_type": "ordinal", "values": [1, 2, 4, 8, 16, 32], "parameter_default": 1, "transform": "log"},
 "order": {"parameter_type": "permutation", "values": [3], "parameter_default": [0, 1, 2], "constraints": ["order_i0 < order_i2"]}}}`

// optimized is what `optimize --json` prints, as far as tests look at it.
type optimized struct {
	Study, Store, Stop, Objective string
	Earlier                       int
	Statuses                      map[string]int
	Best                          *struct {
		ID     int
		Value  float64
		Config map[string]any
	}
	Command    []string
	History    []struct{ ID int }
	Failures   []struct{ Status, Message string }
	Importance []bayes.Importance
	Trials     []struct {
		ID     int
		Status string
		Config json.RawMessage
	}
}

func optimize(t *testing.T, dir string, code int, args ...string) (*optimized, outcome) {
	t.Helper()
	o := execute(t, dir, append([]string{"optimize", "--json"}, args...)...)
	if o.code != code {
		t.Fatalf("code %d, not %d:\n%s", o.code, code, o.words)
	}
	r := new(optimized)
	if err := json.Unmarshal([]byte(o.out), r); err != nil {
		t.Fatalf("%v in\n%s", err, o.out)
	}
	return r, o
}

// TestOptimizeWays: every way in and out of the program, the whole space each time.
func TestOptimizeWays(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "two.json"), twoParameters)
	const total = 18
	for name, args := range map[string][]string{
		"arguments":   {"--", "sh", "-c", `echo "$0 took $(( ($1 - 8) * ($1 - 8) + 1 )) ms"`, "{order}", "{tile}"},
		"environment": {"--env", "P_", "--", "sh", "-c", `echo '{"order": "'$P_order'", "time": '$(( (P_tile - 8) * (P_tile - 8) + 1 ))'}'`},
		"stdin":       {"--stdin", "--", "sh", "-c", `read -r l; t=${{l#*tile\":}}; t=${{t%%,*}}; echo $(( (t - 8) * (t - 8) + 1 ))`},
		"build": {"--parallel", "3", "--build", "echo $(( ({tile} - 8) * ({tile} - 8) + 1 )) > built.{id}", "--",
			"sh", "-c", "cat built.{id}; rm built.{id}"},
	} {
		r, o := optimize(t, dir, exitDone, append([]string{"two.json", "--db", name + ".db"}, args...)...)
		if r.Stop != "exhausted" || r.Statuses["ok"] != total || len(r.Trials) != total || r.Best == nil || r.Best.Value != 1 || r.Best.Config["tile"] != 8.0 {
			t.Errorf("%s: %s\n%s", name, o.out, o.words)
			continue
		}
		if len(r.History) == 0 || r.History[len(r.History)-1].ID != r.Best.ID || r.Importance[0].Name != "tile" || r.Importance[0].Effect < 0.5 {
			t.Errorf("%s: history %v, importance %v", name, r.History, r.Importance)
		}
		out, err := exec.Command(r.Command[0], r.Command[1:]...).Output()
		if name == "arguments" && (err != nil || !strings.HasSuffix(string(out), " took 1 ms\n")) {
			t.Errorf("%q printed %s, %v", r.Command, out, err)
		}
	}
}

// TestOptimizeWhatCounts: of a result's numbers the one that is named, the least or the
// greatest of them.
func TestOptimizeWhatCounts(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "two.json"), twoParameters)
	for name, c := range map[string]struct {
		flags       []string
		objective   string
		value, tile float64
	}{
		"the space's objective": {nil, "time", 1, 1},
		"the greatest":          {[]string{"--maximize"}, "time", 32, 32},
		"another field":         {[]string{"--field", "energy"}, "energy", 8, 32},
		"its greatest":          {[]string{"--field", "energy", "--maximize"}, "energy", 39, 1},
	} {
		args := append([]string{"two.json", "--db", "none"}, c.flags...)
		r, o := optimize(t, dir, exitDone, append(args, "--", "sh", "-c", `echo '{{ "time": {tile}, "energy": '$((40 - {tile}))' }}'`)...)
		if r.Stop != "exhausted" || r.Objective != c.objective || r.Best == nil || r.Best.Value != c.value || r.Best.Config["tile"] != c.tile || r.History[len(r.History)-1].ID != r.Best.ID {
			t.Errorf("%s: best %+v, want %v\n%s", name, r.Best, c.value, o.out)
		}
	}
	r, _ := optimize(t, dir, exitFailed, "two.json", "--db", "none", "--trials", "2", "--field", "energy", "--", "sh", "-c", `echo '{{ "time": {tile} }}'`)
	if r.Statuses["crashed"] != 2 || !strings.Contains(r.Failures[0].Message, `has no "energy"`) {
		t.Errorf("without the field: %+v", r.Failures)
	}
}

// TestOptimizeLongBuilds: a build that takes too long is ended, and nothing is run after it.
func TestOptimizeLongBuilds(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "two.json"), twoParameters)
	r, o := optimize(t, dir, exitFailed, "two.json", "--db", "none", "--trials", "3", "--build", "sleep 300 & sleep 300", "--build-limit", "100ms",
		"--", "sh", "-c", "echo x >> ran; echo 1")
	if r.Best != nil || r.Statuses["timed-out"] != 3 || len(r.Failures) != 1 || r.Failures[0].Message != "killed after 100ms" {
		t.Errorf("%s%s", o.out, o.words)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("what was not built was run")
	}
}

// TestOptimizeGoesOn: the same command line continues and evaluates nothing twice,
// in both stores; another command line is another study.
func TestOptimizeGoesOn(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "two.json"), twoParameters)
	for _, db := range []string{"t.db", "t.jsonl"} {
		args := func(trials string, more ...string) []string {
			return append([]string{"two.json", "--db", db, "--trials", trials, "--seed", "7"}, append(more, "--", "sh", "-c", "echo {order} {tile} >> log-"+db+"; echo {tile}")...)
		}
		first, _ := optimize(t, dir, exitDone, args("6")...)
		again, o := optimize(t, dir, exitDone, args("6")...)
		if first.Stop != "spent" || len(first.Trials) != 6 || again.Earlier != 6 || again.Study != first.Study {
			t.Errorf("%s: %d trials, then %d of study %s\n%s", db, len(first.Trials), again.Earlier, again.Study, o.words)
		}
		more, _ := optimize(t, dir, exitDone, args("11")...)
		whole, _ := optimize(t, dir, exitDone, "two.json", "--db", "none", "--trials", "11", "--seed", "7", "--", "sh", "-c", "echo {tile}")
		for i := range whole.Trials {
			if string(more.Trials[i].Config) != string(whole.Trials[i].Config) {
				t.Errorf("%s: trial %d is %s, undisturbed %s", db, i+1, more.Trials[i].Config, whole.Trials[i].Config)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, "log-"+db))
		if err != nil {
			t.Fatal(err)
		}
		lines := map[string]bool{}
		for _, l := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			if lines[l] {
				t.Errorf("%s: %s was evaluated twice", db, l)
			}
			lines[l] = true
		}
		if len(lines) != 11 {
			t.Errorf("%s: %d evaluations, not 11", db, len(lines))
		}
	}
	other, _ := optimize(t, dir, exitDone, "two.json", "--db", "t.db", "--trials", "2", "--", "sh", "-c", "echo 3 {tile}")
	if other.Earlier != 0 {
		t.Errorf("another command found %d trials", other.Earlier)
	}
	if o := execute(t, dir, "optimize", "two.json", "--db", "t.jsonl", "--trials", "2", "--seed", "7", "--", "sh", "-c", "echo 3 {tile}"); o.code != exitUsage || !strings.Contains(o.words, "the stored study is another one") {
		t.Errorf("another command in one file of JSON lines: code %d, %s", o.code, o.words)
	}
	o := execute(t, dir, "optimize", "two.json", "--db", "t.db", "--study", other.Study, "--seed", "9", "--", "echo", "1")
	if o.code != exitUsage || !strings.Contains(o.words, "the stored study is another one") || !strings.Contains(o.words, "name another with --study") {
		t.Errorf("another seed under one name: code %d, %s", o.code, o.words)
	}
}

// TestOptimizeStudyNames: what is read of results makes another study, how it is spelt and
// how long it may take does not.
func TestOptimizeStudyNames(t *testing.T) {
	const (
		seconds = `"optimization_objectives": ["seconds"], `
		energy  = `"optimization_objectives": ["energy"], `
		valid   = `"feasible_output": {"name": "valid", "true_value": "yes"}, `
	)
	name := func(c optimizeCmd, settings string) string {
		sc, err := space.ReadScenario(strings.NewReader(`{` + settings + `"input_parameters": {"a": {"parameter_type": "integer", "values": [1, 3]}}}`))
		if err != nil {
			t.Fatal(err)
		}
		c.Scenario, c.Command = "s.json", []string{"true"}
		return c.studyName(sc, bayes.Options{Seed: 1})
	}
	first := name(optimizeCmd{}, seconds+valid)
	for what, c := range map[string]struct {
		flags    optimizeCmd
		settings string
		same     bool
	}{
		"nothing":                      {optimizeCmd{}, seconds + valid, true},
		"another objective":            {optimizeCmd{}, energy + valid, false},
		"no objective":                 {optimizeCmd{}, valid, false},
		"another field":                {optimizeCmd{Field: "energy"}, seconds + valid, false},
		"the objective as field":       {optimizeCmd{Field: "seconds"}, energy + valid, true},
		"another feasible output":      {optimizeCmd{}, seconds + strings.Replace(valid, `"valid"`, `"correct"`, 1), false},
		"another value for feasible":   {optimizeCmd{}, seconds + strings.Replace(valid, `"yes"`, `"no"`, 1), false},
		"nothing says what is working": {optimizeCmd{}, seconds, false},
		"longer limits":                {optimizeCmd{Limit: time.Hour, BuildLimit: time.Hour}, seconds + valid, true},
	} {
		if got := name(c.flags, c.settings); (got == first) != c.same {
			t.Errorf("%s: %s after %s", what, got, first)
		}
	}
}

// TestOptimizeEndsWithAnError: what was found until then is printed all the same.
func TestOptimizeEndsWithAnError(t *testing.T) {
	dir := t.TempDir()
	// Of reals whose sum is exact none are drawn.
	const number = `{"parameter_type": "real", "values": [0, 1], "parameter_default": 0.125}`
	put(t, filepath.Join(dir, "thin.json"), `{"input_parameters": {"x": `+number+`, "y": `+number+`}, "constraints": ["x + y == 0.25"]}`)
	r, o := optimize(t, dir, exitFailed, "thin.json", "--db", "none", "--method", "uniform", "--", "echo", "{x}")
	if r.Stop != "failed" || r.Best == nil || r.Best.Value != 0.125 || strings.Join(r.Command, " ") != "echo 0.125" || !strings.Contains(o.words, "no feasible configuration was drawn") {
		t.Errorf("%s%s", o.out, o.words)
	}
}

// TestOptimizeLearns: a search begins where an earlier one ended.
func TestOptimizeLearns(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "two.json"), twoParameters)
	command := []string{"--db", "none", "--", "sh", "-c", "echo $(( ({tile} - 8) * ({tile} - 8) + $0 ))"}
	before, o := optimize(t, dir, exitDone, append([]string{"two.json"}, append(command, "5")...)...)
	put(t, filepath.Join(dir, "before.json"), o.out)
	after, _ := optimize(t, dir, exitDone, append([]string{"two.json", "--trials", "2", "--earlier", "before.json"}, append(command, "900")...)...)
	// The default configuration is tried first all the same, then one of the best.
	if before.Best.Config["tile"] != 8.0 || after.Best.ID != 2 || after.Best.Config["tile"] != 8.0 {
		t.Errorf("after %v it found %+v", before.Best.Config, after.Best)
	}
}

func TestOptimizeForPeople(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "two.json"), twoParameters)
	for file, magic := range map[string]string{"p.svg": "<?xml", "p.png": "\x89PNG", "p.pdf": "%PDF"} {
		o := execute(t, dir, "optimize", "two.json", "--db", "none", "--method", "uniform", "--plot", file, "--start", `{"tile": 4, "order": [0, 2, 1]}`,
			"--", "sh", "-c", "[ {tile} = 16 ] && exit 4; echo {tile}0")
		if o.code != exitDone {
			t.Fatalf("code %d: %s", o.code, o.words)
		}
		for _, want := range []string{"every configuration has been tried after 18 trials: 15 ok, 3 crashed", "best: time 10, trial ", "tile = 1\n",
			"how it got there:", "start", "how much each parameter matters", "3 x crashed, first trial"} {
			if !strings.Contains(o.out, want) {
				t.Errorf("no %q in\n%s", want, o.out)
			}
		}
		if !strings.Contains(o.words, "trial 1: best so far 40  (tile=4 order=0,2,1)") || !strings.Contains(o.words, "crashed: exit status 4") || strings.Contains(o.words, "\r") {
			t.Errorf("progress:\n%q", o.words)
		}
		if picture, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !bytes.HasPrefix(picture, []byte(magic)) || len(picture) < 2000 {
			t.Errorf("%s: %d bytes, %v", file, len(picture), err)
		}
	}
}

// scenarioOf has parameters a and b, of 1 to 3, under constraints.
func scenarioOf(constraints ...string) string {
	text, err := json.Marshal(constraints)
	if err != nil {
		panic(err)
	}
	return `{"input_parameters": {"a": {"parameter_type": "integer", "values": [1, 3]}, "b": {"parameter_type": "integer", "values": [1, 3]}}, "constraints": ` + string(text) + `}`
}

func TestOptimizeBadInput(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "two.json"), twoParameters)
	notes := put(t, filepath.Join(dir, "notes.txt"), strings.Repeat("my notes\n", 100))
	stored(t, filepath.Join(dir, "tuned.db"))
	for name, c := range map[string]struct {
		space string // in place of two.json
		args  []string
		want  string
	}{
		"no space":               {"", []string{"nowhere.json", "--", "true"}, "open nowhere.json: no such file"},
		"no command":             {"", []string{"two.json"}, "there is no command to evaluate configurations with; put it after --"},
		"a command and ask/tell": {"", []string{"two.json", "--ask-tell", "--", "true"}, "leave the command out"},
		"command missing":        {"", []string{"two.json", "--", "no-such-program"}, `"no-such-program": executable file not found`},
		"an unknown placeholder": {"", []string{"two.json", "--", "echo", "{tiel}"}, `{tiel} in "{tiel}" names no parameter`},
		"an unknown method":      {"", []string{"two.json", "--method", "magic", "--", "true"}, `unknown preset "magic"; there are default, paper`},
		"a bad start":            {"", []string{"two.json", "--start", `{"tile": 3, "order": [0, 1, 2]}`, "--", "true"}, "--start"},
		"no earlier search":      {"", []string{"two.json", "--earlier", "nowhere.json", "--", "true"}, "--earlier"},
		"a bad earlier search":   {"", []string{"two.json", "--earlier", notes, "--", "true"}, "earlier search: invalid character"},
		"a bad plot":             {"", []string{"two.json", "--plot", "p.gif", "--", "true"}, "ends in .svg, .png, .pdf"},
		"parallel without build": {"", []string{"two.json", "--parallel", "2", "--", "true"}, "--build"},
		"negative trials":        {"", []string{"two.json", "--trials=-3", "--", "true"}, "--trials"},
		"no time":                {"", []string{"two.json", "--limit", "0s", "--", "true"}, "--limit"},
		"no time to build":       {"", []string{"two.json", "--build-limit", "0s", "--", "true"}, "--build-limit"},
		"notes as a database":    {"", []string{"two.json", "--db", notes, "--", "true"}, "--db: trial store " + notes + ": file is not a database"},
		"a run's database":       {"", []string{"two.json", "--db", "tuned.db", "--", "true"}, "--db: trial store tuned.db: this is no store of trials, and was left as it was; name another file"},
		"broken JSON":            {"{\n \"input_parameters\": {,}}", nil, "s.json: scenario: line 2, column 23"},
		"contradiction":          {scenarioOf("a < b", "b < a"), nil, `no configuration satisfies the constraints: these clash: "a < b" and "b < a"`},
		"syntax of a constraint": {scenarioOf("a < b", "a <"), nil, `constraints[1]: `},
		"unknown in constraint":  {scenarioOf("a < c"), nil, "column 5"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"optimize"}, c.args...)
			if c.space != "" {
				put(t, filepath.Join(dir, "s.json"), c.space)
				args = append(args, "s.json", "--", "true")
			}
			o := execute(t, dir, args...)
			if o.code != exitUsage || !strings.Contains(o.words, c.want) || o.out != "" {
				t.Errorf("code %d, %q on stdout, want %q in\n%s", o.code, o.out, c.want, o.words)
			}
			if lines := strings.Count(strings.TrimSpace(o.words), "\n"); lines > 0 {
				t.Errorf("%d more lines than one:\n%s", lines, o.words)
			}
			if text, err := os.ReadFile(notes); err != nil || !strings.HasPrefix(string(text), "my notes") {
				t.Errorf("the notes changed")
			}
		})
	}
}

// TestOptimizeBadPrograms: what programs do wrong is an outcome, and the search goes
// on to the end.
func TestOptimizeBadPrograms(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "two.json"), twoParameters)
	for name, c := range map[string]struct {
		script, status, message string
	}{
		"NaN":          {"echo nan", "crashed", "its result is NaN"},
		"infinite":     {"echo inf", "crashed", "its result is +Inf"},
		"nothing":      {":", "crashed", "printed no result"},
		"words":        {"echo sorry", "crashed", `there is no number in its output, which ends in "sorry"`},
		"failing":      {"echo out of registers >&2; exit 9", "crashed", "exit status 9: out of registers"},
		"infeasible":   {`echo '{{"feasible": false, "message": "too wide"}}'`, "infeasible", "too wide"},
		"never ending": {"sleep 300 & sleep 300", "timed-out", "killed after 100ms"},
	} {
		limit := "1m"
		if c.status == "timed-out" {
			limit = "100ms"
		}
		args := []string{"two.json", "--db", "none", "--trials", "8", "--limit", limit, "--", "sh", "-c", c.script}
		r, o := optimize(t, dir, exitFailed, args...)
		if r.Best != nil || r.Statuses[c.status] != 8 || len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Message, c.message) {
			t.Errorf("%s: %s", name, o.out)
		}
		if !strings.Contains(o.words, "none of 8 configurations gave a value; most often: "+c.status+": ") {
			t.Errorf("%s: %s", name, o.words)
		}
	}
	// One configuration works, and is found since the space is small.
	r, _ := optimize(t, dir, exitDone, "two.json", "--db", "none", "--", "sh", "-c", "[ {order}-{tile} = 1,0,2-32 ] && echo 5")
	if r.Best == nil || r.Best.Value != 5 || r.Statuses["crashed"] != 17 {
		t.Errorf("one feasible point: %+v", r)
	}
	// The program vanishes: nothing is learned from that.
	put(t, filepath.Join(dir, "once"), "#!/bin/sh\nrm once\necho 4\n")
	if err := os.Chmod(filepath.Join(dir, "once"), 0o700); err != nil {
		t.Fatal(err)
	}
	r, _ = optimize(t, dir, exitDone, "two.json", "--db", "none", "--trials", "5", "--", "./once")
	if r.Best == nil || r.Best.Value != 4 || r.Statuses["lost"] != 4 {
		t.Errorf("a vanished program: %+v", r.Statuses)
	}
}

func TestOptimizeAThousandParameters(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, `"p%d": {"parameter_type": "integer", "values": [0, 9]},`, i)
	}
	put(t, filepath.Join(dir, "many.json"), `{"input_parameters": {`+strings.TrimSuffix(text.String(), ",")+`}}`)
	r, _ := optimize(t, dir, exitDone, "many.json", "--db", "none", "--trials", "7", "--", "echo", "{p7}")
	if r.Statuses["ok"] != 7 || len(r.Best.Config) != 1000 || len(r.Importance) != 1000 {
		t.Errorf("%v", r.Statuses)
	}
}

// TestOptimizeInterrupted presses Ctrl-C while a command runs: it is killed with its
// children, the best is printed, and the same command line goes on.
func TestOptimizeInterrupted(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "two.json"), twoParameters)
	put(t, filepath.Join(dir, "run.sh"), "echo x >> begun\n[ $(wc -l < begun) -eq 4 ] && { sleep 300 & echo > waiting; wait; }\necho $1\n")
	cmd := command(t, dir, "optimize", "--json", "two.json", "--trials", "6", "--", "sh", "run.sh", "{tile}")
	cmd.Env = append(cmd.Env, bridgetest.MarkVariable+"="+dir)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "waiting")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			t.Fatalf("it never began its fourth trial:\n%s", &words)
		}
	}
	// Protuner, the shell and what that waits for.
	bridgetest.Settled(t, func() bool { return len(bridgetest.Marked(dir)) == 3 }, func() string { return fmt.Sprintf("running: %v", bridgetest.Marked(dir)) })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its code is looked at
	bridgetest.Settled(t, func() bool { return len(bridgetest.Marked(dir)) == 0 }, func() string { return fmt.Sprintf("the command lives on: %v", bridgetest.Marked(dir)) })
	r := new(optimized)
	if err := json.Unmarshal(out.Bytes(), r); err != nil || cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Fatalf("code %d, %v:\n%s%s", cmd.ProcessState.ExitCode(), err, &out, &words)
	}
	if r.Stop != "interrupted" || r.Best == nil || r.Statuses["ok"] != 3 || r.Statuses["pending"] != 1 || !strings.Contains(words.String(), "goes on from here") {
		t.Errorf("%s%s", &out, &words)
	}
	more, _ := optimize(t, dir, exitDone, "two.json", "--trials", "6", "--", "sh", "run.sh", "{tile}")
	if more.Earlier != 3 || more.Statuses["ok"] != 6 {
		t.Errorf("it went on to %v from %d", more.Statuses, more.Earlier)
	}
}

// TestOptimizeAskTell drives a search from outside.
func TestOptimizeAskTell(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "two.json"), twoParameters)
	cmd := command(t, dir, "optimize", "two.json", "--ask-tell", "--db", "a.db", "--seed", "3")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	type answer struct {
		OK     bool
		Error  string
		Trials []struct {
			ID     int
			Config struct{ Tile float64 }
		}
		Best *struct{ Value float64 }
	}
	say := func(format string, args ...any) answer {
		t.Helper()
		fmt.Fprintf(in, format+"\n", args...)
		if !lines.Scan() {
			t.Fatalf("no answer: %v", lines.Err())
		}
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		return a
	}
	if a := say(`{"op": "tell", "id": 1, "value": 2}`); a.OK || a.Error != "trial 1 was not asked" {
		t.Errorf("telling of nothing: %+v", a)
	}
	var last answer
	for range 18 {
		a := say(`{"op": "ask"}`)
		last = say(`{"op": "tell", "id": %d, "value": %v}`, a.Trials[0].ID, a.Trials[0].Config.Tile)
	}
	if last.Best == nil || last.Best.Value != 1 {
		t.Errorf("the last answer was %+v", last)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestOptimizeGcc tunes flags and macros of a real compiler, as docs/bayes.md has it.
func TestOptimizeGcc(t *testing.T) {
	dir := t.TempDir()
	example := source("bayes/examples/gcc")
	t.Setenv("SIZE", "96")
	args := []string{filepath.Join(example, "space.json"), "--trials", "8", "--env", "P_", "--parallel", "2",
		"--start", `{"level": "-O3", "machine": "native", "unroll": "-funroll-loops", "vectorise": "-ftree-vectorize", "cost": "dynamic",
			"width": 256, "tile_i": 8, "tile_j": 256, "tile_k": 256, "schedule": "static"}`,
		"--build", filepath.Join(example, "build.sh") + " built.{id}", "--", "./built.{id}"}
	r, o := optimize(t, dir, exitDone, args...)
	if r.Best == nil || r.Best.Value <= 0 || r.Statuses["ok"] < 2 || r.Statuses["ok"]+r.Statuses["crashed"] != 8 {
		t.Fatalf("%v\n%s", r.Statuses, o.words)
	}
	if len(r.Failures) == 0 || !strings.Contains(o.words, "the copied tile is too large") {
		t.Errorf("a tile too large compiled:\n%s", o.words)
	}
	again := exec.Command(r.Command[0], r.Command[1:]...)
	again.Dir = dir
	if out, err := again.Output(); err != nil || len(out) == 0 {
		t.Errorf("the best again: %s, %v", out, err)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"image"
	"image/png"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

// commandVariable makes the test program the command itself.
const commandVariable = "PROTUNER_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) != "" {
		os.Exit(run(os.Args[1:]))
	}
	flag.Parse()
	os.Exit(m.Run())
}

// command is protuner with these arguments in a folder of its own, with the default
// Halide and a TMPDIR that nobody else writes to.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute) // so that what should have been refused ends
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), commandVariable+"=1", "TMPDIR="+tmp,
		"PROTUNER_HALIDE="+filepath.Join(bridge.DataDir(), "halide", bridge.DefaultVersion))
	return cmd
}

type outcome struct {
	code       int
	out, words string
	left       []string // in TMPDIR
}

func execute(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	return finish(t, command(t, dir, args...))
}

func finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{code: cmd.ProcessState.ExitCode(), out: out.String(), words: words.String(), left: leftBehind(cmd.Dir)}
}

// leftBehind is what lies in the TMPDIR of a folder's commands.
func leftBehind(dir string) []string {
	left, _ := filepath.Glob(filepath.Join(dir, "tmp", "*"))
	return left
}

func source(name string) string {
	abs, err := filepath.Abs(filepath.Join("..", "..", name))
	if err != nil {
		panic(err)
	}
	return abs
}

var (
	small  = source("halide/testdata/directives_generator.cpp")
	many   = source("halide/testdata/describe_generators.cpp")
	harris = source("apps/harris/harris_generator.cpp")
)

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// stored makes a database with one run on a workload that is not any Generator's
// here.
func stored(t *testing.T, path string) {
	t.Helper()
	db, err := tunedb.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err := db.Begin(t.Context(), tunedb.Workload{Algorithm: "another", Generator: "directives"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Record(t.Context(), tunedb.Measurement{Hash: "1", Text: "f.compute_root()\n", Status: measure.OK, Best: time.Millisecond,
		Samples: []time.Duration{time.Millisecond}, Taken: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBadUsage(t *testing.T) {
	dir := t.TempDir()
	notes := put(t, filepath.Join(dir, "notes.txt"), strings.Repeat("my notes\n", 100))
	lines := put(t, filepath.Join(dir, "lines.json"), "hello\n")
	stored(t, filepath.Join(dir, "other.db"))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no verb":              {nil, "expected one of"},
		"an unknown verb":      {[]string{"tuen"}, "tuen"},
		"an unknown flag":      {[]string{"tune", small, "--buget", "5m"}, "--buget"},
		"no Generator":         {[]string{"tune"}, "<generator>"},
		"a budget of zero":     {[]string{"tune", small, "--budget", "0s"}, "a budget of 0s leaves no time to measure anything; give a positive one, such as --budget 5m"},
		"a negative budget":    {[]string{"tune", small, "--budget=-1m"}, "a budget of -1m0s"},
		"negative trials":      {[]string{"tune", small, "--trials=-1"}, "-1 trials cannot be"},
		"negative threads":     {[]string{"tune", small, "--threads=-1"}, "-1 threads"},
		"a negative tolerance": {[]string{"tune", small, "--int-tolerance=-1"}, "a tolerance is negative"},
		"checked with one":     {[]string{"check", small, "--schedule", notes, "--int-tolerance=-1"}, "a tolerance is negative"},
		"an unknown search":    {[]string{"tune", small, "--search", "psychic"}, `there is no search "psychic"; choose one of`},
		"an unknown baseline":  {[]string{"tune", small, "--baseline", "adam"}, `there is no baseline "adam"; choose of own, adams2019`},
		"an unknown seed":      {[]string{"tune", small, "--seeds", "adam"}, `there is no seed "adam"; choose of own, adams2019`},
		"a missing file":       {[]string{"tune", "missing.cpp"}, "cannot read the Generator"},
		"a folder":             {[]string{"tune", dir}, "is a folder"},
		"no Halide":            {[]string{"tune", small, "--halide", dir}, "--halide names " + dir + ", but there is no include/Halide.h in it; install it with"},
		"a bad parameter":      {[]string{"tune", small, "--", "which"}, `"which" is no Generator parameter; write NAME=VALUE`},
		"an autoscheduler":     {[]string{"tune", small, "--", "autoscheduler=Adams2019"}, "is protuner's to set"},
		"no database":          {[]string{"tune", small, "--db", notes}, notes + " is no protuner database; name another file with --db"},
		"nothing to show":      {[]string{"show", "--db", "nowhere.db"}, "there is no database nowhere.db"},
		"showing notes":        {[]string{"show", "--db", notes}, "is no protuner database"},
		"a run by two names":   {[]string{"show", "harris", "--db", "other.db", "--run", "1"}, "give either harris or --run 1"},
		"no such run":          {[]string{"show", "--db", "other.db", "--run", "7"}, "other.db has no run 7"},
		"exporting nothing":    {[]string{"db", "export", "--db", "nowhere.db"}, "there is no database nowhere.db"},
		"exporting onto it":    {[]string{"db", "export", "--db", "other.db", "other.db"}, "other.db is the database itself"},
		"importing nonsense":   {[]string{"db", "import", lines, "--db", "new.db"}, "line 1: it is no exported measurement"},
		"importing nothing":    {[]string{"db", "import", "nowhere.json", "--db", "new.db"}, "nowhere.json"},
		"the top of one":       {[]string{"export", small, "--top", "3"}, "--top 3: give 1, or a greater number with -o DIR"},
		"exporting of nothing": {[]string{"export", small, "--db", "nowhere.db"}, "there is no database nowhere.db"},
	} {
		t.Run(name, func(t *testing.T) {
			o := execute(t, dir, c.args...)
			if o.code != exitUsage || !strings.Contains(o.words, c.want) {
				t.Errorf("code %d, want %q in\n%s", o.code, c.want, o.words)
			}
			if o.out != "" && c.args != nil && !strings.HasPrefix(o.out, "Usage:") {
				t.Errorf("on stdout: %s", o.out)
			}
			if len(o.left) > 0 {
				t.Errorf("left behind: %v", o.left)
			}
			if text, err := os.ReadFile(notes); err != nil || !strings.HasPrefix(string(text), "my notes") {
				t.Errorf("the notes changed")
			}
		})
	}
	if o := execute(t, dir, "tune", "--help"); o.code != exitDone || !strings.Contains(o.out, "--budget") {
		t.Errorf("--help: code %d, %s", o.code, o.words)
	}
}

// TestBadGenerators needs a Halide to find out.
func TestBadGenerators(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
	dir := t.TempDir()
	broken := put(t, filepath.Join(dir, "broken.cpp"), "#include \"nothing_there.h\"\n")
	picture := put(t, filepath.Join(dir, "picture.png"), "no picture")
	var pixel bytes.Buffer
	if err := png.Encode(&pixel, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	grey := put(t, filepath.Join(dir, "grey.png"), pixel.String())
	serial := put(t, filepath.Join(dir, "serial.txt"), "output.compute_root()\n")
	stored(t, filepath.Join(dir, "other.db"))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"does not compile":     {[]string{"tune", broken}, broken + " does not compile; the compiler says:\n"},
		"several":              {[]string{"tune", many}, "has several Generators; name one with -g: "},
		"an unknown name":      {[]string{"tune", many, "-g", "skan"}, "there is no Generator skan in "},
		"an unknown parameter": {[]string{"tune", many, "-g", "corners", "--", "cornr=1"}, "cornr"},
		"no estimate": {[]string{"tune", many, "-g", "missing_estimates", "--", "missing=input"},
			"missing_estimates cannot be described: input input: dimension 1 has no estimate; in the Generator, call input.dim(1).set_estimate(min, extent)"},
		"an unknown input":  {[]string{"tune", small, "--input", "imput=random:1"}, "input imput: the pipeline has no such input; it has input"},
		"too many bits":     {[]string{"tune", small, "--input", "input=random:1:99"}, "input input: "},
		"no folder":         {[]string{"tune", small, "-o", picture}, "cannot write to the folder " + picture},
		"several targets":   {[]string{"tune", small, "--", "target=host,host-no_asserts"}, "target=host,host-no_asserts: they are tuned one by one"},
		"another machine":   {[]string{"tune", small, "--", "target=powerpc-64-linux"}, "code for powerpc-64-linux cannot be timed here"},
		"no target":         {[]string{"tune", small, "--", "target=host-avx3"}, "avx3"},
		"no such output":    {[]string{"tune", small, "-e", "stmt,poem"}, `-e stmt,poem: Halide ` + bridge.DefaultVersion + ` writes no "poem"; choose of assembly, bitcode, `},
		"no function":       {[]string{"tune", small, "-f", "../out/f"}, `-f ../out/f: "../out/f" is no name of a function`},
		"namespaces":        {[]string{"tune", small, "-f", "our::f"}, "-f our::f: namespaces take a target with c_plus_plus_name_mangling: add target=host-c_plus_plus_name_mangling"},
		"no picture":        {[]string{"tune", small, "--input", "input=" + picture}, "input input: " + picture + ": image: unknown format"},
		"too small":         {[]string{"tune", small, "--input", "input=" + grey}, "protuner: input input is too small: the estimated output needs ["},
		"checked by little": {[]string{"check", small, "--schedule", serial, "--input", "input=" + grey}, "protuner: input input is too small: "},
		"weights nowhere":   {[]string{"tune", small, "--weights", "no.weights"}, "no.weights"},
		"weights for none":  {[]string{"tune", small, "--search", "evolve", "--weights", "no.weights"}, "--weights no.weights: the search evolve does not ask the cost model"},
		"no file":           {[]string{"tune", small, "--input", "input=/nowhere.npy"}, "input input: /nowhere.npy: "},
		"another algorithm": {[]string{"export", small, "--db", "other.db", "--run", "1"}, "run 1 tuned another algorithm (another, of "},
		"nothing of it":     {[]string{"export", small, "--db", "other.db"}, "other.db holds nothing for directives as it is now"},
	} {
		t.Run(name, func(t *testing.T) {
			o := execute(t, dir, c.args...)
			last := o.words[strings.LastIndex(o.words, "protuner: ")+1:]
			if o.code != exitUsage || !strings.Contains(o.words, c.want) || !strings.Contains(o.words, "protuner: ") {
				t.Errorf("code %d, want %q in\n%s", o.code, c.want, o.words)
			}
			if name == "does not compile" && !strings.Contains(last, "nothing_there.h") {
				t.Errorf("without the compiler's words: %s", last)
			}
			if o.out != "" || len(o.left) > 0 {
				t.Errorf("on stdout %q, left behind %v", o.out, o.left)
			}
		})
	}
}

// tuned is the report that `tune --json` printed.
func tuned(t *testing.T, o outcome) *tune.Report {
	t.Helper()
	if o.code != exitDone {
		t.Fatalf("code %d:\n%s", o.code, o.words)
	}
	r := new(tune.Report)
	if err := json.Unmarshal([]byte(o.out), r); err != nil {
		t.Fatalf("%v in\n%s", err, o.out)
	}
	return r
}

// TestTunesHarris goes the whole way on a real app, twice.
func TestTunesHarris(t *testing.T) {
	if testing.Short() {
		t.Skip("tunes with a real Halide")
	}
	dir := t.TempDir()
	args := []string{"tune", harris, "--trials", "6", "--budget", "1m", "--db", "h.db", "-o", "out", "--json", "-e", "stmt", "--seeds", "own,mullapudi2016", "--baseline"}
	first := execute(t, dir, append(args, "own")...)
	r := tuned(t, first)
	if len(first.left) > 0 {
		t.Errorf("left behind: %v", first.left)
	}
	if r.Generator != "harris" || r.Measured != 6 || r.Known != 0 || r.Run != 1 || r.Seconds <= 0 || r.Final <= 0 || r.NoiseFloor == nil || r.Rounds+r.Thrown < 10 ||
		r.Algorithm == "" || r.Hash == "" || r.Origin == "" || r.Halide != bridge.DefaultVersion || r.Target == "" || r.Host == "" {
		t.Errorf("report %s", first.out)
	}
	// In six trials the search need not find anything better than it was given.
	rivals := []string{"own"}
	if r.Kept {
		rivals = append(rivals, "the search's best")
	}
	var named []string
	for _, b := range r.Baselines {
		named = append(named, b.Name)
		if b.Verdict == nil || b.Verdict.Ratio.Value <= 0 || b.Seconds <= 0 {
			t.Errorf("baseline %+v", b)
		}
	}
	if !slices.Equal(named, rivals) {
		t.Errorf("baselines %v, want %v", named, rivals)
	}
	if len(r.Seeds) != 2 || r.Seeds[0].Seconds <= 0 || r.Seeds[1].Seconds <= 0 {
		t.Errorf("seeds %+v", r.Seeds)
	}
	if _, err := schedule.Parse(r.Schedule); err != nil {
		t.Errorf("the winner's schedule: %v", err)
	}
	for _, name := range []string{"harris.a", "harris.h", "harris.registration.cpp", "harris.stmt", "report.json", "report.md"} {
		info, err := os.Stat(filepath.Join(dir, "out", name))
		if err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	header, err := os.ReadFile(filepath.Join(dir, "out", "harris.schedule.h"))
	if hash, ok := schedule.HalideAlgorithm(header); r.Kept != errors.Is(err, fs.ErrNotExist) || !r.Kept && (!ok || hash != r.Algorithm) {
		t.Errorf("kept %t: %v; the file names the algorithm %q, the report %q", r.Kept, err, hash, r.Algorithm)
	}

	// The same again measures nothing that is known.
	again := tuned(t, execute(t, dir, append(args, "none")...))
	if again.Measured != 0 || again.Known != 6 || again.Run != 2 || again.Key != r.Key {
		t.Errorf("the second run: %d measured, %d known, run %d, key %s", again.Measured, again.Known, again.Run, again.Key)
	}
	// One more trial is one more measurement.
	args[3] = "7"
	more := tuned(t, execute(t, dir, append(args, "none")...))
	if more.Measured != 1 || more.Known != 6 {
		t.Errorf("one more: %d measured, %d known", more.Measured, more.Known)
	}

	if o := execute(t, dir, "show", "--db", "h.db"); o.code != exitDone || strings.Count(o.out, "harris") != 3 {
		t.Errorf("show: %s%s", o.out, o.words)
	}
	var runs []struct {
		State    string
		Measured int
		Fastest  float64 `json:"fastest_seconds"`
	}
	if o := execute(t, dir, "show", "--db", "h.db", "--json"); o.code != exitDone || json.Unmarshal([]byte(o.out), &runs) != nil || len(runs) != 3 || runs[0].State != "ended" || runs[0].Measured != 7 || runs[0].Fastest <= 0 {
		t.Errorf("show --json: %s%s", o.out, o.words)
	}
	if o := execute(t, dir, "show", "nobody", "--db", "h.db", "--json"); o.code != exitDone || strings.TrimSpace(o.out) != "[]" {
		t.Errorf("show --json of no run: %s%s", o.out, o.words)
	}
	if o := execute(t, dir, "show", "--db", "h.db", "--run", "1"); o.code != exitDone || !strings.Contains(o.out, "the fastest:") || !strings.Contains(o.out, "Final race") {
		t.Errorf("show --run: %s%s", o.out, o.words)
	}
	o := execute(t, dir, "export", harris, "--db", "h.db")
	if hash, ok := schedule.HalideAlgorithm([]byte(o.out)); o.code != exitDone || !ok || hash != r.Algorithm || !strings.Contains(o.out, more.Hash) || strings.Contains(o.words, "protuner check") || strings.Contains(o.words, "is taken") {
		t.Errorf("export: %s%s", o.out, o.words)
	}
	if o := execute(t, dir, "export", harris, "--db", "h.db", "--top", "2", "-o", "top", "--format", "text"); o.code != exitDone || strings.Count(o.out, "schedule.txt") != 2 {
		t.Errorf("export --top: %s%s", o.out, o.words)
	}
	put(t, filepath.Join(dir, "all.json"), "")
	if err := os.Symlink("all.json", filepath.Join(dir, "latest.json")); err != nil {
		t.Fatal(err)
	}
	if o := execute(t, dir, "db", "export", "--db", "h.db", "latest.json"); o.code != exitDone {
		t.Errorf("db export: %s", o.words)
	}
	if o := execute(t, dir, "db", "import", "--db", "copy.db", "all.json"); o.code != exitDone || !strings.Contains(o.words, "7 measurements") {
		t.Errorf("db import: %s", o.words)
	}
}

// Halide rounds means of short integers otherwise in vectors where sums overflow: inputs that
// leave room are taken then, which a second run finds out without measuring anything, and
// inputs that the user has made so stay.
func TestTunesWhatOverflows(t *testing.T) {
	if testing.Short() {
		t.Skip("tunes with a real Halide")
	}
	dir := t.TempDir()
	args := []string{"tune", many, "-g", "rounded", "--search", "evolve", "--trials", "8", "--budget", "3m", "--json", "--seeds", "none", "--baseline", "none", "--db", "r.db"}
	first := execute(t, dir, args...)
	r := tuned(t, first)
	if !strings.Contains(first.words, "--input input=random:0:12)") || r.Measured == 0 || len(r.Failures) > 0 {
		t.Errorf("measured %d, failed %v:\n%s", r.Measured, r.Failures, first.words)
	}
	again := execute(t, dir, args...)
	if r2 := tuned(t, again); r2.Measured != 0 || r2.Known != r.Measured || !strings.Contains(again.words, "leave room") {
		t.Errorf("the second run: %d measured, %d known:\n%s", r2.Measured, r2.Known, again.words)
	}
	given := execute(t, dir, append(args, "--input", "input=random:0:12")...)
	if r3 := tuned(t, given); r3.Measured != 0 || r3.Known != r.Measured || strings.Contains(given.words, "leave room") {
		t.Errorf("with inputs given: %d measured, %d known:\n%s", r3.Measured, r3.Known, given.words)
	}

	// What was exported stands, with the same inputs, for as long as the algorithm is what it was.
	if o := execute(t, dir, "export", many, "-g", "rounded", "--db", "r.db", "-o", "."); o.code != exitDone {
		t.Fatal(o.words)
	}
	check := []string{"check", many, "-g", "rounded", "--schedule", "rounded.schedule.h"}
	if o := execute(t, dir, append(check, "--input", "input=random:0:12")...); o.code != exitDone || !strings.Contains(o.out, r.Algorithm) || len(o.left) > 0 {
		t.Errorf("check: code %d, left behind %v\n%s%s", o.code, o.left, o.out, o.words)
	}
	if o := execute(t, dir, check...); o.code != exitFailed || !strings.Contains(o.words, "--input input=random:0:12 leaves") {
		t.Errorf("check where it overflows: code %d\n%s%s", o.code, o.out, o.words)
	}
	header, err := os.ReadFile(filepath.Join(dir, "rounded.schedule.h"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "rounded.schedule.h"), strings.ReplaceAll(string(header), r.Algorithm, "1234"))
	if o := execute(t, dir, check...); o.code != exitFailed || !strings.Contains(o.words, "another algorithm (1234)") || o.out != "" {
		t.Errorf("check of a stale one: code %d\n%s%s", o.code, o.out, o.words)
	}
}

// Reductions along rows are factored, what was found so is known again, and --no-restructure
// leaves it.
func TestTunesFactoredReductions(t *testing.T) {
	if testing.Short() {
		t.Skip("tunes with a real Halide")
	}
	dir := t.TempDir()
	softmax := source("apps/softmax/softmax_generator.cpp")
	args := []string{"tune", softmax, "--search", "evolve", "--trials", "6", "--budget", "3m", "--json", "--seeds", "none", "--baseline", "none"}
	factored := func(db string) int {
		o := execute(t, dir, "export", softmax, "--db", db, "--top", "6", "-o", db+".out", "--format", "text")
		if o.code != exitDone {
			t.Fatal(o.words)
		}
		files, err := filepath.Glob(filepath.Join(dir, db+".out", "*"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "rfactor") {
				n++
			}
		}
		return n
	}
	r := tuned(t, execute(t, dir, append(args, "--db", "s.db")...))
	if n := factored("s.db"); n == 0 || n == r.Measured {
		t.Errorf("%d of %d schedules are factored", n, r.Measured)
	}
	if again := tuned(t, execute(t, dir, append(args, "--db", "s.db")...)); again.Measured != 0 || again.Known != r.Measured {
		t.Errorf("the second run: %d measured, %d known", again.Measured, again.Known)
	}
	tuned(t, execute(t, dir, append(args, "--db", "plain.db", "--no-restructure")...))
	if n := factored("plain.db"); n != 0 {
		t.Errorf("%d are factored all the same", n)
	}
}

// Without measuring the model's best is handed back, which is checked, and nothing is timed or
// stored; weights that are none are refused.
func TestTunesUnmeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("tunes with a real Halide")
	}
	dir := t.TempDir()
	args := []string{"tune", small, "--measure=false", "--budget", "6s", "--baseline", "none", "--seeds", "none", "--json", "--db", "m.db"}
	o := execute(t, dir, args...)
	r := tuned(t, o)
	if r.Measured != 0 || r.Seconds != 0 || r.Final != 0 || r.Hash == "" || r.Predicted <= 0 || len(o.left) > 0 {
		t.Errorf("left behind %v, report %s", o.left, o.out)
	}
	if kept := snapshot(t, filepath.Join(dir, "m.db")); len(kept) > 0 {
		t.Errorf("stored as measured: %v", kept)
	}
	notes := put(t, filepath.Join(dir, "notes.txt"), "my notes\n")
	o = execute(t, dir, append(args, "--weights", notes)...)
	if o.code != exitUsage || !strings.Contains(o.words, "weights: "+notes) || o.out != "" || len(o.left) > 0 {
		t.Errorf("without weights: code %d, on stdout %q, left behind %v\n%s", o.code, o.out, o.left, o.words)
	}
}

// Targets whose builds cannot be raced as they are get what was raced without that: those
// without a runtime or Halide's checks, with a context of the user's, and with names of C++.
// Outputs may be as large as inputs are, and inputs read by requirements alone.
func TestTunesForOtherTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("tunes with a real Halide")
	}
	dir := t.TempDir()
	const least = "least=9007199254740993" // no float has it
	target := "target=host-no_runtime-c_plus_plus_name_mangling-user_context-no_asserts-no_bounds_query-profile"
	args := []string{"tune", source("halide/testdata/targets_generator.cpp"), "-g", "sized", target, "--input", least, "-f", "ours::sized", "-o", "out",
		"--search", "evolve", "--trials", "4", "--budget", "3m", "--json", "--seeds", "none", "--baseline", "own"}
	o := execute(t, dir, args...)
	r := tuned(t, o)
	if r.Measured == 0 || len(r.Failures) > 0 || r.Final == 0 || len(r.Baselines) != 1 || r.Baselines[0].Verdict == nil {
		t.Errorf("%s\n%s", o.out, o.words)
	}
	header, err := os.ReadFile(filepath.Join(dir, "out", "sized.h"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"namespace ours {", "void const *__user_context", "int64_t _least"} {
		if !strings.Contains(string(header), want) {
			t.Errorf("the header has no %q:\n%s", want, header)
		}
	}
	args[5], args[6] = "--input", "least=9007199254740992"
	if o := execute(t, dir, args...); o.code != exitFailed || !strings.Contains(o.words, "least was rounded") {
		t.Errorf("with what is refused: code %d\n%s", o.code, o.words)
	}
}

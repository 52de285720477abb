package command_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/command"
	"github.com/protuner/protuner/bayes/space"
)

// evaluatorVariable makes the test binary a process that evaluates lasting, and names the
// file for it.
const evaluatorVariable = "BAYES_TEST_EVALUATOR"

// lasting is a program, without children, that is there as soon as its number is in the file.
const lasting = `echo $$ > "$1"; exec sleep 1000`

func TestMain(m *testing.M) {
	if file := os.Getenv(evaluatorVariable); file != "" {
		var t testing.B // only for the helpers' failures
		fmt.Println(evaluate(&t, command.Options{}, lasting, file))
		os.Exit(1) // it was to be killed before
	}
	os.Exit(m.Run())
}

func testSpace(t testing.TB) *space.Space {
	t.Helper()
	s, err := space.New([]space.Param{
		{Name: "tile-x", Type: space.Ordinal, Values: []float64{8, 16.5}},
		{Name: "mode", Type: space.Categorical, Categories: []string{"a b", "c;d"}},
		{Name: "p", Type: space.Permutation, Size: 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func trial(t testing.TB) bayes.Trial {
	c, err := testSpace(t).ParseJSON([]byte(`{"tile-x":16.5,"mode":"a b","p":[2,0,1]}`))
	if err != nil {
		t.Fatal(err)
	}
	return bayes.Trial{ID: 7, Config: c}
}

// scripted evaluates by a shell script under the options.
func scripted(t testing.TB, o command.Options, script string, args ...string) *command.Evaluator {
	t.Helper()
	o.Args = append([]string{"/bin/sh", "-c", script, "sh"}, args...)
	e, err := command.New(o, testSpace(t))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func evaluate(t testing.TB, o command.Options, script string, args ...string) bayes.Outcome {
	t.Helper()
	return scripted(t, o, script, args...).Evaluate(context.Background(), trial(t))
}

func TestWaysIn(t *testing.T) {
	for name, c := range map[string]struct {
		o      command.Options
		script string
		args   []string
		want   float64
	}{
		"arguments": {script: `[ "$1" = "-t=16.5" ] && [ "$2" = "a b" ] && [ "$3" = "2,0,1{}" ] && [ "$4" = 7 ] && echo 1`,
			args: []string{"-t={tile-x}", "{mode}", "{p}{{}}", "{id}"}, want: 1},
		"JSON argument": {script: `[ "$1" = '{"tile-x":16.5,"mode":"a b","p":[2,0,1]}' ] && echo 2`, args: []string{"{config}"}, want: 2},
		"environment":   {o: command.Options{Env: "TUNE_"}, script: `[ "$TUNE_mode" = "a b" ] && [ "$TUNE_tile_x" = 16.5 ] && echo 3`, want: 3},
		"stdin":         {o: command.Options{Stdin: true}, script: `read -r l; [ "$l" = '{"tile-x":16.5,"mode":"a b","p":[2,0,1]}' ] && echo 4`, want: 4},
	} {
		e := scripted(t, c.o, c.script, c.args...)
		if o := e.Evaluate(context.Background(), trial(t)); o.Status != bayes.OK || o.Value != c.want {
			t.Errorf("%s: %+v", name, o)
		}
		again, err := e.Command(trial(t))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(again[0], again[1:]...).Output(); err != nil || strings.TrimSpace(string(out)) != fmt.Sprint(c.want) {
			t.Errorf("%s: again by %q: %s, %v", name, again, out, err)
		}
	}
}

func TestWaysOut(t *testing.T) {
	o := command.Options{Field: "runtime", FeasibleField: "Valid", FeasibleTrue: "1"}
	for script, want := range map[string]bayes.Outcome{
		`echo 3.5`:                                  bayes.Value(3.5),
		`echo run 1 took 12.5 ms`:                   bayes.Value(12.5),
		`echo time=0.25s; echo done`:                bayes.Value(0.25),
		`echo "min 3, median 4e-3"`:                 bayes.Value(4e-3),
		`echo '{"runtime": 2}'`:                     bayes.Value(2),
		`echo chatter 9; echo '{"value": 2}'`:       bayes.Value(2),
		`echo '{"runtime": 2, "Valid": 1}'`:         bayes.Value(2),
		`echo '{"Valid": 0, "message": "too big"}'`: bayes.Failure(bayes.Infeasible, "too big"),
		`echo '{"value": 2, "deviation": 0.5}'`:     {Status: bayes.OK, Value: 2, Deviation: 0.5},
		`echo '{"feasible": false}'`:                bayes.Failure(bayes.Infeasible, ""),
		`true`:                                      bayes.Failure(bayes.Crashed, "printed no result"),
		`echo nothing here`:                         bayes.Failure(bayes.Crashed, "no number in its output"),
		`echo NaN`:                                  bayes.Failure(bayes.Crashed, "its result is NaN"),
		`echo inf`:                                  bayes.Failure(bayes.Crashed, "its result is +Inf"),
		`echo 1e999`:                                bayes.Failure(bayes.Crashed, "its result is +Inf"),
		`echo '{"runtime": "nan"}'`:                 bayes.Failure(bayes.Crashed, "its result is NaN"),
		`echo '{"runtime": [1]}'`:                   bayes.Failure(bayes.Crashed, "not a number"),
		`echo '{"speed": 1}'`:                       bayes.Failure(bayes.Crashed, `has no "runtime"`),
		`echo '{oops'`:                              bayes.Failure(bayes.Crashed, "no JSON object"),
		`echo 5; echo "bad tile" >&2; exit 3`:       bayes.Failure(bayes.Crashed, "exit status 3: bad tile"),
		"printf 'a.c:3: error: too wide\\n 3 | x\\n   | ^\\n' >&2; exit 1": bayes.Failure(bayes.Crashed, "exit status 1: a.c:3: error: too wide"),
		`kill -SEGV $$`: bayes.Failure(bayes.Crashed, "segmentation fault"),
		`head -c 5000000 /dev/zero | tr '\0' x; echo; echo 6`: bayes.Value(6),
	} {
		got := evaluate(t, o, script)
		if got.Status != want.Status || got.Value != want.Value || !strings.Contains(got.Message, want.Message) || got.Status == bayes.OK && got.Elapsed <= 0 {
			t.Errorf("%s: %+v, want %+v", script, got, want)
		}
	}
}

// alive reports whether a process still runs (and is no zombie).
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func waitDead(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		if !alive(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d outlives its trial", pid)
}

func TestStragglersAreKilled(t *testing.T) {
	const waiting = `sleep 1000 & echo $! > "$1"; wait`
	t.Run("time limit", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "pid")
		// Long enough for a busy machine to come to the file.
		o := evaluate(t, command.Options{Limit: 2 * time.Second}, waiting, file)
		if o.Status != bayes.TimedOut || !strings.Contains(o.Message, "killed after 2s") {
			t.Errorf("%+v", o)
		}
		waitDead(t, file)
	})
	t.Run("left behind", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "pid")
		// The child holds the output open although its parent is done.
		o := evaluate(t, command.Options{}, `sleep 1000 & echo $! > "$1"; echo 5`, file)
		if o.Status != bayes.OK || o.Value != 5 {
			t.Errorf("%+v", o)
		}
		waitDead(t, file)
	})
	t.Run("interrupted", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "pid")
		e, err := command.New(command.Options{Args: []string{"/bin/sh", "-c", waiting, "sh", file}, Limit: time.Minute}, testSpace(t))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
				if pid, _ := os.ReadFile(file); len(pid) > 0 {
					cancel()
				}
			}
		}()
		if o := e.Evaluate(ctx, trial(t)); o.Status != bayes.Lost || o.Message != "interrupted" {
			t.Errorf("%+v", o)
		}
		waitDead(t, file)
	})
}

// TestProgramsDieWithUs: who is killed keeps no time limit, so what was under way must not
// run on beside the trials of the next process.
func TestProgramsDieWithUs(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pid")
	var out strings.Builder
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), evaluatorVariable+"="+file)
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for pid := []byte(nil); len(pid) == 0; pid, _ = os.ReadFile(file) {
		select {
		case err := <-done:
			t.Fatalf("the evaluator ended by itself: %v, %s", err, &out)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-done
	waitDead(t, file)
}

func TestBuild(t *testing.T) {
	dir := t.TempDir()
	o := command.Options{Dir: dir,
		Build: []string{"/bin/sh", "-c", `echo {id} > built{id}; [ {id} != 8 ]`},
		Args:  []string{"/bin/sh", "-c", `cat built{id}`}}
	e, err := command.New(o, testSpace(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, tr := context.Background(), trial(t)
	if p := e.Prepare(ctx, tr); p.Status != bayes.OK {
		t.Fatalf("%+v", p)
	}
	if v := e.Evaluate(ctx, tr); v.Value != 7 {
		t.Errorf("%+v", v)
	}
	tr.ID = 8
	if p := e.Prepare(ctx, tr); p.Status != bayes.Crashed {
		t.Errorf("%+v", p)
	}
}

func TestNewRefuses(t *testing.T) {
	for want, o := range map[string]command.Options{
		"no command was given":          {},
		"{tile} in \"-t={tile}\" names": {Args: []string{"/bin/sh", "-t={tile}"}},
		"no such file":                  {Args: []string{"./not-there"}},
		"executable file not found":     {Args: []string{"surely-no-such-program"}},
		"cannot be negative":            {Args: []string{"/bin/sh"}, Limit: -1},
		"file not found":                {Args: []string{"/bin/sh"}, Build: []string{"no-such-compiler"}},
	} {
		if _, err := command.New(o, testSpace(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", o, err, want)
		}
	}
	// Names that would not reach the program, or reach it as another's.
	named := func(name string) space.Param { return space.Param{Name: name, Type: space.Integer, Min: 1, Max: 4} }
	sp, err := space.New([]space.Param{named("id"), named("a-b"), named("a_b")})
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]command.Options{
		"{id} could be the parameter id":           {Args: []string{"/bin/sh", "{id}"}},
		"a-b and a_b would both be the variable X": {Args: []string{"/bin/sh"}, Env: "X"},
		"": {Args: []string{"/bin/sh", "{a-b}{a_b}"}},
	} {
		if _, err := command.New(o, sp); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", o, err, want)
		}
	}
}

// TestVanishedProgram: a program that can no longer be started is no fault of
// the configuration.
func TestVanishedProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	e, err := command.New(command.Options{Args: []string{path}}, testSpace(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if o := e.Evaluate(context.Background(), trial(t)); o.Status != bayes.Lost {
		t.Errorf("%+v", o)
	}
}

// TestRunWithCommand goes the whole way: a study, its runs and a program.
func TestRunWithCommand(t *testing.T) {
	sp, err := space.New([]space.Param{{Name: "x", Type: space.Integer, Min: 0, Max: 30}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := command.New(command.Options{Args: []string{"/bin/sh", "-c", `[ {x} -lt 25 ] || exit 1; echo $(( ({x} - 12) * ({x} - 12) ))`}}, sp)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	s, err := bayes.Open(ctx, sp, bayes.Options{Seed: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if stop, err := bayes.Run(ctx, s, e, bayes.RunOptions{Trials: 20, Parallel: 2}); stop != bayes.Spent || err != nil {
		t.Fatal(stop, err)
	}
	if b, ok := s.Best(); !ok || b.Config.Int("x") != 12 {
		t.Errorf("best %v %+v", b.Config, b.Outcome)
	}
	for _, tr := range s.Trials() {
		if tr.Outcome.Status == bayes.Crashed && !strings.Contains(tr.Outcome.Message, "exit status 1") {
			t.Errorf("trial %d: %+v", tr.ID, tr.Outcome)
		}
	}
}

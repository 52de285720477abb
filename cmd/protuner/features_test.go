package main

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/report"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
)

// TestScheduleVerbs follows one schedule through features, predict and explain, then
// hands in what is none.
func TestScheduleVerbs(t *testing.T) {
	if testing.Short() {
		t.Skip("describes with a real Halide")
	}
	dir := t.TempDir()
	text := put(t, filepath.Join(dir, "harris.txt"), "output.compute_root()\noutput.split(y, y, yi, 32, shift_inwards)\noutput.reorder(x, yi, y)\noutput.parallel(y)\n")
	if o := execute(t, dir, "features", harris, "--parallelism", "2", "--schedule", text); o.code != exitUsage || !strings.Contains(o.words, "the space") || len(strings.Split(strings.TrimSpace(o.words), "\n")) > 1 {
		t.Errorf("a schedule without vectors: code %d\n%s", o.code, o.words)
	}
	nearest := execute(t, dir, "explain", harris, "--parallelism", "2", "--schedule", text, "--json")
	var e report.Explanation
	if err := json.Unmarshal([]byte(nearest.out), &e); err != nil || nearest.code != exitDone {
		t.Fatalf("code %d, %v\n%s", nearest.code, err, nearest.words)
	}
	if e.InSpace || len(e.Foreign) == 0 || len(e.Costs) != 2 || e.Costs[0].Cost <= 0 || len(e.Stages) == 0 {
		t.Errorf("explain: %s", nearest.out)
	}

	// The nearest one is in the space, and has features and a cost.
	near := put(t, filepath.Join(dir, "near.txt"), e.Nearest)
	again := execute(t, dir, "explain", harris, "--parallelism", "2", "--schedule", near, "--json")
	var f report.Explanation
	if err := json.Unmarshal([]byte(again.out), &f); err != nil || !f.InSpace || math.Abs(f.Costs[0].Cost-e.Costs[0].Cost) > 1e-9*e.Costs[0].Cost {
		t.Errorf("explain of the nearest: %v, %s%s", err, again.out, again.words)
	}
	if o := execute(t, dir, "features", harris, "--parallelism", "2", "--schedule", near, "-o", "x.featurization"); o.code != exitDone {
		t.Errorf("features: code %d\n%s", o.code, o.words)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "x.featurization")); err != nil {
		t.Error(err)
	} else if rows, err := feature.ParseFeaturization(b); err != nil || len(rows) != len(f.Stages) {
		t.Errorf("%d rows for %d stages, %v", len(rows), len(f.Stages), err)
	}
	var p report.Prediction
	o := execute(t, dir, "predict", harris, "--parallelism", "2", "--schedule", near, "--json")
	if err := json.Unmarshal([]byte(o.out), &p); err != nil || math.Abs(p.Cost-f.Costs[0].Cost) > 1e-9*p.Cost {
		t.Fatalf("predict: %v, %s%s", err, o.out, o.words)
	}
	for _, st := range p.Stages {
		sum := 0.0
		for _, c := range st.Features {
			sum += c.Cost
		}
		if len(st.Features) != feature.NumSchedule || math.Abs(sum-st.Cost) > 1e-6*st.Cost {
			t.Errorf("%s: features cost %g of %g", st.Stage, sum, st.Cost)
		}
	}
	o = execute(t, dir, "predict", harris, "--parallelism", "2", "--schedule", near, "--explain")
	for _, want := range []string{"predicted", "realize: output", "working_set_at_root", "bytes", "share"} {
		if o.code != exitDone || !strings.Contains(strings.ToLower(o.out), want) {
			t.Errorf("predict --explain lacks %q: code %d\n%s%s", want, o.code, o.out, o.words)
		}
	}

	cut := put(t, filepath.Join(dir, "cut.schedule.h"), "inline void apply_schedule_x(::Halide::Pipeline pipeline, ::Halide::Target target) {\n Func output = pipeline.get_func(10);\n output.spl")
	notes := put(t, filepath.Join(dir, "notes.schedule.h"), strings.Repeat("my notes\n", 9))
	empty := put(t, filepath.Join(dir, "empty.schedule.h"), "")
	other := put(t, filepath.Join(dir, "other.schedule.h"), "void apply_schedule_x() { Func f = pipeline.get_func(700); f.compute_root(); }")
	loop := put(t, filepath.Join(dir, "loop.txt"), "output.parallel(rows)\n")
	fn := put(t, filepath.Join(dir, "fn.txt"), "outputs.compute_root()\n")
	weights := put(t, filepath.Join(dir, "x.weights"), "\x31\x66\x77\x68\x04\x00\x00\x00")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no schedule":      {[]string{"features", harris}, "name one schedule"},
		"a missing file":   {[]string{"features", harris, "--schedule", "nowhere.h"}, "cannot read the schedule: open nowhere.h"},
		"no cores":         {[]string{"features", harris, "--schedule", near, "--parallelism=-3"}, "--parallelism -3"},
		"a truncated file": {[]string{"predict", harris, "--schedule", cut}, cut + " is no schedule of harris"},
		"notes":            {[]string{"predict", harris, "--schedule", notes}, notes + " is no schedule of harris"},
		"nothing":          {[]string{"predict", harris, "--schedule", empty}, empty + " has no directive in it"},
		"other pipeline's": {[]string{"explain", harris, "--schedule", other}, "get_func(700): this pipeline has"},
		"no such loop":     {[]string{"explain", harris, "--schedule", loop}, "no loop rows"},
		"no such Func":     {[]string{"features", harris, "--schedule", fn}, "no Func outputs in this pipeline"},
		"newer weights":    {[]string{"predict", harris, "--parallelism", "2", "--schedule", near, "--weights", weights}, "version"},
		"no weights":       {[]string{"predict", harris, "--parallelism", "2", "--schedule", near, "--weights", notes}, notes},
		"weights nowhere":  {[]string{"explain", harris, "--parallelism", "2", "--schedule", near, "--weights", "no.weights"}, "no.weights"},
	} {
		t.Run(name, func(t *testing.T) {
			o := execute(t, dir, c.args...)
			if o.code != exitUsage || !strings.Contains(o.words, c.want) || o.out != "" || strings.Count(strings.TrimSpace(o.words), "\n") > 0 {
				t.Errorf("code %d, want %q in\n%s%s", o.code, c.want, o.words, o.out)
			}
		})
	}
}

// What a file says was decided is taken for what it is, register blocks and all, as long as
// its directives are what that leads to. (A trace as text leaves open how many tiles there
// are where several numbers give the same size: then the directives are read instead.)
func TestFilesSayWhatWasDecided(t *testing.T) {
	for _, name := range []string{"harris", "unsharp", "hist", "conv_layer", "camera_pipe"} {
		p := pipelinetest.Described(t, name+".h21")
		sp, err := (&scheduleFlags{Parallelism: 2}).searched(p)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewSource(1))
		tried, taken := 0, 0
		for range 20 {
			s := sp.Start().SampleDown(rng)
			f := rng.Intn(len(p.Funcs))
			if p.Funcs[f].Input || len(p.Funcs[f].Args) < 2 {
				continue
			}
			s, _, err := sp.Replay(append(s.Trace(), space.Decision{Func: f, Kind: space.Block, Dim: 1, Factor: 2}), space.Strict)
			if err != nil {
				t.Fatal(err)
			}
			if len(besides(s)) == 0 {
				continue // what is inlined has no blocks
			}
			text, err := s.Schedule().Halide(p.Binding(), schedule.HalideFile{Name: name, Algorithm: p.Algorithm, Decisions: sp.FormatTrace(s.Trace())})
			if err != nil {
				t.Fatal(err)
			}
			read, err := schedule.ParseHalide([]byte(text), p.Binding())
			if err != nil {
				t.Fatal(err)
			}
			a := &asked{schedule: read, decisions: schedule.Decisions([]byte(text)), bound: p.Binding(), pipe: p}
			tried++
			again := a.decided(sp)
			if again == nil {
				continue
			}
			taken++
			if want := p.Funcs[f].Name + " block " + p.Funcs[f].Args[1] + " 2"; again.Schedule().Hash() != s.Schedule().Hash() || !slices.Equal(besides(again), []string{want}) {
				t.Errorf("%s: besides the loop nest %q, want %q, of\n%s", name, besides(again), want, text)
			}
			a.schedule.Directives = a.schedule.Directives[:len(a.schedule.Directives)-1]
			if a.decided(sp) != nil {
				t.Errorf("%s: one directive less is taken for the same:\n%s", name, text)
			}
		}
		if taken == 0 || taken < tried*3/4 {
			t.Errorf("%s: of %d files %d are taken for what was decided", name, tried, taken)
		}
	}
}

// A pipeline with more points than features can count is refused with the stage's
// name, before anything is predicted of it.
func TestTooLargeForFeatures(t *testing.T) {
	p := pipelinetest.Described(t, "harris.h21")
	if _, err := newSpace(p, space.Adams(2)); err != nil {
		t.Fatal(err)
	}
	for d := range p.Funcs[0].Estimate {
		p.Funcs[0].Estimate[d].Max = 1 << 30
	}
	_, err := newSpace(p, space.Adams(2))
	if bad := (*badInput)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), p.Funcs[0].Stages[0].Name) {
		t.Errorf("2^60 points: %v", err)
	}
}

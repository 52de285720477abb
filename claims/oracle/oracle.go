// Package oracle lets Halide's own Adams2019 schedule pipelines and compares what
// ours makes of its schedules: all features of all stages with its .featurization,
// and the cost with what it prints. The claims and the tests about features and
// costs share it.
package oracle

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/nn"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
)

// Options say what Adams2019 schedules, and how.
type Options struct {
	Halide  string        // version, one of those installed
	Target  string        // Halide target
	Include []string      // folders of headers for the Generators
	Cores   int           // that Adams2019 is told of
	Limit   time.Duration // on one search
	Dropout int           // random_dropout: the chance, in percent, that the best decisions stay in a search
	Weights *nn.Weights   // handed over in a .weights file; nil: those in the plugin
	Narrow  bool          // both search the space without subtiling
	Memory  int64         // limit of both on what a schedule allocates, in bytes; 0: none
	Extra   []string      // further autoscheduler parameters
	Keep    string        // folder to keep loop nests, featurizations and costs in; empty for none
}

// Defaults are two cores, searches pruned almost to pure chance and two minutes.
func Defaults(halide string) Options {
	return Options{Halide: halide, Target: "host", Cores: 2, Limit: 2 * time.Minute, Dropout: 1}
}

// Oracle is one Generator and everything that predicts for it.
type Oracle struct {
	Gen      *bridge.Generator
	Pipeline *pipeline.Pipeline
	Space    *space.Space
	Features *feature.Extractor
	Model    *cost.Model

	o       Options
	dir     string
	weights string // file, empty for those in the plugin
}

// Open opens one of a file's Generators (name may be empty where there is one), and
// keeps files in dir.
func Open(ctx context.Context, file, name, dir string, o Options) (*Oracle, error) {
	b := bridge.Options{Path: file, Name: name, Params: []bridge.Param{{Name: "target", Value: o.Target}},
		HalideDir: filepath.Join(bridge.DataDir(), "halide", o.Halide)}
	for _, include := range o.Include {
		b.CompileFlags = append(b.CompileFlags, "-I"+include)
	}
	g, err := bridge.Open(ctx, b)
	if err != nil {
		return nil, err
	}
	p, err := g.Describe(ctx)
	if err != nil {
		return nil, err
	}
	within := space.Adams(o.Cores)
	within.NoSubtiling, within.MemoryLimit = o.Narrow, o.Memory
	sp, err := space.New(p, within)
	if err != nil {
		return nil, err
	}
	if err := feature.Fits(sp); err != nil {
		return nil, err
	}
	out := &Oracle{Gen: g, Pipeline: p, Space: sp, Features: feature.New(sp), o: o, dir: dir}
	w := o.Weights
	if w == nil {
		w, err = nn.ReadFile(g.Toolchain.Halide.Plugins["adams2019"])
	} else {
		out.weights = filepath.Join(dir, "made.weights")
		err = os.WriteFile(out.weights, w.Append(nil), 0o644)
	}
	if err != nil {
		return nil, err
	}
	if out.Model, err = cost.New(w, p, o.Cores); err != nil {
		return nil, err
	}
	return out, nil
}

// Schedule is what Adams2019 made: its .schedule.h, its loop nest as it prints it, the
// features that it writes, and the cost that it predicts, in milliseconds.
type Schedule struct {
	Directives    schedule.Schedule
	Nest          string
	Featurization string // file
	Rows          []feature.Row
	Cost          float64
}

// Printed is how far a cost that was printed with six decimals may be off.
const Printed = 5e-7

var bestCost = regexp.MustCompile(`(?m)^Best cost: (.*)$`)

// An UnreadError says that what Adams2019 wrote cannot be read by ours.
type UnreadError struct{ error }

func (e *UnreadError) Unwrap() error { return e.error }

// Run lets Adams2019 schedule: greedily where seed is 0, else under random dropout.
// What it cannot schedule, and what takes it longer than the limit, is an error; an
// *UnreadError where it could and ours cannot read it.
func (o *Oracle) Run(ctx context.Context, seed int) (*Schedule, error) {
	ctx, cancel := context.WithTimeout(ctx, o.o.Limit)
	defer cancel()
	args := o.Arguments(1)
	if seed > 0 {
		args = append(args, fmt.Sprintf("autoscheduler.random_dropout=%d", o.o.Dropout), fmt.Sprintf("autoscheduler.random_dropout_seed=%d", seed))
	}
	cmd := exec.CommandContext(ctx, o.Gen.Binary, args...)
	var words bytes.Buffer
	cmd.Stderr = &words
	cmd.Env = append(os.Environ(), "HL_DEBUG_AUTOSCHEDULE=2", bridge.PermitUnroll, "HL_NUM_THREADS=1")
	err := cmd.Run()
	text := words.String()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, text[max(0, len(text)-200):])
	}
	found := bestCost.FindStringSubmatch(text)
	_, nest, ok := cutLast(text, "State with cost")
	if found == nil || !ok {
		return nil, fmt.Errorf("Adams2019 printed no cost or no loop nest")
	}
	nest, _, _ = strings.Cut(nest, " = pipeline.get_func(")
	lines := strings.Split(nest, "\n")
	s := &Schedule{Nest: strings.Join(lines[1:len(lines)-1], "\n") + "\n", Featurization: filepath.Join(o.dir, "x.featurization")}
	if s.Cost, err = strconv.ParseFloat(found[1], 64); err != nil {
		return nil, err
	}
	written, err := os.ReadFile(filepath.Join(o.dir, "x.schedule.h"))
	if err != nil {
		return nil, err
	}
	if s.Directives, err = schedule.ParseHalide(written, o.Pipeline.Binding()); err != nil {
		return nil, &UnreadError{fmt.Errorf("its .schedule.h: %w", err)}
	}
	if written, err = os.ReadFile(s.Featurization); err != nil {
		return nil, err
	}
	// Read as it is: where features of the algorithm differ that is for compare to say.
	if s.Rows, err = feature.ParseFeaturization(written); err != nil {
		return nil, &UnreadError{fmt.Errorf("its .featurization: %w", err)}
	}
	if stages := len(feature.Stages(o.Pipeline)); len(s.Rows) != stages {
		return nil, &UnreadError{fmt.Errorf("its .featurization is of %d stages, ours of %d", len(s.Rows), stages)}
	}
	if o.o.Keep != "" {
		err = o.keep(s, seed, found[1])
	}
	return s, err
}

// Arguments are those that let the Generator be scheduled by Adams2019 with a beam of
// so many.
func (o *Oracle) Arguments(beam int) []string {
	args := []string{"-o", o.dir, "-g", o.Gen.Name, "-f", "x", "-n", "x", "-e", "schedule,featurization",
		"-p", o.Gen.Toolchain.Halide.Plugins["adams2019"], "autoscheduler=Adams2019",
		fmt.Sprintf("autoscheduler.parallelism=%d", o.o.Cores), fmt.Sprintf("autoscheduler.beam_size=%d", beam), "target=" + o.o.Target}
	if o.weights != "" {
		args = append(args, "autoscheduler.weights_path="+o.weights)
	}
	if o.o.Narrow {
		// What it remembers of a Func's tasks holds whatever was inside its loops then,
		// and without subtiling that is other Funcs: it would put them into states that
		// have them elsewhere.
		args = append(args, "autoscheduler.disable_subtiling=1", "autoscheduler.disable_memoized_blocks=1")
	}
	if o.o.Memory > 0 {
		args = append(args, fmt.Sprintf("autoscheduler.memory_limit=%d", o.o.Memory))
	}
	return append(args, o.o.Extra...)
}

// keep copies what Adams2019 made to the folder of options, as tests have them.
func (o *Oracle) keep(s *Schedule, seed int, cost string) error {
	b, err := os.ReadFile(s.Featurization)
	if err != nil {
		return err
	}
	base := filepath.Join(o.o.Keep, fmt.Sprintf("%s.h%s.%d", o.Gen.Name, o.o.Halide[:2], seed))
	for ending, b := range map[string][]byte{".nest": []byte(s.Nest), ".featurization": b, ".cost": []byte(cost + "\n")} {
		if err := os.WriteFile(base+ending, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Origin says what of Adams2019's made a state.
type Origin int

// The origins, the first that serves being taken.
const (
	FromSchedule Origin = iota // the .schedule.h, which only one state of ours says
	FromNest                   // the loop nest that it prints
	FromOpenNest               // that nest, which several states have: one with its features
)

// Comparison is what ours makes of a schedule of Adams2019's.
type Comparison struct {
	State     *space.State
	Origin    Origin
	Values    int          // features of all stages
	Different []Difference // of those
	Cost      float64      // ours
	Off       float64      // by how much relative to theirs, beyond what their print leaves out
}

// Difference is a feature that is not theirs.
type Difference struct {
	Stage, Feature string
	Ours, Theirs   float64
}

// relative is by how much a feature may be off theirs, which are float32.
const relative = 1e-5

// Compare makes a state of the schedule and compares its features and its cost.
//
// Neither a .schedule.h nor a loop nest says everything: the regions that features are
// made of are taken at representative iterations, which depend on the order in which
// loops were split, and a .schedule.h leaves out loops of one iteration as well. So
// the .schedule.h counts where only one state of ours says it, then the nest; where
// features differ, the other states that have the nest are looked at.
func (o *Oracle) Compare(s *Schedule) (*Comparison, error) {
	if states, err := o.Space.ImportReadings(s.Directives, 2); err == nil && len(states) == 1 {
		c, err := o.compare(s, states[0], FromSchedule)
		if err != nil || len(c.Different) == 0 {
			return c, err
		}
	}
	state, err := o.Space.Import(s.Nest)
	if err != nil {
		return nil, fmt.Errorf("the nest cannot be imported: %w", err)
	}
	c, err := o.compare(s, state, FromNest)
	if err != nil || len(c.Different) == 0 {
		return c, err
	}
	var open *Comparison
	_, err = o.Space.ImportAs(s.Nest, func(state *space.State) bool {
		open, err = o.compare(s, state, FromOpenNest)
		return err == nil && len(open.Different) == 0
	})
	if err != nil {
		return c, nil
	}
	return open, nil
}

func (o *Oracle) compare(s *Schedule, state *space.State, from Origin) (*Comparison, error) {
	schedule := o.Features.Features(state, nil)
	ours, err := feature.Rows(o.Pipeline, schedule)
	if err != nil {
		return nil, err
	}
	c := &Comparison{State: state, Origin: from, Cost: o.Model.Predict(schedule)}
	c.Off = max(0, math.Abs(c.Cost-s.Cost)-Printed) / s.Cost
	for i, id := range feature.Stages(o.Pipeline) {
		for k := range feature.NumSchedule + feature.NumPipeline {
			c.Values++
			a, b := value(&ours[i], k), value(&s.Rows[i], k)
			if !(math.Abs(a-b) <= relative*math.Abs(b)) {
				c.Different = append(c.Different, Difference{o.Pipeline.Funcs[id.Func].Stages[id.Stage].Name, feature.FeatureName(k), a, b})
			}
		}
	}
	return c, nil
}

func value(r *feature.Row, k int) float64 {
	if k < feature.NumSchedule {
		return float64(r.Schedule[k])
	}
	return float64(r.Pipeline[k-feature.NumSchedule])
}

func (d Difference) String() string {
	return fmt.Sprintf("%s of %s is %g, not %g", d.Feature, d.Stage, d.Ours, d.Theirs)
}

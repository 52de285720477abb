package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
)

// scheduleFlags name a schedule of a Generator.
type scheduleFlags struct {
	generatorFlags
	Schedule    string `help:"The schedule: a .schedule.h, or directives as text; own for the Generator's." placeholder:"FILE"`
	Nest        string `help:"The schedule as a loop nest instead, as HL_DEBUG_AUTOSCHEDULE=2 lets Adams2019 print it." placeholder:"FILE"`
	Parallelism int    `help:"Cores (default: all processors)." placeholder:"N"`
	JSON        bool   `name:"json" help:"Print as JSON."`
}

// featured is a schedule with its features.
type featured struct {
	generator *bridge.Generator
	state     *space.State
	stages    []feature.StageID
	features  []feature.Schedule
}

func (f *featured) pipeline() *pipeline.Pipeline { return f.state.Pipeline() }

func (f *featured) stageName(i int) string {
	id := f.stages[i]
	return f.pipeline().Funcs[id.Func].Stages[id.Stage].Name
}

func (f *featured) stageNames() []string {
	names := make([]string, len(f.stages))
	for i := range names {
		names[i] = f.stageName(i)
	}
	return names
}

func featuresOf(gen *bridge.Generator, s *space.State) *featured {
	return &featured{gen, s, feature.Stages(s.Pipeline()), feature.New(s.Space()).Features(s, nil)}
}

// newSpace is a space of which every state has features.
func newSpace(p *pipeline.Pipeline, o space.Options) (*space.Space, error) {
	sp, err := space.New(p, o)
	if err == nil {
		err = feature.Fits(sp)
	}
	if err != nil {
		return nil, &badInput{err}
	}
	return sp, nil
}

// load describes the Generator and imports the schedule.
func (c *scheduleFlags) load(g *globals) (*featured, error) {
	if (c.Schedule == "") == (c.Nest == "") {
		return nil, badInputf("name one schedule: --schedule FILE.schedule.h, or --nest FILE with a loop nest")
	}
	gen, err := c.openGenerator(g)
	if err != nil {
		return nil, err
	}
	if c.Nest != "" {
		return c.loadNest(g, gen)
	}
	s, p, err := c.read(g, gen)
	if err != nil {
		return nil, err
	}
	sp, err := newSpace(p, space.Adams(c.Parallelism))
	if err != nil {
		return nil, err
	}
	all, err := sp.ImportReadings(s, 2)
	if err != nil {
		return nil, badInputf("%s: %w; protuner explain finds the nearest schedule that has features", c.Schedule, err)
	}
	out := featuresOf(gen, all[0])
	if len(all) > 1 && !slices.Equal(out.features, featuresOf(gen, all[1]).features) {
		fmt.Fprintf(os.Stderr, "protuner: %s leaves open which of several loop nests it is, with other features; the likeliest is taken, --nest says which\n", c.Schedule)
	}
	return out, nil
}

func (c *scheduleFlags) openGenerator(g *globals) (*bridge.Generator, error) {
	switch {
	case c.Parallelism < 0:
		return nil, badInputf("--parallelism %d: give the number of cores, at least 1", c.Parallelism)
	case c.Parallelism == 0:
		c.Parallelism = runtime.NumCPU()
	}
	for _, file := range []string{c.Schedule, c.Nest} {
		if file == "" || file == "own" {
			continue
		}
		if _, err := os.ReadFile(file); err != nil {
			return nil, badInputf("cannot read the schedule: %w; name a file that is there", err)
		}
	}
	o, err := c.options()
	if err != nil {
		return nil, err
	}
	gen, err := bridge.Open(g.ctx, o)
	if err != nil {
		return nil, &badInput{err}
	}
	return gen, nil
}

func (c *scheduleFlags) loadNest(g *globals, gen *bridge.Generator) (*featured, error) {
	text, err := os.ReadFile(c.Nest)
	if err != nil {
		return nil, &badInput{err}
	}
	p, err := gen.Describe(g.ctx)
	if err != nil {
		return nil, &badInput{err}
	}
	sp, err := newSpace(p, space.Adams(c.Parallelism))
	if err != nil {
		return nil, err
	}
	s, err := sp.Import(string(text))
	if err != nil {
		return nil, badInputf("%s: %w; it has to be of this Generator, its target and --parallelism %d", c.Nest, err, c.Parallelism)
	}
	return featuresOf(gen, s), nil
}

// read gives the schedule asked for, and the pipeline as it is after the Funcs that
// the schedule makes.
func (c *scheduleFlags) read(g *globals, gen *bridge.Generator) (schedule.Schedule, *pipeline.Pipeline, error) {
	var none schedule.Schedule
	p, err := gen.Describe(g.ctx)
	if err != nil {
		return none, nil, &badInput{err}
	}
	s, err := c.directives(g, gen, p)
	if err != nil {
		return none, nil, err
	}
	if head := s.Structure(); len(head) > 0 {
		if p, err = gen.Describe(g.ctx, head...); err != nil {
			return none, nil, badInputf("%s: %w", c.Schedule, err)
		}
	}
	return s, p, nil
}

func (c *scheduleFlags) directives(g *globals, gen *bridge.Generator, p *pipeline.Pipeline) (schedule.Schedule, error) {
	var none schedule.Schedule
	if c.Schedule == "own" {
		own, err := gen.Own(g.ctx)
		if err != nil {
			return none, &badInput{err}
		}
		for _, note := range own.Notes {
			fmt.Fprintf(os.Stderr, "protuner: the Generator's schedule: %s\n", note)
		}
		return own.Schedule, nil
	}
	text, err := os.ReadFile(c.Schedule)
	if err != nil {
		return none, &badInput{err}
	}
	if hash, ok := schedule.HalideAlgorithm(text); ok && hash != p.Algorithm {
		return none, badInputf("%s was found for another algorithm (%s) than %s has now (%s); tune again, or give the Generator and parameters it is of", c.Schedule, hash, gen.Name, p.Algorithm)
	}
	s, err := schedule.Parse(string(text))
	if strings.HasSuffix(c.Schedule, ".h") || strings.Contains(string(text), "get_func(") {
		s, err = schedule.ParseHalide(text, p.Binding())
	}
	if err != nil {
		return none, badInputf("%s is no schedule of %s: %w; give a .schedule.h of this Generator with these parameters, or directives as protuner export --format text writes them", c.Schedule, gen.Name, err)
	}
	if len(s.Directives) == 0 {
		return none, badInputf("%s has no directive in it; give a .schedule.h that is whole", c.Schedule)
	}
	return s, nil
}

type featuresCmd struct {
	scheduleFlags
	Out string `short:"o" help:"Write a .featurization, as Halide's tools read it." placeholder:"FILE"`
}

// stageFeatures is one stage in JSON.
type stageFeatures struct {
	Stage    string             `json:"stage"`
	Schedule map[string]float64 `json:"schedule"`
	Pipeline map[string]int32   `json:"pipeline"` // those that are not zero
}

func (c *featuresCmd) Run(g *globals) error {
	f, err := c.load(g)
	if err != nil {
		return err
	}
	if c.Out != "" {
		rows, err := feature.Rows(f.pipeline(), f.features)
		if err != nil {
			return badInputf("%s%s: %w", c.Schedule, c.Nest, err)
		}
		if err := os.WriteFile(c.Out, feature.AppendFeaturization(nil, rows), 0o644); err != nil {
			return err
		}
	}
	stages := make([]stageFeatures, len(f.features))
	for i := range stages {
		stages[i] = f.stage(i)
	}
	if c.JSON {
		return printJSON(stages)
	}
	if c.Out != "" {
		return nil
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for i, st := range stages {
		fmt.Fprintf(out, "%s\n", st.Stage)
		for k, v := range f.features[i] {
			info := feature.Table[k]
			fmt.Fprintf(out, "  %s\t%.8g\t%s\t%s\n", info.Name, v, info.Unit, info.Meaning)
		}
		for k := range feature.NumPipeline {
			name := feature.FeatureName(feature.NumSchedule + k)
			if n := st.Pipeline[name]; n != 0 {
				fmt.Fprintf(out, "  %s\t%d\ttimes\t\n", name, n)
			}
		}
	}
	return out.Flush()
}

func (f *featured) stage(i int) stageFeatures {
	out := stageFeatures{Stage: f.stageName(i), Schedule: map[string]float64{}, Pipeline: map[string]int32{}}
	for k, v := range f.features[i] {
		out.Schedule[feature.Table[k].Name] = v
	}
	id := f.stages[i]
	for k, v := range f.pipeline().Funcs[id.Func].Stages[id.Stage].Features {
		if v != 0 {
			out.Pipeline[feature.FeatureName(feature.NumSchedule+k)] = v
		}
	}
	return out
}

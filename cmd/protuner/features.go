package main

import (
	"fmt"
	"os"
	"runtime"
	"text/tabwriter"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/space"
)

// nestFlags name a schedule as a loop nest.
type nestFlags struct {
	generatorFlags
	Nest        string `required:"" help:"The schedule: a file with its loop nest, as HL_DEBUG_AUTOSCHEDULE=2 lets Adams2019 print it." placeholder:"FILE"`
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

// load describes the Generator and imports the loop nest.
func (c *nestFlags) load(g *globals) (*featured, error) {
	if c.Parallelism == 0 {
		c.Parallelism = runtime.NumCPU()
	}
	text, err := os.ReadFile(c.Nest)
	if err != nil {
		return nil, &badInput{err}
	}
	o, err := c.options()
	if err != nil {
		return nil, err
	}
	gen, err := bridge.Open(g.ctx, o)
	if err != nil {
		return nil, &badInput{err}
	}
	p, err := gen.Describe(g.ctx)
	if err != nil {
		return nil, &badInput{err}
	}
	so := space.Adams(max(c.Parallelism, 0))
	sp, err := space.New(p, so)
	if err != nil {
		return nil, &badInput{err}
	}
	s, err := sp.Import(string(text))
	if err != nil {
		return nil, badInputf("%s: %w; it has to be of this Generator, its target and --parallelism %d", c.Nest, err, c.Parallelism)
	}
	return &featured{gen, s, feature.Stages(p), feature.New(sp).Features(s, nil)}, nil
}

type featuresCmd struct {
	nestFlags
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
			return badInputf("%s: %w", c.Nest, err)
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

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
	"github.com/protuner/protuner/internal/tune"
)

// scheduleFile names a schedule.
type scheduleFile struct {
	Schedule string `help:"The schedule: a .schedule.h, or directives as text; own for the Generator's." placeholder:"FILE"`
}

// scheduleFlags name a schedule of a Generator.
type scheduleFlags struct {
	generatorFlags
	scheduleFile
	Parallelism int  `help:"Cores (default: all processors)." placeholder:"N"`
	JSON        bool `name:"json" help:"Print as JSON."`
}

// nestFlags name a schedule that must be one of the space.
type nestFlags struct {
	scheduleFlags
	Nest string `help:"The schedule as a loop nest instead, as HL_DEBUG_AUTOSCHEDULE=2 lets Adams2019 print it." placeholder:"FILE"`
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
func (c *nestFlags) load(g *globals) (*featured, error) {
	if (c.Schedule == "") == (c.Nest == "") {
		return nil, badInputf("name one schedule: --schedule FILE.schedule.h, or --nest FILE with a loop nest")
	}
	if err := readable(c.Nest); err != nil {
		return nil, err
	}
	gen, err := c.openGenerator(g)
	if err != nil {
		return nil, err
	}
	if c.Nest != "" {
		return c.loadNest(g, gen)
	}
	a, err := c.read(g, gen)
	if err != nil {
		return nil, err
	}
	if a.decisions != "" {
		searched, err := c.searched(a.pipe)
		if err != nil {
			return nil, err
		}
		if state := a.decided(searched); state != nil {
			if more := besides(state); len(more) > 0 {
				fmt.Fprintf(os.Stderr, "protuner: %s has what no loop nest says: %s\n", c.Schedule, strings.Join(more, "; "))
			}
			return featuresOf(gen, state), nil
		}
	}
	sp, err := newSpace(a.pipe, space.Adams(c.Parallelism))
	if err != nil {
		return nil, err
	}
	all, err := sp.ImportReadings(a.schedule, 2)
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
	if err := readable(c.Schedule); err != nil {
		return nil, err
	}
	o, err := c.options()
	if err != nil {
		return nil, err
	}
	gen, err := bridge.Open(g.ctx, o)
	if err != nil {
		return nil, unopened(err)
	}
	return gen, nil
}

// readable fails where a schedule's file cannot be read, before anything is built.
func readable(file string) error {
	if file == "" || file == tune.Own {
		return nil
	}
	if _, err := os.ReadFile(file); err != nil {
		return badInputf("cannot read the schedule: %w; name a file that is there", err)
	}
	return nil
}

func (c *nestFlags) loadNest(g *globals, gen *bridge.Generator) (*featured, error) {
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

// searched is the space that tune searches, of a pipeline.
func (c *scheduleFlags) searched(p *pipeline.Pipeline) (*space.Space, error) {
	o := space.Defaults(c.Parallelism)
	o.Sized = true
	return newSpace(p, o)
}

// asked is the schedule asked for.
type asked struct {
	schedule  schedule.Schedule
	named     bool               // its file says that it was found for this algorithm
	partial   bool               // directives cannot say all of the Generator's own
	decisions string             // that led to it, as its file has them; mostly empty
	bound     schedule.Binding   // the pipeline it is of
	pipe      *pipeline.Pipeline // the same; from read on with the Funcs that the schedule makes
}

// decided is the state that the file says was decided, nil where it says nothing of that
// or has another schedule, as where somebody changed it.
func (a *asked) decided(sp *space.Space) *space.State {
	if a.decisions == "" {
		return nil
	}
	state := sp.Decided(a.decisions)
	if state == nil || !state.Schedule().General().SameHalide(a.schedule.General(), a.bound) {
		return nil
	}
	return state
}

// besides is what was decided that no loop nest says.
func besides(s *space.State) []string {
	var out []string
	for _, d := range s.Trace() {
		if d.Kind > space.Tasks && d.Kind != space.Sized {
			out = append(out, s.Space().FormatDecision(d))
		}
	}
	return out
}

// read is ask, with the pipeline as it is after the Funcs that the schedule makes.
func (c *scheduleFlags) read(g *globals, gen *bridge.Generator) (*asked, error) {
	p, err := gen.Describe(g.ctx)
	if err != nil {
		return nil, &badInput{err}
	}
	a, err := c.ask(g, gen, p)
	if err != nil {
		return nil, err
	}
	if head := a.schedule.Structure(); len(head) > 0 {
		if a.pipe, err = gen.Describe(g.ctx, head...); err != nil {
			return nil, badInputf("%s: %w", c.Schedule, err)
		}
	}
	return a, nil
}

// staleError says that a schedule was found for another algorithm than there is now.
type staleError struct{ file, found, generator, now string }

func (e *staleError) Error() string {
	return fmt.Sprintf("%s was found for another algorithm (%s) than %s has now (%s); tune again, or give the Generator and parameters it is of", e.file, e.found, e.generator, e.now)
}

// ask reads the schedule, of a Generator's pipeline.
func (c *scheduleFile) ask(g *globals, gen *bridge.Generator, p *pipeline.Pipeline) (*asked, error) {
	a := &asked{bound: p.Binding(), pipe: p}
	if c.Schedule == tune.Own {
		own, err := gen.Own(g.ctx)
		if err != nil {
			return nil, &badInput{err}
		}
		for _, note := range own.Notes {
			fmt.Fprintf(os.Stderr, "protuner: the Generator's schedule: %s\n", note)
		}
		a.schedule, a.partial = own.Schedule, !own.Complete
		return a, nil
	}
	text, err := os.ReadFile(c.Schedule)
	if err != nil {
		return nil, &badInput{err}
	}
	var hash string
	if hash, a.named = schedule.HalideAlgorithm(text); a.named && hash != p.Algorithm {
		return nil, &badInput{&staleError{c.Schedule, hash, gen.Name, p.Algorithm}}
	}
	a.schedule, err = schedule.Parse(string(text))
	if strings.HasSuffix(c.Schedule, ".h") || strings.Contains(string(text), "get_func(") {
		a.schedule, err = schedule.ParseHalide(text, a.bound)
	}
	if err != nil {
		return nil, badInputf("%s is no schedule of %s: %w; give a .schedule.h of this Generator with these parameters, or directives as protuner export --format text writes them", c.Schedule, gen.Name, err)
	}
	if len(a.schedule.Directives) == 0 {
		return nil, badInputf("%s has no directive in it; give a .schedule.h that is whole", c.Schedule)
	}
	a.decisions = schedule.Decisions(text)
	return a, nil
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

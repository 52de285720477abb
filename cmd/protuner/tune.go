package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/report"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/tune"
)

// generatorFlags name a Generator; every verb that takes one embeds them.
type generatorFlags struct {
	Generator string   `arg:"" help:"The Generator: its .cpp, or its built program."`
	Params    []string `arg:"" optional:"" help:"Generator parameters, NAME=VALUE (put -- before them)."`
	Name      string   `short:"g" help:"Registered name; may be left out where the program has one Generator." placeholder:"NAME"`
	Include   []string `short:"I" help:"Folders of headers, for a .cpp." placeholder:"DIR" sep:"none"`
	Define    []string `short:"D" help:"Macros, for a .cpp." placeholder:"MACRO" sep:"none"`
	Halide    string   `help:"A Halide installation (default: the one a built Generator is linked against, PROTUNER_HALIDE, Halide_ROOT, the usual places)." placeholder:"DIR"`
}

func (f generatorFlags) options() (bridge.Options, error) {
	o := bridge.Options{Path: f.Generator, Name: f.Name, HalideDir: f.Halide}
	for _, d := range f.Include {
		o.CompileFlags = append(o.CompileFlags, "-I"+d)
	}
	for _, d := range f.Define {
		o.CompileFlags = append(o.CompileFlags, "-D"+d)
	}
	for _, p := range f.Params {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" || value == "" {
			return o, badInputf("%q is no Generator parameter; write NAME=VALUE", p)
		}
		if name == "autoscheduler" || strings.HasPrefix(name, "autoscheduler.") {
			return o, badInputf("the parameter %s is protuner's to set; leave it out", name)
		}
		o.Params = append(o.Params, bridge.Param{Name: name, Value: value})
	}
	return o, nil
}

// workFlags say what a pipeline is run on, and what counts as its right result.
type workFlags struct {
	Input        []string `help:"How an input is made: NAME=random:SEED, of integers NAME=random:SEED:BITS, NAME=constant:V, NAME=FILE.png, NAME=FILE.npy; scalars NAME=VALUE." sep:"none" placeholder:"NAME=RULE"`
	Threads      int      `help:"Threads of the pipeline (default: all processors)." placeholder:"N"`
	Memory       int64    `help:"Limit on the memory of a process that compiles and runs a schedule, besides its inputs and outputs, in MiB; 0 for none." default:"8192" placeholder:"MIB"`
	IntTolerance int64    `help:"How far every integer result may be off (default: none; what the rounding of floats does to them is allowed for, docs/measuring.md)." placeholder:"N"`
}

func (f workFlags) set(o *tune.Options) {
	o.Inputs = f.Input
	o.Protocol.IntegerEvery, o.CandidateMemory = f.IntTolerance, f.Memory<<20
	if f.Threads != 0 {
		o.Threads = f.Threads
	}
}

type tuneCmd struct {
	generatorFlags
	Search         string        `help:"Search strategy: protuner, mcts, beam, greedy and others (docs/search.md) ask the cost model first; evolve or random measure from the start." default:"protuner"`
	Measure        bool          `help:"Measure schedules. With =false the model's best is handed back: checked, not timed (--search is then protuner unless given)." default:"true" negatable:""`
	Restructure    bool          `help:"Also try to factor reductions, so that they can be vectorised or run in parallel, to clone cheap Funcs, and to copy inputs that are read over and over." default:"true" negatable:""`
	Specialize     bool          `help:"Also try schedules with a second version for exactly the estimated sizes; other sizes are computed too, but may be slower than without." default:"true" negatable:""`
	Polish         bool          `help:"Also optimise the numbers of the fastest schedule by Bayesian optimisation, late in the budget." default:"true" negatable:""`
	Weights        string        `help:"The cost model's .weights file (default: the weights in Halide's Adams2019 plugin)." placeholder:"FILE"`
	Budget         time.Duration `help:"Time for proposing and measuring schedules; compiling the Generator before it and the races after it are not in it." default:"5m"`
	Trials         int           `help:"Measure at most so many schedules, those of earlier runs counted (default: no bound)." placeholder:"N"`
	Seed           int64         `help:"Seed of everything random." default:"1"`
	DB             string        `name:"db" help:"Database of all measurements." default:"protuner.db" placeholder:"FILE"`
	Out            string        `short:"o" help:"Folder for the winner's library, header, .schedule.h, registration and report." placeholder:"DIR"`
	Function       string        `short:"f" help:"Name of the function in what is written (default: the Generator's)." placeholder:"NAME"`
	Emit           []string      `short:"e" help:"Halide's own -e words for further outputs." placeholder:"WORD,..."`
	Seeds          []string      `help:"Whose schedules the search begins with: ${schedulers}, earlier (what the database holds of this Generator at other sizes, with other parameters or on other machines); none to begin from nothing." default:"${seeds}"`
	Baseline       []string      `help:"What the winner is raced against: ${schedulers}; none for nothing." default:"${baselines}"`
	BaselineTime   time.Duration `help:"Limit on making each baseline, and each seed where that is less than an eighth of the budget." default:"2m"`
	BaselineMemory int64         `help:"Limit on the memory of making each baseline or seed, in MiB." default:"6144" placeholder:"MIB"`
	workFlags
	JSON bool `name:"json" help:"Print the report as JSON."`
}

func (c *tuneCmd) options() (tune.Options, error) {
	o := tune.Defaults()
	var err error
	if o.Generator, err = c.generatorFlags.options(); err != nil {
		return o, err
	}
	o.Search, o.Budget, o.Trials, o.Seed, o.DB = c.Search, c.Budget, c.Trials, c.Seed, c.DB
	o.Weights, o.Unmeasured, o.Restructure, o.Specialize, o.Polish = c.Weights, !c.Measure, c.Restructure, c.Specialize, c.Polish
	o.Out, o.Function, o.Emit = c.Out, c.Function, c.Emit
	c.set(&o)
	o.BaselineLimits = bridge.Limits{Time: c.BaselineTime, Memory: c.BaselineMemory << 20}
	o.Seeds, o.Baselines = chosen(c.Seeds), chosen(c.Baseline)
	if o.Weights != "" && slices.Contains(search.Names(), o.Search) {
		return o, badInputf("--weights %s: the search %s does not ask the cost model; leave them out, or choose another --search", o.Weights, o.Search)
	}
	return o, nil
}

func (c *tuneCmd) Run(g *globals) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	screen := report.NewProgress(os.Stderr)
	r, err := tune.Run(g.ctx, o, screen.Events(), g.stopping())
	screen.Close()
	if err != nil && (!reported(err) || r == nil || r.Hash == "") {
		return err
	}
	if r.Out != "" {
		err = errors.Join(err, report.Write(r))
	}
	if c.JSON {
		return errors.Join(printJSON(r), err)
	}
	return errors.Join(printed(func(w io.Writer) { report.Tuned(w, r) }), err)
}

// reported holds for errors that a report may come with.
func reported(err error) bool {
	return errors.Is(err, tune.ErrInterrupted) || errors.Is(err, tune.ErrUnkept) || errors.Is(err, tune.ErrUnwritten)
}

// chosen are the schedulers that a flag names; none is nobody.
func chosen(names []string) []string {
	var out []string
	for _, n := range names {
		if n = strings.ToLower(n); n != "none" {
			out = append(out, n)
		}
	}
	return out
}

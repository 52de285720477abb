package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/protuner/protuner/bayes"
	programs "github.com/protuner/protuner/bayes/command"
	"github.com/protuner/protuner/bayes/report"
	"github.com/protuner/protuner/bayes/space"
	"github.com/protuner/protuner/internal/tune"
)

type optimizeCmd struct {
	Scenario   string        `arg:"" name:"space" help:"The parameters and constraints: a JSON file as BaCO and HyperMapper have it."`
	Command    []string      `arg:"" optional:"" help:"The program to run for each configuration (put -- before it); {name} stands for a parameter, {config} for all as JSON, {id} for the trial. The last number it prints counts, or a JSON object with \"value\"."`
	Build      string        `help:"A shell line to run before the command, with the same placeholders; several may run at a time." placeholder:"LINE"`
	Env        string        `help:"Also hand the parameters over in environment variables that begin so." placeholder:"PREFIX"`
	Stdin      bool          `help:"Also hand the configuration over as a line of JSON on standard input."`
	Field      string        `help:"Member of a JSON result that counts (default: the space's objective, or \"value\")." placeholder:"NAME"`
	Limit      time.Duration `help:"Longest time of one run of the command." default:"10m"`
	BuildLimit time.Duration `help:"Longest time of one build." default:"10m"`
	Parallel   int           `help:"Builds at a time; the command itself always runs alone." default:"1" placeholder:"N"`
	Trials     int           `help:"Configurations to evaluate, those of earlier runs counted; -1 for no bound (default: as the space says, else 100)." placeholder:"N"`
	Budget     time.Duration `help:"Time for everything (default: no bound)."`
	Method     string        `help:"Optimiser: default, paper, uniform, bandit, ...; any other word lists all." default:"default"`
	Seed       int64         `help:"Seed of everything random." default:"1"`
	Maximize   bool          `help:"Look for the greatest value instead of the least."`
	Start      []string      `help:"A configuration to evaluate first, as JSON; may be repeated." sep:"none" placeholder:"CONFIG"`
	Earlier    []string      `help:"What an earlier search of this space, or of one that shares parameters, printed with --json; its experience is used. May be repeated." placeholder:"FILE"`
	DB         string        `name:"db" help:"Where every trial is kept: a database, or a file ending in .jsonl, or none." default:"protuner-optimize.db" placeholder:"FILE"`
	Study      string        `help:"Name of the study in the database (default: made of all that makes two searches differ). The same name goes on where it ended." placeholder:"NAME"`
	Plot       string        `help:"Draw values and best so far into this file (.svg, .png or .pdf)." placeholder:"FILE"`
	AskTell    bool          `help:"Run no command: another program asks and tells over standard input and output, a JSON object a line."`
	JSON       bool          `name:"json" help:"Print the result, with every trial, as JSON."`
}

// defaultTrials is the number of evaluations where nobody says another.
const defaultTrials = 100

func (c *optimizeCmd) Run(g *globals) error {
	outliveLog()
	sc, err := c.scenario()
	if err != nil {
		return err
	}
	evaluator, err := c.evaluator(sc)
	if err != nil {
		return err
	}
	if c.Plot != "" {
		if err := report.CheckPlot(c.Plot); err != nil {
			return &badInput{err}
		}
	}
	study, err := c.open(g.ctx, sc)
	if err != nil {
		return err
	}
	if c.AskTell {
		return errors.Join(bayes.Serve(g.ctx, study, os.Stdin, os.Stdout), study.Close())
	}
	result, err := c.search(g.ctx, study, evaluator, sc)
	return c.print(result, errors.Join(err, study.Close()))
}

func (c *optimizeCmd) scenario() (*space.Scenario, error) {
	f, err := os.Open(c.Scenario)
	if err != nil {
		return nil, &badInput{err}
	}
	defer f.Close()
	sc, err := space.ReadScenario(f)
	if err != nil {
		return nil, badInputf("%s: %w", c.Scenario, err)
	}
	if c.Trials == 0 {
		c.Trials = defaultTrials
		if sc.Iterations >= 0 && sc.Initial+sc.Iterations > 0 {
			c.Trials = sc.Initial + sc.Iterations
		}
	}
	return sc, nil
}

// evaluator is nil under --ask-tell.
func (c *optimizeCmd) evaluator(sc *space.Scenario) (*programs.Evaluator, error) {
	switch {
	case c.AskTell && len(c.Command) > 0:
		return nil, badInputf("with --ask-tell the other side evaluates; leave the command out")
	case c.AskTell:
		return nil, nil
	case len(c.Command) == 0:
		return nil, badInputf("there is no command to evaluate configurations with; put it after --, or let another program drive with --ask-tell")
	case c.Limit <= 0 || c.BuildLimit <= 0 || c.Budget < 0:
		return nil, badInputf("--limit, --build-limit and --budget are positive times")
	case c.Parallel < 1 || c.Trials < -1:
		return nil, badInputf("--parallel is at least 1, --trials too (-1: no bound)")
	case c.Parallel > 1 && c.Build == "":
		return nil, badInputf("--parallel is for builds, since commands are timed alone; give the part that may run in parallel with --build")
	}
	o := programs.Options{Args: c.Command, Env: c.Env, Stdin: c.Stdin, Limit: c.Limit, BuildLimit: c.BuildLimit,
		Field: c.field(sc), FeasibleField: sc.FeasibleField, FeasibleTrue: sc.FeasibleTrue}
	if c.Build != "" {
		o.Build = []string{"/bin/sh", "-c", c.Build}
	}
	e, err := programs.New(o, sc.Space)
	if err != nil {
		return nil, &badInput{err}
	}
	return e, nil
}

// field is the member of a JSON result that counts, "" where neither the command line nor
// the space names one.
func (c *optimizeCmd) field(sc *space.Scenario) string { return cmp.Or(c.Field, sc.Objective) }

// options are those of the method; what the space says of the search counts where
// no other method is asked for.
func (c *optimizeCmd) options(sc *space.Scenario) (bayes.Options, error) {
	o, err := bayes.Preset(c.Method)
	if err != nil {
		return o, badInputf("--method: %w", err)
	}
	if c.Method == "default" {
		if sc.Initial > 0 {
			o.Initial = sc.Initial
		}
		if sc.Log != nil && !*sc.Log {
			o.Surrogate.LogObjective = bayes.Off
		}
		o.Surrogate.Forest = sc.Model == "random_forest"
	}
	o.Seed, o.Maximize = c.Seed, c.Maximize
	for _, text := range c.Start {
		config, err := sc.Space.ParseJSON([]byte(text))
		if err != nil {
			return o, badInputf("--start %s: %w", text, err)
		}
		o.Start = append(o.Start, config)
	}
	for _, name := range c.Earlier {
		f, err := os.Open(name)
		if err != nil {
			return o, badInputf("--earlier: %w", err)
		}
		known, err := bayes.ReadKnown(f, sc.Space)
		if err := errors.Join(err, f.Close()); err != nil {
			return o, badInputf("--earlier %s: %w", name, err)
		}
		o.Earlier = append(o.Earlier, known)
	}
	return o, nil
}

func (c *optimizeCmd) open(ctx context.Context, sc *space.Scenario) (*bayes.Study, error) {
	o, err := c.options(sc)
	if err != nil {
		return nil, err
	}
	if c.Study == "" {
		c.Study = c.studyName(sc, o)
	}
	var store bayes.Store
	switch {
	case c.DB == "none":
	case strings.HasSuffix(c.DB, ".jsonl"):
		store, err = bayes.OpenJSONLines(c.DB, c.Study)
	default:
		store, err = bayes.OpenSQLite(ctx, c.DB, c.Study)
	}
	if err != nil {
		return nil, badInputf("--db: %w", err)
	}
	study, err := bayes.Open(ctx, sc.Space, o, store)
	if err == nil {
		return study, nil
	}
	if store != nil {
		err = errors.Join(err, store.Close())
	}
	if errors.Is(err, bayes.ErrMismatch) {
		return nil, badInputf("%s, study %s: %w; name another with --study or --db", c.DB, c.Study, err)
	}
	return nil, badInputf("%s: %w", c.DB, err)
}

// studyName tells searches apart: it goes by the space, the options, the
// command and what is read of its results, so that the same command line goes
// on where it ended. The limits do not count: under another name all that has a
// value would be measured again for the sake of what timed out.
func (c *optimizeCmd) studyName(sc *space.Scenario, o bayes.Options) string {
	name := sc.Name
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(c.Scenario), filepath.Ext(c.Scenario))
	}
	dir, _ := os.Getwd() // a folder without a name is one like another
	parts := []any{sc.Space.Fingerprint(), o, dir, c.Command, c.Build, c.Env, c.Stdin, c.field(sc)}
	if sc.FeasibleField != "" || sc.FeasibleTrue != "" {
		parts = append(parts, sc.FeasibleField, sc.FeasibleTrue)
	}
	text, err := json.Marshal(parts)
	if err != nil {
		panic(err) // plain data
	}
	return fmt.Sprintf("%s-%x", name, sha256.Sum256(text))[:len(name)+9]
}

// search runs the study and says what it holds then, also beside an error.
func (c *optimizeCmd) search(ctx context.Context, study *bayes.Study, e *programs.Evaluator, sc *space.Scenario) (*report.Result, error) {
	o := bayes.RunOptions{Trials: max(c.Trials, 0), Parallel: c.Parallel}
	if c.Budget > 0 {
		o.Deadline = time.Now().Add(c.Budget)
	}
	known := study.Trials()
	r := report.Result{Study: c.Study, Method: c.Method, Objective: c.field(sc)}
	for _, t := range known {
		if t.Outcome.Status != bayes.Pending {
			r.Earlier++
		}
	}
	screen := report.NewProgress(os.Stderr, o.Trials, known)
	defer screen.Close()
	if c.DB != "none" {
		r.Store = c.DB
		if r.Earlier > 0 {
			screen.Note("study %s of %s has %d trials; it goes on from there (another --study begins afresh)", c.Study, c.DB, r.Earlier)
		}
	}
	if len(sc.Ignored) > 0 {
		screen.Note("the space's settings that mean nothing here: %s", strings.Join(sc.Ignored, ", "))
	}
	o.OnTrial = screen.Trial
	var failed error
	r.Stop, failed = bayes.Run(ctx, study, e, o)
	if best, ok := study.Best(); ok {
		var err error
		r.Command, err = e.Command(best)
		failed = errors.Join(failed, err)
	}
	return report.Collect(ctx, study, r), failed
}

// print writes what was found, and says what failed until then or what the result lacks.
func (c *optimizeCmd) print(r *report.Result, failed error) error {
	switch {
	case failed != nil: // which says enough
	case r.Stop == bayes.Interrupted:
		failed = tune.ErrInterrupted
		if r.Store != "" {
			failed = fmt.Errorf("%w; the same command line goes on from here", tune.ErrInterrupted)
		}
	case r.Best == nil && len(r.Failures) > 0:
		f := r.Failures[0]
		failed = fmt.Errorf("none of %d configurations gave a value; most often: %s: %s", r.Finished(), f.Status, f.Message)
	case r.Best == nil:
		failed = errors.New("no configuration was evaluated; give more time or trials")
	}
	if c.JSON {
		failed = errors.Join(failed, printJSON(r))
	} else {
		failed = errors.Join(failed, printed(func(w io.Writer) { report.Summary(w, r) }))
	}
	if c.Plot != "" && r.Best != nil {
		failed = errors.Join(failed, report.Plot(c.Plot, r))
	}
	return failed
}

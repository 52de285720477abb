package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/report"
)

type benchCmd struct {
	Run     benchRunCmd     `cmd:"" help:"Let methods make schedules for a suite and race them; goes on where it was stopped."`
	Report  benchReportCmd  `cmd:"" help:"Show a run of bench, finished or not, and write its tables, plots and page."`
	Compare benchCompareCmd `cmd:"" help:"Compare two runs of bench, with significance."`
}

type benchRunCmd struct {
	Profile    string         `help:"Start from the options of a figure or table: ${profiles} (docs/bench.md)." placeholder:"NAME"`
	Apps       []string       `help:"Applications, or all for the suite of 16 (default: all)." placeholder:"NAME,..."`
	Methods    []string       `help:"Methods (docs/bench.md): protuner, protuner:NAME, adams2019:beam, mullapudi2016, expert, random, ... (default: protuner, adams2019:beam, expert, mullapudi2016)." placeholder:"NAME,..."`
	Budget     *time.Duration `help:"Search time of each method for an application (default: 5m)." placeholder:"TIME"`
	PeerTime   *time.Duration `help:"Limit on schedulers that end by themselves (default: the budget)." placeholder:"TIME"`
	PeerMemory *int64         `help:"Limit on their memory, in MiB (default: 6144)." placeholder:"MIB"`
	Repeat     *int           `help:"Seeds of each method that draws at random; the fastest counts (default: 1)." placeholder:"N"`
	Divide     *float64       `help:"Divide all times that methods are given by this, 1 to 10 (default: 1)." placeholder:"K"`
	Seed       *int64         `help:"The first seed (default: 1)." placeholder:"N"`
	Layers     *int           `help:"Of applications scheduled layer by layer only those layers that occur most often (default: all)." placeholder:"N"`
	MinRounds  *int           `help:"Rounds of a race at least (default: 10)." placeholder:"N"`
	MaxRounds  *int           `help:"Rounds of a race at most (default: 30)." placeholder:"N"`
	RaceTime   *time.Duration `help:"Once this is over a race ends with --min-rounds; at twice this with five rounds that count, or ten in all (default: 1m)." placeholder:"TIME"`
	Threads    *int           `help:"Threads of the pipelines (default: all processors)." placeholder:"N"`
	Weights    string         `help:"The cost model's .weights file (default: the weights in Halide's Adams2019 plugin)." placeholder:"FILE"`
	AppsDir    string         `help:"Folder of the applications." default:"apps" placeholder:"DIR"`
	Halide     string         `help:"A Halide installation (default: PROTUNER_HALIDE, Halide_ROOT, the usual places)." placeholder:"DIR"`
	Out        string         `short:"o" help:"Folder for the results; an unfinished run in it is gone on with." required:"" placeholder:"DIR"`
	JSON       bool           `name:"json" help:"Print the summary as JSON."`
}

func (c *benchRunCmd) options() (bench.Options, error) {
	o := bench.Defaults()
	if c.Profile != "" {
		p, err := bench.FindProfile(c.Profile)
		if err != nil {
			return o, err
		}
		p.Set(&o)
	}
	given(&o.Budget, c.Budget)
	given(&o.PeerTime, c.PeerTime)
	if c.PeerMemory != nil {
		o.PeerMemory = *c.PeerMemory << 20
	}
	given(&o.Repeat, c.Repeat)
	given(&o.Divide, c.Divide)
	given(&o.Seed, c.Seed)
	given(&o.Layers, c.Layers)
	given(&o.MinRounds, c.MinRounds)
	given(&o.MaxRounds, c.MaxRounds)
	given(&o.RaceTime, c.RaceTime)
	given(&o.Threads, c.Threads)
	if o.MinRounds > o.MaxRounds { // one of them was given and the other was not
		if c.MinRounds == nil {
			o.MinRounds = o.MaxRounds
		} else if c.MaxRounds == nil {
			o.MaxRounds = o.MinRounds
		}
	}
	if len(c.Apps) > 0 {
		o.Apps = c.Apps
	}
	if len(c.Methods) > 0 {
		o.Methods = c.Methods
	}
	o.Weights, o.AppsDir, o.HalideDir, o.Out = c.Weights, c.AppsDir, c.Halide, c.Out
	return o, nil
}

// given sets an option that is not left out.
func given[T any](to *T, value *T) {
	if value != nil {
		*to = *value
	}
}

func (c *benchRunCmd) Run(g *globals) error {
	outliveLog()
	o, err := c.options()
	if err != nil {
		return benchError(err)
	}
	err = bench.Run(g.ctx, o, c.Profile, "protuner "+strings.Join(os.Args[1:], " "), report.BenchEvents(os.Stderr))
	var left *bench.LeftOut
	if err != nil && !errors.As(err, &left) {
		if g.ctx.Err() != nil {
			fmt.Fprintln(os.Stderr, "stopped; the same command goes on from here")
		}
		return benchError(err)
	}
	s, err := showBench(g.ctx, o.Out, "", c.JSON, false, o.Out, left)
	switch {
	case err != nil:
		return err
	case s.Timed() == 0:
		return errors.New("no method came to a schedule that runs and computes the right thing on any application; what is missing says why")
	case left != nil:
		return &badInput{left}
	}
	return nil
}

type benchReportCmd struct {
	Run_     string `arg:"" name:"run" help:"Folder of a run of bench, or its database."`
	Against  string `help:"The method that all others are compared with (default: the run's first)." placeholder:"METHOD"`
	Markdown bool   `help:"Print Markdown."`
	JSON     bool   `name:"json" help:"Print the summary as JSON."`
	Out      string `short:"o" help:"Folder for tables, plots and the page (default: the run's)." placeholder:"DIR"`
}

func (c *benchReportCmd) Run(g *globals) error {
	_, err := showBench(g.ctx, c.Run_, c.Against, c.JSON, c.Markdown, c.Out, nil)
	return err
}

type benchCompareCmd struct {
	A    string `arg:"" help:"Folder of a run of bench."`
	B    string `arg:"" help:"Folder of another."`
	JSON bool   `name:"json" help:"Print the comparison as JSON."`
}

func (c *benchCompareCmd) Run(g *globals) error {
	a, err := bench.Load(g.ctx, c.A)
	if err != nil {
		return benchError(err)
	}
	b, err := bench.Load(g.ctx, c.B)
	if err != nil {
		return benchError(err)
	}
	found, err := bench.Compare(a, b)
	if err != nil {
		return benchError(err)
	}
	if c.JSON {
		return printJSON(found)
	}
	return printed(func(w io.Writer) { report.BenchComparison(w, found) })
}

// benchError tells what the user can mend from what failed.
func benchError(err error) error {
	var usage *bench.UsageError
	if errors.As(err, &usage) {
		return &badInput{err}
	}
	return err
}

// showBench prints a run's summary and writes its files into a folder: the run's own
// where none is named. What the run left out, if anything, is missing.
func showBench(ctx context.Context, run, against string, asJSON, markdown bool, out string, left *bench.LeftOut) (*bench.Summary, error) {
	b, err := bench.Load(ctx, run)
	if err != nil {
		return nil, benchError(err)
	}
	s, err := b.Summarise(against)
	if err != nil {
		return nil, benchError(err)
	}
	if left != nil {
		for _, why := range left.Why {
			s.Missing = append(s.Missing, "left out: "+why.Error())
		}
	}
	if out == "" {
		out = b.Dir
	}
	// Where one of the two, output and folder, cannot be written, the other is there still.
	var unprinted error
	switch {
	case asJSON:
		unprinted = report.BenchJSON(os.Stdout, b, s)
	case markdown:
		_, unprinted = fmt.Print(report.BenchMarkdown(b, s))
	default:
		unprinted = printed(func(w io.Writer) { report.Bench(w, b, s) })
	}
	files, err := report.WriteBench(out, b, s)
	if err != nil {
		err = fmt.Errorf("cannot write the report's files: %w; `protuner bench report %s --out DIR` writes them elsewhere", err, run)
	}
	if err = errors.Join(unprinted, err); err != nil {
		return nil, err
	}
	if !asJSON && !markdown {
		_, err = fmt.Printf("\nfiles:\n  %s\n", strings.Join(files, "\n  "))
	}
	return s, err
}

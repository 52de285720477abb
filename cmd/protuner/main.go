// Command protuner finds fast schedules for Halide pipelines.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/tune"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

type cli struct {
	Tune     tuneCmd     `cmd:"" help:"Find a fast schedule for a Generator."`
	Bench    benchCmd    `cmd:"" help:"Compare methods of scheduling side by side on a suite."`
	Optimize optimizeCmd `cmd:"" help:"Find the best configuration of any program."`
	Show     showCmd     `cmd:"" help:"Show what was found."`
	Export   exportCmd   `cmd:"" help:"Write a found schedule as .schedule.h or text."`
	Check    checkCmd    `cmd:"" help:"Check that a schedule still fits its Generator and computes the right result."`
	DB       dbCmd       `cmd:"" name:"db" help:"Exchange measurements as JSON lines."`
	Features featuresCmd `cmd:"" help:"Print the features of a schedule, or write them as .featurization."`
	Predict  predictCmd  `cmd:"" help:"Predict the cost of a schedule and say what it comes from."`
	Explain  explainCmd  `cmd:"" help:"Say whether tune could find a schedule, and what the model thinks of it."`
	Doctor   doctorCmd   `cmd:"" help:"Say what is installed, what is missing and how to get it."`
}

func main() {
	os.Exit(run(os.Args[1:]))
}

// newParser reads command lines into c.
func newParser(c *cli, options ...kong.Option) *kong.Kong {
	tuned := tune.Defaults()
	parser, err := kong.New(c, append(options, kong.Name("protuner"),
		kong.Description("Finds fast schedules for Halide pipelines: search, measurement and checked results."),
		kong.Vars{
			"profiles":   strings.Join(bench.ProfileNames(), ", "),
			"schedulers": strings.Join(tune.Schedulers(), ", "),
			"seeds":      strings.Join(tuned.Seeds, ","),
			"baselines":  strings.Join(tuned.Baselines, ","),
		},
		kong.UsageOnError())...)
	if err != nil {
		panic(err) // the command's own description is wrong
	}
	return parser
}

func run(args []string) (code int) {
	var c cli
	exited := -1
	k, err := newParser(&c, kong.Exit(func(code int) { exited = code })).Parse(args)
	if exited >= 0 { // --help
		return exited
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "protuner: %v; see protuner --help\n", err)
		return exitUsage
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g := &globals{ctx: ctx, stop: make(chan struct{})}
	signals := make(chan os.Signal, 2)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP)
	}
	signal.Notify(signals, ends...)
	go func() {
		<-signals
		close(g.stop)
		// A terminal that is closed sends SIGHUP twice, by its shell and by itself.
		for g.gently.Load() && <-signals == syscall.SIGHUP {
		}
		cancel()
		// What does not end by that is killed by the next one.
		signal.Reset(os.Interrupt, syscall.SIGTERM)
	}()
	err = k.Run(g)
	if errors.Is(err, context.Canceled) {
		err = tune.ErrInterrupted // nobody but the user cancels it
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "protuner: %v\n", err)
	}
	return exitCode(err)
}

// globals are what every verb gets. Ctrl-C cancels the context, or where a verb asked for
// stopping the second one does; one more kills.
type globals struct {
	ctx    context.Context
	stop   chan struct{}
	gently atomic.Bool
}

// stopping is closed by the first Ctrl-C, after which the verb ends by itself with what it has.
func (g *globals) stopping() <-chan struct{} {
	g.gently.Store(true)
	outliveLog()
	return g.stop
}

// outliveLog keeps a log that ends with the terminal, as tee does, from ending what still works.
func outliveLog() {
	// Ignored SIGPIPE would be in every program that is started, too.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// printed lets write print to stdout and returns what failed: output that did not arrive is an
// error.
func printed(write func(io.Writer)) error {
	out := bufio.NewWriter(os.Stdout)
	write(out)
	return out.Flush()
}

func exitCode(err error) int {
	var usage *tune.UsageError
	var bad *badInput
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, tune.ErrInterrupted):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &bad):
		return exitUsage
	}
	return exitFailed
}

// badInput is an error in what the user gave.
type badInput struct{ error }

func (e *badInput) Unwrap() error { return e.error }

// unopened is the error of opening a Generator: bad input, where the machine lacks nothing.
func unopened(err error) error {
	if bridge.Lacking(err) {
		return err
	}
	return &badInput{err}
}

func badInputf(format string, args ...any) error { return &badInput{fmt.Errorf(format, args...)} }

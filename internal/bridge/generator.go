// Package bridge reaches Halide: it finds an installation, compiles the plugin and
// the user's Generators against it, runs them and speaks the plugin's wire
// protocol. What is read out of words, of Halide's errors and of what programs print,
// only says better what failed or lets it be tried again.
package bridge

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// Options say which Generator, built how, is opened.
type Options struct {
	Path         string   // a .cpp to compile, or a built program
	Name         string   // -g; may be empty where the program registers one Generator
	Params       []Param  // Generator parameters; target is taken from here, default host
	CompileFlags []string // -I, -D and the like, for a .cpp
	HalideDir    string   // --halide; empty: FindHalide's usual places
	Cache        Cache    // zero: DefaultCache
	Threads      int      // HL_NUM_THREADS of every candidate; 0: all processors
	Env          []string // NAME=VALUE, what else its programs find in their environment
	Faults       bool     // the test build of the plugin
}

// Generator is one opened Generator, ready to be described, served and applied.
type Generator struct {
	Binary    string
	Name      string // as registered
	Params    []Param
	Toolchain *Toolchain
	threads   int
	extra     []string // Options.Env
	held      *os.File // Binary as it was opened; nil for what is no program by itself
	plugin    string
	faults    bool
	limits    sessionLimits // zero: defaultSessionLimits
}

// Open finds Halide, compiles what has to be compiled and checks that the
// Generator runs. Errors are *MissingError, *CompileError, *GeneratorError or name
// the file.
func Open(ctx context.Context, o Options) (*Generator, error) {
	info, err := os.Stat(o.Path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the Generator: %w", err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder; name the Generator's .cpp or its built program", o.Path)
	}
	if t := (&Generator{Params: o.Params}).Target(); strings.Contains(t, ",") {
		return nil, fmt.Errorf("target=%s: they are tuned one by one, each on a machine that it runs on; name one", t)
	}
	if o.Cache.Dir == "" {
		o.Cache = DefaultCache()
	}
	source := isSource(o.Path)
	var h *Halide
	if !source && o.HalideDir == "" {
		if h, err = halideOf(o.Path); err != nil {
			return nil, fmt.Errorf("%s is no Generator: %w", o.Path, err)
		}
	}
	if h == nil {
		if h, err = FindHalide(o.HalideDir); err != nil {
			return nil, err
		}
	}
	t, err := NewToolchain(h, o.Cache)
	if err != nil {
		return nil, err
	}
	g := &Generator{Binary: o.Path, Name: o.Name, Params: o.Params, Toolchain: t, threads: o.Threads, extra: o.Env, faults: o.Faults}
	if source {
		if g.Binary, err = t.GeneratorBinary(ctx, o.Path, o.CompileFlags); err != nil {
			return nil, err
		}
	} else if g.Binary, err = filepath.Abs(o.Path); err != nil {
		return nil, err
	}
	if g.held, err = hold(g.Binary); err != nil {
		return nil, fmt.Errorf("cannot read the Generator: %w", err)
	}
	if g.plugin, err = t.Plugin(ctx, o.Faults); err != nil {
		return nil, err
	}
	return g, g.nameIt(ctx)
}

// hold opens a program that may be made anew while it is tuned, by its own build or from a
// source that is edited: what was begun with one algorithm must not end with another. A
// script looks for what it runs beside itself, so it is not held.
func hold(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != elf.ELFMAG {
		return nil, f.Close()
	}
	return f, nil
}

// program is the Generator's program, about to be run with these arguments.
func (g *Generator) program(ctx context.Context, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.Binary, args...)
	if g.held != nil {
		cmd.Path = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), g.held.Fd())
	}
	return cmd
}

func isSource(path string) bool {
	return slices.Contains([]string{".cpp", ".cc", ".cxx", ".C"}, filepath.Ext(path))
}

// nameIt checks the Generator's name against those its program registers, and
// finds it where it was left out.
func (g *Generator) nameIt(ctx context.Context) error {
	names, err := g.registered(ctx)
	if err != nil {
		return fmt.Errorf("%s is no Generator that runs: %w", g.Binary, err)
	}
	switch {
	case len(names) == 0:
		return fmt.Errorf("%s registers no Generator; it takes HALIDE_REGISTER_GENERATOR(CLASS, NAME) in a source that is linked into it", g.Binary)
	case g.Name != "" && !slices.Contains(names, g.Name):
		return fmt.Errorf("there is no Generator %s in %s; it has %s", g.Name, g.Binary, strings.Join(names, ", "))
	case g.Name == "" && len(names) != 1:
		return fmt.Errorf("%s has several Generators; name one with -g: %s", g.Binary, strings.Join(names, ", "))
	case g.Name == "":
		g.Name = names[0]
	}
	return nil
}

// Target is the target the Generator is compiled for.
func (g *Generator) Target() string {
	for _, p := range g.Params {
		if p.Name == "target" {
			return p.Value
		}
	}
	return "host"
}

// Strict is the same Generator compiled so that floating-point operations are neither
// fused nor reordered.
func (g *Generator) Strict() *Generator {
	return g.targeting(g.Target() + "-strict_float")
}

// unraced are Halide's features of targets whose builds cannot be loaded by themselves, are
// called another way, do not say what they read, or watch themselves. None changes what a
// schedule computes.
var unraced = []string{
	"no_runtime", "c_plus_plus_name_mangling", "user_context", "no_asserts", "no_bounds_query", "asan", "msan", "tsan",
	"debug", "profile", "profile_by_timer", "trace_loads", "trace_stores", "trace_realizations", "trace_pipeline",
}

// Raced is the same Generator compiled for what is checked and timed: with Halide's runtime
// and assertions, called by its plain name.
func (g *Generator) Raced() *Generator {
	features := strings.Split(g.Target(), "-")
	return g.targeting(strings.Join(slices.DeleteFunc(features, func(f string) bool { return slices.Contains(unraced, f) }), "-"))
}

func (g *Generator) targeting(target string) *Generator {
	other := *g
	other.Params = slices.DeleteFunc(slices.Clone(g.Params), func(p Param) bool { return p.Name == "target" })
	other.Params = append(other.Params, Param{Name: "target", Value: target})
	return &other
}

// arguments is the Generator's command line: what the caller wants written, the
// parameters, and what comes with an autoscheduler.
func (g *Generator) arguments(outputs []string, autoscheduler ...string) []string {
	if len(outputs) == 0 {
		outputs = []string{"-e", "schedule", "-o", os.TempDir()} // never written: the plugin leaves first
	}
	args := slices.Clone(outputs)
	args = append(args, "-g", g.Name)
	args = append(args, autoscheduler...)
	args = append(args, "target="+g.Target())
	for _, p := range g.Params {
		if p.Name != "target" {
			args = append(args, p.Name+"="+p.Value)
		}
	}
	return args
}

func (g *Generator) env() []string {
	extra := slices.Clone(g.extra)
	if g.threads > 0 {
		extra = append(extra, fmt.Sprintf("HL_NUM_THREADS=%d", g.threads))
	}
	return g.Toolchain.environ(extra...)
}

// PermitsUnroll says whether Halide keeps loops that it cannot unroll (PermitUnroll) where it
// compiles this Generator's schedules.
func (g *Generator) PermitsUnroll() bool {
	name, on, _ := strings.Cut(PermitUnroll, "=")
	permitted := false
	for _, e := range g.env() {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			permitted = value == on
		}
	}
	return permitted
}

// Describe returns the pipeline after the structural directives (rfactor, in,
// clone_in, and the splits of loops that rfactor takes) were applied to it, and marked
// with them.
func (g *Generator) Describe(ctx context.Context, structure ...schedule.Directive) (*pipeline.Pipeline, error) {
	text, err := g.describe(ctx, structure)
	if err != nil {
		return nil, err
	}
	p, err := pipeline.Decode(text)
	if err != nil || len(structure) == 0 {
		return p, err
	}
	lines := make([]string, len(structure))
	for i, d := range structure {
		lines[i] = d.String()
	}
	return p.WithStructure(lines), nil
}

// describe gives the description as the plugin wrote it.
func (g *Generator) describe(ctx context.Context, structure []schedule.Directive) ([]byte, error) {
	s, err := g.start(ctx, hello{Mode: "describe", Structure: structure})
	if err != nil {
		return nil, err
	}
	defer s.close()
	a, err := s.expect("description")
	if err != nil {
		return nil, err
	}
	return a.Pipeline, nil
}

// OwnSchedule is a Generator's hand-written schedule as directives. Where Halide
// can say more than directives can, Complete is false and Notes tell what is
// missing.
type OwnSchedule struct {
	Schedule schedule.Schedule
	Complete bool
	Notes    []string
}

// Own reads the hand-written schedule.
func (g *Generator) Own(ctx context.Context) (*OwnSchedule, error) {
	s, err := g.start(ctx, hello{Mode: "own"})
	if err != nil {
		return nil, err
	}
	defer s.close()
	a, err := s.expect("own")
	if err != nil {
		return nil, err
	}
	return &OwnSchedule{schedule.Schedule{Directives: a.Directives}, a.Complete, a.Notes}, nil
}

// Emission is a set of files a Generator writes: Halide's own -e words, the folder
// and the function's name (-f).
type Emission struct {
	Dir      string
	Function string   // with namespaces where the target mangles names
	Outputs  []string // static_library, c_header, schedule, registration, ...
	Env      []string // NAME=VALUE, for what an autoscheduler of Halide's takes no parameter for
}

func (e Emission) arguments() []string {
	return []string{"-o", e.Dir, "-f", e.Function, "-n", WithoutNamespaces(e.Function), "-e", strings.Join(e.Outputs, ",")}
}

// WithoutNamespaces is what the files of a function are called, and its name where names are
// not mangled.
func WithoutNamespaces(function string) string {
	return function[strings.LastIndex(function, ":")+1:]
}

var functionName = regexp.MustCompile(`^[A-Za-z_]\w*(::[A-Za-z_]\w*)*$`)

// CheckFunction says whether the Generator can write a function of that name.
func (g *Generator) CheckFunction(name string) error {
	const mangling = "c_plus_plus_name_mangling"
	if !functionName.MatchString(name) {
		return fmt.Errorf("%q is no name of a function in C++", name)
	}
	if name != WithoutNamespaces(name) && !slices.Contains(strings.Split(g.Target(), "-"), mangling) {
		return fmt.Errorf("namespaces take a target with %s: add target=%s-%[1]s", mangling, g.Target())
	}
	return nil
}

// unknownOutput is what Halide says of a -e word that it does not know, and of those it does.
var unknownOutput = regexp.MustCompile(`Unrecognized emit option: (.*?) is not one of \[([^\]]*)\]`)

// CheckOutputs says whether Halide knows these -e words; nothing is written. The error names
// one that it does not know and all that it does.
func (g *Generator) CheckOutputs(ctx context.Context, words []string) error {
	s, err := g.start(ctx, hello{Mode: "describe"}, "-e", strings.Join(words, ","), "-o", os.TempDir())
	if err == nil {
		_, err = s.expect("description")
		s.close()
	}
	var says *GeneratorError
	if errors.As(err, &says) {
		if m := unknownOutput.FindStringSubmatch(says.Words); m != nil {
			return fmt.Errorf("Halide %s writes no %q; choose of %s", g.Toolchain.Halide.Version, m[1], strings.Join(strings.Fields(m[2]), ", "))
		}
	}
	return err
}

// Apply lets Halide write a build with the schedule; source is the text of its
// .schedule.h.
func (g *Generator) Apply(ctx context.Context, s schedule.Schedule, source string, e Emission) error {
	session, err := g.start(ctx, hello{Mode: "apply", Directives: s.Directives, ScheduleSource: source}, e.arguments()...)
	if err != nil {
		return err
	}
	if _, err := session.expect("applied"); err != nil {
		return err
	}
	if err := session.finish(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &GeneratorError{Reason: ending(err), Words: session.words.String(), Killed: killed(err)}
	}
	return nil
}

// Emit lets the Generator write a build with another autoscheduler (a name of
// Halide.Plugins, with its parameters), or with its hand-written schedule where
// the name is empty. Errors are *LimitError or *GeneratorError.
func (g *Generator) Emit(ctx context.Context, autoscheduler string, params []Param, limits Limits, e Emission) error {
	var extra []string
	if autoscheduler != "" {
		plugin, ok := g.Toolchain.Halide.Plugins[strings.ToLower(autoscheduler)]
		if !ok {
			return fmt.Errorf("Halide %s at %s has no autoscheduler %s", g.Toolchain.Halide.Version, g.Toolchain.Halide.Root, autoscheduler)
		}
		extra = []string{"-p", plugin, "autoscheduler=" + registeredName(autoscheduler)}
		for _, p := range params {
			extra = append(extra, "autoscheduler."+p.Name+"="+p.Value)
		}
	}
	words := new(tail)
	cmd := g.program(context.WithoutCancel(ctx), g.arguments(e.arguments(), extra...)) // runLimited ends it
	cmd.Env = append(g.env(), e.Env...)
	cmd.Stdout, cmd.Stderr = words, words
	err := runLimited(ctx, cmd, limits)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &GeneratorError{Reason: exit.ProcessState.String(), Words: words.String(), Killed: killed(err)}
	}
	return err
}

// registeredName is how Halide's own plugins register themselves.
func registeredName(autoscheduler string) string {
	name := strings.ToLower(autoscheduler)
	return strings.ToUpper(name[:1]) + name[1:]
}

// Package command evaluates configurations by running a program for each: it
// hands the configuration over as arguments, environment or JSON on standard
// input, and reads the objective from standard output. A program that fails,
// hangs, floods or leaves children behind costs one trial, never the search.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
)

// Options say how a program is run.
type Options struct {
	// Args is the program and its arguments; {name} in them stands for the
	// value of a parameter ({{ and }} for braces), {config} for the whole
	// configuration as JSON, {id} for the number of the trial. Required.
	Args []string
	// Build, when not empty, is run before Args with the same placeholders. It
	// may run at the same time as those of other trials, Args may not.
	Build []string
	// Env adds a variable for each parameter: Env followed by the name, as
	// given, with - turned into _.
	Env string
	// Stdin sends the configuration as one line of JSON.
	Stdin bool
	// Dir is where the programs run; default: the current folder.
	Dir string
	// Limit is the longest Args may run, BuildLimit Build; default 10 minutes.
	Limit, BuildLimit time.Duration
	// Field is the member of a JSON result that holds the objective, besides
	// "value". FeasibleField, besides "feasible", says whether it was feasible,
	// by the text FeasibleTrue (default "true", in any case).
	Field, FeasibleField, FeasibleTrue string
}

const (
	defaultLimit = 10 * time.Minute
	keptOutput   = 1 << 20 // bytes of each stream that are kept, from its end
	grace        = 2 * time.Second
)

// Evaluator runs programs. It implements bayes.Evaluator and bayes.Preparer.
type Evaluator struct{ o Options }

// New checks the options against the space the configurations come from: the
// program must exist and every placeholder must name a parameter.
func New(o Options, sp *space.Space) (*Evaluator, error) {
	if len(o.Args) == 0 {
		return nil, errors.New("no command was given to evaluate configurations with")
	}
	if o.Limit < 0 || o.BuildLimit < 0 {
		return nil, errors.New("a time limit cannot be negative")
	}
	if o.Limit == 0 {
		o.Limit = defaultLimit
	}
	if o.BuildLimit == 0 {
		o.BuildLimit = defaultLimit
	}
	if o.FeasibleTrue == "" {
		o.FeasibleTrue = "true"
	}
	params := map[string]bool{}
	variables := map[string]string{} // the parameter that each is of
	for _, p := range sp.Params() {
		params[p.Name] = true
		variable := o.variable(p.Name)
		if other, taken := variables[variable]; taken && o.Env != "" {
			return nil, fmt.Errorf("command: the parameters %s and %s would both be the variable %s; give one another name", other, p.Name, variable)
		}
		variables[variable] = p.Name
	}
	for _, args := range [][]string{o.Args, o.Build} {
		for _, a := range args {
			for _, name := range placeholders(a) {
				switch own := name == "config" || name == "id"; {
				case own && params[name]:
					return nil, fmt.Errorf("command: {%s} could be the parameter %s or the trial's own; give the parameter another name", name, name)
				case !own && !params[name]:
					return nil, fmt.Errorf("command: {%s} in %q names no parameter", name, a)
				}
			}
		}
		if len(args) > 0 && len(placeholders(args[0])) == 0 {
			if err := executable(args[0], o.Dir); err != nil {
				return nil, fmt.Errorf("command: %w", err)
			}
		}
	}
	return &Evaluator{o}, nil
}

func executable(name, dir string) error {
	if dir != "" && strings.Contains(name, "/") && !strings.HasPrefix(name, "/") {
		name = dir + "/" + name
	}
	_, err := exec.LookPath(name)
	return err
}

var placeholder = regexp.MustCompile(`\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_-]*)\}`)

func placeholders(s string) []string {
	var out []string
	for _, m := range placeholder.FindAllStringSubmatch(s, -1) {
		if m[1] != "" {
			out = append(out, m[1])
		}
	}
	return out
}

// expand fills the placeholders of one argument.
func expand(s string, t bayes.Trial, config []byte) string {
	return placeholder.ReplaceAllStringFunc(s, func(m string) string {
		switch name := strings.Trim(m, "{}"); {
		case m == "{{":
			return "{"
		case m == "}}":
			return "}"
		case name == "config":
			return string(config)
		case name == "id":
			return fmt.Sprint(t.ID)
		default:
			return t.Config.Text(name)
		}
	})
}

// Prepare runs Build. Its outcome is OK, without a value, when there is
// nothing against going on.
func (e *Evaluator) Prepare(ctx context.Context, t bayes.Trial) bayes.Outcome {
	if len(e.o.Build) == 0 {
		return bayes.Outcome{Status: bayes.OK}
	}
	_, o := e.run(ctx, e.o.Build, e.o.BuildLimit, t)
	return o
}

// Evaluate runs Args and reads its result.
func (e *Evaluator) Evaluate(ctx context.Context, t bayes.Trial) bayes.Outcome {
	out, o := e.run(ctx, e.o.Args, e.o.Limit, t)
	if o.Status != bayes.OK {
		return o
	}
	elapsed := o.Elapsed
	o = e.parse(out)
	o.Elapsed = elapsed
	return o
}

// Command is a command with its arguments that runs the program as Evaluate does for the
// trial: by env(1) where parameters are in its environment, and by sh(1) where the
// configuration is its standard input.
func (e *Evaluator) Command(t bayes.Trial) ([]string, error) {
	full, err := fill(e.o.Args, t)
	if err != nil {
		return nil, err
	}
	if variables := e.environment(t); len(variables) > 0 {
		full = slices.Concat([]string{"env"}, variables, full)
	}
	if e.o.Stdin {
		config, err := t.Config.MarshalJSON()
		if err != nil {
			return nil, err
		}
		full = append([]string{"sh", "-c", `config=$1; shift; printf '%s\n' "$config" | "$@"`, "sh", string(config)}, full...)
	}
	return full, nil
}

// variable is the environment variable of a parameter.
func (o *Options) variable(name string) string { return o.Env + strings.ReplaceAll(name, "-", "_") }

// environment is what Env adds for a trial.
func (e *Evaluator) environment(t bayes.Trial) []string {
	if e.o.Env == "" {
		return nil
	}
	var out []string
	for _, p := range t.Config.Space().Params() {
		out = append(out, e.o.variable(p.Name)+"="+t.Config.Text(p.Name))
	}
	return out
}

// fill fills the placeholders of all arguments.
func fill(args []string, t bayes.Trial) ([]string, error) {
	config, err := t.Config.MarshalJSON()
	if err != nil {
		return nil, err
	}
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = expand(a, t, config)
	}
	return out, nil
}

func (e *Evaluator) run(ctx context.Context, args []string, limit time.Duration, t bayes.Trial) ([]byte, bayes.Outcome) {
	full, err := fill(args, t)
	if err != nil {
		return nil, bayes.Failure(bayes.Lost, err.Error())
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, full[0], full[1:]...)
	cmd.Dir = e.o.Dir
	cmd.Env = append(os.Environ(), e.environment(t)...)
	if e.o.Stdin {
		config, err := t.Config.MarshalJSON()
		if err != nil {
			return nil, bayes.Failure(bayes.Lost, err.Error())
		}
		cmd.Stdin = bytes.NewReader(append(config, '\n'))
	}
	var stdout, stderr tail
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// The program leads its own process group, which is killed as a whole:
	// when it exceeds its time, when we are interrupted, and in any case after
	// it ended, so that nothing it left behind disturbs the next trial. A terminal that
	// hangs up does not reach it there, so it dies with us where the system can see to that.
	cmd.SysProcAttr = attributes()
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = kill
	cmd.WaitDelay = grace
	// The kernel takes us for dead once the thread that started the program ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := time.Now()
	err = cmd.Run()
	if cmd.Process != nil {
		_ = kill() // ESRCH when the group is empty, as it should be
	}
	return stdout.bytes(), verdict(ctx, limited, err, &stderr, limit, time.Since(began))
}

func verdict(ctx, limited context.Context, err error, stderr *tail, limit, elapsed time.Duration) bayes.Outcome {
	o := bayes.Outcome{Status: bayes.OK, Elapsed: elapsed}
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		// A child of the program kept the pipes open; the program itself ended well.
		return o
	case ctx.Err() != nil:
		o.Status, o.Message = bayes.Lost, "interrupted"
	case limited.Err() != nil:
		o.Status, o.Message = bayes.TimedOut, fmt.Sprintf("killed after %v", limit)
	case errors.As(err, &exit):
		o.Status, o.Message = bayes.Crashed, exit.String()
		if line := stderr.telling(); line != "" {
			o.Message += ": " + line
		}
	default: // it did not start
		o.Status, o.Message = bayes.Lost, err.Error()
	}
	return o
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > keptOutput {
		p = p[len(p)-keptOutput:]
	}
	if len(t.b)+len(p) > 2*keptOutput {
		t.b = append(t.b[:0], t.b[len(t.b)-keptOutput:]...)
	}
	t.b = append(t.b, p...)
	return n, nil
}

func (t *tail) bytes() []byte { return t.b[max(0, len(t.b)-keptOutput):] }

// telling returns the first line that names an error, as compilers do, else the last
// one that is not blank; at most 200 bytes of it.
func (t *tail) telling() string {
	lines := strings.Split(strings.TrimSpace(string(t.bytes())), "\n")
	line := lines[len(lines)-1]
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "error: ") }); i >= 0 {
		line = lines[i]
	}
	line = strings.ToValidUTF8(strings.TrimSpace(line), "?")
	return line[:min(len(line), 200)]
}

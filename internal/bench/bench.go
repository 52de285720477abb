// Package bench compares methods of scheduling on a suite of applications: every
// method makes its schedule within the same budget, what was made is built ahead of
// time, checked against one reference and raced together in fresh processes. All of
// it is stored as it comes, so that a run goes on where it was stopped.
package bench

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tune"
)

// Options say what is compared and how. They are stored with the run, which goes on
// only under the same ones, but for more applications and methods.
type Options struct {
	Apps    []string `json:"apps"`
	Methods []string `json:"methods"` // docs/bench.md lists them; one given twice is raced against itself
	// Budget is what each method that searches for as long as it may has for an
	// application. Default 5 minutes.
	Budget time.Duration `json:"budget_ns"`
	// PeerTime and PeerMemory bound a scheduler that ends by itself (Adams2019's beam,
	// say), for an application or, where it is scheduled part by part, for each part.
	// Defaults: the budget, which parts share, and 6 GiB.
	PeerTime   time.Duration `json:"peer_time_ns"`
	PeerMemory int64         `json:"peer_memory"`
	// Divide is what all times that a method is given are divided by: the budget, the
	// peers', and the time per root of ProTuner's configurations. 1 to 10. Default 1.
	Divide float64 `json:"divide"`
	// Repeat is how many seeds each method that draws at random has; the fastest counts,
	// as in ProTuner's section 5. Default 1.
	Repeat int   `json:"repeat"`
	Seed   int64 `json:"seed"` // the first of them. Default 1
	// Layers, if above 0, bounds the parts of an application that is scheduled part by
	// part (resnet50) to those that occur most often.
	Layers int `json:"layers,omitempty"`
	// MinRounds, MaxRounds and RaceTime bound the race of a part. Defaults 10, 30, 1 minute.
	MinRounds int           `json:"min_rounds"`
	MaxRounds int           `json:"max_rounds"`
	RaceTime  time.Duration `json:"race_time_ns"`
	// Finalists are raced inside a search that measures, before its winner is named.
	// Default 5.
	Finalists int `json:"finalists"`
	// Threads is HL_NUM_THREADS. Default the number of processors.
	Threads int `json:"threads"`

	// AppsDir holds the applications. Default apps.
	AppsDir string `json:"-"`
	// Out is the folder that everything goes to: bench.db, builds, reports.
	Out string `json:"-"`
	// HalideDir names an installation of Halide. Default the usual places.
	HalideDir string `json:"-"`
	// Weights are the model's. Default those in Halide's Adams2019 plugin.
	Weights string `json:"weights,omitempty"`
}

// Defaults are the documented defaults.
func Defaults() Options {
	return Options{
		Apps: slices.Clone(Suite), Methods: []string{"protuner", "adams2019:beam", "expert", "mullapudi2016"},
		Budget: 5 * time.Minute, PeerMemory: 6 << 30, Divide: 1, Repeat: 1, Seed: 1, MinRounds: 10, MaxRounds: 30, RaceTime: time.Minute,
		Finalists: tune.Defaults().Finalists, Threads: runtime.NumCPU(), AppsDir: "apps",
	}
}

// mostDivided is the largest factor that times may be divided by and still be called a
// reproduction.
const mostDivided = 10

// Validate names the first option that makes no sense and how to mend it.
func (o Options) Validate() error {
	switch {
	case len(o.Apps) == 0:
		return errors.New("no application was named; give --apps, or all")
	case len(o.Methods) == 0:
		return errors.New("no method was named; give --methods")
	case o.Budget <= 0:
		return fmt.Errorf("a budget of %v leaves no time to search; give a positive one, such as --budget 5m", o.Budget)
	case o.PeerTime < 0 || o.PeerMemory <= 0:
		return errors.New("the limits of other schedulers must be positive")
	case !(o.Divide >= 1 && o.Divide <= mostDivided):
		return fmt.Errorf("times can be divided by 1 to %d, not by %g", mostDivided, o.Divide)
	case o.Repeat < 1:
		return fmt.Errorf("%d seeds are none; give at least 1", o.Repeat)
	case o.Layers < 0:
		return fmt.Errorf("%d layers cannot be; give a positive number, or 0 for all", o.Layers)
	case o.MinRounds < 1 || o.MaxRounds < o.MinRounds || o.RaceTime <= 0:
		return fmt.Errorf("between %d and %d rounds within %v are no race", o.MinRounds, o.MaxRounds, o.RaceTime)
	case o.Finalists < 1:
		return fmt.Errorf("%d finalists leave no winner; give at least 1", o.Finalists)
	case o.Threads < 1:
		return fmt.Errorf("%d threads cannot run anything; give at least 1", o.Threads)
	case o.Out == "":
		return errors.New("no folder for the results was named; give one with --out")
	}
	return nil
}

// divided is a time that a method is given.
func (o Options) divided(d time.Duration) time.Duration { return time.Duration(float64(d) / o.Divide) }

// leastBudget is what a part of an application is searched for at least, however many
// parts share the budget.
const leastBudget = 10 * time.Second

func (o Options) budget(p *part) time.Duration {
	return max(o.divided(o.Budget)/time.Duration(p.of), min(leastBudget, o.divided(o.Budget)))
}

// peerLimits bound a scheduler that ends by itself. A limit that was given is a guard
// and not a budget: each part has all of it.
func (o Options) peerLimits(p *part) bridge.Limits {
	limit := o.budget(p)
	if o.PeerTime > 0 {
		limit = o.divided(o.PeerTime)
	}
	return bridge.Limits{Time: limit, Memory: o.PeerMemory}
}

// repeats is how many seeds a method has.
func (o Options) repeats(m method) int {
	if m.random {
		return o.Repeat
	}
	return 1
}

// Known drops applications and methods that there are none of, or that cannot be read, and
// says why of each.
func (o Options) Known() (Options, []error) {
	var out []error
	there := func(names []string, find func(name string) error) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			err := find(name)
			if err != nil {
				out = append(out, err)
			}
			return err != nil
		})
	}
	o.Apps = there(o.Apps, func(name string) error {
		if name == "all" {
			return nil
		}
		_, err := parts(o.AppsDir, name, o.Layers)
		return err
	})
	o.Methods = there(o.Methods, func(name string) error {
		_, err := parseMethod(name)
		return err
	})
	return o, out
}

// expand replaces all and returns what is run; the error names an application that is
// not there.
func (o Options) expand() ([]*part, error) {
	var names []string
	for _, a := range o.Apps {
		if a == "all" {
			names = append(names, Suite...)
		} else {
			names = append(names, a)
		}
	}
	var out []*part
	var had []string
	for _, name := range names {
		if slices.Contains(had, name) {
			continue
		}
		had = append(had, name)
		ps, err := parts(o.AppsDir, name, o.Layers)
		if err != nil {
			return nil, err
		}
		for _, p := range ps {
			p.options.HalideDir, p.options.Threads = o.HalideDir, o.Threads
		}
		out = append(out, ps...)
	}
	return out, nil
}

// Manifest is what a run can be repeated from.
type Manifest struct {
	Options  Options `json:"options"`
	Profile  string  `json:"profile,omitempty"`
	Command  string  `json:"command"`
	Program  string  `json:"program"` // version of protuner
	CPU      string  `json:"cpu"`
	Host     string  `json:"host"`
	Governor string  `json:"governor,omitempty"`
	SMT      string  `json:"smt,omitempty"`
	Halide   string  `json:"halide"`
	// HalideBuild tells apart libraries of one version; empty where the run is older than that.
	HalideBuild string `json:"halide_build,omitempty"`
	// WeightsHash is the SHA-256 of the file that Options.Weights names.
	WeightsHash string  `json:"weights_sha256,omitempty"`
	Parts       []Part  `json:"parts"`   // that are to be raced, in order
	Entries     []Entry `json:"entries"` // that are to be made of each
}

// Part is an application, or one of those that it is made of.
type Part struct {
	App   string `json:"app"`
	Name  string `json:"name,omitempty"`
	Times int    `json:"times"` // how often it occurs
	// Source tells the application's files from those of another time; empty where the run
	// is older than that.
	Source string `json:"source,omitempty"`
}

// Entry is a method and how many seeds it has.
type Entry struct {
	Method  string `json:"method"`
	Repeats int    `json:"repeats"`
}

func newManifest(o Options, h *bridge.Halide, ps []*part, methods []method, profile, command string) Manifest {
	m := Manifest{
		Options: o, Profile: profile, Command: command, Program: tune.Program(), CPU: tune.CPUModel(),
		Host:     fmt.Sprintf("%d processors", runtime.NumCPU()),
		Governor: tune.Governor(),
		SMT:      tune.SMT(), Halide: h.Version, HalideBuild: h.Build,
	}
	for _, p := range ps {
		m.Parts = append(m.Parts, Part{p.app, p.name, p.times, p.source})
	}
	for _, method := range methods {
		m.Entries = append(m.Entries, Entry{method.name, o.repeats(method)})
	}
	return m
}

// changed lists the applications of m whose files are others in n, as far as both know them.
func (m Manifest) changed(n Manifest) (apps []string) {
	for _, p := range m.Parts {
		other := slices.ContainsFunc(n.Parts, func(q Part) bool {
			return q.App == p.App && q.Source != p.Source && q.Source != "" && p.Source != ""
		})
		if other && !slices.Contains(apps, p.App) {
			apps = append(apps, p.App)
		}
	}
	return apps
}

// DBFile is the database in a run's folder.
func DBFile(dir string) string { return filepath.Join(dir, "bench.db") }

// A UsageError is the user's to mend: what was asked for cannot be.
type UsageError struct{ error }

func (e *UsageError) Unwrap() error { return e.error }

// LeftOut is the error of a run that did all it could: it was to have applications or methods
// besides that there are none of.
type LeftOut struct{ Why []error }

func (e *LeftOut) Error() string { return oneLine(e.Why) + "; the rest of the run is there" }

func oneLine(errs []error) string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Error())
	}
	return strings.Join(out, "; ")
}

// Events tell how a run goes. Any may be nil; calls do not overlap.
type Events struct {
	// Begun tells what is being done: an application and, where it is about one, a method.
	Begun func(what, how string)
	// Made tells how an entry went.
	Made func(e Made)
	// Note says something a user should know.
	Note func(text string)
}

// Made is an entry as it is told of.
type Made struct {
	Part, Method string
	Repeat       int
	Took         time.Duration
	Status       measure.Status
	Message      string
}

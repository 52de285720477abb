// Package tune is the loop that joins the rooms: it describes a pipeline, lets a
// search propose schedules, measures them, keeps every measurement and hands back
// the winner, raced against the baselines.
package tune

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/search"
)

// Options say what is tuned and how.
type Options struct {
	Generator bridge.Options

	// Search names the strategy: a measured one (search.Names), or one guided by the
	// model (search.SearcherNames), whose finds are measured first and then evolved.
	// Default protuner; where no weights are installed, evolve.
	Search string
	// Weights is the model's .weights file. Default those inside the installed
	// Adams2019 plugin.
	Weights string
	// Judge has what was measured decide which changes are worth measuring, where the
	// search asks the model. Default true.
	Judge bool
	// Restructure also tries schedules that factor reductions (rfactor), so that these
	// can be vectorised or run in parallel, clone cheap Funcs (clone_in), and copy inputs
	// that are read over and over (in). Default true.
	Restructure bool
	// Specialize also tries schedules with a second version for exactly the estimated sizes,
	// where a pipeline can have one. Default true.
	Specialize bool
	// Polish optimises the numbers of the fastest schedule (factors, numbers of tasks) by
	// Bayesian optimisation later in the budget, where the search asks the model. Default
	// true.
	Polish bool
	// Unmeasured hands back the model's best without timing anything; it is checked all
	// the same.
	Unmeasured bool
	// Budget is the time for proposing and measuring candidates; what comes before
	// (compiling the Generator, the reference) and after (baselines, the final race)
	// is not in it. Default 5 minutes.
	Budget time.Duration
	// Trials bounds the number of schedules measured under this workload's key,
	// counting those that earlier runs measured. 0: no bound.
	Trials int
	// Seed of everything random. Default 1.
	Seed int64

	// DB is the database's file. Default protuner.db.
	DB string
	// Out is the folder for the winner's files; empty: none are written.
	Out string
	// Function names the pipeline's function in them. Default the Generator's name.
	Function string
	// Emit are Halide's own -e words for what is written besides what Out always
	// holds (static_library, c_header, schedule, registration).
	Emit []string

	// Seeds are whose schedules the search begins with: own, a plugin of the installed
	// Halide, or earlier: what the database holds of the same Generator at other sizes or
	// with other parameters. The making of each is bounded by BaselineLimits and by an
	// eighth of the budget, which it is part of. None: it begins from nothing. Default all.
	Seeds []string

	// Baselines are raced against the winner: own, or a plugin of the installed
	// Halide (adams2019, mullapudi2016, li2018).
	Baselines []string
	// BaselineLimits bound the making of each. Defaults 2 minutes and 6 GiB.
	BaselineLimits bridge.Limits

	// Inputs override how inputs are filled, NAME=RULE.
	Inputs []string
	// Threads is HL_NUM_THREADS. Default the number of processors.
	Threads int
	// CandidateMemory bounds the address space of each candidate, besides its inputs and
	// outputs. Default 8 GiB.
	CandidateMemory int64
	// CandidateBuild bounds compiling each. Default 1 minute.
	CandidateBuild time.Duration
	// Protocol of measuring. Default measure.DefaultProtocol().
	Protocol measure.Protocol
	// Finalists is how many of the best are raced before the winner is named.
	// Default 5.
	Finalists int
}

// Defaults are the documented defaults.
func Defaults() Options {
	return Options{
		Search: "protuner", Judge: true, Restructure: true, Specialize: true, Polish: true, Budget: 5 * time.Minute, Seed: 1, DB: "protuner.db",
		Seeds:          append(slices.Clone(schedulers), earlier),
		Baselines:      []string{Own, adams2019, mullapudi2016},
		BaselineLimits: bridge.Limits{Time: 2 * time.Minute, Memory: 6 << 30},
		Threads:        runtime.NumCPU(), CandidateMemory: 8 << 30, CandidateBuild: time.Minute,
		Protocol: measure.DefaultProtocol(), Finalists: 5,
	}
}

// Own names the Generator's hand-written schedule where other schedules go by the plugin of
// Halide's that makes them.
const Own = "own"

const (
	adams2019     = "adams2019"
	mullapudi2016 = "mullapudi2016"
	li2018        = "li2018"
)

// schedulers are what a search can begin with and a winner can be raced against. A
// plugin that the installed Halide has not stands in the report with that as its reason.
var schedulers = []string{Own, adams2019, mullapudi2016, li2018}

// Schedulers lists the seeds that are no earlier finds, which are the baselines too.
func Schedulers() []string { return slices.Clone(schedulers) }

// Validate names the first option that makes no sense and how to mend it.
func (o Options) Validate() error {
	switch {
	case o.Generator.Path == "":
		return errors.New("no Generator was named; give its .cpp or its built program")
	case !slices.Contains(search.Names(), o.Search) && !o.asksModel():
		return fmt.Errorf("there is no search %q; choose one of %s", o.Search, strings.Join(append(search.Names(), search.SearcherNames()...), ", "))
	case o.Unmeasured && search.Measures(o.Search):
		return fmt.Errorf("%s measures at each root, which cannot be turned off; choose another --search, such as protuner", o.Search)
	case o.Unmeasured && !o.asksModel():
		return fmt.Errorf("without measuring only the model can tell schedules apart, and %s does not ask it; choose another --search, one of %s",
			o.Search, strings.Join(search.SearcherNames(), ", "))
	case o.Budget <= 0:
		return fmt.Errorf("a budget of %v leaves no time to measure anything; give a positive one, such as --budget 5m", o.Budget)
	case o.Trials < 0:
		return fmt.Errorf("%d trials cannot be; give a positive number, or 0 for no bound", o.Trials)
	case o.DB == "":
		return errors.New("the database has no name; give one with --db")
	case o.Threads < 1:
		return fmt.Errorf("%d threads cannot run anything; give at least 1", o.Threads)
	case o.Finalists < 1:
		return fmt.Errorf("%d finalists leave no winner; give at least 1", o.Finalists)
	case o.CandidateMemory < 0 || o.CandidateBuild <= 0:
		return errors.New("the limits of schedules must not be negative; 0 is for no limit on memory")
	case o.BaselineLimits.Time < 0 || o.BaselineLimits.Memory < 0:
		return errors.New("the limits of baselines must not be negative; 0 is for none")
	}
	for i, b := range o.Baselines {
		if !slices.Contains(schedulers, b) {
			return fmt.Errorf("there is no baseline %q; choose of %s", b, strings.Join(schedulers, ", "))
		}
		if slices.Contains(o.Baselines[:i], b) {
			return fmt.Errorf("the baseline %q is named twice and can be raced once; leave one out", b)
		}
	}
	for i, s := range o.Seeds {
		if s != earlier && !slices.Contains(schedulers, s) {
			return fmt.Errorf("there is no seed %q; choose of %s, %s, or none", s, strings.Join(schedulers, ", "), earlier)
		}
		if slices.Contains(o.Seeds[:i], s) {
			return fmt.Errorf("the seed %q is named twice and can be begun with once; leave one out", s)
		}
	}
	return o.Protocol.Validate()
}

// asksModel says whether the search is guided by the model.
func (o Options) asksModel() bool { return search.IsSearcher(o.Search) }

// Events tell how a run goes. Any function may be nil. They are called from one
// goroutine at a time and must not block.
type Events struct {
	// Phase begins: describing, reference, seeds, modelling, searching, checking, racing,
	// specializing, building, baselines, final race, writing.
	Phase func(name string)
	// Note says something a user should know, once.
	Note func(text string)
	// Measured is told of each candidate.
	Measured func(Progress)
	// Baseline tells how making one went; err is nil where it is there.
	Baseline func(name string, took time.Duration, err error)
	// Round of a race ended.
	Round func(done, most int)
}

// Progress is where the search stands.
type Progress struct {
	Status   measure.Status
	Origin   string
	Seconds  float64 // of this candidate, if it is ok
	Improved bool
	Best     float64 // seconds; 0 while there is none
	Done     int     // measured by this run
	Known    int     // taken from the database
	Failures map[measure.Status]int
	Elapsed  time.Duration
	Budget   time.Duration
	Trials   int
}

func (e Events) phase(name string) {
	if e.Phase != nil {
		e.Phase(name)
	}
}

func (e Events) note(format string, args ...any) {
	if e.Note != nil {
		e.Note(fmt.Sprintf(format, args...))
	}
}

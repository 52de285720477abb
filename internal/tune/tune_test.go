package tune

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
	"github.com/protuner/protuner/internal/tunedb"
)

func valid() Options {
	o := Defaults()
	o.Generator.Path = "f.cpp"
	return o
}

func TestOptionsAreValidated(t *testing.T) {
	if err := valid().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for want, spoil := range map[string]func(*Options){
		"no Generator was named":  func(o *Options) { o.Generator.Path = "" },
		"measures at each root":   func(o *Options) { o.Search, o.Unmeasured = "mcts_cost+real_1s", true },
		`no search "psychic"`:     func(o *Options) { o.Search = "psychic" },
		"a budget of 0s":          func(o *Options) { o.Budget = 0 },
		"-1 trials":               func(o *Options) { o.Trials = -1 },
		"the database has no":     func(o *Options) { o.DB = "" },
		"0 threads":               func(o *Options) { o.Threads = 0 },
		"0 finalists":             func(o *Options) { o.Finalists = 0 },
		"limits of schedules":     func(o *Options) { o.CandidateBuild = 0 },
		`no seed "adam"`:          func(o *Options) { o.Seeds = []string{"adam"} },
		`no baseline "adam"`:      func(o *Options) { o.Baselines = []string{Own, "adam"} },
		`baseline "own" is named`: func(o *Options) { o.Baselines = []string{Own, adams2019, Own} },
		`seed "earlier" is named`: func(o *Options) { o.Seeds = []string{earlier, Own, earlier} },
		"evolve does not ask it":  func(o *Options) { o.Search, o.Unmeasured = "evolve", true },
		"a tolerance is negative": func(o *Options) { o.Protocol.IntegerEvery = -1 },
	} {
		o := valid()
		spoil(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, s := range append(search.Names(), search.SearcherNames()...) {
		if o := valid(); o.Search != s {
			o.Search = s
			if err := o.Validate(); err != nil {
				t.Errorf("search %s: %v", s, err)
			}
		}
	}
}

// What cannot be is refused before a database is made.
func TestBadOptionsMakeNothing(t *testing.T) {
	o := valid()
	o.DB, o.Budget = filepath.Join(t.TempDir(), "new.db"), 0
	_, err := Run(t.Context(), o, Events{}, nil)
	var usage *UsageError
	if !errors.As(err, &usage) {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(o.DB + "*"); len(left) > 0 {
		t.Errorf("made %v", left)
	}
}

func TestStreamsAreTheirOwn(t *testing.T) {
	draw := func(seed int64, name string) int64 { return Stream(seed, name).Int63() }
	if first, again := draw(1, "a"), draw(1, "a"); first != again {
		t.Error("one stream gives two numbers")
	}
	seen := []int64{draw(1, "a"), draw(2, "a"), draw(1, "b"), draw(11, "a"), draw(1, "1/a")}
	slices.Sort(seen)
	if len(slices.Compact(seen)) != 5 {
		t.Error("two streams are one")
	}
}

func TestLanesAreOrdered(t *testing.T) {
	laps := func(ds ...time.Duration) []time.Duration { return ds }
	lanes := []measure.Lane{
		{Laps: laps(1, 1), Failure: errors.New("wrong")},
		{Laps: laps(2), Dropped: true},
		{Laps: laps(9, 5)},
		{Laps: laps(4, 8)},
		{Laps: laps(3), Dropped: true},
	}
	order := []int{0, 1, 2, 3, 4}
	slices.SortStableFunc(order, func(a, b int) int { return compareLanes(lanes[a], lanes[b]) })
	if !slices.Equal(order, []int{3, 2, 1, 4, 0}) {
		t.Errorf("order %v", order)
	}
}

func TestFailuresOfBaselinesAreSaid(t *testing.T) {
	for want, err := range map[string]error{
		"stopped at its limit of 2m0s of time": &bridge.LimitError{Limit: "time", Value: "2m0s"},
		"killed by the system, as where memory runs out; give --baseline-memory less than this machine has": &bridge.GeneratorError{Reason: "signal: killed", Killed: true},
		"its scheduler failed: signal: aborted: lines":                                                      &bridge.GeneratorError{Reason: "signal: aborted", Words: "many\nlines\n"},
		"Halide 21.0.0 at /usr has no autoscheduler li2018":                                                 errors.New("Halide 21.0.0 at /usr has no autoscheduler li2018"),
	} {
		if got := failureText(err); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A stop before anything was measured is an interruption, not a failure.
func TestStoppedWithNothingFound(t *testing.T) {
	stop := make(chan struct{})
	tuner := &tuner{o: valid(), report: &Report{}}
	if err := tuner.finish(t.Context(), stop); !errors.Is(err, ErrNothingWorked) {
		t.Errorf("without a stop: %v", err)
	}
	close(stop)
	if err := tuner.finish(t.Context(), stop); !errors.Is(err, ErrInterrupted) {
		t.Errorf("stopped: %v", err)
	}
}

// numbered is a schedule that only its number tells from the others.
func numbered(n int) schedule.Schedule {
	return schedule.Schedule{Directives: []schedule.Directive{{Op: schedule.BoundExtent, Func: "f", Vars: []string{"x"}, Ints: []int64{int64(n)}}}}
}

func TestRankingKeepsTheFastestFirst(t *testing.T) {
	tuner := &tuner{o: valid(), report: &Report{}}
	tuner.o.Finalists = 2
	for i, seconds := range []float64{3, 1, 2, 5} {
		s := numbered(i + 1)
		o := search.Outcome{Candidate: search.Candidate{Schedule: s, Hash: s.Hash()}, OK: i != 3, Seconds: seconds}
		if err := tuner.learn(deaf{}, o); err != nil {
			t.Fatal(err)
		}
	}
	if len(tuner.best) != 3 || tuner.best[0].seconds != 1 || tuner.best[2].seconds != 3 {
		t.Errorf("ranked %+v", tuner.best)
	}
	if f := tuner.finalists(); len(f) != 2 || f[0].Directives[0].Ints[0] != 2 || f[1].Directives[0].Ints[0] != 3 {
		t.Errorf("finalists %v", f)
	}
}

// Of what is ranked the decisions are kept, and not the state that they led to.
func TestRankingKeepsNoStates(t *testing.T) {
	sp := spacetest.New(t, pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	c := search.NewCandidate(drawn(sp, 1), "random")
	u := &tuner{o: valid()}
	if err := u.learn(deaf{}, search.Outcome{Candidate: c, OK: true, Seconds: 1}); err != nil {
		t.Fatal(err)
	}
	r, known := u.foundAs(c.Schedule)
	if !known || r.candidate.State != nil || r.decisions != c.Decisions() || r.decisions == "" {
		t.Errorf("known %t, with a state %t, by the decisions\n%s", known, r.candidate.State != nil, r.decisions)
	}
}

// Of a large database all is gone through, in order, unless the context ends meanwhile.
func TestPartsEndWithTheContext(t *testing.T) {
	all := make([]int, 2*atOnce+1)
	for i := range all {
		all[i] = i
	}
	var seen []int
	if err := inParts(t.Context(), all, func(some []int) error { seen = append(seen, some...); return nil }); err != nil || !slices.Equal(seen, all) {
		t.Errorf("%v after %v", err, seen)
	}
	parts := 0
	ctx, cancel := context.WithCancel(t.Context())
	if err := inParts(ctx, all, func([]int) error { parts++; cancel(); return nil }); !errors.Is(err, context.Canceled) || parts != 1 {
		t.Errorf("%v after %d parts", err, parts)
	}
	if err := inParts(t.Context(), all, func([]int) error { parts++; return errLate }); !errors.Is(err, errLate) || parts != 2 {
		t.Errorf("%v after %d parts", err, parts-1)
	}
}

// withVersion is the same with a version for the estimated sizes.
func withVersion(n int) schedule.Schedule {
	version := schedule.Directive{Op: schedule.Specialize, Func: "f", Vars: []string{"x"}, Ints: []int64{0, int64(n), 0}}
	return schedule.Schedule{Directives: append(numbered(n).Directives, version)}
}

// A winner that got or lost its version for the estimated sizes is said to be what was
// measured the other way; one that was measured itself is that.
func TestWinnersAreKnownWithAndWithoutVersions(t *testing.T) {
	tuner := &tuner{o: valid(), report: &Report{}}
	for i, s := range []schedule.Schedule{withVersion(1), numbered(2), numbered(1)} {
		o := search.Outcome{Candidate: search.Candidate{Schedule: s, Hash: s.Hash()}, OK: true, Seconds: float64(i + 1)}
		if err := tuner.learn(deaf{}, o); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		s       schedule.Schedule
		seconds float64
	}{{withVersion(1), 1}, {numbered(1), 3}, {numbered(2), 2}, {withVersion(2), 2}, {numbered(3), 0}} {
		if r, ok := tuner.foundAs(c.s); ok != (c.seconds > 0) || r.seconds != c.seconds {
			t.Errorf("%s was found with %v s, want %v", c.s, r.seconds, c.seconds)
		}
	}
	tuner.best = tuner.best[:1]
	if r, ok := tuner.foundAs(numbered(1)); !ok || r.seconds != 1 {
		t.Errorf("without its version: %v s", r.seconds)
	}
}

// What sets Halide to build schedules that it refuses is said once.
func TestRefusedUnrollsAreSaidOnce(t *testing.T) {
	_, r := recorder(t)
	var said []string
	u := &tuner{o: valid(), recorder: r, report: &Report{Failures: map[measure.Status]int{}}}
	u.events.Note = func(text string) { said = append(said, text) }
	for i, message := range []string{"no loop x", "Can only unroll for loops over a constant extent.", "Can only unroll for loops over a constant extent."} {
		s := numbered(i + 1)
		m := measured{search.Candidate{Schedule: s, Hash: s.Hash()}, measure.Result{Status: measure.BuildFailed, Message: message}, nil}
		if err := u.take(t.Context(), deaf{}, m); err != nil {
			t.Fatal(err)
		}
		if want := min(i, 1); len(said) != want {
			t.Errorf("after %d: %q", i+1, said)
		}
	}
	if len(said) > 0 && !strings.Contains(said[0], "set HL_PERMIT_FAILED_UNROLL=1") {
		t.Errorf("said %q", said[0])
	}
}

// Where the fork server was killed the search ends and says where it can go on, in place of
// going through its budget with candidates that nobody measures, or of finishing as if none of
// the best could be built.
func TestServerIsGone(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
	u := served(t, bridge.Options{Path: "../../apps/softmax/softmax_generator.cpp"})
	u.o.DB = "kept.db"
	if err := u.server.Ended(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(u.server.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for u.server.Ended() == nil { // it is noticed as soon as the pipe from it ends
		time.Sleep(time.Millisecond)
	}
	r, err := u.screener().Measure(t.Context(), schedule.Schedule{})
	if err != nil {
		t.Fatal(err)
	}
	taken := u.take(t.Context(), deaf{}, measured{result: r})
	finalists := []schedule.Schedule{{}}
	_, raced := u.raceFinalists(t.Context(), finalists)
	_, built := u.buildWinner(t.Context(), finalists, t.TempDir())
	for what, err := range map[string]error{"taken": taken, "raced": raced, "built": built} {
		if err == nil || !strings.Contains(err.Error(), "fork server ended") || !strings.Contains(err.Error(), u.o.DB) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// deaf is a strategy that learns nothing.
type deaf struct{ search.Strategy }

func (deaf) Observe([]search.Outcome) error { return nil }

// A build may take longer while all of them took too long, or all that the model found,
// and no longer once one worked.
func TestBuildsGetLongerUntilOneWorks(t *testing.T) {
	u := &tuner{o: valid(), ref: &bridge.Reference{}}
	u.o.Budget, u.o.CandidateBuild = 20*time.Second, time.Minute
	found, other := u.tallyOf(search.Candidate{Origin: u.o.Search}), u.tallyOf(search.Candidate{Origin: "mutate"})
	short := u.buildLimit()
	for _, c := range []struct {
		what  string
		then  func()
		limit time.Duration
	}{
		{"after as many that took too long as patience lasts", func() { found.late.Store(1); other.late.Store(patience - 1) }, 2 * short},
		{"after a thousand", func() { other.late.Store(1000) }, u.o.CandidateBuild},
		{"once one worked that the model did not find", func() { other.worked.Store(true) }, short},
		{"where all that the model found took too long", func() { found.late.Store(patience) }, 2 * short},
		{"once one of those worked", func() { found.worked.Store(true) }, short},
	} {
		if c.then(); u.buildLimit() != c.limit {
			t.Errorf("%s: %v, not %v", c.what, u.buildLimit(), c.limit)
		}
	}
}

// Where the machine is slow to compile the plainest schedule, it may take longer for all.
func TestBuildsAreBoundedByThePlainest(t *testing.T) {
	u := &tuner{o: valid(), ref: &bridge.Reference{Lower: leastBuild / 5, Link: leastBuild / 5}}
	u.o.Budget, u.o.CandidateBuild = 20*time.Second, time.Minute
	if got := u.buildLimit(); got != 2*leastBuild {
		t.Errorf("%v where the plainest takes %v", got, u.ref.Lower+u.ref.Link)
	}
	u.o.CandidateBuild = leastBuild / 2
	if got := u.buildLimit(); got != u.o.CandidateBuild {
		t.Errorf("%v where %v is the most", got, u.o.CandidateBuild)
	}
}

// A build may take several times as long as others did, within its share of the budget.
func TestBuildsAreBoundedByOthers(t *testing.T) {
	u := &tuner{o: valid(), ref: &bridge.Reference{}}
	u.o.Budget, u.o.CandidateBuild = 400*time.Second, time.Minute
	u.found.worked.Store(true)
	for _, c := range []struct{ build, limit time.Duration }{
		{0, 50 * time.Second}, {time.Second, leastBuild}, {8 * time.Second, 32 * time.Second},
		{time.Second, 32 * time.Second}, {time.Second, 32 * time.Second}, {time.Second, leastBuild}, {30 * time.Second, 32 * time.Second}, {31 * time.Second, 50 * time.Second},
	} {
		u.notice(c.build)
		if got := u.buildLimit(); got != c.limit {
			t.Errorf("%v after one of %v, not %v: %v", got, c.build, c.limit, u.builds)
		}
	}
}

// What timed out while it was built is tried again where builds may take much longer, and only
// then; what was built and is slow never is.
func TestLateBuildsAreTriedAgain(t *testing.T) {
	db := database(t)
	begun := func(budget time.Duration) *tuner {
		u := &tuner{o: valid(), report: &Report{Failures: map[measure.Status]int{}}, ref: &bridge.Reference{}, recorder: begin(t, db, tunedb.Workload{Generator: "f"})}
		u.o.Budget, u.o.CandidateBuild = budget, time.Minute
		return u
	}
	take := func(u *tuner, n int, r measure.Result) {
		t.Helper()
		s := numbered(n)
		if err := u.take(t.Context(), deaf{}, measured{search.Candidate{Schedule: s, Hash: s.Hash()}, r, nil}); err != nil {
			t.Fatal(err)
		}
		u.notice(time.Second) // whatever others take
	}
	known := func(budget time.Duration, want int) {
		t.Helper()
		if past, err := begun(budget).known(t.Context()); err != nil || len(past) != want {
			t.Errorf("with %v %d are known, not %d; %v", budget, len(past), want, err)
		}
	}
	late := measure.Result{Status: measure.TimedOut, Message: "compiling and checking took too long"}
	slow := measure.Result{Status: measure.TimedOut, Message: "one execution used more processor time than a candidate worth timing"}
	u := begun(160 * time.Second) // 20 s at most
	for i, r := range []measure.Result{late, {Status: measure.TimedOut, Lower: time.Second}, slow, {Status: measure.Crashed}} {
		take(u, i+1, r)
	}
	if n := u.others.late.Load(); n != 1 {
		t.Errorf("%d took too long to build", n)
	}
	known(160*time.Second, 4)
	known(300*time.Second, 4)
	known(320*time.Second, 3)
	take(begun(320*time.Second), 1, slow) // 40 s at most
	known(time.Hour, 4)
}

// The fork server says in other words that a build took too long than that a schedule which was
// built is slow.
func TestBuildsThatWereStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
	u := served(t, bridge.Options{Path: "../../apps/harris/harris_generator.cpp"})
	plain, err := measure.PlainSchedules(u.pipe)
	if err != nil {
		t.Fatal(err)
	}
	hopeless := u.o.Protocol.Check(0, u.o.Threads)
	hopeless.Hopeless = 1 // a nanosecond of processor time
	for _, c := range []struct {
		request bridge.BuildRequest
		stopped bool
	}{{bridge.BuildRequest{Schedule: plain[0], Limit: 1}, true}, {bridge.BuildRequest{Schedule: plain[0], Check: hopeless}, false}} {
		_, err := u.server.Build(t.Context(), c.request)
		if status, message := measure.StatusOf(err); status != measure.TimedOut || bridge.BuildStopped(message) != c.stopped {
			t.Errorf("within %v: %v", c.request.Limit, err)
		}
	}
}

// What ran out of memory is tried again where it may have more, and only then.
func TestLargeSchedulesAreTriedAgain(t *testing.T) {
	db := database(t)
	for _, c := range []struct {
		memory int64
		known  bool // from the run before
	}{{1 << 30, false}, {1 << 30, true}, {1 << 29, true}, {2 << 30, false}, {0, false}, {0, true}, {8 << 30, true}} {
		u := &tuner{o: valid(), report: &Report{Failures: map[measure.Status]int{}}, ref: &bridge.Reference{}, recorder: begin(t, db, tunedb.Workload{Generator: "f"})}
		u.o.CandidateMemory = c.memory
		past, err := u.known(t.Context())
		if err != nil || len(past) == 1 != c.known {
			t.Errorf("with %d bytes %+v are known; %v", c.memory, past, err)
		}
		s := schedule.Schedule{Directives: []schedule.Directive{{Op: schedule.ComputeRoot, Func: "f"}}}
		if err := u.take(t.Context(), deaf{}, measured{search.Candidate{Schedule: s, Hash: s.Hash()}, measure.Result{Status: measure.OutOfMemory}, nil}); err != nil {
			t.Fatal(err)
		}
	}
}

// lane has these laps, in milliseconds, over and over.
func lane(milliseconds ...float64) measure.Lane {
	var l measure.Lane
	for i := range 20 {
		l.Laps = append(l.Laps, time.Duration(milliseconds[i%len(milliseconds)]*float64(time.Millisecond)))
	}
	return l
}

// The own schedule is handed back where it is clearly faster, and where a race that is
// sure of nothing has it ahead by median and fastest lap.
func TestOwnScheduleLeads(t *testing.T) {
	rivals := []build{{name: adams2019}, {name: Own}}
	for name, c := range map[string]struct {
		own  measure.Lane
		want int
	}{
		"faster":                         {lane(5, 5.1, 5.2), 2},
		"slower":                         {lane(20, 20.4, 20.8), 0},
		"no different":                   {lane(10, 10.2, 10.4), 0},
		"ahead in a disturbed race":      {lane(8, 14, 8.4, 14, 8.8), 2},
		"ahead by next to nothing":       {lane(9.9, 14, 9.9, 14, 9.9), 0},
		"ahead by its fastest lap alone": {lane(8, 14, 14, 14, 14), 0},
		"failed":                         {measure.Lane{Failure: errors.New("crashed")}, 0},
	} {
		race := &measure.Race{Lanes: []measure.Lane{lane(10, 10.2, 10.4), lane(1), c.own}, Rounds: 20}
		if got := leadOfOwn(Stream(1, name), race, rivals); got != c.want {
			t.Errorf("%s: lane %d, want %d", name, got, c.want)
		}
	}
}

// Ratios say how many times as fast as each of the others what is handed back is: the search's
// best, or the Generator's own schedule where that is kept.
func TestRatiosOfTheFinalRace(t *testing.T) {
	type line struct {
		name           string
		ratio, seconds float64
	}
	rivals := []build{{name: adams2019}, {name: Own}}
	for _, c := range []struct {
		seeds []string
		kept  bool
		final float64
		lines []line
	}{
		{nil, false, 0.010, []line{{adams2019, 1.5, 0.015}, {Own, 0.5, 0.005}}},
		{[]string{Own}, true, 0.005, []line{{adams2019, 3, 0.015}, {Own, 1, 0.005}, {"the search's best", 2, 0.010}}},
	} {
		u := &tuner{o: valid(), report: &Report{Specialized: &measure.Interval{Value: 1.2}}}
		u.o.Seeds = c.seeds
		for _, b := range rivals {
			u.report.Baselines = append(u.report.Baselines, BaselineReport{Name: b.name})
		}
		race := &measure.Race{Lanes: []measure.Lane{lane(10), lane(15), lane(5)}, Sentinel: lane(10).Laps, Rounds: 20}
		u.tellRace(Stream(1, "race"), race, rivals)
		r := u.report
		if r.Kept != c.kept || r.Final != c.final || (r.Specialized == nil) != c.kept || r.NoiseFloor == nil || r.NoiseFloor.Value != 1 || r.Rounds != 20 {
			t.Errorf("from the seeds %v: kept %t, final %v s, specialised %v, noise floor %v, %d rounds", c.seeds, r.Kept, r.Final, r.Specialized, r.NoiseFloor, r.Rounds)
		}
		var lines []line
		for _, b := range r.Baselines {
			if b.Verdict == nil || b.Verdict.Minima != b.Verdict.Ratio.Value {
				t.Fatalf("from the seeds %v: %s has the verdict %+v", c.seeds, b.Name, b.Verdict)
			}
			lines = append(lines, line{b.Name, b.Verdict.Ratio.Value, b.Seconds})
		}
		if !slices.Equal(lines, c.lines) {
			t.Errorf("from the seeds %v: %+v, want %+v", c.seeds, lines, c.lines)
		}
	}
}

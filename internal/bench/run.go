package bench

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

// runner is one run.
type runner struct {
	o       Options
	events  Events
	parts   []*part
	methods []method
	db      *tunedb.DB
	gens    generators

	mu      sync.Mutex
	entries map[entryKey]tunedb.BenchEntry
	raced   map[[2]string]bool // app and part
}

type entryKey struct {
	app, part, method string
	repeat            int
}

// job is one entry to be made.
type job struct {
	o      Options
	part   *part
	stage  *stage // nil for methods that are not alone
	gen    *bridge.Generator
	method method
	repeat int
	seed   int64
	dir    string
	before []string // folders of the same method's on the application's parts before this one
	budget time.Duration
	limits bridge.Limits
	lock   measure.HostLock
}

// Run compares the methods. What the folder holds of an earlier run under the same
// options is not made again; applications and methods that it has and that are not named
// are gone on with too. What was raced before there were as many methods is raced again.
// Applications and methods that there are none of are told of and left out, which is a
// *LeftOut in the end. Otherwise the error is a *UsageError or that of the database or the
// context; a method or an application that fails stands in the results and stops nothing.
func Run(ctx context.Context, o Options, profile, command string, events Events) error {
	if err := o.Validate(); err != nil {
		return &UsageError{err}
	}
	o, unknown := o.Known()
	if len(o.Apps) == 0 || len(o.Methods) == 0 {
		return &UsageError{errors.New(oneLine(unknown))}
	}
	ps, methods, manifest, err := o.plan(profile, command)
	if err != nil {
		return err
	}
	if o.Out, err = filepath.Abs(o.Out); err != nil {
		return err
	}
	db, err := tunedb.Open(ctx, DBFile(o.Out))
	if err != nil {
		return &UsageError{err}
	}
	defer db.Close()
	release, err := hold(o.Out)
	if err != nil {
		return err
	}
	defer release()
	first, err := db.BeginBench(ctx, manifest)
	if err != nil {
		return err
	}
	had, err := sameRun(first, manifest, o.Out)
	if err != nil {
		return &UsageError{err}
	}
	apps, names := union(had.Options.Apps, o.Apps), union(had.Options.Methods, o.Methods)
	if !slices.Equal(apps, o.Apps) || !slices.Equal(names, o.Methods) {
		o.Apps, o.Methods = apps, names
		if ps, methods, manifest, err = o.plan(had.Profile, had.Command+"; "+command); err != nil {
			return err
		}
	}
	r := &runner{o: o, events: events, parts: ps, methods: methods, db: db, entries: map[entryKey]tunedb.BenchEntry{}, raced: map[[2]string]bool{}}
	for _, err := range unknown {
		r.note("left out: %v", err)
	}
	if err := r.recall(ctx); err != nil {
		return err
	}
	if err := r.goOn(ctx, had, manifest, slices.ContainsFunc(ps, r.left)); err != nil {
		return err
	}
	if err := r.makeBeside(ctx); err != nil {
		return err
	}
	for _, p := range ps {
		if err := r.part(ctx, p); err != nil {
			return err
		}
	}
	if err := db.EndBench(ctx); err != nil || len(unknown) == 0 {
		return err
	}
	return &LeftOut{unknown}
}

// hold keeps other runs from a folder until it is released: each would remove what the other
// has built. The lock is on the builds' folder, so that it leaves no file. The error is a
// *UsageError where another run is there.
func hold(dir string) (release func(), err error) {
	builds := filepath.Join(dir, buildsFolder)
	if err := os.MkdirAll(builds, 0o755); err != nil {
		return nil, err
	}
	lock := flock.New(builds, flock.SetFlag(os.O_RDONLY))
	held, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot lock %s: %w", builds, err)
	case !held:
		return nil, &UsageError{fmt.Errorf("another protuner is working on the run in %s; wait until it ends, or name another folder with --out", dir)}
	}
	return func() { lock.Close() }, nil
}

// buildsFolder holds what is raced.
const buildsFolder = "builds"

// plan is what is run, by which methods, and how it is to be repeated; the error is a
// *UsageError where the options name what is not there.
func (o Options) plan(profile, command string) ([]*part, []method, Manifest, error) {
	methods, err := parseMethods(o.Methods)
	if err != nil {
		return nil, nil, Manifest{}, &UsageError{err}
	}
	ps, err := o.expand()
	if err != nil {
		return nil, nil, Manifest{}, &UsageError{err}
	}
	h, err := bridge.FindHalide(o.HalideDir)
	switch {
	case bridge.Lacking(err):
		return nil, nil, Manifest{}, err
	case err != nil:
		return nil, nil, Manifest{}, &UsageError{err}
	}
	m := newManifest(o, h, ps, methods, profile, command)
	if o.Weights != "" {
		if _, err := tune.ReadWeights(h, o.Weights); err != nil {
			return nil, nil, Manifest{}, &UsageError{err}
		}
		content, err := os.ReadFile(o.Weights)
		if err != nil {
			return nil, nil, Manifest{}, &UsageError{err}
		}
		m.WeightsHash = fmt.Sprintf("%x", sha256.Sum256(content))
	}
	return ps, methods, m, nil
}

// sameRun returns the manifest of the folder's run, and refuses one under other options,
// under another Halide or on another machine: its results would be of two comparisons.
// Other applications it may have, as each stands alone, and other methods, which are made
// as if they had been there first.
func sameRun(first json.RawMessage, now Manifest, dir string) (Manifest, error) {
	var had Manifest
	if err := json.Unmarshal(first, &had); err != nil {
		return had, fmt.Errorf("the run in %s: %w", dir, err)
	}
	for _, x := range []struct{ what, had, now, mend string }{
		{"under Halide", had.Halide, now.Halide, "go on with that one (--halide DIR)"},
		{"under the build of Halide", cmp.Or(had.HalideBuild, now.HalideBuild), now.HalideBuild, "go on with that one (--halide DIR)"},
		{"on the CPU", had.CPU, now.CPU, "go on there"},
		{"on a machine of", had.Host, now.Host, "go on there"},
	} {
		if x.had != x.now {
			return had, fmt.Errorf("%s holds a run %s %s, and this is %s; %s, or name another folder with --out", dir, x.what, x.had, x.now, x.mend)
		}
	}
	if had.WeightsHash != "" && had.WeightsHash != now.WeightsHash && now.Options.Weights == had.Options.Weights {
		return had, fmt.Errorf("%s holds a run with the weights of %s as they were before that file changed; name another folder with --out", dir, had.Options.Weights)
	}
	if changed := now.changed(had); len(changed) > 0 {
		return had, fmt.Errorf("%s holds a run on %s as it was before its files changed; name another folder with --out", dir, changed[0])
	}
	now.Options.Apps, now.Options.Methods = had.Options.Apps, had.Options.Methods
	a, err := json.Marshal(had.Options)
	if err != nil {
		return had, err
	}
	b, err := json.Marshal(now.Options)
	if err != nil {
		return had, err
	}
	if !bytes.Equal(a, b) {
		return had, fmt.Errorf("%s holds a run under other options (%s); go on with those, or name another folder with --out", dir, had.Command)
	}
	return had, nil
}

// goOn stores what the run has more than before: applications and methods, and, where
// something is left to do, that it has not ended, and another version of protuner.
func (r *runner) goOn(ctx context.Context, had, now Manifest, left bool) error {
	more := len(now.Options.Apps) > len(had.Options.Apps) || len(now.Options.Methods) > len(had.Options.Methods)
	other := !slices.Contains(strings.Split(had.Program, "; "), now.Program)
	if !more && !left {
		return nil
	}
	if other {
		r.note("the run was begun by protuner %s; what is left of it is made by %s", had.Program, now.Program)
		had.Program = joined(had.Program, now.Program)
	}
	if !more {
		now = had
	}
	now.Program = had.Program
	return r.db.ExtendBench(ctx, now)
}

// union is what a run has and what is named besides, each as often as the one or the
// other has it.
func union(had, named []string) []string {
	out, left := slices.Clone(had), slices.Clone(had)
	for _, name := range named {
		if i := slices.Index(left, name); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			out = append(out, name)
		}
	}
	return out
}

// recall reads what is there already.
func (r *runner) recall(ctx context.Context) error {
	entries, err := r.db.BenchEntries(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Status == measure.InfraFailed {
			continue // it says nothing about the method
		}
		r.entries[entryKey{e.App, e.Part, e.Method, e.Repeat}] = e
	}
	races, err := r.db.BenchRaces(ctx)
	if err != nil {
		return err
	}
	for _, race := range races {
		if r.whole(race) {
			r.raced[[2]string{race.App, race.Part}] = true
		}
	}
	if n := len(r.entries); n > 0 {
		r.note("%d schedules are there already and %d parts are raced", n, len(r.raced))
	}
	return nil
}

// whole says whether a race is of all methods that there are now, none of which the machine
// failed. What was made since, by a run that was stopped before it raced, is not in it.
func (r *runner) whole(race tunedb.BenchRace) bool {
	for _, m := range r.methods {
		for k := 1; k <= r.o.repeats(m); k++ {
			e, ok := r.entries[entryKey{race.App, race.Part, m.name, k}]
			raced := slices.ContainsFunc(race.Lanes, func(l tunedb.BenchLane) bool {
				return l.Method == m.name && l.Repeat == k && l.Status != measure.InfraFailed
			})
			if !ok || e.Status == measure.OK && !raced {
				return false
			}
		}
	}
	return true
}

// left says whether something of a part is to be made or raced.
func (r *runner) left(p *part) bool {
	return len(r.jobs(p, false))+len(r.jobs(p, true)) > 0 || !r.raced[[2]string{p.app, p.name}] && len(r.ready(p)) > 0
}

// jobs are the entries of a part that are not there yet.
func (r *runner) jobs(p *part, alone bool) []*job {
	var out []*job
	for _, m := range r.methods {
		for k := 1; k <= r.o.repeats(m) && m.alone == alone; k++ {
			if e, ok := r.entry(p, m.name, k); ok && (e.Status != measure.OK || exists(r.library(p, m.name, k))) {
				continue
			}
			out = append(out, &job{
				o: r.o, part: p, method: m, repeat: k, seed: r.o.Seed + int64(k-1), dir: r.dir(p, m.name, k), before: r.before(p, m.name, k),
				budget: r.o.budget(p), limits: r.o.peerLimits(p), lock: measure.NewHostLock(),
			})
		}
	}
	return out
}

func (r *runner) entry(p *part, method string, repeat int) (tunedb.BenchEntry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.entries[entryKey{p.app, p.name, method, repeat}]
	return e, ok
}

// dir is the folder of an entry's build, library what is raced of it.
func (r *runner) dir(p *part, method string, repeat int) string {
	return filepath.Join(r.o.Out, buildsFolder, p.app, p.name, fmt.Sprintf("%s-%d", folder(method), repeat))
}

// before are the folders of those on the parts of the application that come before.
func (r *runner) before(p *part, method string, repeat int) (dirs []string) {
	for _, q := range r.parts[:slices.Index(r.parts, p)] {
		if q.app == p.app {
			dirs = append(dirs, r.dir(q, method, repeat))
		}
	}
	return dirs
}

// racedLibrary is the file in a job's folder that is timed.
const racedLibrary = "raced.so"

func (r *runner) library(p *part, method string, repeat int) string {
	return filepath.Join(r.dir(p, method, repeat), racedLibrary)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// beside is how many schedulers that use one core each run at once: as many as have a core
// for themselves and the memory that each may take, of what is free (bytes; 0: not known).
func (o Options) beside(free int64) int {
	n := min(o.Threads, runtime.NumCPU())
	if free > 0 {
		n = min(n, int(free/o.PeerMemory))
	}
	return max(n, 1)
}

// availableMemory is what Linux says can be had without swapping, in bytes, at most what a
// container has in all; 0 where it does not say.
func availableMemory() (free int64) {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n == 1 {
			free = kib << 10
		}
	}
	text, _ = os.ReadFile("/sys/fs/cgroup/memory.max")
	if most, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
		free = min(free, most)
	}
	return free
}

// makeBeside makes what does not need the machine for itself: other schedulers.
func (r *runner) makeBeside(ctx context.Context) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(r.o.beside(availableMemory()))
	for _, p := range r.parts {
		if r.raced[[2]string{p.app, p.name}] {
			continue
		}
		for _, j := range r.jobs(p, false) {
			group.Go(func() error {
				if inner.Err() != nil {
					return inner.Err()
				}
				gen, err := r.gens.get(inner, j.part)
				if err != nil {
					return r.failed(inner, j, 0, err)
				}
				j.gen = gen
				return r.make(inner, j)
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// part makes what is left to be made of a part, checks all of it and races it.
func (r *runner) part(ctx context.Context, p *part) error {
	if r.raced[[2]string{p.app, p.name}] {
		return nil
	}
	r.begun(p.label(), "reference")
	s, err := openStage(ctx, p, r.o)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return r.leaveOut(ctx, p, err)
	}
	defer s.server.Close()
	for _, j := range r.jobs(p, true) {
		r.begun(p.label(), j.method.name)
		j.stage, j.gen = s, s.gen
		if err := r.make(ctx, j); err != nil {
			return err
		}
	}
	return r.race(ctx, s)
}

// leaveOut stores why a part cannot be opened. What is to be made of it has failed; what
// was made is there to be raced once the part can be.
func (r *runner) leaveOut(ctx context.Context, p *part, why error) error {
	r.note("%s is left out: %v", p.label(), why)
	for _, j := range r.jobs(p, true) {
		if err := r.failed(ctx, j, 0, why); err != nil {
			return err
		}
	}
	for _, e := range r.ready(p) {
		_, e.Message = failure(why)
		if err := r.update(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// make makes one entry and stores what came of it. Its own failure is no error.
func (r *runner) make(ctx context.Context, j *job) error {
	if err := clean(j.dir); err != nil {
		return err
	}
	start := time.Now()
	m, err := j.method.make(ctx, j)
	if err == nil && !m.checked {
		err = j.link(ctx)
	}
	took := time.Since(start)
	if err != nil {
		return r.failed(ctx, j, took, err)
	}
	return r.put(ctx, tunedb.BenchEntry{
		App: j.part.app, Part: j.part.name, Method: j.method.name, Repeat: j.repeat, Seed: j.seed, Status: measure.OK,
		Note: m.note, Cut: m.cut, Checked: m.checked, Schedule: m.schedule, Took: took, Measured: m.measured, Made: time.Now(),
		Cost: m.cost, Evaluations: m.evaluations, Roots: m.roots, Greedy: m.greedy,
	})
}

// link makes the shared library that is raced. It is renamed into its place when it is
// whole: what is there can be raced.
func (j *job) link(ctx context.Context) error {
	library, err := j.gen.Toolchain.Library(ctx, filepath.Join(j.dir, j.gen.Name+".a"), j.dir)
	if err != nil {
		return err
	}
	if err := flush(library); err != nil {
		return err
	}
	if err := os.Rename(library, filepath.Join(j.dir, racedLibrary)); err != nil {
		return err
	}
	return flush(j.dir)
}

// flush has the disk hold a file, or what a folder lists, before anything says that it is there.
func flush(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// failed stores a failure; the context's end is none.
func (r *runner) failed(ctx context.Context, j *job, took time.Duration, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	status, message := failure(err)
	return r.put(ctx, tunedb.BenchEntry{
		App: j.part.app, Part: j.part.name, Method: j.method.name, Repeat: j.repeat, Seed: j.seed,
		Status: status, Message: message, Took: took, Made: time.Now(),
	})
}

// put stores an entry and tells of it.
func (r *runner) put(ctx context.Context, e tunedb.BenchEntry) error {
	if err := r.update(ctx, e); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.events.Made != nil {
		p := part{app: e.App, name: e.Part}
		r.events.Made(Made{Part: p.label(), Method: e.Method, Repeat: e.Repeat, Took: e.Took, Status: e.Status, Message: e.Message})
	}
	return nil
}

func (r *runner) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.events.Note != nil {
		r.events.Note(fmt.Sprintf(format, args...))
	}
}

func (r *runner) begun(what, how string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.events.Begun != nil {
		r.events.Begun(what, how)
	}
}

// ready lists the entries of a part that were made, in the methods' order.
func (r *runner) ready(p *part) []tunedb.BenchEntry {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []tunedb.BenchEntry
	for k, e := range r.entries {
		if k.app == p.app && k.part == p.name && e.Status == measure.OK {
			out = append(out, e)
		}
	}
	at := func(name string) int {
		return slices.IndexFunc(r.methods, func(m method) bool { return m.name == name })
	}
	slices.SortFunc(out, func(a, b tunedb.BenchEntry) int {
		if d := at(a.Method) - at(b.Method); d != 0 {
			return d
		}
		return a.Repeat - b.Repeat
	})
	return out
}

// scheduleOf reads back what an entry's schedule says: the text that is stored, or
// the .schedule.h that another scheduler wrote.
func (r *runner) scheduleOf(s *stage, e tunedb.BenchEntry) (schedule.Schedule, error) {
	if e.Schedule != "" {
		return schedule.Parse(e.Schedule)
	}
	text, err := os.ReadFile(filepath.Join(r.dir(s.part, e.Method, e.Repeat), s.gen.Name+".schedule.h"))
	if err != nil {
		return schedule.Schedule{}, err
	}
	return schedule.ParseHalide(text, s.pipe.Binding())
}

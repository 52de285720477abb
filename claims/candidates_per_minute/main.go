// Claim: candidates fully evaluated (compiled, checked, timed) per minute are at
// least 8 times those of Halide 21's own adams2019_autotune_loop.sh as shipped, and
// at least 2 times those of the same loop mended (RunGen's object built once, no
// sleep, builds on both cores, benchmarks one at a time), on harris, unsharp and
// conv_layer. The same list of schedules is replayed each way, in blocks that take
// turns. Neither loop checks what a schedule computes; protuner does.
//
// A loop's step is what its script runs for a sample: the Generator with all its
// outputs (the schedule is applied instead of searched, which only helps the loop),
// the compiler on RunGenMain.cpp with the library, the benchmark with RunGen's own
// --benchmarks=all, and the conversion of the featurization where there is one.
// Arguments name other apps.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
)

const (
	blocks      = 2
	schedules   = 32 // of both blocks together
	wantShipped = 8.0
	wantMended  = 2.0
)

func main() {
	ctx := claim.Context()
	holds := true
	least := [2]float64{1e9, 1e9}
	apps := os.Args[1:]
	if len(apps) == 0 {
		apps = []string{"harris", "unsharp", "conv_layer"}
	}
	for _, name := range apps {
		shipped, mended := one(ctx, name)
		holds = holds && shipped >= wantShipped && mended >= wantMended
		least[0], least[1] = min(least[0], shipped), min(least[1], mended)
	}
	claim.Say(holds, "at least %.1f times the loop as shipped (bar %.0f), %.2f times the loop mended (bar %.0f)", least[0], wantShipped, least[1], wantMended)
}

// one returns our rate over the loop's, as shipped and mended.
func one(ctx context.Context, name string) (shipped, mended float64) {
	app := claim.Open(ctx, name)
	defer app.Server.Close()
	list := app.Schedules(ctx, schedules, 1)
	local := measure.Local{Server: app.Server, Lock: measure.NewHostLock(), Threads: runtime.NumCPU()}
	screener := measure.NewScreener(local, local, app.Protocol, app.Ref.Time)
	loop := newLoop(ctx, app)
	defer os.RemoveAll(loop.dir)
	var took [3]time.Duration
	evaluated := int64(0)
	for b := range blocks {
		part := list[b*len(list)/blocks : (b+1)*len(list)/blocks]
		took[0] += clock(func() { evaluated += ours(ctx, screener, part) })
		took[1] += clock(func() { loop.shipped(ctx, part) })
		took[2] += clock(func() { loop.mended(ctx, part) })
	}
	rate := func(n int, d time.Duration) float64 { return float64(n) / d.Minutes() }
	us, as, me := rate(int(evaluated), took[0]), rate(len(list), took[1]), rate(len(list), took[2])
	fmt.Printf("%-12s %6.1f a minute; loop as shipped %5.1f, mended %5.1f\n", name, us, as, me)
	return us / as, us / me
}

func clock(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// ours evaluates a list as tune does; of it so many work, which alone are counted.
func ours(ctx context.Context, screener *measure.Screener, list []schedule.Schedule) int64 {
	var worked atomic.Int64
	work := make(chan schedule.Schedule)
	var wg sync.WaitGroup
	for range runtime.NumCPU() + 1 {
		wg.Go(func() {
			for s := range work {
				r, err := screener.Measure(ctx, s)
				claim.Fail(err)
				if r.Status == measure.OK {
					worked.Add(1)
				}
			}
		})
	}
	for _, s := range list {
		work <- s
	}
	close(work)
	wg.Wait()
	return worked.Load()
}

// loop replays what the script does.
type loop struct {
	app    *claim.App
	dir    string
	rungen claim.RunGen
	n      int
}

func newLoop(ctx context.Context, app *claim.App) *loop {
	dir := claim.TempDir()
	return &loop{app: app, dir: dir, rungen: claim.NewRunGen(ctx, app.Gen.Toolchain.Halide, dir)}
}

// sample is a folder of its own for the next schedule.
func (l *loop) sample() string {
	l.n++
	dir := filepath.Join(l.dir, fmt.Sprint(l.n))
	claim.Fail(os.Mkdir(dir, 0o755))
	return dir
}

func (l *loop) generate(ctx context.Context, s schedule.Schedule, dir string, outputs ...string) {
	claim.Fail(l.app.Gen.Apply(ctx, s, "// replayed", bridge.Emission{Dir: dir, Function: l.app.Name, Outputs: outputs}))
}

// benchmark passes over failures, as the script does.
func (l *loop) benchmark(program string) {
	cmd := exec.Command("timeout", "-k", "60s", "60s", program, "--estimate_all", "--benchmarks=all")
	cmd.Env = append(os.Environ(), fmt.Sprintf("HL_NUM_THREADS=%d", runtime.NumCPU()))
	_ = cmd.Run()
}

// inParallel runs f for each on all cores.
func inParallel[T any](xs []T, f func(T)) {
	slots := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	for _, x := range xs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(x)
		})
	}
	wg.Wait()
}

type job struct {
	s       schedule.Schedule
	dir     string
	program string
}

func (l *loop) jobs(list []schedule.Schedule) []*job {
	var out []*job
	for _, s := range list {
		out = append(out, &job{s: s, dir: l.sample()})
	}
	return out
}

// shipped: compiling in parallel with a look every second whether a core is free,
// RunGen's source compiled for every sample, a second's sleep before each benchmark.
func (l *loop) shipped(ctx context.Context, list []schedule.Schedule) {
	jobs := l.jobs(list)
	running := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	for _, j := range jobs {
		for len(running) == cap(running) {
			time.Sleep(time.Second)
		}
		running <- struct{}{}
		wg.Go(func() {
			defer func() { <-running }()
			l.generate(ctx, j.s, j.dir, "stmt", "assembly", "static_library", "c_header", "registration", "schedule")
			j.program = l.rungen.Compile(ctx, j.dir, l.app.Name)
		})
	}
	wg.Wait()
	for _, j := range jobs {
		time.Sleep(time.Second)
		l.benchmark(j.program)
	}
}

// mended: only what a benchmark needs is written, RunGen is linked as an object,
// nobody sleeps.
func (l *loop) mended(ctx context.Context, list []schedule.Schedule) {
	jobs := l.jobs(list)
	inParallel(jobs, func(j *job) {
		l.generate(ctx, j.s, j.dir, "static_library", "c_header", "registration")
		j.program = l.rungen.Link(ctx, j.dir, l.app.Name)
	})
	for _, j := range jobs {
		l.benchmark(j.program)
	}
}

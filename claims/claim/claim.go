// Package claim is what the programs in this folder share: opening an app, and
// ending with a figure.
package claim

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/tunedb"
)

// Context ends with Ctrl-C.
func Context() context.Context {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	return ctx
}

// temporary are the folders that end removes.
var temporary []string

// TempDir makes a folder that is removed when the claim ends by Fail or Say, which nothing
// deferred lives to see.
func TempDir() string {
	dir, err := os.MkdirTemp("", "claim-")
	Fail(err)
	temporary = append(temporary, dir)
	return dir
}

func end(code int) {
	for _, dir := range temporary {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// Fail ends a claim that could not be measured.
func Fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "the claim could not be measured:", err)
		end(2)
	}
}

// Covers says whether all of what is claimed is among the named.
func Covers(named, all []string) bool {
	return !slices.ContainsFunc(all, func(name string) bool { return !slices.Contains(named, name) })
}

// SayOf is Say where what was measured is all that is claimed. Of a part of it the figure is
// printed and nothing is claimed.
func SayOf(whole, holds bool, format string, args ...any) {
	if !whole {
		fmt.Printf("on a part, or under other conditions than are claimed: "+format+"\n", args...)
		end(1)
	}
	Say(holds, format, args...)
}

// Say prints the figure as the last line and ends with 0 only where it holds.
func Say(holds bool, format string, args ...any) {
	verdict := "holds: "
	if !holds {
		verdict = "does not hold: "
	}
	fmt.Println(verdict + fmt.Sprintf(format, args...))
	if !holds {
		end(1)
	}
	end(0)
}

// Apps are those of apps/ that figures are given for.
var Apps = []string{"harris", "unsharp", "hist", "conv_layer", "bilateral_grid", "camera_pipe"}

// Source is the Generator of one of apps/. Claims run from the repository's root.
func Source(app string) string { return filepath.Join("apps", app, app+"_generator.cpp") }

// App is an opened application with its fork server.
type App struct {
	Name     string
	Gen      *bridge.Generator
	Pipe     *pipeline.Pipeline
	Server   *bridge.Server
	Ref      *bridge.Reference
	Space    *space.Space
	Protocol measure.Protocol
}

// Open opens one of apps/ and starts its server.
func Open(ctx context.Context, name string) *App {
	threads := runtime.NumCPU()
	g, err := bridge.Open(ctx, bridge.Options{Path: Source(name), Threads: threads})
	Fail(err)
	p, err := g.Describe(ctx)
	Fail(err)
	sp, err := space.New(p, space.Defaults(threads))
	Fail(err)
	s, err := g.Serve(ctx, bridge.ServerOptions{MemoryBytes: 8 << 30, BuildTime: time.Minute, CPUs: measure.PhysicalCPUs(threads)})
	Fail(err)
	ref, err := measure.Reference(ctx, s, p)
	Fail(err)
	return &App{name, g, p, s, ref, sp, measure.DefaultProtocol().ForPipeline(p)}
}

// Schedules are n different ones as a search would try them: its prototypes and
// random draws.
func (a *App) Schedules(ctx context.Context, n int, seed int64) []schedule.Schedule {
	strategy := search.NewEvolve(a.Space, rand.New(rand.NewSource(seed)), search.EvolveDefaults())
	proposed, err := strategy.Propose(ctx, n)
	Fail(err)
	var out []schedule.Schedule
	for _, c := range proposed {
		out = append(out, c.Schedule)
	}
	return out
}

// Measured is what the last run of a Generator in a database measured, in the order in which
// it did.
func Measured(ctx context.Context, path, name string) []tunedb.Measurement {
	db, err := tunedb.Open(ctx, path)
	Fail(err)
	defer db.Close()
	runs, err := db.Runs(ctx, name)
	Fail(err)
	if len(runs) == 0 {
		Fail(fmt.Errorf("%s holds no run of %s", path, name))
	}
	all, err := db.Fastest(ctx, runs[0].Key, 0)
	Fail(err)
	slices.SortFunc(all, func(a, b tunedb.Measurement) int { return a.Taken.Compare(b.Taken) })
	return all
}

// Ahead builds a schedule ahead of time into dir and returns the shared library.
func (a *App) Ahead(ctx context.Context, s schedule.Schedule, dir string) (string, error) {
	e := bridge.Emission{Dir: dir, Function: a.Gen.Name, Outputs: []string{"static_library", "c_header"}}
	if err := a.Gen.Apply(ctx, s, "", e); err != nil {
		return "", err
	}
	return a.Gen.Toolchain.Library(ctx, filepath.Join(dir, a.Gen.Name+".a"), dir)
}

// Fresh is a racer that starts the library anew for every lap.
func (a *App) Fresh(ctx context.Context, library string) measure.InFresh {
	runner, err := a.Gen.Toolchain.Runner(ctx, false)
	Fail(err)
	return measure.Pinned(bridge.Fresh{
		Runner: runner, Library: library, Function: a.Gen.Name, Data: a.Ref.Data, Threads: runtime.NumCPU(),
	}, a.Ref.Time)
}

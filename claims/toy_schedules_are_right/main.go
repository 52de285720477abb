// Claim: of pipelines small enough to try everything, every complete schedule that
// decisions lead to compiles under real Halide and computes what a schedule without
// any loop transformed does, under every Halide tested, for one core and for two; and so
// does each with register blocks of two and of three over each dimension and over both,
// slice by slice, point by point what diverges, with shorter vectors and several products at
// once, and with a version for the estimated sizes.
//
//	go run ./claims/toy_schedules_are_right [-halide 21.0.0] [-count]
package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
)

// target has vectors of four floats, so that a toy's loops hold several.
const target = "x86-64-linux-sse41"

func main() {
	versions := flag.String("halide", strings.Join(bridge.TestedVersions, ","), "versions of Halide")
	count := flag.Bool("count", false, "only say how many schedules there are")
	only := flag.String("only", "rows,chain,open,sums,channels,taps,bins,dots,totals,pair,named,steps,before,ragged,windows,around,cells", "toys")
	flag.Parse()
	ctx := claim.Context()
	tried, wrong := 0, 0
	for _, version := range strings.Split(*versions, ",") {
		for _, name := range strings.Split(*only, ",") {
			g, err := bridge.Open(ctx, bridge.Options{
				Path: filepath.Join("claims", "toy_schedules_are_right", "toys", "toys_generator.cpp"), Name: name, Threads: 2,
				Params:    []bridge.Param{{Name: "target", Value: target}},
				HalideDir: filepath.Join(bridge.DataDir(), "halide", version),
			})
			claim.Fail(err)
			states, schedules := everything(ctx, g)
			bad := 0
			if !*count {
				bad = failures(ctx, g, schedules)
			}
			fmt.Printf("%s (Halide %s): %d complete states, %d schedules, %d of them wrong\n", name, version, states, len(schedules), bad)
			tried, wrong = tried+len(schedules), wrong+bad
		}
	}
	if *count {
		return
	}
	claim.Say(wrong == 0 && tried >= 100, "%d of %d schedules compile and compute the right thing", tried-wrong, tried)
}

// everything lists the schedules of all complete states, each once, and counts the
// states.
func everything(ctx context.Context, g *bridge.Generator) (states int, out []schedule.Schedule) {
	p, err := g.Describe(ctx)
	claim.Fail(err)
	reached, seen := map[uint64]bool{}, map[string]bool{}
	for _, cores := range []int{1, 2} {
		o := space.Defaults(cores)
		o.SliceLeast, o.Sized = 1, true
		sp, err := space.New(p, o)
		claim.Fail(err)
		var walk func(s *space.State)
		walk = func(s *space.State) {
			if reached[s.Key()^uint64(cores)] {
				return
			}
			reached[s.Key()^uint64(cores)] = true
			if s.Complete() {
				states++
				all := append(blocked(s), s)
				for _, s := range all[:len(all):len(all)] {
					all = append(all, vectors(s)...)
				}
				if one, ok := sized(s); ok {
					all = append(all, one)
				}
				for _, s := range append(all, sliced(s)...) {
					if text := s.Schedule().String(); !seen[text] {
						seen[text] = true
						out = append(out, s.Schedule())
					}
				}
			}
			for _, a := range s.Actions(nil) {
				walk(s.Next(a))
			}
		}
		walk(sp.Start())
	}
	return states, out
}

// blocked are the ways to give all Funcs of a complete state equal register blocks.
func blocked(s *space.State) []*space.State {
	var out []*space.State
	for _, dims := range [][]int{{0}, {1}, {0, 1}} {
		for _, factor := range []int64{2, 3} {
			trace := s.Trace()
			for f, fn := range s.Pipeline().Funcs {
				for _, dim := range dims {
					if s.Space().Scheduled(f) && dim < len(fn.Args) {
						trace = append(trace, space.Decision{Func: f, Kind: space.Block, Dim: dim, Factor: factor})
					}
				}
			}
			out = append(out, replayed(s, trace))
		}
	}
	return out
}

// sliced are the ways to compute what is at root slice by slice.
func sliced(s *space.State) []*space.State {
	var out []*space.State
	for _, by := range s.Space().Slices() {
		out = append(out, replayed(s, append(s.Trace(), by)))
	}
	return out
}

// sized is the state with a version for the estimated sizes.
func sized(s *space.State) (*space.State, bool) {
	d, ok := s.Space().Sizable()
	if !ok {
		return s, false
	}
	return replayed(s, append(s.Trace(), d)), true
}

// vectors are the ways to make vectors of other than their natural length: none where
// points diverge, shorter ones, ones that add up several products at once, and ones
// along the reduction; and to have reductions unrolled around them.
func vectors(s *space.State) []*space.State {
	var out []*space.State
	sp := s.Space()
	for f := range s.Pipeline().Funcs {
		if !sp.Scheduled(f) {
			continue
		}
		say := func(kind space.Kind, factor int64) {
			out = append(out, replayed(s, append(s.Trace(), space.Decision{Func: f, Kind: kind, Factor: factor})))
		}
		if len(sp.Divergent(f)) > 0 {
			say(space.Scalar, 0)
		}
		for _, lanes := range sp.Across(f) {
			say(space.Across, lanes)
		}
		for _, terms := range sp.Terms(f) {
			say(space.Terms, terms)
		}
		for _, lanes := range append(sp.Shorter(f), 0) {
			for _, dot := range append(sp.Dots(f), 0) {
				trace := s.Trace()
				if lanes > 0 {
					trace = append(trace, space.Decision{Func: f, Kind: space.Lanes, Factor: lanes})
				}
				if dot > 0 {
					trace = append(trace, space.Decision{Func: f, Kind: space.Dot, Factor: dot})
				}
				out = append(out, replayed(s, trace))
			}
		}
	}
	return out
}

func replayed(s *space.State, trace []space.Decision) *space.State {
	next, _, err := s.Space().Replay(trace, space.Strict)
	claim.Fail(err)
	return next
}

// failures builds, checks and runs the schedules, and says which are wrong.
func failures(ctx context.Context, g *bridge.Generator, schedules []schedule.Schedule) int {
	server, err := g.Serve(ctx, bridge.ServerOptions{MemoryBytes: 8 << 30, BuildTime: time.Minute})
	claim.Fail(err)
	defer server.Close()
	p, err := g.Describe(ctx)
	claim.Fail(err)
	_, err = measure.Reference(ctx, server, p)
	claim.Fail(err)
	protocol := measure.DefaultProtocol() // nothing here needs allowances for how floats are rounded
	var bad atomic.Int64
	next := make(chan schedule.Schedule)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for s := range next {
				if err := measure.CheckOnce(ctx, server, bridge.BuildRequest{Schedule: s}, protocol, 2); err != nil {
					bad.Add(1)
					fmt.Printf("%v\n%s\n", err, s)
				}
			}
		})
	}
	for _, s := range schedules {
		next <- s
	}
	close(next)
	all.Wait()
	return int(bad.Load())
}

// Claim: searches of each kind (-search) stay below 1 GB resident and have an answer, on every app and,
// where a folder of Halide's source is given, on its apps, also when it goes on for
// ten minutes. Each search is a process of its own; greedy and beam run to their end,
// or are cut off after -cut, the others run for -time. What a search keeps is printed
// beside the peak, most of which is room left to the collector: where it keeps no more
// in the second half of its time than in the first, more time will not change that.
//
//	go run ./claims/search_memory [-time 10m] [-cut 30s] [-search greedy,beam] [-only harris] [-halide 21.0.0] [HALIDE_SOURCE]
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/claims/oracle"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/search"
)

const bar = 1 << 30

func main() {
	each := flag.Duration("time", 10*time.Minute, "time of one search that does not end by itself")
	cut := flag.Duration("cut", 0, "time after which greedy and beam are cut off; 0 for never")
	names := flag.String("search", "greedy,beam,draws,anneal,mcts,protuner", "searches")
	only := flag.String("only", "", "names of Generators; default all")
	version := flag.String("halide", bridge.DefaultVersion, "version of Halide")
	one := flag.String("one", "", "the Generator's source; then search it, in this process")
	flag.Parse()
	generators, include, err := oracle.Suite(flag.Arg(0))
	claim.Fail(err)
	if *one != "" {
		alone(*one, *names, *version, include, *each, *cut)
		return
	}
	self, err := os.Executable()
	claim.Fail(err)
	most, where, runs, failed := 0, "-", 0, 0
	for _, g := range oracle.Named(generators, *only) {
		if g.Name != "" {
			continue // those with a name are tiny
		}
		for _, name := range strings.Split(*names, ",") {
			args := append([]string{"-one", g.File, "-search", name, "-halide", *version, "-time", each.String(), "-cut", cut.String()}, flag.Args()...)
			out, err := exec.CommandContext(claim.Context(), self, args...).CombinedOutput()
			runs++
			last := strings.TrimSpace(string(out))
			last = last[strings.LastIndexByte(last, '\n')+1:]
			fmt.Printf("%s, %s: %s\n", g.File, name, last)
			peak := regexp.MustCompile(`peak (\d+) MB`).FindStringSubmatch(last)
			if err != nil || peak == nil {
				failed++
				continue
			}
			mb, _ := strconv.Atoi(peak[1])
			if mb > most {
				most, where = mb, g.String()+", "+name
			}
		}
	}
	claim.Say(failed == 0 && most<<20 < bar && runs > 0, "at most %d MB resident (%s) in %d searches of %v; %d failed", most, where, runs, *each, failed)
}

// alone searches and prints what this process has taken.
func alone(source, name, version string, include []string, each, cut time.Duration) {
	ctx := claim.Context()
	dir := claim.TempDir()
	options := oracle.Defaults(version)
	options.Include = include
	o, err := oracle.Open(ctx, source, "", dir, options)
	claim.Fail(err)
	s, err := search.NewSearcher(name, nil)
	claim.Fail(err)
	b := search.Budget{Time: each}
	if name == "greedy" || name == "beam" {
		b.Time = cut
	}
	p := search.Problem{Root: search.Start(o.Space), Evaluator: search.NewModelEvaluator(o.Space, o.Model), Workers: runtime.NumCPU()}
	kept := keep()
	r, err := s.Search(ctx, p, b, 1)
	half, all := kept()
	claim.Fail(err)
	status, err := os.ReadFile("/proc/self/status")
	claim.Fail(err)
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	kb, err := strconv.Atoi(string(peak[1]))
	claim.Fail(err)
	how := ""
	if r.Fallback {
		how = ", completed at root after the time was over"
	}
	fmt.Printf("cost %.6g%s, %d evaluations in %v, kept %d MB at most in the first half, %d in all, peak %d MB\n",
		r.Cost, how, r.Evaluations, r.Elapsed.Round(time.Millisecond), half>>20, all>>20, kb>>10)
}

// keep watches how many bytes of the heap are alive after each collection until the
// function it returns is called, which gives the most of the first half of the time and
// of all of it.
func keep() (most func() (half, all uint64)) {
	type seen struct {
		after time.Duration
		bytes uint64
	}
	var all []seen
	begun, done, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-tick.C:
				metrics.Read(live)
				all = append(all, seen{time.Since(begun), live[0].Value.Uint64()})
			case <-done:
				tick.Stop()
				return
			}
		}
	}()
	return func() (half, whole uint64) {
		close(done)
		<-ended
		middle := time.Since(begun) / 2
		for _, s := range all {
			whole = max(whole, s.bytes)
			if s.after < middle {
				half = max(half, s.bytes)
			}
		}
		return half, whole
	}
}

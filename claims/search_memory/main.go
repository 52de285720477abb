// Claim: every search stays below 1 GB resident, on every app and on the Generators
// of a folder given as argument, also when it goes on for ten minutes. Each search
// is a process of its own; greedy and beam run to their end, the others for -time.
//
//	go run ./claims/search_memory [-time 10m] [-search beam,protuner] [-only harris] [FOLDER]
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/claims/mcts_beats_beam/problem"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/search"
)

const bar = 1 << 30

func main() {
	each := flag.Duration("time", 10*time.Minute, "time of one search that does not end by itself")
	names := flag.String("search", "greedy,beam,draws,anneal,mcts,protuner", "searches")
	only := flag.String("only", "", "names of Generators; default all")
	one := flag.String("one", "", "the Generator's source; then search it, in this process")
	flag.Parse()
	folder := filepath.Join(flag.Arg(0), "support")
	if *one != "" {
		alone(*one, *names, folder, *each)
		return
	}
	var sources []string
	for _, app := range problem.Apps {
		sources = append(sources, problem.Source(app))
	}
	if flag.NArg() > 0 {
		more, err := filepath.Glob(filepath.Join(flag.Arg(0), "*", "*generator.cpp"))
		claim.Fail(err)
		sources = append(sources, more...)
	}
	self, err := os.Executable()
	claim.Fail(err)
	most, where, runs, failed := 0, "-", 0, 0
	for _, source := range sources {
		generator := strings.TrimSuffix(filepath.Base(source), "_generator.cpp")
		if *only != "" && !slices.Contains(strings.Split(*only, ","), generator) {
			continue
		}
		for _, name := range strings.Split(*names, ",") {
			args := append([]string{"-one", source, "-search", name, "-time", each.String()}, flag.Args()...)
			out, err := exec.CommandContext(claim.Context(), self, args...).CombinedOutput()
			runs++
			last := strings.TrimSpace(string(out))
			last = last[strings.LastIndexByte(last, '\n')+1:]
			fmt.Printf("%s, %s: %s\n", source, name, last)
			peak := regexp.MustCompile(`peak (\d+) MB`).FindStringSubmatch(last)
			if err != nil || peak == nil {
				failed++
				continue
			}
			mb, _ := strconv.Atoi(peak[1])
			if mb > most {
				most, where = mb, generator+", "+name
			}
		}
	}
	claim.Say(failed == 0 && most<<20 < bar && runs > 0, "at most %d MB resident (%s) in %d searches of %v; %d failed", most, where, runs, *each, failed)
}

// alone searches and prints what this process has taken.
func alone(source, name, folder string, each time.Duration) {
	ctx := claim.Context()
	o, err := problem.Open(ctx, source, bridge.DefaultVersion, 2, folder)
	claim.Fail(err)
	s, err := search.NewModel(name, nil)
	claim.Fail(err)
	b := search.Budget{Time: each}
	if name == "greedy" || name == "beam" {
		b = search.Budget{}
	}
	r, err := s.Search(ctx, o.Problem(runtime.NumCPU()), b, 1)
	claim.Fail(err)
	status, err := os.ReadFile("/proc/self/status")
	claim.Fail(err)
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	kb, err := strconv.Atoi(string(peak[1]))
	claim.Fail(err)
	fmt.Printf("cost %.6g, %d evaluations in %v, peak %d MB\n", r.Cost, r.Evaluations, r.Elapsed.Round(time.Millisecond), kb>>10)
}

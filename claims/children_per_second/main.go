// Claim: on one thread of search, one-step children are generated, featurised and
// costed at least as fast as by Halide's own Adams2019, on at least five pipelines
// (the aim is twice as fast); complete random schedules, drawn decision by decision,
// featurised and costed, come at half Adams2019's one-step rate or more in geometric
// mean, and at a tenth of it on the pipeline with most Funcs.
//
// Both sides search with the same beam in one pass, round by round in turn; their
// count and time are what HL_DEBUG_AUTOSCHEDULE=1 prints. Each side's rate is that of
// its fastest round.
//
//	go run ./claims/children_per_second [-halide 21.0.0,19.0.0] [-source HALIDE_SOURCE] [-apps a,b]
package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand"
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
	"github.com/protuner/protuner/claims/problem"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/space"
)

const (
	wantChildren  = 1.0
	wantPipelines = 5
	wantComplete  = 0.5
	wantLargest   = 0.1
)

var (
	halide = flag.String("halide", strings.Join(bridge.TestedVersions, ","), "Halide versions")
	source = flag.String("source", "", "Halide's sources, to take apps from that are not in apps/")
	names  = flag.String("apps", strings.Join(claim.Apps, ","), "apps")
	beam   = flag.Int("beam", 8, "size of the beam")
	cores  = flag.Int("cores", 2, "cores to schedule for")
	rounds = flag.Int("rounds", 3, "rounds")
)

func main() {
	flag.Parse()
	ctx := claim.Context()
	// One thread: what Adams2019's search has. The garbage collector's share counts.
	runtime.GOMAXPROCS(1)
	holds := true
	var said []string
	for _, version := range strings.Split(*halide, ",") {
		faster, logs, n := 0, 0.0, 0
		largest, most := 0.0, 0
		for _, name := range strings.Split(*names, ",") {
			s := open(ctx, version, name)
			s.compare(ctx)
			children, complete := s.ours/s.theirs, s.complete/s.theirs
			fmt.Printf("%s %-24s %3d Funcs: %8d children, %8.0f a second, Adams2019's %8d, %8.0f: %.2fx; complete %8.0f a second: %.3fx; best %.6g, theirs %.6g\n",
				version, name, s.funcs, s.count, s.ours, s.theirCount, s.theirs, children, s.complete, complete, s.best, s.theirBest)
			if children >= wantChildren {
				faster++
			}
			logs, n = logs+math.Log(complete), n+1
			if s.funcs > most {
				most, largest = s.funcs, complete
			}
		}
		mean := math.Exp(logs / float64(n))
		ok := faster >= wantPipelines && mean >= wantComplete && largest >= wantLargest
		holds = holds && ok
		said = append(said, fmt.Sprintf("Halide %s: as fast on %d of %d pipelines, complete schedules %.2fx in geometric mean, %.2fx on the largest", version, faster, n, mean, largest))
	}
	claim.Say(holds, "%s", strings.Join(said, "; "))
}

// side holds one pipeline and what was measured.
type side struct {
	g     *bridge.Generator
	sp    *space.Space
	x     *feature.Extractor
	m     *cost.Model
	funcs int

	ours, theirs, complete float64 // a second
	count, theirCount      int
	best, theirBest        float64
}

func open(ctx context.Context, version, name string) *side {
	file := claim.Source(name)
	if _, err := os.Stat(file); err != nil && *source != "" {
		found, _ := filepath.Glob(filepath.Join(*source, "apps", name, "*generator.cpp"))
		if len(found) == 0 {
			claim.Fail(fmt.Errorf("there is no app %s", name))
		}
		file = found[0]
	}
	var folders []string
	if *source != "" {
		folders = append(folders, filepath.Join(*source, "apps", "support"))
	}
	o, err := problem.Open(ctx, file, version, *cores, folders...)
	claim.Fail(err)
	return &side{g: o.Gen, sp: o.Space, x: feature.New(o.Space), m: o.Model, funcs: o.Space.Funcs()}
}

func (s *side) compare(ctx context.Context) {
	for round := range *rounds {
		count, took, best := s.adams(ctx)
		s.theirs, s.theirCount, s.theirBest = max(s.theirs, float64(count)/took.Seconds()), count, best
		start := time.Now()
		s.count, s.best = s.search()
		took = time.Since(start)
		s.ours = max(s.ours, float64(s.count)/took.Seconds())
		s.complete = max(s.complete, s.draw(rand.New(rand.NewSource(int64(round))), took))
	}
}

var (
	evaluated = regexp.MustCompile(`(?m)^Cost evaluated this many times: (\d+)$`)
	passed    = regexp.MustCompile(`(?m)^Pass 0 of 1, cost: .*, time \(ms\): (\d+)$`)
	bestCost  = regexp.MustCompile(`(?m)^Best cost: (.*)$`)
)

// adams lets Adams2019 search and returns how many states it costed in what time.
func (s *side) adams(ctx context.Context) (count int, took time.Duration, best float64) {
	dir := claim.TempDir()
	cmd := exec.CommandContext(ctx, s.g.Binary, "-o", dir, "-g", s.g.Name, "-f", "x", "-n", "x", "-e", "schedule",
		"-p", s.g.Toolchain.Halide.Plugins["adams2019"], "autoscheduler=Adams2019", "target=host",
		fmt.Sprintf("autoscheduler.parallelism=%d", *cores), fmt.Sprintf("autoscheduler.beam_size=%d", *beam))
	cmd.Env = append(os.Environ(), "HL_DEBUG_AUTOSCHEDULE=1", "HL_NUM_PASSES=1", bridge.PermitUnroll, "HL_NUM_THREADS=1")
	var words bytes.Buffer
	cmd.Stderr = &words
	if err := cmd.Run(); err != nil {
		claim.Fail(fmt.Errorf("Adams2019 on %s: %w", s.g.Name, err))
	}
	number := func(r *regexp.Regexp) float64 {
		found := r.FindStringSubmatch(words.String())
		if found == nil {
			claim.Fail(fmt.Errorf("Adams2019 on %s printed no %v", s.g.Name, r))
		}
		v, err := strconv.ParseFloat(found[1], 64)
		claim.Fail(err)
		return v
	}
	return int(number(evaluated)), max(time.Millisecond, time.Duration(number(passed))*time.Millisecond), number(bestCost)
}

// costed is a state with its cost.
type costed struct {
	s    *space.State
	cost float64
}

// search is the same search with ours: of the states after so many decisions the
// best ones are expanded. States that skip decisions with nothing to decide wait.
func (s *side) search() (count int, best float64) {
	level := []costed{{s.sp.Start(), math.Inf(1)}}
	var actions []space.Action
	var features []feature.Schedule
	for depth := 0; ; depth++ {
		slices.SortStableFunc(level, func(a, b costed) int { return cmp.Compare(a.cost, b.cost) })
		if level[0].s.Complete() && depth >= level[0].s.Depth() {
			return count, level[0].cost
		}
		var next []costed
		for _, e := range level[:min(len(level), *beam)] {
			if e.s.Depth() > depth {
				next = append(next, e)
				continue
			}
			actions = e.s.Actions(actions[:0])
			for _, a := range actions {
				child := e.s.Next(a)
				features = s.x.Features(child, features[:0])
				next = append(next, costed{child, s.m.Predict(features)})
				count++
			}
		}
		level = next
	}
}

// draw makes complete schedules for as long and says how many a second.
func (s *side) draw(rng *rand.Rand, long time.Duration) float64 {
	var features []feature.Schedule
	start := time.Now()
	for n := 1.0; ; n++ {
		features = s.x.Features(s.sp.Start().SampleDown(rng), features[:0])
		s.m.Predict(features)
		if took := time.Since(start); took >= long {
			return n / took.Seconds()
		}
	}
}

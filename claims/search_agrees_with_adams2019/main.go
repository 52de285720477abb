// Claim: greedy search and the beam of 32 with five passes find schedules whose
// predicted cost is at most 1.001 times that of what Halide's Adams2019 finds with
// the same beam, weights and cores, on every Generator that it finishes, under both
// Halides. Run on apps/, and on every Generator of a folder of apps given as
// argument (that of a checkout of Halide v21.0.0, say).
//
//	go run ./claims/search_agrees_with_adams2019 [-only harris,hist] [-beams 1,32] [-halide 21.0.0] [-limit 5m] [FOLDER]
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/claims/mcts_beats_beam/problem"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/search"
)

const (
	cores = 2
	bar   = 1.001
	// What Adams2019 may hold, as address space: some Generators take all there is.
	memory = 12 << 30
)

func main() {
	only := flag.String("only", "", "names of Generators, comma-separated; default all")
	beams := flag.String("beams", "1,32", "beam sizes")
	versions := flag.String("halide", strings.Join(bridge.TestedVersions, ","), "versions of Halide")
	limit := flag.Duration("limit", 5*time.Minute, "time Adams2019 may take for one search")
	flag.Parse()
	ctx := claim.Context()

	sources, err := filepath.Glob(filepath.Join("apps", "*", "*_generator.cpp"))
	claim.Fail(err)
	if dir := flag.Arg(0); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*", "*generator.cpp"))
		claim.Fail(err)
		sources = append(sources, more...)
	}
	compared, held, worst, where := 0, 0, 0.0, "-"
	for _, version := range strings.Split(*versions, ",") {
		for _, source := range sources {
			name := strings.TrimSuffix(filepath.Base(source), "_generator.cpp")
			if *only != "" && !slices.Contains(strings.Split(*only, ","), name) {
				continue
			}
			o, err := problem.Open(ctx, source, version, cores, filepath.Join(flag.Arg(0), "support"))
			if err != nil {
				text, _, _ := strings.Cut(err.Error(), "\n")
				fmt.Printf("%s (Halide %s): not opened: %s\n", source, version, text)
				continue
			}
			for _, b := range strings.Split(*beams, ",") {
				size, err := strconv.Atoi(b)
				claim.Fail(err)
				theirs, err := adams(ctx, o.Gen, size, *limit)
				if err != nil {
					fmt.Printf("%s (Halide %s), beam %d: Adams2019 does not finish: %v\n", source, version, size, err)
					continue
				}
				opt := search.BeamDefaults()
				opt.Size = size
				ours, err := search.NewBeam(opt).Search(ctx, o.Problem(1), search.Budget{}, 1)
				claim.Fail(err)
				ratio := ours.Cost / theirs.cost
				fmt.Printf("%s (Halide %s), beam %d: %.6g, theirs %.6g: %.4fx; %d costs in %v, theirs %d in %v\n",
					source, version, size, ours.Cost, theirs.cost, ratio, ours.Evaluations, ours.Elapsed.Round(time.Millisecond), theirs.evaluations, theirs.took.Round(time.Millisecond))
				compared++
				if ratio <= bar {
					held++
				}
				if ratio > worst {
					worst, where = ratio, name
				}
			}
		}
	}
	if compared == 0 {
		claim.Fail(fmt.Errorf("nothing was compared"))
	}
	claim.Say(held == compared, "%d of %d searches end at most %.3fx as dear as Adams2019's; worst %.4fx (%s)", held, compared, bar, worst, where)
}

type found struct {
	cost        float64
	evaluations int
	took        time.Duration
}

var (
	bestCost = regexp.MustCompile(`(?m)^Best cost: (.*)$`)
	counted  = regexp.MustCompile(`(?m)^Cost evaluated this many times: (\d+)$`)
)

// adams lets Adams2019 search.
func adams(ctx context.Context, g *bridge.Generator, beam int, limit time.Duration) (found, error) {
	dir, err := os.MkdirTemp("", "claim-")
	claim.Fail(err)
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, memory>>10), g.Binary,
		"-o", dir, "-g", g.Name, "-f", "x", "-n", "x", "-e", "schedule",
		"-p", g.Toolchain.Halide.Plugins["adams2019"], "autoscheduler=Adams2019", "target="+g.Target(),
		fmt.Sprintf("autoscheduler.parallelism=%d", cores), fmt.Sprintf("autoscheduler.beam_size=%d", beam))
	var words bytes.Buffer
	cmd.Stderr = &words
	cmd.Env = append(os.Environ(), "HL_DEBUG_AUTOSCHEDULE=1", "HL_PERMIT_FAILED_UNROLL=1", "HL_NUM_THREADS=1")
	start := time.Now()
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return found{}, fmt.Errorf("not within %v", limit)
		}
		text := strings.TrimSpace(words.String())
		return found{}, fmt.Errorf("%w: %s", err, text[strings.LastIndexByte(text, '\n')+1:])
	}
	f := found{took: time.Since(start)}
	if m := bestCost.FindStringSubmatch(words.String()); m != nil {
		f.cost, err = strconv.ParseFloat(m[1], 64)
	}
	if m := counted.FindStringSubmatch(words.String()); m != nil && err == nil {
		f.evaluations, err = strconv.Atoi(m[1])
	}
	if err != nil || f.cost <= 0 {
		return found{}, fmt.Errorf("it printed no cost")
	}
	return f, nil
}

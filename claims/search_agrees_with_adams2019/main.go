// Claim: greedy search and the beam of 32 with five passes find schedules whose
// predicted cost is at most 1.001 times that of what Halide's Adams2019 finds with
// the same beam, weights and cores, on every Generator that it finishes, under both
// Halides; where ours cannot open one it does not hold, and one that does not compile
// with a Halide neither of the two searches there. Run on the Generators of apps/ and the
// made-up ones of halide/testdata, and on those of Halide's apps where a folder of its
// source is given. With -narrow both search without subtiling, with -memory both keep a
// limit on allocations.
//
//	go run ./claims/search_agrees_with_adams2019 [-only harris,hist] [-beams 1,32] [-halide 21.0.0] [-cores 2] [-limit 5m] [-narrow] [-memory BYTES] [HALIDE_SOURCE]
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/claims/oracle"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/search"
)

const (
	bar = 1.001
	// What Adams2019 may hold, as address space: some Generators take all there is.
	memory = 12 << 30
)

func main() {
	only := flag.String("only", "", "names of Generators, comma-separated; default all")
	beams := flag.String("beams", "1,32", "beam sizes")
	versions := flag.String("halide", strings.Join(bridge.TestedVersions, ","), "versions of Halide")
	cores := flag.Int("cores", 2, "cores that schedules are for")
	limit := flag.Duration("limit", 5*time.Minute, "time Adams2019 may take for one search")
	narrow := flag.Bool("narrow", false, "search the space without subtiling")
	most := flag.Int64("memory", 0, "limit on what a schedule allocates, in bytes; 0 for none")
	flag.Parse()
	ctx := claim.Context()

	generators, include, err := oracle.Suite(flag.Arg(0))
	claim.Fail(err)
	compared, held, counted, unopened, worst, where := 0, 0, 0, 0, 0.0, "-"
	for _, version := range strings.Split(*versions, ",") {
		options := oracle.Defaults(version)
		options.Include, options.Cores, options.Narrow, options.Memory = include, *cores, *narrow, *most
		for _, g := range oracle.Named(generators, *only) {
			dir := claim.TempDir()
			o, err := oracle.Open(ctx, g.File, g.Name, dir, options)
			if err != nil {
				text, _, _ := strings.Cut(err.Error(), "\n")
				fmt.Printf("%s (Halide %s): not opened: %s\n", g, version, text)
				claim.Fail(ctx.Err())
				if !oracle.NotCompiled(err) {
					unopened++
				}
				continue
			}
			for _, b := range strings.Split(*beams, ",") {
				size, err := strconv.Atoi(b)
				claim.Fail(err)
				theirs, err := adams(ctx, o, size, *limit)
				if err != nil {
					fmt.Printf("%s (Halide %s), beam %d: Adams2019 does not finish: %v\n", g.File, version, size, err)
					continue
				}
				opt := search.BeamDefaults()
				opt.Size = size
				p := search.Problem{Root: search.Start(o.Space), Evaluator: search.NewModelEvaluator(o.Space, o.Model), Workers: 1}
				ours, err := search.NewBeam(opt).Search(ctx, p, search.Budget{}, 1)
				claim.Fail(err)
				ratio := ours.Cost / theirs.cost
				fmt.Printf("%s %s (Halide %s), beam %d: %.6g, theirs %.6g: %.4fx; %d costs in %v, theirs %d in %v\n",
					g.File, g.Name, version, size, ours.Cost, theirs.cost, ratio, ours.Evaluations, ours.Elapsed.Round(time.Millisecond), theirs.evaluations, theirs.took.Round(time.Millisecond))
				compared++
				if ratio <= bar {
					held++
				}
				if ours.Evaluations == int64(theirs.evaluations) {
					counted++
				}
				if ratio > worst {
					worst, where = ratio, g.String()
				}
			}
			claim.Fail(os.RemoveAll(dir))
		}
	}
	if compared == 0 {
		claim.Fail(fmt.Errorf("nothing was compared"))
	}
	claim.Say(held == compared && unopened == 0,
		"%d of %d searches end at most %.3fx as dear as Adams2019's, %d after as many costs as its; worst %.4fx (%s); %d Generators that ours cannot open (bar 0)",
		held, compared, bar, counted, worst, where, unopened)
}

type found struct {
	cost        float64
	evaluations int
	took        time.Duration
}

var (
	bestCost = regexp.MustCompile(`(?m)^Best cost: (.*)$`)
	counts   = regexp.MustCompile(`(?m)^Cost evaluated this many times: (\d+)$`)
)

// adams lets Adams2019 search.
func adams(ctx context.Context, o *oracle.Oracle, beam int, limit time.Duration) (found, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := append([]string{"-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, memory>>10), o.Gen.Binary}, o.Arguments(beam)...)
	cmd := exec.CommandContext(ctx, "sh", args...)
	var words bytes.Buffer
	cmd.Stderr = &words
	cmd.Env = append(os.Environ(), "HL_DEBUG_AUTOSCHEDULE=1", bridge.PermitUnroll, "HL_NUM_THREADS=1")
	start := time.Now()
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return found{}, fmt.Errorf("not within %v", limit)
		}
		text := strings.TrimSpace(words.String())
		return found{}, fmt.Errorf("%w: %s", err, text[strings.LastIndexByte(text, '\n')+1:])
	}
	f := found{took: time.Since(start)}
	var err error
	if m := bestCost.FindStringSubmatch(words.String()); m != nil {
		f.cost, err = strconv.ParseFloat(m[1], 64)
	}
	if m := counts.FindStringSubmatch(words.String()); m != nil && err == nil {
		f.evaluations, err = strconv.Atoi(m[1])
	}
	if err != nil || f.cost <= 0 {
		return found{}, fmt.Errorf("it printed no cost")
	}
	return f, nil
}

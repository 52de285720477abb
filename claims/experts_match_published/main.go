// Claim: on every app that the Halide project publishes a schedule for processors for,
// ours computes the same output from the same input and takes at most 1.03 times as
// long. Usage: experts_match_published [flags] HALIDE_SOURCE, a checkout of Halide
// v21.0.0, to be fetched for this; nothing of it is kept.
//
// Both are compiled ahead of time and run by Halide's own RunGen in fresh processes,
// one after the other in every round, in either order. A ratio is the median over the
// rounds of the fastest lap of one over that of the other.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
)

const bar = 1.03

var (
	names   = flag.String("apps", strings.Join(published, ","), "apps")
	rounds  = flag.Int("rounds", 15, "rounds of the race; 0 to build and compare only")
	seconds = flag.Float64("seconds", 0.3, "time that each of the two is run for in a round")
	keep    = flag.String("dir", "", "folder that builds are kept in and taken from, each version of an app in a folder of its own, so that building and racing can be done apart")
)

// published are those that there is something to compare with for. mat_mul's schedule
// there is for GPUs alone and resnet50 has next to none.
var published = []string{
	"bgu", "bilateral_grid", "camera_pipe", "conv_layer", "depthwise_separable_conv", "harris", "hist", "iir_blur",
	"interpolate", "lens_blur", "local_laplacian", "max_filter", "nl_means", "sobel", "stencil_chain", "unsharp",
}

// folders of Generators there, under apps/, that are not named like ours.
var folders = map[string]string{"sobel": "hexagon_benchmarks"}

// sizes of inputs and output where the two Generators' estimates do not agree, or their
// outputs at those: camera_pipe's there is cut to whole pairs of the widest vectors, sobel's
// has no estimates.
var sizes = map[string]struct {
	inputs []string
	output string
}{
	"camera_pipe":              {[]string{"[2624,1976]", "[4,3]", "[4,3]"}, "[2560,1952,3]"},
	"depthwise_separable_conv": {[]string{"[32,112,112,4]", "[1,32,3,3]", "[16,32]", "[16]"}, "[16,112,112,4]"},
	"sobel":                    {[]string{"[1536,2560]"}, "[1536,2560]"},
}

func main() {
	flag.Parse()
	if flag.NArg() != 1 {
		claim.Fail(fmt.Errorf("name a checkout of Halide's sources"))
	}
	// nl_means there unrolls a reduction whose extent is not constant.
	os.Setenv("HL_PERMIT_FAILED_UNROLL", "1")
	ctx := claim.Context()
	dir := *keep
	if dir == "" {
		dir = claim.TempDir()
	}
	rng := rand.New(rand.NewSource(1))
	holds, worst, worstApp := true, 0.0, ""
	var all []float64
	var disagree error
	apps := strings.Split(*names, ",")
	for _, app := range apps {
		sides := [2]*contender{
			open(ctx, app, filepath.Join("apps", app), filepath.Join(dir, app, "ours"), nil),
			open(ctx, app, filepath.Join(flag.Arg(0), "apps", cmp.Or(folders[app], app)), filepath.Join(dir, app, "theirs"),
				[]string{"-I" + filepath.Join(flag.Arg(0), "apps", "support")}),
		}
		share := differing(sides[0].output(ctx), sides[1].output(ctx))
		if share > 1e-3 {
			disagree = errors.Join(disagree, fmt.Errorf("%s computes something else", app))
		}
		var ratios, ours, theirs []float64
		for range *rounds {
			var took [2]float64
			for _, side := range rng.Perm(2) {
				took[side] = sides[side].lap(ctx)
			}
			ours, theirs, ratios = append(ours, took[0]), append(theirs, took[1]), append(ratios, took[0]/took[1])
		}
		if *rounds == 0 {
			fmt.Printf("%-26s %.4f%% of the values differ\n", app, 100*share)
			continue
		}
		ratio := measure.Median(ratios)
		fmt.Printf("%-26s ours %8.3f ms, theirs %8.3f ms, ratio %.3f (%.3f to %.3f), %.4f%% of the values differ\n", app,
			measure.Median(ours), measure.Median(theirs), ratio, slices.Min(ratios), slices.Max(ratios), 100*share)
		holds = holds && ratio <= bar
		all = append(all, ratio)
		if ratio > worst {
			worst, worstApp = ratio, app
		}
	}
	if *rounds == 0 {
		fmt.Printf("the outputs of %d apps were compared; nothing was timed, so nothing is claimed\n", len(apps))
		claim.Fail(disagree)
		return
	}
	claim.SayOf(claim.Covers(apps, published), holds && disagree == nil, "%d apps, geometric mean %.3f of the published schedules' times, worst %.3f (%s)",
		len(apps), measure.GeometricMean(all), worst, worstApp)
}

// contender is a Generator with its own schedule, built to be run by RunGen.
type contender struct {
	app, dir, program string
	arguments         []string
	out               string // name of the output
}

var rungen *claim.RunGen

func open(ctx context.Context, app, source, dir string, flags []string) *contender {
	g, err := bridge.Open(ctx, bridge.Options{Path: filepath.Join(source, app+"_generator.cpp"), CompileFlags: flags})
	claim.Fail(err)
	dir = filepath.Join(dir, version(g))
	c := &contender{app: app, dir: dir, program: filepath.Join(dir, "rungen")}
	if _, err := os.Stat(c.program); err != nil {
		claim.Fail(os.MkdirAll(dir, 0o755))
		claim.Fail(g.Emit(ctx, "", nil, bridge.Limits{}, bridge.Emission{
			Dir: dir, Function: app, Outputs: []string{"static_library", "c_header", "registration"},
		}))
		if rungen == nil {
			r := claim.NewRunGen(ctx, g.Toolchain.Halide, dir)
			rungen = &r
		}
		rungen.Link(ctx, dir, app)
	}
	c.describe(claim.Run(ctx, c.program, "--describe"))
	return c
}

// version names a Generator by what it is made from: its program, which holds all that it
// was compiled from, and Halide.
func version(g *bridge.Generator) string {
	program, err := os.ReadFile(g.Binary)
	claim.Fail(err)
	h := sha256.New()
	h.Write(program)
	io.WriteString(h, g.Toolchain.Halide.Version)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

var (
	inputName  = regexp.MustCompile(`Input "(\w+)" is of type Buffer`)
	outputName = regexp.MustCompile(`Output "(\w+)"`)
)

// describe reads from RunGen's description what buffers there are, in the order in
// which both Generators have them: their names may differ.
func (c *contender) describe(text string) {
	found := outputName.FindStringSubmatch(text)
	if found == nil {
		claim.Fail(fmt.Errorf("%s has no output: %s", c.program, text))
	}
	c.out = found[1]
	size, fixed := sizes[c.app]
	if !fixed {
		c.arguments = []string{"--estimate_all", "--default_input_buffers=random:1:estimate"}
		return
	}
	c.arguments = []string{"--default_input_scalars=estimate,default", "--output_extents=" + size.output}
	for i, m := range inputName.FindAllStringSubmatch(text, -1) {
		c.arguments = append(c.arguments, fmt.Sprintf("%s=random:1:%s", m[1], size.inputs[i]))
	}
}

// output runs it once and returns the file that holds what came out.
func (c *contender) output(ctx context.Context) string {
	file := filepath.Join(c.dir, "out.npy")
	claim.Run(ctx, c.program, append(slices.Clone(c.arguments), c.out+"="+file)...)
	return file
}

var bestTime = regexp.MustCompile(`BEST_TIME_MSEC_PER_ITER\s+(\S+)`)

// lap is the fastest run of a fresh process, in milliseconds.
func (c *contender) lap(ctx context.Context) float64 {
	words := claim.Run(ctx, c.program, append(slices.Clone(c.arguments), "--parsable_output", "--benchmarks=all",
		fmt.Sprintf("--benchmark_min_time=%g", *seconds))...)
	found := bestTime.FindStringSubmatch(words)
	if found == nil {
		claim.Fail(fmt.Errorf("%s told no time: %s", c.program, words))
	}
	ms, err := strconv.ParseFloat(found[1], 64)
	claim.Fail(err)
	return ms
}

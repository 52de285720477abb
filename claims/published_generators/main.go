// Claim: on Generators of the Halide project that nothing here was written after, half a
// minute from nothing ends in a schedule that computes the right thing and is faster in
// geometric mean than the one that each is published with. Usage: published_generators
// [flags] HALIDE_SOURCE, a checkout of Halide v21.0.0, to be fetched for this; nothing of
// it is kept.
//
// Some have no estimates, or schedule themselves whoever asks: in a copy of those the
// estimates and the question are written in. Published schedules for processors are next to
// none for the five that are meant for Hexagon and for daubechies_x.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/report"
	"github.com/protuner/protuner/internal/tune"
)

// published is one of them.
type published struct {
	name, source string
	generator    string // where the file registers several
	params       []bridge.Param
	include      []string // folders of the checkout
	// after a line with this text come estimates and, last, what leaves the rest of the
	// schedule to others; empty: the Generator is taken as it is.
	after, estimates string
}

const gray = "input.set_estimates({{0, 1920}, {0, 1080}}); output.set_estimates({{0, 1920}, {0, 1080}});"

func filter(name, more string) published {
	return published{name: name, source: "apps/hexagon_benchmarks/" + name + "_generator.cpp", after: "void schedule() {", estimates: gray + more}
}

func resize(name, upsample string, from, to [2]int, scale string) published {
	return published{
		name: name, source: "apps/resize/resize_generator.cpp", after: "void schedule() {",
		params: []bridge.Param{{Name: "input.type", Value: "float32"}, {Name: "output.type", Value: "float32"}, {Name: "upsample", Value: upsample}},
		estimates: fmt.Sprintf("input.set_estimates({{0, %d}, {0, %d}, {0, 3}}); output.set_estimates({{0, %d}, {0, %d}, {0, 3}}); scale_factor.set_estimate(%s);",
			from[0], from[1], to[0], to[1], scale),
	}
}

const model = "src/autoschedulers/adams2019/"

var generators = []published{
	{name: "compositing", source: "apps/compositing/compositing_generator.cpp"},
	{name: "train_cost_model", source: model + "cost_model_generator.cpp", generator: "train_cost_model", include: []string{model, "src/autoschedulers/common"}},
	{name: "simple_blur", source: "apps/linear_blur/simple_blur_generator.cpp",
		params: []bridge.Param{{Name: "input.type", Value: "uint8"}, {Name: "input.dim", Value: "3"}}},
	resize("resize_down", "false", [2]int{1920, 1080}, [2]int{960, 540}, "0.5f"),
	resize("resize_up", "true", [2]int{960, 540}, [2]int{1920, 1080}, "2.0f"),
	filter("conv3x3", " mask.set_estimates({{0, 3}, {0, 3}});"), filter("dilate3x3", ""), filter("gaussian5x5", ""),
	filter("median3x3", ""), filter("sobel", ""),
	{name: "daubechies_x", source: "apps/wavelet/daubechies_x_generator.cpp", include: []string{"apps/wavelet"},
		after:     "D3 * in(2 * x - 1, y) - D2 * in(2 * x, y) + D1 * in(2 * x + 1, y) - D0 * in(2 * x + 2, y)});",
		estimates: "in_.set_estimates({{0, 1920}, {0, 1080}}); out_.set_estimates({{0, 960}, {0, 1080}, {0, 2}});"},
}

// options has p tuned, in a copy in dir where that is needed.
func (p published) options(checkout, dir string) (tune.Options, error) {
	o := tune.Defaults()
	o.Generator = bridge.Options{Path: filepath.Join(checkout, p.source), Name: p.generator, Params: p.params}
	for _, i := range p.include {
		o.Generator.CompileFlags = append(o.Generator.CompileFlags, "-I"+filepath.Join(checkout, i))
	}
	o.DB = filepath.Join(dir, p.name+".db")
	if p.after == "" {
		return o, nil
	}
	text, err := os.ReadFile(o.Generator.Path)
	if err != nil {
		return o, err
	}
	before, rest, ok := bytes.Cut(text, []byte(p.after))
	if !ok {
		return o, fmt.Errorf("%s has no line with %q", o.Generator.Path, p.after)
	}
	o.Generator.Path = filepath.Join(dir, p.name+"_generator.cpp")
	written := string(before) + p.after + "\n" + p.estimates + "\nif (using_autoscheduler()) return;\n" + string(rest)
	return o, os.WriteFile(o.Generator.Path, []byte(written), 0o600)
}

func main() {
	budget := flag.Duration("budget", 30*time.Second, "time for each")
	seed := flag.Int64("seed", 1, "seed")
	names := flag.String("only", "", "names, all where none are given")
	flag.Parse()
	if flag.NArg() != 1 {
		claim.Fail(fmt.Errorf("name a checkout of Halide's sources"))
	}
	ctx := claim.Context()
	dir, err := os.MkdirTemp("", "claim-")
	claim.Fail(err)
	defer os.RemoveAll(dir)
	var own, beam []float64
	var missing, lines []string
	least := ""
	for _, p := range generators {
		if *names != "" && !slices.Contains(strings.Split(*names, ","), p.name) {
			continue
		}
		o, err := p.options(flag.Arg(0), dir)
		claim.Fail(err)
		o.Budget, o.Seed, o.Seeds, o.Baselines = *budget, *seed, nil, []string{"own", "adams2019"}
		o.BaselineLimits.Time = time.Minute
		r, err := tune.Run(ctx, o, tune.Events{}, make(chan struct{}))
		if err != nil {
			claim.Fail(ctx.Err())
			missing = append(missing, p.name)
			fmt.Printf("%s: %v\n", p.name, err)
			continue
		}
		report.Tuned(os.Stdout, r)
		line := p.name
		for i, all := range []*[]float64{&own, &beam} {
			v := r.Baselines[i].Verdict
			if v == nil {
				line += " -"
				continue
			}
			*all = append(*all, v.Ratio.Value)
			line += fmt.Sprintf(" %.2f [%.2f, %.2f]", v.Ratio.Value, v.Ratio.Low, v.Ratio.High)
			if i == 0 && v.Ratio.Value == slices.Min(own) {
				least = p.name
			}
		}
		lines = append(lines, line)
	}
	if len(own) == 0 {
		claim.Fail(fmt.Errorf("none was raced against its own schedule; not tuned: %s", strings.Join(missing, ", ")))
	}
	fmt.Printf("\nhow many times as fast as its own schedule, and as Adams2019's beam where that ends:\n%s\n", strings.Join(lines, "\n"))
	said := fmt.Sprintf("%.2f times as fast as their own schedules in geometric mean of %d, the least %.2f (%s)",
		measure.GeometricMean(own), len(own), slices.Min(own), least)
	if len(beam) > 0 {
		said += fmt.Sprintf("; %.2f times as fast as the beam of %d", measure.GeometricMean(beam), len(beam))
	}
	if len(missing) > 0 {
		said += "; not tuned: " + strings.Join(missing, ", ")
	}
	claim.Say(len(missing) == 0 && measure.GeometricMean(own) > 1, "%s", said)
}

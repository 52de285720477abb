// Claim: on Generators of the Halide project that nothing here was written after, half a
// minute from nothing ends in a schedule that computes the right thing and is faster in
// geometric mean than the one that each is published with. Usage: published_generators
// [flags] HALIDE_SOURCE, a checkout of Halide v21.0.0, to be fetched for this; nothing of
// it is kept.
//
// Some have no estimates, or schedule themselves whoever asks: in a copy of those the
// estimates and the question are written in. Published schedules for processors are next to
// none for the five that are meant for Hexagon and for both Daubechies wavelets, and those of
// the operators on bytes are serial.
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
	"github.com/protuner/protuner/internal/tune"
)

// published is one of them.
type published struct {
	name, source string
	generator    string // where the file registers several
	params       []bridge.Param
	include      []string // folders of the checkout
	with         []string // sources that belong to it
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

// operator is one of the operators on bytes of hannk, which runs quantised networks; their
// helpers are in a source of their own.
func operator(name, source, generator, after, estimates string, params ...bridge.Param) published {
	return published{
		name: name, source: "apps/hannk/halide/" + source + "_generator.cpp", generator: generator, params: params,
		include: []string{"apps/hannk"}, with: []string{"apps/hannk/halide/common_halide.cpp"}, after: after, estimates: estimates,
	}
}

// What operators have in common: how sums become bytes, a filter's steps, a layer's size.
const (
	quantised = `output_multiplier_.set_estimate(1 << 30); output_shift_.set_estimate(8); output_zero_.set_estimate((uint8_t)0);` + bounded
	bounded   = `output_min_.set_estimate((uint8_t)0); output_max_.set_estimate((uint8_t)255);`
	steps     = `stride_x_.set_estimate(1); stride_y_.set_estimate(1); dilation_x_.set_estimate(1); dilation_y_.set_estimate(1);
		input_zero_.set_estimate((uint8_t)128); filter_zero_.set_estimate((uint8_t)128);`
	layer = "bias_.set_estimates({{0, 128}}); output_.set_estimates({{0, 128}, {0, 56}, {0, 56}, {0, 1}});" + quantised + steps
	pool  = `input_.set_estimates({{0, 192}, {0, 57}, {0, 57}, {0, 1}}); output_.set_estimates({{0, 192}, {0, 28}, {0, 28}, {0, 1}});
		stride_x_.set_estimate(2); stride_y_.set_estimate(2); filter_width_.set_estimate(3); filter_height_.set_estimate(3);` + bounded
	rows = "input_.set_estimates({{0, 1024}, {0, 512}}); output_.set_estimates({{0, 1024}, {0, 512}});"
)

// aligned is where what conv asks of its buffers ends and its schedule begins.
const aligned = "input_.dim(d).set_stride(align(input_.dim(d).stride(), input_alignment));\n        }"

const daubechies = "apps/wavelet/"

var generators = []published{
	{name: "compositing", source: "apps/compositing/compositing_generator.cpp"},
	{name: "train_cost_model", source: model + "cost_model_generator.cpp", generator: "train_cost_model", include: []string{model, "src/autoschedulers/common"}},
	{name: "simple_blur", source: "apps/linear_blur/simple_blur_generator.cpp",
		params: []bridge.Param{{Name: "input.type", Value: "uint8"}, {Name: "input.dim", Value: "3"}}},
	resize("resize_down", "false", [2]int{1920, 1080}, [2]int{960, 540}, "0.5f"),
	resize("resize_up", "true", [2]int{960, 540}, [2]int{1920, 1080}, "2.0f"),
	filter("conv3x3", " mask.set_estimates({{0, 3}, {0, 3}});"), filter("dilate3x3", ""), filter("gaussian5x5", ""),
	filter("median3x3", ""), filter("sobel", ""),
	{name: "daubechies_x", source: daubechies + "daubechies_x_generator.cpp", include: []string{daubechies},
		after:     "D3 * in(2 * x - 1, y) - D2 * in(2 * x, y) + D1 * in(2 * x + 1, y) - D0 * in(2 * x + 2, y)});",
		estimates: "in_.set_estimates({{0, 1920}, {0, 1080}}); out_.set_estimates({{0, 960}, {0, 1080}, {0, 2}});"},
	{name: "inverse_daubechies_x", source: daubechies + "inverse_daubechies_x_generator.cpp", include: []string{daubechies},
		after:     "D1 * in(x / 2 + 1, y, 0) - D2 * in(x / 2 + 1, y, 1));",
		estimates: "in_.set_estimates({{0, 960}, {0, 1080}, {0, 2}}); out_.set_estimates({{0, 1920}, {0, 1080}});"},
	operator("conv", "conv", "Conv", aligned, `input_.set_estimates({{0, 64}, {0, 58}, {0, 58}, {0, 1}});
		filter_.set_estimates({{0, vector_reduction}, {0, accum_vector_size}, {0, 64 / vector_reduction}, {0, 128 / accum_vector_size}, {0, 3}, {0, 3}});`+layer,
		bridge.Param{Name: "output.type", Value: "uint8"}),
	operator("depthwise_conv", "depthwise_conv", "DepthwiseConv", aligned[:len(aligned)-1]+"    }\n        }",
		"input_.set_estimates({{0, 128}, {0, 58}, {0, 58}, {0, 1}}); filter_.set_estimates({{0, 128}, {0, 3}, {0, 3}}); input_stride_x_.set_estimate(0);"+layer),
	operator("average_pool", "pool", "AveragePool", "output_(c, x, y, b) = clamp(u8_sat(average), output_min_, output_max_);", pool),
	operator("max_pool", "pool", "MaxPool", "output_(c, x, y, b) = min(maximum(c, x, y, b), output_max_);", pool),
	operator("mean", "reductions", "Mean", "output_(c, x, y, b) = u8((sum(c, x, y, b) + extent / 2) / extent);",
		`input_.set_estimates({{0, 1280}, {0, 14}, {0, 14}, {0, 8}}); output_.set_estimates({{0, 1280}, {0, 1}, {0, 1}, {0, 8}});
		c_min_.set_estimate(0); c_extent_.set_estimate(1); x_min_.set_estimate(0); x_extent_.set_estimate(14);
		y_min_.set_estimate(0); y_extent_.set_estimate(14); b_min_.set_estimate(0); b_extent_.set_estimate(1);`),
	operator("l2_normalization", "normalizations", "L2Normalization", "output_(x, y) = u8_sat(saturating_add(output, i16(128)));", rows+"input_zero_.set_estimate((uint8_t)128);"),
	operator("quantised_softmax", "normalizations", "Softmax", "output_(x, y) = u8_sat(saturating_add(output, output_zero_));", rows+`
		beta_multiplier_.set_estimate((int16_t)23637); beta_shift_.set_estimate((uint16_t)7); output_zero_.set_estimate((uint8_t)0);
		output_multiplier_.set_estimate((int16_t)16384); output_shift_.set_estimate((uint16_t)6);`),
	{name: "sgemm", source: "apps/linear_algebra/src/blas_l3_generators.cpp", generator: "sgemm", after: "result_(i, j) = (a_ * ABt(i, j) + b_ * C_(i, j));",
		estimates: `A_.set_estimates({{0, 1024}, {0, 1024}}); B_.set_estimates({{0, 1024}, {0, 1024}}); C_.set_estimates({{0, 1024}, {0, 1024}});
		result_.set_estimates({{0, 1024}, {0, 1024}}); a_.set_estimate(T(1)); b_.set_estimate(T(1));
		A_.dim(0).set_min(0).dim(1).set_min(0); B_.dim(0).set_bounds(0, sum_size).dim(1).set_min(0);
		C_.dim(0).set_bounds(0, num_rows); C_.dim(1).set_bounds(0, num_cols); result_.dim(0).set_bounds(0, num_rows).dim(1).set_bounds(0, num_cols);`},
	{name: "reaction_diffusion", source: "apps/HelloWasm/generator/reaction_diffusion_generator.cpp", generator: "reaction_diffusion_update",
		after: "state.dim(2).set_bounds(0, 3);", estimates: `state.set_estimates({{0, 1024}, {0, 1024}, {0, 3}}); new_state.set_estimates({{0, 1024}, {0, 1024}, {0, 3}});
		mouse_x.set_estimate(300); mouse_y.set_estimate(300); frame.set_estimate(7); new_state.bound(c, 0, 3);`},
}

// options has p tuned, in a copy in dir where that is needed.
func (p published) options(checkout, dir string) (tune.Options, error) {
	o := tune.Defaults()
	o.Generator = bridge.Options{Path: filepath.Join(checkout, p.source), Name: p.generator, Params: p.params}
	for _, i := range p.include {
		o.Generator.CompileFlags = append(o.Generator.CompileFlags, "-I"+filepath.Join(checkout, i))
	}
	for _, s := range p.with {
		o.Generator.CompileFlags = append(o.Generator.CompileFlags, "-include", filepath.Join(checkout, s))
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
	written := string(before) + p.after + "\n" + p.estimates + "\nif (this->using_autoscheduler()) return;\n" + string(rest)
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
	dir := claim.TempDir()
	var chosen []string
	for _, p := range generators {
		if *names == "" || slices.Contains(strings.Split(*names, ","), p.name) {
			chosen = append(chosen, p.name)
		}
	}
	claim.AgainstOwn(claim.Context(), chosen, func(name string) (tune.Options, error) {
		p := generators[slices.IndexFunc(generators, func(p published) bool { return p.name == name })]
		o, err := p.options(flag.Arg(0), dir)
		o.Budget, o.Seed = *budget, *seed
		return o, err
	})
}

// Package problem is what claims about searches share: a Generator as a problem to
// search, with Adams et al.'s space and the weights that Halide ships.
package problem

import (
	"context"
	"path/filepath"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/tune"
)

// Opened is a Generator with a space and a model of it.
type Opened struct {
	Gen   *bridge.Generator
	Space *space.Space
	Model *cost.Model
}

// Open opens a Generator's source with the installed Halide of a version, for so
// many cores. Folders are where its headers are.
func Open(ctx context.Context, source, version string, cores int, folders ...string) (*Opened, error) {
	return OpenFor(ctx, source, version, "host", space.Adams(cores), folders...)
}

// OpenFor is Open for a Halide target, this host's being "host", in another space.
func OpenFor(ctx context.Context, source, version, target string, so space.Options, folders ...string) (*Opened, error) {
	o := bridge.Options{Path: source, Params: []bridge.Param{{Name: "target", Value: target}},
		HalideDir: filepath.Join(bridge.DataDir(), "halide", version)}
	for _, f := range folders {
		o.CompileFlags = append(o.CompileFlags, "-I"+f)
	}
	g, err := bridge.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	p, err := g.Describe(ctx)
	if err != nil {
		return nil, err
	}
	sp, err := space.New(p, so)
	if err != nil {
		return nil, err
	}
	w, err := tune.ReadWeights(g.Toolchain.Halide, "")
	if err != nil {
		return nil, err
	}
	m, err := cost.New(w, p, so.Parallelism)
	if err != nil {
		return nil, err
	}
	return &Opened{g, sp, m}, nil
}

// Problem is the search for a schedule of low predicted cost.
func (o *Opened) Problem(workers int) search.Problem {
	return search.Problem{Root: search.Start(o.Space), Evaluator: search.NewModelEvaluator(o.Space, o.Model), Workers: workers}
}

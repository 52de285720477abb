package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/nn"
	"github.com/protuner/protuner/internal/report"
	"github.com/protuner/protuner/internal/tune"
)

type predictCmd struct {
	nestFlags
	Weights string `help:"A .weights file (default: the weights in Halide's Adams2019 plugin)." placeholder:"FILE"`
	Explain bool   `help:"Show the loop nest with each stage's cost and the terms it comes from."`
}

func (c *predictCmd) Run(g *globals) error {
	f, err := c.load(g)
	if err != nil {
		return err
	}
	m, err := modelOf(f, c.Weights, c.Parallelism)
	if err != nil {
		return err
	}
	costs := m.Explain(f.features)
	names := f.stageNames()
	p := report.Predicted(m.Predict(f.features), costs, f.features, names)
	if c.JSON {
		return printJSON(p)
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%.6g ms\tpredicted\n", p.Cost)
	for _, st := range p.Stages {
		fmt.Fprintf(out, "%.6g ms\t%4.1f%%\t%s\t%s\n", st.Cost, 100*st.Share, st.Stage, st.Dearest(3))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Println()
	if c.Explain {
		printNest(os.Stdout, f.state.String(), p)
		fmt.Println()
	}
	return report.FeatureShares(os.Stdout, names, costs)
}

// modelOf is a model of the schedule's pipeline.
func modelOf(f *featured, weights string, cores int) (*cost.Model, error) {
	w, err := readWeights(f.generator, weights)
	if err != nil {
		return nil, err
	}
	m, err := cost.New(w, f.pipeline(), cores)
	if err != nil {
		return nil, &badInput{err}
	}
	return m, nil
}

// readWeights reads those asked for, or the installed plugin's.
func readWeights(g *bridge.Generator, path string) (*nn.Weights, error) {
	w, err := tune.ReadWeights(g.Toolchain.Halide, path)
	if err != nil {
		return nil, &badInput{err}
	}
	return w, nil
}

// printNest prints a loop nest with a stage's cost beside its outermost level, or
// beside its first inlining.
func printNest(out *os.File, nest string, p report.Prediction) {
	left := map[string]*report.StagePrediction{}
	for i := range p.Stages {
		left[p.Stages[i].Stage] = &p.Stages[i]
	}
	width := 0
	lines := strings.Split(strings.TrimRight(nest, "\n"), "\n")
	for _, line := range lines {
		width = max(width, len(line))
	}
	for _, line := range lines {
		words := strings.Fields(line)
		name := words[0]
		if name == "inlined:" {
			name = words[1]
		}
		st := left[name]
		if st == nil {
			fmt.Fprintln(out, line)
			continue
		}
		delete(left, name)
		fmt.Fprintf(out, "%-*s  %.6g ms, %.1f%%: %s\n", width, line, st.Cost, 100*st.Share, st.Dearest(3))
	}
}

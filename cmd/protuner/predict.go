package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/nn"
	"github.com/protuner/protuner/internal/report"
	"github.com/protuner/protuner/internal/tune"
)

type predictCmd struct {
	nestFlags
	Weights string `help:"A .weights file (default: the weights in Halide's Adams2019 plugin)." placeholder:"FILE"`
	Explain bool   `help:"Show the loop nest with each stage's cost and the terms it comes from."`
}

// prediction is what predict prints as JSON; costs are in milliseconds.
type prediction struct {
	Cost   float64           `json:"cost_ms"`
	Stages []stagePrediction `json:"stages"`
}

type stagePrediction struct {
	Stage string             `json:"stage"`
	Cost  float64            `json:"cost_ms"`
	Share float64            `json:"share"`
	Terms map[string]float64 `json:"terms_ms"` // those that are not zero
	// Features says what each schedule feature is and costs.
	Features []featureCost `json:"features"`
}

type featureCost struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Cost  float64 `json:"cost_ms"`
	Share float64 `json:"share"` // of the stage
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
	p := f.predict(m, costs)
	if c.JSON {
		return printJSON(p)
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%.6g ms\tpredicted\n", p.Cost)
	for _, st := range p.Stages {
		fmt.Fprintf(out, "%.6g ms\t%4.1f%%\t%s\t%s\n", st.Cost, 100*st.Share, st.Stage, st.dearest(3))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Println()
	if c.Explain {
		explain(os.Stdout, f.state.String(), p)
		fmt.Println()
	}
	return report.FeatureShares(os.Stdout, f.stageNames(), costs)
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

func (f *featured) predict(m *cost.Model, costs []cost.StageCost) prediction {
	p := prediction{Cost: m.Predict(f.features)}
	for i, st := range costs {
		sp := stagePrediction{Stage: f.stageName(i), Cost: st.Cost, Terms: map[string]float64{}}
		if p.Cost > 0 {
			sp.Share = st.Cost / p.Cost
		}
		for k, v := range st.Terms {
			if v != 0 {
				sp.Terms[cost.Terms[k].Name] = v
			}
		}
		for k, v := range report.FeatureCosts(st) {
			fc := featureCost{Name: feature.Table[k].Name, Unit: feature.Table[k].Unit, Value: f.features[i][k], Cost: v}
			if st.Cost > 0 {
				fc.Share = v / st.Cost
			}
			sp.Features = append(sp.Features, fc)
		}
		p.Stages = append(p.Stages, sp)
	}
	return p
}

// readWeights reads those asked for, or the installed plugin's.
func readWeights(g *bridge.Generator, path string) (*nn.Weights, error) {
	w, err := tune.ReadWeights(g.Toolchain.Halide, path)
	if err != nil {
		return nil, &badInput{err}
	}
	return w, nil
}

// dearest names the terms that cost most, with their share of the stage.
func (s *stagePrediction) dearest(n int) string {
	var names []string
	for name := range s.Terms {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Terms[b], s.Terms[a]), cmp.Compare(a, b))
	})
	var out []string
	for _, name := range names[:min(n, len(names))] {
		out = append(out, fmt.Sprintf("%s %.0f%%", name, 100*s.Terms[name]/s.Cost))
	}
	return strings.Join(out, ", ")
}

// explain prints a loop nest with a stage's cost beside its outermost level, or
// beside its first inlining.
func explain(out *os.File, nest string, p prediction) {
	left := map[string]*stagePrediction{}
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
		fmt.Fprintf(out, "%-*s  %.6g ms, %.1f%%: %s\n", width, line, st.Cost, 100*st.Share, st.dearest(3))
	}
}

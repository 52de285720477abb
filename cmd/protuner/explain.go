package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/report"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/tunedb"
)

type explainCmd struct {
	scheduleFlags
	Weights string `help:"A .weights file (default: the weights in Halide's Adams2019 plugin)." placeholder:"FILE"`
	DB      string `name:"db" help:"Database of all measurements; may be missing." default:"protuner.db" placeholder:"FILE"`
}

// explanation is what explain prints as JSON.
type explanation struct {
	Generator string `json:"generator"`
	// InSpace holds where a tuning run can come upon the schedule; otherwise Foreign
	// says why not, and all else is about Nearest.
	InSpace bool     `json:"in_space"`
	Foreign []string `json:"foreign,omitempty"`
	// Besides is what was decided that no loop nest says.
	Besides []string `json:"besides,omitempty"`
	Nearest string   `json:"nearest"` // as directives
	// Costs are what the model says, first of the schedule or the nearest one.
	Costs []costOf `json:"costs"`
	// Stages compares what the stages cost in it with the cheapest of the others.
	Stages []stageShares `json:"stages"`
	Beside string        `json:"beside,omitempty"` // the one Stages compares with
}

type costOf struct {
	Name     string  `json:"name"`
	Cost     float64 `json:"cost_ms"`
	Measured float64 `json:"measured_ms,omitempty"`

	stages []cost.StageCost
}

type stageShares struct {
	Stage  string  `json:"stage"`
	Cost   float64 `json:"cost_ms"`
	Share  float64 `json:"share"`
	Beside float64 `json:"beside_ms"`
	Other  float64 `json:"beside_share"`
}

func (c *explainCmd) Run(g *globals) error {
	if c.Schedule == "" {
		return badInputf("name the schedule: --schedule own, or --schedule FILE.schedule.h")
	}
	gen, err := c.openGenerator(g)
	if err != nil {
		return err
	}
	a, err := c.read(g, gen)
	if err != nil {
		return err
	}
	sp, err := c.searched(a.pipe)
	if err != nil {
		return err
	}
	near := space.Near{State: a.decided(sp), Exact: true}
	if near.State == nil {
		if near, err = sp.NearSchedule(a.schedule); err != nil {
			return badInputf("%s: %w", c.Schedule, err)
		}
	}
	f := featuresOf(gen, near.State)
	m, err := modelOf(f, c.Weights, c.Parallelism)
	if err != nil {
		return err
	}
	e := explanation{Generator: gen.Name, InSpace: near.Exact, Besides: besides(near.State), Nearest: near.State.Schedule().String()}
	for _, what := range near.Foreign {
		e.Foreign = append(e.Foreign, what.Error())
	}
	name := "this schedule"
	if !near.Exact {
		name = "the nearest one"
	}
	e.Costs = []costOf{predicted(name, m, f)}
	found, err := search.NewBeam(search.Greedy()).Search(g.ctx, search.Problem{Root: search.Start(sp), Evaluator: search.NewModelEvaluator(sp, m)}, search.Budget{}, 1)
	if err != nil {
		return err
	}
	e.Costs = append(e.Costs, predicted("a greedy search's", m, featuresOf(gen, found.Node.(*search.StateNode).State())))
	best, err := c.best(g, sp, m, f)
	if err != nil {
		return err
	}
	if best != nil {
		e.Costs = append(e.Costs, *best)
	}
	e.compare(f)
	if c.JSON {
		return printJSON(e)
	}
	return e.print(c.Schedule, f, near.State)
}

func predicted(name string, m *cost.Model, f *featured) costOf {
	return costOf{Name: name, Cost: m.Predict(f.features), stages: m.Explain(f.features)}
}

// best is the fastest schedule of those that the database has of the pipeline and the
// space can say, nil where there is none.
func (c *explainCmd) best(g *globals, sp *space.Space, m *cost.Model, f *featured) (*costOf, error) {
	if _, err := os.Stat(c.DB); err != nil {
		return nil, nil
	}
	db, err := tunedb.Open(g.ctx, c.DB)
	if err != nil {
		return nil, &badInput{err}
	}
	defer db.Close()
	runs, err := db.Runs(g.ctx, f.generator.Name)
	if err != nil {
		return nil, err
	}
	p := sp.Pipeline()
	for _, r := range runs {
		if r.Workload.Algorithm != p.Algorithm || r.Workload.Target != p.Target {
			continue
		}
		top, err := db.Fastest(g.ctx, r.Key, explained)
		if err != nil {
			return nil, err
		}
		for _, t := range top {
			state := sp.Decided(t.Trace)
			if state == nil || state.Schedule().HashString() != t.Hash {
				s, err := schedule.Parse(t.Text)
				if err != nil {
					return nil, fmt.Errorf("%s: the stored schedule %s: %w", c.DB, t.Hash, err)
				}
				if state, err = sp.ImportSchedule(s); err != nil {
					continue // with other Funcs
				}
			}
			out := predicted(fmt.Sprintf("the fastest measured (run %d)", r.ID), m, featuresOf(f.generator, state))
			out.Measured = 1e3 * t.Best.Seconds()
			return &out, nil
		}
		return nil, nil
	}
	return nil, nil
}

// explained is how many of the fastest stored schedules are tried to be read.
const explained = 50

// compare sets the stages beside those of what was measured, or of the cheapest.
func (e *explanation) compare(f *featured) {
	this, other := e.Costs[0], e.Costs[1]
	if len(e.Costs) > 2 {
		other = e.Costs[2]
	}
	e.Beside = other.Name
	for i, st := range this.stages {
		row := stageShares{Stage: f.stageName(i), Cost: st.Cost, Beside: other.stages[i].Cost}
		if this.Cost > 0 {
			row.Share = row.Cost / this.Cost
		}
		if other.Cost > 0 {
			row.Other = row.Beside / other.Cost
		}
		e.Stages = append(e.Stages, row)
	}
}

func (e *explanation) print(file string, f *featured, s *space.State) error {
	if e.InSpace {
		fmt.Printf("%s is in the space.\n\n%s\n", file, s)
		if len(e.Besides) > 0 {
			fmt.Printf("Decided besides, which no loop nest says:\n  %s\n\n", strings.Join(e.Besides, "\n  "))
		}
	} else {
		fmt.Printf("%s is not in the space:\n", file)
		for _, why := range e.Foreign {
			fmt.Printf("  %s\n", why)
		}
		fmt.Printf("\nThe nearest schedule that is:\n\n%s\n", s)
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"schedule", "predicted", "measured"})
	for _, c := range e.Costs {
		measured := "-"
		if c.Measured > 0 {
			measured = report.Duration(c.Measured / 1e3)
		}
		t.AppendRow(table.Row{c.Name, fmt.Sprintf("%.4g ms", c.Cost), measured})
	}
	fmt.Println(t.Render())
	t = table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"stage", e.Costs[0].Name, "share", e.Beside, "share"})
	for _, st := range e.Stages {
		t.AppendRow(table.Row{st.Stage, fmt.Sprintf("%.4g ms", st.Cost), fmt.Sprintf("%.1f%%", 100*st.Share),
			fmt.Sprintf("%.4g ms", st.Beside), fmt.Sprintf("%.1f%%", 100*st.Other)})
	}
	_, err := fmt.Println(t.Render())
	return err
}

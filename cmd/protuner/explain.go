package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/report"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

type explainCmd struct {
	scheduleFlags
	Weights string `help:"A .weights file (default: the weights in Halide's Adams2019 plugin)." placeholder:"FILE"`
	DB      string `name:"db" help:"Database of all measurements; may be missing." default:"protuner.db" placeholder:"FILE"`
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
	e := report.Explanation{Generator: gen.Name, InSpace: near.Exact, Besides: besides(near.State), Nearest: near.State.Schedule().String()}
	for _, what := range near.Foreign {
		e.Foreign = append(e.Foreign, what.Error())
	}
	name := "this schedule"
	if !near.Exact {
		name = "the nearest one"
	}
	e.Costs = []report.ScheduleCost{report.CostOf(name, m, f.features)}
	found, err := search.NewBeam(search.Greedy()).Search(g.ctx, search.Problem{Root: search.Start(sp), Evaluator: search.NewModelEvaluator(sp, m)}, search.Budget{}, 1)
	if err != nil {
		return err
	}
	e.Costs = append(e.Costs, report.CostOf("a greedy search's", m, featuresOf(gen, found.Node.(*search.StateNode).State()).features))
	best, err := c.best(g, sp, m, gen)
	if err != nil {
		return err
	}
	if best != nil {
		e.Costs = append(e.Costs, *best)
	}
	e.Compare(f.stageNames())
	if c.JSON {
		return printJSON(e)
	}
	return printed(func(w io.Writer) { printExplanation(w, e, c.Schedule, near.State) })
}

// best is the fastest schedule of those that the database has of the pipeline, timed as it
// would be here, and the space can say; nil where there is none.
func (c *explainCmd) best(g *globals, sp *space.Space, m *cost.Model, gen *bridge.Generator) (*report.ScheduleCost, error) {
	if _, err := os.Stat(c.DB); err != nil {
		return nil, nil
	}
	db, err := tunedb.OpenToRead(g.ctx, c.DB)
	if err != nil {
		return nil, &badInput{err}
	}
	defer db.Close()
	here, err := tune.Here(gen, sp.Pipeline(), c.Parallelism)
	if err != nil {
		return nil, err
	}
	said, err := tune.FastestSaid(g.ctx, db, here, sp)
	if err != nil || said == nil {
		return nil, err
	}
	out := report.CostOf(fmt.Sprintf("the fastest measured (run %d)", said.Run), m, featuresOf(gen, said.State).features)
	out.Measured = 1e3 * said.Best.Seconds()
	return &out, nil
}

func printExplanation(w io.Writer, e report.Explanation, file string, s *space.State) {
	if e.InSpace {
		fmt.Fprintf(w, "%s is in the space.\n\n%s\n", file, s)
		if len(e.Besides) > 0 {
			fmt.Fprintf(w, "Decided besides, which no loop nest says:\n  %s\n\n", strings.Join(e.Besides, "\n  "))
		}
	} else {
		fmt.Fprintf(w, "%s is not in the space:\n", file)
		for _, why := range e.Foreign {
			fmt.Fprintf(w, "  %s\n", why)
		}
		fmt.Fprintf(w, "\nThe nearest schedule that is:\n\n%s\n", s)
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
	fmt.Fprintln(w, t.Render())
	t = table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"stage", e.Costs[0].Name, "share", e.Beside, "share"})
	for _, st := range e.Stages {
		t.AppendRow(table.Row{st.Stage, fmt.Sprintf("%.4g ms", st.Cost), fmt.Sprintf("%.1f%%", 100*st.Share),
			fmt.Sprintf("%.4g ms", st.Beside), fmt.Sprintf("%.1f%%", 100*st.Other)})
	}
	fmt.Fprintln(w, t.Render())
}

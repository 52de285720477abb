package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/protuner/protuner/internal/report"
	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

type databaseFlag struct {
	DB string `name:"db" help:"Database of all measurements." default:"protuner.db" placeholder:"FILE"`
}

// open opens a database that must be there: a verb that only reads makes none.
func (f databaseFlag) open(g *globals) (*tunedb.DB, error) {
	if _, err := os.Stat(f.DB); err != nil {
		return nil, badInputf("there is no database %s; name one with --db, or run protuner tune first", f.DB)
	}
	db, err := tunedb.Open(g.ctx, f.DB)
	if err != nil {
		return nil, &badInput{err}
	}
	return db, nil
}

type showCmd struct {
	databaseFlag
	Name string `arg:"" optional:"" help:"Only runs of this Generator."`
	Run_ int64  `name:"run" help:"One run in full, by its number." placeholder:"N"`
	Top  int    `help:"With --run: also list the N fastest schedules." default:"5"`
	JSON bool   `name:"json" help:"Print as JSON."`
}

func (c *showCmd) Run(g *globals) error {
	db, err := c.open(g)
	if err != nil {
		return err
	}
	defer db.Close()
	if c.Run_ != 0 && c.Name != "" {
		return badInputf("a run has one Generator: give either %s or --run %d", c.Name, c.Run_)
	}
	runs, err := db.Runs(g.ctx, c.Name)
	if err != nil {
		return err
	}
	if c.Run_ == 0 {
		if c.JSON {
			return printJSON(runs)
		}
		return report.Runs(os.Stdout, runs, func(key string) (*tunedb.Measurement, int, error) {
			return best(g, db, key)
		})
	}
	run, err := findRun(runs, c.Run_, c.DB)
	if err != nil {
		return err
	}
	top, err := db.Fastest(g.ctx, run.Key, c.Top)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(struct {
			tunedb.Run
			Fastest []tunedb.Measurement `json:"fastest"`
		}{*run, top})
	}
	r, err := tune.Reported(*run)
	if err != nil {
		return err
	}
	if r != nil {
		report.Tuned(os.Stdout, r)
		fmt.Println()
	}
	report.Fastest(os.Stdout, top)
	return nil
}

// best is the fastest schedule of a workload and how many were measured.
func best(g *globals, db *tunedb.DB, key string) (*tunedb.Measurement, int, error) {
	top, err := db.Fastest(g.ctx, key, 1)
	if err != nil {
		return nil, 0, err
	}
	counts, err := db.Counts(g.ctx, key)
	if err != nil {
		return nil, 0, err
	}
	n := 0
	for _, c := range counts {
		n += c
	}
	if len(top) == 0 {
		return nil, n, nil
	}
	return &top[0], n, nil
}

func findRun(runs []tunedb.Run, id int64, db string) (*tunedb.Run, error) {
	for i := range runs {
		if runs[i].ID == id {
			return &runs[i], nil
		}
	}
	return nil, badInputf("%s has no run %d; `protuner show` lists what it has", db, id)
}

func printJSON(v any) error {
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

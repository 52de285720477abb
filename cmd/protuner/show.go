package main

import (
	"encoding/json"
	"fmt"
	"io"
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
	db, err := tunedb.OpenToRead(g.ctx, f.DB)
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
		listed, err := list(g, db, runs)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(listed)
		}
		return report.Runs(os.Stdout, listed)
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
	return printed(func(w io.Writer) {
		if r != nil {
			report.Tuned(w, r)
			fmt.Fprintln(w)
		}
		report.Fastest(w, top)
	})
}

// list adds to each run what the database has of its workload.
func list(g *globals, db *tunedb.DB, runs []tunedb.Run) ([]report.ListedRun, error) {
	out := make([]report.ListedRun, len(runs))
	for i, r := range runs {
		top, err := db.Fastest(g.ctx, r.Key, 1)
		if err != nil {
			return nil, err
		}
		counts, err := db.Counts(g.ctx, r.Key)
		if err != nil {
			return nil, err
		}
		out[i] = report.Listed(r)
		for _, n := range counts {
			out[i].Measured += n
		}
		if len(top) > 0 {
			out[i].Fastest = top[0].Best.Seconds()
		}
	}
	return out, nil
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

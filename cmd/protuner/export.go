package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

type exportCmd struct {
	generatorFlags
	databaseFlag
	Run_     int64  `name:"run" help:"From this run's workload (default: the newest run of the Generator)." placeholder:"N"`
	Top      int    `help:"Write the N fastest (default: the one that tune handed out)." default:"1"`
	Format   string `help:"schedule.h or text." default:"schedule.h" enum:"schedule.h,text"`
	Function string `short:"f" help:"Name of the function (default: the Generator's)." placeholder:"NAME"`
	Out      string `short:"o" help:"Folder to write NAME.schedule.h, NAME.2.schedule.h, ... to; without it the fastest goes to stdout." placeholder:"DIR"`
}

func (c *exportCmd) Run(g *globals) error {
	if c.Top < 1 || (c.Out == "" && c.Top > 1) {
		return badInputf("--top %d: give 1, or a greater number with -o DIR", c.Top)
	}
	db, err := c.open(g)
	if err != nil {
		return err
	}
	defer db.Close()
	o, err := c.options()
	if err != nil {
		return err
	}
	gen, err := bridge.Open(g.ctx, o)
	if err != nil {
		return unopened(err)
	}
	pipe, err := gen.Describe(g.ctx)
	if err != nil {
		return &badInput{err}
	}
	run, err := c.find(g, db, gen.Name, pipe.Algorithm)
	if err != nil {
		return err
	}
	best, err := c.best(g, db, run)
	if err != nil {
		return err
	}
	name := c.Function
	if name == "" {
		name = gen.Name
	}
	for i, m := range best.Top {
		if !best.Checked[m.Hash] {
			fmt.Fprintf(os.Stderr, "schedule %s was checked as far as the search checks all it measures; `protuner check` checks it as what tune hands out\n", m.Hash)
		}
		text, err := c.render(m, pipe, run, name)
		if err != nil {
			return err
		}
		if c.Out == "" {
			_, err := fmt.Print(text)
			return err
		}
		if err := c.write(i, name, text); err != nil {
			return err
		}
	}
	return nil
}

// best are the schedules to write.
func (c *exportCmd) best(g *globals, db *tunedb.DB, run *tunedb.Run) (*tune.Handout, error) {
	best, err := tune.HandedOut(g.ctx, db, *run, c.Top)
	if err != nil {
		return nil, err
	}
	if len(best.Top) == 0 {
		return nil, badInputf("run %d found no schedule that works; tune again with a larger --budget", run.ID)
	}
	if best.Kept != 0 {
		fmt.Fprintf(os.Stderr, "run %d handed the Generator's own schedule back, which was faster than schedule %s, the search's best\n", best.Kept, best.Top[0].Hash)
	}
	return best, nil
}

// find takes the run that was named, or the newest for this algorithm.
func (c *exportCmd) find(g *globals, db *tunedb.DB, generator, algorithm string) (*tunedb.Run, error) {
	if c.Run_ != 0 {
		generator = "" // any run has that number
	}
	runs, err := db.Runs(g.ctx, generator)
	if err != nil {
		return nil, err
	}
	if c.Run_ != 0 {
		run, err := findRun(runs, c.Run_, c.DB)
		if err == nil && run.Workload.Algorithm != algorithm {
			return nil, badInputf("run %d tuned another algorithm (%s, of %s) than this Generator has now (%s); tune again", run.ID, run.Workload.Algorithm, run.Workload.Generator, algorithm)
		}
		return run, err
	}
	for i := range runs {
		if runs[i].Workload.Algorithm == algorithm {
			return &runs[i], nil
		}
	}
	return nil, badInputf("%s holds nothing for %s as it is now (algorithm %s); tune it first", c.DB, generator, algorithm)
}

func (c *exportCmd) render(m tunedb.Measurement, pipe *pipeline.Pipeline, run *tunedb.Run, name string) (string, error) {
	s, err := schedule.Parse(m.Text)
	if err != nil {
		return "", fmt.Errorf("the stored schedule %s: %w", m.Hash, err)
	}
	if c.Format == "text" {
		return s.Annotated(m.Trace), nil
	}
	return s.Halide(pipe.Binding(), schedule.HalideFile{
		Name: name, Target: run.Workload.Target, Params: fmt.Sprintf("autoscheduler=ProTuner schedule=%s", m.Hash), Algorithm: pipe.Algorithm, Decisions: m.Trace,
	})
}

func (c *exportCmd) write(rank int, name, text string) error {
	if rank > 0 {
		name = fmt.Sprintf("%s.%d", name, rank+1)
	}
	ending := ".schedule.h"
	if c.Format == "text" {
		ending = ".schedule.txt"
	}
	path := filepath.Join(c.Out, bridge.WithoutNamespaces(name)+ending)
	err := os.MkdirAll(c.Out, 0o755)
	if err == nil {
		err = tune.WriteWhole(path, []byte(text))
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w; free space, or name another folder with -o", path, err)
	}
	_, err = fmt.Println(path)
	return err
}

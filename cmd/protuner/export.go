package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

type exportCmd struct {
	generatorFlags
	databaseFlag
	Run_     int64  `name:"run" help:"From this run's workload (default: of the workloads with a schedule that works the one likest to this machine, target, parameters and sizes, of equals the newest)." placeholder:"N"`
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
	here, err := tune.Here(gen, pipe, tune.Defaults().Threads)
	if err != nil {
		return err
	}
	run, err := c.find(g, db, here)
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

// find takes the run that was named, or the likest to what is here of those with something to
// export, and says of that one what may not be expected of it. Where nothing works it is the
// likest run.
func (c *exportCmd) find(g *globals, db *tunedb.DB, here tunedb.Workload) (*tunedb.Run, error) {
	if c.Run_ != 0 {
		return c.named(g, db, here.Algorithm)
	}
	working, idle, err := tune.Sources(g.ctx, db, here)
	switch {
	case err != nil:
		return nil, err
	case len(working) > 0:
		if text := told(working, here, c.DB); text != "" {
			fmt.Fprintln(os.Stderr, text)
		}
		return &working[0], nil
	case len(idle) > 0:
		return &idle[0], nil
	}
	return nil, badInputf("%s holds nothing for %s as it is now (algorithm %s); tune it first", c.DB, here.Generator, here.Algorithm)
}

// named is the run of --run, of any Generator with this algorithm.
func (c *exportCmd) named(g *globals, db *tunedb.DB, algorithm string) (*tunedb.Run, error) {
	runs, err := db.Runs(g.ctx, "")
	if err != nil {
		return nil, err
	}
	run, err := findRun(runs, c.Run_, c.DB)
	if err == nil && run.Workload.Algorithm != algorithm {
		return nil, badInputf("run %d tuned another algorithm (%s, of %s) than this Generator has now (%s); tune again", run.ID, run.Workload.Algorithm, run.Workload.Generator, algorithm)
	}
	return run, err
}

// told says of the first of these runs, which is taken, what it is of, where that is not what is
// here or others could be taken as well; else nothing.
func told(working []tunedb.Run, here tunedb.Workload, db string) string {
	w := working[0].Workload
	var other []string
	for _, c := range []struct {
		what string
		same bool
	}{
		{"the machine " + w.Host, w.Host == here.Host},
		{"the target " + w.Target, w.Target == here.Target},
		{"parameters " + cmp.Or(strings.Join(w.Params, " "), "by default"), slices.Equal(w.Params, here.Params)},
		{"other sizes", slices.Equal(w.Estimates, here.Estimates)},
		{fmt.Sprintf("%d threads", w.Threads), w.Threads == here.Threads},
	} {
		if !c.same {
			other = append(other, c.what)
		}
	}
	if len(other) == 0 && len(working) == 1 {
		return ""
	}
	text := fmt.Sprintf("run %d is taken", working[0].ID)
	if len(other) > 0 {
		text += ", which is not for what is here but for " + strings.Join(other, ", ")
	}
	if n := len(working) - 1; n > 0 {
		text += fmt.Sprintf("; other workloads with a schedule that works: %d", n)
	}
	return text + fmt.Sprintf("; --run N takes another, `protuner show %s --db %s --json` lists all with what they are for", w.Generator, db)
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

package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/report"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/tune"
)

type checkCmd struct {
	generatorFlags
	scheduleFile
	workFlags
	JSON bool `name:"json" help:"Print as JSON."`
}

// checked is what check prints as JSON of a schedule that stands.
type checked struct {
	Generator string `json:"generator"`
	Schedule  string `json:"schedule"` // its hash
	// Algorithm is the hash of what the Generator computes now; Named holds where the
	// schedule's file says that it was found for that.
	Algorithm string `json:"algorithm"`
	Named     bool   `json:"named"`
}

// checkBuild bounds compiling a schedule whole, which no search waits for.
const checkBuild = 10 * time.Minute

func (c *checkCmd) Run(g *globals) error {
	if c.Schedule == "" {
		return badInputf("name the schedule: --schedule FILE.schedule.h")
	}
	if err := readable(c.Schedule); err != nil {
		return err
	}
	o := tune.Defaults()
	var err error
	if o.Generator, err = c.options(); err != nil {
		return err
	}
	c.set(&o)
	o.CandidateBuild = checkBuild
	var out checked
	screen := report.NewProgress(os.Stderr)
	err = tune.Check(g.ctx, o, screen.Events(), func(gen *bridge.Generator, p *pipeline.Pipeline) (schedule.Schedule, error) {
		a, err := c.ask(g, gen, p)
		if err != nil {
			return schedule.Schedule{}, err
		}
		if a.partial {
			return schedule.Schedule{}, badInputf("--schedule %s: directives cannot say all of it, and what they do not say cannot be checked; protuner tune --baseline own races it as it stands", c.Schedule)
		}
		out = checked{Generator: gen.Name, Schedule: a.schedule.HashString(), Algorithm: p.Algorithm, Named: a.named}
		return a.schedule, nil
	})
	screen.Close()
	var stale *staleError
	status, _ := measure.StatusOf(err)
	switch {
	case errors.As(err, &stale):
		return stale // what was asked for has its answer
	case status == measure.OutOfMemory:
		return fmt.Errorf("%s could not be checked: %w; give more than --memory %d", c.Schedule, err, c.Memory)
	case err != nil && status != measure.InfraFailed:
		return fmt.Errorf("%s does not stand: %w; tune again", c.Schedule, err)
	case err != nil:
		return err
	case c.JSON:
		return printJSON(out)
	}
	says := "names no algorithm that it was found for"
	if out.Named {
		says = "is of the algorithm as it is now"
	}
	_, err = fmt.Printf("%s %s (%s), and computes what that says\n", c.Schedule, says, out.Algorithm)
	return err
}

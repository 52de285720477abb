package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/protuner/protuner/internal/bridge"
)

type doctorCmd struct {
	Halide string `help:"Look at this Halide installation." placeholder:"DIR"`
	JSON   bool   `name:"json" help:"Print as JSON."`
}

func (c *doctorCmd) Run(g *globals) error {
	checks := bridge.Doctor(g.ctx, c.Halide)
	missing := 0
	for _, check := range checks {
		if !check.OK {
			missing++
		}
	}
	if c.JSON {
		if err := printJSON(checks); err != nil {
			return err
		}
	} else {
		for _, check := range checks {
			mark := "ok     "
			if !check.OK {
				mark = "MISSING"
			}
			fmt.Fprintf(os.Stdout, "%s  %-16s %s\n", mark, check.Name, check.Found)
			if check.Mend != "" {
				fmt.Fprintf(os.Stdout, "         %-16s %s\n", "", check.Mend)
			}
		}
	}
	if missing > 0 {
		return errors.New("something is missing; each line above says how to get it")
	}
	return nil
}

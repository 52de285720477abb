package command_test

import (
	"context"
	"fmt"
	"log"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/command"
	"github.com/protuner/protuner/bayes/space"
)

// A shell script stands for a compiler and the program it makes.
func Example() {
	sp, err := space.New([]space.Param{{Name: "unroll", Type: space.Ordinal, Values: []float64{1, 2, 4, 8}}})
	if err != nil {
		log.Fatal(err)
	}
	run, err := command.New(command.Options{
		Args: []string{"/bin/sh", "-c", "echo took $((20 - 2 * {unroll} + {unroll} * {unroll})) ms"},
	}, sp)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	study, err := bayes.Open(ctx, sp, bayes.Options{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	stop, err := bayes.Run(ctx, study, run, bayes.RunOptions{})
	if err != nil {
		log.Fatal(err)
	}
	best, _ := study.Best()
	fmt.Println(stop, best.Config, best.Outcome.Value)
	// Output: exhausted unroll=1 19
}

package bayes_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
)

// A matrix product: the cost stands for compiling and timing it.
func Example() {
	sp, err := space.New([]space.Param{
		{Name: "tile", Type: space.Ordinal, Values: []float64{4, 8, 16, 32, 64, 128}, Log: true},
		{Name: "vec", Type: space.Ordinal, Values: []float64{1, 2, 4, 8, 16}, Log: true},
		{Name: "order", Type: space.Permutation, Size: 3},
		{Name: "schedule", Type: space.Categorical, Categories: []string{"static", "dynamic"}},
	}, "tile % vec == 0", "order_i0 < order_i2")
	if err != nil {
		log.Fatal(err)
	}
	cost := func(c space.Config) bayes.Outcome {
		if c.Int("tile")*c.Int("vec") > 1024 {
			return bayes.Failure(bayes.Crashed, "out of registers")
		}
		v := 1 + math.Abs(math.Log2(c.Float("tile")/32)) + math.Abs(math.Log2(c.Float("vec")/8)) + float64(c.Order("order")[2])
		if c.Text("schedule") == "dynamic" {
			v++
		}
		return bayes.Value(v)
	}
	ctx := context.Background()
	study, err := bayes.Open(ctx, sp, bayes.Options{Seed: 1}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for range 40 {
		trials, err := study.Ask(ctx, 1)
		if err != nil {
			log.Fatal(err)
		}
		if err := study.Tell(ctx, trials[0].ID, cost(trials[0].Config)); err != nil {
			log.Fatal(err)
		}
	}
	best, _ := study.Best()
	fmt.Println(best.Config, best.Outcome.Value)
	// Output: tile=32 vec=8 order=0,2,1 schedule=static 2
}

// A study in a file goes on where it was left.
func ExampleRun() {
	dir, err := os.MkdirTemp("", "bayes")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	sp, err := space.New([]space.Param{{Name: "x", Type: space.Integer, Min: -50, Max: 50}})
	if err != nil {
		log.Fatal(err)
	}
	square := bayes.EvaluatorFunc(func(_ context.Context, t bayes.Trial) bayes.Outcome {
		return bayes.Value(math.Pow(t.Config.Float("x")-7, 2))
	})
	ctx := context.Background()
	for _, trials := range []int{8, 20} {
		store, err := bayes.OpenJSONLines(filepath.Join(dir, "trials.jsonl"), "square")
		if err != nil {
			log.Fatal(err)
		}
		study, err := bayes.Open(ctx, sp, bayes.Options{}, store)
		if err != nil {
			log.Fatal(err)
		}
		stop, err := bayes.Run(ctx, study, square, bayes.RunOptions{Trials: trials})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(stop, "after", len(study.Trials()))
		if best, ok := study.Best(); ok && trials == 20 {
			fmt.Println("best", best.Config)
		}
		if err := study.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// spent after 8
	// spent after 20
	// best x=7
}

// What cannot be an outcome is refused and changes nothing.
func ExampleStudy_Tell() {
	sp, err := space.New([]space.Param{{Name: "x", Type: space.Real, Min: 0, Max: 1}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	study, err := bayes.Open(ctx, sp, bayes.Options{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	trials, err := study.Ask(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(study.Tell(ctx, trials[0].ID, bayes.Value(math.NaN())))
	fmt.Println(study.Tell(ctx, trials[0].ID, bayes.Failure(bayes.Crashed, "segmentation fault")))
	// Output:
	// trial 1: the value is NaN; a configuration without a finite result is told as a failure
	// <nil>
}

// Another program drives the search over lines of JSON.
func ExampleServe() {
	sp, err := space.New([]space.Param{{Name: "flag", Type: space.Categorical, Categories: []string{"-O2"}}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	study, err := bayes.Open(ctx, sp, bayes.Options{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	requests := strings.NewReader(`{"op":"ask"}
{"op":"tell","id":1,"value":3.5}
{"op":"ask"}
`)
	if err := bayes.Serve(ctx, study, requests, os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"ok":true,"op":"ask","trials":[{"id":1,"config":{"flag":"-O2"},"origin":"initial","status":"pending"}]}
	// {"ok":true,"op":"tell","best":{"id":1,"config":{"flag":"-O2"},"origin":"initial","status":"ok","value":3.5}}
	// {"ok":true,"op":"ask","exhausted":true}
}

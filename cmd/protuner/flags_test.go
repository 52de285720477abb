package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/tune"
)

// parsed is a command line of words without spaces.
func parsed(t *testing.T, line string) *cli {
	t.Helper()
	c := new(cli)
	if _, err := newParser(c).Parse(strings.Fields(line)); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return c
}

// Each flag of tune sets its option and no other.
func TestTuneFlags(t *testing.T) {
	for flags, set := range map[string]func(*tune.Options){
		"":                     func(*tune.Options) {},
		"-g harris":            func(o *tune.Options) { o.Generator.Name = "harris" },
		"-D N=3 -I inc -I a,b": func(o *tune.Options) { o.Generator.CompileFlags = []string{"-Iinc", "-Ia,b", "-DN=3"} },
		"--halide there":       func(o *tune.Options) { o.Generator.HalideDir = "there" },
		"-- taps=5 target=host": func(o *tune.Options) {
			o.Generator.Params = []bridge.Param{{Name: "taps", Value: "5"}, {Name: "target", Value: "host"}}
		},
		"--search evolve":                func(o *tune.Options) { o.Search = "evolve" },
		"--measure=false":                func(o *tune.Options) { o.Unmeasured = true },
		"--no-measure":                   func(o *tune.Options) { o.Unmeasured = true },
		"--no-restructure":               func(o *tune.Options) { o.Restructure = false },
		"--no-specialize":                func(o *tune.Options) { o.Specialize = false },
		"--no-polish":                    func(o *tune.Options) { o.Polish = false },
		"--weights my.weights":           func(o *tune.Options) { o.Weights = "my.weights" },
		"--budget 90s":                   func(o *tune.Options) { o.Budget = 90 * time.Second },
		"--trials 7":                     func(o *tune.Options) { o.Trials = 7 },
		"--seed 2":                       func(o *tune.Options) { o.Seed = 2 },
		"--db my.db":                     func(o *tune.Options) { o.DB = "my.db" },
		"-o out":                         func(o *tune.Options) { o.Out = "out" },
		"-f ours::f":                     func(o *tune.Options) { o.Function = "ours::f" },
		"-e stmt,assembly":               func(o *tune.Options) { o.Emit = []string{"stmt", "assembly"} },
		"--seeds Own,earlier":            func(o *tune.Options) { o.Seeds = []string{"own", "earlier"} },
		"--seeds none":                   func(o *tune.Options) { o.Seeds = nil },
		"--baseline li2018":              func(o *tune.Options) { o.Baselines = []string{"li2018"} },
		"--baseline none":                func(o *tune.Options) { o.Baselines = nil },
		"--baseline-time 30s":            func(o *tune.Options) { o.BaselineLimits.Time = 30 * time.Second },
		"--baseline-memory 3":            func(o *tune.Options) { o.BaselineLimits.Memory = 3 << 20 },
		"--input a=1 --input b=random:1": func(o *tune.Options) { o.Inputs = []string{"a=1", "b=random:1"} },
		"--threads 1000":                 func(o *tune.Options) { o.Threads = 1000 },
		"--memory 5":                     func(o *tune.Options) { o.CandidateMemory = 5 << 20 },
		"--memory 0":                     func(o *tune.Options) { o.CandidateMemory = 0 },
		"--int-tolerance 2":              func(o *tune.Options) { o.Protocol.IntegerEvery = 2 },
	} {
		want := tune.Defaults()
		want.Generator.Path = "f.cpp"
		set(&want)
		got, err := parsed(t, "tune f.cpp "+flags).Tune.options()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, got\n%+v, not\n%+v", flags, err, got, want)
		}
	}
}

// So does each of bench run, whatever its profile sets; of rounds at least and at most the one
// that is given takes the other along.
func TestBenchFlags(t *testing.T) {
	quick, err := bench.FindProfile("quick")
	if err != nil {
		t.Fatal(err)
	}
	for flags, set := range map[string]func(*bench.Options){
		"":                                func(*bench.Options) {},
		"--apps harris,hist":              func(o *bench.Options) { o.Apps = []string{"harris", "hist"} },
		"--methods expert,random":         func(o *bench.Options) { o.Methods = []string{"expert", "random"} },
		"--budget 90s":                    func(o *bench.Options) { o.Budget = 90 * time.Second },
		"--peer-time 30s":                 func(o *bench.Options) { o.PeerTime = 30 * time.Second },
		"--peer-memory 3":                 func(o *bench.Options) { o.PeerMemory = 3 << 20 },
		"--repeat 4":                      func(o *bench.Options) { o.Repeat = 4 },
		"--divide 2.5":                    func(o *bench.Options) { o.Divide = 2.5 },
		"--seed 2":                        func(o *bench.Options) { o.Seed = 2 },
		"--layers 3":                      func(o *bench.Options) { o.Layers = 3 },
		"--min-rounds 12":                 func(o *bench.Options) { o.MinRounds = 12 },
		"--max-rounds 20":                 func(o *bench.Options) { o.MaxRounds = 20 },
		"--min-rounds 40":                 func(o *bench.Options) { o.MinRounds, o.MaxRounds = 40, 40 },
		"--max-rounds 5":                  func(o *bench.Options) { o.MinRounds, o.MaxRounds = 5, 5 },
		"--min-rounds 6 --max-rounds 5":   func(o *bench.Options) { o.MinRounds, o.MaxRounds = 6, 5 }, // which is refused
		"--race-time 20s":                 func(o *bench.Options) { o.RaceTime = 20 * time.Second },
		"--threads 1000":                  func(o *bench.Options) { o.Threads = 1000 },
		"--weights my.weights":            func(o *bench.Options) { o.Weights = "my.weights" },
		"--apps-dir mine":                 func(o *bench.Options) { o.AppsDir = "mine" },
		"--halide there":                  func(o *bench.Options) { o.HalideDir = "there" },
		"--profile quick":                 quick.Set,
		"--profile quick --max-rounds 15": func(o *bench.Options) { quick.Set(o); o.MaxRounds = 15 },
		"--profile quick --budget 5m --peer-time 0s --layers 0 --methods expert": func(o *bench.Options) {
			quick.Set(o)
			o.Budget, o.PeerTime, o.Layers, o.Methods = 5*time.Minute, 0, 0, []string{"expert"}
		},
	} {
		want := bench.Defaults()
		want.Out = "out"
		set(&want)
		got, err := parsed(t, "bench run -o out "+flags).Bench.Run.options()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, got\n%+v, not\n%+v", flags, err, got, want)
		}
	}
}

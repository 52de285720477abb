package cost_test

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/claims/oracle"
	"github.com/protuner/protuner/internal/bridge"
)

var (
	oracleFiles   = flag.String("generators", "", "Generators to compare on, comma-separated patterns of .cpp or built, each with #NAME if it has several; default two of apps/")
	oracleInclude = flag.String("include", "", "folder of headers for them")
	oracleSeeds   = flag.Int("seeds", 1, "randomly pruned searches for each, beside the greedy one")
	oracleTime    = flag.Duration("limit", 2*time.Minute, "limit on one search of Adams2019")
	oracleTarget  = flag.String("target", "host", "Halide target")
	oracleHalide  = flag.String("halide", strings.Join(bridge.TestedVersions, ","), "Halide versions")
	oracleCores   = flag.Int("cores", 2, "cores that Adams2019 is told of")
	oracleKeep    = flag.String("keep", "", "folder to keep loop nests, featurizations and costs in")
	oracleDropout = flag.Int("dropout", 1, "random_dropout: the chance, in percent, that the best decisions stay in a search")
	oracleMade    = flag.Bool("made", false, "use made-up weights, handed over in a .weights file")
	oracleExtra   = flag.String("extra", "", "further autoscheduler parameters, blank-separated")
)

func oracleOptions(version string) oracle.Options {
	o := oracle.Options{Halide: version, Target: *oracleTarget, Cores: *oracleCores, Limit: *oracleTime, Dropout: *oracleDropout,
		Extra: strings.Fields(*oracleExtra), Keep: *oracleKeep}
	if *oracleInclude != "" {
		o.Include = []string{*oracleInclude}
	}
	if *oracleMade {
		o.Weights = madeWeights()
	}
	return o
}

// oracleGenerators are those of the flag, or those named of apps/.
func oracleGenerators(t *testing.T, apps ...string) []oracle.Generator {
	t.Helper()
	var out []oracle.Generator
	if *oracleFiles == "" {
		for _, app := range apps {
			out = append(out, oracle.Generator{File: filepath.Join("..", "..", "apps", app, app+"_generator.cpp")})
		}
		return out
	}
	for _, pattern := range strings.Split(*oracleFiles, ",") {
		pattern, name, _ := strings.Cut(pattern, "#")
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no Generators %s (%v)", pattern, err)
		}
		for _, file := range files {
			out = append(out, oracle.Generator{File: file, Name: name})
		}
	}
	return out
}

// TestSameAsAdams2019 lets Adams2019 of a real Halide schedule Generators, greedily
// and under random dropout, and compares: each loop nest is imported from its debug
// output, all features of all stages with its .featurization, and the predicted cost
// with what it printed.
func TestSameAsAdams2019(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a real Halide")
	}
	for _, version := range strings.Split(*oracleHalide, ",") {
		var total oracle.Tally
		expected := 0
		for _, g := range oracleGenerators(t, "harris", "hist") {
			t.Run(version+"/"+g.String(), func(t *testing.T) {
				expected += *oracleSeeds + 1
				tally, err := oracle.Compare(t.Context(), g, *oracleSeeds, oracleOptions(version), func(seed int, what string) {
					t.Errorf("seed %d: %s", seed, what)
				})
				if err != nil {
					t.Fatal(err)
				}
				total.Add(tally)
			})
		}
		t.Logf("Halide %s: %+v", version, total)
		if total.Schedules == 0 || *oracleFiles == "" && total.Schedules != expected {
			t.Errorf("Halide %s: %d of %d schedules were compared", version, total.Schedules, expected)
		}
	}
}

// Weights that we write, Adams2019 reads: with those in a .weights file it predicts
// what we predict with them.
func TestAdams2019ReadsOurWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a real Halide")
	}
	for _, version := range strings.Split(*oracleHalide, ",") {
		o := oracle.Defaults(version)
		o.Weights = madeWeights()
		file := filepath.Join("..", "..", "apps", "unsharp", "unsharp_generator.cpp")
		tally, err := oracle.Compare(t.Context(), oracle.Generator{File: file}, 0, o, func(_ int, what string) { t.Errorf("Halide %s: %s", version, what) })
		if err != nil || tally.Schedules != 1 {
			t.Errorf("Halide %s: %v: %+v", version, err, tally)
		}
	}
}

package cost_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/nn"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/space"
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

// TestSameAsAdams2019 lets Adams2019 of a real Halide schedule Generators, greedily
// and under random dropout, and compares: each loop nest is imported from its debug
// output, all features of all stages with its .featurization, and the predicted cost
// with what it printed.
func TestSameAsAdams2019(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a real Halide")
	}
	files := []string{filepath.Join("..", "..", "apps", "harris", "harris_generator.cpp"), filepath.Join("..", "..", "apps", "hist", "hist_generator.cpp")}
	if *oracleFiles != "" {
		files = nil
		for _, pattern := range strings.Split(*oracleFiles, ",") {
			pattern, name, _ := strings.Cut(pattern, "#")
			some, err := filepath.Glob(pattern)
			if err != nil || len(some) == 0 {
				t.Fatalf("no Generators %s (%v)", pattern, err)
			}
			for _, file := range some {
				files = append(files, file+"#"+name)
			}
		}
	}
	for _, version := range strings.Split(*oracleHalide, ",") {
		total := &tally{wrong: map[string]int{}}
		for _, file := range files {
			file, name, _ := strings.Cut(file, "#")
			t.Run(version+"/"+filepath.Base(file)+name, func(t *testing.T) {
				o := openOracle(t, version, file, name)
				for seed := range *oracleSeeds + 1 {
					o.compare(t, seed, total)
				}
			})
		}
		t.Logf("Halide %s: %v", version, total)
	}
}

type tally struct {
	schedules, unread, failed int
	stages, values, costs     int
	good                      struct{ schedules, stages, values, costs int }
	wrong                     map[string]int
	worst                     float64
}

func (y *tally) String() string {
	s := fmt.Sprintf("schedules %d of %d (%d more not scheduled by Adams2019), stages %d of %d, values %d of %d, costs %d of %d (worst %.2g), nests not imported %d",
		y.good.schedules, y.schedules, y.failed, y.good.stages, y.stages, y.good.values, y.values, y.good.costs, y.costs, y.worst, y.unread)
	var names []string
	for n := range y.wrong {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		s += fmt.Sprintf("\n  %s: %d", n, y.wrong[n])
	}
	return s
}

// printed is how far a cost that was printed with six decimals may be off.
const printed = 5e-7

type oracle struct {
	g       *bridge.Generator
	p       *pipeline.Pipeline
	sp      *space.Space
	x       *feature.Extractor
	m       *cost.Model
	label   string
	weights string // file, empty for those in the plugin
}

func openOracle(t *testing.T, version, file, name string) *oracle {
	t.Helper()
	o := bridge.Options{Path: file, Name: name, Params: []bridge.Param{{Name: "target", Value: *oracleTarget}},
		HalideDir: filepath.Join(bridge.DataDir(), "halide", version)}
	if *oracleInclude != "" {
		o.CompileFlags = []string{"-I" + *oracleInclude}
	}
	g, err := bridge.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sp, err := space.New(p, space.Adams(*oracleCores))
	if err != nil {
		t.Fatal(err)
	}
	w, err := nn.ReadFile(g.Toolchain.Halide.Plugins["adams2019"])
	if err != nil {
		t.Fatal(err)
	}
	var weights string
	if *oracleMade {
		w, weights = madeWeights(), filepath.Join(t.TempDir(), "made.weights")
		if err := os.WriteFile(weights, w.Append(nil), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := cost.New(w, p, *oracleCores)
	if err != nil {
		t.Fatal(err)
	}
	return &oracle{g: g, p: p, sp: sp, x: feature.New(sp), m: m, weights: weights, label: g.Name + ".h" + version[:2]}
}

var bestCost = regexp.MustCompile(`(?m)^Best cost: (.*)$`)

// run lets Adams2019 schedule; seed 0 is greedy without dropout.
func (o *oracle) run(t *testing.T, seed int) (nest string, rows []feature.Row, best float64, err error) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), *oracleTime)
	defer cancel()
	args := []string{"-o", dir, "-g", o.g.Name, "-f", "x", "-n", "x", "-e", "schedule,featurization",
		"-p", o.g.Toolchain.Halide.Plugins["adams2019"], "autoscheduler=Adams2019",
		fmt.Sprintf("autoscheduler.parallelism=%d", *oracleCores), "autoscheduler.beam_size=1", "target=" + *oracleTarget}
	if seed > 0 {
		args = append(args, fmt.Sprintf("autoscheduler.random_dropout=%d", *oracleDropout), fmt.Sprintf("autoscheduler.random_dropout_seed=%d", seed))
	}
	if o.weights != "" {
		args = append(args, "autoscheduler.weights_path="+o.weights)
	}
	args = append(args, strings.Fields(*oracleExtra)...)
	cmd := exec.CommandContext(ctx, o.g.Binary, args...)
	var words bytes.Buffer
	cmd.Stderr = &words
	cmd.Env = append(os.Environ(), "HL_DEBUG_AUTOSCHEDULE=2", "HL_PERMIT_FAILED_UNROLL=1", "HL_NUM_THREADS=1")
	if err := cmd.Run(); err != nil {
		text := words.String()
		return "", nil, 0, fmt.Errorf("%w: %s", err, text[max(0, len(text)-200):])
	}
	text := words.String()
	found := bestCost.FindStringSubmatch(text)
	at := strings.LastIndex(text, "State with cost")
	if found == nil || at < 0 {
		t.Fatal("Adams2019 printed no cost or no loop nest")
	}
	if best, err = strconv.ParseFloat(found[1], 64); err != nil {
		t.Fatal(err)
	}
	end := strings.Index(text[at:], " = pipeline.get_func(")
	lines := strings.Split(text[at:at+end], "\n")
	nest = strings.Join(lines[1:len(lines)-1], "\n") + "\n"
	b, err := os.ReadFile(filepath.Join(dir, "x.featurization"))
	if err != nil {
		t.Fatal(err)
	}
	if rows, err = feature.ParseFeaturization(b); err != nil {
		t.Fatal(err)
	}
	if *oracleKeep != "" {
		base := filepath.Join(*oracleKeep, fmt.Sprintf("%s.%d", o.label, seed))
		for ending, b := range map[string][]byte{".nest": []byte(nest), ".featurization": b, ".cost": []byte(found[1] + "\n")} {
			if err := os.WriteFile(base+ending, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return nest, rows, best, nil
}

func (o *oracle) compare(t *testing.T, seed int, y *tally) {
	nest, rows, best, err := o.run(t, seed)
	if err != nil {
		y.failed++
		t.Logf("seed %d: Adams2019: %v", seed, err)
		return
	}
	y.schedules++
	s, err := o.sp.Import(nest)
	if err != nil {
		y.unread++
		t.Errorf("seed %d: %v\n%s", seed, err, nest)
		return
	}
	got, err := feature.Rows(o.p, o.x.Features(s, nil))
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if len(got) != len(rows) {
		t.Fatalf("seed %d: features of %d stages, Adams2019 has %d", seed, len(got), len(rows))
	}
	whole := true
	ids := feature.Stages(o.p)
	var said []string
	for i := range rows {
		y.stages++
		wrong := 0
		for k := range feature.NumSchedule + feature.NumPipeline {
			y.values++
			a, b := value(&got[i], k), value(&rows[i], k)
			if math.Abs(a-b) <= 1e-5*math.Abs(b) {
				y.good.values++
				continue
			}
			wrong++
			y.wrong[feature.FeatureName(k)]++
			said = append(said, fmt.Sprintf("%s %s: %g, not %g", o.p.Funcs[ids[i].Func].Stages[ids[i].Stage].Name, feature.FeatureName(k), a, b))
		}
		if wrong == 0 {
			y.good.stages++
		} else {
			whole = false
		}
	}
	if whole {
		y.good.schedules++
	} else {
		t.Errorf("seed %d:\n%s\n%s", seed, strings.Join(said[:min(len(said), 25)], "\n"), nest)
	}
	y.costs++
	mine := o.m.Predict(o.x.Features(s, nil))
	off := max(0, math.Abs(mine-best)-printed) / best
	y.worst = max(y.worst, off)
	if off <= 1e-3 {
		y.good.costs++
	} else {
		t.Errorf("seed %d: cost %g, Adams2019 says %g", seed, mine, best)
	}
	if other := o.x.Features(s, nil); !slices.Equal(other, o.x.Features(s, nil)) {
		t.Error("features change from call to call")
	}
}

func value(r *feature.Row, k int) float64 {
	if k < feature.NumSchedule {
		return float64(r.Schedule[k])
	}
	return float64(r.Pipeline[k-feature.NumSchedule])
}

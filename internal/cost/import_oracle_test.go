package cost_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
)

// TestSchedulesOfAdams2019 lets Adams2019 of a real Halide schedule Generators as
// TestSameAsAdams2019 does, and imports not the loop nests that it prints when told
// to but the .schedule.h files that it writes: one of the loop nests that these leave
// open has the features of the .featurization beside it. For other Generators than its
// own it only counts.
func TestSchedulesOfAdams2019(t *testing.T) {
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
		var y readings
		for _, file := range files {
			file, name, _ := strings.Cut(file, "#")
			t.Run(version+"/"+filepath.Base(file)+name, func(t *testing.T) {
				o := openOracle(t, version, file, name)
				for seed := range *oracleSeeds + 1 {
					o.reads(t, seed, &y)
				}
			})
		}
		t.Logf("Halide %s: %+v", version, y)
		if *oracleFiles == "" && y.Schedules != y.First+y.Other {
			t.Errorf("%d of %d schedules were not read, or not with their features", y.Unread+y.None, y.Schedules)
		}
	}
}

// readings counts what became of schedules: not read; read with the right features,
// the first time or as another of the loop nests that they leave open; read with other
// features. Open are those of several loop nests.
type readings struct {
	Schedules, Unread, First, Other, None, Open int
}

func (o *oracle) reads(t *testing.T, seed int, y *readings) {
	text, rows, err := o.write(t, seed)
	if err != nil {
		t.Logf("seed %d: Adams2019: %v", seed, err)
		return
	}
	y.Schedules++
	s, err := schedule.ParseHalide(text, o.p.Binding())
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	all, err := o.sp.ImportReadings(s, 16)
	if err != nil {
		y.Unread++
		t.Logf("seed %d: %v", seed, err)
		return
	}
	if len(all) > 1 {
		y.Open++
	}
	for i, state := range all {
		if !o.same(state, rows) {
			continue
		}
		if i == 0 {
			y.First++
		} else {
			y.Other++
		}
		return
	}
	y.None++
	t.Logf("seed %d: none of %d loop nests has the features", seed, len(all))
}

func (o *oracle) same(s *space.State, rows []feature.Row) bool {
	got, err := feature.Rows(o.p, o.x.Features(s, nil))
	if err != nil || len(got) != len(rows) {
		return false
	}
	for i := range rows {
		for k := range feature.NumSchedule + feature.NumPipeline {
			if a, b := value(&got[i], k), value(&rows[i], k); math.Abs(a-b) > 1e-5*math.Abs(b) {
				return false
			}
		}
	}
	return true
}

// write lets Adams2019 write a schedule and its features; seed 0 is greedy.
func (o *oracle) write(t *testing.T, seed int) ([]byte, []feature.Row, error) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), *oracleTime)
	defer cancel()
	args := []string{"-o", dir, "-g", o.g.Name, "-f", "x", "-n", "x", "-e", "schedule,featurization",
		"-p", o.g.Toolchain.Halide.Plugins["adams2019"], "autoscheduler=Adams2019",
		fmt.Sprintf("autoscheduler.parallelism=%d", *oracleCores), "autoscheduler.beam_size=1", "target=" + *oracleTarget}
	if seed > 0 {
		args = append(args, fmt.Sprintf("autoscheduler.random_dropout=%d", *oracleDropout), fmt.Sprintf("autoscheduler.random_dropout_seed=%d", seed))
	}
	cmd := exec.CommandContext(ctx, o.g.Binary, append(args, strings.Fields(*oracleExtra)...)...)
	cmd.Env = append(os.Environ(), "HL_PERMIT_FAILED_UNROLL=1", "HL_NUM_THREADS=1")
	if words, err := cmd.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("%w: %s", err, words[max(0, len(words)-200):])
	}
	text, err := os.ReadFile(filepath.Join(dir, "x.schedule.h"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "x.featurization"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := feature.ParseFeaturization(b)
	if err != nil {
		t.Fatal(err)
	}
	return text, rows, nil
}

package cost_test

import (
	"bufio"
	"fmt"
	"math"
	"math/rand"
	"os"
	"testing"

	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// eachDrawn visits features drawn at random, of the size that features have, for the
// first stages of some pipelines on two cores.
func eachDrawn(t *testing.T, visit func(name string, features []feature.Schedule, m *cost.Model)) {
	rng := rand.New(rand.NewSource(1))
	for _, name := range []string{"bilateral_grid", "camera_pipe", "conv_layer", "gather", "harris", "hist", "multi_output", "scan", "types", "unsharp"} {
		m, err := cost.New(madeWeights(), pipelinetest.Described(t, name+".h21"), 2)
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			features := make([]feature.Schedule, 1+rng.Intn(m.Stages()))
			for i := range features {
				for k := range features[i] {
					v := math.Exp(14 * rng.Float64())
					switch rng.Intn(4) {
					case 0:
						v = 0
					case 1, 2:
						v = math.Floor(v)
					}
					features[i][k] = v
				}
				for _, k := range []int{feature.InnerParallelism, feature.OuterParallelism} {
					features[i][k] = float64(1 + rng.Intn(2)*rng.Intn(40))
				}
			}
			visit(name, features, m)
		}
	}
}

// Costs are those of Halide's cost model to the last bit: testdata/rounding.txt has
// what the function cost_model of Halide 21's libautoschedule_adams2019.so makes of
// these features, with madeWeights, as bits of float32.
func TestCostsAreTheSameBits(t *testing.T) {
	file, err := os.Open("testdata/rounding.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	words := bufio.NewScanner(file)
	words.Split(bufio.ScanWords)
	eachDrawn(t, func(name string, features []feature.Schedule, m *cost.Model) {
		if !words.Scan() {
			t.Fatalf("%s: no more costs", name)
		}
		if got := fmt.Sprintf("%08x", math.Float32bits(float32(m.Predict(features)))); got != words.Text() {
			t.Errorf("%s, %d stages: bits %s, Halide has %s", name, len(features), got, words.Text())
		}
	})
}

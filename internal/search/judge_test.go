package search

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/nn"
	"github.com/protuner/protuner/internal/space"
)

func judged(t *testing.T, sp *space.Space, judge bool) *Evolve {
	t.Helper()
	o := EvolveDefaults()
	if judge {
		m, err := cost.New(nn.Random(rand.New(rand.NewSource(1))), sp.Pipeline(), 2)
		if err != nil {
			t.Fatal(err)
		}
		o.Judge = NewJudge(sp, m)
	}
	return NewEvolve(sp, rand.New(rand.NewSource(2)), o)
}

// With a judge evolution does the same again, never proposes a schedule twice, and what
// it measures is faster than without.
func TestJudgedEvolution(t *testing.T) {
	sp := newSpace(t, "harris.h21", 2)
	x := feature.New(sp)
	made := func(c Candidate) Outcome {
		seconds := 1e-3
		for _, f := range x.Features(c.State, nil) {
			seconds += 1e-9*f[feature.BytesAtRealization] + 1e-8*f[feature.NumVectors] + 2e-8*f[feature.NumScalars]
		}
		return Outcome{Candidate: c, OK: true, Seconds: seconds}
	}
	const rounds, batch = 100, 2
	median := func(judge bool) (float64, []uint64) {
		var seconds []float64
		hashes := run(t, judged(t, sp, judge), rounds, batch, func(c Candidate) Outcome {
			o := made(c)
			seconds = append(seconds, o.Seconds)
			return o
		})
		late := seconds[len(seconds)/2:]
		slices.Sort(late)
		return late[len(late)/2], hashes
	}
	with, hashes := median(true)
	without, _ := median(false)
	if with >= without {
		t.Errorf("half of what it measured with a judge took over %g s, without %g", with, without)
	}
	if _, again := median(true); !slices.Equal(hashes, again) {
		t.Error("the same seed proposed something else")
	}
	slices.Sort(hashes)
	if len(slices.Compact(hashes)) != rounds*batch {
		t.Error("a schedule was proposed twice")
	}
}

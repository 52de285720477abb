// Claim: drawing complete random schedules decision by decision without making what
// is not taken (State.Sample) is at least 8 times as fast as the rollouts that
// ProTuner describes, which make, featurise and cost every child of every state and
// go on from one of them; in geometric mean over the six apps. (Its profile gives
// 88% of the time to children that are thrown away, hence 8x.)
//
// Both ways end with the features and the cost of the complete schedule, and take
// turns on one thread.
//
//	go run ./claims/sampling_beats_enumeration [-halide 21.0.0,19.0.0]
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand"
	"runtime"
	"strings"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/claims/problem"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/space"
)

const (
	want   = 8.0
	cores  = 2
	rounds = 5
	slice  = 500 * time.Millisecond // of each way, a round
)

var halide = flag.String("halide", strings.Join(bridge.TestedVersions, ","), "Halide versions")

func main() {
	flag.Parse()
	ctx := claim.Context()
	runtime.GOMAXPROCS(1)
	holds := true
	var said []string
	for _, version := range strings.Split(*halide, ",") {
		logs, n := 0.0, 0.0
		for _, name := range claim.Apps {
			e := open(ctx, version, name)
			drawn, listed := e.compare()
			fmt.Printf("%s %-16s %8.0f schedules a second drawn, %8.1f by enumeration: %.1fx\n", version, name, drawn, listed, drawn/listed)
			logs, n = logs+math.Log(drawn/listed), n+1
		}
		mean := math.Exp(logs / n)
		holds = holds && mean >= want
		said = append(said, fmt.Sprintf("Halide %s: %.1fx in geometric mean", version, mean))
	}
	claim.Say(holds, "%s", strings.Join(said, "; "))
}

type evaluator struct {
	sp       *space.Space
	x        *feature.Extractor
	m        *cost.Model
	features []feature.Schedule
	actions  []space.Action
}

func open(ctx context.Context, version, name string) *evaluator {
	o, err := problem.Open(ctx, claim.Source(name), version, cores)
	claim.Fail(err)
	return &evaluator{sp: o.Space, x: feature.New(o.Space), m: o.Model}
}

func (e *evaluator) cost(s *space.State) float64 {
	e.features = e.x.Features(s, e.features[:0])
	return e.m.Predict(e.features)
}

// compare gives the schedules a second of both ways.
func (e *evaluator) compare() (drawn, listed float64) {
	rng := rand.New(rand.NewSource(1))
	var counts [2]float64
	var took [2]time.Duration
	for range rounds {
		for way, rollout := range []func(*rand.Rand){e.draw, e.enumerate} {
			start := time.Now()
			for n := 1.0; ; n++ {
				rollout(rng)
				if t := time.Since(start); t >= slice {
					counts[way], took[way] = counts[way]+n, took[way]+t
					break
				}
			}
		}
	}
	return counts[0] / took[0].Seconds(), counts[1] / took[1].Seconds()
}

func (e *evaluator) draw(rng *rand.Rand) { e.cost(e.sp.Start().SampleDown(rng)) }

func (e *evaluator) enumerate(rng *rand.Rand) {
	for s := e.sp.Start(); !s.Complete(); {
		e.actions = s.Actions(e.actions[:0])
		taken := rng.Intn(len(e.actions))
		var next *space.State
		for i, a := range e.actions {
			child := s.Next(a)
			e.cost(child)
			if i == taken {
				next = child
			}
		}
		s = next
	}
}

package gp_test

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/protuner/protuner/bayes/gp"
)

// TestDrawFollowsThePosterior: an input that never changes leaves its length scale to
// the prior, so draws of its logarithm have the prior's mean and deviation.
func TestDrawFollowsThePosterior(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	var x [][]float64
	var y []float64
	for range 4 {
		u := rng.Float64()
		x, y = append(x, []float64{u, 0.5}), append(y, 2*u-1)
	}
	o := gp.Options{Prior: gp.Prior{Length: gp.LogNormal{Median: 2, Spread: 0.8}, Signal: gp.LogNormal{Median: 1, Spread: 1}}}
	from := gp.Hyper{Length: []float64{1, 1}, Signal: 1, Noise: 1e-3}
	models, err := gp.Draw(rng, separate(2), x, y, o, from, 4000)
	if err != nil {
		t.Fatal(err)
	}
	var logs []float64
	mean, free := 0.0, 0.0
	for _, m := range models {
		l := math.Log(m.Hyper().Length[1])
		logs = append(logs, l)
		mean += l / float64(len(models))
		free += math.Log(m.Hyper().Length[0]) / float64(len(models))
	}
	sd := 0.0
	for _, l := range logs {
		sd += (l - mean) * (l - mean) / float64(len(logs))
	}
	if sd = math.Sqrt(sd); math.Abs(mean-math.Log(2)) > 0.1 || math.Abs(sd-0.8) > 0.1 {
		t.Errorf("draws of a length scale that nothing is known about: mean %v, deviation %v, not those of the prior, %v and 0.8", mean, sd, math.Log(2))
	}
	if math.Abs(free-math.Log(2)) < 0.1 {
		t.Errorf("the observations say nothing about a length scale that they depend on: mean %v", free)
	}
	again, err := gp.Draw(rand.New(rand.NewSource(2)), separate(2), x, y, o, from, 3)
	if err != nil {
		t.Fatal(err)
	}
	same, err := gp.Draw(rand.New(rand.NewSource(2)), separate(2), x, y, o, from, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range again {
		if !slices.Equal(again[i].Hyper().Length, same[i].Hyper().Length) {
			t.Errorf("draw %d differs under one seed", i)
		}
	}
}

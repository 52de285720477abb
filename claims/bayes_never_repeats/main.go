// Claim: in 1,000 searches of 100 suggestions over ten spaces, under default
// settings, no suggestion is a duplicate and none violates a known constraint; of
// the suggestions after 40 evaluations at most half as many fail a hidden
// constraint as of random ones. The spaces are those of bayes/problems, seven of
// which hide something; every one gets 100 seeds.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"slices"
	"sync"
	"text/tabwriter"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/problems"
	"github.com/protuner/protuner/claims/claim"
)

const (
	suggestions = 100
	learning    = 40 // suggestions that do not count for hidden constraints
)

// tally is what one search did wrong.
type tally struct{ repeats, violations, failed int }

// play searches once; random draws under the known constraints are its rival.
func play(ctx context.Context, p problems.Problem, o bayes.Options) tally {
	s, err := bayes.Open(ctx, p.Space, o, nil)
	claim.Fail(err)
	var n tally
	seen := map[string]bool{}
	for i := range suggestions {
		trials, err := s.Ask(ctx, 1)
		claim.Fail(err)
		c := trials[0].Config
		if seen[c.String()] {
			n.repeats++
		}
		seen[c.String()] = true
		if !p.Space.Feasible(c.Point()) {
			n.violations++
		}
		outcome := p.Cost(c)
		if i >= learning && outcome.Status.Failed() {
			n.failed++
		}
		claim.Fail(s.Tell(ctx, trials[0].ID, outcome))
	}
	return n
}

// share is the part of the counted suggestions that failed, over seeds chosen.
func share(n []tally, chosen func(int) int) float64 {
	failed := 0
	for i := range n {
		failed += n[chosen(i)].failed
	}
	return float64(failed) / float64(len(n)*(suggestions-learning))
}

func main() {
	seeds := flag.Int("seeds", 100, "searches in each space")
	flag.Parse()
	ctx := claim.Context()
	list, err := problems.All("bayes/space/testdata")
	claim.Fail(err)
	ours, random := make([][]tally, len(list)), make([][]tally, len(list))
	var wg sync.WaitGroup
	turns := make(chan struct{}, runtime.NumCPU())
	for k, p := range list {
		ours[k], random[k] = make([]tally, *seeds), make([]tally, *seeds)
		for seed := range *seeds {
			turns <- struct{}{}
			wg.Add(1)
			go func() {
				defer wg.Done()
				ours[k][seed] = play(ctx, p, bayes.Options{Seed: int64(seed + 1)})
				random[k][seed] = play(ctx, p, bayes.Options{Seed: int64(seed + 1), Method: bayes.Uniform})
				<-turns
			}()
		}
	}
	wg.Wait()
	all := func(i int) int { return i }
	var total tally
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "space\tconfigurations\trepeated\tviolating\tfailed after 40\trandom's")
	var hidden []int
	for k, p := range list {
		var sum tally
		for _, n := range ours[k] {
			sum.repeats, sum.violations = sum.repeats+n.repeats, sum.violations+n.violations
		}
		total.repeats, total.violations = total.repeats+sum.repeats, total.violations+sum.violations
		if p.Hidden() {
			hidden = append(hidden, k)
		}
		fmt.Fprintf(w, "%s\t%.4g\t%d\t%d\t%.1f%%\t%.1f%%\n", p.Name, p.Space.Size(), sum.repeats, sum.violations, 100*share(ours[k], all), 100*share(random[k], all))
	}
	claim.Fail(w.Flush())

	ratio := func(chosen func(int) int) float64 {
		a, b := 0.0, 0.0
		for _, k := range hidden {
			a, b = a+share(ours[k], chosen), b+share(random[k], chosen)
		}
		return a / b
	}
	rng := rand.New(rand.NewSource(1))
	var drawn []float64
	for range 2000 { // the bootstrap over seeds
		at := make([]int, *seeds)
		for i := range at {
			at[i] = rng.Intn(*seeds)
		}
		drawn = append(drawn, ratio(func(i int) int { return at[i] }))
	}
	slices.Sort(drawn)
	low, high := drawn[len(drawn)/40], drawn[len(drawn)-1-len(drawn)/40]
	claim.Say(total.repeats == 0 && total.violations == 0 && high <= 0.5,
		"%d duplicates and %d violated constraints in %d searches of %d suggestions; hidden constraints fail %.2f [%.2f, %.2f] times as often as at random",
		total.repeats, total.violations, len(list)**seeds, suggestions, ratio(all), low, high)
}

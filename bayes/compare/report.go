package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/tables"
)

const (
	resamples   = 500 // of the bootstrap over seeds
	randomGames = 200 // random searches to the last configuration
	// unreached times the budget counts where a target was not reached in it.
	unreached = 2
)

var errBars = errors.New("the bars are not met")

var moments = []int{20, 40, 60, 100}

// logs is the logarithm of the best so far over the optimum after each evaluation; a
// search without any value has the worst time of the table.
func logs(outcomes []*float64, budget int, best, worst float64) []float64 {
	out := make([]float64, budget)
	at := worst
	for i := range out {
		if i < len(outcomes) && outcomes[i] != nil {
			at = math.Min(at, *outcomes[i])
		}
		out[i] = math.Log(at / best)
	}
	return out
}

// mean averages traces, of the seeds chosen.
func mean(traces [][]float64, chosen []int) []float64 {
	out := make([]float64, len(traces[0]))
	for _, s := range chosen {
		for i, v := range traces[s] {
			out[i] += v / float64(len(chosen))
		}
	}
	return out
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// reach is the number of evaluations after which a mean trace is at the target.
func reach(trace []float64, target float64) float64 {
	for i, v := range trace {
		if v <= target+1e-12 {
			return float64(i + 1)
		}
	}
	return unreached * float64(len(trace))
}

// standing is what the report knows of one table.
type standing struct {
	t      *tables.Table
	games  map[string][]game      // by player, by seed
	traces map[string][][]float64 // of those games
	random []float64              // mean of random searches to the end
}

func worst(t *tables.Table) float64 {
	w := 0.0
	for _, c := range tables.Configs(t.Space) {
		if o := t.Outcome(c); o.Status == bayes.OK {
			w = math.Max(w, o.Value)
		}
	}
	return w
}

// randomTrace is the mean of searches that draw every configuration once.
func randomTrace(t *tables.Table, worst float64) []float64 {
	configs := tables.Configs(t.Space)
	rng := rand.New(rand.NewSource(1))
	sum := make([]float64, len(configs))
	for range randomGames {
		at := worst
		for i, k := range rng.Perm(len(configs)) {
			if o := t.Outcome(configs[k]); o.Status == bayes.OK {
				at = math.Min(at, o.Value)
			}
			sum[i] += math.Log(at/t.Best) / randomGames
		}
	}
	return sum
}

func stand(o settings, b *book, t *tables.Table, players []string) (standing, error) {
	w := worst(t)
	s := standing{t: t, games: map[string][]game{}, traces: map[string][][]float64{}, random: randomTrace(t, w)}
	for _, p := range players {
		k, err := o.key(t, p)
		if err != nil {
			return s, err
		}
		for _, g := range b.of(k, o.seeds) {
			s.games[p] = append(s.games[p], g)
			s.traces[p] = append(s.traces[p], logs(g.Outcomes, o.budget, t.Best, w))
		}
	}
	return s, nil
}

// figure has a 95% interval, of the bootstrap over seeds.
type figure struct{ value, low, high float64 }

func (f figure) String() string { return fmt.Sprintf("%.3f [%.3f, %.3f]", f.value, f.low, f.high) }

func estimate(of func(choose func(n int) []int) float64) figure {
	value := of(upTo)
	rng := rand.New(rand.NewSource(1))
	var drawn []float64
	for range resamples {
		drawn = append(drawn, of(func(n int) []int {
			out := make([]int, n)
			for i := range out {
				out[i] = rng.Intn(n)
			}
			return out
		}))
	}
	slices.Sort(drawn)
	return figure{value, drawn[resamples/40], drawn[resamples-1-resamples/40]}
}

// print reports on the tables that every player has played.
func print(w io.Writer, o settings, b *book, loaded []*tables.Table, players []string, bars bool) error {
	var all []standing
	for _, t := range loaded {
		s, err := stand(o, b, t, players)
		if err != nil {
			return err
		}
		if len(s.traces) == len(players) {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("no table has been played by all of %v", players)
	}
	fmt.Fprintf(w, "%d of %d tables that all have played; best over optimum, geometric mean over tables and seeds [95%%]\n", len(all), len(loaded))
	total := table.NewWriter()
	total.AppendHeader(table.Row{"player", "seeds", "@20", "@40", "@60", "@100", "failed after 40", "seconds a search"})
	for _, p := range players {
		row := table.Row{p, seedsOf(all, p)}
		for _, m := range moments {
			if m > o.budget {
				row = append(row, "")
				continue
			}
			row = append(row, overall(all, p, m))
		}
		failed, seconds := habits(all, p)
		total.AppendRow(append(row, fmt.Sprintf("%.1f%%", 100*failed), fmt.Sprintf("%.2f", seconds)))
	}
	fmt.Fprintln(w, total.Render())
	printTables(w, o, all, players)
	verdict := "does not hold"
	holds, figures := judge(o, all, len(loaded), players)
	if holds {
		verdict = "holds"
	}
	fmt.Fprintf(w, "%s: no worse than the best of 5 peers after 20, 40, 60 and 100 evaluations, %.1f times fewer than random and %.1f times fewer than the quickest, on all tables with %d seeds; of %d tables %s\n",
		verdict, fewerThanRandom, fewerThanPeers, leastSeeds, len(all), figures)
	if bars && !holds {
		return errBars
	}
	return nil
}

// overall is how far a player is from the optimum after m evaluations.
func overall(all []standing, player string, m int) figure {
	return estimate(func(choose func(int) []int) float64 {
		sum := 0.0
		for _, s := range all {
			sum += mean(s.traces[player], choose(len(s.traces[player])))[m-1] / float64(len(all))
		}
		return math.Exp(sum)
	})
}

func seedsOf(all []standing, player string) int {
	n := math.MaxInt
	for _, s := range all {
		n = min(n, len(s.traces[player]))
	}
	return n
}

// habits are the part of evaluations after 40 that failed, and the seconds of a search.
func habits(all []standing, player string) (failed, seconds float64) {
	late, games := 0.0, 0.0
	for _, s := range all {
		for _, g := range s.games[player] {
			seconds, games = seconds+g.Seconds, games+1
			for _, v := range g.Outcomes[min(40, len(g.Outcomes)):] {
				late++
				if v == nil {
					failed++
				}
			}
		}
	}
	return failed / math.Max(late, 1), seconds / games
}

// printTables says for each table how far everybody is at the end, and who is first.
func printTables(w io.Writer, o settings, all []standing, players []string) {
	t := table.NewWriter()
	head := table.Row{"table", "configurations", "failing"}
	for _, p := range players {
		head = append(head, p)
	}
	t.AppendHeader(append(head, "first"))
	for _, s := range all {
		row := table.Row{s.t.Name(), s.t.Points, fmt.Sprintf("%.0f%%", 100*s.t.Failing())}
		first, least := "", math.Inf(1)
		for _, p := range players {
			v := mean(s.traces[p], upTo(len(s.traces[p])))[o.budget-1]
			row = append(row, fmt.Sprintf("%.3f", math.Exp(v)))
			if v < least {
				first, least = p, v
			}
		}
		t.AppendRow(append(row, first))
	}
	fmt.Fprintf(w, "\nbest over optimum after %d evaluations\n%s\n", o.budget, t.Render())
}

// The bars: no worse than the best peer at every moment, and so many times fewer
// evaluations to come where each peer is in the end.
const (
	fewerThanRandom = 2.5
	fewerThanPeers  = 1.3
	leastSeeds      = 20
)

// judge says how many fewer evaluations the first player needs than random sampling
// and than the quickest peer, and whether all bars are met, by all tables and enough
// seeds.
func judge(o settings, all []standing, tables int, players []string) (holds bool, figures string) {
	us := players[0]
	var peers []string
	for _, p := range players {
		if slices.Contains(peerNames, p) {
			peers = append(peers, p)
		}
	}
	if len(peers) == 0 {
		return false, "no peer has played"
	}
	random := fewer(all, us, peers, func(s standing, _ map[string][]float64, target float64) float64 { return reach(s.random, target) })
	quickest := fewer(all, us, peers, func(_ standing, means map[string][]float64, target float64) float64 {
		least := math.Inf(1)
		for _, p := range peers {
			least = math.Min(least, reach(means[p], target))
		}
		return least
	})
	figures = fmt.Sprintf("%s needs fewer evaluations until each peer's final best than random sampling by %s, than the quickest peer by %s", us, random, quickest)
	holds = random.value >= fewerThanRandom && quickest.value >= fewerThanPeers && len(all) == tables && len(peers) == len(peerNames)
	for _, p := range players {
		holds = holds && seedsOf(all, p) >= leastSeeds
	}
	for _, m := range moments {
		if m > o.budget {
			holds = false
			continue
		}
		for _, p := range peers {
			holds = holds && overall(all, us, m).value <= overall(all, p, m).value
		}
	}
	return holds, figures
}

// fewer is the geometric mean, over tables and peers, of the evaluations that others
// need to come where the peer is in the end, over ours.
func fewer(all []standing, us string, peers []string, others func(s standing, means map[string][]float64, target float64) float64) figure {
	return estimate(func(choose func(int) []int) float64 {
		sum, n := 0.0, 0.0
		for _, s := range all {
			means := map[string][]float64{}
			for _, p := range append([]string{us}, peers...) {
				means[p] = mean(s.traces[p], choose(len(s.traces[p])))
			}
			for _, p := range peers {
				target := means[p][len(means[p])-1]
				sum += math.Log(others(s, means, target) / reach(means[us], target))
				n++
			}
		}
		return math.Exp(sum / n)
	})
}

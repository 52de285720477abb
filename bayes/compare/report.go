package main

import (
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
	traces map[string][][]float64 // by player
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

func stand(o settings, b *book, t *tables.Table, players []string) standing {
	w := worst(t)
	s := standing{t: t, traces: map[string][][]float64{}, random: randomTrace(t, w)}
	for _, p := range players {
		for _, g := range b.of(t.Name(), p) {
			if g.Seed <= o.seeds {
				s.traces[p] = append(s.traces[p], logs(g.Outcomes, o.budget, t.Best, w))
			}
		}
	}
	return s
}

// estimate is a figure with its 95% interval of the bootstrap over seeds.
func estimate(all []standing, of func(choose func(n int) []int) float64) string {
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
	return fmt.Sprintf("%.3f [%.3f, %.3f]", value, drawn[resamples/40], drawn[resamples-1-resamples/40])
}

// print reports on the tables that every player has played.
func print(w io.Writer, o settings, b *book, loaded []*tables.Table, players []string) error {
	var all []standing
	for _, t := range loaded {
		s := stand(o, b, t, players)
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
			row = append(row, estimate(all, func(choose func(int) []int) float64 {
				sum := 0.0
				for _, s := range all {
					sum += mean(s.traces[p], choose(len(s.traces[p])))[m-1] / float64(len(all))
				}
				return math.Exp(sum)
			}))
		}
		failed, seconds := habits(b, all, p)
		total.AppendRow(append(row, fmt.Sprintf("%.1f%%", 100*failed), fmt.Sprintf("%.2f", seconds)))
	}
	fmt.Fprintln(w, total.Render())
	printTables(w, o, all, players)
	printReach(w, all, players)
	return nil
}

func seedsOf(all []standing, player string) int {
	n := math.MaxInt
	for _, s := range all {
		n = min(n, len(s.traces[player]))
	}
	return n
}

// habits are the part of evaluations after 40 that failed, and the seconds of a search.
func habits(b *book, all []standing, player string) (failed, seconds float64) {
	late, games := 0.0, 0.0
	for _, s := range all {
		for _, g := range b.of(s.t.Name(), player) {
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

// printReach says how many fewer evaluations the first player needs to come where each
// peer is in the end, than random sampling and than the quickest peer.
func printReach(w io.Writer, all []standing, players []string) {
	us := players[0]
	var peers []string
	for _, p := range players {
		if slices.Contains(peerNames, p) {
			peers = append(peers, p)
		}
	}
	if len(peers) == 0 {
		return
	}
	fewer := func(than func(s standing, means map[string][]float64, target float64) float64) string {
		return estimate(all, func(choose func(int) []int) float64 {
			sum, n := 0.0, 0.0
			for _, s := range all {
				means := map[string][]float64{}
				for _, p := range append([]string{us}, peers...) {
					means[p] = mean(s.traces[p], choose(len(s.traces[p])))
				}
				for _, p := range peers {
					target := means[p][len(means[p])-1]
					sum += math.Log(than(s, means, target) / reach(means[us], target))
					n++
				}
			}
			return math.Exp(sum / n)
		})
	}
	fmt.Fprintf(w, "\nevaluations until each peer's final best, geometric mean [95%%]: %s needs fewer than random sampling by %s\n", us,
		fewer(func(s standing, _ map[string][]float64, target float64) float64 { return reach(s.random, target) }))
	fmt.Fprintf(w, "and than the quickest peer by %s\n", fewer(func(_ standing, means map[string][]float64, target float64) float64 {
		least := math.Inf(1)
		for _, p := range peers {
			least = math.Min(least, reach(means[p], target))
		}
		return least
	}))
}

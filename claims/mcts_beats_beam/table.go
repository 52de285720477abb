package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/search"
)

// table prints, for each ensemble, what each option beyond the paper brings: the
// predicted cost with it over that without it, all else the same, in geometric mean
// over the seeds; with a stopwatch for every target, in a second table, the time of the
// code that is found likewise.
func table(ctx context.Context, bases []string, targets []target, options []search.Addition, evaluations int64, seeds int) {
	for _, base := range bases {
		f := finder{base: base, targets: targets, evaluations: evaluations, seeds: seeds, known: map[string][]found{}}
		var on, off [][]found
		for _, a := range options {
			on = append(on, f.find(ctx, a.On))
			off = append(off, f.find(ctx, a.Off))
		}
		print := func(title string, value func(found) float64) {
			fmt.Printf("| %s on `%s` |", title, base)
			for _, t := range targets {
				fmt.Printf(" %s |", t.app)
			}
			fmt.Printf(" geometric mean |\n|---|%s\n", strings.Repeat("---|", len(targets)+1))
			for k, a := range options {
				fmt.Printf("| `%s` |", a.Name)
				sum := 0.0
				for i := range targets {
					ln := value(on[k][i]) - value(off[k][i])
					fmt.Printf(" %.3f |", math.Exp(ln))
					sum += ln / float64(len(targets))
				}
				fmt.Printf(" %.3f |\n", math.Exp(sum))
			}
			fmt.Println()
		}
		print("cost", func(x found) float64 { return x.cost })
		if targets[0].watch != nil {
			print("time", func(x found) float64 { return x.time })
		}
	}
}

// additions are those with these names, all where there are none.
func additions(names string) []search.Addition {
	all := search.Additions()
	if names == "" {
		return all
	}
	wanted := strings.Split(names, ",")
	kept := slices.DeleteFunc(all, func(a search.Addition) bool { return !slices.Contains(wanted, a.Name) })
	if len(kept) < len(wanted) {
		claim.Fail(fmt.Errorf("-options %s: not all of them are options of docs/search.md", names))
	}
	return kept
}

// found are mean logarithms over the seeds: of the predicted cost and of the seconds
// that the code takes.
type found struct{ cost, time float64 }

type finder struct {
	base        string
	targets     []target
	evaluations int64
	seeds       int
	known       map[string][]found // by options
}

// find searches with changed options, by target. What is known of the same options is
// not searched for again.
func (f *finder) find(ctx context.Context, change func(*search.MCTSOptions)) []found {
	var options string
	s, err := search.NewSearcher(f.base, func(o *search.MCTSOptions) {
		change(o)
		options = fmt.Sprintf("%+v", *o)
	})
	claim.Fail(err)
	if out := f.known[options]; out != nil {
		return out
	}
	out := make([]found, len(f.targets))
	for i, t := range f.targets {
		p := t.p
		p.Keep, p.KeepDepth = tried, search.Exact
		for seed := range f.seeds {
			r, err := s.Search(ctx, p, search.Budget{Evaluations: f.evaluations}, int64(seed+1))
			claim.Fail(err)
			out[i].cost += math.Log(r.Cost) / float64(f.seeds)
			if t.watch != nil {
				out[i].time += math.Log(t.watch.first(ctx, search.Candidates(r.Top, f.base))) / float64(f.seeds)
			}
		}
	}
	f.known[options] = out
	return out
}

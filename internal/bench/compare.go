package bench

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aclements/go-moremath/stats"
	"gonum.org/v1/gonum/floats"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tune"
)

// Comparison is of two runs: how many times as fast each method's schedules of the
// second are.
type Comparison struct {
	A     string   `json:"a"`
	B     string   `json:"b"`
	Pairs []Pair   `json:"pairs"`
	Means []Mean   `json:"means"` // by method
	Drift Mean     `json:"drift"` // of the pairs that are one schedule: what the machine alone changed
	Notes []string `json:"notes"` // what keeps the runs from being alike
}

// Pair is one part and method that both runs have.
type Pair struct {
	Part   string  `json:"part"`
	Method string  `json:"method"`
	A      float64 `json:"a_seconds"` // median laps
	B      float64 `json:"b_seconds"`
	// Ratio is A over B, with its 95% bootstrap interval.
	Ratio measure.Interval `json:"ratio"`
	// P is the two-sided probability of laps that differ so much where nothing differs
	// (Mann and Whitney's U test), Adjusted that for all pairs at once (Holm).
	P        float64 `json:"p"`
	Adjusted float64 `json:"p_adjusted"`
	// Same says that both are the same schedule, as far as directives tell.
	Same bool `json:"same_schedule"`

	draws []float64
}

// significance below which a difference is called one.
const significance = 0.05

// Significant says whether the two differ.
func (p Pair) Significant() bool { return p.Adjusted < significance }

// Compare sets two runs side by side. Their laps were not taken in the same rounds, so
// what else was different then is in the ratio: Drift says how much that was.
func Compare(a, b *Stored) (*Comparison, error) {
	c := &Comparison{A: a.Dir, B: b.Dir}
	for _, x := range []struct{ what, a, b string }{
		{"CPU", a.Manifest.CPU, b.Manifest.CPU}, {"Halide", a.Manifest.Halide, b.Manifest.Halide},
		{"threads", fmt.Sprint(a.Manifest.Options.Threads), fmt.Sprint(b.Manifest.Options.Threads)},
		{"budget", a.Manifest.Options.Budget.String(), b.Manifest.Options.Budget.String()},
		{"divisor", fmt.Sprint(a.Manifest.Options.Divide), fmt.Sprint(b.Manifest.Options.Divide)},
	} {
		if x.a != x.b {
			c.Notes = append(c.Notes, fmt.Sprintf("another %s: %s and %s", x.what, x.a, x.b))
		}
	}
	for _, app := range a.Manifest.changed(b.Manifest) {
		c.Notes = append(c.Notes, "another program: the files of "+app+" changed")
	}
	var methods []string
	for _, e := range a.Manifest.Entries {
		if slices.ContainsFunc(b.Manifest.Entries, func(o Entry) bool { return o.Method == e.Method }) {
			methods = append(methods, e.Method)
		}
	}
	for _, p := range a.Manifest.Parts {
		for _, m := range methods {
			if pair, ok := compared(a, b, p, m); ok {
				c.Pairs = append(c.Pairs, pair)
			}
		}
	}
	if len(c.Pairs) == 0 {
		return nil, &UsageError{errors.New("the two runs have no application and method in common that both have times of")}
	}
	c.adjust()
	for _, m := range methods {
		c.Means = append(c.Means, c.mean(m, func(p Pair) bool { return p.Method == m }))
	}
	c.Drift = c.mean("", func(p Pair) bool { return p.Same })
	return c, nil
}

func compared(a, b *Stored, p Part, method string) (Pair, bool) {
	la, ta := a.lapsOfBest(p, method)
	lb, tb := b.lapsOfBest(p, method)
	if len(la) == 0 || len(lb) == 0 {
		return Pair{}, false
	}
	label := (&part{app: p.App, name: p.Name}).label()
	pair := Pair{Part: label, Method: method, A: measure.Median(la), B: measure.Median(lb), P: MannWhitney(la, lb), Same: ta != "" && ta == tb}
	rng := tune.Stream(1, "bench/compare/"+label+"/"+method)
	pair.draws = make([]float64, measure.Resamplings)
	for i := range pair.draws {
		pair.draws[i] = measure.ResampledMedian(rng, la) / measure.ResampledMedian(rng, lb)
	}
	pair.Ratio = measure.PercentileInterval(pair.A/pair.B, pair.draws, measure.Confidence)
	return pair, true
}

// lapsOfBest are those of the fastest of a method's seeds, in seconds, and the text of
// its schedule.
func (s *Stored) lapsOfBest(p Part, method string) (out []float64, text string) {
	var best []time.Duration
	for _, e := range s.Entries {
		if e.App != p.App || e.Part != p.Name || e.Method != method || e.Status != measure.OK {
			continue
		}
		all, _ := laps(s.race(p), method, e.Repeat)
		if d := measure.Fastest(all); d > 0 && (best == nil || d < measure.Fastest(best)) {
			best, text = all, e.Schedule
		}
	}
	for _, d := range best {
		if d > 0 {
			out = append(out, d.Seconds())
		}
	}
	return out, text
}

// MannWhitney is the two-sided p-value of the U test that two samples are of one
// distribution: exact where they are small, else by the normal approximation with
// continuity and tie corrections. 1 where either is empty or all are equal.
func MannWhitney(a, b []float64) float64 {
	r, err := stats.MannWhitneyUTest(a, b, stats.LocationDiffers)
	if err != nil {
		return 1
	}
	return math.Min(r.P, 1)
}

// adjust corrects the pairs' probabilities for there being many (Holm 1979).
func (c *Comparison) adjust() {
	p := make([]float64, len(c.Pairs))
	for i := range c.Pairs {
		p[i] = c.Pairs[i].P
	}
	for i, x := range Holm(p) {
		c.Pairs[i].Adjusted = x
	}
}

// Holm adjusts p-values so that the chance of a single wrong rejection among all of
// them stays below the level they are compared with (Holm 1979).
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	floats.ArgsortStable(slices.Clone(p), order)
	out, most := make([]float64, len(p)), 0.0
	for rank, i := range order {
		most = math.Max(most, math.Min(1, p[i]*float64(len(p)-rank)))
		out[i] = most
	}
	return out
}

// mean of the pairs that are taken.
func (c *Comparison) mean(method string, take func(Pair) bool) Mean {
	pairs := slices.DeleteFunc(slices.Clone(c.Pairs), func(p Pair) bool { return !take(p) })
	return mean(method, pairs, func(p *Pair) (*measure.Interval, []float64) { return &p.Ratio, p.draws })
}

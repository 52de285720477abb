package bench

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand"
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
	A     string `json:"a"`
	B     string `json:"b"`
	Pairs []Pair `json:"pairs"`
	Means []Mean `json:"means"` // by method
	// Drift is of the pairs that are one schedule: what the machine changed, and besides it
	// what DriftOf names.
	Drift   Mean     `json:"drift"`
	DriftOf []string `json:"drift_of"`
	Notes   []string `json:"notes"` // what keeps the runs from being alike
	// Missing says, in words, everything that a run was to have and that is not compared,
	// with how it went in both.
	Missing []string `json:"missing"`
}

// Pair is one application and method that both runs have times of.
type Pair struct {
	App    string `json:"app"`
	Parts  int    `json:"parts"`
	Method string `json:"method"`
	// A and B are median laps; of parts the sum, each as often as it occurs.
	A float64 `json:"a_seconds"`
	B float64 `json:"b_seconds"`
	// Ratio is A over B, with its 95% bootstrap interval.
	Ratio measure.Interval `json:"ratio"`
	// P is the two-sided probability of laps that differ so much where nothing differs
	// (Mann and Whitney's U test; of parts it is of sums of laps), Adjusted that for all
	// pairs at once (Holm).
	P        float64 `json:"p"`
	Adjusted float64 `json:"p_adjusted"`
	// Same says that both are the same schedule, as far as directives tell.
	Same bool `json:"same_schedule"`
	// WithinDrift says that the ratio is on the same side of 1 as the whole interval of
	// drift, and not clearly beyond it.
	WithinDrift bool `json:"within_drift"`

	draws []float64
}

// significance below which a difference is called one.
const significance = 0.05

// Significant says whether the two differ.
func (p Pair) Significant() bool { return p.Adjusted < significance }

// Compare sets two runs side by side. Their laps were not taken in the same rounds, so
// what else was different then is in the ratio: Drift says how much that was.
func Compare(a, b *Stored) (*Comparison, error) {
	sa, err := a.Summarise("")
	if err != nil {
		return nil, err
	}
	sb, err := b.Summarise("")
	if err != nil {
		return nil, err
	}
	c := &Comparison{A: a.Dir, B: b.Dir}
	theirs := b.Manifest.conditions()
	for i, x := range a.Manifest.conditions() {
		y := theirs[i]
		// What one of the runs is too old to know is no difference; the builds of two versions
		// always differ.
		if x.value == y.value || x.value == "" || y.value == "" || x.what == buildOfHalide && a.Manifest.Halide != b.Manifest.Halide {
			continue
		}
		c.Notes = append(c.Notes, fmt.Sprintf("another %s: %s and %s", x.what, x.value, y.value))
		if x.timed {
			c.DriftOf = append(c.DriftOf, "another "+x.what)
		}
	}
	apps, methods := c.both("application", a.apps(), b.apps()), c.both("method", sa.Methods, sb.Methods)
	for _, app := range apps {
		ps, others := a.partsOf(app), b.partsOf(app)
		if !slices.EqualFunc(ps, others, func(p, q Part) bool { return p.Name == q.Name && p.Times == q.Times }) {
			c.Missing = append(c.Missing, fmt.Sprintf("%s: other layers in A (%d) than in B (%d)", app, len(ps), len(others)))
			continue
		}
		for _, m := range methods {
			if pair, ok := compared(a, b, ps, m); ok {
				c.Pairs = append(c.Pairs, pair)
			} else {
				c.Missing = append(c.Missing, untimed(app, sa.cell(app, m), sb.cell(app, m)))
			}
		}
	}
	if len(c.Pairs) == 0 {
		return nil, &UsageError{errors.New("the two runs have no application and method in common that both have times of")}
	}
	for _, app := range a.Manifest.changed(b.Manifest) {
		c.Notes = append(c.Notes, "another program: the files of "+app+" changed")
		if slices.ContainsFunc(c.Pairs, func(p Pair) bool { return p.App == app && p.Same }) {
			c.DriftOf = append(c.DriftOf, "other files of "+app)
		}
	}
	c.adjust()
	for _, m := range methods {
		c.Means = append(c.Means, c.mean(m, func(p Pair) bool { return p.Method == m }))
	}
	c.Drift = c.mean("", func(p Pair) bool { return p.Same })
	for i := range c.Pairs {
		c.Pairs[i].WithinDrift = within(c.Pairs[i].Ratio, c.Drift.Ratio)
	}
	return c, nil
}

// condition is something that a run's numbers depend on and that another run may have
// otherwise.
type condition struct {
	what, value string // the value is empty where the run does not know it
	timed       bool   // it changes how long one and the same schedule takes
}

const buildOfHalide = "build of Halide"

func (m Manifest) conditions() []condition {
	o := m.Options
	peers := "the budget"
	if o.PeerTime > 0 {
		peers = o.PeerTime.String()
	}
	return []condition{
		{"CPU", m.CPU, false}, // it and the next are the machine, which drift is of in any case
		{"machine", m.Host, false},
		{"Halide", m.Halide, true},
		{buildOfHalide, m.HalideBuild, true},
		{"number of threads", fmt.Sprint(o.Threads), true},
		{"budget", o.Budget.String(), false},
		{"limit of the peers' time", peers, false},
		{"limit of the peers' memory", fmt.Sprintf("%d MiB", o.PeerMemory>>20), false},
		{"divisor", fmt.Sprint(o.Divide), false},
		{"number of seeds", fmt.Sprint(o.Repeat), false},
		{"number of finalists", fmt.Sprint(o.Finalists), false},
		{"file of weights", cmp.Or(o.Weights, "Halide's"), false},
		{"content of the weights", fmt.Sprintf("%.8s", m.WeightsHash), false},
	}
}

// both are those that the two runs have; what only one has is missing.
func (c *Comparison) both(what string, a, b []string) (out []string) {
	for _, x := range a {
		if slices.Contains(b, x) {
			out = append(out, x)
		} else {
			c.Missing = append(c.Missing, what+" "+x+": in A alone")
		}
	}
	for _, x := range b {
		if !slices.Contains(a, x) {
			c.Missing = append(c.Missing, what+" "+x+": in B alone")
		}
	}
	return out
}

// cell of an application and a method that the summary has.
func (s *Summary) cell(app, method string) Cell {
	i := slices.IndexFunc(s.Apps, func(r Row) bool { return r.App == app })
	return s.Apps[i].Cells[slices.Index(s.Methods, method)]
}

// untimed says how it went in both runs. The statuses come first: messages may be long.
func untimed(app string, a, b Cell) string {
	status := func(c Cell) string { return cmp.Or(c.Status.String(), "not raced") }
	line := fmt.Sprintf("%s by %s: %s in A, %s in B", app, a.Method, status(a), status(b))
	if a.Message != "" {
		line += "; A: " + a.Message
	}
	if b.Message != "" {
		line += "; B: " + b.Message
	}
	return line
}

// within says whether a ratio is on drift's side of 1 and not clearly beyond it, where
// drift is clearly on one; nil stands for none.
func within(ratio measure.Interval, drift *measure.Interval) bool {
	switch {
	case drift == nil:
		return false
	case drift.Low > 1:
		return ratio.Value > 1 && ratio.Low <= drift.High
	case drift.High < 1:
		return ratio.Value < 1 && ratio.High >= drift.Low
	}
	return false
}

// compared sets what a method came to on an application of these parts side by side;
// false where a part has no time in one of the runs.
func compared(a, b *Stored, ps []Part, method string) (Pair, bool) {
	pair := Pair{App: ps[0].App, Parts: len(ps), Method: method, Same: true, draws: make([]float64, measure.Resamplings)}
	rng := tune.Stream(1, "bench/compare/"+pair.App+"/"+method)
	ta, tb := total{draws: make([]float64, measure.Resamplings)}, total{draws: make([]float64, measure.Resamplings)}
	for _, p := range ps {
		la, sa := a.lapsOfBest(p, method)
		lb, sb := b.lapsOfBest(p, method)
		if len(la) == 0 || len(lb) == 0 {
			return Pair{}, false
		}
		ta.add(rng, la, float64(p.Times))
		tb.add(rng, lb, float64(p.Times))
		pair.Same = pair.Same && sa != "" && sa == sb
	}
	pair.A, pair.B, pair.P = ta.seconds, tb.seconds, MannWhitney(ta.laps, tb.laps)
	for i := range pair.draws {
		pair.draws[i] = ta.draws[i] / tb.draws[i]
	}
	pair.Ratio = measure.PercentileInterval(pair.A/pair.B, pair.draws, measure.Confidence)
	return pair, true
}

// total is the time of an application in one run, in seconds: of its parts' median laps,
// with its bootstrap draws, and by lap. Parts are raced apart, so any lap of one may be
// added to any of another; there are as many as of the part with the fewest.
type total struct {
	seconds     float64
	draws, laps []float64
}

// add adds a part that occurs so many times.
func (t *total) add(rng *rand.Rand, laps []float64, times float64) {
	t.seconds += times * measure.Median(laps)
	for i := range t.draws {
		t.draws[i] += times * measure.ResampledMedian(rng, laps)
	}
	if t.laps == nil {
		t.laps = make([]float64, len(laps))
	}
	t.laps = t.laps[:min(len(t.laps), len(laps))]
	for k := range t.laps {
		t.laps[k] += times * laps[k]
	}
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

package bench

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand"
	"slices"
	"strings"
	"time"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tune"
)

// Summary is what a run says, finished or not.
type Summary struct {
	// Against is the method that all others are compared with: a ratio says how many
	// times as fast it is as the other.
	Against string   `json:"against"`
	Methods []string `json:"methods"`
	Apps    []Row    `json:"apps"`
	Means   []Mean   `json:"means"`   // by method
	Floor   Mean     `json:"floor"`   // the sentinels: the same build against itself
	Covered int      `json:"covered"` // apps whose sentinel's interval covers 1
	// Missing says, in words, everything that was to be there and is not; also seeds that
	// failed, where others of their method have a time.
	Missing []string `json:"missing"`
}

// Row is an application's.
type Row struct {
	App    string            `json:"app"`
	Parts  int               `json:"parts"`
	Cells  []Cell            `json:"cells"` // by method
	Floor  *measure.Interval `json:"floor,omitempty"`
	Rounds int               `json:"rounds"` // the fewest of its parts
	Thrown int               `json:"thrown"`
}

// Cell is what became of a method on an application. Of several seeds the fastest
// counts, on each part.
type Cell struct {
	Method  string         `json:"method"`
	Status  measure.Status `json:"status"` // Invalid where it is not there yet
	Message string         `json:"message,omitempty"`
	Note    string         `json:"note,omitempty"`
	// Seconds is the fastest lap; of parts the sum, each as often as it occurs.
	Seconds float64 `json:"seconds,omitempty"`
	// Ratio is how many times as fast Against is, the median of the paired ratios with
	// its 95% bootstrap interval; Minima is that of the fastest laps.
	Ratio *measure.Interval `json:"ratio,omitempty"`
	// Pairs are the rounds that Ratio is from, of parts the fewest. From fewer than
	// measure.FewestRounds its interval holds less than it claims.
	Pairs        int     `json:"pairs,omitempty"`
	Minima       float64 `json:"minima,omitempty"`
	Inconclusive bool    `json:"inconclusive,omitempty"` // the two tell different winners
	Failed       int     `json:"failed_seeds,omitempty"` // of parts those of each, added up
	Cut          int     `json:"cut_seeds,omitempty"`    // by a limit, before all was done that the method does; likewise
	Took         float64 `json:"took_seconds"`           // until the builds were there
	Cost         float64 `json:"cost_ms,omitempty"`      // by the model: the least of its seeds
	Measured     int     `json:"measured,omitempty"`     // schedules timed on the way
	Evaluations  int64   `json:"evaluations,omitempty"`
	Roots        int     `json:"roots,omitempty"`
	Greedy       int     `json:"greedy,omitempty"` // roots won by trees with greedy rollouts

	draws []float64 // bootstrapped ratios
}

// Mean is a geometric mean over applications.
type Mean struct {
	Method string            `json:"method"`
	Apps   int               `json:"apps"` // that are in it
	Ratio  *measure.Interval `json:"ratio,omitempty"`
}

// Summarise compares everything with one method; empty stands for the first.
func (s *Stored) Summarise(against string) (*Summary, error) {
	out := &Summary{Against: against}
	for _, e := range s.Manifest.Entries {
		out.Methods = append(out.Methods, e.Method)
	}
	if against == "" && len(out.Methods) > 0 {
		out.Against = out.Methods[0]
	}
	if !slices.Contains(out.Methods, out.Against) {
		return nil, &UsageError{fmt.Errorf("the run has no method %q to compare with; it has %v", out.Against, out.Methods)}
	}
	for _, app := range s.apps() {
		out.Apps = append(out.Apps, s.row(app, out))
	}
	for i, m := range out.Methods {
		out.Means = append(out.Means, mean(m, out.Apps, func(r *Row) (*measure.Interval, []float64) { return r.Cells[i].Ratio, r.Cells[i].draws }))
	}
	s.floor(out)
	return out, nil
}

// Timed counts the cells that have a time.
func (s *Summary) Timed() int {
	n := 0
	for _, r := range s.Apps {
		for _, c := range r.Cells {
			if c.Seconds > 0 {
				n++
			}
		}
	}
	return n
}

// apps in the manifest's order.
func (s *Stored) apps() []string {
	var out []string
	for _, p := range s.Manifest.Parts {
		if !slices.Contains(out, p.App) {
			out = append(out, p.App)
		}
	}
	return out
}

func (s *Stored) partsOf(app string) []Part {
	return slices.DeleteFunc(slices.Clone(s.Manifest.Parts), func(p Part) bool { return p.App != app })
}

// standing is one method's on one part: what the fastest of its seeds did.
type standing struct {
	laps    []time.Duration
	best    time.Duration
	status  measure.Status
	message string
	note    string
	failed  []measure.Status // of the seeds that failed, in their order
	first   string           // the message of the first of these
}

// notRaced is what a method lacks on a part of which there is nothing to say yet.
const notRaced = "not raced yet"

// lacks says in words what a method of so many seeds has not on a part: a time, or the times
// of some seeds. Empty where nothing failed and there is a time.
func (st standing) lacks(seeds int) string {
	switch {
	case len(st.failed) > 1 || st.best > 0 && len(st.failed) > 0:
		counts := map[measure.Status]int{}
		for _, status := range st.failed {
			counts[status]++
		}
		var kinds []string
		for _, status := range slices.Sorted(maps.Keys(counts)) {
			kinds = append(kinds, fmt.Sprintf("%s (%d)", status, counts[status]))
		}
		return fmt.Sprintf("%d of %d seeds failed: %s; the first: %s", len(st.failed), seeds, strings.Join(kinds, ", "), st.first)
	case st.best > 0:
		return ""
	case st.status != measure.Invalid:
		return fmt.Sprintf("%s: %s", st.status, st.message)
	case st.message != "":
		return "not raced: " + st.message
	}
	return notRaced
}

// standing adds to the cell what all seeds took, and gives besides the fastest the least
// cost of a seed's schedule by the model, in milliseconds, and whether any has one.
func (s *Stored) standing(p Part, e Entry, c *Cell) (out standing, cost float64, known bool) {
	for k := 1; k <= e.Repeats; k++ {
		row := s.entry(p, e.Method, k)
		if row == nil {
			continue
		}
		c.Took += row.Took.Seconds()
		c.Measured += row.Measured
		c.Evaluations += row.Evaluations
		c.Roots += row.Roots
		c.Greedy += row.Greedy
		if row.Cut {
			c.Cut++
		}
		if row.Cost > 0 && (!known || row.Cost < cost) {
			cost, known = row.Cost, true
		}
		all, lane := laps(s.race(p), e.Method, k)
		status, message := row.Status, row.Message
		if lane != nil {
			status, message = cmp.Or(lane.Status, measure.Crashed), "in the race: "+lane.Failure
		}
		best := measure.Fastest(all)
		if best == 0 && status != measure.OK {
			c.Failed++
			if out.failed = append(out.failed, status); len(out.failed) == 1 {
				out.first = message
			}
		}
		switch {
		case best > 0 && (out.best == 0 || best < out.best):
			out.laps, out.best, out.status, out.message, out.note = all, best, status, "", row.Note
		case out.best == 0 && status != measure.OK:
			out.status, out.message = status, message
		case out.best == 0 && out.status == measure.Invalid:
			out.message = message
		}
	}
	return out, cost, known
}

// row compares the methods on one application.
func (s *Stored) row(app string, sum *Summary) Row {
	ps := s.partsOf(app)
	r := Row{App: app, Parts: len(ps), Cells: make([]Cell, len(s.Manifest.Entries))}
	all := make([][]standing, len(r.Cells)) // by method and part
	for i, e := range s.Manifest.Entries {
		c := &r.Cells[i]
		c.Method, c.Status = e.Method, measure.OK
		total, whole := 0.0, true // the parts' costs, and whether each has one
		var lacking []string      // by part
		for _, p := range ps {
			st, cost, known := s.standing(p, e, c)
			total, whole = total+cost*float64(p.Times), whole && known
			all[i] = append(all[i], st)
			lacking = append(lacking, st.lacks(e.Repeats))
			if st.note != "" {
				c.Note = joined(c.Note, st.note)
			}
			c.Seconds += st.best.Seconds() * float64(p.Times)
			if st.best == 0 && c.Status == measure.OK {
				c.Status, c.Message = st.status, st.message
				if p.Name != "" && (st.status != measure.Invalid || st.message != "") {
					c.Message = p.Name + ": " + c.Message
				}
			}
		}
		if c.Status != measure.OK {
			c.Seconds = 0
		}
		sum.Missing = append(sum.Missing, missing(ps, e.Method, lacking)...)
		if whole {
			c.Cost = total
		}
	}
	base := slices.Index(sum.Methods, sum.Against)
	for i := range r.Cells {
		c := &r.Cells[i]
		if c.Seconds > 0 && r.Cells[base].Seconds > 0 {
			c.compare(s.rng("ratio/"+app+"/"+c.Method), ps, all[i], all[base])
			v := measure.NewVerdict(*c.Ratio, c.Seconds/r.Cells[base].Seconds)
			c.Minima, c.Inconclusive = v.Minima, v.Inconclusive
		}
	}
	for i, p := range ps {
		if race := s.race(p); race != nil {
			if i == 0 || race.Rounds < r.Rounds {
				r.Rounds = race.Rounds
			}
			r.Thrown += race.Thrown
		}
	}
	return r
}

// missing says what a method lacks on an application: of each part that lacks something, but
// once where all lack the same, as they do where the application does not compile, and once
// of all that were not raced yet.
func missing(ps []Part, method string, lacking []string) (lines []string) {
	same := !slices.ContainsFunc(lacking, func(what string) bool { return what != lacking[0] })
	for i, what := range lacking {
		name := (&part{app: ps[i].App, name: ps[i].Name}).label()
		switch {
		case what == "":
			continue
		case what == notRaced:
			name = ps[i].App
		case same && len(ps) > 1:
			name = fmt.Sprintf("%s (%d layers)", ps[i].App, len(ps))
		}
		if line := fmt.Sprintf("%s by %s: %s", name, method, what); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (s *Stored) rng(name string) *rand.Rand {
	return tune.Stream(s.Manifest.Options.Seed, "bench/"+name)
}

// compare sets the ratio of an application's times. Of parts it is the mean of their
// median paired ratios, each weighed by its share of the other's time, which is the
// ratio of the sums.
func (c *Cell) compare(rng *rand.Rand, ps []Part, mine, base []standing) {
	var groups []group
	for i, p := range ps {
		ratios := measure.PairedRatios(mine[i].laps, base[i].laps)
		if i == 0 || len(ratios) < c.Pairs {
			c.Pairs = len(ratios)
		}
		groups = append(groups, group{float64(p.Times) * base[i].best.Seconds(), ratios})
	}
	c.Ratio, c.draws = weighed(rng, groups)
}

// group is a part's paired ratios and its weight.
type group struct {
	weight float64
	ratios []float64
}

// weighed is the weighted mean of the groups' medians with its percentile bootstrap
// interval, every group resampled by itself (Efron and Tibshirani 1993, chapter 13);
// nil where a group is empty.
func weighed(rng *rand.Rand, groups []group) (*measure.Interval, []float64) {
	total := 0.0
	for _, g := range groups {
		if len(g.ratios) == 0 {
			return nil, nil
		}
		total += g.weight
	}
	value, draws := 0.0, make([]float64, measure.Resamplings)
	for _, g := range groups {
		value += g.weight / total * measure.Median(g.ratios)
		for i := range draws {
			draws[i] += g.weight / total * measure.ResampledMedian(rng, g.ratios)
		}
	}
	interval := measure.PercentileInterval(value, draws, measure.Confidence)
	return &interval, draws
}

// mean is geometric, over those that have a ratio: applications, or pairs of two runs.
// Its interval says how well these were measured, not what others would give.
func mean[T any](method string, rows []T, of func(*T) (*measure.Interval, []float64)) Mean {
	m := Mean{Method: method}
	sum, draws := 0.0, make([]float64, measure.Resamplings)
	for i := range rows {
		ratio, drawn := of(&rows[i])
		if ratio == nil {
			continue
		}
		m.Apps++
		sum += math.Log(ratio.Value)
		for k := range draws {
			draws[k] += math.Log(drawn[k])
		}
	}
	if m.Apps == 0 {
		return m
	}
	for k := range draws {
		draws[k] = math.Exp(draws[k] / float64(m.Apps))
	}
	interval := measure.PercentileInterval(math.Exp(sum/float64(m.Apps)), draws, measure.Confidence)
	m.Ratio = &interval
	return m
}

// floor compares every race's first lane with itself.
func (s *Stored) floor(out *Summary) {
	all := map[string][]float64{}
	for i := range out.Apps {
		r := &out.Apps[i]
		var groups []group
		for _, p := range s.partsOf(r.App) {
			if race := s.race(p); race != nil && len(race.Lanes) > 0 {
				first := race.Lanes[0].Laps
				groups = append(groups, group{float64(p.Times) * measure.Fastest(first).Seconds(), measure.AgainstItself(first, race.Sentinel)})
			}
		}
		if len(groups) < r.Parts {
			continue
		}
		r.Floor, all[r.App] = weighed(s.rng("floor/"+r.App), groups)
		if r.Floor != nil && r.Floor.Low <= 1 && r.Floor.High >= 1 {
			out.Covered++
		}
	}
	out.Floor = mean("", out.Apps, func(r *Row) (*measure.Interval, []float64) { return r.Floor, all[r.App] })
}

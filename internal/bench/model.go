package bench

import (
	"context"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/tune"
)

// What a search that asks only the model hands over: its best, and a few more that
// differ in structure should that one not compute the right thing.
const (
	modelKeep  = 4
	modelDepth = 2
)

// plan is a search guided by the model: one of search.NewSearcher's names, with a change.
type plan struct {
	name   string
	change func(*search.MCTSOptions)
}

// planned finds a plan by its name; the error says why there is none.
func planned(name string) (plan, error) {
	p := plan{name: name}
	_, err := p.searcher(1, nil)
	return p, err
}

// measures says whether it times schedules inside its trees.
func (p plan) measures() bool { return search.Measures(p.name) }

func chooseNothing(context.Context, []search.Solution) (int, error) { return 0, nil }

// searcher makes it; the time for a root is divided. choose picks among the trees'
// best where that is done by measuring; nil will do otherwise.
func (p plan) searcher(divide float64, choose func(context.Context, []search.Solution) (int, error)) (search.Searcher, error) {
	if choose == nil {
		choose = chooseNothing
	}
	if _, tree := search.TreeOptions(p.name); !tree {
		return search.NewSearcher(p.name, nil)
	}
	return search.NewSearcher(p.name, func(o *search.MCTSOptions) {
		p.configure(o, divide)
		if o.NeedsChoose {
			o.Choose = choose
		}
	})
}

func (p plan) configure(o *search.MCTSOptions, divide float64) {
	if p.change != nil {
		p.change(o)
	}
	o.RootTime = time.Duration(float64(o.RootTime) / divide)
}

// options of a tree search, and whether it is one.
func (p plan) options(divide float64) (o search.MCTSOptions, tree bool) {
	o, tree = search.TreeOptions(p.name)
	if tree {
		p.configure(&o, divide)
	}
	return o, tree
}

// predicted asks only the model, as `tune --measure=false` does; ProTuner's cost+real
// also times what its trees find, in all for the peers' limit: large pipelines compile for
// so long that it would take hours, whatever its time for each root is divided by. A search
// that has a time for each root is given no other, unless it is run again and again; greedy
// and beam end by themselves or at the peers' limit; all others take the budget. The space
// is Adams et al.'s.
func predicted(p plan) method {
	return method{random: !p.ends(), alone: true, make: func(ctx context.Context, j *job) (*made, error) {
		timer := j.stage.timer()
		timer.Limit = j.limits.Time
		s, err := p.searcher(j.o.Divide, timer.Choose)
		if err != nil {
			return nil, err
		}
		problem, err := j.stage.problem()
		if err != nil {
			return nil, err
		}
		problem.Keep, problem.KeepDepth = modelKeep, modelDepth
		r, err := s.Search(ctx, problem, p.budget(j), j.seed)
		if err != nil {
			return nil, err
		}
		if limit := p.budget(j).Time; r.Fallback && p.ends() {
			return nil, &bridge.LimitError{Limit: "time", Value: limit.String()}
		}
		last, err := timer.Last(ctx, r.Solution)
		if err != nil {
			return nil, err
		}
		m, err := j.handOver(ctx, append([]search.Solution{last}, r.Ranked()...), modelKeep)
		if err != nil {
			return nil, err
		}
		m.evaluations, m.measured = r.Evaluations, len(timer.Known)
		if timer.Untimed > 0 {
			m.short("the last %d of %d roots were not timed: %v of timing were over", timer.Untimed, len(r.Roots), timer.Limit)
		}
		if o, tree := p.options(j.o.Divide); tree {
			m.roots, m.greedy = len(r.Roots), wonGreedily(r.Roots, o.Greedy)
		}
		return m, nil
	}}
}

// ends says whether the search comes to its end by itself.
func (p plan) ends() bool { return p.name == "beam" || p.name == "greedy" }

func (p plan) budget(j *job) search.Budget {
	if o, tree := p.options(j.o.Divide); tree && o.RootTime > 0 && !search.Reruns(p.name) {
		return search.Budget{}
	}
	if p.ends() {
		return search.Budget{Time: j.limits.Time}
	}
	return search.Budget{Time: j.budget}
}

// handOver builds the first that works of what searches found, of which at most so
// many are tried.
func (j *job) handOver(ctx context.Context, found []search.Solution, most int) (*made, error) {
	s, note, err := j.buildFirst(ctx, different(found, most))
	if err != nil {
		return nil, err
	}
	return &made{schedule: s.String(), note: note, cost: found[0].Cost, checked: true}, nil
}

// different is the schedules of what was found, each once, at most so many.
func different(found []search.Solution, most int) []schedule.Schedule {
	var out []schedule.Schedule
	had := map[uint64]bool{}
	for _, c := range search.Candidates(found, "") {
		if !had[c.Hash] && len(out) < most {
			had[c.Hash] = true
			out = append(out, c.Schedule)
		}
	}
	return out
}

// wonGreedily counts the roots whose way was found by a tree with greedy rollouts, the
// first so many of the ensemble. A root that moves towards what an earlier root's
// trees found is counted for the tree that found it.
func wonGreedily(roots []search.Root, greedy int) int {
	n, by := 0, -1
	for _, r := range roots {
		if r.Tree >= 0 {
			by = r.Tree
		}
		if by >= 0 && by < greedy {
			n++
		}
	}
	return n
}

// beams is so many beam searches at once, ProTuner's fair rival (section 5): the
// first as it is, the others with the random dropout of Adams2019, without which all
// would find the same. All together have the peers' limit: where there are fewer cores than
// beams, those whose turn does not come, or that are not done by then, found nothing.
func beams(n int) method {
	return method{random: true, alone: true, make: func(ctx context.Context, j *job) (*made, error) {
		problem, err := j.stage.problem()
		if err != nil {
			return nil, err
		}
		problem.Workers = 1
		problem.Keep, problem.KeepDepth = modelKeep, modelDepth
		results := make([]search.Result, n)
		var group errgroup.Group
		group.SetLimit(j.o.Threads)
		ends := time.Now().Add(j.limits.Time)
		for i := range n {
			group.Go(func() (err error) {
				o := search.BeamDefaults()
				if i > 0 {
					o.Dropout = 50
				}
				left := search.Budget{Time: max(1, time.Until(ends))}
				results[i], err = search.NewBeam(o).Search(ctx, problem, left, j.seed*1000+int64(i))
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		found, late := together(results)
		if len(found) == 0 {
			return nil, &bridge.LimitError{Limit: "time", Value: j.limits.Time.String()}
		}
		// Where the cheapest does not work, each of the other beams may have another.
		m, err := j.handOver(ctx, found, n)
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			m.evaluations += r.Evaluations
		}
		if late > 0 {
			m.short("%d of %d beams were not done in %v", late, n, j.limits.Time)
		}
		return m, nil
	}}
}

// together is what searches ended with and then what else they found, both from the
// cheapest on, and how many were not done in time and found nothing. A beam ends with
// its best by penalised cost, which need not be the cheapest that it came by.
func together(results []search.Result) (found []search.Solution, late int) {
	var others []search.Solution
	for _, r := range results {
		if r.Fallback {
			late++
		} else {
			found = append(found, r.Solution)
			others = append(others, r.Top...)
		}
	}
	slices.SortStableFunc(found, search.ByCost)
	slices.SortStableFunc(others, search.ByCost)
	return append(found, others...), late
}

// autotuned runs a search again and again with new seeds, builds and times what each
// run finds, and keeps the fastest, until the budget is spent (ProTuner, section 5.4
// and figure 9). Compiling and timing are in the budget.
func autotuned(p plan) method {
	return method{random: true, alone: true, make: func(ctx context.Context, j *job) (*made, error) {
		ends := time.Now().Add(j.budget)
		within, cancel := context.WithDeadline(ctx, ends)
		defer cancel()
		problem, err := j.stage.problem()
		if err != nil {
			return nil, err
		}
		timer := j.stage.timer()
		options, _ := p.options(j.o.Divide)
		out := &made{}
		var best search.Solution
		bestTime := math.Inf(1)
		var last error
		store := timer.Store
		timer.Store = func(ctx context.Context, c search.Candidate, r measure.Result) error {
			if r.Status != measure.OK {
				last = &bridge.Failure{Status: r.Status.String(), Message: r.Message}
			}
			return store(ctx, c, r)
		}
		for run := int64(0); ; run++ {
			left := time.Until(ends)
			if left <= 0 {
				break
			}
			s, err := p.again(j.o.Divide, run)
			if err != nil {
				return nil, err
			}
			r, err := s.Search(within, problem, search.Budget{Time: left}, j.seed*1000+run)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			out.evaluations += r.Evaluations
			out.roots += len(r.Roots)
			out.greedy += wonGreedily(r.Roots, options.Greedy)
			if within.Err() != nil || r.Fallback && p.ends() {
				break
			}
			if err != nil {
				return nil, err
			}
			_, err = timer.Choose(within, []search.Solution{r.Solution})
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if within.Err() != nil {
				break
			}
			if err != nil {
				return nil, err
			}
			if seconds := timer.Seconds(r.Solution); seconds < bestTime {
				best, bestTime = r.Solution, seconds
			}
		}
		if best.Node == nil {
			if last == nil {
				last = &bridge.LimitError{Limit: "time", Value: j.budget.String()}
			}
			return nil, last
		}
		m, err := j.handOver(ctx, []search.Solution{best}, 1)
		if err != nil {
			return nil, err
		}
		m.evaluations, m.roots, m.greedy, m.measured = out.evaluations, out.roots, out.greedy, len(timer.Known)
		return m, nil
	}}
}

// again is the search for its n-th run, of which the first has no dropout: a beam
// finds the same with any seed otherwise.
func (p plan) again(divide float64, n int64) (search.Searcher, error) {
	if p.name == "beam" && n > 0 {
		o := search.BeamDefaults()
		o.Dropout = 50
		return search.NewBeam(o), nil
	}
	return p.searcher(divide, nil)
}

// timer measures what searches find, each schedule once. Once the fork server is gone, which is
// its error, the search ends: the model alone would decide what was to be decided by timing.
func (s *stage) timer() *tune.RootTimer {
	return &tune.RootTimer{
		Measure: s.screener().Measure, Width: s.threads + 1, Most: math.MaxInt, Known: map[uint64]float64{},
		Store: func(_ context.Context, _ search.Candidate, r measure.Result) error {
			if r.Status != measure.InfraFailed {
				return nil
			}
			return s.server.Ended()
		},
	}
}

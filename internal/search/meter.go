package search

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// errBudget ends a search from inside; callers never see it.
var errBudget = errors.New("search: budget over")

// meter counts what a whole search spends.
type meter struct {
	p     Problem
	b     Budget
	start time.Time
	evals atomic.Int64
	steps atomic.Int64

	mu   sync.Mutex
	held int
	most int
}

func newMeter(p Problem, b Budget) *meter {
	return &meter{p: p, b: b, start: time.Now()}
}

// beginSearch refuses a problem or a budget that cannot be; endless is a search that does
// not end by itself. It shortens the context to the budget's time and gives the heap room.
// The function it returns ends the search.
func beginSearch(ctx context.Context, p Problem, b Budget, endless bool) (*meter, context.Context, func(), error) {
	if err := p.validate(); err != nil {
		return nil, nil, nil, err
	}
	if err := b.validate(endless); err != nil {
		return nil, nil, nil, err
	}
	m := newMeter(p, b)
	restore := roomy()
	cancel := context.CancelFunc(func() {})
	if b.Time > 0 {
		ctx, cancel = context.WithDeadline(ctx, m.start.Add(b.Time))
	}
	return m, ctx, func() {
		cancel()
		restore()
	}, nil
}

// over reports whether the time or the evaluations of the whole search are spent.
func (m *meter) over(ctx context.Context) bool {
	return ctx.Err() != nil || m.b.Evaluations > 0 && m.evals.Load() >= m.b.Evaluations
}

// evaluate costs a batch. Costs that cannot be are infinite.
func (m *meter) evaluate(ctx context.Context, dst []float64, batch []Node) error {
	m.evals.Add(int64(len(batch)))
	return m.appraise(ctx, dst, batch)
}

// reserve counts so many evaluations that are to come, unless they are more than the
// budget leaves. Calls must not overlap.
func (m *meter) reserve(n int64) bool {
	if m.b.Evaluations > 0 && m.evals.Load()+n > m.b.Evaluations {
		return false
	}
	m.evals.Add(n)
	return true
}

// appraise is evaluate for what has been counted.
func (m *meter) appraise(ctx context.Context, dst []float64, batch []Node) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.p.Evaluator.Evaluate(ctx, dst, batch); err != nil {
		return err
	}
	for i, c := range dst[:len(batch)] {
		if !(c >= 0 && c <= math.MaxFloat64) {
			dst[i] = math.Inf(1)
		}
	}
	return nil
}

// eachOf calls f for each of n in their order, on so many goroutines, until one fails, and
// returns the error of the first of them that did.
func eachOf(n, workers int, f func(i int) error) error {
	workers = max(1, min(workers, n))
	if workers == 1 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[i] = f(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// hold notes how many nodes are held more (or fewer) than before.
func (m *meter) hold(more int) {
	m.mu.Lock()
	m.held += more
	m.most = max(m.most, m.held)
	m.mu.Unlock()
}

// searched counts what a search inside of this one asked for and held at most.
func (m *meter) searched(r Result) {
	m.evals.Add(r.Evaluations)
	m.hold(r.Nodes)
	m.hold(-r.Nodes)
}

// result ends a search: found are the solutions of its parts in a fixed order, from
// is where to complete a fallback from. The error is that of the search, in which
// the end of the budget is none.
func (m *meter) result(ctx context.Context, found *shelf, from Node, seed int64, err error) (Result, error) {
	if errors.Is(err, errBudget) || errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil
	}
	r := Result{Steps: m.steps.Load(), Nodes: m.most, Top: found.sorted()}
	if len(r.Top) > 0 {
		r.Solution = r.Top[0]
	} else {
		r.Fallback = true
		r.Solution = Solution{Node: finish(from, newStream(seed, 0xfa11)), Cost: math.Inf(1)}
		if err == nil {
			cost := make([]float64, 1)
			if err = m.evaluate(ctx, cost, []Node{r.Node}); err == nil {
				r.Cost = cost[0]
			}
		}
		r.Top = []Solution{r.Solution}
	}
	if err == nil && math.IsInf(r.Cost, 1) {
		err = ErrNoCost
	}
	r.Evaluations, r.Elapsed = m.evals.Load(), m.elapsed()
	return r, err
}

// shelf keeps the best solutions that differ at a depth.
type shelf struct {
	keep, depth int
	kept        []shelved // best first; the first come first among equals
}

type shelved struct {
	Solution
	key uint64
}

func newShelf(p Problem) *shelf { return &shelf{keep: max(p.Keep, 1), depth: p.KeepDepth} }

// put offers a solution. Infinite costs are not kept.
func (s *shelf) put(x Solution) {
	if math.IsInf(x.Cost, 1) || len(s.kept) == s.keep && x.Cost >= s.kept[len(s.kept)-1].Cost {
		return
	}
	var key uint64
	if s.keep > 1 {
		key = x.Node.Key(s.depth)
		if i := slices.IndexFunc(s.kept, func(o shelved) bool { return o.key == key }); i >= 0 {
			if s.kept[i].Cost <= x.Cost {
				return
			}
			s.kept = slices.Delete(s.kept, i, i+1)
		}
	}
	i := len(s.kept)
	for i > 0 && s.kept[i-1].Cost > x.Cost {
		i--
	}
	s.kept = slices.Insert(s.kept, i, shelved{x, key})
	if len(s.kept) > s.keep {
		s.kept = s.kept[:s.keep]
	}
}

// merge puts what another holds.
func (s *shelf) merge(o *shelf) {
	for _, x := range o.kept {
		s.put(x.Solution)
	}
}

// best is the cheapest solution; without one its cost is infinite.
func (s *shelf) best() Solution {
	if len(s.kept) == 0 {
		return Solution{Cost: math.Inf(1)}
	}
	return s.kept[0].Solution
}

func (s *shelf) sorted() []Solution {
	var out []Solution
	for _, x := range s.kept {
		out = append(out, x.Solution)
	}
	return out
}

func (m *meter) elapsed() time.Duration { return time.Since(m.start) }

// left is what of a budget is not spent.
func (m *meter) left(b Budget) Budget {
	if b.Time > 0 {
		b.Time = max(1, b.Time-m.elapsed())
	}
	if b.Evaluations > 0 {
		b.Evaluations = max(1, b.Evaluations-m.evals.Load())
	}
	return b
}

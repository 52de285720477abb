package search

import (
	"context"
	"math"
	"math/rand"
	"time"
)

// AnnealOptions set a simulated annealing.
type AnnealOptions struct {
	// Chains run side by side, each with its part of the budget. Where that is of time
	// alone there are no more of them than workers: others would find it over. Default 8.
	Chains int
	// Start is how many nodes are sampled for a chain to start at the best of.
	// Default 16.
	Start int
	// Hot and Cold are the temperatures at the start and the end, in between falling
	// by a constant factor: a change that makes the cost e^T times higher is taken
	// with probability 1/e. Default 0.05 and 0.002.
	Hot, Cold float64
}

// AnnealDefaults is what NewSearcher uses.
func AnnealDefaults() AnnealOptions {
	return AnnealOptions{Chains: 8, Start: 16, Hot: 0.05, Cold: 0.002}
}

// Validate names the first option out of range.
func (o AnnealOptions) Validate() error {
	switch {
	case o.Chains < 1:
		return optionError("%d chains; at least 1", o.Chains)
	case o.Start < 1:
		return optionError("a start of %d nodes; at least 1", o.Start)
	case !(o.Cold > 0 && o.Hot >= o.Cold) || math.IsInf(o.Hot, 1):
		return optionError("temperatures of %g to %g; both above 0, not rising", o.Hot, o.Cold)
	}
	return nil
}

// Anneal is simulated annealing over complete nodes, one change at a time, on the
// logarithm of the cost.
type Anneal struct{ o AnnealOptions }

// NewAnneal makes an annealing; it panics on options that do not validate.
func NewAnneal(o AnnealOptions) *Anneal {
	if err := o.Validate(); err != nil {
		panic(err)
	}
	return &Anneal{o}
}

// Search implements Searcher. It needs a budget.
func (a *Anneal) Search(ctx context.Context, p Problem, b Budget, seed int64) (Result, error) {
	m, in, end, err := beginSearch(ctx, p, b, true)
	if err != nil {
		return Result{}, err
	}
	defer end()
	lengths := untilTimeIsOver(min(a.o.Chains, p.Workers))
	if b.Evaluations > 0 {
		lengths = shares(b.Evaluations, a.o.Chains)
	}
	ends, err := a.chains(in, m, lengths, m.start, b.Time, seed)
	found := newShelf(p)
	for _, s := range ends {
		found.merge(s)
	}
	return m.result(ctx, found, p.Root, seed, err)
}

// untilTimeIsOver is the lengths of n chains that only time ends.
func untilTimeIsOver(n int) []int64 {
	lengths := make([]int64, max(1, n))
	for i := range lengths {
		lengths[i] = math.MaxInt64
	}
	return lengths
}

// chains runs chains of so many evaluations, and, unless it is 0, of so much time from when
// they began, and gives what each found.
func (a *Anneal) chains(ctx context.Context, m *meter, lengths []int64, begun time.Time, most time.Duration, seed int64) ([]*shelf, error) {
	ends := make([]*shelf, len(lengths))
	for i := range ends {
		ends[i] = newShelf(m.p)
	}
	return ends, eachOf(len(lengths), m.p.Workers, func(i int) error {
		return a.chain(ctx, m, ends[i], seed, i, stretch{lengths[i], begun, most})
	})
}

// stuck is how many changes in a row may not apply before a chain ends: its space
// is a single node.
const stuck = 100

// stretch is how long a chain is: so many evaluations, and, unless it is 0, so much time
// from then on.
type stretch struct {
	most  int64
	begun time.Time
	time  time.Duration
}

func (a *Anneal) chain(ctx context.Context, m *meter, found *shelf, seed int64, index int, of stretch) error {
	rng := newStream(seed, uint64(index)+1)
	now := Solution{Cost: math.Inf(1)}
	root := m.p.Root
	for spent, idle := int64(0), 0; spent < of.most && idle < stuck; {
		next, ok := Node(nil), true
		if spent < int64(a.o.Start) || now.Node == nil {
			next = sampleDown(root, rng)
		} else if next, ok = vary(root, now.Node, rng); !ok {
			idle++
			continue
		}
		idle = 0
		var cost [1]float64
		if err := m.evaluate(ctx, cost[:], []Node{next}); err != nil {
			return err
		}
		spent++
		x := Solution{next, cost[0]}
		found.put(x)
		m.steps.Add(1)
		done := float64(spent) / float64(of.most)
		if of.time > 0 {
			done = max(done, time.Since(of.begun).Seconds()/of.time.Seconds())
		}
		t := cooled(a.o.Hot, a.o.Cold/a.o.Hot, done)
		if spent <= int64(a.o.Start) {
			t = 0
		}
		if accepted(rng, now.Cost, x.Cost, t) {
			now = x
		}
	}
	return nil
}

// cooled is the temperature when a part of the budget is over, 0 to 1: it falls from hot,
// by a constant factor, to that times fall.
func cooled(hot, fall, done float64) float64 { return hot * math.Pow(fall, min(1, done)) }

// accepted says whether a chain at a temperature moves from one cost to another
// (Metropolis's rule on their logarithms).
func accepted(rng *rand.Rand, from, to, temperature float64) bool {
	return to <= from || temperature > 0 && rng.Float64() < math.Exp(math.Log(from/to)/temperature)
}

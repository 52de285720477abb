package forest

import (
	"math"
	"math/rand"
	"slices"
)

// grower grows trees on one data set. Columns are replaced by ranks once, so
// that a split is found by filling a histogram instead of sorting.
type grower struct {
	rng      *rand.Rand
	d        Data
	o        Options
	distinct [][]float64 // per column
	rank     [][]int     // per column, per sample
	views    [][]int
	try      int // columns tried per split

	order []int // columns
	bins  []bin
	t     tree
}

// bin sums the samples of one rank.
type bin struct{ weight, sum, squares float64 }

func (b *bin) add(c bin) {
	b.weight += c.weight
	b.sum += c.sum
	b.squares += c.squares
}

// loss is the weighted squared error around the mean.
func (b bin) loss() float64 {
	if b.weight == 0 {
		return 0
	}
	return math.Max(0, b.squares-b.sum*b.sum/b.weight)
}

func newGrower(rng *rand.Rand, d Data, o Options) *grower {
	g := &grower{rng: rng, d: d, o: o}
	longest := 0
	for c := range d.Equal {
		v, r := ranks(d.X, c)
		g.distinct, g.rank = append(g.distinct, v), append(g.rank, r)
		g.order = append(g.order, c)
		longest = max(longest, len(v))
	}
	if g.views = d.Views; len(g.views) == 0 {
		g.views = [][]int{g.order}
	}
	g.bins = make([]bin, longest)
	return g
}

func (g *grower) weigh(i int) bin {
	w := 1.0
	if g.d.Weight != nil {
		w = g.d.Weight[i]
	}
	y := g.d.Y[i]
	return bin{w, w * y, w * y * y}
}

// look makes the trees that follow use these columns.
func (g *grower) look(columns []int) {
	g.order = append([]int(nil), columns...)
	g.try = max(1, int(g.o.MaxFeatures*float64(len(columns))))
}

func (g *grower) grow() tree {
	samples := make([]int, len(g.d.Y))
	for i := range samples {
		samples[i] = i
		if g.o.Bootstrap {
			samples[i] = g.rng.Intn(len(samples))
		}
	}
	g.t = tree{}
	g.node(samples)
	return g.t
}

// split is a way to divide the samples of a node.
type split struct {
	column int
	rank   int // left: rank == this (Equal) or rank <= this
	at     float64
	loss   float64
}

// node adds the subtree of samples and returns its index. It reorders samples.
func (g *grower) node(samples []int) int {
	var all bin
	for _, i := range samples {
		all.add(g.weigh(i))
	}
	at := len(g.t.nodes)
	n := node{column: -1}
	if all.weight > 0 {
		n.mean, n.variance = all.sum/all.weight, all.loss()/all.weight
	}
	g.t.nodes = append(g.t.nodes, n)
	if len(samples) < max(2, g.o.MinSplit) || all.loss() <= 1e-12*(1+all.squares) {
		return at
	}
	s, ok := g.best(samples, all)
	if !ok {
		return at
	}
	equal, rank := g.d.Equal[s.column], g.rank[s.column]
	k := 0
	for i, sample := range samples {
		if equal && rank[sample] == s.rank || !equal && rank[sample] <= s.rank {
			samples[k], samples[i] = samples[i], samples[k]
			k++
		}
	}
	n.column, n.equal, n.at, n.gain = s.column, equal, s.at, math.Max(0, all.loss()-s.loss)
	n.left = g.node(samples[:k])
	n.right = g.node(samples[k:])
	g.t.nodes[at] = n
	return at
}

// best looks at random columns until enough that vary have been tried.
func (g *grower) best(samples []int, all bin) (split, bool) {
	g.rng.Shuffle(len(g.order), func(i, j int) { g.order[i], g.order[j] = g.order[j], g.order[i] })
	found, tried := split{loss: math.Inf(1)}, 0
	for _, c := range g.order {
		if tried == g.try {
			break
		}
		lo, hi := g.fill(c, samples)
		if lo == hi {
			continue
		}
		tried++
		s := g.divide(c, lo, hi, all)
		if s.loss < found.loss {
			found = s
		}
	}
	return found, tried > 0
}

// fill makes the histogram of a column and returns its lowest and highest rank.
func (g *grower) fill(c int, samples []int) (lo, hi int) {
	rank := g.rank[c]
	lo, hi = math.MaxInt, -1
	for _, i := range samples {
		lo, hi = min(lo, rank[i]), max(hi, rank[i])
	}
	if lo == hi {
		return lo, hi
	}
	clear(g.bins[lo : hi+1])
	for _, i := range samples {
		g.bins[rank[i]].add(g.weigh(i))
	}
	return lo, hi
}

// divide finds the split of one column from its histogram.
func (g *grower) divide(c, lo, hi int, all bin) split {
	s := split{column: c, loss: math.Inf(1)}
	var present []int
	for r := lo; r <= hi; r++ {
		if g.bins[r].weight > 0 {
			present = append(present, r)
		}
	}
	consider := func(k int, left bin) {
		right := bin{all.weight - left.weight, all.sum - left.sum, all.squares - left.squares}
		if l := left.loss() + right.loss(); l < s.loss {
			s.loss, s.rank = l, present[k]
		}
	}
	switch {
	case g.d.Equal[c] && g.o.RandomSplits:
		k := g.rng.Intn(len(present))
		consider(k, g.bins[present[k]])
	case g.d.Equal[c]:
		for k, r := range present {
			consider(k, g.bins[r])
		}
	case g.o.RandomSplits:
		v := g.distinct[c]
		cut := v[lo] + g.rng.Float64()*(v[hi]-v[lo])
		k := slices.IndexFunc(present, func(r int) bool { return v[r] > cut })
		k = max(0, k-1)
		var left bin
		for _, r := range present[:k+1] {
			left.add(g.bins[r])
		}
		consider(k, left)
		s.at = cut
		if v[present[k]] > cut || k+1 < len(present) && v[present[k+1]] <= cut {
			s.at = v[present[k]]
		}
		return s
	default:
		var left bin
		for k, r := range present[:len(present)-1] {
			left.add(g.bins[r])
			consider(k, left)
		}
	}
	s.at = g.distinct[c][s.rank]
	if k := slices.Index(present, s.rank); !g.d.Equal[c] {
		s.at = (s.at + g.distinct[c][present[k+1]]) / 2
	}
	return s
}

// Package forest grows random forests on small data sets, to predict whether a
// configuration works (classification) or how well (regression).
package forest

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"slices"
)

// Options of a forest. The zero value means the defaults, which are those of
// the paper's feasibility model.
type Options struct {
	// Trees is their number; default 50.
	Trees int
	// MaxFeatures is the part of the columns tried at each split; default 0.75.
	MaxFeatures float64
	// Bootstrap grows each tree on a sample with replacement.
	Bootstrap bool
	// RandomSplits draws one threshold per column instead of finding the best.
	RandomSplits bool
	// MinSplit is the least number of samples that is split; default 2.
	MinSplit int
}

// Validate reports the first option out of range.
func (o Options) Validate() error {
	switch {
	case o.Trees < 0 || o.MinSplit < 0:
		return errors.New("forest: Trees and MinSplit must not be negative")
	case !(o.MaxFeatures >= 0 && o.MaxFeatures <= 1):
		return fmt.Errorf("forest: MaxFeatures is a part of 1, not %v", o.MaxFeatures)
	}
	return nil
}

// Data are samples: row i of X has value Y[i]. Equal marks the columns that
// only compare as same or not; the others are ordered. Views are lists of
// columns, each of which describes a sample in full, in its own way: a forest is grown
// from every one of them, and that of the fewest nodes is kept, since what says it
// shortly is likelier to be how it is. Weight may be nil; so may Views: all columns together.
type Data struct {
	X      [][]float64
	Y      []float64
	Weight []float64
	Equal  []bool
	Views  [][]int
}

func (d Data) validate() error {
	if len(d.X) == 0 || len(d.X) != len(d.Y) || d.Weight != nil && len(d.Weight) != len(d.Y) {
		return fmt.Errorf("forest: %d rows, %d values, %d weights", len(d.X), len(d.Y), len(d.Weight))
	}
	for _, v := range d.Views {
		for _, c := range v {
			if c < 0 || c >= len(d.Equal) {
				return fmt.Errorf("forest: a view has column %d of %d", c, len(d.Equal))
			}
		}
	}
	for i, r := range d.X {
		if len(r) != len(d.Equal) {
			return fmt.Errorf("forest: row %d has %d columns, not %d", i, len(r), len(d.Equal))
		}
		if math.IsNaN(d.Y[i]) || math.IsInf(d.Y[i], 0) {
			return fmt.Errorf("forest: value %d is %v", i, d.Y[i])
		}
	}
	return nil
}

// Forest is an ensemble of trees. It is immutable.
type Forest struct{ trees []tree }

// Grow fits regression trees by least squares (Breiman 2001). A value of 0 or
// 1 makes it a classifier: least squares on such values chooses the splits of
// the Gini index, and a leaf's mean is its weighted class probability.
func Grow(rng *rand.Rand, d Data, o Options) (*Forest, error) {
	if err := errors.Join(o.Validate(), d.validate()); err != nil {
		return nil, err
	}
	if o.Trees == 0 {
		o.Trees = 50
	}
	if o.MaxFeatures == 0 {
		o.MaxFeatures = 0.75
	}
	g := newGrower(rng, d, o)
	var best *Forest
	least := 0
	for _, v := range g.views {
		f, nodes := &Forest{trees: make([]tree, o.Trees)}, 0
		g.look(v)
		for t := range f.trees {
			f.trees[t] = g.grow()
			nodes += len(f.trees[t].nodes)
		}
		if best == nil || nodes < least {
			best, least = f, nodes
		}
	}
	return best, nil
}

// Classes makes the Data of a classifier with the given weight of each class.
func Classes(x [][]float64, yes []bool, equal []bool, weightYes, weightNo float64) Data {
	d := Data{X: x, Equal: equal, Y: make([]float64, len(yes)), Weight: make([]float64, len(yes))}
	for i, v := range yes {
		d.Weight[i] = weightNo
		if v {
			d.Y[i], d.Weight[i] = 1, weightYes
		}
	}
	return d
}

// Mean returns the average of the trees at x: the probability, of a classifier.
func (f *Forest) Mean(x []float64) float64 {
	sum := 0.0
	for i := range f.trees {
		sum += f.trees[i].leaf(x).mean
	}
	return sum / float64(len(f.trees))
}

// Predict returns the mean at x and its variance by the law of total variance:
// between the trees' means, plus the average within their leaves (Hutter et
// al. 2014, section 4.3.2).
func (f *Forest) Predict(x []float64) (mean, variance float64) {
	sum, squares := 0.0, 0.0
	for i := range f.trees {
		l := f.trees[i].leaf(x)
		sum += l.mean
		squares += l.variance + l.mean*l.mean
	}
	n := float64(len(f.trees))
	mean = sum / n
	return mean, math.Max(0, squares/n-mean*mean)
}

// Importance returns, per column, the share of the decrease of squared error
// that its splits brought, summing to 1 (or all 0 when no tree has a split).
func (f *Forest) Importance(columns int) []float64 {
	out := make([]float64, columns)
	total := 0.0
	for _, t := range f.trees {
		for _, n := range t.nodes {
			if n.column >= 0 {
				out[n.column] += n.gain
				total += n.gain
			}
		}
	}
	if total > 0 {
		for i := range out {
			out[i] /= total
		}
	}
	return out
}

// tree is a binary tree in an array; the children of a split follow it.
type tree struct{ nodes []node }

type node struct {
	column      int // -1: a leaf
	equal       bool
	at          float64 // left when x == at (equal) or x <= at
	left, right int
	gain        float64
	mean        float64
	variance    float64
}

func (t *tree) leaf(x []float64) *node {
	n := &t.nodes[0]
	for n.column >= 0 {
		v := x[n.column]
		if n.equal && v == n.at || !n.equal && v <= n.at {
			n = &t.nodes[n.left]
		} else {
			n = &t.nodes[n.right]
		}
	}
	return n
}

// ranks replaces a column by the index of each value among its distinct ones.
func ranks(x [][]float64, column int) (distinct []float64, rank []int) {
	for _, r := range x {
		distinct = append(distinct, r[column])
	}
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	for _, r := range x {
		k, _ := slices.BinarySearch(distinct, r[column])
		rank = append(rank, k)
	}
	return distinct, rank
}

package measure

import (
	"cmp"
	"fmt"
	"math"
	"math/rand"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is an estimate with a confidence interval.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// HalfWidth is half the interval's width, relative to the value.
func (i Interval) HalfWidth() float64 { return (i.High - i.Low) / 2 / i.Value }

// Text is the estimate and its bounds with so many digits after the point, such as
// 1.02 [1.00, 1.05].
func (i Interval) Text(digits int) string {
	return fmt.Sprintf("%.*f [%.*f, %.*f]", digits, i.Value, digits, i.Low, digits, i.High)
}

// Median of xs; NaN of none.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(xs))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Resamplings is the number of them behind an interval; its own noise is then well below
// the interval's width.
const Resamplings = 2000

// Confidence of all intervals that are reported.
const Confidence = 0.95

// BootstrapMedian is the median of xs with a percentile bootstrap interval of the
// given confidence (Efron and Tibshirani 1993, chapter 13).
func BootstrapMedian(rng *rand.Rand, xs []float64, confidence float64) Interval {
	if len(xs) == 0 {
		return Interval{math.NaN(), math.NaN(), math.NaN()}
	}
	medians := make([]float64, Resamplings)
	for i := range medians {
		medians[i] = ResampledMedian(rng, xs)
	}
	return PercentileInterval(Median(xs), medians, confidence)
}

// Resampled is as many of xs, drawn with replacement.
func Resampled(rng *rand.Rand, xs []float64) []float64 {
	draw := make([]float64, len(xs))
	for i := range draw {
		draw[i] = xs[rng.Intn(len(xs))]
	}
	return draw
}

// ResampledMedian is the median of a resampling; NaN of none.
func ResampledMedian(rng *rand.Rand, xs []float64) float64 { return Median(Resampled(rng, xs)) }

// PercentileInterval is an estimate with the interval of the given confidence that its
// resamplings span. It panics where there are none.
func PercentileInterval(value float64, resampled []float64, confidence float64) Interval {
	sorted := slices.Sorted(slices.Values(resampled))
	tail := (1 - confidence) / 2
	return Interval{value, stat.Quantile(tail, stat.Empirical, sorted, nil), stat.Quantile(1-tail, stat.Empirical, sorted, nil)}
}

// Wilcoxon is the two-sided p-value of the signed-rank test that the differences
// are symmetric about zero: exact up to 20 of them that are not zero and have no
// ties, else by the normal approximation with continuity and tie corrections
// (Hollander and Wolfe 1999, section 3.1). Zero differences are left out.
func Wilcoxon(differences []float64) float64 {
	d := slices.DeleteFunc(slices.Clone(differences), func(x float64) bool { return x == 0 })
	n := len(d)
	if n == 0 {
		return 1
	}
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	var positive, ties float64
	for i := 0; i < n; {
		j := i
		for j < n && math.Abs(d[j]) == math.Abs(d[i]) {
			j++
		}
		rank := float64(i+j+1) / 2
		for k := i; k < j; k++ {
			if d[k] > 0 {
				positive += rank
			}
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	total := float64(n*(n+1)) / 2
	small := min(positive, total-positive)
	if ties == 0 && n <= 20 {
		return math.Min(1, 2*exactSignedRank(n, int(small)))
	}
	variance := float64(n*(n+1)*(2*n+1))/24 - ties/48
	z := (math.Abs(positive-total/2) - 0.5) / math.Sqrt(variance)
	return math.Min(1, 2*distuv.UnitNormal.Survival(math.Max(z, 0)))
}

// exactSignedRank is the probability that the sum of the positive ranks of n is at
// most w: the number of subsets of {1..n} with such a sum, over all 2^n.
func exactSignedRank(n, w int) float64 {
	counts := make([]float64, n*(n+1)/2+1)
	counts[0] = 1
	for r := 1; r <= n; r++ {
		for s := len(counts) - 1; s >= r; s-- {
			counts[s] += counts[s-r]
		}
	}
	var below float64
	for s := 0; s <= w; s++ {
		below += counts[s]
	}
	return below / math.Pow(2, float64(n))
}

// Spearman is the rank correlation of two series of one length, ties sharing
// their mean rank.
func Spearman(x, y []float64) float64 {
	return stat.Correlation(ranks(x), ranks(y), nil)
}

func ranks(xs []float64) []float64 {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(xs[a], xs[b]) })
	out := make([]float64, len(xs))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && xs[order[j]] == xs[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			out[order[k]] = float64(i+j+1) / 2
		}
		i = j
	}
	return out
}

// GeometricMean of positive numbers.
func GeometricMean(xs []float64) float64 { return stat.GeometricMean(xs, nil) }

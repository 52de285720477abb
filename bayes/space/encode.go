package space

import (
	"hash/fnv"
	"slices"
)

// Column is one input of a model.
type Column struct {
	Param int // the parameter it comes from
	// Part numbers the metrics of a permutation that is given in several.
	Part int
	// Equal says that the column's values only compare as same (distance 0)
	// or not (distance 1).
	Equal bool
}

// Encoder turns points into model inputs: numbers of the parameter's scale in
// [0, 1], and the parametrisation of permutations under which the kernel's
// squared distance is the semimetric of paper section 4.1.
type Encoder struct {
	s       *Space
	noLog   bool
	metrics [][]Metric // of each parameter
	columns []Column
}

// EncodeOptions changes what the space says, for ablations.
type EncodeOptions struct {
	NoLog   bool     // measure distances between values even where Log is set
	Metrics []Metric // of every permutation, each with its columns; nil: each one's own
	Any     Metric   // of permutations whose own is AnyMetric; see Pairs
}

// Pairs is how many elements a permutation has at most for Kendall's metric to be its
// own where none is named: the columns, one to a pair, are as many as their square.
// Larger ones have Spearman's.
const Pairs = 8

func (o EncodeOptions) own(p *Param) Metric {
	switch {
	case p.Metric != AnyMetric:
		return p.Metric
	case o.Any != AnyMetric:
		return o.Any
	case p.Size <= Pairs:
		return Kendall
	}
	return Spearman
}

// of is the metric of p that m asks for: one element has no pairs, and compares as itself.
func (m Metric) of(p *Param) Metric {
	if m == Kendall && p.Size == 1 {
		return Naive
	}
	return m
}

// Encoder returns the space's encoder. Columns: one per numeric or categorical
// parameter; per permutation of n elements n (Spearman: the position of each
// element over n; Hamming: the element at each position), n(n-1)/2 (Kendall:
// which of two elements is first) or 1 (naive, and Kendall of one element).
func (s *Space) Encoder(o EncodeOptions) *Encoder {
	e := &Encoder{s: s, noLog: o.NoLog}
	for i := range s.params {
		p := &s.params[i]
		if p.Type != Permutation {
			e.metrics = append(e.metrics, nil)
			e.columns = append(e.columns, Column{Param: i, Equal: p.Type == Categorical})
			continue
		}
		var metrics []Metric
		for _, m := range o.Metrics {
			if m = m.of(p); !slices.Contains(metrics, m) {
				metrics = append(metrics, m)
			}
		}
		if metrics == nil {
			metrics = []Metric{o.own(p).of(p)}
		}
		e.metrics = append(e.metrics, metrics)
		for part, m := range metrics {
			n := 1
			switch m {
			case Spearman, Hamming:
				n = p.Size
			case Kendall:
				n = p.Size * (p.Size - 1) / 2
			}
			for range n {
				e.columns = append(e.columns, Column{Param: i, Part: part, Equal: m == Hamming || m == Naive})
			}
		}
	}
	return e
}

// Columns describes the inputs.
func (e *Encoder) Columns() []Column { return e.columns }

// Encode appends the inputs of x, len(Columns()) of them.
func (e *Encoder) Encode(dst []float64, x Point) []float64 {
	for i := range e.s.params {
		p := &e.s.params[i]
		v := x[e.s.offset[i]:][:p.width()]
		switch p.Type {
		case Permutation:
			for _, m := range e.metrics[i] {
				dst = encodeOrder(dst, v, m)
			}
		case Categorical:
			dst = append(dst, v[0])
		default:
			dst = append(dst, e.unit(p, v[0]))
		}
	}
	return dst
}

func (e *Encoder) unit(p *Param, v float64) float64 {
	if e.noLog && p.Log {
		q := *p
		q.Log = false
		return q.Unit(v)
	}
	return p.Unit(v)
}

func encodeOrder(dst, perm []float64, m Metric) []float64 {
	n := len(perm)
	switch m {
	case Hamming:
		return append(dst, perm...)
	case Naive:
		h := fnv.New64a()
		for _, v := range perm {
			_, _ = h.Write([]byte{byte(v)}) // never fails
		}
		return append(dst, float64(h.Sum64()>>12))
	}
	at := make([]float64, n)
	for k, v := range perm {
		at[int(v)] = float64(k)
	}
	if m == Spearman {
		for _, k := range at {
			dst = append(dst, k/float64(n))
		}
		return dst
	}
	for a := range n {
		for b := a + 1; b < n; b++ {
			first := 0.0
			if at[a] < at[b] {
				first = 1
			}
			dst = append(dst, first)
		}
	}
	return dst
}

// Package space describes what is tuned: parameters of five types, known
// constraints between them, and the set of configurations that satisfy all of
// them, which it counts, samples, enumerates and walks without listing it.
package space

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Type is the type of a parameter. The zero Type is invalid.
type Type uint8

const (
	Real        Type = iota + 1 // a number between Min and Max
	Integer                     // a whole number from Min to Max
	Ordinal                     // one of Values, which are ordered
	Categorical                 // one of Categories, which are not
	Permutation                 // an order of the elements 0..Size-1
)

var typeNames = [...]string{"invalid", "real", "integer", "ordinal", "categorical", "permutation"}

func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", t)
}

// Metric is how a model measures the distance between two permutations (paper
// section 4.1).
type Metric uint8

const (
	AnyMetric Metric = iota // the model's choice
	Spearman                // squared displacement of each element
	Kendall                 // number of pairs in another order
	Hamming                 // number of positions with another element
	Naive                   // same or not
)

var metricNames = [...]string{"any", "spearman", "kendall", "hamming", "naive"}

func (m Metric) String() string {
	if int(m) < len(metricNames) {
		return metricNames[m]
	}
	return fmt.Sprintf("metric(%d)", m)
}

// ParseMetric reads the name of a permutation metric.
func ParseMetric(s string) (Metric, error) {
	if i := slices.Index(metricNames[:], strings.ToLower(s)); i > 0 {
		return Metric(i), nil
	}
	return 0, fmt.Errorf("unknown permutation metric %q; there are %s", s, strings.Join(metricNames[1:], ", "))
}

// Param is one parameter. Only the fields of its Type are used.
type Param struct {
	// Name is a letter or _ followed by letters, digits, _ and -; constraints
	// can only use names without -.
	Name string
	Type Type
	// Min and Max bound a Real or Integer, both included.
	Min, Max float64
	// Values of an Ordinal; New sorts them.
	Values []float64
	// Categories of a Categorical, in any order.
	Categories []string
	// Size is the number of elements of a Permutation, at most 64.
	Size int
	// Log measures distance between logarithms: for tile sizes and the like.
	// All values must be above 0.
	Log bool
	// Metric of a Permutation.
	Metric Metric
	// Default is the value in use before tuning, as Config.Map gives it, or nil.
	Default any
}

// MaxPermutation bounds Param.Size.
const MaxPermutation = 64

// width is the number of slots the parameter takes in a Point.
func (p *Param) width() int {
	if p.Type == Permutation {
		return p.Size
	}
	return 1
}

// maxListed is the longest range of integers that is listed.
const maxListed = 1 << 12

// Cardinality is the number of values, +Inf for a Real.
func (p *Param) Cardinality() float64 {
	switch p.Type {
	case Integer:
		return p.Max - p.Min + 1
	case Ordinal:
		return float64(len(p.Values))
	case Categorical:
		return float64(len(p.Categories))
	case Permutation:
		return factorial(p.Size)
	}
	return math.Inf(1)
}

func factorial(n int) float64 {
	f := 1.0
	for i := 2; i <= n; i++ {
		f *= float64(i)
	}
	return f
}

func (p *Param) validate() error {
	if !validName(p.Name) {
		return fmt.Errorf("parameter %q: a name is a letter or _ followed by letters, digits, _ and -", p.Name)
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("parameter %s: "+format, append([]any{p.Name}, args...)...)
	}
	lowest := math.Inf(1)
	switch p.Type {
	case Real, Integer:
		if !finite(p.Min) || !finite(p.Max) || p.Min > p.Max {
			return bad("the range %v to %v is not one", p.Min, p.Max)
		}
		if p.Type == Integer && (p.Min != math.Trunc(p.Min) || p.Max != math.Trunc(p.Max)) {
			return bad("an integer range has whole ends, not %v and %v", p.Min, p.Max)
		}
		if p.Type == Integer && math.Max(-p.Min, p.Max) > 1<<53 {
			return bad("integers beyond 2^53 are not exact")
		}
		lowest = p.Min
	case Ordinal:
		if len(p.Values) == 0 {
			return bad("an ordinal needs at least one value")
		}
		p.Values = slices.Clone(p.Values)
		slices.Sort(p.Values)
		for i, v := range p.Values {
			if !finite(v) {
				return bad("the value %v is not finite", v)
			}
			if i > 0 && v == p.Values[i-1] {
				return bad("the value %v is there twice", v)
			}
		}
		lowest = p.Values[0]
	case Categorical:
		if len(p.Categories) == 0 {
			return bad("a categorical needs at least one value")
		}
		p.Categories = slices.Clone(p.Categories)
		for i, c := range p.Categories {
			if slices.Contains(p.Categories[:i], c) {
				return bad("the value %q is there twice", c)
			}
		}
	case Permutation:
		if p.Size < 1 || p.Size > MaxPermutation {
			return bad("a permutation has 1 to %d elements, not %d", MaxPermutation, p.Size)
		}
		if int(p.Metric) >= len(metricNames) {
			return bad("unknown permutation metric %d", p.Metric)
		}
	default:
		return bad("unknown type %v", p.Type)
	}
	if p.Log && lowest <= 0 {
		return bad("a log transform needs values above 0; the lowest is %v", lowest)
	}
	if p.Log && p.Type > Ordinal {
		return bad("a log transform of a %v has no meaning", p.Type)
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func validName(s string) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// parse turns a value as people and JSON write it into slots. It accepts
// float64, int, json.Number, string (categoricals), []int and []any
// (permutations).
func (p *Param) parse(v any, dst []float64) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("parameter %s: "+format, append([]any{p.Name}, args...)...)
	}
	switch p.Type {
	case Categorical:
		var s string
		switch t := v.(type) {
		case string:
			s = t
		case float64:
			s = number(t)
		case nil, []any, []int, map[string]any:
			return bad("%v is not one of %s", v, strings.Join(p.Categories, ", "))
		default:
			s = fmt.Sprint(t)
		}
		i := slices.Index(p.Categories, s)
		if i < 0 {
			return bad("%q is not one of %s", s, strings.Join(p.Categories, ", "))
		}
		dst[0] = float64(i)
		return nil
	case Permutation:
		elems, err := elements(v)
		if err != nil {
			return bad("%v", err)
		}
		seen := make([]bool, p.Size)
		if len(elems) != p.Size {
			return bad("%v has %d elements, not %d", v, len(elems), p.Size)
		}
		for k, e := range elems {
			// As a number, since an int may not hold it.
			if !(e >= 0 && e < float64(p.Size)) || e != math.Trunc(e) || seen[int(e)] {
				return bad("%v is not an order of 0..%d", v, p.Size-1)
			}
			seen[int(e)] = true
			dst[k] = e
		}
		return nil
	}
	f, err := toFloat(v)
	if err != nil {
		return bad("%v", err)
	}
	if !p.contains(f) {
		return bad("%v is not among its values", v)
	}
	dst[0] = f
	return nil
}

// contains reports whether f is a value of a numeric parameter.
func (p *Param) contains(f float64) bool {
	switch p.Type {
	case Ordinal:
		_, ok := slices.BinarySearch(p.Values, f)
		return ok
	case Integer:
		return f >= p.Min && f <= p.Max && f == math.Trunc(f)
	}
	return f >= p.Min && f <= p.Max
}

func toFloat(v any) (float64, error) {
	switch t := v.(type) {
	case float64:
		return t, nil
	case int:
		return float64(t), nil
	case json.Number:
		return t.Float64()
	}
	return 0, fmt.Errorf("a number was expected, not %v (%T)", v, v)
}

func elements(v any) ([]float64, error) {
	switch t := v.(type) {
	case []int:
		out := make([]float64, len(t))
		for i, e := range t {
			out[i] = float64(e)
		}
		return out, nil
	case []any:
		out := make([]float64, len(t))
		for i, e := range t {
			f, err := toFloat(e)
			if err != nil {
				return nil, err
			}
			out[i] = f
		}
		return out, nil
	}
	return nil, fmt.Errorf("a list of elements was expected, not %v (%T)", v, v)
}

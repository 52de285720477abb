package space

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/protuner/protuner/bayes/expr"
)

// Space is a set of configurations: parameters and known constraints. It is
// immutable and safe for concurrent use.
//
// It is held as a chain of trees (paper section 4.2; Rasch et al. 2021):
// parameters that share constraints, directly or through others, form a group,
// and each group is a tree whose paths are its feasible partial
// configurations. What differs from the paper: subtrees that admit the same
// completions are stored once, subtrees without constraints are not stored at
// all, and a permutation branches position by position, so spaces far larger
// than memory build in moments. A group that would still exceed MaxNodes is
// sampled by depth-first search instead; see Exact.
type Space struct {
	params []Param
	index  map[string]int
	offset []int // first slot of each parameter
	width  int   // slots of a Point
	inv    []int // per parameter: first slot of a permutation's inverse, or -1
	wide   int   // slots of an evaluation array: Point and inverses

	texts       []string
	constraints []*expr.Expr
	byParam     [][]*expr.Expr // constraints that read each parameter
	owner       []int          // evaluation slot -> parameter

	domain [][]float64 // listed values of each parameter after its unary constraints; nil: not listed
	groups []*group
	free   []int // parameters without constraints
}

// MaxNodes bounds the stored nodes of one group's tree, of some 300 bytes each.
const MaxNodes = 500_000

var maxNodes = MaxNodes // tests lower it

// ErrEmpty is matched by the error of New when no configuration satisfies the
// constraints.
var ErrEmpty = errors.New("no configuration satisfies the constraints")

// EmptyError says which constraints clash: removing any one of them leaves
// something feasible.
type EmptyError struct{ Clash []string }

func (e *EmptyError) Error() string {
	return fmt.Sprintf("%v: these clash: %s", ErrEmpty, strings.Join(quoteAll(e.Clash), " and "))
}

// Unwrap returns ErrEmpty.
func (e *EmptyError) Unwrap() error { return ErrEmpty }

func quoteAll(s []string) []string {
	out := make([]string, len(s))
	for i, v := range s {
		out[i] = strconv.Quote(v)
	}
	return out
}

// New builds a space. Constraints are expressions of package expr over the
// parameters' names; of a permutation p, p_k is the element at position k and
// p_ik the position of element k. Errors name the parameter or the constraint
// and the column; a space without any configuration is an *EmptyError.
func New(params []Param, constraints ...string) (*Space, error) {
	s := &Space{params: slices.Clone(params), index: map[string]int{}, texts: slices.Clone(constraints)}
	if len(params) == 0 {
		return nil, errors.New("a space needs at least one parameter")
	}
	for i := range s.params {
		p := &s.params[i]
		if err := p.validate(); err != nil {
			return nil, err
		}
		if _, ok := s.index[p.Name]; ok {
			return nil, fmt.Errorf("parameter %s is there twice", p.Name)
		}
		s.index[p.Name] = i
		s.offset = append(s.offset, s.width)
		s.width += p.width()
		if p.Default != nil {
			if err := p.parse(p.Default, make([]float64, p.width())); err != nil {
				return nil, fmt.Errorf("default: %w", err)
			}
		}
	}
	s.wide = s.width
	for i := range s.params {
		s.inv = append(s.inv, -1)
		for range s.params[i].width() {
			s.owner = append(s.owner, i)
		}
	}
	for i := range s.params {
		if p := &s.params[i]; p.Type == Permutation {
			s.inv[i] = s.wide
			s.wide += p.Size
			for range p.Size {
				s.owner = append(s.owner, i)
			}
		}
	}
	s.byParam = make([][]*expr.Expr, len(params))
	for _, text := range constraints {
		e, err := expr.Parse(text, s.resolve)
		if err != nil {
			return nil, err
		}
		s.constraints = append(s.constraints, e.Conjuncts()...)
	}
	for _, e := range s.constraints {
		for _, i := range s.paramsOf(e) {
			s.byParam[i] = append(s.byParam[i], e)
		}
	}
	if err := s.build(); err != nil {
		return nil, err
	}
	return s, nil
}

// resolve finds the slot of a name in a constraint.
func (s *Space) resolve(name string) (expr.Var, bool) {
	if i, ok := s.index[name]; ok {
		p := &s.params[i]
		if p.Type == Permutation {
			return expr.Var{}, false
		}
		return expr.Var{Slot: s.offset[i], Categories: p.Categories, Integer: p.whole()}, true
	}
	for cut := strings.LastIndexByte(name, '_'); cut > 0; cut = strings.LastIndexByte(name[:cut], '_') {
		i, ok := s.index[name[:cut]]
		if !ok || s.params[i].Type != Permutation {
			continue
		}
		digits, base := name[cut+1:], s.offset[i]
		if rest, ok := strings.CutPrefix(digits, "i"); ok {
			digits, base = rest, s.inv[i]
		}
		k, err := strconv.Atoi(digits)
		if err != nil || k < 0 || k >= s.params[i].Size || strconv.Itoa(k) != digits {
			return expr.Var{}, false
		}
		return expr.Var{Slot: base + k, Integer: true}, true
	}
	return expr.Var{}, false
}

func (p *Param) whole() bool {
	switch p.Type {
	case Integer, Categorical:
		return true
	case Ordinal:
		return !slices.ContainsFunc(p.Values, func(v float64) bool { return v != math.Trunc(v) })
	}
	return false
}

// paramsOf lists the parameters a constraint reads, ascending.
func (s *Space) paramsOf(e *expr.Expr) []int {
	var out []int
	for _, slot := range e.Slots() {
		out = append(out, s.owner[slot])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Constraints returns the texts the space was made with.
func (s *Space) Constraints() []string { return slices.Clone(s.texts) }

// evaluation copies a point into an array constraints can read.
func (s *Space) evaluation(dst []float64, x Point) []float64 {
	dst = append(dst[:0], x...)
	dst = append(dst, make([]float64, s.wide-s.width)...)
	for i, base := range s.inv {
		if base < 0 {
			continue
		}
		for k, e := range x[s.offset[i]:][:s.params[i].Size] {
			dst[base+int(e)] = float64(k)
		}
	}
	return dst
}

// Feasible reports whether a point of the space satisfies every known
// constraint.
func (s *Space) Feasible(x Point) bool {
	buf := s.evaluation(nil, x)
	for _, e := range s.constraints {
		if !e.Holds(buf) {
			return false
		}
	}
	return true
}

// Violated returns the constraints that x breaks.
func (s *Space) Violated(x Point) []string {
	buf := s.evaluation(nil, x)
	var out []string
	for _, e := range s.constraints {
		if !e.Holds(buf) && !slices.Contains(out, e.Text()) {
			out = append(out, e.Text())
		}
	}
	return out
}

// feasibleChange reports whether x satisfies the constraints that read
// parameter i; the others are known to hold.
func (s *Space) feasibleChange(buf []float64, x Point, i int) ([]float64, bool) {
	if len(s.byParam[i]) == 0 {
		return buf, true
	}
	buf = s.evaluation(buf, x)
	for _, e := range s.byParam[i] {
		if !e.Holds(buf) {
			return buf, false
		}
	}
	return buf, true
}

// Unconstrained is the number of configurations without the constraints.
func (s *Space) Unconstrained() float64 {
	n := 1.0
	for i := range s.params {
		n *= s.params[i].Cardinality()
	}
	return n
}

// Size is the number of feasible configurations: exact below 2^53, rounded
// above, +Inf where a real parameter takes part, NaN when a group is too large
// to count (Exact is then false). Where constraints read reals or very long
// integer ranges Size only counts the rest and is +Inf.
func (s *Space) Size() float64 {
	n := 1.0
	for _, g := range s.groups {
		n *= g.size()
	}
	for _, i := range s.free {
		n *= s.card(i)
	}
	return n
}

func (s *Space) card(i int) float64 {
	if s.domain[i] != nil {
		return float64(len(s.domain[i]))
	}
	return s.params[i].Cardinality()
}

// Exact reports whether Sample is exactly uniform and Size exact: always,
// unless the tree of a group would exceed MaxNodes, or take too long to build.
func (s *Space) Exact() bool {
	return !slices.ContainsFunc(s.groups, func(g *group) bool { return g.root == nil })
}

// Fingerprint identifies the parameters, their order and metrics, and the constraints.
// Defaults do not count.
func (s *Space) Fingerprint() string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for i := range s.params {
		p := s.params[i]
		p.Default = nil
		_ = enc.Encode(p) // plain data to a hash: cannot fail
	}
	_ = enc.Encode(s.texts)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

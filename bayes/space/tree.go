package space

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/protuner/protuner/bayes/expr"
)

// group is one tree of the chain: parameters bound together by constraints.
type group struct {
	s      *Space
	params []int        // all of them, ascending
	levels []level      // what each level of the tree assigns
	rest   []int        // parameters that cannot be listed: drawn, then checked
	cons   []*expr.Expr // constraints over more than one parameter, or a permutation's
	free   []*node      // per level: the node below which nothing is constrained
	root   *node        // nil when the tree would exceed MaxNodes
}

// level assigns one listed parameter or one position of a permutation.
type level struct {
	param int
	pos   int
}

// node is a shared subtree. Without values it is free: every completion of the
// levels below is feasible.
type node struct {
	count float64   // completions; +Inf where a float64 cannot hold so many
	log   float64   // natural logarithm of them, where count is infinite
	vals  []float64 // feasible values of this level; the last may be other
	kids  []*node   // per value
	cum   []float64 // over vals, cumulative counts, or shares where those are infinite
	named uint64    // on a permutation's level: elements that vals name
}

// other, as a value of a permutation's level, stands for each unused element
// that the node does not name: no open constraint tells them apart.
var other = math.Inf(-1)

func (g *group) size() float64 {
	switch {
	case len(g.rest) > 0:
		return math.Inf(1)
	case g.root == nil:
		return math.NaN()
	}
	return g.root.count
}

// build makes domains and trees, and explains emptiness.
func (s *Space) build() error {
	clash := s.assemble(s.constraints)
	if clash == nil {
		return nil
	}
	// A deletion filter leaves a set that clashes but no part of which does.
	for i := 0; i < len(clash) && len(clash) > 1; {
		less := slices.Delete(slices.Clone(clash), i, i+1)
		t := *s
		if t.assemble(less) != nil {
			clash = less
		} else {
			i++
		}
	}
	e := &EmptyError{}
	for _, c := range clash {
		if !slices.Contains(e.Clash, c.Text()) {
			e.Clash = append(e.Clash, c.Text())
		}
	}
	return e
}

// assemble builds the chain for some constraints. When one of its parts has no
// configuration it returns that part's constraints.
func (s *Space) assemble(constraints []*expr.Expr) []*expr.Expr {
	unary := make([][]*expr.Expr, len(s.params))
	var joint []*expr.Expr
	for _, e := range constraints {
		of := s.paramsOf(e)
		switch {
		case len(of) == 0:
			if !e.Holds(nil) {
				return []*expr.Expr{e}
			}
		case len(of) == 1 && s.params[of[0]].Type != Permutation:
			unary[of[0]] = append(unary[of[0]], e)
		default:
			joint = append(joint, e)
		}
	}
	s.domain = make([][]float64, len(s.params))
	for i := range s.params {
		if left := s.list(i, unary[i]); left {
			joint = append(joint, unary[i]...)
		}
		if s.domain[i] != nil && len(s.domain[i]) == 0 {
			return unary[i]
		}
	}
	s.partition(joint)
	for _, g := range s.groups {
		g.order()
		err := g.grow()
		if err == nil && g.root.count == 0 {
			var all []*expr.Expr
			for _, i := range g.params {
				all = append(all, unary[i]...)
			}
			return append(all, g.cons...)
		}
	}
	return nil
}

// longestFiltered is the longest integer range whose values are tried one by
// one against its own constraints.
const longestFiltered = 1 << 22

// list fills domain[i] with the values that satisfy the parameter's own
// constraints. It reports whether those constraints are still to be checked,
// because the values are too many to list.
func (s *Space) list(i int, unary []*expr.Expr) bool {
	p := &s.params[i]
	if p.Type == Permutation {
		return false
	}
	if p.Type == Real || p.Type == Integer && p.Max-p.Min >= maxListed && (len(unary) == 0 || p.Max-p.Min >= longestFiltered) {
		return len(unary) > 0
	}
	values := p.Values
	if p.Type != Ordinal {
		values = nil
		first, n := p.Min, p.Cardinality()
		if p.Type == Categorical {
			first = 0
		}
		for k := 0.0; k < n; k++ {
			values = append(values, first+k)
		}
	}
	buf := make([]float64, s.wide)
	kept := make([]float64, 0, len(values))
	for _, v := range values {
		buf[s.offset[i]] = v
		if !slices.ContainsFunc(unary, func(e *expr.Expr) bool { return !e.Holds(buf) }) {
			kept = append(kept, v)
		}
	}
	if p.Type == Integer && len(kept) > maxListed {
		return true
	}
	s.domain[i] = kept
	return false
}

// partition joins parameters that share a constraint into groups.
func (s *Space) partition(joint []*expr.Expr) {
	parent := make([]int, len(s.params))
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	bound := make([]bool, len(s.params))
	for _, e := range joint {
		of := s.paramsOf(e)
		for _, i := range of {
			bound[i] = true
			parent[find(i)] = find(of[0])
		}
	}
	s.groups, s.free = nil, nil
	byRoot := map[int]*group{}
	for i := range s.params {
		if !bound[i] {
			s.free = append(s.free, i)
			continue
		}
		g := byRoot[find(i)]
		if g == nil {
			g = &group{s: s}
			byRoot[find(i)] = g
			s.groups = append(s.groups, g)
		}
		g.params = append(g.params, i)
	}
	for _, e := range joint {
		g := byRoot[find(s.paramsOf(e)[0])]
		g.cons = append(g.cons, e)
	}
}

// order chooses the levels: first the parameter with the most constraints,
// then always the one nearest to completing constraints already begun.
func (g *group) order() {
	s := g.s
	of := make([][]int, len(g.cons))
	for c, e := range g.cons {
		of[c] = s.paramsOf(e)
	}
	chosen := map[int]bool{}
	for _, i := range g.params {
		if s.domain[i] == nil && s.params[i].Type != Permutation {
			g.rest = append(g.rest, i)
			chosen[i] = true
		}
	}
	for len(chosen) < len(g.params) {
		score := map[int]float64{}
		for _, ps := range of {
			begun := 0.0
			for _, i := range ps {
				if chosen[i] {
					begun++
				}
			}
			for _, i := range ps {
				score[i] += (begun + 0.01) / float64(len(ps))
			}
		}
		best := -1
		for _, i := range g.params {
			if chosen[i] {
				continue
			}
			if best < 0 || score[i] > score[best] || score[i] == score[best] && s.card(i) < s.card(best) {
				best = i
			}
		}
		chosen[best] = true
		for k := range s.params[best].width() {
			g.levels = append(g.levels, level{best, k})
		}
	}
}

var errTooLarge = errors.New("tree too large")

// partial is an assignment of the first levels of a group, as intervals.
type partial struct {
	g      *group
	lo, hi []float64
}

func (g *group) start() *partial {
	s := g.s
	a := &partial{g: g, lo: make([]float64, s.wide), hi: make([]float64, s.wide)}
	for _, i := range g.params {
		p, o := &s.params[i], s.offset[i]
		switch {
		case p.Type == Permutation:
			for k := range p.Size {
				a.hi[o+k], a.hi[s.inv[i]+k] = float64(p.Size-1), float64(p.Size-1)
			}
		case s.domain[i] != nil:
			if d := s.domain[i]; len(d) > 0 {
				a.lo[o], a.hi[o] = d[0], d[len(d)-1]
			}
		default:
			a.lo[o], a.hi[o] = p.Min, p.Max
		}
	}
	return a
}

// choices lists the values level l may take, before the constraints.
func (a *partial) choices(dst []float64, l level) []float64 {
	s := a.g.s
	if s.params[l.param].Type != Permutation {
		return append(dst, s.domain[l.param]...)
	}
	used := a.used(l.param, l.pos)
	for e := range s.params[l.param].Size {
		if used&(1<<e) == 0 {
			dst = append(dst, float64(e))
		}
	}
	return dst
}

func (a *partial) used(param, n int) uint64 {
	var mask uint64
	for k := range n {
		mask |= 1 << int(a.lo[a.g.s.offset[param]+k])
	}
	return mask
}

// saved is what assign overwrites.
type saved struct{ lo, hi []float64 }

func (a *partial) save(l level) saved {
	s := a.g.s
	o, n := s.offset[l.param], s.params[l.param].width()
	v := saved{slices.Clone(a.lo[o : o+n]), slices.Clone(a.hi[o : o+n])}
	if i := s.inv[l.param]; i >= 0 {
		v.lo, v.hi = append(v.lo, a.lo[i:i+n]...), append(v.hi, a.hi[i:i+n]...)
	}
	return v
}

func (a *partial) restore(l level, v saved) {
	s := a.g.s
	o, n := s.offset[l.param], s.params[l.param].width()
	copy(a.lo[o:o+n], v.lo)
	copy(a.hi[o:o+n], v.hi)
	if i := s.inv[l.param]; i >= 0 {
		copy(a.lo[i:i+n], v.lo[n:])
		copy(a.hi[i:i+n], v.hi[n:])
	}
}

// assign sets level l to v and narrows what depends on it: after position k of
// a permutation is filled, other elements can only be later, and later
// positions only hold elements not yet used.
func (a *partial) assign(l level, v float64) {
	s := a.g.s
	o := s.offset[l.param]
	a.lo[o+l.pos], a.hi[o+l.pos] = v, v
	inv := s.inv[l.param]
	if inv < 0 {
		return
	}
	n := s.params[l.param].Size
	a.lo[inv+int(v)], a.hi[inv+int(v)] = float64(l.pos), float64(l.pos)
	used := a.used(l.param, l.pos+1)
	first, last := -1, -1
	for e := range n {
		if used&(1<<e) == 0 {
			a.lo[inv+e] = float64(l.pos + 1)
			if first < 0 {
				first = e
			}
			last = e
		}
	}
	for k := l.pos + 1; k < n; k++ {
		a.lo[o+k], a.hi[o+k] = float64(first), float64(last)
	}
}

// check updates the list of open constraints after an assignment to param; ok
// is false when one fails.
func (a *partial) check(dst, open []int, param int) (left []int, ok bool) {
	for _, c := range open {
		e := a.g.cons[c]
		if !slices.Contains(a.g.s.byParam[param], e) {
			dst = append(dst, c)
			continue
		}
		switch e.Verdict(a.lo, a.hi) {
		case expr.Fails:
			return dst, false
		case expr.Open:
			dst = append(dst, c)
		}
	}
	return dst, true
}

// grow builds the tree, or leaves root nil and returns errTooLarge.
func (g *group) grow() error {
	g.free = make([]*node, len(g.levels)+1)
	n, log := 1.0, 0.0
	g.free[len(g.levels)] = &node{count: 1}
	for l := len(g.levels) - 1; l >= 0; l-- {
		lv := g.levels[l]
		values := float64(len(g.s.domain[lv.param]))
		if p := &g.s.params[lv.param]; p.Type == Permutation {
			values = float64(p.Size - lv.pos)
		}
		n, log = n*values, log+math.Log(values)
		g.free[l] = &node{count: n, log: log}
	}
	b := &builder{g: g, a: g.start(), memo: map[[16]byte]*node{}}
	open := make([]int, 0, len(g.cons))
	for c, e := range g.cons {
		switch e.Verdict(b.a.lo, b.a.hi) {
		case expr.Fails:
			g.root = &node{}
			return nil
		case expr.Open:
			open = append(open, c)
		}
	}
	root, err := b.node(0, open)
	if err == nil {
		g.root = root
	}
	return err
}

type builder struct {
	g    *group
	a    *partial
	memo map[[16]byte]*node
	key  []byte

	steps int // values tried
}

// maxSteps bounds the values tried in building one tree: some ten seconds.
const maxSteps = 20_000_000

// node builds the subtree of levels from l on. It never returns nil without an
// error; a subtree without completions has count 0.
func (b *builder) node(l int, open []int) (*node, error) {
	if len(open) == 0 || l == len(b.g.levels) {
		return b.g.free[l], nil
	}
	key, named := b.signature(l, open)
	if n, ok := b.memo[key]; ok {
		return n, nil
	}
	if len(b.memo) >= maxNodes {
		return nil, errTooLarge
	}
	lv := b.g.levels[l]
	n := &node{named: named}
	before := b.a.save(lv)
	left := make([]int, 0, len(open))
	values := b.a.choices(nil, lv)
	others := 0.0
	if b.g.s.params[lv.param].Type == Permutation {
		values, others = split(values, named)
	}
	if b.steps += len(values); b.steps > maxSteps {
		return nil, errTooLarge
	}
	for k, v := range values {
		b.a.assign(lv, v)
		still, ok := b.a.check(left[:0], open, lv.param)
		if ok {
			kid, err := b.node(l+1, slices.Clone(still))
			if err != nil {
				return nil, err
			}
			times := 1.0
			if others > 0 && k == len(values)-1 {
				v, times = other, others
			}
			if kid.count > 0 {
				n.count += times * kid.count
				n.vals, n.kids, n.cum = append(n.vals, v), append(n.kids, kid), append(n.cum, n.count)
			}
		}
		b.a.restore(lv, before)
	}
	if math.IsInf(n.count, 1) {
		n.share(others)
	}
	b.memo[key] = n
	return n, nil
}

// share makes cum of the kids' logarithms, where their counts are too large; the last may
// stand for so many other values.
func (n *node) share(others float64) {
	logs := make([]float64, len(n.kids))
	for k, kid := range n.kids {
		logs[k] = kid.logCount()
		if n.vals[k] == other {
			logs[k] += math.Log(others)
		}
	}
	n.log = floats.LogSumExp(logs)
	for k, log := range logs {
		n.cum[k] = math.Exp(log - n.log)
	}
	floats.CumSum(n.cum, n.cum)
}

func (n *node) logCount() float64 {
	if math.IsInf(n.count, 1) {
		return n.log
	}
	return math.Log(n.count)
}

// split keeps the elements named, and one of the others to stand for all.
func split(elements []float64, named uint64) (kept []float64, others float64) {
	last := 0.0
	for _, e := range elements {
		if named&(1<<int(e)) != 0 {
			kept = append(kept, e)
		} else {
			last = e
			others++
		}
	}
	if others > 0 {
		kept = append(kept, last)
	}
	return kept, others
}

// signature identifies what is left to decide from level l on, and names the
// elements that open constraints tell apart when l is a permutation's.
func (b *builder) signature(l int, open []int) (key [16]byte, named uint64) {
	s, lv := b.g.s, b.g.levels[l]
	text := binary.LittleEndian.AppendUint32(b.key[:0], uint32(l))
	var masked []int
	mark := func(slot int) {
		if s.owner[slot] == lv.param && slot >= s.width {
			named |= 1 << (slot - s.inv[lv.param])
		}
		// An unfilled position's choices depend on every element used so far.
		if slot < s.width && s.params[s.owner[slot]].Type == Permutation && !slices.Contains(masked, s.owner[slot]) {
			masked = append(masked, s.owner[slot])
		}
	}
	for _, c := range open {
		text = binary.LittleEndian.AppendUint32(text, uint32(c))
		text = b.g.cons[c].AppendResidual(text, b.a.lo, b.a.hi, mark)
	}
	for _, i := range masked {
		n := 0
		for _, before := range b.g.levels[:l] {
			if before.param == i {
				n++
			}
		}
		text = binary.LittleEndian.AppendUint64(text, b.a.used(i, n))
		if i == lv.param {
			named = math.MaxUint64
		}
	}
	b.key = text
	sum := sha256.Sum256(text)
	return [16]byte(sum[:16]), named
}

package space

import (
	"fmt"
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/pipeline"
)

// Nest is one loop level of a partial schedule, or its root: section 3.1's
// representation of schedules as loop nests. A Nest is immutable; schedules share
// the parts they have in common. Callers must not write to its slices.
type Nest struct {
	// Func and Stage (the stage's index within the Func) say whose loops these
	// are; both are -1 at the root.
	Func, Stage int
	// Size gives, per loop of the stage, how often this level iterates over it:
	// a number of tiles where something is inside, innermost loop first.
	Size []int64
	// Children are the loop levels inside, in reverse order of execution.
	Children []*Nest
	// Inlined are the Funcs inlined into this innermost level, by rising Func.
	Inlined []Inlined
	// StoreAt are the Funcs allocated inside this level, rising.
	StoreAt []int
	// Innermost marks the last level of its stage: the vector, if there is one.
	Innermost bool
	// Tileable says whether the level may still be split.
	Tileable bool
	// Parallel marks a level whose loops run in parallel.
	Parallel bool
	// VectorDim is the dimension of the Func that is vectorised and innermost in
	// storage; -1 for none.
	VectorDim int
	// VectorLoop is the index of the loop that is vectorised, -1 for none.
	VectorLoop int

	site  *site
	reads bitset // Funcs read in here
	hash  uint64
}

// Inlined is a Func inlined into an innermost loop and how often it is called
// there, per point.
type Inlined struct {
	Func  int
	Calls int64
}

// Bounds is the region of Func f, which must be read or be the level's own, in
// one iteration of this level.
func (n *Nest) Bounds(f int) *Bound { return n.site.bounds(f) }

// IsRoot reports whether the level is the root, which is no loop.
func (n *Nest) IsRoot() bool { return n.Func < 0 }

// Reads reports whether anything in here reads Func f.
func (n *Nest) Reads(f int) bool { return n.reads.has(f) }

// stageNumber is the number of the level's stage, -1 at the root.
func (n *Nest) stageNumber() int { return n.site.stage }

// copy makes a shallow copy to change and seal.
func (n *Nest) copy() *Nest {
	c := *n
	return &c
}

// withChild is n with child i replaced.
func (sp *Space) withChild(n *Nest, i int, child *Nest) *Nest {
	c := n.copy()
	c.Children = slices.Clone(n.Children)
	c.Children[i] = child
	return sp.seal(c)
}

// with adds f to a rising list.
func with(list []int, f int) []int {
	i, found := slices.BinarySearch(list, f)
	if found {
		return list
	}
	return slices.Insert(slices.Clone(list), i, f)
}

// seal computes what is remembered about a finished level.
func (sp *Space) seal(n *Nest) *Nest {
	n.reads = sp.newSet()
	if n.Func >= 0 {
		n.reads.union(sp.stages[n.stageNumber()].reads)
	}
	for _, in := range n.Inlined {
		n.reads.union(sp.stages[sp.nodes[in.Func].first].reads)
	}
	h := newHash()
	h.add(uint64(n.stageNumber()+1), uint64(n.VectorLoop+1), uint64(n.VectorDim+1))
	h.flag(n.Innermost)
	h.flag(n.Tileable)
	h.flag(n.Parallel)
	for _, s := range n.Size {
		h.add(uint64(s))
	}
	h.add(^uint64(0))
	for _, f := range n.StoreAt {
		h.add(uint64(f))
	}
	h.add(^uint64(0))
	for _, in := range n.Inlined {
		h.add(uint64(in.Func), uint64(in.Calls))
	}
	for _, c := range n.Children {
		n.reads.union(c.reads)
		h.add(c.hash)
	}
	n.hash = uint64(h)
	return n
}

// hasher mixes words into 64 bits; the mixing is SplitMix64's finaliser.
type hasher uint64

func newHash() hasher { return 0x9e3779b97f4a7c15 }

func (h *hasher) add(words ...uint64) {
	x := uint64(*h)
	for _, w := range words {
		x += w + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	*h = hasher(x)
}

func (h *hasher) flag(b bool) {
	if b {
		h.add(1)
	} else {
		h.add(2)
	}
}

// inline is n with Func f inlined into every innermost loop that calls it.
func (sp *Space) inline(n *Nest, f int) *Nest {
	c := n.copy()
	c.Children = slices.Clone(n.Children)
	for i, child := range c.Children {
		if child.Reads(f) {
			c.Children[i] = sp.inline(child, f)
		}
	}
	if n.Innermost {
		calls := int64(0)
		for _, e := range sp.nodes[f].consumers {
			if e.stage == n.stageNumber() {
				calls += int64(e.edge.Calls)
			}
			if in, ok := n.inlined(e.fn); ok {
				calls += in.Calls * int64(e.edge.Calls)
			}
		}
		if calls > 0 {
			i, _ := slices.BinarySearchFunc(n.Inlined, f, func(in Inlined, f int) int { return in.Func - f })
			c.Inlined = slices.Insert(slices.Clone(n.Inlined), i, Inlined{Func: f, Calls: calls})
		}
	}
	return sp.seal(c)
}

func (n *Nest) inlined(f int) (Inlined, bool) {
	for _, in := range n.Inlined {
		if in.Func == f {
			return in, true
		}
	}
	return Inlined{}, false
}

// compute adds to c, a copy not yet sealed, the loops of all stages of f,
// vectorised over dimension v. Each stage becomes one level over vectors and one
// within a vector, or a single level where nothing is vectorised. The inside is
// represented by one iteration in the middle.
func (sp *Space) compute(c *Nest, f, v int) {
	n := &sp.nodes[f]
	here := c.Bounds(f)
	c.Children = slices.Clone(c.Children)
	for s := len(n.Stages) - 1; s >= 0; s-- {
		st := &sp.stages[n.first+s]
		loops := here.Loops(s)
		point := here.clone()
		inside := point.Loops(s)
		l := &Nest{Func: f, Stage: s, Size: make([]int64, len(loops)), Innermost: true,
			Tileable: !n.Extern, VectorDim: v, VectorLoop: -1}
		lanes := int64(1)
		for i, span := range loops {
			l.Size[i] = extent(span)
			width := int64(1)
			if v >= 0 && st.Loops[i].Var == n.Args[v] && st.VectorSize > 1 {
				l.VectorLoop = i
				lanes, width = int64(st.VectorSize), int64(st.VectorSize)
				l.Size[i] = ceilDiv(l.Size[i], lanes)
			}
			first := span.Min + width*(l.Size[i]/2)
			inside[i] = pipeline.Span{Min: first, Max: first + width - 1, Constant: true}
		}
		l.site = sp.newSite(n.first+s, point)
		if l.VectorLoop >= 0 {
			lane := point.clone()
			span := &lane.Loops(s)[l.VectorLoop]
			span.Max = span.Min
			vec := &Nest{Func: f, Stage: s, Size: make([]int64, len(loops)), Innermost: true,
				VectorDim: v, VectorLoop: l.VectorLoop, site: sp.newSite(n.first+s, lane)}
			for i := range vec.Size {
				vec.Size[i] = 1
			}
			vec.Size[l.VectorLoop] = lanes
			l.Innermost = false
			l.Children = []*Nest{sp.seal(vec)}
		}
		c.Children = append(c.Children, sp.seal(l))
	}
}

// cut splits a level into an outer one of t tiles and an inner one with all that
// was inside; neither is sealed. above is the site around the level. The outer
// level's own bounds are those of a tile in the middle.
func (sp *Space) cut(n *Nest, above *site, t []int64, forTasks bool) (outer, inner *Nest) {
	outer, inner = n.copy(), n.copy()
	outer.Children, outer.Inlined, outer.StoreAt, outer.Innermost = nil, nil, nil, false
	outer.Size, inner.Size = slices.Clone(t), make([]int64, len(t))
	inner.Parallel = false
	st := &sp.stages[n.stageNumber()]
	b := n.site.own.clone()
	around, inside := above.bounds(n.Func).Loops(n.Stage), b.Loops(n.Stage)
	for i := range t {
		inner.Size[i] = ceilDiv(n.Size[i], t[i])
		tiles := t[i]
		if forTasks {
			tiles = ceilDiv(n.Size[i], inner.Size[i])
			outer.Size[i] = tiles
		}
		p := around[i]
		in := ceilDiv(extent(p), tiles)
		constant := (p.Constant || tiles > 1) && (in == 1 || tiles == 1 || n.Stage == 0)
		if forTasks {
			constant = p.Constant || tiles > 1 && st.Loops[i].Pure
		}
		first := p.Min + (tiles/2)*in
		inside[i] = pipeline.Span{Min: first, Max: first + in - 1, Constant: constant}
	}
	outer.site = sp.newSite(n.stageNumber(), b)
	return outer, inner
}

// inner is the index of the child that continues the loops of n's own stage, -1
// when n is the innermost.
func (n *Nest) innerLevel() *Nest {
	for _, c := range n.Children {
		if c.Func == n.Func && c.Stage == n.Stage {
			return c
		}
	}
	return nil
}

// cover is how many iterations of each loop of the stage one iteration of the
// level stands for, vectors counted by lanes; loops that do not divide count as
// if they did.
func (n *Nest) cover() []int64 {
	tile := make([]int64, len(n.Size))
	for i := range tile {
		tile[i] = 1
	}
	for c := n.innerLevel(); c != nil; c = c.innerLevel() {
		for i := range tile {
			tile[i] *= c.Size[i]
		}
	}
	return tile
}

// dump writes the nest in the notation of Adams et al.'s code: realize lines,
// sizes per loop with v vectorised and c constant, t tileable, p parallel, *
// innermost.
func (sp *Space) dump(b *strings.Builder, n, parent *Nest, indent string) {
	if !n.IsRoot() {
		fmt.Fprintf(b, "%s%s", indent, sp.stages[n.stageNumber()].Name)
		indent += "  "
		around := parent.Bounds(n.Func).Loops(n.Stage)
		for i, s := range n.Size {
			fmt.Fprintf(b, " %d", s)
			if n.Innermost && i == n.VectorLoop {
				b.WriteByte('v')
			}
			if around[i].Constant {
				b.WriteByte('c')
			}
		}
		for _, mark := range []struct {
			on   bool
			mark string
		}{{n.Tileable, " t"}, {n.Innermost, " *"}, {n.Parallel && !n.Innermost, " p"}} {
			if mark.on {
				b.WriteString(mark.mark)
			}
		}
		b.WriteByte('\n')
	}
	for _, f := range n.StoreAt {
		fmt.Fprintf(b, "%srealize: %s\n", indent, sp.nodes[f].Name)
	}
	for _, c := range slices.Backward(n.Children) {
		sp.dump(b, c, n, indent)
	}
	for _, in := range n.Inlined {
		fmt.Fprintf(b, "%sinlined: %s %d\n", indent, sp.nodes[in.Func].Name, in.Calls)
	}
}

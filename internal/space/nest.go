package space

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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
	reads bitset    // Funcs read in here
	words [2]uint64 // where reads is, if there are few Funcs
	hash  uint64    // atomically; 0 before it is asked for
	early []int     // Funcs read before their start in here: see mixes
	slid  bool      // something in here is stored further out than computed
}

// bare holds where nothing but the stage itself is computed or stored in the level's loops.
func (n *Nest) bare() bool { return len(n.Children) <= 1 && len(n.StoreAt) == 0 }

// Inlined is a Func inlined into an innermost loop and how often it is called
// there, per point.
type Inlined struct {
	Func  int
	Calls int64
	// Executed is how many of Calls are executed on average, see pipeline.Edge.Points.
	Executed float64
}

// Bounds is the region of Func f, which must be read or be the level's own, in
// one iteration of this level.
func (n *Nest) Bounds(f int) *Bound { return n.site.bounds(f) }

// IsRoot reports whether the level is the root, which is no loop.
func (n *Nest) IsRoot() bool { return n.Func < 0 }

// Reads reports whether anything in here reads Func f.
func (n *Nest) Reads(f int) bool { return n.reads.has(f) }

// slides holds where child, a level in n, is of a Func that is computed in n's iterations and
// stored further out, which nothing at root is.
func (n *Nest) slides(child *Nest) bool {
	return child.Func != n.Func && !n.IsRoot() && !slices.Contains(n.StoreAt, child.Func)
}

// stageNumber is the number of the level's stage, -1 at the root.
func (n *Nest) stageNumber() int { return n.site.stage }

// copy makes a shallow copy to change and seal.
func (n *Nest) copy() *Nest {
	return &Nest{
		Func: n.Func, Stage: n.Stage, Size: n.Size, Children: n.Children, Inlined: n.Inlined, StoreAt: n.StoreAt,
		Innermost: n.Innermost, Tileable: n.Tileable, Parallel: n.Parallel,
		VectorDim: n.VectorDim, VectorLoop: n.VectorLoop, site: n.site,
	}
}

// withChild is n with child i replaced by one that has the same and more inside.
func (sp *Space) withChild(n *Nest, i int, child *Nest) *Nest {
	c := n.copy()
	c.Children = slices.Clone(n.Children)
	c.Children[i] = child
	if n.slid || child.slid {
		return sp.seal(c)
	}
	sp.newReads(c)
	c.reads.union(n.reads)
	c.reads.union(child.reads)
	return c
}

// newReads gives n an empty set to collect what it reads in.
func (sp *Space) newReads(n *Nest) {
	if n.words = [2]uint64{}; sp.words <= len(n.words) {
		n.reads = n.words[:sp.words]
	} else {
		n.reads = sp.newSet()
	}
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
	sp.newReads(n)
	if n.Func >= 0 {
		n.reads.union(sp.stages[n.stageNumber()].reads)
	}
	for _, in := range n.Inlined {
		n.reads.union(sp.stages[sp.nodes[in.Func].first].reads)
	}
	n.slid, n.early = false, nil
	for _, c := range n.Children {
		n.reads.union(c.reads)
		n.slid = n.slid || c.slid || n.slides(c)
		n.early = append(n.early, c.early...)
	}
	if n.slid && !sp.o.Unchecked {
		n.early = append(n.early, sp.mixes(n)...)
	}
	return n
}

// key is a hash of all that the level is and holds.
func (n *Nest) key() uint64 {
	if h := atomic.LoadUint64(&n.hash); h != 0 {
		return h
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
		h.add(c.key())
	}
	atomic.StoreUint64(&n.hash, uint64(h))
	return uint64(h)
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
		calls, executed := sp.callsIn(n.stageNumber(), n.Inlined, &sp.nodes[f])
		if calls > 0 {
			i, _ := slices.BinarySearchFunc(n.Inlined, f, func(in Inlined, f int) int { return in.Func - f })
			c.Inlined = slices.Insert(slices.Clone(n.Inlined), i, Inlined{f, calls, executed})
		}
	}
	return sp.seal(c)
}

// inlinedIn finds f in a list.
func inlinedIn(list []Inlined, f int) (Inlined, bool) {
	for _, in := range list {
		if in.Func == f {
			return in, true
		}
	}
	return Inlined{}, false
}

// innerLevel is the child that continues the loops of n's own stage, nil where n
// is the innermost.
func (n *Nest) innerLevel() *Nest {
	for _, c := range n.Children {
		if c.Func == n.Func && c.Stage == n.Stage {
			return c
		}
	}
	return nil
}

// appendCover appends how many iterations of each loop of the stage one iteration of the
// level stands for, vectors counted by lanes; loops that do not divide count as
// if they did.
func (n *Nest) appendCover(tile []int64) []int64 {
	from := len(tile)
	for range n.Size {
		tile = append(tile, 1)
	}
	for c := n.innerLevel(); c != nil; c = c.innerLevel() {
		for i, size := range c.Size {
			tile[from+i] *= size
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

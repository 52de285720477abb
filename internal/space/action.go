package space

import (
	"fmt"
	"slices"
	"strings"
)

// Kind says what is decided about a Func.
type Kind uint8

const (
	// Inline computes the Func wherever it is called.
	Inline Kind = iota + 1
	// Compute realises it somewhere, and says over which dimension to vectorise.
	Compute
	// Tasks says into which parallel tasks the loops of a Func at root are cut.
	Tasks
)

func (k Kind) String() string {
	switch k {
	case Inline:
		return "inline"
	case Compute:
		return "compute"
	case Tasks:
		return "tasks"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Action is one decision as a step from one state. It means something only
// together with that state: Decision says the same by intent. Its slices are
// shared and must not be written to.
type Action struct {
	Kind Kind
	Func int
	// Vector is, for Compute, the dimension to vectorise, -1 for none.
	Vector int
	// Level counts, for Compute, loop levels from the root (0) down to the one
	// whose body the Func is put into, following those that read it.
	Level int
	// Tile, unless nil, first splits that level into so many tiles, and the Func
	// goes into the body of the tiles. For Tasks it is the number of tasks per
	// dimension of the Func; nil leaves the loops serial.
	Tile []int64
	// Slide stores the Func there and computes it one level further in, so that
	// successive iterations reuse what earlier ones computed.
	Slide bool
	// Inner, unless nil, first splits that further level, and the Func is
	// computed in the body of its tiles.
	Inner []int64

	made      *State // what it leads to, where that is known already
	unchecked bool   // without the rules that are ours: see Import
}

// Same reports whether two actions of one state are the same.
func (a Action) Same(b Action) bool {
	return a.Kind == b.Kind && a.Func == b.Func && a.Vector == b.Vector && a.Level == b.Level &&
		a.Slide == b.Slide && slices.Equal(a.Tile, b.Tile) && slices.Equal(a.Inner, b.Inner) &&
		(a.Tile == nil) == (b.Tile == nil) && (a.Inner == nil) == (b.Inner == nil)
}

// String shows the action for people; Funcs are numbers.
func (a Action) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", a.Kind, a.Func)
	if a.Kind == Compute {
		fmt.Fprintf(&b, " vector %d level %d", a.Vector, a.Level)
	}
	if a.Tile != nil {
		fmt.Fprintf(&b, " tile %v", a.Tile)
	}
	if a.Slide {
		b.WriteString(" slide")
	}
	if a.Inner != nil {
		fmt.Fprintf(&b, " inner %v", a.Inner)
	}
	return b.String()
}

// path lists the levels from the root inwards into whose bodies Func f may be
// put: each time the only child that reads f, as long as that makes the region
// of f smaller. A Func read by two children can go no deeper.
func (sp *Space) path(root *Nest, f int) []*Nest {
	path := []*Nest{root}
	for n := root; ; {
		c := n.onlyReader(f)
		if c < 0 {
			return path
		}
		child := n.Children[c]
		if n.IsRoot() && sp.o.Parallelism > 1 && ones(child.Size) == len(child.Size) {
			return path // a single iteration could never be made parallel
		}
		if !shrinks(child.site, n.site, f) {
			return path
		}
		path = append(path, child)
		n = child
	}
}

// onlyReader is the index of the one child that reads f, -1 where there are none
// or several.
func (n *Nest) onlyReader(f int) int {
	found := -1
	for i, c := range n.Children {
		if c.Reads(f) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// shrinks holds where less of f is needed inside than around.
func shrinks(inside, around *site, f int) bool {
	return points(inside.bounds(f).computed()) < points(around.bounds(f).computed())
}

// breaksVectors holds where too little of f is needed inside to fill a vector
// over dimension v while there was enough around.
func (sp *Space) breaksVectors(inside, around *site, f, v int) bool {
	if v < 0 {
		return false
	}
	lanes := int64(sp.nodes[f].VectorSize)
	return extent(around.bounds(f).Computed(v)) >= lanes && extent(inside.bounds(f).Computed(v)) < lanes
}

func ones(size []int64) int {
	n := 0
	for _, s := range size {
		if s == 1 {
			n++
		}
	}
	return n
}

// strip holds where a loop nest has exactly one loop that iterates and that is
// not the vectorised one: what sliding windows work along (section 3.2).
func (n *Nest) strip(size []int64) bool {
	return ones(size) == len(size)-1 && (n.VectorLoop < 0 || size[n.VectorLoop] == 1)
}

// family is a set of actions that differ only in tile sizes: the unit of
// enumeration and of drawing.
type family struct {
	at    *Action // common part
	tiles [][]int64
	// inners are the splits of the level further in, where those do not depend
	// on the tile; deep says that they follow from the tile instead.
	inners [][]int64
	deep   bool
}

// families lists the ways to compute f, before the pruning that needs the state
// to be built. Together with inlining they are what Actions and Sample choose
// from. The order is fixed: by vector dimension, then by level from the root
// inwards: directly, in tiles, stored in tiles, stored directly.
func (sp *Space) families(root *Nest, f int) []family {
	n := &sp.nodes[f]
	var out []family
	path := sp.path(root, f)
	if n.Output || n.MustRoot != "" || n.Extern {
		path = path[:1]
	}
	slides := len(n.Stages) == 1
	for _, v := range n.vectorDims {
		add := func(level int, slide bool, fam family) {
			fam.at = &Action{Kind: Compute, Func: f, Vector: v, Level: level, Slide: slide}
			out = append(out, fam)
		}
		for i, l := range path {
			if i == 0 {
				add(0, false, family{})
			} else if !l.Innermost && !sp.breaksVectors(l.site, path[i-1].site, f, v) {
				add(i, false, family{})
			}
			if i > 0 && l.Tileable {
				if tiles := sp.tiles(l); len(tiles) > 0 {
					add(i, false, family{tiles: tiles})
					if slides {
						add(i, true, family{tiles: tiles, deep: true})
					}
				}
			}
			if i+1 < len(path) && slides && (i > 0 || sp.o.Parallelism == 1) {
				c := path[i+1]
				if c.strip(c.Size) && sp.fitsInside(c, l.site, f, v) {
					add(i, true, family{})
				}
				if inners := sp.slideSplits(c); len(inners) > 0 {
					add(i, true, family{inners: inners})
				}
			}
		}
	}
	return out
}

// fitsInside holds where f may be computed directly in the body of level l while
// stored around it: not within a vector, not inside the vectorised loop's
// iterations, and not so far in that it could fill no vector.
func (sp *Space) fitsInside(l *Nest, around *site, f, v int) bool {
	if l.Innermost || sp.breaksVectors(l.site, around, f, v) {
		return false
	}
	// Their code indexes the level's loops by the level's vectorised dimension.
	d := l.VectorDim
	return d < 0 || d >= len(l.Size) || l.Size[d] == 1
}

// tiles lists the tilings of a level, those of a parallel level that would leave
// cores idle excepted, and those that would reorder a reduction.
func (sp *Space) tiles(l *Nest) [][]int64 {
	all := sp.tilings(l.Size, splits)
	st := &sp.stages[l.stageNumber()]
	if !l.Parallel && !st.ordered {
		return all
	}
	var kept [][]int64
	for _, t := range all {
		if l.Parallel && sp.idle(st, t) > sp.o.RetileIdleLimit {
			continue
		}
		if st.keepsOrder(l.Size, t) {
			kept = append(kept, t)
		}
	}
	return kept
}

// idle is by how much the slowest core exceeds the average when a level's pure
// loops of these extents are spread over the cores.
func (sp *Space) idle(st *stage, size []int64) float64 {
	tasks := 1.0
	for i, l := range st.Loops {
		if l.Pure {
			tasks *= float64(size[i])
		}
	}
	return idleness(tasks, sp.o.Parallelism)
}

// keepsOrder holds where cutting loops of this size into t tiles visits a
// reduction that must keep its order in that order: outside the innermost
// reduction loop that is cut, the others must be entirely outside.
func (st *stage) keepsOrder(size, t []int64) bool {
	if !st.ordered {
		return true
	}
	cut := false
	for i, l := range st.Loops {
		if l.Pure {
			continue
		}
		if cut && t[i] != size[i] {
			return false
		}
		cut = cut || t[i] > 1
	}
	return true
}

// slideSplits lists the splits of level c for computing f in its tiles while
// storing it around c. The code of Adams et al. asks that c be a strip already,
// and then there are none; with StripSlide the outer part must be one.
func (sp *Space) slideSplits(c *Nest) [][]int64 {
	if !c.Tileable || !sp.o.StripSlide || c.strip(c.Size) {
		return nil
	}
	st := &sp.stages[c.stageNumber()]
	var kept [][]int64
	for _, u := range sp.tilings(c.Size, whole) {
		if c.strip(u) && st.keepsOrder(c.Size, u) {
			kept = append(kept, u)
		}
	}
	return kept
}

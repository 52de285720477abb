package space

import (
	"cmp"
	"math"
	"slices"
)

// direct is a copy of level l with f computed in its body; in says that f is
// stored further out, and then the level stays as it is from now on.
func (sp *Space) direct(l *Nest, f, v int, in bool) *Nest {
	c := l.copy()
	sp.compute(c, f, v)
	if in {
		c.Tileable = false
	} else {
		c.StoreAt = with(l.StoreAt, f)
	}
	return sp.seal(c)
}

// inTiles cuts level l, around which is site above, into t tiles and computes f
// in their bodies, storing it there too unless in says that it is stored further
// out.
func (sp *Space) inTiles(l *Nest, above *site, t []int64, f, v int, in bool) *Nest {
	outer, inner := sp.cut(l, above, t, false)
	outer.Children = []*Nest{sp.seal(inner)}
	sp.compute(outer, f, v)
	if in {
		outer.Tileable = false
	} else {
		outer.StoreAt = with(nil, f)
	}
	return sp.seal(outer)
}

// place builds the loop nest that a Compute action leads to from root. It reports
// false where the level further in is no place for the Func after all, which only
// the bounds there can tell.
func (sp *Space) place(root *Nest, a Action) (*Nest, bool) {
	path := sp.path(root, a.Func)
	l := path[a.Level]
	var made *Nest
	switch {
	case a.Tile == nil && !a.Slide:
		made = sp.direct(l, a.Func, a.Vector, false)
	case a.Tile == nil:
		i := l.onlyReader(a.Func)
		c := l.copy()
		c.Children = slices.Clone(l.Children)
		c.Children[i] = sp.further(l.Children[i], l.site, a)
		if !a.unchecked && !sp.slidesCleanly(c.Children[i], a.Func) {
			return nil, false
		}
		c.StoreAt = with(l.StoreAt, a.Func)
		made = sp.seal(c)
	case !a.Slide:
		made = sp.inTiles(l, path[a.Level-1].site, a.Tile, a.Func, a.Vector, false)
	default:
		outer, inner := sp.cut(l, path[a.Level-1].site, a.Tile, false)
		if !a.unchecked && !sp.mayDeepen(inner, outer.site, a) {
			return nil, false
		}
		sp.seal(inner)
		deeper := sp.further(inner, outer.site, a)
		if !a.unchecked && !sp.slidesCleanly(deeper, a.Func) {
			return nil, false
		}
		outer.Children = []*Nest{deeper}
		outer.StoreAt = with(nil, a.Func)
		made = sp.seal(outer)
	}
	for i := a.Level - 1; i >= 0; i-- {
		up := path[i]
		made = sp.withChild(up, up.onlyReader(a.Func), made)
	}
	return made, true
}

// mayDeepen holds where the Func of a may be computed in the inner half of a
// level just split, stored around it.
func (sp *Space) mayDeepen(inner *Nest, around *site, a Action) bool {
	if !shrinks(inner.site, around, a.Func) {
		return false
	}
	if a.Inner == nil {
		return sp.fitsInside(inner, around, a.Func, a.Vector)
	}
	return inner.Tileable && sp.stages[inner.stageNumber()].keepsOrder(inner.Size, a.Inner)
}

// further is level c with the Func of a computed in its body or that of its tiles
// while stored around it.
func (sp *Space) further(c *Nest, around *site, a Action) *Nest {
	if a.Inner == nil {
		return sp.direct(c, a.Func, a.Vector, true)
	}
	return sp.inTiles(c, around, a.Inner, a.Func, a.Vector, true)
}

// slidesCleanly holds where sliding f over level l computes nothing that is not
// required, or where computing more does no harm. Halide starts a sliding window
// with whole extra iterations, as many as it takes to fill the overlap between
// one iteration and the next: unless the overlap is a multiple of the step, they
// begin before the region required, and may read before the start of an input.
func (sp *Space) slidesCleanly(l *Nest, f int) bool {
	if !sp.nodes[f].spills {
		return true
	}
	clean := true
	l.eachStep(f, func(step, overlap int64) {
		if step > 0 && overlap > 0 && overlap%step != 0 {
			clean = false
		}
	})
	return clean
}

// parallelise cuts the loops of every stage of f, which is at root, into tasks:
// tiles per dimension of the Func. Reductions stay inside.
func (sp *Space) parallelise(root *Nest, f int, tasks []int64) *Nest {
	c := root.copy()
	c.Children = slices.Clone(root.Children)
	for i, l := range c.Children {
		if l.Func != f {
			continue
		}
		outer, inner := sp.cut(l, root.site, sp.tasksOf(l, tasks), true)
		outer.Parallel, outer.Tileable = true, true
		outer.Children = []*Nest{sp.seal(inner)}
		c.Children[i] = sp.seal(outer)
	}
	return sp.seal(c)
}

// tasksOf maps tasks per dimension of the Func to tiles per loop of a stage.
func (sp *Space) tasksOf(l *Nest, tasks []int64) []int64 {
	st := &sp.stages[l.stageNumber()]
	t := make([]int64, len(st.Loops))
	for i, loop := range st.Loops {
		t[i] = 1
		if loop.PureDim >= 0 {
			t[i] = tasks[loop.PureDim]
		}
	}
	return t
}

// idleness is how much longer the busiest core works than the average one.
func idleness(tasks float64, cores int) float64 {
	share := tasks / float64(cores)
	up := float64(int64(share))
	if up < share {
		up++
	}
	return up / share
}

// taskOption is one way to cut a Func at root into tasks: tiles per dimension,
// and how unevenly they fall on the cores.
type taskOption struct {
	tasks []int64
	idle  float64
}

// taskOptions lists the parallel tilings of f, which is at root, those that leave
// fewest cores idle first. (Adams et al.'s code; section 3.2 gives the bounds on
// the number of tasks.) The candidates are the tilings of its pure stage read as
// tile sizes, with RoundTasks as numbers of tiles too, and every iteration as a
// task of its own.
func (sp *Space) taskOptions(root *Nest, f int) []taskOption {
	var pure []int64
	for _, l := range root.Children {
		if l.Func == f && l.Stage == 0 {
			pure = l.Size
		}
	}
	entire := make([]int64, len(pure))
	for i := range entire {
		entire[i] = 1
	}
	tiles := slices.Clip(sp.tilings(pure, splits))
	if sp.o.RoundTasks {
		for _, t := range sp.tilings(pure, splits) {
			round := make([]int64, len(t))
			for i := range t {
				round[i] = ceilDiv(pure[i], t[i])
			}
			tiles = append(tiles, round)
		}
	}
	tiles = append(tiles, entire)
	cores := float64(sp.o.Parallelism)
	seen := map[string]bool{}
	var options []taskOption
	for k, tile := range tiles {
		o := taskOption{tasks: make([]int64, len(tile)), idle: 1}
		for i := range tile {
			o.tasks[i] = ceilDiv(pure[i], tile[i])
		}
		least, most := math.Inf(1), 0.0
		for _, l := range root.Children {
			if l.Func != f {
				continue
			}
			total := 1.0
			for _, t := range sp.tasksOf(l, o.tasks) {
				total *= float64(t)
			}
			least, most = min(least, total), max(most, total)
			o.idle = max(o.idle, idleness(total, sp.o.Parallelism))
		}
		if k < len(tiles)-1 && least < cores || most > cores*float64(sp.o.TasksPerCore) {
			continue
		}
		if key := sizeKey(o.tasks); !seen[key] {
			seen[key] = true
			options = append(options, o)
		}
	}
	slices.SortStableFunc(options, func(a, b taskOption) int { return cmp.Compare(a.idle, b.idle) })
	return options
}

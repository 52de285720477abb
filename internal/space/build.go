package space

import "slices"

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

// inTiles cuts level l into t tiles, with the site inside them, and computes f in
// their bodies, storing it there too unless in says that it is stored further out.
func (sp *Space) inTiles(l *Nest, inside *site, t []int64, f, v int, in bool) *Nest {
	outer, inner := l.cut(inside, t)
	outer.Children = []*Nest{sp.seal(inner)}
	sp.compute(outer, f, v)
	if in {
		outer.Tileable = false
	} else {
		outer.StoreAt = []int{f}
	}
	return sp.seal(outer)
}

// place builds the loop nest that a Compute action leads to from root, whose path
// for the Func is given.
func (sp *Space) place(path []*Nest, a *Action) *Nest {
	l := path[a.Level]
	inside := a.cut
	if a.Tile != nil && inside == nil {
		inside = sp.cutSite(l, path[a.Level-1].site, a.Tile)
	}
	var made *Nest
	switch {
	case a.Tile == nil && !a.Slide:
		made = sp.direct(l, a.Func, a.Vector, false)
	case a.Tile == nil:
		i := l.onlyReader(a.Func)
		c := l.copy()
		c.Children = slices.Clone(l.Children)
		c.Children[i] = sp.further(l.Children[i], l.site, a)
		c.StoreAt = with(l.StoreAt, a.Func)
		made = sp.seal(c)
	case !a.Slide:
		made = sp.inTiles(l, inside, a.Tile, a.Func, a.Vector, false)
	default:
		outer, inner := l.cut(inside, a.Tile)
		outer.Children = []*Nest{sp.further(sp.seal(inner), inside, a)}
		outer.StoreAt = []int{a.Func}
		made = sp.seal(outer)
	}
	for i := a.Level - 1; i >= 0; i-- {
		up := path[i]
		made = sp.withChild(up, up.onlyReader(a.Func), made)
	}
	return made
}

// further is level c with the Func of a computed in its body or that of its tiles
// while stored around it.
func (sp *Space) further(c *Nest, around *site, a *Action) *Nest {
	if a.Inner == nil {
		return sp.direct(c, a.Func, a.Vector, true)
	}
	return sp.inTiles(c, sp.cutSite(c, around, a.Inner), a.Inner, a.Func, a.Vector, true)
}

// mayDeepen holds where the Func of a may be computed in the inner half of level l,
// which a cuts into tiles with this site inside, stored around it.
func (sp *Space) mayDeepen(l *Nest, around *site, a *Action) bool {
	if !shrinks(l.site, around, a.Func) {
		return false
	}
	var store [8]int64
	half := append(store[:0], l.Size...)
	for i := range half {
		half[i] = ceilDiv(half[i], a.Tile[i])
	}
	if a.Inner == nil {
		return sp.fitsInside(l, half, around, a.Func, a.Vector)
	}
	return !sp.o.NoSubtiling && (sp.o.Unchecked || sp.stages[l.stageNumber()].keepsOrder(half, a.Inner))
}

// slid is the level in root that the Func of a, which is stored further out, is
// computed in.
func slid(root *Nest, f int) *Nest {
	for _, c := range root.Children {
		if c.Func == f && root.Func != f {
			return root
		}
		if c.slid {
			if l := slid(c, f); l != nil {
				return l
			}
		}
	}
	return nil
}

// slidesCleanly holds where sliding f over level l computes all that is required, and
// nothing else, or where computing more does no harm. Halide starts a sliding window
// with whole extra iterations, as many as it takes to fill the overlap between
// one iteration and the next: unless the overlap is a multiple of the step, they
// begin before the region required, and may read before the start of an input. So may
// the first where a window moves by more than it holds, as with a copy that is read at
// strides: each iteration computes what lies in between, too. And where one end of a window
// moves over a reduction and the other does not, no extra iteration fills it (Halide's
// issue 8140).
func (sp *Space) slidesCleanly(l *Nest, f int) bool {
	if l.swells(f) {
		return false
	}
	if !sp.nodes[f].spills {
		return true
	}
	clean := true
	l.eachStep(f, func(_ int, step, overlap int64) {
		if step > 0 && overlap%step != 0 {
			clean = false
		}
	})
	return clean
}

// jumps holds where child slides over level l, whose iterations move it by several points, all
// that it holds, and is made of what slides over l as well: stored around the loop it saves
// nothing, but has Halide begin the loop an iteration early, and what it is made of another one
// before that, before an input's start perhaps.
func (sp *Space) jumps(l, child *Nest) bool {
	if sp.o.Unchecked || !l.slides(child) || !sp.nodes[child.Func].spills || l.lead(child.Func) > 0 {
		return false
	}
	moves := false
	l.eachStep(child.Func, func(_ int, step, _ int64) { moves = moves || step > 1 })
	if !moves {
		return false
	}
	of := sp.Upstream(child.Func)
	return slices.ContainsFunc(l.Children, func(c *Nest) bool {
		return slices.Contains(of, c.Func) && l.slides(c) && l.lead(c.Func) > 0
	})
}

// parallelise puts the loops of f, which is at root, cut into tasks, in the place
// of those that are there: one level a stage.
func (sp *Space) parallelise(root *Nest, f int, tasks []*Nest) *Nest {
	c := root.copy()
	c.Children = slices.Clone(root.Children)
	for i, l := range c.Children {
		if l.Func == f {
			c.Children[i], tasks = tasks[0], tasks[1:]
		}
	}
	return sp.seal(c)
}

// inTasks cuts the loops of every stage of f, which is at root, into tasks: tiles
// per dimension of the Func. Reductions stay inside.
func (sp *Space) inTasks(root *Nest, f int, tasks []int64) []*Nest {
	var out []*Nest
	for _, l := range root.Children {
		if l.Func == f {
			out = append(out, sp.cutTasks(l, sp.tasksOf(l, tasks)))
		}
	}
	return out
}

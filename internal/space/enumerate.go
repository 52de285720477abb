package space

// Actions appends every legal action to dst, in a fixed order: inlining, then the
// placements in the order of families; tasks from the most even ones on. There are
// none exactly when the state is complete.
func (s *State) Actions(dst []Action) []Action {
	f, kind := s.Deciding()
	switch kind {
	case Compute:
		return s.computeActions(dst, f)
	case Tasks:
		return s.taskActions(dst, f)
	}
	return dst
}

func (s *State) computeActions(dst []Action, f int) []Action {
	none := len(dst)
	n := &s.sp.nodes[f]
	inline, can := s.inlining(f)
	if can {
		dst = append(dst, inline)
	}
	if can && n.onlyInline {
		return dst
	}
	p := s.placing(f)
	defer p.free()
	p.families(listed)
	cuts := make([][]*site, len(p.path)) // the same for all vector dimensions
	for i := range p.fams {
		if fam := &p.fams[i]; fam.tiles != nil && cuts[fam.level] == nil {
			cuts[fam.level] = make([]*site, len(fam.tiles))
		}
	}
	p.each(func(a *Action, tile int) {
		if a.Tile != nil {
			a.cut = cuts[a.Level][tile]
		}
		if p.legal(a) {
			dst = append(dst, *a)
		}
		if a.Tile != nil {
			cuts[a.Level][tile] = a.cut
		}
	})
	if len(dst) == none {
		dst = append(dst, s.fallback(f))
	}
	return dst
}

// fallback is to compute f at root: always valid, if not always within limits.
func (s *State) fallback(f int) Action {
	return Action{Kind: Compute, Func: f, Vector: s.sp.nodes[f].vectorDims[0]}
}

// taskActions lists the ways to cut f into tasks; not to, where there is none.
func (s *State) taskActions(dst []Action, f int) []Action {
	none := len(dst)
	s.eachTask(f, func(o *taskOption) bool {
		dst = append(dst, s.cutInto(f, o))
		return true
	})
	if len(dst) == none {
		dst = append(dst, Action{Kind: Tasks, Func: f, Vector: -1})
	}
	return dst
}

// eachTask calls do with the legal ways to cut f into tasks, as long as it returns
// true. The first legal one is allowed however uneven it is; then only those within
// IdleLimit are.
func (s *State) eachTask(f int, do func(o *taskOption) bool) {
	options := s.sp.tasks(s.root, f)
	found := false
	for i := range options {
		o := &options[i]
		if found && (o.idle > s.sp.o.IdleLimit || s.sp.o.NoSubtiling) {
			return
		}
		if s.cutsWithin(f, o) {
			found = true
			if !do(o) {
				return
			}
		}
	}
}

// cutInto is the action that cuts f into tasks.
func (s *State) cutInto(f int, o *taskOption) Action {
	return Action{Kind: Tasks, Func: f, Vector: -1, Tile: o.tasks, of: s, task: o}
}

// cutsWithin holds where cutting f into tasks breaks no limit. Only what is inside
// its loops could, and while the Func has just been placed nothing is.
func (s *State) cutsWithin(f int, o *taskOption) bool {
	if !s.sp.o.NoSubtiling {
		return true
	}
	return s.sp.broken(s.sp.parallelise(s.root, f, o.levels), s.spared) == nil
}

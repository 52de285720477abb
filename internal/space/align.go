package space

import "slices"

// align finds for every level of s the levels of the goal that it stands for, nil
// where the goal cannot be reached from s. Of the goal only the Funcs that s has
// decided about count. A boundary between two levels of a stage is there as soon
// as something is inside the outer and outside the inner one, or when it is that
// of tasks, or that around a vector.
func (im *importer) align(s *State, tasks map[*written]int) map[*Nest]levels {
	a := aligner{importer: im, limit: s.Placed(), tasks: tasks, at: map[*Nest]levels{}}
	a.at[s.root] = levels{[]*written{im.goal}, 0, 0}
	if !a.contents(s.root, im.goal) {
		return nil
	}
	return a.at
}

type aligner struct {
	*importer
	limit int // Funcs from here on are not decided about
	tasks map[*written]int
	at    map[*Nest]levels
}

// contents compares what is inside n and l but for l's own further levels.
func (a *aligner) contents(n *Nest, l *written) bool {
	k := 0
	for _, f := range l.stored {
		if f >= a.limit {
			continue
		}
		if k++; !slices.Contains(n.StoreAt, f) {
			return false
		}
	}
	if k != len(n.StoreAt) {
		return false
	}
	k = 0
	for _, in := range l.inlined {
		if in.Func >= a.limit {
			continue
		}
		if have, ok := inlinedIn(n.Inlined, in.Func); !ok || have.Func != in.Func || have.Calls != in.Calls {
			return false
		}
		k++
	}
	if k != len(n.Inlined) {
		return false
	}
	next := len(n.Children) - 1
	for _, c := range l.children {
		if c.fn >= a.limit || c.fn == l.fn && c.stage == l.stage {
			continue
		}
		for next >= 0 && n.Children[next].continues(n) {
			next--
		}
		if next < 0 || !a.stage(n.Children[next], c) {
			return false
		}
		next--
	}
	for next >= 0 && n.Children[next].continues(n) {
		next--
	}
	return next < 0
}

func (n *Nest) continues(around *Nest) bool {
	return n.Func == around.Func && n.Stage == around.Stage
}

// stage compares all levels of one stage, outermost n and top.
func (a *aligner) stage(n *Nest, top *written) bool {
	if n.Func != top.fn || n.Stage != top.stage {
		return false
	}
	chain := top.chain()
	from := 0
	for to, l := range chain {
		last := to == len(chain)-1
		if !last && !l.holds(a.limit) && a.tasks[top] != to+1 && !vectorNext(chain, to) {
			if undecided := top.parallel && a.tasks[top] == 0; !undecided && !l.holds(len(a.sp.nodes)) {
				return false // nothing to come can end the level here
			}
			continue
		}
		if n == nil {
			return false
		}
		r := levels{chain, from, to}
		a.at[n] = r
		for i, size := range n.Size {
			if !r.may(i, size) {
				return false
			}
		}
		parallel := from == 0 && a.tasks[top] > 0
		if n.Innermost != l.innermost || n.Parallel != parallel || l.vectorLoop >= 0 && l.vectorLoop != n.VectorLoop {
			return false
		}
		if !a.contents(n, l) {
			return false
		}
		n, from = n.innerLevel(), to+1
	}
	return n == nil
}

// vectorNext holds where the level after l is one vector.
func vectorNext(chain []*written, l int) bool {
	return l+2 == len(chain) && chain[l+1].vectorLoop >= 0
}

package search

import "github.com/protuner/protuner/internal/space"

// Lateness remembers which schedules were given up. What lowering takes grows with how much
// is computed in one loop nest: where each of a pyramid's fifty Funcs is inside the loops
// of the next, bounds are terms of terms, and minutes pass; and where it ends, every strip
// computes nearly the whole pyramid. The zero value has seen nothing yet.
type Lateness struct {
	late, done []int // stages in the largest nest of each
}

// learn takes what became of a candidate.
func (l *Lateness) learn(o Outcome) {
	if n := fused(o.Candidate.State.Root()); o.Late {
		l.late = append(l.late, n)
	} else {
		l.done = append(l.done, n)
	}
}

// hopeless holds where of those that had as much in one nest more were given up than not.
func (l *Lateness) hopeless(s *space.State) bool {
	if len(l.late) == 0 {
		return false
	}
	n := fused(s.Root())
	surplus := 0
	for _, k := range l.late {
		if k >= n {
			surplus++
		}
	}
	for _, k := range l.done {
		if k >= n {
			surplus--
		}
	}
	return surplus > 0
}

// fused is how many stages are computed in the nest at root that has the most.
func fused(root *space.Nest) int {
	most := 0
	for _, c := range root.Children {
		most = max(most, stagesIn(c))
	}
	return most
}

// stagesIn counts the stage whose level it is and those computed inside.
func stagesIn(n *space.Nest) int {
	stages := 0
	for _, c := range n.Children {
		if c.Func == n.Func && c.Stage == n.Stage {
			stages-- // the same stage, one level in
		}
		stages += stagesIn(c)
	}
	return stages + 1
}

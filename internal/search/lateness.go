package search

import "github.com/protuner/protuner/internal/space"

// Lateness remembers which schedules were given up. What lowering takes grows with how much
// is computed in one loop nest: where each of a pyramid's fifty Funcs is inside the loops
// of the next, bounds are terms of terms, and minutes pass; and where it ends, every strip
// computes nearly the whole pyramid. The zero value has seen nothing yet.
type Lateness struct {
	// surplus is how many more were given up than not, by stages in their largest nest.
	surplus []int
	// best is the time of the fastest, 0 where there is none, and reach what its largest
	// nest has: however many as large were given up, that one shows that it can pay.
	best  float64
	reach int
}

// learn takes what became of a candidate.
func (l *Lateness) learn(o Outcome) {
	n := fused(o.Candidate.State.Root())
	for len(l.surplus) <= n {
		l.surplus = append(l.surplus, 0)
	}
	if o.Late {
		l.surplus[n]++
	} else {
		l.surplus[n]--
	}
	if o.OK && (l.best == 0 || o.Seconds < l.best) {
		l.best, l.reach = o.Seconds, n
	}
}

// crowd is how many stages in one nest make it hard to lower. Of fewer, what was given
// up was slow for another reason.
const crowd = 16

// hopeless holds where of those that had about as much in one nest, a crowd, from two
// thirds of it to half as much again, more were given up than not, and the fastest had
// less. What all of a pyramid in one nest comes to says nothing of half of it.
func (l *Lateness) hopeless(s *space.State) bool {
	sum, n := 0, fused(s.Root())
	if n < crowd || n <= l.reach {
		return false
	}
	for k, surplus := range l.surplus {
		if k >= crowd && 2*n <= 3*k && 2*k <= 3*n {
			sum += surplus
		}
	}
	return sum > 0
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

package search

import "math"

// due is what one of several sources of candidates had and what it brought.
type due struct {
	turns float64 // proposals so far
	tried int     // outcomes so far
	trial int     // so many outcomes say nothing yet
	best  float64 // seconds of its fastest; infinite while nothing worked
}

// leastTurns is of how many turns of the fastest source the slowest has one.
const leastTurns = 16

// learn takes the outcome of a proposal.
func (d *due) learn(o Outcome) {
	d.tried++
	if o.OK {
		d.best = min(d.best, o.Seconds)
	}
}

// newDues makes one for each of the trials.
func newDues(trials ...int) []due {
	out := make([]due, len(trials))
	for i, n := range trials {
		out[i] = due{trial: n, best: math.Inf(1)}
	}
	return out
}

// whoseTurn is the source that is next, of those that are open, -1 where none is. After
// their trials they have fewer turns than the fastest, by the power of eagerness of how much
// slower their best is, but one in leastTurns.
func whoseTurn(of []due, open func(int) bool, eagerness float64) int {
	best := math.Inf(1)
	for _, d := range of {
		best = min(best, d.best)
	}
	chosen, least := -1, math.Inf(1)
	for i, d := range of {
		share := 1.0
		if d.tried >= d.trial && d.best > best {
			share = max(math.Pow(best/d.best, eagerness), 1.0/leastTurns)
		}
		if had := d.turns / share; open(i) && had < least {
			chosen, least = i, had
		}
	}
	return chosen
}

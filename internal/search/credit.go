package search

import "math/rand"

// credit shares out tries between kinds of moves by what they brought lately:
// probability matching with a floor, in the way of adaptive operator selection
// (Thierens 2005). Each kind's worth is an average of its rewards that forgets
// the older ones; a kind is drawn with a probability proportional to its worth,
// but for a share that is dealt out evenly, so that none is ever given up.
type credit struct {
	worth []float64
}

const (
	// explore is the share dealt out evenly.
	explore = 0.3
	// forget is how much of the average one new reward replaces.
	forget = 0.1
	// hope is the worth of a kind not yet tried, high enough that each is.
	hope = 0.2
)

func newCredit(kinds int) *credit {
	c := &credit{worth: make([]float64, kinds)}
	for i := range c.worth {
		c.worth[i] = hope
	}
	return c
}

func (c *credit) draw(rng *rand.Rand) int {
	total := 0.0
	for _, w := range c.worth {
		total += w
	}
	x := rng.Float64()
	if x < explore || total == 0 {
		return rng.Intn(len(c.worth))
	}
	x = (x - explore) / (1 - explore) * total
	for i, w := range c.worth {
		if x -= w; x < 0 {
			return i
		}
	}
	return len(c.worth) - 1
}

func (c *credit) pay(kind int, reward float64) {
	c.worth[kind] += forget * (reward - c.worth[kind])
}

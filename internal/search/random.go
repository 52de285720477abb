package search

import (
	"context"
	"math/rand"

	"github.com/protuner/protuner/internal/space"
)

// Random draws each decision with State.Sample, to the end. It learns nothing and
// is the floor that other strategies are measured against.
type Random struct {
	sp   *space.Space
	rng  *rand.Rand
	seen seen
}

// NewRandom makes a random strategy.
func NewRandom(sp *space.Space, rng *rand.Rand) *Random {
	return &Random{sp: sp, rng: rng, seen: seen{}}
}

// maxRepeats is how many draws in a row may bring nothing new before a space is
// taken to be exhausted.
const maxRepeats = 500

// Propose implements Strategy.
func (r *Random) Propose(ctx context.Context, n int) ([]Candidate, error) {
	var out []Candidate
	for repeats := 0; len(out) < n && repeats < maxRepeats; {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		c := NewCandidate(r.sp.Start().SampleDown(r.rng), "random")
		if !r.seen.take(c) {
			repeats++
			continue
		}
		repeats = 0
		out = append(out, c)
	}
	return out, nil
}

// Observe implements Strategy.
func (r *Random) Observe(outcomes []Outcome) error {
	for _, o := range outcomes {
		if err := validate(o); err != nil {
			return err
		}
		r.seen[o.Candidate.Hash] = true
	}
	return nil
}

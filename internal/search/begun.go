package search

import "context"

// Begun proposes given candidates first and then goes on as another strategy, which
// learns from what became of them.
type Begun struct {
	first []Candidate
	then  Strategy
	seen  seen
}

// NewBegun makes a strategy that begins with those candidates. The other strategy
// learns from those that have a state.
func NewBegun(first []Candidate, then Strategy) *Begun {
	return &Begun{first: first, then: then, seen: seen{}}
}

// Propose implements Strategy.
func (b *Begun) Propose(ctx context.Context, n int) ([]Candidate, error) {
	var out []Candidate
	for len(out) < n && len(b.first) > 0 {
		c := b.first[0]
		b.first = b.first[1:]
		if b.seen.take(c) {
			out = append(out, c)
		}
	}
	for len(out) < n {
		more, err := b.then.Propose(ctx, n-len(out))
		if err != nil || len(more) == 0 {
			return out, err
		}
		for _, c := range more {
			if b.seen.take(c) {
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// Observe implements Strategy.
func (b *Begun) Observe(outcomes []Outcome) error {
	learn := make([]Outcome, 0, len(outcomes))
	for _, o := range outcomes {
		b.seen[o.Candidate.Hash] = true
		if o.Candidate.State != nil {
			learn = append(learn, o)
		}
	}
	return b.then.Observe(learn)
}

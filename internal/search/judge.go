package search

import (
	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/space"
)

// Judge tells which of several complete states is likely the fastest, by what was
// measured of others of the same space. Not safe for concurrent use.
type Judge struct {
	features *feature.Extractor
	learner  *cost.Online
	scratch  []feature.Schedule
}

// NewJudge makes a judge that has seen nothing yet.
func NewJudge(sp *space.Space, model *cost.Model) *Judge {
	return &Judge{features: feature.New(sp), learner: cost.NewOnline(model)}
}

// learn takes what became of a state.
func (j *Judge) learn(s *space.State, seconds float64, ok bool) {
	j.scratch = j.features.Features(s, j.scratch[:0])
	j.learner.Observe(j.scratch, s.Sized(), seconds, ok)
}

// promise is the logarithm of the seconds that a state may well take where luck is on
// its side: the mean less one standard deviation, so that what is unlike anything
// measured gets its turn. False: nothing is known yet.
func (j *Judge) promise(s *space.State) (float64, bool) {
	j.scratch = j.features.Features(s, j.scratch[:0])
	mean, deviation, ok := j.learner.Predict(j.scratch, s.Sized())
	return mean - deviation, ok
}

// Package cost predicts how long a schedule runs: the cost model of Adams et al.
// 2019, "Learning to Optimize Halide with Tree Search and Random Programs",
// section 4.2, with their network's weights. docs/cost.md writes it out.
package cost

import (
	"fmt"
	"math"

	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/nn"
	"github.com/protuner/protuner/internal/pipeline"
)

// unit makes costs of sums of terms: milliseconds, as far as the weights were
// trained on those.
const unit = 1e-9

// Model predicts costs of one pipeline's schedules. It does not change and is safe
// for concurrent use.
type Model struct {
	net    *nn.Network
	cores  float32
	stages []*nn.Stage // in the order of feature.Stages
}

// New prepares a model of p on so many cores.
func New(w *nn.Weights, p *pipeline.Pipeline, cores int) (*Model, error) {
	if cores < 1 {
		return nil, fmt.Errorf("cost: %d cores; give at least 1", cores)
	}
	m := &Model{net: nn.New(w), cores: float32(cores)}
	for _, id := range feature.Stages(p) {
		st := &p.Funcs[id.Func].Stages[id.Stage]
		if len(st.Features) != pipeline.NumFeatures {
			return nil, fmt.Errorf("cost: stage %s has %d features, not %d", st.Name, len(st.Features), pipeline.NumFeatures)
		}
		// The first row only says which types occur; the network does not see it.
		m.stages = append(m.stages, m.net.Stage(st.Features[nn.Types:]))
	}
	return m, nil
}

// Stages is how many stages a complete schedule has features of.
func (m *Model) Stages() int { return len(m.stages) }

// Predict gives the cost in milliseconds of a schedule with these features, one
// element a stage as feature.Extractor gives them. Of a partial schedule it is the
// cost of the stages scheduled: what is still to come is not counted, since
// choices made so far are assumed not to change it (section 3.2). More stages than
// the pipeline has are the caller's mistake, and panic. It does not allocate.
//
// Where features are negative, no numbers or beyond float32, or the cost is beyond
// it, the cost is infinite: such a schedule is never the best. Explain says which
// stage it is.
func (m *Model) Predict(features []feature.Schedule) float64 {
	all := float32(0)
	for i := range features {
		all += m.stage(i, &features[i])
	}
	return finite(all)
}

// finite is c, or infinity where c is infinite or NaN.
func finite(c float32) float64 {
	if c <= math.MaxFloat32 {
		return float64(c)
	}
	return math.Inf(1)
}

// stage is the cost of one stage, infinite where its features cannot be.
func (m *Model) stage(i int, features *feature.Schedule) float32 {
	var coefficients [nn.Outputs]float32
	var f [nn.Padded]float32
	if !m.net.Coefficients(m.stages[i], (*[nn.Inputs]float64)(features), &f, &coefficients) {
		return float32(math.Inf(1))
	}
	return sum(&coefficients, &f, i == 0, m.cores)
}

// StageCost is the cost of one stage and of what.
type StageCost struct {
	// Cost is in milliseconds, and the sum of Terms.
	Cost float64
	// Terms, by index of Terms the table.
	Terms [nn.Outputs]float64
}

// Explain predicts stage by stage, in the order of the features, and term by term.
// A stage whose features cannot be costs infinitely, and has no terms.
func (m *Model) Explain(features []feature.Schedule) []StageCost {
	out := make([]StageCost, len(features))
	for i := range features {
		var coefficients, size [nn.Outputs]float32
		var f [nn.Padded]float32
		if !m.net.Coefficients(m.stages[i], (*[nn.Inputs]float64)(&features[i]), &f, &coefficients) {
			out[i].Cost = math.Inf(1)
			continue
		}
		sizes(&f, i == 0, m.cores, &size)
		for k, c := range coefficients {
			out[i].Terms[k] = float64(c*size[k]) * unit
			out[i].Cost += out[i].Terms[k]
		}
	}
	return out
}

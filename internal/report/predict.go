package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
)

// Prediction is what predict prints as JSON; costs are in milliseconds.
type Prediction struct {
	Cost   float64           `json:"cost_ms"`
	Stages []StagePrediction `json:"stages"`
}

// StagePrediction is one stage of it.
type StagePrediction struct {
	Stage string             `json:"stage"`
	Cost  float64            `json:"cost_ms"`
	Share float64            `json:"share"`
	Terms map[string]float64 `json:"terms_ms"` // those that are not zero
	// Features says what each schedule feature is and costs.
	Features []FeatureCost `json:"features"`
}

// FeatureCost is one schedule feature of a stage.
type FeatureCost struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Cost  float64 `json:"cost_ms"`
	Share float64 `json:"share"` // of the stage
}

// Predicted is what a model says, the total in milliseconds and the stages' costs, of a schedule
// with these features and stages of these names.
func Predicted(total float64, costs []cost.StageCost, features []feature.Schedule, names []string) Prediction {
	p := Prediction{Cost: total}
	for i, st := range costs {
		sp := StagePrediction{Stage: names[i], Cost: st.Cost, Terms: map[string]float64{}}
		if p.Cost > 0 {
			sp.Share = st.Cost / p.Cost
		}
		for k, v := range st.Terms {
			if v != 0 {
				sp.Terms[cost.Terms[k].Name] = v
			}
		}
		for k, v := range FeatureCosts(st) {
			fc := FeatureCost{Name: feature.Table[k].Name, Unit: feature.Table[k].Unit, Value: features[i][k], Cost: v}
			if st.Cost > 0 {
				fc.Share = v / st.Cost
			}
			sp.Features = append(sp.Features, fc)
		}
		p.Stages = append(p.Stages, sp)
	}
	return p
}

// Dearest names the n terms that cost most, with their share of the stage.
func (s *StagePrediction) Dearest(n int) string {
	names := slices.SortedFunc(maps.Keys(s.Terms), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Terms[b], s.Terms[a]), cmp.Compare(a, b))
	})
	var out []string
	for _, name := range names[:min(n, len(names))] {
		out = append(out, fmt.Sprintf("%s %.0f%%", name, 100*s.Terms[name]/s.Cost))
	}
	return strings.Join(out, ", ")
}

// Explanation is what explain prints as JSON; costs are in milliseconds.
type Explanation struct {
	Generator string `json:"generator"`
	// InSpace holds where a tuning run can come upon the schedule; otherwise Foreign
	// says why not, and all else is about Nearest.
	InSpace bool     `json:"in_space"`
	Foreign []string `json:"foreign,omitempty"`
	// Besides is what was decided that no loop nest says.
	Besides []string `json:"besides,omitempty"`
	Nearest string   `json:"nearest"` // as directives
	// Costs are what the model says, first of the schedule or the nearest one.
	Costs []ScheduleCost `json:"costs"`
	// Stages compares what the stages cost in it with the cheapest of the others.
	Stages []StageShares `json:"stages"`
	Beside string        `json:"beside,omitempty"` // the one Stages compares with
}

// ScheduleCost is what a model says of one schedule.
type ScheduleCost struct {
	Name     string  `json:"name"`
	Cost     float64 `json:"cost_ms"`
	Measured float64 `json:"measured_ms,omitempty"`

	stages []cost.StageCost
}

// StageShares is one stage in two schedules.
type StageShares struct {
	Stage  string  `json:"stage"`
	Cost   float64 `json:"cost_ms"`
	Share  float64 `json:"share"`
	Beside float64 `json:"beside_ms"`
	Other  float64 `json:"beside_share"`
}

// CostOf is what a model says of a schedule with these features, under a name.
func CostOf(name string, m *cost.Model, features []feature.Schedule) ScheduleCost {
	return ScheduleCost{Name: name, Cost: m.Predict(features), stages: m.Explain(features)}
}

// Compare sets the stages, of these names, beside those of what was measured, or of the
// cheapest: of the third or the second of Costs.
func (e *Explanation) Compare(names []string) {
	this, other := e.Costs[0], e.Costs[1]
	if len(e.Costs) > 2 {
		other = e.Costs[2]
	}
	e.Beside = other.Name
	for i, st := range this.stages {
		row := StageShares{Stage: names[i], Cost: st.Cost, Beside: other.stages[i].Cost}
		if this.Cost > 0 {
			row.Share = row.Cost / this.Cost
		}
		if other.Cost > 0 {
			row.Other = row.Beside / other.Cost
		}
		e.Stages = append(e.Stages, row)
	}
}

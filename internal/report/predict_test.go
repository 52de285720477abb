package report

import (
	"testing"

	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
)

// stageCosts are of a stage that costs 2 and 1 by two terms, and of one that costs 1.
func stageCosts() (dear, cheap cost.StageCost) {
	dear.Terms[0], dear.Terms[7], dear.Cost = 2, 1, 3
	cheap.Terms[0], cheap.Cost = 1, 1
	return dear, cheap
}

func TestPredicted(t *testing.T) {
	dear, cheap := stageCosts()
	features := make([]feature.Schedule, 2)
	features[0][feature.NumVectors] = 9
	p := Predicted(4, []cost.StageCost{dear, cheap}, features, []string{"f", "g"})
	if p.Cost != 4 || len(p.Stages) != 2 || p.Stages[1].Stage != "g" || p.Stages[1].Share != 0.25 {
		t.Fatalf("got %+v", p)
	}
	f := p.Stages[0]
	if f.Cost != 3 || f.Share != 0.75 || len(f.Terms) != 2 || len(f.Features) != feature.NumSchedule {
		t.Errorf("of f %+v", f)
	}
	// Half of each term's: both have another factor besides.
	if v := f.Features[feature.NumVectors]; v.Value != 9 || v.Cost != 1.5 || v.Share != 0.5 {
		t.Errorf("of its vectors %+v", v)
	}
	for n, want := range map[int]string{1: "vector_compute 67%", 5: "vector_compute 67%, scalar_loads_in_vectors 33%"} {
		if got := f.Dearest(n); got != want {
			t.Errorf("the %d dearest are %q, want %q", n, got, want)
		}
	}
}

// A schedule is set beside what was measured; where nothing was, beside the search's.
func TestExplanationsCompare(t *testing.T) {
	dear, cheap := stageCosts()
	costs := []ScheduleCost{
		{Name: "this", Cost: 4, stages: []cost.StageCost{dear, cheap}},
		{Name: "searched", Cost: 2, stages: []cost.StageCost{cheap, cheap}},
		{Name: "measured", Cost: 0, stages: []cost.StageCost{dear, dear}},
	}
	for n, want := range map[int]StageShares{
		2: {Stage: "f", Cost: 3, Share: 0.75, Beside: 1, Other: 0.5},
		3: {Stage: "f", Cost: 3, Share: 0.75, Beside: 3},
	} {
		e := Explanation{Costs: costs[:n]}
		e.Compare([]string{"f", "g"})
		if e.Beside != costs[n-1].Name || len(e.Stages) != 2 || e.Stages[0] != want {
			t.Errorf("beside %s: %+v, want %+v", e.Beside, e.Stages, want)
		}
	}
}

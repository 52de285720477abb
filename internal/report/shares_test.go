package report

import (
	"math"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
)

// Every term that there is belongs to features, and what features cost adds up.
func TestFeatureCosts(t *testing.T) {
	var st cost.StageCost
	for k, term := range cost.Terms {
		if (term.Name != "") != (len(factors[k]) > 0) {
			t.Errorf("term %d, %q, is of the features %v", k, term.Name, factors[k])
		}
		if term.Name != "" {
			st.Terms[k] = float64(k + 1)
			st.Cost += st.Terms[k]
		}
	}
	sum := 0.0
	costs := FeatureCosts(st)
	for _, c := range costs {
		sum += c
	}
	if math.Abs(sum-st.Cost) > 1e-9 {
		t.Errorf("features cost %g, the stage %g", sum, st.Cost)
	}
	if costs[feature.WorkingSet] != 28 || costs[feature.BytesAtRoot] != 0 {
		t.Errorf("working set %g, bytes at root %g", costs[feature.WorkingSet], costs[feature.BytesAtRoot])
	}
	var b strings.Builder
	if err := FeatureShares(&b, []string{"f"}, []cost.StageCost{st}); err != nil {
		t.Fatal(err)
	}
	for _, info := range feature.Table {
		if !strings.Contains(b.String(), info.Name) {
			t.Errorf("%s is not in the table", info.Name)
		}
	}
}

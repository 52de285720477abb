package report

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
)

// factors lists, by the coefficient of a cost term (cost.Terms), the schedule
// features whose product its size is. Factors that are one where all cores are busy
// alike are left out.
var factors = [len(cost.Terms)][]int{
	0:  {feature.VectorSize, feature.NumVectors},
	1:  {feature.NumScalars},
	2:  {feature.VectorSize, feature.NumVectors},
	3:  {feature.NumScalars},
	5:  {feature.NumRealizations, feature.UniqueLinesReadPerRealization},
	6:  {feature.NumRealizations, feature.UniqueBytesReadPerRealization},
	7:  {feature.NumVectors, feature.ScalarLoadsPerVector},
	8:  {feature.NumScalars, feature.ScalarLoadsPerScalar},
	9:  {feature.NumVectors, feature.VectorLoadsPerVector},
	10: {feature.NumScalars, feature.UniqueBytesReadPerVector},
	11: {feature.NumVectors, feature.UniqueBytesReadPerVector},
	12: {feature.NumScalars, feature.UniqueLinesReadPerVector},
	13: {feature.NumVectors, feature.UniqueLinesReadPerVector},
	14: {feature.InnerParallelism, feature.OuterParallelism, feature.UniqueBytesReadPerTask},
	15: {feature.InnerParallelism, feature.OuterParallelism, feature.UniqueLinesReadPerTask},
	16: {feature.NumRealizations, feature.InnerParallelism, feature.BytesAtTask, feature.InnermostBytesAtTask},
	17: {feature.NumRealizations, feature.InnerParallelism, feature.BytesAtTask, feature.InnermostBytesAtTask},
	18: {feature.NumRealizations, feature.InnerParallelism, feature.BytesAtTask, feature.InnermostBytesAtTask},
	19: {feature.NumRealizations, feature.BytesAtRealization},
	20: {feature.NumRealizations, feature.BytesAtRealization},
	21: {feature.NumRealizations, feature.BytesAtRealization},
	22: {feature.NumVectors, feature.NumScalars, feature.InnermostBytesAtTask},
	23: {feature.BytesAtProduction, feature.InnerParallelism, feature.OuterParallelism, feature.InnermostBytesAtTask},
	24: {feature.NumRealizations},
	25: {feature.NumProductions},
	26: {feature.NumProductions, feature.InnerParallelism},
	27: {feature.WorkingSet},
}

// FeatureCosts attributes the cost of a stage, in milliseconds, to the schedule
// features: each term in equal parts to the features whose product its size is.
// That is what a change of each by the same small factor changes the cost by, the
// coefficients aside, which all features have a hand in. Features that no term reads
// act through coefficients alone, and get nothing. The parts add up to the cost.
func FeatureCosts(st cost.StageCost) [feature.NumSchedule]float64 {
	var out [feature.NumSchedule]float64
	for k, of := range factors {
		for _, f := range of {
			out[f] += st.Terms[k] / float64(len(of))
		}
	}
	return out
}

// FeatureShares writes every schedule feature with its unit, its share of the cost
// of the whole schedule and the stage in which it costs most.
func FeatureShares(w io.Writer, names []string, stages []cost.StageCost) error {
	total := 0.0
	var sum [feature.NumSchedule]float64
	var most [feature.NumSchedule]float64
	var where [feature.NumSchedule]string
	for i, st := range stages {
		total += st.Cost
		for k, c := range FeatureCosts(st) {
			sum[k] += c
			if c > most[k] {
				most[k], where[k] = c, names[i]
			}
		}
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"feature", "unit", "share of the cost", "most in", "what it is"})
	for k, info := range feature.Table {
		share := "-"
		if sum[k] > 0 {
			share = fmt.Sprintf("%.1f%%", 100*sum[k]/total)
		}
		t.AppendRow(table.Row{info.Name, info.Unit, share, where[k], info.Meaning})
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

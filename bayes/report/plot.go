package report

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/protuner/protuner/bayes"
)

// plotFormats are the endings Plot writes.
var plotFormats = []string{".svg", ".png", ".pdf"}

// CheckPlot says whether Plot can write a file of that name.
func CheckPlot(path string) error {
	if !slices.Contains(plotFormats, strings.ToLower(filepath.Ext(path))) {
		return fmt.Errorf("a plot is written to a file that ends in %s, not to %q", strings.Join(plotFormats, ", "), path)
	}
	return nil
}

// logRange is the ratio of values from which the axis is logarithmic.
const logRange = 8

var (
	blue = color.RGBA{0x1f, 0x77, 0xb4, 0xff}
	grey = color.RGBA{0x88, 0x88, 0x88, 0xff}
	red  = color.RGBA{0xd6, 0x27, 0x28, 0xff}
)

// Plot draws the value of each trial, the best so far, and, as crosses along the
// lower edge, the failures.
func Plot(path string, r *Result) error {
	if err := CheckPlot(path); err != nil {
		return err
	}
	p, err := chart(r)
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return p.Save(18*vg.Centimeter, 11*vg.Centimeter, path)
}

func chart(r *Result) (*plot.Plot, error) {
	var values, best plotter.XYs
	var failed []float64
	for _, t := range r.Trials {
		switch t.Outcome.Status {
		case bayes.OK:
			values = append(values, plotter.XY{X: float64(t.ID), Y: t.Outcome.Value})
			at := t.Outcome.Value
			if len(best) > 0 && (at < best[len(best)-1].Y) == r.Maximize {
				at = best[len(best)-1].Y
			}
			best = append(best, plotter.XY{X: float64(t.ID), Y: at})
		case bayes.Pending:
		default:
			failed = append(failed, float64(t.ID))
		}
	}
	if len(values) == 0 {
		return nil, errors.New("no trial has a value yet")
	}
	p := plot.New()
	p.Title.Text = r.Study
	p.X.Label.Text, p.Y.Label.Text = "trial", "value"
	if r.Objective != "" {
		p.Y.Label.Text = r.Objective
	}
	lowest, highest := extent(values)
	if lowest > 0 && highest/lowest >= logRange {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	dots, err := plotter.NewScatter(values)
	if err != nil {
		return nil, err
	}
	dots.GlyphStyle = draw.GlyphStyle{Color: grey, Radius: vg.Points(2), Shape: draw.CircleGlyph{}}
	line, err := plotter.NewLine(best)
	if err != nil {
		return nil, err
	}
	line.StepStyle, line.Color, line.Width = plotter.PostStep, blue, vg.Points(1.5)
	p.Add(dots, line)
	p.Legend.Add("each trial", dots)
	p.Legend.Add("best so far", line)
	if len(failed) > 0 {
		marks := make(plotter.XYs, len(failed))
		for i, x := range failed {
			marks[i] = plotter.XY{X: x, Y: lowest}
		}
		crosses, err := plotter.NewScatter(marks)
		if err != nil {
			return nil, err
		}
		crosses.GlyphStyle = draw.GlyphStyle{Color: red, Radius: vg.Points(2.5), Shape: draw.CrossGlyph{}}
		p.Add(crosses)
		p.Legend.Add("failed", crosses)
	}
	p.Legend.Top = true
	if lowest == highest { // an axis needs a length
		pad := math.Max(math.Abs(lowest), 1) / 10
		p.Y.Min, p.Y.Max = lowest-pad, highest+pad
	}
	return p, nil
}

func extent(v plotter.XYs) (lowest, highest float64) {
	lowest, highest = math.Inf(1), math.Inf(-1)
	for _, q := range v {
		lowest, highest = math.Min(lowest, q.Y), math.Max(highest, q.Y)
	}
	return lowest, highest
}

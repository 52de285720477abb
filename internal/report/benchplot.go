package report

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"regexp"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/protuner/protuner/internal/bench"
)

// palette of colours that people with any kind of colour vision can tell apart (Okabe
// and Ito 2008); further methods take them again, darker.
var palette = []color.RGBA{
	{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{86, 180, 233, 255}, {213, 94, 0, 255}, {240, 228, 66, 255}, {120, 120, 120, 255},
}

func colour(i int) color.RGBA {
	c := palette[i%len(palette)]
	for range i / len(palette) {
		c.R, c.G, c.B = c.R/5*3, c.G/5*3, c.B/5*3
	}
	return c
}

// benchPlot is one bar chart: a group for each application, in it a bar for each
// method.
type benchPlot struct {
	Name, Title string
	axis        string
	apps        []string
	methods     []string
	values      [][]float64 // by method and application; 0: no bar
	low, high   [][]float64 // of intervals; nil: none are drawn
	one         bool        // a line at 1
}

// benchPlots are those that a comparison has something for.
func benchPlots(s *bench.Summary) []*benchPlot {
	speed := newBenchPlot(s, "throughput", "Throughput of the best schedule of each method", "relative to the fastest of the application")
	for a, r := range s.Apps {
		best := math.Inf(1)
		for _, c := range r.Cells {
			if c.Seconds > 0 {
				best = math.Min(best, c.Seconds)
			}
		}
		for m, c := range r.Cells {
			if c.Seconds > 0 {
				speed.values[m][a] = best / c.Seconds
			}
		}
	}
	speed.mean()
	out := []*benchPlot{speed}
	if len(s.Methods) > 1 {
		out = append(out, ratioPlot(s))
	}
	if hasCosts(s) {
		cost := newBenchPlot(s, "cost", "Least cost by the model", "over the least of all")
		for a, r := range s.Apps {
			for m, c := range r.Cells {
				if c.Cost > 0 && r.Parts == 1 {
					cost.values[m][a] = c.Cost / leastCost(r)
				}
			}
		}
		cost.one = true
		out = append(out, cost)
	}
	if anyCell(s, func(c bench.Cell) bool { return c.Greedy > 0 }) {
		share := newBenchPlot(s, "greedy", "Decisions won by trees with greedy rollouts", "share")
		for a, r := range s.Apps {
			for m, c := range r.Cells {
				if c.Roots > 0 {
					share.values[m][a] = float64(c.Greedy) / float64(c.Roots)
				}
			}
		}
		out = append(out, share)
	}
	return out
}

func newBenchPlot(s *bench.Summary, name, title, axis string) *benchPlot {
	p := &benchPlot{Name: name, Title: title, axis: axis, methods: s.Methods, values: make([][]float64, len(s.Methods))}
	for _, r := range s.Apps {
		p.apps = append(p.apps, r.App)
	}
	for m := range p.values {
		p.values[m] = make([]float64, len(p.apps))
	}
	return p
}

// mean adds a last group: the geometric mean over the applications that every method
// has a value for.
func (p *benchPlot) mean() {
	sums, n := make([]float64, len(p.methods)), 0
	for a := range p.apps {
		whole := true
		for m := range p.methods {
			whole = whole && p.values[m][a] > 0
		}
		if !whole {
			continue
		}
		n++
		for m := range p.methods {
			sums[m] += math.Log(p.values[m][a])
		}
	}
	if n == 0 {
		return
	}
	p.apps = append(p.apps, fmt.Sprintf("geometric mean of %d", n))
	for m := range p.methods {
		p.values[m] = append(p.values[m], math.Exp(sums[m]/float64(n)))
	}
}

// ratioPlot shows how many times as fast the compared method is, with intervals.
func ratioPlot(s *bench.Summary) *benchPlot {
	p := newBenchPlot(s, "ratio", "How many times as fast "+s.Against+" is", "ratio of times, with 95% intervals")
	p.one = true
	p.low, p.high = make([][]float64, len(s.Methods)), make([][]float64, len(s.Methods))
	p.apps = append(p.apps, "geometric mean")
	for m, name := range s.Methods {
		p.values[m] = append(p.values[m], 0)
		p.low[m], p.high[m] = make([]float64, len(p.apps)), make([]float64, len(p.apps))
		if name == s.Against {
			continue
		}
		for a := range p.apps {
			ratio := s.Means[m].Ratio
			if a < len(s.Apps) {
				ratio = s.Apps[a].Cells[m].Ratio
			}
			if ratio != nil {
				p.values[m][a], p.low[m][a], p.high[m][a] = ratio.Value, ratio.Low, ratio.High
			}
		}
	}
	return p
}

// draw writes the chart as svg or png.
func (p *benchPlot) draw(w io.Writer, format string) error {
	chart := plot.New()
	chart.Title.Text = p.Title
	chart.Title.Padding = vg.Points(6)
	chart.Y.Label.Text = p.axis
	chart.Y.Min = 0
	chart.BackgroundColor = color.White
	chart.Y.Tick.Marker = plot.TickerFunc(evenTicks)
	for _, f := range []*font.Font{&chart.Title.TextStyle.Font, &chart.X.Tick.Label.Font, &chart.Y.Tick.Label.Font, &chart.Y.Label.TextStyle.Font, &chart.Legend.TextStyle.Font} {
		f.Variant = "Sans"
		f.Size = vg.Points(9)
	}
	chart.Title.TextStyle.Font.Size = vg.Points(12)
	shown := p.shown()
	width := vg.Points(max(5, 13-1.2*float64(len(shown))))
	group := width*vg.Length(len(shown)) + vg.Points(12)
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = color.Gray{220}
	chart.Add(grid)
	highest := 0.0
	for k, m := range shown {
		bars, err := plotter.NewBarChart(plotter.Values(p.values[m]), width)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = colour(m), 0
		bars.Offset = width * vg.Length(float64(k)-float64(len(shown)-1)/2)
		chart.Add(bars)
		if p.low != nil {
			chart.Add(whiskers{p.values[m], p.low[m], p.high[m], bars.Offset})
		}
		chart.Legend.Add(p.methods[m], bars)
		for a, v := range p.values[m] {
			highest = math.Max(highest, v)
			if p.low != nil {
				highest = math.Max(highest, p.high[m][a])
			}
		}
	}
	if p.one {
		line, err := plotter.NewLine(plotter.XYs{{X: -0.5, Y: 1}, {X: float64(len(p.apps)) - 0.5, Y: 1}})
		if err != nil {
			return err
		}
		line.Width = vg.Points(0.8)
		line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		chart.Add(line)
	}
	chart.NominalX(p.apps...)
	chart.X.Min, chart.X.Max = -0.5, float64(len(p.apps))-0.5
	chart.X.Tick.Label.Rotation = math.Pi / 5
	chart.X.Tick.Label.XAlign, chart.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	if highest > 0 {
		chart.Y.Max = highest * 1.05
	}
	chart.Legend.Top, chart.Legend.Left = true, false
	chart.Legend.YOffs = vg.Points(2)
	chart.Legend.ThumbnailWidth = vg.Points(12)
	chart.Legend.Padding = vg.Points(2)
	// Room for the legend above the bars, so that it covers none.
	const bars, line = 220.0, 13.0 // heights, in points
	legend := line * float64(len(shown))
	chart.Y.Max *= 1 + legend/bars
	size := max(vg.Points(360), group*vg.Length(len(p.apps))+vg.Points(80))
	to, err := chart.WriterTo(size, vg.Points(80+bars+legend), format)
	if err != nil {
		return err
	}
	if format != "svg" {
		_, err = to.WriteTo(w)
		return err
	}
	var svg bytes.Buffer
	if _, err = to.WriteTo(&svg); err != nil {
		return err
	}
	_, err = w.Write(anyFont(svg.Bytes(), chart.Title.TextStyle.Font))
	return err
}

// svgText is a piece of text of an SVG: what stands before its font's family and size,
// the size, in points, and the text.
var svgText = regexp.MustCompile(`(<text [^>]*style=")font-family:[^;"]*;([^"]*font-size:([0-9.]+)px")>([^<]*)<`)

// anyFont makes every text of the svg as wide as it is in the font that the chart was laid
// out for, and names fonts of the same widths: the reader's machine need not have that one,
// and a wider one would run into the axis.
func anyFont(svg []byte, f font.Font) []byte {
	return svgText.ReplaceAllFunc(svg, func(found []byte) []byte {
		part := svgText.FindSubmatch(found)
		size, err := strconv.ParseFloat(string(part[3]), 64)
		if err != nil {
			return found
		}
		face := font.DefaultCache.Lookup(f, vg.Points(size))
		width := face.Width(html.UnescapeString(string(part[4])))
		return fmt.Appendf(nil, `%sfont-family:Liberation Sans,Arimo,Arial,Helvetica,sans-serif;%s textLength="%.5g" lengthAdjust="spacingAndGlyphs">%s<`,
			part[1], part[2], width.Points(), part[4])
	})
}

// evenTicks are four to eight round numbers, each with its label.
func evenTicks(low, high float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for (high-low)/step > 8 {
		step *= 2
		if (high-low)/step > 8 {
			step *= 2.5
		}
	}
	var out []plot.Tick
	for k := math.Ceil(low / step); k*step <= high*(1+1e-9); k++ {
		out = append(out, plot.Tick{Value: k * step, Label: strconv.FormatFloat(math.Round(k*step*1e6)/1e6, 'g', -1, 64)})
	}
	return out
}

// shown are the methods that have a bar.
func (p *benchPlot) shown() []int {
	var out []int
	for m, values := range p.values {
		for _, v := range values {
			if v > 0 {
				out = append(out, m)
				break
			}
		}
	}
	return out
}

// whiskers are intervals on a bar chart's bars.
type whiskers struct {
	values, low, high []float64
	offset            vg.Length
}

// Plot implements plot.Plotter.
func (w whiskers) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.LineStyle{Color: color.Black, Width: vg.Points(0.7)}
	for i, v := range w.values {
		if v == 0 {
			continue
		}
		at := x(float64(i)) + w.offset
		c.StrokeLine2(style, at, y(w.low[i]), at, y(w.high[i]))
		for _, end := range []float64{w.low[i], w.high[i]} {
			c.StrokeLine2(style, at-vg.Points(1.5), y(end), at+vg.Points(1.5), y(end))
		}
	}
}

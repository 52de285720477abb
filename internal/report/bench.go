package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/measure"
)

// benchTable is one of a comparison's tables, with a line that says how to read it.
type benchTable struct {
	Title, About string
	Header       []string
	Rows         [][]string
}

func (t benchTable) writer() table.Writer {
	w := table.NewWriter()
	row := func(cells []string) table.Row {
		var r table.Row
		for _, c := range cells {
			r = append(r, c)
		}
		return r
	}
	w.AppendHeader(row(t.Header))
	for _, r := range t.Rows {
		w.AppendRow(row(r))
	}
	return w
}

// short says in a word or two why there is no time.
func short(c bench.Cell) string {
	switch c.Status {
	case measure.Invalid:
		if c.Message != "" {
			return "not raced"
		}
		return "not yet"
	case measure.TimedOut:
		return "too long"
	case measure.OutOfMemory:
		return "out of memory"
	}
	return strings.ReplaceAll(c.Status.String(), "_", " ")
}

// benchTables are those that a comparison has something for.
func benchTables(s *bench.Summary) []benchTable {
	out := []benchTable{timesTable(s), ratiosTable(s), makingTable(s)}
	if hasCosts(s) {
		out = append(out, costsTable(s))
	}
	if hasRoots(s) {
		out = append(out, rootsTable(s))
	}
	return out
}

func hasCosts(s *bench.Summary) bool {
	return anyCell(s, func(c bench.Cell) bool { return c.Cost > 0 })
}

func hasRoots(s *bench.Summary) bool {
	return anyCell(s, func(c bench.Cell) bool { return c.Roots > 0 })
}

func anyCell(s *bench.Summary, is func(bench.Cell) bool) bool {
	for _, r := range s.Apps {
		for _, c := range r.Cells {
			if is(c) {
				return true
			}
		}
	}
	return false
}

func header(s *bench.Summary, first string, last ...string) []string {
	return append(append([]string{first}, s.Methods...), last...)
}

// appName says how many parts an application was made of.
func appName(r bench.Row) string {
	if r.Parts > 1 {
		return fmt.Sprintf("%s (%d layers)", r.App, r.Parts)
	}
	return r.App
}

func timesTable(s *bench.Summary) benchTable {
	t := benchTable{Title: "Times", About: "Fastest lap, built ahead of time, in fresh processes.", Header: header(s, "application")}
	for _, r := range s.Apps {
		row := []string{appName(r)}
		for _, c := range r.Cells {
			if c.Seconds > 0 {
				row = append(row, Duration(c.Seconds))
			} else {
				row = append(row, short(c))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// ratio writes an interval in two digits after the point, which is what intervals of
// some percent allow.
func ratio(i *measure.Interval) string {
	if i == nil {
		return "-"
	}
	return i.Text(2)
}

// fewMark stands after an interval that is from too few rounds; fewNote says so.
const fewMark = "*"

var fewNote = fmt.Sprintf("%s marks an interval from fewer than %d rounds, and a mean over one: it holds the true ratio clearly less often than 95%%.", fewMark, measure.FewestRounds)

// few says whether a cell's interval is from fewer rounds than one takes.
func few(c bench.Cell) bool { return c.Ratio != nil && c.Pairs < measure.FewestRounds }

// fewFloor says it of an application's noise floor.
func fewFloor(r bench.Row) bool { return r.Floor != nil && r.Rounds < measure.FewestRounds }

// meanRatio writes the geometric mean of the method at i.
func meanRatio(s *bench.Summary, i int) string {
	text := ratio(s.Means[i].Ratio)
	if slices.ContainsFunc(s.Apps, func(r bench.Row) bool { return few(r.Cells[i]) }) {
		text += fewMark
	}
	return text
}

func ratiosTable(s *bench.Summary) benchTable {
	t := benchTable{
		Title: "How many times as fast " + s.Against + " is",
		About: "Median of the paired ratios with its 95% bootstrap interval; above 1 " + s.Against +
			" is faster. The noise floor is the first build raced, against itself in the same rounds. ? marks a comparison in which median and fastest laps tell different winners.",
		Header: header(s, "application", "noise floor", "rounds"),
	}
	// Against itself everything is 1.
	base := 0
	for i, m := range s.Methods {
		if m == s.Against {
			base = i
		}
	}
	drop := func(cells []string) []string { return append(cells[:base+1:base+1], cells[base+2:]...) }
	t.Header = drop(t.Header)
	if slices.ContainsFunc(s.Apps, fewFloor) || anyCell(s, func(c bench.Cell) bool { return few(c) && c.Method != s.Against }) {
		t.About += " " + fewNote
	}
	for _, r := range s.Apps {
		row := []string{appName(r)}
		for _, c := range r.Cells {
			text := ratio(c.Ratio)
			if c.Ratio == nil {
				text = short(c)
				if c.Seconds > 0 {
					text = "-"
				}
			}
			if few(c) {
				text += fewMark
			}
			if c.Inconclusive {
				text += "?"
			}
			row = append(row, text)
		}
		floor := "-"
		if r.Floor != nil {
			floor = r.Floor.Text(3)
		}
		if fewFloor(r) {
			floor += fewMark
		}
		rounds := fmt.Sprint(r.Rounds)
		if r.Thrown > 0 {
			rounds += fmt.Sprintf(" (%d disturbed)", r.Thrown)
		}
		t.Rows = append(t.Rows, drop(append(row, floor, rounds)))
	}
	row := []string{"geometric mean"}
	for i, m := range s.Means {
		text := meanRatio(s, i)
		if m.Ratio != nil {
			text += fmt.Sprintf(" of %d", m.Apps)
		}
		row = append(row, text)
	}
	floor := "-"
	if s.Floor.Ratio != nil {
		floor = s.Floor.Ratio.Text(3)
	}
	if slices.ContainsFunc(s.Apps, fewFloor) {
		floor += fewMark
	}
	t.Rows = append(t.Rows, drop(append(row, floor, fmt.Sprintf("%d of %d cover 1", s.Covered, s.Floor.Apps))))
	return t
}

func makingTable(s *bench.Summary) benchTable {
	t := benchTable{Title: "Making", About: "Time until the build was there, of all seeds together, and how many schedules were timed on the way.", Header: header(s, "application")}
	for _, r := range s.Apps {
		row := []string{appName(r)}
		for _, c := range r.Cells {
			text := "-"
			if c.Took > 0 {
				text = (time.Duration(c.Took * float64(time.Second))).Round(100 * time.Millisecond).String()
			}
			if c.Measured > 0 {
				text += fmt.Sprintf(", %d timed", c.Measured)
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func costsTable(s *bench.Summary) benchTable {
	t := benchTable{
		Title:  "The model's cost",
		About:  "The least cost that each came to, over the least of all; of schedules that Adams et al.'s space can say, in the model's opinion.",
		Header: header(s, "application"),
	}
	columns := make([][]float64, len(t.Header)-1)
	for _, r := range s.Apps {
		least := leastCost(r)
		row := []string{appName(r)}
		for i, c := range r.Cells {
			text := "-"
			if c.Cost > 0 && r.Parts == 1 {
				columns[i] = append(columns[i], c.Cost/least)
				text = fmt.Sprintf("%.3f", c.Cost/least)
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	means := []string{"geometric mean"}
	for _, c := range columns {
		text := "-"
		if len(c) > 0 {
			text = fmt.Sprintf("%.3f of %d", measure.GeometricMean(c), len(c))
		}
		means = append(means, text)
	}
	t.Rows = append(t.Rows, means)
	return t
}

func leastCost(r bench.Row) float64 {
	least := math.Inf(1)
	for _, c := range r.Cells {
		if c.Cost > 0 {
			least = min(least, c.Cost)
		}
	}
	return least
}

func rootsTable(s *bench.Summary) benchTable {
	t := benchTable{
		Title:  "Roots",
		About:  "Evaluations of the model per root, and the share of decisions that trees with greedy rollouts won.",
		Header: header(s, "application"),
	}
	for _, r := range s.Apps {
		row := []string{appName(r)}
		for _, c := range r.Cells {
			text := "-"
			if c.Roots > 0 {
				text = fmt.Sprintf("%d, %.0f%%", c.Evaluations/int64(c.Roots), 100*float64(c.Greedy)/float64(c.Roots))
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// facts are what a comparison was made under.
func facts(b *bench.Stored) [][2]string {
	m := b.Manifest
	o := m.Options
	peers := o.PeerTime
	if peers == 0 {
		peers = o.Budget
	}
	out := [][2]string{
		{"command", m.Command},
		{"began", b.Began.UTC().Format(time.RFC3339)},
		{"machine", fmt.Sprintf("%s, %s, %d threads", m.CPU, m.Host, o.Threads)},
		{"Halide", m.Halide},
		{"protuner", m.Program},
		{"budget", fmt.Sprintf("%v an application for what searches as long as it may; %v and %d MiB for what ends by itself", o.Budget, peers, o.PeerMemory>>20)},
		{"divided", dividedBy(o.Divide)},
		{"seeds", fmt.Sprintf("%d from %d for each method that draws at random; the fastest counts", o.Repeat, o.Seed)},
	}
	if !b.Ended.IsZero() {
		out = append(out, [2]string{"ended", b.Ended.UTC().Format(time.RFC3339)})
	}
	return out
}

func dividedBy(by float64) string {
	if by == 1 {
		return "times are as given"
	}
	return fmt.Sprintf("all times divided by %g, those for a root of ProTuner's configurations too", by)
}

// Bench writes a comparison for a terminal.
func Bench(w io.Writer, b *bench.Stored, s *bench.Summary) {
	for _, f := range facts(b) {
		fmt.Fprintf(w, "%-9s %s\n", f[0], f[1])
	}
	for _, t := range benchTables(s) {
		out := t.writer()
		style := table.StyleLight
		style.Format.Header = text.FormatDefault // names of methods are told apart by their capitals too
		out.SetStyle(style)
		fmt.Fprintf(w, "\n%s. %s\n%s\n", t.Title, t.About, out.Render())
	}
	for _, l := range lists(s) {
		fmt.Fprintf(w, "\n%s:\n", strings.ToLower(l.Title))
		for _, line := range l.Lines {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
}

// benchList is a list of sentences about a comparison.
type benchList struct {
	Title string
	Lines []string
}

// lists are what is missing and what is to be known of what is there, where there is any.
func lists(s *bench.Summary) (out []benchList) {
	missing, notes := benchList{Title: "Missing"}, benchList{Title: "Notes"}
	for _, m := range s.Missing {
		missing.Lines = append(missing.Lines, oneLine(m))
	}
	for _, r := range s.Apps {
		for _, c := range r.Cells {
			if c.Note != "" {
				notes.Lines = append(notes.Lines, oneLine(r.App+" by "+c.Method+": "+c.Note))
			}
		}
	}
	for _, l := range []benchList{missing, notes} {
		if len(l.Lines) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// oneLine cuts a text to what a list holds.
func oneLine(words string) string {
	return cut(strings.Join(strings.Fields(words), " "), 240)
}

// BenchMarkdown is the same for docs.
func BenchMarkdown(b *bench.Stored, s *bench.Summary) string {
	var o strings.Builder
	fmt.Fprintf(&o, "| | |\n|---|---|\n")
	for _, f := range facts(b) {
		fmt.Fprintf(&o, "| %s | %s |\n", f[0], strings.ReplaceAll(f[1], "|", "\\|"))
	}
	for _, t := range benchTables(s) {
		fmt.Fprintf(&o, "\n### %s\n\n%s\n\n%s\n", t.Title, t.About, t.writer().RenderMarkdown())
	}
	for _, l := range lists(s) {
		fmt.Fprintf(&o, "\n### %s\n\n", l.Title)
		for _, line := range l.Lines {
			fmt.Fprintf(&o, "- %s\n", line)
		}
	}
	return o.String()
}

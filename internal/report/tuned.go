// Package report turns results into what people read.
package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tune"
)

// Duration writes seconds in the unit a person would choose, three digits.
func Duration(seconds float64) string {
	if seconds <= 0 || math.IsNaN(seconds) {
		return "-"
	}
	us, ms, s := digits(seconds*1e6), digits(seconds*1e3), digits(seconds)
	switch {
	case us < 1000:
		return strconv.FormatFloat(us, 'f', -1, 64) + " us"
	case ms < 1000:
		return strconv.FormatFloat(ms, 'f', -1, 64) + " ms"
	}
	return strconv.FormatFloat(s, 'f', -1, 64) + " s"
}

// digits rounds to three of them, before a unit is chosen: 999.9 us are 1 ms.
func digits(x float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	return rounded
}

// verdict says in words what a comparison means, given what the machine's noise
// alone looks like.
func verdict(v measure.Verdict) string {
	switch {
	case v.Inconclusive:
		return "inconclusive: median and minima disagree"
	case v.Faster():
		return "faster"
	case v.Ratio.High < 1:
		return "slower"
	}
	return "no difference seen"
}

// remarks is the number of the column that may be long.
const remarks = 5

// raceTable has a row for the winner and one for each baseline.
func raceTable(r *tune.Report) table.Writer {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"schedule", "fastest", "protuner's speedup", "ratio of minima", ""})
	winner := ""
	if r.Kept {
		winner = "the Generator's own schedule as it stands"
	}
	t.AppendRow(table.Row{"protuner", Duration(r.Final), "", "", winner})
	for _, b := range r.Baselines {
		if b.Verdict == nil {
			t.AppendRow(table.Row{b.Name, "-", "-", "-", b.Failure})
			continue
		}
		t.AppendRow(table.Row{b.Name, Duration(b.Seconds), b.Verdict.Ratio.Text(3), fmt.Sprintf("%.3f", b.Verdict.Minima), noted(verdict(*b.Verdict), b.Note)})
	}
	if r.NoiseFloor != nil {
		who := "winner"
		if r.Kept {
			who = "search's best"
		}
		t.AppendRow(table.Row{"again", "", r.NoiseFloor.Text(3), "", "noise floor: the " + who + " against itself"})
	}
	return t
}

// noted adds what else there is to say, cut to what a table holds.
func noted(verdict, note string) string {
	if note == "" {
		return verdict
	}
	return verdict + "; " + cut(note, 100)
}

// cut leaves so many bytes at most of a text, and whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "..."
}

// summary says in one line what the search did.
func summary(r *tune.Report) string {
	rate := ""
	if r.Searched > 0 && r.Measured > 0 {
		rate = fmt.Sprintf(" (%.0f a minute)", float64(r.Measured)/r.Searched*60)
	}
	known := ""
	if r.Known > 0 {
		known = fmt.Sprintf(", %d known from earlier runs", r.Known)
	}
	return fmt.Sprintf("%d schedules measured in %s%s%s; failed: %s", r.Measured,
		(time.Duration(r.Searched * float64(time.Second))).Round(time.Second), rate, known, Failures(r.Failures))
}

// Failures lists how many failed in which way.
func Failures(f map[measure.Status]int) string {
	if len(f) == 0 {
		return "none"
	}
	var parts []string
	for _, s := range slices.Sorted(maps.Keys(f)) {
		parts = append(parts, fmt.Sprintf("%d %s", f[s], s))
	}
	return strings.Join(parts, ", ")
}

// seeds says what the search began with.
func seeds(r *tune.Report) string {
	var parts []string
	for _, s := range r.Seeds {
		switch {
		case s.Failure != "":
			parts = append(parts, fmt.Sprintf("not %s (%s)", s.Name, s.Failure))
		case s.AsItStands:
			parts = append(parts, s.Name+" (raced as it stands)")
		case s.Seconds > 0:
			parts = append(parts, s.Name+" "+Duration(s.Seconds))
		default:
			parts = append(parts, s.Name+" (no time)")
		}
	}
	if len(parts) == 0 {
		return "nobody's schedule"
	}
	return strings.Join(parts, ", ")
}

// wantRounds is what a claim rests on at least (docs/measuring.md).
const wantRounds = 10

// Tuned writes a finished run for a terminal.
func Tuned(w io.Writer, r *tune.Report) {
	if r.Seconds > 0 {
		fmt.Fprintf(w, "%s: %s\n", r.Generator, summary(r))
		fmt.Fprintf(w, "best: %s, found by %s, run %d of %s\n", Duration(r.Seconds), r.Origin, r.Run, r.DB)
		fmt.Fprintf(w, "it began with %s\n", seeds(r))
	} else {
		fmt.Fprintf(w, "%s: the model's best, found by %s: checked but not timed, %s predicted for the best of all\n",
			r.Generator, r.Origin, Duration(r.Predicted))
	}
	if r.Specialized != nil {
		fmt.Fprintf(w, "its version for exactly the estimated sizes is %s times as fast as the one for all others\n", r.Specialized.Text(3))
	}
	for _, line := range unraced(r) {
		fmt.Fprintln(w, line)
	}
	if r.NoiseFloor != nil {
		t := raceTable(r)
		t.SetStyle(table.StyleLight)
		t.SetColumnConfigs([]table.ColumnConfig{{Number: remarks, WidthMax: 46, WidthMaxEnforcer: text.WrapSoft}})
		fmt.Fprintf(w, "\nFinal race: ahead-of-time builds in fresh processes, %d interleaved rounds (%d thrown away as disturbed),\n"+
			"median of paired ratios with its 95%% interval\n%s\n", r.Rounds, r.Thrown, t.Render())
		if r.Rounds < wantRounds {
			fmt.Fprintf(w, "Fewer than %d rounds counted: the machine was disturbed or the pipeline is slow. Take this as a hint.\n", wantRounds)
		}
	}
	if r.Out != "" {
		fmt.Fprintf(w, "\nfiles:\n")
		for _, f := range r.Files {
			fmt.Fprintf(w, "  %s\n", f)
		}
	}
}

// unraced says how fast the winner is, and why it was not raced; nothing where it was.
func unraced(r *tune.Report) (lines []string) {
	if r.Final == 0 || r.NoiseFloor != nil {
		return nil
	}
	lines = append(lines, "built ahead of time and checked in a fresh process: "+Duration(r.Final))
	for _, b := range r.Baselines {
		lines = append(lines, fmt.Sprintf("not raced: %s: %s", b.Name, oneLine(b.Failure)))
	}
	return lines
}

// Markdown is the report that is written beside the winner's files.
func Markdown(r *tune.Report) string {
	var o strings.Builder
	fmt.Fprintf(&o, "# %s\n\n%s.\n\n", r.Generator, summary(r))
	for _, line := range unraced(r) {
		fmt.Fprintf(&o, "%s\n\n", line)
	}
	if r.NoiseFloor != nil {
		fmt.Fprintf(&o, "Final race of ahead-of-time builds in fresh processes: %d interleaved rounds, %d thrown away as disturbed; "+
			"the median of the paired ratios with its 95%% bootstrap interval.\n\n%s\n\n", r.Rounds, r.Thrown, raceTable(r).RenderMarkdown())
	}
	fmt.Fprintf(&o, "| | |\n|---|---|\n")
	for _, row := range [][2]string{
		{"algorithm", r.Algorithm}, {"Halide", r.Halide}, {"target", r.Target}, {"machine", r.Host},
		{"threads", fmt.Sprint(r.Threads)}, {"search", fmt.Sprintf("%s, seed %d, %s", r.Search, r.Seed, time.Duration(r.Budget*float64(time.Second)))},
		{"began with", seeds(r)},
		{"started", r.Started.UTC().Format(time.RFC3339)}, {"run", fmt.Sprintf("%d of %s", r.Run, r.DB)}, {"schedule", r.Hash},
	} {
		fmt.Fprintf(&o, "| %s | %s |\n", row[0], strings.ReplaceAll(row[1], "|", "\\|"))
	}
	heading := "Schedule"
	if r.Kept {
		heading = "The search's best, which the Generator's own schedule beat"
	}
	fmt.Fprintf(&o, "\n## %s\n\n```\n%s```\n", heading, r.Schedule)
	return o.String()
}

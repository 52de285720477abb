package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/protuner/protuner/internal/bench"
)

// BenchComparison writes two runs side by side.
func BenchComparison(w io.Writer, c *bench.Comparison) {
	fmt.Fprintf(w, "A %s\nB %s\n", c.A, c.B)
	for _, n := range c.Notes {
		fmt.Fprintf(w, "%s\n", n)
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"application", "method", "A", "B", "B's speedup", "p", ""})
	for _, p := range c.Pairs {
		app := appName(bench.Row{App: p.App, Parts: p.Parts})
		t.AppendRow(table.Row{app, p.Method, Duration(p.A), Duration(p.B), ratio(&p.Ratio), fmt.Sprintf("%.2g", p.Adjusted), said(p)})
	}
	fmt.Fprintf(w, "\nMedian laps, their ratio with its 95%% bootstrap interval, and Mann and Whitney's p for all of them together (Holm).\n%s\n\n", t.Render())
	for _, m := range c.Means {
		if m.Ratio != nil {
			fmt.Fprintf(w, "%s: B is %s times as fast in geometric mean of %d\n", m.Method, ratio(m.Ratio), m.Apps)
		}
	}
	if c.Drift.Ratio != nil {
		fmt.Fprintln(w, drift(c))
	}
	if len(c.Missing) > 0 {
		fmt.Fprintf(w, "\nmissing:\n")
		for _, m := range c.Missing {
			fmt.Fprintf(w, "  %s\n", oneLine(m))
		}
	}
}

// drift says what else than the schedules may be in the ratios.
func drift(c *bench.Comparison) string {
	line := fmt.Sprintf("drift: where both have the same schedule B is %s times as fast in geometric mean of %d, which is what the machine ",
		ratio(c.Drift.Ratio), c.Drift.Apps)
	if len(c.DriftOf) > 0 {
		line += "changed together with " + strings.Join(c.DriftOf, ", ")
	} else {
		line += "alone changed"
	}
	if c.Drift.Ratio.Low > 1 || c.Drift.Ratio.High < 1 {
		line += "; its interval excludes 1, so a difference within it need not be the schedule's"
	}
	return line
}

func said(p bench.Pair) string {
	same, by := "", ""
	if p.Same {
		same = ", the same schedule"
	}
	if p.WithinDrift {
		by = ", within the drift"
	}
	switch {
	case !p.Significant():
		return "no difference seen" + same
	case p.Ratio.Value > 1:
		return "faster" + by + same
	}
	return "slower" + by + same
}

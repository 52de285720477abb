package report

import (
	"fmt"
	"io"

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
	t.AppendHeader(table.Row{"application", "method", "A", "B", "B is faster by", "p", ""})
	for _, p := range c.Pairs {
		t.AppendRow(table.Row{p.Part, p.Method, Duration(p.A), Duration(p.B), ratio(&p.Ratio), fmt.Sprintf("%.2g", p.Adjusted), said(p)})
	}
	fmt.Fprintf(w, "\nMedian laps, their ratio with its 95%% bootstrap interval, and Mann and Whitney's p for all of them together (Holm).\n%s\n\n", t.Render())
	for _, m := range c.Means {
		if m.Ratio != nil {
			fmt.Fprintf(w, "%s: B is faster by %s in geometric mean of %d\n", m.Method, ratio(m.Ratio), m.Apps)
		}
	}
	if c.Drift.Ratio != nil {
		fmt.Fprintf(w, "the same schedules in both: %s in geometric mean of %d, which is what the machine alone changed\n", ratio(c.Drift.Ratio), c.Drift.Apps)
	}
}

func said(p bench.Pair) string {
	same := ""
	if p.Same {
		same = ", the same schedule"
	}
	switch {
	case !p.Significant():
		return "no difference seen" + same
	case p.Ratio.Value > 1:
		return "faster" + same
	}
	return "slower" + same
}

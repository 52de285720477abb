package report

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/protuner/protuner/internal/tunedb"
)

// Runs lists runs with the best schedule of each one's workload and the number
// measured, which best tells by the workload's key.
func Runs(w io.Writer, runs []tunedb.Run, best func(key string) (*tunedb.Measurement, int, error)) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"run", "generator", "algorithm", "Halide", "started", "state", "measured", "fastest"})
	for _, r := range runs {
		fastest, n, err := best(r.Key)
		if err != nil {
			return err
		}
		time, state := "-", "ended"
		if fastest != nil {
			time = Duration(fastest.Best.Seconds())
		}
		switch {
		case r.Ended.IsZero() && r.Report != nil:
			state = "stopped"
		case r.Ended.IsZero():
			state = "not finished"
		}
		t.AppendRow(table.Row{r.ID, r.Workload.Generator, r.Workload.Algorithm, r.Workload.Halide, r.Started.Local().Format("2006-01-02 15:04"), state, n, time})
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

// Fastest lists schedules with their times and texts.
func Fastest(w io.Writer, top []tunedb.Measurement) {
	for i, m := range top {
		fmt.Fprintf(w, "%d. %s, schedule %s, by %s\n", i+1, Duration(m.Best.Seconds()), m.Hash, m.Origin)
	}
	if len(top) > 0 {
		fmt.Fprintf(w, "\nthe fastest:\n%s", top[0].Text)
	}
}

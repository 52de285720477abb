package report

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/protuner/protuner/internal/tunedb"
)

// ListedRun is a run with what the database has of its workload.
type ListedRun struct {
	tunedb.Run
	State    string  `json:"state"`                     // ended, stopped (what it had then was handed out) or not finished
	Measured int     `json:"measured"`                  // schedules, by all runs of the workload
	Fastest  float64 `json:"fastest_seconds,omitempty"` // of these; 0 where none works
}

// Listed is a run of whose workload nothing is said yet.
func Listed(r tunedb.Run) ListedRun {
	out := ListedRun{Run: r, State: "ended"}
	switch {
	case r.Ended.IsZero() && r.Report != nil:
		out.State = "stopped"
	case r.Ended.IsZero():
		out.State = "not finished"
	}
	return out
}

// Runs lists runs for people.
func Runs(w io.Writer, runs []ListedRun) error {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"run", "generator", "algorithm", "Halide", "started", "state", "measured", "fastest"})
	for _, r := range runs {
		time := "-"
		if r.Fastest > 0 {
			time = Duration(r.Fastest)
		}
		t.AppendRow(table.Row{r.ID, r.Workload.Generator, r.Workload.Algorithm, r.Workload.Halide, r.Started.Local().Format("2006-01-02 15:04"), r.State, r.Measured, time})
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

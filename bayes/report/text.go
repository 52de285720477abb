package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/protuner/protuner/bayes"
)

// mostFailures and mostHistory bound the lists of the summary; the newest
// improvements are kept.
const (
	mostFailures = 5
	mostHistory  = 12
)

var stops = map[bayes.Stop]string{
	bayes.Spent:       "all trials are made",
	bayes.Exhausted:   "every configuration has been tried",
	bayes.Expired:     "the time is spent",
	bayes.Interrupted: "interrupted",
	bayes.Failed:      "ended by an error",
}

// Summary writes a Result for people.
func Summary(w io.Writer, r *Result) {
	fmt.Fprintf(w, "%s after %d trials%s: %s\n", stops[r.Stop], r.Finished(), earlier(r.Earlier), Statuses(r.Statuses))
	if r.Best != nil {
		fmt.Fprintf(w, "\nbest: %s%s, trial %d\n", objective(r.Objective), number(r.Best.Outcome.Value), r.Best.ID)
		for _, p := range r.Best.Config.Space().Params() {
			fmt.Fprintf(w, "  %s = %s\n", p.Name, r.Best.Config.Text(p.Name))
		}
		if len(r.Command) > 0 {
			fmt.Fprintf(w, "again: %s\n", quoted(r.Command))
		}
	}
	if len(r.History) > 0 {
		fmt.Fprintf(w, "\nhow it got there:\n%s\n", historyTable(r).Render())
	}
	if len(r.Importance) > 0 {
		fmt.Fprintln(w, "\nhow much each parameter matters (part of the variance, by the model):")
		for _, i := range r.Importance {
			fmt.Fprintf(w, "  %5.1f%%  %s\n", 100*i.Effect, i.Name)
		}
	}
	if len(r.Failures) > 0 {
		fmt.Fprintln(w, "\nfailures:")
		for _, f := range r.Failures[:min(len(r.Failures), mostFailures)] {
			fmt.Fprintf(w, "  %d x %s, first trial %d: %s\n", f.Count, f.Status, f.First, f.Message)
		}
		if more := len(r.Failures) - mostFailures; more > 0 {
			fmt.Fprintf(w, "  and %d other kinds\n", more)
		}
	}
}

func earlier(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of them earlier)", n)
}

func objective(name string) string {
	if name == "" {
		return ""
	}
	return name + " "
}

// Statuses lists how trials ended, in words.
func Statuses(n map[string]int) string {
	var out []string
	for _, s := range []bayes.Status{bayes.OK, bayes.Infeasible, bayes.Crashed, bayes.TimedOut, bayes.Lost, bayes.Pending} {
		if k := n[s.String()]; k > 0 {
			out = append(out, fmt.Sprintf("%d %s", k, s))
		}
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}

func historyTable(r *Result) table.Writer {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"trial", "value", "of the first", "proposed by"})
	first := r.History[0].Outcome.Value
	for i, h := range r.History {
		if i > 0 && i < len(r.History)-mostHistory {
			continue
		}
		part := ""
		if first != 0 {
			part = fmt.Sprintf("%.3f", h.Outcome.Value/first)
		}
		t.AppendRow(table.Row{h.ID, number(h.Outcome.Value), part, h.Origin})
	}
	return t
}

func number(v float64) string { return fmt.Sprintf("%.6g", v) }

// quoted writes a command so that a shell reads it as it is.
func quoted(args []string) string {
	out := slices.Clone(args)
	for i, a := range out {
		if a == "" || strings.ContainsAny(a, " \t\n\"'`$\\|&;<>()*?[]#~{}!") {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/measure"
)

// number in CSV: all digits that a double has; empty for 0, which stands for nothing.
func number(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func bounds(i *measure.Interval) []string {
	if i == nil {
		return []string{"", "", ""}
	}
	return []string{number(i.Value), number(i.Low), number(i.High)}
}

// BenchCSV writes a row for each application and method, then one for each method's geometric
// mean and one for the noise floor's.
func BenchCSV(w io.Writer, s *bench.Summary) error {
	out := csv.NewWriter(w)
	header := []string{"application", "parts", "method", "status", "seconds", "against", "ratio", "low", "high", "pairs", "minima", "inconclusive",
		"took_seconds", "cost_ms", "evaluations", "roots", "greedy_roots", "measured", "floor", "floor_low", "floor_high", "rounds", "thrown", "failed_seeds", "message"}
	rows := [][]string{header}
	for _, r := range s.Apps {
		for _, c := range r.Cells {
			row := []string{r.App, strconv.Itoa(r.Parts), c.Method, c.Status.String(), number(c.Seconds), s.Against}
			row = append(row, bounds(c.Ratio)...)
			row = append(row, strconv.Itoa(c.Pairs), number(c.Minima), strconv.FormatBool(c.Inconclusive), number(c.Took), number(c.Cost),
				strconv.FormatInt(c.Evaluations, 10), strconv.Itoa(c.Roots), strconv.Itoa(c.Greedy), strconv.Itoa(c.Measured))
			row = append(row, bounds(r.Floor)...)
			rows = append(rows, append(row, strconv.Itoa(r.Rounds), strconv.Itoa(r.Thrown), strconv.Itoa(c.Failed), joinNotes(c)))
		}
	}
	mean := func(m bench.Mean, column string) {
		if m.Ratio == nil {
			return
		}
		row := make([]string, len(header))
		set := func(first string, cells ...string) { copy(row[slices.Index(header, first):], cells) }
		set("application", fmt.Sprintf("geometric mean of %d", m.Apps))
		set("method", m.Method)
		set("against", s.Against)
		set(column, bounds(m.Ratio)...)
		rows = append(rows, row)
	}
	for _, m := range s.Means {
		mean(m, "ratio")
	}
	mean(s.Floor, "floor")
	return out.WriteAll(rows)
}

func joinNotes(c bench.Cell) string {
	if c.Message != "" {
		return oneLine(c.Message)
	}
	return oneLine(c.Note)
}

// LapsCSV writes every lap of every race, fewer of those that left one early; the
// sentinel's are those of the method "sentinel". Rounds that count and rounds that were
// disturbed are numbered apart.
func LapsCSV(w io.Writer, b *bench.Stored) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"application", "part", "method", "repeat", "disturbed", "round", "seconds"}}
	for _, r := range b.Races {
		put := func(method, repeat string, disturbed bool, laps []time.Duration) {
			for k, d := range laps {
				if d > 0 {
					rows = append(rows, []string{r.App, r.Part, method, repeat, strconv.FormatBool(disturbed), strconv.Itoa(k + 1), number(d.Seconds())})
				}
			}
		}
		for _, l := range r.Lanes {
			put(l.Method, strconv.Itoa(l.Repeat), false, l.Laps)
			put(l.Method, strconv.Itoa(l.Repeat), true, l.Disturbed)
		}
		put("sentinel", "", false, r.Sentinel)
		put("sentinel", "", true, r.Disturbed)
	}
	return out.WriteAll(rows)
}

// benchJSON is the form for scripts.
type benchJSON struct {
	Manifest bench.Manifest `json:"manifest"`
	Ended    bool           `json:"ended"`
	Summary  *bench.Summary `json:"summary"`
}

// BenchJSON writes manifest and summary.
func BenchJSON(w io.Writer, b *bench.Stored, s *bench.Summary) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(benchJSON{b.Manifest, !b.Ended.IsZero(), s})
}

// WriteBench puts everything into a folder: report.txt, .md, .csv, .json and .html,
// laps.csv, and each plot as .svg and .png. It returns the files.
func WriteBench(dir string, b *bench.Stored, s *bench.Summary) (files []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	write := func(name string, f func(io.Writer) error) error {
		path := filepath.Join(dir, name)
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := f(file); err != nil {
			file.Close()
			return err
		}
		files = append(files, path)
		return file.Close()
	}
	plots := benchPlots(s)
	for _, w := range []struct {
		name string
		f    func(io.Writer) error
	}{
		{"report.txt", func(w io.Writer) error { Bench(w, b, s); return nil }},
		{"report.md", func(w io.Writer) error { _, err := io.WriteString(w, BenchMarkdown(b, s)); return err }},
		{"report.csv", func(w io.Writer) error { return BenchCSV(w, s) }},
		{"laps.csv", func(w io.Writer) error { return LapsCSV(w, b) }},
		{"report.json", func(w io.Writer) error { return BenchJSON(w, b, s) }},
		{"report.html", func(w io.Writer) error { return BenchPage(w, b, s, plots) }},
	} {
		if err := write(w.name, w.f); err != nil {
			return nil, err
		}
	}
	for _, p := range plots {
		for _, format := range []string{"svg", "png"} {
			if err := write(p.Name+"."+format, func(w io.Writer) error { return p.draw(w, format) }); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

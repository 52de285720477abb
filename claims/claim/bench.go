package claim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/report"
)

// Bench runs a comparison in a folder, or goes on with the one that is there, writes
// its tables and plots beside it and prints them. The summary is against the first of the
// methods that options name; the folder's run may have others besides, also before it. An
// empty folder stands for one that is removed afterwards.
func Bench(ctx context.Context, o bench.Options, profile, dir string) (*bench.Stored, *bench.Summary) {
	o.Out = dir
	if dir == "" {
		o.Out = TempDir()
	}
	_, unknown := o.Known()
	Fail(errors.Join(unknown...)) // before hours are spent on the rest
	Fail(bench.Run(ctx, o, profile, "go run ./claims/"+strings.Join(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...), " "), report.BenchEvents(os.Stderr)))
	b, err := bench.Load(ctx, o.Out)
	Fail(err)
	s, err := b.Summarise(o.Methods[0])
	Fail(err)
	_, err = report.WriteBench(o.Out, b, s)
	Fail(err)
	report.Bench(os.Stdout, b, s)
	fmt.Println()
	return b, s
}

// Column is what a comparison says of one of its methods.
type Column struct {
	bench.Mean
	Cells []bench.Cell // by application, as the summary has them
	// Untimed are the applications that it has no time on, each with the reason.
	Untimed []string
}

// Method finds a method's column by its name, which is the only way to it: a folder's run
// may have more methods than a claim names, in another order. Where there is none of that
// name the claim ends.
func Method(s *bench.Summary, name string) Column {
	at := slices.Index(s.Methods, name)
	if at < 0 {
		Fail(fmt.Errorf("the run has no method %s; it has %s", name, strings.Join(s.Methods, ", ")))
	}
	c := Column{Mean: s.Means[at]}
	for _, r := range s.Apps {
		cell := r.Cells[at]
		c.Cells = append(c.Cells, cell)
		if cell.Seconds == 0 {
			c.Untimed = append(c.Untimed, strings.TrimSpace(fmt.Sprintf("%s: %s %s", r.App, cell.Status, cell.Message)))
		}
	}
	return c
}

// SayUntimed prints the applications that a method has no time on.
func (c Column) SayUntimed() {
	for _, why := range c.Untimed {
		fmt.Printf("no time by %s on %s\n", c.Method, why)
	}
}

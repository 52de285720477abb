package claim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/report"
)

// Bench runs a comparison in a folder, or goes on with the one that is there, writes
// its tables and plots beside it and prints them. An empty folder stands for one that is
// removed afterwards.
func Bench(ctx context.Context, o bench.Options, profile, dir string) (*bench.Stored, *bench.Summary) {
	o.Out = dir
	if dir == "" {
		o.Out = TempDir()
	}
	Fail(bench.Run(ctx, o, profile, "go run ./claims/"+strings.Join(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...), " "), report.BenchEvents(os.Stderr)))
	b, err := bench.Load(ctx, o.Out)
	Fail(err)
	s, err := b.Summarise("")
	Fail(err)
	_, err = report.WriteBench(o.Out, b, s)
	Fail(err)
	report.Bench(os.Stdout, b, s)
	fmt.Println()
	return b, s
}

package claim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

// Kept is an app's database in a folder that is kept, DIR/RUN/APP.db. RUN names what tells
// one way of tuning from another, which the database's key does not: in one file a search
// from nothing would know what one with seeds has measured.
func Kept(dir, app string, o tune.Options) string {
	seeds := "none"
	if len(o.Seeds) > 0 {
		seeds = strings.Join(o.Seeds, "+")
	}
	run := []string{o.Search, o.Budget.String(), fmt.Sprint("seed", o.Seed), seeds}
	for _, x := range []struct {
		on   bool
		name string
	}{{o.Judge, "judge"}, {o.Restructure, "restructure"}, {o.Specialize, "specialize"}, {o.Polish, "polish"}} {
		if !x.on {
			run = append(run, "no", x.name)
		}
	}
	return filepath.Join(dir, strings.Join(run, "-"), app+".db")
}

// Tuned tunes, or gives what the run found that ended in the options' database. What a run
// that was stopped has left there is removed: the one that went on from it would have had
// more than its budget.
func Tuned(ctx context.Context, o tune.Options) *tune.Report {
	r, err := ended(ctx, o)
	Fail(err)
	if r != nil {
		fmt.Printf("%s: what was found on %s, as it is in %s\n", r.Generator, r.Started.Format(time.DateOnly), o.DB)
		return r
	}
	for _, ending := range []string{"", "-wal", "-shm"} {
		Fail(os.RemoveAll(o.DB + ending))
	}
	r, err = tune.Run(ctx, o, tune.Events{}, nil)
	Fail(err)
	return r
}

// ended is the report of the last run in the options' database, nil where there is none
// that ended; the error names the file of one that was of something else.
func ended(ctx context.Context, o tune.Options) (*tune.Report, error) {
	if _, err := os.Stat(o.DB); err != nil {
		return nil, nil
	}
	db, err := tunedb.Open(ctx, o.DB)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	runs, err := db.Runs(ctx, "")
	if err != nil || len(runs) == 0 || runs[0].Ended.IsZero() {
		return nil, err
	}
	r, err := tune.Reported(runs[0])
	if r == nil {
		return nil, err
	}
	g, err := bridge.Open(ctx, o.Generator)
	if err != nil {
		return nil, err
	}
	p, err := g.Describe(ctx)
	if err != nil {
		return nil, err
	}
	had := []any{r.Algorithm, r.Halide, r.Host, r.Threads}
	now := []any{p.Algorithm, g.Toolchain.Halide.Version, tune.HostName(), o.Threads}
	for _, b := range r.Baselines {
		had = append(had, b.Name)
	}
	for _, b := range o.Baselines {
		now = append(now, b)
	}
	if !slices.Equal(had, now) {
		return nil, fmt.Errorf("%s holds a run of %v, and this is one of %v; name another folder", o.DB, had, now)
	}
	return r, nil
}

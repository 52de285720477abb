// Claim: `bench run --profile quick`, the whole suite with four methods, ends within 60
// minutes on two cores, with ours and the hand-written schedule raced on every application
// and everything that is missing named. -dir keeps the run: one that is finished there is
// only looked at.
package main

import (
	"flag"
	"runtime"
	"slices"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bench"
)

const (
	most  = time.Hour
	cores = 2 // at most, for it to be shown
)

func main() {
	dir := flag.String("dir", "", "folder to keep the run in")
	flag.Parse()
	p, err := bench.FindProfile("quick")
	claim.Fail(err)
	o := bench.Defaults()
	p.Set(&o)
	b, s := claim.Bench(claim.Context(), o, p.Name, *dir)
	ours, expert := claim.Method(s, "protuner"), claim.Method(s, "expert")
	raced := 0
	for i, r := range s.Apps {
		if slices.Contains(bench.Suite, r.App) && ours.Cells[i].Seconds > 0 && expert.Cells[i].Seconds > 0 {
			raced++
		}
	}
	took := b.Ended.Sub(b.Began)
	claim.SayOf(runtime.NumCPU() <= cores, took <= most && raced == len(bench.Suite), "%d of %d applications raced with %d methods, protuner and expert on each, in %.1f minutes (bar 60)",
		raced, len(bench.Suite), len(s.Methods), took.Minutes())
}

// Claim: `bench run --profile quick`, the whole suite with four methods, ends within 60
// minutes on two cores, with every application raced and everything that is missing
// named. -dir keeps the run: one that is finished there is only looked at.
package main

import (
	"flag"
	"slices"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bench"
)

const most = time.Hour

func main() {
	dir := flag.String("dir", "", "folder to keep the run in")
	flag.Parse()
	p, err := bench.FindProfile("quick")
	claim.Fail(err)
	o := bench.Defaults()
	p.Set(&o)
	b, s := claim.Bench(claim.Context(), o, p.Name, *dir)
	raced := 0
	for _, r := range s.Apps {
		if slices.ContainsFunc(r.Cells, func(c bench.Cell) bool { return c.Seconds > 0 }) {
			raced++
		}
	}
	took := b.Ended.Sub(b.Began)
	claim.Say(took <= most && raced == len(bench.Suite), "%d of %d applications with %d methods raced in %.1f minutes (bar 60)",
		raced, len(bench.Suite), len(s.Methods), took.Minutes())
}

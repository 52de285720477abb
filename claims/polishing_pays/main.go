// Claim: polishing pays: over apps, what `tune` finds where the numbers of the fastest schedule
// are optimised late in the budget (docs/evolve.md, "Polish") is faster in geometric mean than
// what evolution alone finds in the same time from nothing, by ahead-of-time builds raced in
// fresh processes. Two searches of one app differ by more than polishing brings on most, so
// that nothing is said of a single one.
//
//	go run ./claims/polishing_pays [-budget 45s] [-seed 1] [-db DIR] [APP ...]
//
// -db keeps the databases, DIR/RUN/APP.db, RUN being how it was searched, and takes from them
// what searches found that ended.
package main

import (
	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/tune"
)

func main() {
	claim.Pays("with its numbers polished", 0, func(o *tune.Options, with bool) { o.Polish = with })
}

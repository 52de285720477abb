// Claim: versions for exactly the estimated sizes pay: over apps, what `tune` finds with them
// is faster in geometric mean than what it finds without, in the same time from nothing, by
// ahead-of-time builds raced in fresh processes, and on none below 0.97 times as fast.
//
//	go run ./claims/specializing_pays [-budget 45s] [-seed 1] [-db DIR] [APP ...]
//
// -db keeps the databases, DIR/RUN/APP.db, RUN being how it was searched, and takes from them
// what searches found that ended.
package main

import (
	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/tune"
)

func main() {
	claim.Pays("with versions for the estimated sizes", 0.97, func(o *tune.Options, with bool) { o.Specialize = with })
}

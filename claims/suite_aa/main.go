// Claim: over the suite of 16 the same schedule entered twice as two methods, built
// twice and raced side by side as any two methods are, differs by less than 2% in
// geometric mean, and its intervals cover 1.0 on at least 15 of 16 applications. -dir
// keeps the run, which then goes on where it was stopped.
package main

import (
	"flag"
	"fmt"
	"math"
	"strings"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bench"
)

// fewest of resnet50's layers stand for it: 20 of its 53 convolutions.
const fewest = 4

func main() {
	apps := flag.String("apps", "all", "applications")
	dir := flag.String("dir", "", "folder to keep the run in")
	layers := flag.Int("layers", fewest, "layers of resnet50, those that occur most often; 0 for all")
	flag.Parse()
	o := bench.Defaults()
	o.Apps, o.Methods, o.Layers = strings.Split(*apps, ","), []string{"expert", "expert"}, *layers
	_, s := claim.Bench(claim.Context(), o, "", *dir)
	again := claim.Method(s, "expert#2")
	covered := 0
	for _, c := range again.Cells {
		if ratio := c.Ratio; ratio != nil && ratio.Low <= 1 && ratio.High >= 1 {
			covered++
		}
	}
	mean, raced := again.Ratio, again.Apps
	if mean == nil {
		claim.Fail(fmt.Errorf("no application was raced"))
	}
	off := math.Abs(mean.Value - 1)
	claim.SayOf(*apps == "all" && (*layers == 0 || *layers >= fewest), off < 0.02 && covered*16 >= raced*15 && raced == len(s.Apps),
		"the same schedule twice (expert) differs by %.2f%% in geometric mean over %d of %d applications (bar 2%%); intervals cover 1.0 on %d (bar 15 of 16)",
		100*off, raced, len(s.Apps), covered)
}

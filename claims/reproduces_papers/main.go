// Claim: one command each reproduces ProTuner's table 1 and figures 4, 5, 7, 8 and 9
// and Adams et al.'s figure 8 and ablations, with all times divided by one factor of at
// most ten: every application has a time, or a cost where that is the figure, by every
// method, or the reason why it has none; raw laps and seeds are stored. -dir keeps the
// runs, a folder each; they go on where they were stopped. It takes days on two cores:
// -profiles and -apps do it in pieces, and what has not been run is said.
package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bench"
)

var all = []string{"table1", "fig4", "fig5", "fig7", "fig8", "fig9", "adams8", "adams-ablations"}

// sameRun are profiles that are one comparison, of which each shows something else.
var sameRun = map[string]string{"fig5": "fig4", "fig7": "fig8", "table1": "fig8"}

func main() {
	names := flag.String("profiles", strings.Join(all, ","), "profiles")
	apps := flag.String("apps", "", "applications; each profile's own where none are named")
	dir := flag.String("dir", "", "folder to keep the runs in")
	flag.Parse()
	ctx := claim.Context()
	cells, timed, said := 0, 0, 0
	for _, name := range strings.Split(*names, ",") {
		p, err := bench.FindProfile(name)
		claim.Fail(err)
		o := bench.Defaults()
		p.Set(&o)
		if *apps != "" {
			o.Apps = strings.Split(*apps, ",")
		}
		folder := name
		if same := sameRun[name]; same != "" {
			folder = same
		}
		into := ""
		if *dir != "" {
			into = filepath.Join(*dir, folder)
		}
		fmt.Printf("%s: all times divided by %g\n", name, o.Divide)
		_, s := claim.Bench(ctx, o, name, into)
		for _, r := range s.Apps {
			for _, c := range r.Cells {
				cells++
				if c.Seconds > 0 {
					timed++
				} else if c.Message != "" {
					said++
				}
			}
		}
	}
	claim.Say(timed+said == cells && strings.Count(*names, ",")+1 >= len(all) && *apps == "",
		"profiles %s: %d of %d entries have a time, %d a reason why not, %d neither; all times divided by 10", *names, timed, cells, said, cells-timed-said)
}

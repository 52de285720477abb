// Claim: one command each reproduces ProTuner's table 1 and figures 4, 5, 7, 8 and 9
// and Adams et al.'s figure 8 and ablations, with all times divided by one factor of at
// most ten: every application has a time by every method, and what else the figure is about
// (the model's cost, decisions) by ours, or the reason why it has none, which a fault of
// the machine is not; every application has a time by one of them, and every method of ours
// one on some. Raw laps and seeds are stored. -dir keeps the runs, a folder each; they go
// on where they were stopped. It takes days on two cores:
// -profiles and -apps do it in pieces, and what has not been run is said; -layers leaves out
// the layers of resnet50 that are rare.
package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/measure"
)

var all = []string{"table1", "fig4", "fig5", "fig7", "fig8", "fig9", "adams8", "adams-ablations"}

// sameRun are profiles that are one comparison, of which each shows something else.
var sameRun = map[string]string{"fig5": "fig4", "fig7": "fig8", "table1": "fig8"}

func main() {
	names := flag.String("profiles", strings.Join(all, ","), "profiles")
	apps := flag.String("apps", "", "applications; each profile's own where none are named")
	layers := flag.Int("layers", 0, "of an application of layers only so many, those that occur most often; 0: all")
	dir := flag.String("dir", "", "folder to keep the runs in")
	flag.Parse()
	ctx := claim.Context()
	if *dir == "" {
		*dir = claim.TempDir()
	}
	var count tally
	named := strings.Split(*names, ",")
	for _, name := range named {
		p, err := bench.FindProfile(name)
		claim.Fail(err)
		o := bench.Defaults()
		p.Set(&o)
		if *apps != "" {
			o.Apps = strings.Split(*apps, ",")
		}
		o.Layers = *layers
		folder := name
		if same := sameRun[name]; same != "" {
			folder = same
		}
		fmt.Printf("%s: all times divided by %g\n", name, o.Divide)
		_, s := claim.Bench(ctx, o, name, filepath.Join(*dir, folder))
		count.profile(name, o.Methods, s)
	}
	for _, what := range count.wanting {
		fmt.Println(what)
	}
	claim.SayOf(*apps == "" && *layers == 0 && claim.Covers(named, all), len(count.wanting) == 0,
		"profiles %s: %d of %d entries have a time and what is shown besides (of %d of them a limit cut some seed, as their notes say), %d a reason why not, %d things are wanting; all times divided by 10",
		*names, count.shown, count.cells, count.cut, count.said, len(count.wanting))
}

// tally counts entries: those that have what their figure shows, and those that have a
// reason why not.
type tally struct {
	cells, shown, cut, said int
	wanting                 []string // in words
}

func (t *tally) profile(name string, methods []string, s *bench.Summary) {
	timed := make([]bool, len(s.Apps))
	for _, method := range methods {
		c := claim.Method(s, method)
		for i, cell := range c.Cells {
			t.cells++
			timed[i] = timed[i] || cell.Seconds > 0
			lacks := wants(name, s.Apps[i], cell)
			switch {
			case lacks == "":
				t.shown++
				if cell.Cut > 0 {
					t.cut++
				}
			case cell.Seconds == 0 && reason(cell):
				t.said++
			default:
				t.wanting = append(t.wanting, fmt.Sprintf("%s: %s by %s has no %s: %s %s", name, s.Apps[i].App, method, lacks, cell.Status, cell.Message))
			}
		}
		if ours(method) && len(c.Untimed) == len(c.Cells) {
			t.wanting = append(t.wanting, fmt.Sprintf("%s: %s has no time on any application", name, method))
		}
	}
	for i, r := range s.Apps {
		if !timed[i] {
			t.wanting = append(t.wanting, fmt.Sprintf("%s: %s has no time by any method", name, r.App))
		}
	}
}

// wants is what a profile's figure shows and a cell has not; empty where it has all. Figure 7
// leaves out resnet50, whose layers have no cost in common, and the model is not asked
// about all that is not found by it.
func wants(name string, r bench.Row, c bench.Cell) string {
	guided := strings.HasPrefix(c.Method, "protuner:")
	switch {
	case c.Seconds == 0:
		return "time"
	case (name == "fig7" || name == "table1") && guided && r.Parts == 1 && c.Cost == 0:
		return "cost"
	case name == "fig4" && guided && c.Roots == 0:
		return "decisions"
	}
	return ""
}

// reason says whether a cell tells why it has no time.
func reason(c bench.Cell) bool {
	return c.Status != measure.Invalid && c.Status != measure.InfraFailed && c.Message != ""
}

// ours are the methods of protuner's own.
func ours(method string) bool {
	return method == "random" || strings.HasPrefix(method, "protuner")
}

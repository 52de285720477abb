package space

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// testdata/nests holds decisions, replayed on golden descriptions, with the loop
// nest and the schedule they amount to. Commands:
//
//	replay pipeline=harris.h21 [cores=8] [adams] [inward]
//
// replays the decisions of the input, taking the nearest legal ones, and prints which
// Funcs were repaired, the nest, and the directives.
func TestNests(t *testing.T) {
	datadriven.RunTest(t, "testdata/nests", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd != "replay" {
			d.Fatalf(t, "unknown command %s", d.Cmd)
		}
		var name string
		cores := 8
		d.ScanArgs(t, "pipeline", &name)
		d.MaybeScanArgs(t, "cores", &cores)
		o := Defaults(cores)
		if d.HasArg("adams") {
			o = Adams(cores)
		}
		sp := newSpace(t, pipelinetest.Described(t, name), o)
		trace, err := sp.ParseTrace(d.Input)
		if err != nil {
			return fmt.Sprintln(err)
		}
		repair := Nearest
		if d.HasArg("inward") {
			repair = Inward
		}
		s, repaired, err := sp.Replay(trace, repair)
		if err != nil {
			return fmt.Sprintln(err)
		}
		var b strings.Builder
		for _, f := range repaired {
			fmt.Fprintf(&b, "repaired: %s\n", sp.nodes[f].Name)
		}
		b.WriteString(s.String())
		b.WriteString("\n")
		b.WriteString(s.Schedule().String())
		return b.String()
	})
}

// Claim: what protuner finds from nothing (--seeds none) in 5 minutes an application is
// at least 1.4 times as fast as what Adams2019's beam search with its defaults finds in
// as long, in geometric mean over those applications of the suite of 16 on which the
// beam ends; the others are listed. Ours has a time on every one of them. Over the
// hand-written schedules it is reported app by app. -dir keeps the run, which then goes on
// where it was stopped.
package main

import (
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bench"
)

const (
	want    = 1.4
	claimed = 5 * time.Minute // for an application
)

func main() {
	apps := flag.String("apps", "all", "applications")
	dir := flag.String("dir", "", "folder to keep the run in")
	budget := flag.Duration("budget", claimed, "of each method for an application")
	method := flag.String("method", "protuner", "ours")
	layers := flag.Int("layers", 0, "layers of resnet50; 0 for all")
	seed := flag.Int64("seed", 1, "of everything random")
	flag.Parse()
	o := bench.Defaults()
	o.Apps, o.Methods = strings.Split(*apps, ","), []string{*method, "adams2019:beam", "expert"}
	o.Budget, o.Layers, o.Seed = *budget, *layers, *seed
	_, s := claim.Bench(claim.Context(), o, "", *dir)
	ours, beam, expert := claim.Method(s, *method), claim.Method(s, "adams2019:beam"), claim.Method(s, "expert")
	ours.SayUntimed()
	beam.SayUntimed()
	if beam.Ratio == nil {
		claim.Fail(fmt.Errorf("there is no application on which both %s and Adams2019's beam have a time", *method))
	}
	text := ""
	if expert.Ratio != nil {
		text = fmt.Sprintf("; %.3fx the hand-written schedules on %d", expert.Ratio.Value, expert.Apps)
	}
	whole := *apps == "all" && *budget == claimed && *method == "protuner" && *layers == 0
	claim.SayOf(whole, beam.Ratio.Value >= want && len(ours.Untimed) == 0,
		"%s from nothing %.3fx [%.3f, %.3f] as fast as Adams2019's beam in geometric mean over %d of %d applications (bar %.1f), of which the beam has no time on %d and %s on %d (bar 0)%s",
		*method, beam.Ratio.Value, beam.Ratio.Low, beam.Ratio.High, beam.Apps, len(s.Apps), want, len(beam.Untimed), *method, len(ours.Untimed), text)
}

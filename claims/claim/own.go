package claim

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/report"
	"github.com/protuner/protuner/internal/tune"
)

// AgainstOwn tunes Generators, from nothing, in the budget that their options have, races
// each against its own schedule and the one that Adams2019's beam makes of it in a minute, and
// ends the claim: it holds where all were tuned and raced against their own and are faster in
// geometric mean. options makes those of one of the names.
func AgainstOwn(ctx context.Context, names []string, options func(name string) (tune.Options, error)) {
	var t against
	for _, name := range names {
		o, err := options(name)
		Fail(err)
		o.Seeds, o.Baselines = nil, []string{"own", "adams2019"}
		o.BaselineLimits.Time = time.Minute
		r, err := tune.Run(ctx, o, tune.Events{}, make(chan struct{}))
		if err != nil {
			Fail(ctx.Err())
			t.missing = append(t.missing, name)
			fmt.Printf("%s: %v\n", name, err)
			continue
		}
		report.Tuned(os.Stdout, r)
		t.take(name, r.Baselines[0], r.Baselines[1])
	}
	if len(t.own) == 0 {
		Fail(fmt.Errorf("none was raced against its own schedule; not tuned or not raced: %s", strings.Join(t.missing, ", ")))
	}
	fmt.Printf("\nhow many times as fast as its own schedule, and as Adams2019's beam where that ends:\n%s\n", strings.Join(t.lines, "\n"))
	Say(t.holds(), "%s", t.said())
}

// against is how the Generators that were tuned stand.
type against struct {
	own, beam      []float64
	missing, lines []string
	least          string // of those raced against their own schedules
}

// take adds what the races with its own schedule and with the beam's came to.
func (t *against) take(name string, own, beam tune.BaselineReport) {
	line := name
	for _, of := range []struct {
		tune.BaselineReport
		all *[]float64
	}{{own, &t.own}, {beam, &t.beam}} {
		if of.Verdict == nil {
			line += " -"
			continue
		}
		*of.all = append(*of.all, of.Verdict.Ratio.Value)
		line += " " + of.Verdict.Ratio.Text(2)
	}
	t.lines = append(t.lines, line)
	switch {
	case own.Verdict == nil:
		t.missing = append(t.missing, fmt.Sprintf("%s (its own schedule: %s)", name, own.Failure))
	case own.Verdict.Ratio.Value == slices.Min(t.own):
		t.least = name
	}
}

func (t *against) holds() bool { return len(t.missing) == 0 && measure.GeometricMean(t.own) > 1 }

func (t *against) said() string {
	said := fmt.Sprintf("%.2f times as fast as their own schedules in geometric mean of %d, the least %.2f (%s)",
		measure.GeometricMean(t.own), len(t.own), slices.Min(t.own), t.least)
	if len(t.beam) > 0 {
		said += fmt.Sprintf("; %.2f times as fast as the beam of %d", measure.GeometricMean(t.beam), len(t.beam))
	}
	if len(t.missing) > 0 {
		said += "; not tuned or not raced: " + strings.Join(t.missing, ", ")
	}
	return said
}

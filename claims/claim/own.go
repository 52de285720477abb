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
// ends the claim: it holds where all were tuned and are faster than their own in geometric
// mean. options makes those of one of the names.
func AgainstOwn(ctx context.Context, names []string, options func(name string) (tune.Options, error)) {
	var own, beam []float64
	var missing, lines []string
	least := ""
	for _, name := range names {
		o, err := options(name)
		Fail(err)
		o.Seeds, o.Baselines = nil, []string{"own", "adams2019"}
		o.BaselineLimits.Time = time.Minute
		r, err := tune.Run(ctx, o, tune.Events{}, make(chan struct{}))
		if err != nil {
			Fail(ctx.Err())
			missing = append(missing, name)
			fmt.Printf("%s: %v\n", name, err)
			continue
		}
		report.Tuned(os.Stdout, r)
		line := name
		for i, all := range []*[]float64{&own, &beam} {
			v := r.Baselines[i].Verdict
			if v == nil {
				line += " -"
				continue
			}
			*all = append(*all, v.Ratio.Value)
			line += fmt.Sprintf(" %.2f [%.2f, %.2f]", v.Ratio.Value, v.Ratio.Low, v.Ratio.High)
			if i == 0 && v.Ratio.Value == slices.Min(own) {
				least = name
			}
		}
		lines = append(lines, line)
	}
	if len(own) == 0 {
		Fail(fmt.Errorf("none was raced against its own schedule; not tuned: %s", strings.Join(missing, ", ")))
	}
	fmt.Printf("\nhow many times as fast as its own schedule, and as Adams2019's beam where that ends:\n%s\n", strings.Join(lines, "\n"))
	said := fmt.Sprintf("%.2f times as fast as their own schedules in geometric mean of %d, the least %.2f (%s)",
		measure.GeometricMean(own), len(own), slices.Min(own), least)
	if len(beam) > 0 {
		said += fmt.Sprintf("; %.2f times as fast as the beam of %d", measure.GeometricMean(beam), len(beam))
	}
	if len(missing) > 0 {
		said += "; not tuned: " + strings.Join(missing, ", ")
	}
	Say(len(missing) == 0 && measure.GeometricMean(own) > 1, "%s", said)
}

package cost_test

import (
	"math"
	"strings"
	"testing"

	"github.com/protuner/protuner/claims/oracle"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/space"
)

// TestSchedulesOfAdams2019 lets Adams2019 of a real Halide schedule Generators as
// TestSameAsAdams2019 does, and imports not the loop nests that it prints when told
// to but the .schedule.h files that it writes: one of the loop nests that these leave
// open has the features of the .featurization beside it. For other Generators than
// those of apps/ it only counts.
func TestSchedulesOfAdams2019(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a real Halide")
	}
	for _, version := range strings.Split(*oracleHalide, ",") {
		var y readings
		expected := 0
		for _, g := range oracleGenerators(t, "harris", "hist") {
			t.Run(version+"/"+g.String(), func(t *testing.T) {
				expected += *oracleSeeds + 1
				o, err := oracle.Open(t.Context(), g.File, g.Name, t.TempDir(), oracleOptions(version))
				if err != nil {
					t.Fatal(err)
				}
				for seed := range *oracleSeeds + 1 {
					y.add(t, o, seed)
				}
			})
		}
		t.Logf("Halide %s: %+v", version, y)
		if *oracleFiles == "" && y.First+y.Other != expected {
			t.Errorf("%d of %d schedules were made and read with their features", y.First+y.Other, expected)
		}
	}
}

// readings counts what became of schedules: not read; read with the right features,
// the first time or as another of the loop nests that they leave open; read with other
// features. Open are those of several loop nests.
type readings struct {
	Schedules, Unread, First, Other, None, Open int
}

func (y *readings) add(t *testing.T, o *oracle.Oracle, seed int) {
	s, err := o.Run(t.Context(), seed)
	if err != nil {
		t.Logf("seed %d: Adams2019: %v", seed, err)
		return
	}
	y.Schedules++
	all, err := o.Space.ImportReadings(s.Directives, 16)
	if err != nil {
		y.Unread++
		t.Logf("seed %d: %v", seed, err)
		return
	}
	if len(all) > 1 {
		y.Open++
	}
	for i, state := range all {
		switch {
		case !hasFeatures(o, state, s.Rows):
			continue
		case i == 0:
			y.First++
		default:
			y.Other++
		}
		return
	}
	y.None++
	t.Logf("seed %d: none of %d loop nests has the features", seed, len(all))
}

func hasFeatures(o *oracle.Oracle, s *space.State, rows []feature.Row) bool {
	got, err := feature.Rows(o.Pipeline, o.Features.Features(s, nil))
	if err != nil || len(got) != len(rows) {
		return false
	}
	for i := range rows {
		for k, v := range rows[i].Schedule {
			if math.Abs(float64(got[i].Schedule[k]-v)) > 1e-5*math.Abs(float64(v)) {
				return false
			}
		}
	}
	return true
}

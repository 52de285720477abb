package tune

import (
	"math/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/tunedb"
)

// What was found at another size is played again here; what cannot be read is left out.
func TestEarlierIsPlayedAgain(t *testing.T) {
	sp, err := space.New(pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	if err != nil {
		t.Fatal(err)
	}
	state := sp.Start()
	for rng := rand.New(rand.NewSource(1)); !state.Complete(); {
		a, _ := state.Sample(rng)
		state = state.Next(a)
	}
	db, err := tunedb.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	begin := func(param string) *tunedb.Recorder {
		r, err := db.Begin(t.Context(), tunedb.Workload{Generator: "harris", Params: []string{param}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for param, trace := range map[string]string{"n=1": sp.FormatTrace(state.Trace()), "n=2": "nobody compute root vector x\n", "n=3": ""} {
		m := tunedb.Measurement{Hash: param, Text: param, Trace: trace, Status: "ok", Samples: []time.Duration{1}, Best: 1, Taken: time.Now()}
		if err := begin(param).Record(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	tu := &tuner{spaces: []*space.Space{sp}, recorder: begin("n=4")}
	got, err := tu.remember(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := state.Schedule().Hash(); len(got) != 1 || got[0].Hash != want || got[0].Origin != "seed:earlier" {
		t.Errorf("got %+v, want %x alone", got, want)
	}
}

package tune

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tunedb"
)

// Report is what a run found; its JSON form is what `tune --json` prints and what
// the database keeps. Times are in seconds.
type Report struct {
	Run       int64     `json:"run"` // its number in the database
	DB        string    `json:"db"`
	Key       string    `json:"key"` // of the workload in the database
	Generator string    `json:"generator"`
	Algorithm string    `json:"algorithm"`
	Halide    string    `json:"halide"`
	Target    string    `json:"target"`
	Host      string    `json:"host"`
	Threads   int       `json:"threads"`
	Search    string    `json:"search"`
	Seed      int64     `json:"seed"`
	Budget    float64   `json:"budget"`
	Started   time.Time `json:"started"`

	Searched  float64                `json:"searched"`            // time spent searching
	Exhausted bool                   `json:"exhausted,omitempty"` // the search found no more to propose
	Measured  int                    `json:"measured"`            // schedules, by this run
	Known     int                    `json:"known"`               // schedules, by earlier runs under this key
	Failures  map[measure.Status]int `json:"failures"`

	Seeds []SeedReport `json:"seeds,omitempty"` // what the search began with; none: from nothing

	// The search's best, which is the winner but where Kept says otherwise.
	Hash     string  `json:"hash"`
	Schedule string  `json:"schedule"` // its text
	Origin   string  `json:"origin"`   // how the search came upon it
	Seconds  float64 `json:"seconds"`  // its best in the search; 0 where nothing was timed
	// Specialized is how many times as fast the winner's version for the estimated sizes
	// is; nil where it has none.
	Specialized *measure.Interval `json:"specialized,omitempty"`
	Predicted   float64           `json:"predicted,omitempty"` // what the model thought of its best, where it was asked
	Out         string            `json:"out,omitempty"`
	Files       []string          `json:"files,omitempty"`

	// The final race, of ahead-of-time builds in fresh processes. Without baselines there
	// is none, and Final is of a single lap.
	Kept       bool              `json:"kept,omitempty"`  // the Generator's own schedule won as it stands and is what is in Files
	Final      float64           `json:"final,omitempty"` // the winner's fastest lap
	NoiseFloor *measure.Interval `json:"noise_floor,omitempty"`
	Rounds     int               `json:"rounds,omitempty"`
	Thrown     int               `json:"thrown,omitempty"`
	Baselines  []BaselineReport  `json:"baselines,omitempty"`
}

// SeedReport is what became of another scheduler's schedule as a starting point.
type SeedReport struct {
	Name    string `json:"name"`
	Failure string `json:"failure,omitempty"` // why it is no starting point
	Nearest bool   `json:"nearest,omitempty"` // the space cannot say it; the search goes on from what is nearest
	// AsItStands marks an own schedule that directives cannot say: it is raced against
	// what was found and handed back where it leads.
	AsItStands bool    `json:"as_it_stands,omitempty"`
	Seconds    float64 `json:"seconds,omitempty"` // its best; 0 where it failed or was not measured in time
}

// BaselineReport is one baseline's part in the final race.
type BaselineReport struct {
	Name    string           `json:"name"`
	Made    float64          `json:"made"`              // how long its scheduler and build took
	Failure string           `json:"failure,omitempty"` // why there is no verdict
	Note    string           `json:"note,omitempty"`    // what is wrong with it besides
	Seconds float64          `json:"seconds,omitempty"` // fastest lap
	Verdict *measure.Verdict `json:"verdict,omitempty"` // how many times faster the winner is
}

// Reported is the report of a run that handed something out; nil of one that did not.
func Reported(run tunedb.Run) (*Report, error) {
	if run.Report == nil {
		return nil, nil
	}
	r := new(Report)
	if err := json.Unmarshal(run.Report, r); err != nil {
		return nil, fmt.Errorf("the report of run %d cannot be read: %w", run.ID, err)
	}
	return r, nil
}

func (r *Report) baseline(name string) *BaselineReport {
	for i := range r.Baselines {
		if r.Baselines[i].Name == name {
			return &r.Baselines[i]
		}
	}
	r.Baselines = append(r.Baselines, BaselineReport{Name: name})
	return &r.Baselines[len(r.Baselines)-1]
}

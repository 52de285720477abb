package bayes

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/protuner/protuner/bayes/gp"
	"github.com/protuner/protuner/bayes/space"
)

// Status says how an evaluation ended. The zero Status means that it has not.
type Status uint8

const (
	Pending    Status = iota
	OK                // it has a value
	Infeasible        // a hidden constraint refused the configuration
	Crashed           // the program under test, or its compiler, failed
	TimedOut          // it exceeded its time limit
	Lost              // the tools around it failed: nothing is learned from it
)

var statusNames = []string{"pending", "ok", "infeasible", "crashed", "timed-out", "lost"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", s)
}

// ParseStatus is the inverse of String.
func ParseStatus(s string) (Status, error) {
	if i := slices.Index(statusNames, s); i >= 0 {
		return Status(i), nil
	}
	return 0, fmt.Errorf("unknown status %q; there are %v", s, statusNames[1:])
}

// MarshalText writes the name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name.
func (s *Status) UnmarshalText(b []byte) (err error) {
	*s, err = ParseStatus(string(b))
	return err
}

// Failed reports whether the status is one the feasibility model learns from
// as a failure.
func (s Status) Failed() bool { return s == Infeasible || s == Crashed || s == TimedOut }

// Outcome is the result of an evaluation.
type Outcome struct {
	Status Status `json:"status"`
	// Value is the objective when Status is OK; finite.
	Value float64 `json:"value,omitempty"`
	// Deviation is the standard deviation of Value, where measuring gave one.
	Deviation float64 `json:"deviation,omitempty"`
	// Message says why it failed, for people.
	Message string `json:"message,omitempty"`
	// Elapsed is how long the evaluation took.
	Elapsed time.Duration `json:"elapsed_ns,omitempty"`
}

// Value is an OK outcome.
func Value(v float64) Outcome { return Outcome{Status: OK, Value: v} }

// Failure is an outcome without a value.
func Failure(s Status, message string) Outcome { return Outcome{Status: s, Message: message} }

func (o Outcome) validate() error {
	switch {
	case o.Status == Pending || int(o.Status) >= len(statusNames):
		return fmt.Errorf("an outcome cannot be %v", o.Status)
	case o.Status == OK && (math.IsNaN(o.Value) || math.IsInf(o.Value, 0)):
		return fmt.Errorf("the value is %v; a configuration without a finite result is told as a failure", o.Value)
	case !(o.Deviation >= 0) || math.IsInf(o.Deviation, 1) || o.Status != OK && o.Deviation != 0:
		return fmt.Errorf("the deviation of a %v outcome is %v; a value has a finite one of 0 or more, a failure none", o.Status, o.Deviation)
	case o.Status != OK && o.Value != 0:
		return fmt.Errorf("a %v outcome has no value, but %v was given", o.Status, o.Value)
	}
	return nil
}

// Trial is one configuration and, once told, its outcome.
type Trial struct {
	ID      int // from 1, in the order of asking
	Config  space.Config
	Origin  string // what proposed it: "start", "default", "initial", "import", "model", a technique
	Outcome Outcome
	note    note
}

// note is what a proposer must remember with a trial so that a resumed study
// goes on exactly as an uninterrupted one.
type note struct {
	// Hyper are the hyperparameters the proposal used, Told the number of
	// outcomes they were fitted to and Full the number at the last fit from
	// many starts.
	Hyper *gp.Hyper `json:"hyper,omitempty"`
	Told  int       `json:"told,omitempty"`
	Full  int       `json:"full,omitempty"`
}

// MarshalJSON writes what people and other programs need of a trial.
func (t Trial) MarshalJSON() ([]byte, error) {
	out := struct {
		ID        int          `json:"id"`
		Config    space.Config `json:"config"`
		Origin    string       `json:"origin"`
		Status    Status       `json:"status"`
		Value     *float64     `json:"value,omitempty"`
		Deviation float64      `json:"deviation,omitempty"`
		Message   string       `json:"message,omitempty"`
		Elapsed   float64      `json:"elapsed,omitempty"` // seconds
	}{t.ID, t.Config, t.Origin, t.Outcome.Status, nil, t.Outcome.Deviation, t.Outcome.Message, t.Outcome.Elapsed.Seconds()}
	if t.Outcome.Status == OK {
		out.Value = &t.Outcome.Value
	}
	return json.Marshal(out)
}

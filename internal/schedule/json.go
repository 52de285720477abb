package schedule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// With gives a new schedule with ds after the directives of s.
func (s Schedule) With(ds ...Directive) Schedule {
	return Schedule{Directives: append(slices.Clip(s.Directives), ds...)}
}

// MarshalJSON writes the list of directives, never null.
func (s Schedule) MarshalJSON() ([]byte, error) {
	if s.Directives == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(s.Directives)
}

// UnmarshalJSON reads a list of directives strictly: unknown fields, trailing
// data and directives that Validate refuses are errors.
func (s *Schedule) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var ds []Directive
	if err := dec.Decode(&ds); err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("schedule: something follows the list of directives")
	}
	if len(ds) == 0 {
		ds = nil
	}
	out := Schedule{Directives: ds}
	if err := out.Validate(); err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	*s = out
	return nil
}

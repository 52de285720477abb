// Package measure finds out how fast schedules really are: it builds candidates
// concurrently, times them alone, checks what they compute and says how sure it
// is. How and why is in docs/measuring.md.
package measure

import (
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/protuner/protuner/internal/bridge"
)

// Status is how a candidate's measurement ended. A failure is a status, never a
// time.
type Status uint8

// The zero Status is no outcome at all, and its name is empty: that is what stands in files
// and databases where nothing is said.
const (
	Invalid Status = iota
	OK
	BuildFailed
	Crashed
	TimedOut
	OutOfMemory
	WrongOutput
	InfraFailed // protuner's or the machine's fault: proves nothing about the schedule
)

var statusNames = [...]string{"", "ok", "build_failed", "crashed", "timed_out", "out_of_memory", "wrong_output", "infra_failed"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// ParseStatus reads what String writes. The error is of a name that no status has.
func ParseStatus(name string) (Status, error) {
	for i, n := range statusNames {
		if n == name {
			return Status(i), nil
		}
	}
	return Invalid, fmt.Errorf("%q is a status which no measurement has", name)
}

// MarshalText gives the name, so that JSON has it as a value and as a key. The error is of a
// number that is no status.
func (s Status) MarshalText() ([]byte, error) {
	if int(s) >= len(statusNames) {
		return nil, fmt.Errorf("no measurement has the %s", s)
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads what MarshalText writes. The error is ParseStatus's.
func (s *Status) UnmarshalText(name []byte) (err error) {
	*s, err = ParseStatus(string(name))
	return err
}

// Value is the name, for a database's column of text. The error is MarshalText's.
func (s Status) Value() (driver.Value, error) {
	name, err := s.MarshalText()
	return string(name), err
}

// Scan reads what Value gives. The error is ParseStatus's, or of a column that is no text.
func (s *Status) Scan(column any) (err error) {
	name, ok := column.(string)
	if !ok {
		return fmt.Errorf("a status is text, and this is %T", column)
	}
	*s, err = ParseStatus(name)
	return err
}

// StatusOf tells what an error of the bridge means for the candidate, and what to say of
// it. Whatever is no candidate's failure is InfraFailed, and nil is OK.
func StatusOf(err error) (Status, string) {
	if err == nil {
		return OK, ""
	}
	var f *bridge.Failure
	if !errors.As(err, &f) {
		return InfraFailed, err.Error()
	}
	s, parseErr := ParseStatus(f.Status)
	if parseErr != nil || s == Invalid || s == OK { // no failure calls itself that
		return InfraFailed, f.Error()
	}
	return s, f.Message
}

// Package measure finds out how fast schedules really are: it builds candidates
// concurrently, times them alone, checks what they compute and says how sure it
// is. How and why is in docs/measuring.md.
package measure

import (
	"errors"
	"fmt"

	"github.com/protuner/protuner/internal/bridge"
)

// Status is how a candidate's measurement ended. A failure is a status, never a
// time.
type Status uint8

// The zero Status is no outcome at all.
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

var statusNames = [...]string{"invalid", "ok", "build_failed", "crashed", "timed_out", "out_of_memory", "wrong_output", "infra_failed"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// ParseStatus reads what String writes.
func ParseStatus(name string) (Status, error) {
	for i, n := range statusNames {
		if n == name {
			return Status(i), nil
		}
	}
	return Invalid, fmt.Errorf("no status is called %q", name)
}

// StatusOf tells what an error of the bridge means for the candidate, and what to say of
// it. Whatever is no candidate's failure is InfraFailed.
func StatusOf(err error) (Status, string) {
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

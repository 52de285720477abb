package measure

import (
	"context"
	"errors"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/schedule"
)

// Artifact is a built candidate. It holds a process until it is dropped.
type Artifact interface {
	Drop()
}

// Builder compiles schedules; it may be called concurrently. A candidate's failure is a
// *bridge.Failure.
type Builder interface {
	// Build compiles what is timed of a schedule and compares its output with the
	// reference's, at the smaller size where it has a say there. best is the fastest time
	// so far, 0 where there is none.
	Build(ctx context.Context, s schedule.Schedule, p Protocol, best time.Duration) (Artifact, error)
	// Whole compiles all of a schedule with a version for one size, of which Build leaves
	// the rest out, and compares its output at the other size, or where there is none that
	// of the rest by itself.
	Whole(ctx context.Context, s schedule.Schedule, p Protocol) error
}

// Runner times an artifact while nothing else is timed on this host. best is the
// fastest time so far, 0 where there is none.
type Runner interface {
	Run(ctx context.Context, a Artifact, p Protocol, best time.Duration) (*bridge.Run, error)
}

// Local builds and runs on this host through one fork server.
type Local struct {
	Server  *bridge.Server
	Lock    HostLock
	Threads int // that candidates run on
	// BuildLimit, unless nil, bounds compiling and checking the next candidate.
	BuildLimit func() time.Duration
}

// Build implements Builder.
func (l Local) Build(ctx context.Context, s schedule.Schedule, p Protocol, best time.Duration) (Artifact, error) {
	b := bridge.BuildRequest{Schedule: s, OnlySpecial: s.Specializes()}
	if !b.OnlySpecial {
		b.Check = p.Check(best, l.Threads)
	}
	if l.BuildLimit != nil {
		b.Limit = l.BuildLimit()
	}
	c, err := l.Server.Build(ctx, b)
	if err != nil {
		return nil, err // not c: a nil *Candidate is no nil Artifact
	}
	return c, nil
}

// Whole implements Builder.
func (l Local) Whole(ctx context.Context, s schedule.Schedule, p Protocol) error {
	for _, version := range versions(l.Server, s) {
		c, err := l.Server.Build(ctx, bridge.BuildRequest{Schedule: version, Check: p.Check(0, l.Threads)})
		if err != nil {
			return err
		}
		if version.Hash() != s.Hash() { // at one size nothing ran when it was built
			err = l.Lock.With(ctx, func() error {
				_, err := c.Run(ctx, CheckOnly(p))
				return err
			})
		}
		c.Drop()
		if err != nil {
			return err
		}
	}
	return nil
}

// versions are what is to be built so that all of a schedule runs: itself, and where it has a
// version for the estimated sizes and is checked at no others, which would take the other
// version, that one by itself.
func versions(server *bridge.Server, s schedule.Schedule) []schedule.Schedule {
	if server.Sizes() > 1 || !s.Specializes() {
		return []schedule.Schedule{s}
	}
	return []schedule.Schedule{s, s.General()}
}

// Run implements Runner.
func (l Local) Run(ctx context.Context, a Artifact, p Protocol, best time.Duration) (run *bridge.Run, err error) {
	c, ok := a.(*bridge.Candidate)
	if !ok {
		return nil, errors.New("an artifact of another builder")
	}
	lockErr := l.Lock.With(ctx, func() error {
		run, err = c.Run(ctx, p.Run(best))
		return nil
	})
	if lockErr != nil {
		return nil, lockErr
	}
	return run, err
}

// CheckOnce compares the results of what is built with the reference at both sizes and
// times nothing. Where there is one size, a version for it and the other version are checked
// there one after the other.
func CheckOnce(ctx context.Context, server *bridge.Server, b bridge.BuildRequest, p Protocol, threads int) error {
	b.Check = p.Check(0, threads)
	for _, b.Schedule = range versions(server, b.Schedule) {
		c, err := server.Build(ctx, b)
		if err != nil {
			return err
		}
		_, err = c.Run(ctx, CheckOnly(p))
		c.Drop()
		if err != nil {
			return err
		}
	}
	return nil
}

package measure

import (
	"errors"
	"fmt"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/pipeline"
)

// ProtocolVersion is part of every measurement's key: it is raised whenever a
// change makes new times incomparable with stored ones.
const ProtocolVersion = 1

// Protocol says how candidates are screened, raced and checked.
type Protocol struct {
	// MinTotal is how long a candidate is sampled at least. Default 30 ms: shorter
	// samples drown in the clock's and the scheduler's noise.
	MinTotal time.Duration
	// MinSamples and MaxSamples bound the number of timed executions. Defaults 3, 200.
	MinSamples, MaxSamples int
	// GiveUp is the factor over the best time so far beyond which a candidate is not
	// sampled further. Default 1.5.
	GiveUp float64
	// Kill is the factor over the best time so far beyond which an execution is
	// killed. Default 4. Patience is added for what a run costs besides executing.
	Kill     float64
	Patience time.Duration // default 5 s
	// FirstLimit bounds a run while nothing was measured yet. Default 60 s.
	FirstLimit time.Duration
	// Relative and Absolute are how far floating-point results may be from the
	// reference's: relative to the value, and to the largest magnitude of the output.
	// Defaults 1e-4 and 1e-5, which allow reassociation and fused multiply-add.
	Relative, Absolute float64
	// IntegerEvery is how far every integer of the output may be off. Default 0: exactly.
	IntegerEvery int64
	// Integer is how far some may be off besides, or IntegerRelative as a share of the
	// output's largest magnitude where that is more, and IntegerShare how many of an
	// output. Default 0, 0, 0: none. See ForPipeline.
	Integer         int64
	IntegerRelative float64
	IntegerShare    float64
	// Stray is how many of an output's elements may be off by anything, as a share. Default
	// 0. See ForPipeline.
	Stray float64
}

// Integers that a pipeline makes from floating-point values differ between correct
// schedules where a value lies on the edge of two (fused multiply-add rounds once
// where a product and a sum round twice). In histogram equalisation 183 of 11.8
// million bytes do, by 2 at most; where the value is an entry of a table that every
// pixel of one intensity reads, 1.9% of them do, by 1. Sixteen bits step more finely
// than what such a table makes of them: in the local Laplacian filter 436 of 3 million
// differ, by 4 of 4000.
const (
	fromFloats         = 2
	fromFloatsRelative = 1e-3
	fromFloatsShare    = 0.05
)

// Where floats decide something, which of several centres is nearest, whether an orbit has
// escaped, a value on the edge becomes another one: 19 of 0.9 million labels do, and 15 of
// as many counts of steps. And what small differences of large numbers weight, as the place
// of a turned image's pixel between four others, is off by more than a sum is.
const (
	fromDecisions = 1e-3
	fromPlaces    = 10
)

// A sum of n numbers in one chain is off by up to n times half the distance of a float to
// the next, and mostly by much less; the same in strips by a small part of that. From
// manySummed on the integers that are made of it may all be off.
const (
	roundedOff = 0x1p-24 / 4
	manySummed = 4096
)

// ForPipeline allows for how floats are rounded where the pipeline computes with them; all
// else must be exact. What it allows is for sorting out what is wrong on the way: the schedule
// that is handed out is held to the protocol as it was before.
func (p Protocol) ForPipeline(pipe *pipeline.Pipeline) Protocol {
	if !pipe.UsesFloats() {
		return p
	}
	n := pipe.LongestFloatSum()
	off := roundedOff * float64(n)
	p.Integer, p.IntegerRelative, p.IntegerShare = fromFloats, max(fromFloatsRelative, off), fromFloatsShare
	if n > manySummed {
		p.IntegerShare = 1
	}
	p.Relative, p.Absolute, p.Stray = max(fromPlaces*p.Relative, off), max(fromPlaces*p.Absolute, off), fromDecisions
	return p
}

// DefaultProtocol is the documented defaults.
func DefaultProtocol() Protocol {
	return Protocol{
		MinTotal: 30 * time.Millisecond, MinSamples: 3, MaxSamples: 200,
		GiveUp: 1.5, Kill: 4, Patience: 5 * time.Second, FirstLimit: time.Minute,
		Relative: 1e-4, Absolute: 1e-5,
	}
}

// Validate names the first setting that makes no sense.
func (p Protocol) Validate() error {
	switch {
	case p.MinTotal < 0:
		return fmt.Errorf("the sampling time %v is negative", p.MinTotal)
	case p.MinSamples < 1 || p.MaxSamples < p.MinSamples:
		return fmt.Errorf("between %d and %d samples are none", p.MinSamples, p.MaxSamples)
	case p.GiveUp < 1 || p.Kill < p.GiveUp:
		return errors.New("giving up must come at 1 or above, and before killing")
	case p.Patience <= 0 || p.FirstLimit <= 0:
		return errors.New("a run needs time to run in")
	case p.Relative < 0 || p.Absolute < 0 || p.IntegerEvery < 0 || p.Integer < 0 || p.IntegerRelative < 0 || p.IntegerShare < 0 || p.Stray < 0:
		return errors.New("a tolerance is negative; give 0 or more")
	}
	return nil
}

// tolerance of every comparison with the reference.
func (p Protocol) tolerance() bridge.Tolerance {
	return bridge.Tolerance{
		Relative: p.Relative, Absolute: p.Absolute, Every: p.IntegerEvery, Integer: p.Integer, Largest: p.IntegerRelative, Share: p.IntegerShare, Stray: p.Stray,
	}
}

// warming is the time, of one processor, that a first execution may use beyond its share: it
// touches every page for the first time and starts threads.
const warming = 200 * time.Millisecond

// Check is how a candidate is checked when it was built; best is the fastest time so
// far, 0 where there is none.
func (p Protocol) Check(best time.Duration, threads int) *bridge.CheckProtocol {
	c := &bridge.CheckProtocol{Tolerance: p.tolerance()}
	if best > 0 {
		c.Hopeless = warming + time.Duration(p.Kill*float64(best))*time.Duration(max(threads, 1))
	}
	return c
}

// Run is one run under this protocol; best is the fastest time so far, 0 where
// there is none.
func (p Protocol) Run(best time.Duration) bridge.RunProtocol {
	r := bridge.RunProtocol{
		Tolerance: p.tolerance(), MinTotal: p.MinTotal, MinSamples: int64(p.MinSamples), MaxSamples: int64(p.MaxSamples),
		Timeout: p.FirstLimit,
	}
	if best > 0 {
		r.GiveUp = time.Duration(p.GiveUp * float64(best))
		r.Hopeless = warming + time.Duration(p.Kill*float64(best))
		// A warm-up and two timed executions come before anything is given up.
		r.Timeout = min(p.FirstLimit, p.Patience+time.Duration(3*p.Kill*float64(best)))
	}
	return r
}

// CheckOnly is a run whose time nobody asks for.
func CheckOnly(p Protocol) bridge.RunProtocol {
	r := p.Run(0)
	r.MinTotal, r.MinSamples, r.MaxSamples = 0, 1, 1
	return r
}

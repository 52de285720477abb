package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// exact holds a schedule to its results where screening may not: correct schedules differ
// because a multiplication and an addition are fused in one and not in another, or because
// a sum is added up in another order. Compiled with strict floats nothing is fused or
// reordered, and then the results must be the reference's: that of a plain schedule which
// adds up floats in the same order, whose results in turn must be near the reference's of
// all. Only what is handed out is checked so: it costs more compilations.
type exact struct {
	t       *tuner
	servers map[string]*bridge.Server // with strict floats, by the schedule of their reference
}

func (t *tuner) newExact() *exact { return &exact{t, map[string]*bridge.Server{}} }

func (e *exact) close() {
	for _, s := range e.servers {
		s.Close()
	}
}

// check fails where a result is not the reference's, neither as it is handed out nor with
// strict floats. Of a schedule with a version for the estimated sizes that may have been all
// that was built, so it is checked whole unless it stood a race.
func (e *exact) check(ctx context.Context, s schedule.Schedule) error {
	t := e.t
	if !t.pipe.UsesFloats() && (!s.Specializes() || t.stood[s.Hash()]) {
		return nil // screening was as strict
	}
	err := measure.CheckOnce(ctx, t.server, s, t.handedOut, t.o.Threads)
	if f := (*bridge.Failure)(nil); !errors.As(err, &f) || f.Status != measure.WrongOutput.String() || !t.pipe.UsesFloats() {
		return err
	}
	reference, err := e.alike(ctx, s)
	if err != nil {
		return err
	}
	server, err := e.strict(ctx, reference)
	if err == nil {
		err = measure.CheckOnce(ctx, server, s, t.handedOut, t.o.Threads)
	}
	if f := (*bridge.Failure)(nil); errors.As(err, &f) {
		return fmt.Errorf("schedule %s with strict floats: %s", s.HashString(), strings.TrimSpace(f.Message))
	}
	return err
}

// alike are the plain schedules, the best one first, that add up floats in the order in which
// s does: they factor sums as s does, and each sum's loops are split and ordered like its.
func (e *exact) alike(ctx context.Context, s schedule.Schedule) ([]schedule.Schedule, error) {
	p := e.t.pipe
	if p.LongestFloatSum() == 0 {
		return measure.PlainSchedules(p)
	}
	p, err := e.t.gen.Describe(ctx, s.Structure()...)
	if err != nil {
		return nil, err
	}
	plain, err := measure.PlainSchedules(p)
	if err != nil {
		return nil, err
	}
	for _, d := range s.Directives[len(s.Structure()):] {
		f := slices.IndexFunc(p.Funcs, func(f pipeline.Func) bool { return f.Name == d.Func })
		if (d.Op == schedule.Split || d.Op == schedule.Reorder) && f >= 0 && p.Funcs[f].Stages[d.Stage].AddsFloats() {
			for i := range plain {
				plain[i].Directives = append(plain[i].Directives, d)
			}
		}
	}
	return plain, nil
}

// strict is a server of the Generator with strict floats, whose reference is the first of
// the schedules that works. It fails where that computes something else than the reference
// of all does, as far as this can be told: the error of a long sum in one chain is allowed.
func (e *exact) strict(ctx context.Context, reference []schedule.Schedule) (*bridge.Server, error) {
	t, key := e.t, reference[0].String()
	if s := e.servers[key]; s != nil {
		return s, nil
	}
	if t.pipe.LongestFloatSum() > 0 {
		var err error
		for _, plain := range reference {
			if err = measure.CheckOnce(ctx, t.server, plain, t.o.Protocol, t.o.Threads); err == nil {
				break
			}
		}
		if err != nil {
			return nil, fmt.Errorf("sums that are added up as in it: %w", err)
		}
	}
	s, err := t.gen.Strict().Serve(ctx, bridge.ServerOptions{
		MemoryBytes: t.o.CandidateMemory, BuildTime: t.o.CandidateBuild, Inputs: t.inputs,
	})
	if err != nil {
		return nil, err
	}
	if _, err := measure.ReferenceOf(ctx, s, reference); err != nil {
		s.Close()
		return nil, fmt.Errorf("the reference of %s with strict floats cannot be computed: %w", t.gen.Name, err)
	}
	e.servers[key] = s
	return s, nil
}

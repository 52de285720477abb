package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
// that was built, so it is checked whole unless it stood a race, at both sizes.
func (e *exact) check(ctx context.Context, s schedule.Schedule) error {
	t := e.t
	if !t.pipe.UsesFloats() && (!s.Specializes() || t.stood[s.Hash()] && t.server.Sizes() > 1) {
		return nil // screening was as strict
	}
	b := bridge.BuildRequest{Schedule: s}
	err := measure.CheckOnce(ctx, t.server, b, t.handedOut, t.o.Threads)
	if status, _ := measure.StatusOf(err); status != measure.WrongOutput || !t.pipe.UsesFloats() {
		return err
	}
	reference, err := e.alike(ctx, s)
	if err != nil {
		return err
	}
	server, err := e.strict(ctx, reference)
	if err == nil {
		err = measure.CheckOnce(ctx, server, b, t.handedOut, t.o.Threads)
	}
	if f := (*bridge.Failure)(nil); errors.As(err, &f) {
		return fmt.Errorf("with strict floats: %w", f)
	}
	return err
}

// alike are the plain schedules, the best one first, that add up floats in the order in which
// s does: they factor sums as s does, and each sum's loops are split and ordered like its.
func (e *exact) alike(ctx context.Context, s schedule.Schedule) ([]schedule.Schedule, error) {
	p, head := e.t.pipe, s.Structure()
	if len(head) > 0 {
		var err error
		if p, err = e.t.gen.Describe(ctx, head...); err != nil {
			return nil, err
		}
	}
	plain, err := measure.PlainSchedules(p)
	if err != nil {
		return nil, err
	}
	for _, d := range s.Directives[len(head):] {
		if ordersSums(s, d) && addsFloats(p, d) {
			for i := range plain {
				plain[i].Directives = append(plain[i].Directives, d)
			}
		}
	}
	return plain, nil
}

// addsFloats says whether d is about a stage that adds up floats.
func addsFloats(p *pipeline.Pipeline, d schedule.Directive) bool {
	f := slices.IndexFunc(p.Funcs, func(f pipeline.Func) bool { return f.Name == d.Func })
	return f >= 0 && p.Funcs[f].Stages[d.Stage].AddsFloats()
}

// ordersSums says whether d, of s, may change the order in which a stage adds up: by how its
// loops are split, fused, named and ordered, and where vectors of an atomic update are added
// up at once.
func ordersSums(s schedule.Schedule, d schedule.Directive) bool {
	switch d.Op {
	case schedule.Split, schedule.Fuse, schedule.Rename, schedule.Reorder, schedule.Atomic:
		return true
	case schedule.Vectorize:
		return slices.ContainsFunc(s.Directives, func(a schedule.Directive) bool {
			return a.Op == schedule.Atomic && a.Func == d.Func && a.Stage == d.Stage
		})
	}
	return false
}

// longer is how many times the reference's time a schedule as plain may take.
const longer = 4

// near fails where the first of the schedules that runs computes something else than the
// reference, as far as that can be told: the error of a long sum in one chain is allowed.
func (e *exact) near(ctx context.Context, plain []schedule.Schedule) error {
	t := e.t
	if as, err := measure.PlainSchedules(t.pipe); err != nil || as[0].String() == plain[0].String() {
		return err
	}
	p := t.o.Protocol
	slow := longer * t.ref.Time
	p.FirstLimit += slow
	var err error
	for _, s := range plain {
		b := bridge.BuildRequest{Schedule: s, Limit: t.o.CandidateBuild + slow}
		if err = measure.CheckOnce(ctx, t.server, b, p, t.o.Threads); err == nil {
			return nil
		}
	}
	return err
}

// strict is a server of the Generator with strict floats, whose reference is the first of
// the schedules that works.
func (e *exact) strict(ctx context.Context, reference []schedule.Schedule) (*bridge.Server, error) {
	t, key := e.t, reference[0].String()
	if s := e.servers[key]; s != nil {
		return s, nil
	}
	// That sums come out differently is the schedule's fault; anything else that goes wrong
	// here is the fault of those it is compared with.
	if err := e.near(ctx, reference); err != nil {
		f := (*bridge.Failure)(nil)
		if status, _ := measure.StatusOf(err); status != measure.WrongOutput && errors.As(err, &f) {
			return nil, fmt.Errorf("it cannot be compared with sums that are added up as in it: %v", f)
		}
		return nil, fmt.Errorf("sums that are added up as in it: %w", err)
	}
	s, err := t.gen.Strict().Serve(ctx, bridge.ServerOptions{
		MemoryBytes: t.o.CandidateMemory, BuildTime: t.o.CandidateBuild, Inputs: t.inputs,
	})
	if err != nil {
		return nil, err
	}
	if _, err := measure.ReferenceOf(ctx, s, reference); err != nil {
		s.Close()
		return nil, fmt.Errorf("the reference of %s with strict floats cannot be computed: %v", t.gen.Name, err)
	}
	e.servers[key] = s
	return s, nil
}

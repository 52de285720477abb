package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// PlainSchedules are serial, scalar schedules for the reference, those with the
// least that could go wrong first: every Func at root; where that takes more memory
// than there is, only those that cannot be inlined or that are read more than a few
// times a point; then only those that cannot be inlined. They begin with the structural
// directives that p was described after. The error is about these.
func PlainSchedules(p *pipeline.Pipeline) ([]schedule.Schedule, error) {
	head, err := p.StructureSchedule()
	if err != nil {
		return nil, err
	}
	calls := make([]int, len(p.Funcs))
	for i := range p.Funcs {
		for _, s := range p.Funcs[i].Stages {
			for _, e := range s.Edges {
				calls[e.Producer] += e.Calls
			}
		}
	}
	var out []schedule.Schedule
	for _, few := range []int{0, 4, math.MaxInt} {
		ds := slices.Clone(head.Directives)
		for i, f := range p.Funcs {
			inlined := len(f.Stages) == 1 && !f.Extern && f.MustRoot == "" && calls[i] <= few
			if !f.Input && !f.Output && f.MustInline == "" && !inlined {
				ds = append(ds, schedule.Directive{Op: schedule.ComputeRoot, Func: f.Name})
			}
		}
		out = append(out, schedule.Schedule{Directives: ds})
	}
	return out, nil
}

// Reference makes the data set with the first of the plain schedules that works.
func Reference(ctx context.Context, s *bridge.Server, p *pipeline.Pipeline) (*bridge.Reference, error) {
	plain, err := PlainSchedules(p)
	if err != nil {
		return nil, err
	}
	return ReferenceOf(ctx, s, plain)
}

// ReferenceOf makes the data set with the first of the schedules that works.
func ReferenceOf(ctx context.Context, s *bridge.Server, schedules []schedule.Schedule) (*bridge.Reference, error) {
	var failures error
	for _, plain := range schedules {
		ref, err := s.Reference(ctx, plain)
		if err == nil {
			return ref, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if f := (*bridge.Failure)(nil); errors.As(err, &f) && f.Status == bridge.BadInput {
			return nil, err // of whatever schedule
		}
		if failures == nil { // the plainest one's failure says most
			failures = err
		}
	}
	return nil, failures
}

// PhysicalCPUs gives n processors on different physical cores, for pinning, of those that
// this process may run on; nil where these are fewer cores than that or the host does not tell.
func PhysicalCPUs(n int) []int {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return nil
	}
	var cpus []int
	var cores []string
	for cpu, left := 0, allowed.Count(); left > 0; cpu++ {
		if !allowed.IsSet(cpu) {
			continue
		}
		left--
		siblings, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu))
		if err != nil {
			continue // offline
		}
		if core := string(siblings); !slices.Contains(cores, core) {
			cores = append(cores, core)
			cpus = append(cpus, cpu)
		}
	}
	if len(cpus) < n {
		return nil
	}
	return cpus[:n]
}

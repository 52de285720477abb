package tune

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
)

// makeSpaces makes the pipeline's space, and where there are Funcs to clone or inputs to copy
// to advantage (Space.Cloning, Packing) one of the pipeline as it is then. Where there are
// reductions to factor (Factoring) there is one of what that makes of it besides: a factored
// reduction cannot be had whole again, while clones and copies can be inlined. A search that
// measures by itself (ProTuner's cost+real) keeps to the first: it may take all of the budget.
func (t *tuner) makeSpaces(ctx context.Context, so space.Options) error {
	t.sayInputs(t.pipe)
	plain, err := space.New(t.pipe, so)
	if err != nil {
		return fmt.Errorf("%s has no space of schedules: %w", t.gen.Name, err)
	}
	t.spaces, t.spaceOptions = []*space.Space{plain}, so
	if !t.restructures() {
		return nil
	}
	bases := []*space.Space{plain}
	if factored := t.restructured(ctx, plain, plain.Factoring()); factored != plain {
		bases = append(bases, factored) // its inputs have another reader, the partial results
	}
	for _, base := range bases {
		if sp := t.restructured(ctx, base, slices.Concat(base.Cloning(), base.Packing())); sp != plain {
			t.spaces = append(t.spaces, sp)
		}
	}
	return ctx.Err()
}

// restructured is the space of the pipeline after more directives than of's, of itself where
// there are none or where Halide refuses them.
func (t *tuner) restructured(ctx context.Context, of *space.Space, more []schedule.Directive) *space.Space {
	if len(more) == 0 {
		return of
	}
	next, err := t.spaceAfter(ctx, slices.Concat(of.Structure(), more))
	if err != nil {
		if ctx.Err() == nil {
			t.events.note("left as it is: %s: %v", schedule.Schedule{Directives: more}, err)
		}
		return of
	}
	return next
}

// spaceAfter is the space of the pipeline as it is after structural directives.
func (t *tuner) spaceAfter(ctx context.Context, structure []schedule.Directive) (*space.Space, error) {
	p, err := t.gen.Describe(ctx, structure...)
	if err != nil {
		return nil, err
	}
	if unnameable(p) {
		return nil, fmt.Errorf("reductions cannot be scheduled once factored by Halide %s", p.Halide)
	}
	t.sayInputs(p)
	return space.New(p, t.spaceOptions)
}

// restructures says whether the pipeline's Funcs may be cloned, wrapped and factored.
func (t *tuner) restructures() bool { return t.o.Restructure && !search.Measures(t.o.Search) }

// unnameable holds where a reduction loop has a dot in its name: Halide 19 calls those so
// that are left of a split after rfactor, and refuses the name in directives.
func unnameable(p *pipeline.Pipeline) bool {
	for _, f := range p.Funcs {
		for _, st := range f.Stages {
			if slices.ContainsFunc(st.Loops, func(l pipeline.Loop) bool { return l.RVar && strings.Contains(l.Var, ".") }) {
				return true
			}
		}
	}
	return false
}

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

// makeSpaces makes the pipeline's space, and where there are Funcs to clone, inputs to copy
// or reductions to factor to advantage (Space.Cloning, Packing, Factoring) one of the
// pipeline as it is then. A search that measures by itself (ProTuner's cost+real) keeps to the first: it
// may take all of the budget.
func (t *tuner) makeSpaces(ctx context.Context, so space.Options) error {
	t.sayGiven(t.pipe)
	plain, err := space.New(t.pipe, so)
	if err != nil {
		return fmt.Errorf("%s has no space of schedules: %w", t.gen.Name, err)
	}
	t.spaces, t.spaceOptions = []*space.Space{plain}, so
	if !t.restructures() {
		return nil
	}
	// What is factored first has another reader for its inputs, the partial results.
	restructured := plain
	for _, more := range []func(*space.Space) []schedule.Directive{
		(*space.Space).Factoring,
		func(sp *space.Space) []schedule.Directive { return slices.Concat(sp.Cloning(), sp.Packing()) },
	} {
		directives := more(restructured)
		if len(directives) == 0 {
			continue
		}
		next, err := t.spaceAfter(ctx, slices.Concat(restructured.Structure(), directives))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			t.events.note("not before its schedule: %s: %v", schedule.Schedule{Directives: directives}, err)
			continue
		}
		restructured = next
	}
	if restructured != plain {
		t.spaces = append(t.spaces, restructured)
	}
	return nil
}

// spaceAfter is the space of the pipeline as it is after structural directives.
func (t *tuner) spaceAfter(ctx context.Context, structure []schedule.Directive) (*space.Space, error) {
	p, err := t.gen.Describe(ctx, structure...)
	if err != nil {
		return nil, err
	}
	if unnameable(p) {
		return nil, fmt.Errorf("Halide %s cannot schedule its reductions once factored", p.Halide)
	}
	t.sayGiven(p)
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

package tune

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
)

// makeSpaces makes the pipeline's space, and where there are Funcs to clone, inputs to copy
// or reductions to factor to advantage (Space.Cloning, Packing, Factoring) one of the
// pipeline as it is then. A search that measures by itself (ProTuner's cost+real) keeps to the first: it
// may take all of the budget. Where integers are made from floats, and what is handed out
// must be right to the last of them with strict floats (see exact), sums of floats are
// left whole.
func (t *tuner) makeSpaces(ctx context.Context, so space.Options) error {
	t.sayGiven(t.pipe)
	plain, err := space.New(t.pipe, so)
	if err != nil {
		return fmt.Errorf("%s has no space of schedules: %w", t.gen.Name, err)
	}
	t.spaces, t.spaceOptions = []*space.Space{plain}, so
	directives := slices.Concat(plain.Cloning(), plain.Packing(), plain.Factoring(!t.checksExactly()))
	if len(directives) == 0 || !t.restructures() {
		return nil
	}
	p, err := t.gen.Describe(ctx, directives...)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t.events.note("its Funcs are left as they are: %v", err)
		return nil
	}
	if unnameable(p) {
		t.events.note("its reductions are left whole: Halide %s cannot schedule them once factored", p.Halide)
		return nil
	}
	t.sayGiven(p)
	restructured, err := space.New(p, so)
	if err != nil {
		t.events.note("its Funcs are left as they are: %v", err)
		return nil
	}
	t.spaces = append(t.spaces, restructured)
	return nil
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

package schedule

import "slices"

// Span is what Specialize asks for of a dimension: Extent points from Min on or, where
// there is a Step, from wherever leaves Min (0 to Step-1) when divided by it.
type Span struct {
	Min, Step, Extent int64
}

// Specialized gives s with a second version of everything for when exactly one box of
// its output is asked for, of inputs of exactly one size that are dense in memory. There
// all sizes and strides are constants, as they are for a Generator that bounds its buffers;
// anything else is computed as before. What is at root moves into the output's loop of
// one iteration, which each version has its own of.
//
// The output is the only one of the pipeline, of one value, and pure. Dims are its
// dimensions, of each of which spans has what is asked for.
func (s Schedule) Specialized(output string, dims []string, spans []Span, inputs []Input) Schedule {
	var out Schedule
	var box []int64
	for _, span := range spans {
		box = append(box, span.Min, span.Step, span.Extent)
	}
	for _, d := range s.Directives {
		if inner, ok := inside[d.Op]; ok && d.Func != output {
			d.Op, d.At = inner, &Level{Func: output, Stage: AnyStage, Loop: Outermost}
		}
		out.Directives = append(out.Directives, d)
	}
	out.Directives = append(out.Directives, Directive{Op: Specialize, Func: output, Vars: dims, Ints: box, Inputs: inputs})
	return out
}

// General gives what a Specialized schedule was made of; any other as it is.
func (s Schedule) General() Schedule {
	special := map[string]bool{}
	for _, d := range s.Directives {
		special[d.Func] = special[d.Func] || d.Op == Specialize
	}
	var out Schedule
	for _, d := range s.Directives {
		if d.Op == Specialize {
			continue
		}
		if d.At != nil && d.At.Loop == Outermost && special[d.At.Func] {
			for root, inner := range inside {
				if d.Op == inner {
					d.Op, d.At = root, nil
					break
				}
			}
		}
		out.Directives = append(out.Directives, d)
	}
	return out
}

// Slides reports whether s stores a Func outside the loop that it computes it in, so that
// Halide may keep what one iteration computed for the next.
func (s Schedule) Slides() bool {
	stored := map[string]Level{}
	for _, d := range s.Directives {
		switch d.Op {
		case StoreAt:
			stored[d.Func] = *d.At
		case StoreRoot:
			stored[d.Func] = Level{}
		}
	}
	return slices.ContainsFunc(s.Directives, func(d Directive) bool {
		at, ok := stored[d.Func]
		return ok && d.Op == ComputeAt && *d.At != at
	})
}

// inside is what directives become that mean the root, within a loop.
var inside = map[Op]Op{ComputeRoot: ComputeAt, StoreRoot: StoreAt, HoistStorageRoot: HoistStorage}

// span is what a Specialize asks for of its i-th dimension.
func (d Directive) span(i int) (Span, bool) {
	if len(d.Ints) < 3*i+3 {
		return Span{}, false
	}
	return Span{d.Ints[3*i], d.Ints[3*i+1], d.Ints[3*i+2]}, true
}

// Specializes reports whether s has a version for one box.
func (s Schedule) Specializes() bool {
	return slices.ContainsFunc(s.Directives, func(d Directive) bool { return d.Op == Specialize })
}

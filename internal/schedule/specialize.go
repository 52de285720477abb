package schedule

import "slices"

// Span is what Specialize asks for of a dimension: Extent points from Min on or, where
// there is a Step, from wherever leaves Min (0 to Step-1) when divided by it.
type Span struct {
	Min, Step, Extent int64
}

// Version is a second version of a stage of an output, for when exactly one box of that
// is asked for, of inputs that are dense in memory and lie in exactly one place each.
type Version struct {
	Func  string
	Stage int
	// Dims are the output's dimensions, of each of which Spans has what is asked for.
	Dims   []string
	Spans  []Span
	Inputs []Input
}

// Specialized gives s with versions of stages of its outputs, of one value each. In them
// all sizes and strides are constants, as they are for a Generator that bounds its
// buffers; anything else is computed as before. What is at root moves into the loop of one
// iteration of the output that inside names, which each version has its own of; inside is
// "" for what stays at root, as everything does that more than one of an output's stages
// or anything that stays needs.
func (s Schedule) Specialized(versions []Version, inside func(fn string) (output string)) Schedule {
	var out Schedule
	for _, d := range s.Directives {
		if op, ok := inLoop[d.Op]; ok {
			if output := inside(d.Func); output != "" {
				d.Op, d.At = op, &Level{Func: output, Stage: AnyStage, Loop: Outermost}
			}
		}
		out.Directives = append(out.Directives, d)
	}
	for _, v := range versions {
		var box []int64
		for _, span := range v.Spans {
			box = append(box, span.Min, span.Step, span.Extent)
		}
		out.Directives = append(out.Directives, Directive{Op: Specialize, Func: v.Func, Stage: v.Stage, Vars: v.Dims, Ints: box, Inputs: v.Inputs})
	}
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
			for root, inner := range inLoop {
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

// inLoop is what directives become that mean the root, within a loop.
var inLoop = map[Op]Op{ComputeRoot: ComputeAt, StoreRoot: StoreAt, HoistStorageRoot: HoistStorage}

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

package space

import (
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// Sizable is the output of which a state can be Sized, as a decision for a trace to end
// with; false where Options.Sized does not let it, or Specialized makes nothing of a
// schedule.
func (sp *Space) Sizable() (Decision, bool) {
	f, ok := sizable(sp.p)
	return Decision{Func: f, Kind: Sized}, ok && sp.o.Sized
}

// sizable is the output of a pipeline that has one, of one value and pure.
func sizable(p *pipeline.Pipeline) (output int, ok bool) {
	output = -1
	for i := range p.Funcs {
		f := &p.Funcs[i]
		if !f.Output {
			continue
		}
		if output >= 0 || len(f.Types) != 1 || len(f.Stages) != 1 || len(f.Args) == 0 {
			return -1, false
		}
		output = i
	}
	return output, output >= 0
}

// fewPoints is how long a dimension is at most over which nothing is taken to slide.
const fewPoints = 16

// beginStep is what is said of where the output begins where it is not said exactly: what
// a division by it leaves. Mosaics and pyramids ask what row it is modulo a power of two.
const beginStep = 64

// Specialized is a schedule with a version for the estimated output of inputs of the
// estimated sizes (schedule.Specialized); false, and the schedule as it is, where the
// pipeline has several outputs, or one that is updated or of several values.
//
// Where something slides, only the remainder is said of where the output begins, but in
// its first dimension and in those of few points. Halide folds what slides only if it can
// prove how much of it an iteration needs, and Halide 19 and 21 cannot where a tile begins
// at a multiple of its loop instead of somewhere: unsharp then keeps 646 rows in place of
// 16.
func Specialized(p *pipeline.Pipeline, s schedule.Schedule) (schedule.Schedule, bool) {
	i, ok := sizable(p)
	if !ok {
		return s, false
	}
	output := &p.Funcs[i]
	var spans []schedule.Span
	slides := s.Slides()
	for d, e := range output.Estimate {
		span := schedule.Span{Min: e.Min, Extent: e.Extent()}
		if slides && d > 0 && e.Extent() > fewPoints {
			span.Min, span.Step = (e.Min%beginStep+beginStep)%beginStep, beginStep
		}
		spans = append(spans, span)
	}
	var inputs []schedule.Input
	for _, param := range p.Params {
		in := schedule.Input{Name: param.Name}
		for d, extent := range param.Extents {
			in.Box = append(in.Box, param.Mins[d], extent)
		}
		if len(in.Box) > 0 {
			inputs = append(inputs, in)
		}
	}
	return s.Specialized(output.Name, output.Args, spans, inputs), true
}

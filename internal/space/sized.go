package space

import (
	"slices"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// Sizable is the output that a trace says of that a state is Sized, as the decision for
// it to end with; false where Options.Sized does not let it, or Specialized makes nothing
// of a schedule.
func (sp *Space) Sizable() (Decision, bool) {
	outputs := sizable(sp.p)
	if !sp.o.Sized || len(outputs) == 0 {
		return Decision{}, false
	}
	return Decision{Func: outputs[0], Kind: Sized}, true
}

// sizable are the outputs of a pipeline that can have a version for one size: those of one
// value that have dimensions.
func sizable(p *pipeline.Pipeline) []int {
	var out []int
	for i := range p.Funcs {
		if f := &p.Funcs[i]; f.Output && len(f.Types) == 1 && len(f.Args) > 0 {
			out = append(out, i)
		}
	}
	return out
}

// hosts gives, for each Func, the stage of one of some outputs that is all it is computed
// for; no stage (Func -1) where there is none.
func hosts(p *pipeline.Pipeline, outputs []int) []Reader {
	nowhere := Reader{Func: -1}
	out := make([]Reader, len(p.Funcs))
	for f, readers := range p.Readers() { // consumers come before producers
		out[f] = nowhere
		for i, r := range readers {
			host := out[r.Func]
			if slices.Contains(outputs, r.Func) {
				host = Reader{r.Func, r.Stage}
			} else if p.Funcs[r.Func].Output {
				host = nowhere
			}
			if i > 0 && host != out[f] {
				out[f] = nowhere
				break
			}
			out[f] = host
		}
	}
	return out
}

// fewPoints is how long a dimension is at most over which nothing is taken to slide.
const fewPoints = 16

// beginStep is what is said of where the output begins where it is not said exactly: what
// a division by it leaves. Mosaics and pyramids ask what row it is modulo a power of two.
const beginStep = 64

// Specialized is a schedule with a version for the estimated outputs of inputs of the
// estimated sizes (schedule.Specialized): of all outputs that are sizable, each for itself.
// False, and the schedule as it is, where none is, or where there are several stages and
// a Func at root that the pipeline does not have.
//
// Where something slides, only the remainder is said of where the output begins, but in
// its first dimension and in those of few points. Halide folds what slides only if it can
// prove how much of it an iteration needs, and Halide 19 and 21 cannot where a tile begins
// at a multiple of its loop instead of somewhere: unsharp then keeps 646 rows in place of
// 16.
func Specialized(p *pipeline.Pipeline, s schedule.Schedule) (schedule.Schedule, bool) {
	outputs := sizable(p)
	if len(outputs) == 0 {
		return s, false
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
	var versions []schedule.Version
	slides := s.Slides()
	for _, i := range outputs {
		output := &p.Funcs[i]
		var spans []schedule.Span
		for d, e := range output.Estimate {
			span := schedule.Span{Min: e.Min, Extent: e.Extent()}
			if slides && d > 0 && e.Extent() > fewPoints {
				span.Min, span.Step = (e.Min%beginStep+beginStep)%beginStep, beginStep
			}
			spans = append(spans, span)
		}
		for stage := range output.Stages {
			versions = append(versions, schedule.Version{Func: output.Name, Stage: stage, Dims: output.Args, Spans: spans, Inputs: inputs})
		}
	}
	home := map[string]string{}
	for f, host := range hosts(p, outputs) {
		home[p.Funcs[f].Name] = ""
		if host.Func >= 0 && !p.Funcs[f].Output {
			home[p.Funcs[f].Name] = p.Funcs[host.Func].Name
		}
	}
	// Whatever a schedule's own directives made is for the only stage, where there is one.
	others := ""
	if len(versions) == 1 && !slices.ContainsFunc(p.Funcs, func(f pipeline.Func) bool { return f.Output && f.Name != versions[0].Func }) {
		others = versions[0].Func
	}
	known := true
	special := s.Specialized(versions, func(fn string) string {
		output, ok := home[fn]
		if !ok {
			output, known = others, known && others != ""
		}
		return output
	})
	if !known {
		return s, false
	}
	return special, true
}

package space

import "github.com/protuner/protuner/internal/pipeline"

// toy describes a chain of Funcs of two dimensions, the output first, each
// reading its producer at its own point and so many rows below it; the last one
// reads nothing. Vectors have four lanes.
func toy(width, height int64, reads ...int64) *pipeline.Pipeline {
	p := &pipeline.Pipeline{Version: pipeline.Version, Generator: "toy"}
	dim := func(d int) pipeline.Loop {
		return pipeline.Loop{Var: []string{"x", "y"}[d], Pure: true, PureDim: d, ComputedDim: d}
	}
	for i := 0; i <= len(reads); i++ {
		f := pipeline.Func{
			Name: string(rune('a' + i)), Index: len(reads) - i, Args: []string{"x", "y"}, Types: []string{"float32"},
			BytesPerPoint: 4, VectorSize: 4,
			Computed: []pipeline.Computed{{EqualsRequired: true}, {EqualsRequired: true}},
			Stages: []pipeline.Stage{{
				Name: string(rune('a' + i)), Loops: []pipeline.Loop{dim(0), dim(1)}, VectorSize: 4,
				Features: make([]int32, 287),
			}},
		}
		if i == 0 {
			f.Output, f.InnermostDims = true, []int{0}
			f.Estimate = []pipeline.Span{{Max: width - 1}, {Max: height - 1}}
		}
		if i < len(reads) {
			bound := func(dim int, past int64, end bool) pipeline.Bound {
				return pipeline.Bound{Coeff: 1, Const: past, Dim: dim, UsesMax: end}
			}
			f.Stages[0].Edges = []pipeline.Edge{{
				Producer: i + 1, Calls: int(reads[i]) + 1,
				Bounds: []pipeline.Bounds{
					{Min: bound(0, 0, false), Max: bound(0, 0, true)},
					{Min: bound(1, 0, false), Max: bound(1, reads[i], true)},
				},
			}}
		}
		p.Funcs = append(p.Funcs, f)
	}
	return p
}

// flipped has the output of a toy read its producer's rows, and so many more, from the last
// one upwards.
func flipped(p *pipeline.Pipeline, more int64) *pipeline.Pipeline {
	rows := &p.Funcs[0].Stages[0].Edges[0].Bounds[1]
	last := p.Funcs[0].Estimate[1].Max
	rows.Min = pipeline.Bound{Coeff: -1, Const: last, Dim: 1, UsesMax: true}
	rows.Max = pipeline.Bound{Coeff: -1, Const: last + more, Dim: 1}
	return p
}

// asInput makes the last Func of a toy an input, which ends where the output needs
// no more of it.
func asInput(p *pipeline.Pipeline) *pipeline.Pipeline {
	f := &p.Funcs[len(p.Funcs)-1]
	f.Input = true
	return p
}

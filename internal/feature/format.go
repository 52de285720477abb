package feature

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/protuner/protuner/internal/pipeline"
)

// A .featurization file of Halide's holds, per stage in the order of Stages, its
// schedule features and then its pipeline features, as little-endian float32. It
// says neither how many stages there are nor which pipeline they belong to.
const (
	rowFloats = NumSchedule + NumPipeline
	rowBytes  = 4 * rowFloats
)

// maxStages bounds the stages of one file: 10,000 of them are 13 MB.
const maxStages = 10000

// Row is one stage of a file.
type Row struct {
	Schedule [NumSchedule]float32
	Pipeline [NumPipeline]float32
}

// Rows joins the schedule features of p's stages, as Extractor gives them for a
// complete state, with their pipeline features.
func Rows(p *pipeline.Pipeline, schedule []Schedule) ([]Row, error) {
	ids := Stages(p)
	if len(ids) != len(schedule) {
		return nil, fmt.Errorf("feature: features of %d stages for a pipeline of %d: the schedule is not complete", len(schedule), len(ids))
	}
	rows := make([]Row, len(ids))
	for i, id := range ids {
		for k, v := range schedule[i] {
			rows[i].Schedule[k] = float32(v)
		}
		for k, v := range p.Funcs[id.Func].Stages[id.Stage].Features {
			rows[i].Pipeline[k] = float32(v)
		}
	}
	return rows, nil
}

// AppendFeaturization writes a .featurization.
func AppendFeaturization(dst []byte, rows []Row) []byte {
	for i := range rows {
		for _, v := range rows[i].Schedule {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
		}
		for _, v := range rows[i].Pipeline {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
		}
	}
	return dst
}

// ParseFeaturization reads a .featurization. Errors say what of it no such file
// can have.
func ParseFeaturization(b []byte) ([]Row, error) {
	if len(b) == 0 || len(b)%rowBytes != 0 {
		return nil, fmt.Errorf("a featurization is %d bytes a stage; %d bytes are no whole number of stages", rowBytes, len(b))
	}
	if len(b)/rowBytes > maxStages {
		return nil, fmt.Errorf("%d stages are more than %d", len(b)/rowBytes, maxStages)
	}
	rows := make([]Row, len(b)/rowBytes)
	for i := range rows {
		row := b[i*rowBytes:]
		for k := range rowFloats {
			v := math.Float32frombits(binary.LittleEndian.Uint32(row[4*k:]))
			if v != v || v < 0 || math.IsInf(float64(v), 0) {
				return nil, fmt.Errorf("stage %d: feature %s is %g; all features are finite and none is negative", i, FeatureName(k), v)
			}
			if k < NumSchedule {
				rows[i].Schedule[k] = v
			} else {
				rows[i].Pipeline[k-NumSchedule] = v
			}
		}
	}
	return rows, nil
}

// FeatureName names value k of a row: schedule features first.
func FeatureName(k int) string {
	if k < NumSchedule {
		return Table[k].Name
	}
	k -= NumSchedule
	return pipeline.FeatureRows[k/len(pipeline.FeatureTypes)] + "." + pipeline.FeatureTypes[k%len(pipeline.FeatureTypes)]
}

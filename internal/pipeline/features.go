package pipeline

import (
	"slices"
	"strings"
)

// NumFeatures is the length of Stage.Features.
const NumFeatures = len(FeatureRows) * len(FeatureTypes)

// FeatureTypes names the columns of Stage.Features. Signed and unsigned integers
// count alike, as do float16 and float32.
var FeatureTypes = [7]string{"bool", "uint8", "uint16", "uint32", "uint64", "float", "double"}

// featureBits are those of FeatureTypes, truth values none.
var featureBits = [len(FeatureTypes)]int{0, 8, 16, 32, 64, 32, 64}

// FeatureRows names the rows of Stage.Features (Adams et al. 2019, section 4.1;
// version 3 of Halide's Adams2019): whether the type occurs, how often each
// operation occurs in the simplified definition, then how many loads of Funcs, of
// the Func itself and of input images, and how many stores, follow the loops as
// an identity (pointwise), as a permutation (transpose), with every coordinate
// moving with one loop of its own (broadcast), or with every loop moving one
// coordinate (slice).
var FeatureRows = [41]string{
	"types_in_use",
	"op_const", "op_cast", "op_variable", "op_param",
	"op_add", "op_sub", "op_mod", "op_mul", "op_div", "op_min", "op_max",
	"op_eq", "op_ne", "op_lt", "op_le", "op_and", "op_or", "op_not", "op_select",
	"op_image_call", "op_func_call", "op_self_call", "op_extern_call", "op_let",
	"pointwise_load_func", "pointwise_load_self", "pointwise_load_image", "pointwise_store",
	"transpose_load_func", "transpose_load_self", "transpose_load_image", "transpose_store",
	"broadcast_load_func", "broadcast_load_self", "broadcast_load_image", "broadcast_store",
	"slice_load_func", "slice_load_self", "slice_load_image", "slice_store",
}

// UsesFloats says whether any stage computes with floating-point numbers.
func (p *Pipeline) UsesFloats() bool {
	for i := range p.Funcs {
		for j := range p.Funcs[i].Stages {
			for k, n := range p.Funcs[i].Stages[j].Features {
				if n != 0 && k%len(FeatureTypes) >= firstFloat {
					return true
				}
			}
		}
	}
	return false
}

// Widths are the bits of the narrowest and the widest numbers that a stage computes with,
// truth values and what WithOwnLanes passes over left out; 0 where there are none.
func (s *Stage) Widths() (narrowest, widest int) {
	for k, n := range s.Features[:len(FeatureTypes)] { // types_in_use
		if n == 0 || featureBits[k] <= s.passedOver {
			continue
		}
		if narrowest == 0 || featureBits[k] < narrowest {
			narrowest = featureBits[k]
		}
		widest = max(widest, featureBits[k])
	}
	return narrowest, widest
}

// LongestFloatSum is how many single-precision numbers the longest sum adds up whose order
// may be changed, at the estimated sizes; 0 where there is none.
func (p *Pipeline) LongestFloatSum() int64 {
	longest := int64(0)
	for i := range p.Funcs {
		for j := range p.Funcs[i].Stages {
			if s := &p.Funcs[i].Stages[j]; s.adds(firstFloat) {
				longest = max(longest, s.summed())
			}
		}
	}
	return longest
}

// AddsFloats says whether a stage adds up floating-point numbers in an order that may be
// changed.
func (s *Stage) AddsFloats() bool { return s.adds(firstFloat) || s.adds(doubles) }

// adds says so of one column of FeatureTypes.
func (s *Stage) adds(column int) bool {
	return s.Associative && s.Features[addRow*len(FeatureTypes)+column] != 0
}

// CallsImages says whether a stage loads from an image that is no Func.
func (s *Stage) CallsImages() bool {
	row := s.Features[imageCallRow*len(FeatureTypes):][:len(FeatureTypes)]
	return slices.ContainsFunc(row, func(n int32) bool { return n > 0 })
}

// PureLoop is the loop over dimension dim of the Func whose iterations are independent, -1
// where the stage has none.
func (s *Stage) PureLoop(dim int) int {
	return slices.IndexFunc(s.Loops, func(l Loop) bool { return l.Pure && !l.RVar && l.PureDim == dim })
}

// Reduces says whether the stage has a reduction loop.
func (s *Stage) Reduces() bool {
	return slices.ContainsFunc(s.Loops, func(l Loop) bool { return l.RVar })
}

// summed is how many iterations the reduction loops have for each point, those left out
// whose number hangs on the point.
func (s *Stage) summed() int64 {
	n := int64(1)
	for _, l := range s.Loops {
		if l.RVar && l.Const != nil {
			n *= l.Const[1] - l.Const[0] + 1
		}
	}
	return n
}

// VectorRegisters is how many vector registers the target has: 32 with AVX-512, on
// 64-bit Arm, RISC-V and POWER, else 16.
func (p *Pipeline) VectorRegisters() int {
	parts := strings.Split(p.Target, "-")
	if slices.ContainsFunc(parts, func(s string) bool { return strings.HasPrefix(s, "avx512") }) {
		return 32
	}
	if slices.Contains([]string{"riscv", "powerpc"}, parts[0]) || parts[0] == "arm" && slices.Contains(parts, "64") {
		return 32
	}
	return 16
}

// firstFloat is the first of the floating-point columns of FeatureTypes, doubles the last.
const firstFloat, doubles = 5, 6

// Rows of Stage.Features that are asked for.
var (
	addRow       = slices.Index(FeatureRows[:], "op_add")
	imageCallRow = slices.Index(FeatureRows[:], "op_image_call")
)

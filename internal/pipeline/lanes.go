package pipeline

import (
	"slices"
	"strings"
)

// WithOwnLanes is p with vectors of as many lanes as what its stages compute with fills, in
// place of what the narrowest type of all does as Adams2019 has it, where more lanes are
// nothing but more to compile:
//
//   - A narrower type is only looked up at places that are computed, as the bytes of a table
//     are, which come one by one.
//   - A narrower type is only chosen beside a wider one, as of the largest of several values the
//     place, in a tuple.
//   - Most of what a stage loads is looked up. Its vectors then have as many lanes as its widest
//     type fills, whatever else is read or written in rows.
//   - A stage writes where the data say, lane by lane, along one of its loops over points. Its
//     vectors too have as many lanes as its widest type fills.
//   - A stage adds up products of integers several times narrower (SummedAtOnce). It is the sums
//     that stay in registers, so its vectors have as many lanes as these fill.
//
// Loops over points that are shorter than the shortest of these vectors count as none of a
// vector's: the three channels of a table of colours lie side by side, and each lane of a vector
// of pixels is looked up. extents are those of the loops of a stage, innermost first, or nil
// for a Func that is none to compute. p and the result share all else.
func (p *Pipeline) WithOwnLanes(extents func(fn, stage int) []int64) *Pipeline {
	out := *p
	out.Funcs = slices.Clone(p.Funcs)
	bits := p.VectorBits()
	for f := range out.Funcs {
		fn := &out.Funcs[f]
		fn.Stages = slices.Clone(fn.Stages)
		most, fewer := 0, false
		for s := range fn.Stages {
			st := &fn.Stages[s]
			narrowest, widest := st.Widths()
			long := st.longLoops(extents(f, s), int64(bits/max(widest, 1)))
			asWidest := st.SummedAtOnce > 1 || st.mostlyLooksUp(long) || st.scatters()
			for narrowest < widest && (asWidest || p.onlyLooksUp(fn, st, long, narrowest)) {
				st.passedOver = narrowest
				narrowest, _ = st.Widths()
			}
			if lanes := bits / max(narrowest, 1); lanes < st.VectorSize && (asWidest || st.passedOver > 0) {
				st.VectorSize, fewer = max(1, lanes), true
			}
			most = max(most, st.VectorSize)
		}
		if fewer {
			fn.VectorSize = most
		}
	}
	return &out
}

// VectorBits is how many bits a vector has: what a stage stores may be narrower than all that
// it computes with, so that its lanes times the width of these are more.
func (p *Pipeline) VectorBits() int {
	bits := 0
	for f := range p.Funcs {
		for s := range p.Funcs[f].Stages {
			st := &p.Funcs[f].Stages[s]
			if narrowest, _ := st.Widths(); narrowest > 0 && (bits == 0 || st.VectorSize*narrowest < bits) {
				bits = st.VectorSize * narrowest
			}
		}
	}
	return bits
}

// scatters holds where a stage writes where the data say along a loop over points.
func (s *Stage) scatters() bool {
	return slices.ContainsFunc(s.Loops, func(l Loop) bool { return l.Pure && l.PureDim >= 0 && l.Scatters })
}

// longLoops lists the loops over points that have so many.
func (s *Stage) longLoops(extents []int64, points int64) []int {
	var out []int
	for i, e := range extents {
		if !s.Loops[i].RVar && e >= points {
			out = append(out, i)
		}
	}
	return out
}

// mostlyLooksUp holds where a stage has more loads that are looked up than others that move
// with one of these loops over points.
func (s *Stage) mostlyLooksUp(loops []int) bool {
	looked, others := int64(0), int64(0)
	for e := range s.Edges {
		for k := range s.Edges[e].Jacobians {
			switch j := &s.Edges[e].Jacobians[k]; {
			case j.looksUp(loops):
				looked += j.Count
			case j.movesWith(loops):
				others += j.Count
			}
		}
	}
	return looked > others
}

// onlyLooksUp holds where all that a stage of fn, which has these loops over points, does with
// numbers of so many bits is to look them up, or to choose one in a tuple.
func (p *Pipeline) onlyLooksUp(fn *Func, st *Stage, loops []int, bits int) bool {
	if fn.BytesPerPoint*8 <= int64(bits) {
		return false // as narrow as what is stored
	}
	loads := 0
	for row, name := range FeatureRows {
		if !strings.HasPrefix(name, "op_") {
			continue
		}
		for k, b := range featureBits {
			n := int(st.Features[row*len(FeatureTypes)+k])
			switch {
			case b != bits || n == 0 || len(fn.Types) > 1 && isChoosing(name):
			case name == "op_image_call" || name == "op_func_call":
				loads += n
			default:
				return false
			}
		}
	}
	for e := range st.Edges {
		producer := &p.Funcs[st.Edges[e].Producer]
		if producer.BytesPerPoint*8 != int64(bits) {
			continue
		}
		for k := range st.Edges[e].Jacobians {
			j := &st.Edges[e].Jacobians[k]
			if !j.looksUp(loops) {
				return false
			}
			loads -= int(j.Count)
		}
	}
	return loads == 0 // the others are of Funcs with several values
}

// isChoosing holds for what a place is kept with beside the value that is there.
func isChoosing(op string) bool {
	return slices.Contains([]string{"op_const", "op_cast", "op_select", "op_let"}, op)
}

// looksUp holds where loads lie at computed places, and not side by side along any of these
// loops.
func (j *Jacobian) looksUp(loops []int) bool {
	sideBySide := func(i int) bool {
		return len(j.Coeffs) > 0 && j.Coeffs[0][i].Den != 0 && j.Coeffs[0][i].Num != 0
	}
	return j.LookedUp == j.Count && !slices.ContainsFunc(loops, sideBySide)
}

// movesWith holds where loads move with one of these loops.
func (j *Jacobian) movesWith(loops []int) bool {
	return slices.ContainsFunc(loops, j.Moves)
}

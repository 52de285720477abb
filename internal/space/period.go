package space

import "github.com/protuner/protuner/internal/pipeline"

// mostPeriod is how long a period is at most that a loop is written out for.
const mostPeriod = 7

// Periods is, by Func and dimension, after how many vectors along it what is read was packed
// as before: three where six values of ten bits lie in two words, which are read at x / 3.
// Where as many vectors are unrolled Halide knows which value each lane takes, loads words and
// shuffles them; else it gathers lane by lane. Funcs that are inlined, as inlined says, count
// where they are read. Lengths of vectors are powers of two, so periods are odd; 1 where there
// is none, or a longer one than mostPeriod.
func (sp *Space) Periods(inlined func(f int) bool) [][]int64 {
	points := make([][]int64, len(sp.nodes)) // in points, producers before those that read them
	for f := len(sp.nodes) - 1; f >= 0; f-- {
		n := &sp.nodes[f]
		points[f] = make([]int64, n.dims)
		for dim := range points[f] {
			points[f][dim] = 1
			for s := range n.Stages {
				if loop := n.Stages[s].PureLoop(dim); loop >= 0 {
					points[f][dim] = lcm(points[f][dim], periodOf(&n.Stages[s], loop, func(g int) []int64 {
						if g == f || !inlined(g) {
							return nil
						}
						return points[g]
					}))
				}
			}
		}
	}
	for _, of := range points {
		for dim := range of {
			for of[dim]%2 == 0 {
				of[dim] /= 2
			}
			if of[dim] > mostPeriod {
				of[dim] = 1
			}
		}
	}
	return points
}

// periodOf is after how many iterations of a loop what a stage loads is packed as before,
// where within gives the periods of producers that are inlined.
func periodOf(st *pipeline.Stage, loop int, within func(f int) []int64) int64 {
	period := int64(1)
	for e := range st.Edges {
		inside := within(st.Edges[e].Producer)
		for j := range st.Edges[e].Jacobians {
			for dim, row := range st.Edges[e].Jacobians[j].Coeffs {
				step := row[loop]
				if step.Num == 0 || step.Den == 0 {
					continue // it does not move, or nobody knows how
				}
				common := pipeline.GCD(step.Num, step.Den)
				num, den := step.Num/common, step.Den/common
				period = lcm(period, den)
				if dim < len(inside) {
					period = lcm(period, den*(inside[dim]/pipeline.GCD(num, inside[dim])))
				}
			}
		}
	}
	return period
}

// lcm is 1 beyond what any period of interest is, so that it never overflows.
func lcm(a, b int64) int64 {
	if m := a / pipeline.GCD(a, b) * b; m > 0 && m < 1<<20 {
		return m
	}
	return 1
}

package apps

import (
	"math"
	"math/rand"
	"strconv"
)

func itoa(i int) string { return strconv.Itoa(i) }

// memo remembers a function of a place, which is how pyramids are written down here:
// as they are defined, each level in terms of others.
func memo(f func(x, y, k int) float64) func(x, y, k int) float64 {
	known := map[[3]int]float64{}
	return func(x, y, k int) float64 {
		v, ok := known[[3]int{x, y, k}]
		if !ok {
			v = f(x, y, k)
			known[[3]int{x, y, k}] = v
		}
		return v
	}
}

type level = func(x, y, k int) float64

// halved is f at half the size, with the kernel 1 3 3 1.
func halved(f level) level {
	kernel := []float64{1, 3, 3, 1}
	return memo(func(x, y, k int) (sum float64) {
		for j, wy := range kernel {
			for i, wx := range kernel {
				sum += wx * wy / 64 * f(2*x-1+i, 2*y-1+j, k)
			}
		}
		return sum
	})
}

// doubled is f at twice the size, a quarter of the way from the nearest pixel's centre
// towards the next.
func doubled(f level) level {
	return func(x, y, k int) (sum float64) {
		for _, a := range quarter(x) {
			for _, b := range quarter(y) {
				sum += a.weight * b.weight * f(a.at, b.at, k)
			}
		}
		return sum
	}
}

type tap struct {
	at     int
	weight float64
}

func quarter(v int) []tap {
	near := floorDiv(v, 2)
	if v == 2*near {
		return []tap{{near, 0.75}, {near - 1, 0.25}}
	}
	return []tap{{near, 0.75}, {near + 1, 0.25}}
}

func interpolate(r *rand.Rand) trial {
	const levels, border = 6, 4
	in := random(r, "f4", 128, 96, 4)
	for i := range in.v[:128*96] { // holes: alpha is the last plane
		if r.Intn(3) > 0 {
			in.v[3*128*96+i] = 0
		}
	}
	pulled := []level{func(x, y, c int) float64 {
		if c < 3 {
			return in.near(x, y, c) * in.near(x, y, 3)
		}
		return in.near(x, y, 3)
	}}
	for l := 1; l < levels; l++ {
		finer := pulled[l-1]
		if l == border {
			inner := finer
			finer = func(x, y, c int) float64 {
				return inner(min(max(x, 0), 128>>(l-1)), min(max(y, 0), 96>>(l-1)), c)
			}
		}
		tent := []float64{1, 2, 1}
		pulled = append(pulled, memo(func(x, y, c int) (sum float64) {
			for j, wy := range tent {
				for i, wx := range tent {
					sum += wx * wy / 16 * finer(2*x-1+i, 2*y-1+j, c)
				}
			}
			return sum
		}))
	}
	filled := pulled[levels-1]
	for l := levels - 2; l >= 0; l-- {
		coarser, here := filled, pulled[l]
		filled = memo(func(x, y, c int) float64 {
			var pushed float64
			for _, cy := range []int{floorDiv(y, 2), floorDiv(y+1, 2)} {
				for _, cx := range []int{floorDiv(x, 2), floorDiv(x+1, 2)} {
					pushed += coarser(cx, cy, c) / 4
				}
			}
			return here(x, y, c) + (1-here(x, y, 3))*pushed
		})
	}
	return trial{
		params: param("levels", itoa(levels)), buffers: map[string]*image{"input": in}, output: blank("f4", 128, 96, 3),
		want:     func(at []int) float64 { return filled(at[0], at[1], at[2]) / filled(at[0], at[1], 3) },
		relative: 1e-4, absolute: 1e-5,
	}
}

func localLaplacian(r *rand.Rand) trial {
	const pyramid, levels, alpha, beta = 6, 5, 0.8, 0.7
	in := wavy(r, 160, 136, 3)
	in.kind = "u2"
	for i := range in.v {
		in.v[i] = math.Floor(in.v[i] * 65535)
	}
	luma := memo(func(x, y, _ int) float64 {
		part := func(c int, weight float64) float64 { return f32(f32(weight) * f32(in.near(x, y, c)/65535)) }
		return f32(f32(part(0, 0.299)+part(1, 0.587)) + part(2, 0.114))
	})
	detail := func(step int) float64 {
		d := float64(step) / 256
		return alpha * d * math.Exp(-d*d/2)
	}
	remapped := memo(func(x, y, k int) float64 {
		l, intensity := luma(x, y, 0), float64(k)/(levels-1)
		step := int(clamp(math.Trunc(f32(f32(l*(levels-1))*256)), 0, (levels-1)*256))
		return beta*(l-intensity) + intensity + detail(step-256*k)
	})
	processed, guide := []level{remapped}, []level{luma}
	for j := 1; j < pyramid; j++ {
		processed, guide = append(processed, halved(processed[j-1])), append(guide, halved(guide[j-1]))
	}
	var result level
	for j := pyramid - 1; j >= 0; j-- {
		coarser := result
		band := processed[j]
		if j < pyramid-1 {
			enlarged := doubled(processed[j+1])
			band = func(x, y, k int) float64 { return processed[j](x, y, k) - enlarged(x, y, k) }
		}
		result = memo(func(x, y, _ int) float64 {
			place := guide[j](x, y, 0) * (levels - 1)
			below := int(clamp(math.Trunc(place), 0, levels-2))
			above := place - float64(below)
			v := (1-above)*band(x, y, below) + above*band(x, y, below+1)
			if coarser != nil {
				v += doubled(coarser)(x, y, 0)
			}
			return v
		})
	}
	return trial{
		params: param("pyramid_levels", itoa(pyramid)), buffers: map[string]*image{"input": in}, output: in,
		scalars: map[string]float64{"levels": levels, "alpha": alpha, "beta": beta},
		want: func(at []int) float64 {
			v := in.at(at...) * (result(at[0], at[1], 0) + 0.01) / (luma(at[0], at[1], 0) + 0.01)
			return math.Trunc(clamp(v, 0, 65535))
		},
		// Where luminance is next to a step of the table of details, the step before or
		// after may be taken.
		relative: 1e-3, absolute: 2, strays: 1e-3, points: 10000,
	}
}

func bilateralGrid(r *rand.Rand) trial {
	const side, rSigma = 8, 0.1
	in := wavy(r, 96, 70)
	const before, deep = 4, 20 // of cells in front of the first one, and of planes in all
	wide, high := in.n[0]/side+1+2*before, in.n[1]/side+2+2*before
	type cell struct{ value, weight float64 }
	grid := make([]cell, wide*high*deep)
	index := func(x, y, z int) int { return (x + before) + wide*((y+before)+high*(z+before)) }
	for y := -before; y < high-before; y++ {
		for x := -before; x < wide-before; x++ {
			for j := range side {
				for i := range side {
					v := clamp(in.near(x*side+i-side/2, y*side+j-side/2), 0, 1)
					at := &grid[index(x, y, int(f32(v*(1/rSigma))+0.5))]
					at.value, at.weight = at.value+v, at.weight+1
				}
			}
		}
	}
	kernel := []float64{1, 4, 6, 4, 1}
	for _, stride := range []int{wide * high, 1, wide} {
		next := make([]cell, len(grid))
		for i := range grid {
			for d, w := range kernel {
				if from := i + (d-2)*stride; from >= 0 && from < len(grid) {
					next[i].value += w * grid[from].value
					next[i].weight += w * grid[from].weight
				}
			}
		}
		grid = next
	}
	return trial{
		buffers: map[string]*image{"input": in}, scalars: map[string]float64{"r_sigma": rSigma}, output: in,
		want: func(at []int) float64 {
			depth := clamp(in.at(at...), 0, 1) / rSigma
			var value, weight float64
			for dz, wz := range part(depth) {
				for dy, wy := range part(float64(at[1]) / side) {
					for dx, wx := range part(float64(at[0]) / side) {
						c := grid[index(at[0]/side+dx, at[1]/side+dy, int(depth)+dz)]
						value += wx * wy * wz * c.value
						weight += wx * wy * wz * c.weight
					}
				}
			}
			return value / weight
		},
		relative: 1e-4, strays: 1e-2, // a pixel between two planes may be splatted into either
	}
}

// part gives the weights of the two whole numbers around v.
func part(v float64) [2]float64 {
	f := v - math.Floor(v)
	return [2]float64{1 - f, f}
}

func bgu(r *rand.Rand) trial {
	const side, scale, rSigma = 8, 8, 0.125
	before := wavy(r, 40, 24, 3)
	after := blank("f4", before.n...)
	for i, v := range before.v { // the filter to be learned: more contrast
		after.v[i] = f32(v*v*(3-2*v)*0.9 + 0.05)
	}
	large := wavy(r, 40*scale, 24*scale, 3)
	luma := func(m *image, x, y int) float64 {
		return 0.25*m.near(x, y, 0) + 0.5*m.near(x, y, 1) + 0.25*m.near(x, y, 2)
	}
	// What least squares need: the products of a pixel's colours and one with
	// themselves and with its colours after the filter.
	type moments [4][7]float64
	cell := map[[3]int]*moments{}
	const out = 4 // cells around the image that its edges and blurs reach
	for y := -out; y <= 24/side+out; y++ {
		for x := -out; x <= 40/side+out; x++ {
			for j := range side {
				for i := range side {
					sx, sy := x*side+i-side/2, y*side+j-side/2
					z := int(math.RoundToEven(f32(clamp(luma(before, sx, sy), 0, 1)) / rSigma))
					m := cell[[3]int{x, y, z}]
					if m == nil {
						m = new(moments)
						cell[[3]int{x, y, z}] = m
					}
					var p [7]float64
					for c := range 3 {
						p[c], p[4+c] = before.near(sx, sy, c), after.near(sx, sy, c)
					}
					p[3] = 1
					for a := range 4 {
						for b := range p {
							m[a][b] += p[a] * p[b]
						}
					}
				}
			}
		}
	}
	weight := func(d int) float64 { return 1 / math.Pow(math.Abs(float64(d))+1, 3) }
	maps := map[[3]int][4][3]float64{}
	mapAt := func(x, y, z int) [4][3]float64 {
		if m, ok := maps[[3]int{x, y, z}]; ok {
			return m
		}
		var sum moments
		for dz := -3; dz <= 3; dz++ {
			for dy := -3; dy <= 3; dy++ {
				for dx := -3; dx <= 3; dx++ {
					if m := cell[[3]int{x + dx, y + dy, z + dz}]; m != nil {
						for a := range 4 {
							for b := range m[a] {
								sum[a][b] += weight(dx) * weight(dy) * weight(dz) * m[a][b]
							}
						}
					}
				}
			}
		}
		for a := range 4 {
			sum[a][a] += 0.1
			if a < 3 {
				sum[a][4+a] += 0.1
			}
		}
		m := solved(sum)
		maps[[3]int{x, y, z}] = m
		return m
	}
	return trial{
		buffers: map[string]*image{"splat_loc": before, "values": after, "slice_loc": large}, output: large,
		scalars: map[string]float64{"r_sigma": rSigma, "s_sigma": side},
		want: func(at []int) float64 {
			x, y := float64(at[0])/(side*scale), float64(at[1])/(side*scale)
			z := clamp(luma(large, at[0], at[1]), 0, 1) / rSigma
			var sum float64
			for dz, wz := range part(z) {
				for dy, wy := range part(y) {
					for dx, wx := range part(x) {
						m := mapAt(int(x)+dx, int(y)+dy, int(z)+dz)
						mapped := m[3][at[2]]
						for c := range 3 {
							mapped += m[c][at[2]] * large.at(at[0], at[1], c)
						}
						sum += wx * wy * wz * mapped
					}
				}
			}
			return clamp(sum, 0, 1)
		},
		// Its divisions are approximate (fast_inverse).
		absolute: 2e-2, strays: 1e-3, points: 20000,
	}
}

// solved takes four equations in four unknowns with three right-hand sides.
func solved(m [4][7]float64) (x [4][3]float64) {
	for p := range 4 {
		for row := range 4 {
			if row != p {
				f := m[row][p] / m[p][p]
				for c := range m[row] {
					m[row][c] -= f * m[p][c]
				}
			}
		}
	}
	for row := range 4 {
		for c := range 3 {
			x[row][c] = m[row][4+c] / m[row][row]
		}
	}
	return x
}

package apps

import (
	"math"
	"math/rand"
)

// f32 rounds to what Halide computes with, where a decision hangs on it.
func f32(v float64) float64 { return float64(float32(v)) }

func clamp(v, low, high float64) float64 { return min(max(v, low), high) }

// floorDiv rounds down, as Halide's division does.
func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func luma601(r, g, b float64) float64 { return 0.299*r + 0.587*g + 0.114*b }

func harris(r *rand.Rand) trial {
	const width, height, margin = 100, 70, 3
	in := random(r, "f4", width, height, 3)
	luma := func(x, y int) float64 { return luma601(in.at(x, y, 0), in.at(x, y, 1), in.at(x, y, 2)) }
	smooth := []float64{1, 2, 1}
	gradient := func(x, y int) (gx, gy float64) {
		for d := -1; d <= 1; d++ {
			gx += smooth[d+1] / 12 * (luma(x+1, y+d) - luma(x-1, y+d))
			gy += smooth[d+1] / 12 * (luma(x+d, y+1) - luma(x+d, y-1))
		}
		return gx, gy
	}
	return trial{
		buffers: map[string]*image{"input": in},
		output:  blank("f4", width-2*margin, height-2*margin), from: []int{margin, margin},
		want: func(at []int) float64 {
			var xx, xy, yy float64
			for dy := -1; dy <= 1; dy++ {
				for dx := -1; dx <= 1; dx++ {
					gx, gy := gradient(at[0]+dx, at[1]+dy)
					xx, xy, yy = xx+gx*gx, xy+gx*gy, yy+gy*gy
				}
			}
			return xx*yy - xy*xy - 0.04*(xx+yy)*(xx+yy)
		},
		relative: 1e-3, absolute: 1e-4,
	}
}

func gaussian(d int, sigma float64) float64 { return math.Exp(-float64(d*d) / (2 * sigma * sigma)) }

func unsharp(r *rand.Rand) trial {
	in := random(r, "f4", 100, 70, 3)
	luma := func(x, y int) float64 { return luma601(in.near(x, y, 0), in.near(x, y, 1), in.near(x, y, 2)) }
	const sigma = 1.5
	return trial{
		buffers: map[string]*image{"input": in}, output: in,
		want: func(at []int) float64 {
			x, y := at[0], at[1]
			var blurred float64
			for dy := -3; dy <= 3; dy++ {
				for dx := -3; dx <= 3; dx++ {
					blurred += gaussian(dx, sigma) * gaussian(dy, sigma) / (2 * math.Pi * sigma * sigma) * luma(x+dx, y+dy)
				}
			}
			return (2*luma(x, y) - blurred) / luma(x, y) * in.at(at...)
		},
		relative: 1e-4, absolute: 1e-4,
	}
}

func hist(r *rand.Rand) trial {
	in := random(r, "u1", 128, 70, 3)
	luma := func(x, y int) float64 { return luma601(in.at(x, y, 0), in.at(x, y, 1), in.at(x, y, 2)) }
	var cumulative [256]float64
	for y := range in.n[1] {
		for x := range in.n[0] {
			cumulative[int(clamp(luma(x, y), 0, 255))]++
		}
	}
	for i := 1; i < 256; i++ {
		cumulative[i] += cumulative[i-1]
	}
	area := float64(in.n[0] * in.n[1])
	return trial{
		buffers: map[string]*image{"input": in}, output: in,
		want: func(at []int) float64 {
			x, y := at[0], at[1]
			l := luma(x, y)
			cr, cb := (in.at(x, y, 0)-l)*0.713, (in.at(x, y, 2)-l)*0.564
			bright := clamp(cumulative[int(clamp(l, 0, 255))]*255/area, 0, 255)
			value := []float64{bright + 1.4*cr, bright - 0.343*cb - 0.711*cr, bright + 1.765*cb}[at[2]]
			return math.Floor(clamp(value, 0, 255))
		},
		// Brightness next to a whole number may fall to either side.
		absolute: 2, strays: 1e-3,
	}
}

func stencilChain(r *rand.Rand) trial {
	const stages, width, height = 13, 70, 330
	in := random(r, "u2", width, height)
	// Stages go beyond the image; only the input repeats its edge. Each is computed
	// with the margin that those after it need.
	margin := 2 * stages
	row := width + 2*margin
	value := make([]uint16, row*(height+2*margin))
	for i := range value {
		value[i] = uint16(in.near(i%row-margin, i/row-margin))
	}
	for s := 1; s <= stages; s++ {
		next := make([]uint16, len(value))
		for y := 2 * s; y < height+2*margin-2*s; y++ {
			for x := 2 * s; x < row-2*s; x++ {
				var sum uint16
				for dy := -2; dy <= 2; dy++ {
					for dx := -2; dx <= 2; dx++ {
						sum += uint16((dx+3)*(dy+3)) * value[(y+dy)*row+x+dx]
					}
				}
				next[y*row+x] = sum
			}
		}
		value = next
	}
	return trial{
		params: param("stencils", "13"), buffers: map[string]*image{"input": in}, output: in,
		want: func(at []int) float64 { return float64(value[(at[1]+margin)*row+at[0]+margin]) },
	}
}

func maxFilter(r *rand.Rand) trial {
	const radius = 9
	in := random(r, "f4", 280, 45, 3)
	return trial{
		params: param("radius", "9"), buffers: map[string]*image{"input": in}, output: in,
		want: func(at []int) float64 {
			largest := math.Inf(-1)
			for dx := -radius; dx <= radius; dx++ {
				reach := 0
				for dy := 0; dy <= radius; dy++ {
					if float64(dx*dx+dy*dy) < (radius+0.25)*(radius+0.25) {
						reach++
					}
				}
				for dy := -reach; dy <= reach; dy++ {
					largest = max(largest, in.near(at[0]+dx, at[1]+dy, at[2]))
				}
			}
			return largest
		},
	}
}

func iirBlur(r *rand.Rand) trial {
	in := random(r, "f4", 160, 136, 3)
	const alpha = 0.25
	out := blank("f4", in.n...)
	copy(out.v, in.v)
	// smooth runs a first-order filter over n values a stride apart, there and back.
	smooth := func(v []float64, n, stride int) {
		for i := 1; i < n; i++ {
			v[i*stride] = (1-alpha)*v[(i-1)*stride] + alpha*v[i*stride]
		}
		for i := n - 2; i >= 0; i-- {
			v[i*stride] = (1-alpha)*v[(i+1)*stride] + alpha*v[i*stride]
		}
	}
	w, h := in.n[0], in.n[1]
	for c := range 3 {
		plane := out.v[c*w*h:]
		for x := range w {
			smooth(plane[x:], h, w)
		}
		for y := range h {
			smooth(plane[y*w:], w, 1)
		}
	}
	return trial{
		params:  append(param("width", "160"), param("height", "136")...),
		buffers: map[string]*image{"input": in}, scalars: map[string]float64{"alpha": alpha}, output: in,
		want: func(at []int) float64 { return out.at(at...) }, relative: 1e-4, absolute: 1e-5,
	}
}

func nlMeans(r *rand.Rand) trial {
	in := wavy(r, 150, 40, 3)
	const patch, area, sigma = 3, 5, 0.12
	return trial{
		buffers: map[string]*image{"input": in}, output: in,
		scalars: map[string]float64{"patch_size": patch, "search_area": area, "sigma": sigma},
		want: func(at []int) float64 {
			var value, weights float64
			for dy := -area / 2; dy <= area/2; dy++ {
				for dx := -area / 2; dx <= area/2; dx++ {
					var distance float64
					for py := -patch / 2; py <= patch/2; py++ {
						for px := -patch / 2; px <= patch/2; px++ {
							// The two patches' pixels are those of the padded image at (x, y) and
							// (x + dx, y + dy), each clamped for itself.
							for c := range 3 {
								d := in.near(at[0]+px, at[1]+py, c) - in.near(at[0]+px+dx, at[1]+py+dy, c)
								distance += d * d
							}
						}
					}
					w := math.Exp(-distance / (sigma * sigma * patch * patch))
					weights += w
					value += w * in.near(at[0]+dx, at[1]+dy, at[2])
				}
			}
			return clamp(value/weights, 0, 1)
		},
		relative: 1e-3, absolute: 1e-4, points: 3000,
	}
}

func gaussianBlur(r *rand.Rand) trial {
	in := random(r, "f4", 100, 70, 3)
	const sigma, reach = 3.0, 9
	var all float64
	for d := -reach; d <= reach; d++ {
		all += gaussian(d, sigma)
	}
	return trial{
		buffers: map[string]*image{"input": in}, output: in,
		want: func(at []int) (sum float64) {
			for dy := -reach; dy <= reach; dy++ {
				for dx := -reach; dx <= reach; dx++ {
					sum += gaussian(dx, sigma) * gaussian(dy, sigma) / (all * all) * in.near(at[0]+dx, at[1]+dy, at[2])
				}
			}
			return sum
		},
		relative: 1e-4, points: 4000,
	}
}

func boxBlur(r *rand.Rand) trial {
	in := random(r, "u1", 100, 70)
	const radius = 5
	return trial{
		buffers: map[string]*image{"input": in}, output: in,
		want: func(at []int) float64 {
			var sum float64
			for dy := -radius; dy <= radius; dy++ {
				for dx := -radius; dx <= radius; dx++ {
					sum += in.near(at[0]+dx, at[1]+dy)
				}
			}
			return math.Round(sum / ((2*radius + 1) * (2*radius + 1)))
		},
	}
}

func sobel(r *rand.Rand) trial {
	in := random(r, "u1", 100, 70)
	for i := range in.v { // weak edges, or all of them would be clipped
		in.v[i] = 100 + math.Mod(in.v[i], 60)
	}
	weight := []float64{1, 2, 1}
	return trial{
		buffers: map[string]*image{"input": in}, output: in,
		want: func(at []int) float64 {
			var gx, gy float64
			for d := -1; d <= 1; d++ {
				gx += weight[d+1] * (in.near(at[0]+1, at[1]+d) - in.near(at[0]-1, at[1]+d))
				gy += weight[d+1] * (in.near(at[0]+d, at[1]+1) - in.near(at[0]+d, at[1]-1))
			}
			return min(math.Abs(gx)+math.Abs(gy), 255)
		},
	}
}

func yuvTrial(r *rand.Rand, of string) trial {
	in := random(r, "u1", 128, 72, 3)
	weighed := func(x, y int, red, green, blue float64) float64 {
		return math.Floor((red*in.at(x, y, 0) + green*in.at(x, y, 1) + blue*in.at(x, y, 2) + 128) / 256)
	}
	luma, chroma := blank("u1", 128, 72), blank("u1", 64, 36, 2)
	tr := trial{name: "/" + of, buffers: map[string]*image{"input": in}, of: of}
	if of == "luma" {
		tr.output, tr.others = luma, map[string]*image{"chroma": chroma}
		tr.want = func(at []int) float64 { return weighed(at[0], at[1], 66, 129, 25) + 16 }
		return tr
	}
	tr.output, tr.others = chroma, map[string]*image{"luma": luma}
	tr.want = func(at []int) float64 {
		weights := [][]float64{{-38, -74, 112}, {112, -94, -18}}[at[2]]
		var sum float64
		for i := range 4 {
			sum += weighed(2*at[0]+i%2, 2*at[1]+i/2, weights[0], weights[1], weights[2])
		}
		return math.Floor(sum/4) + 128
	}
	return tr
}

func yuvLuma(r *rand.Rand) trial { return yuvTrial(r, "luma") }

func yuvChroma(r *rand.Rand) trial { return yuvTrial(r, "chroma") }

func opticalFlow(r *rand.Rand) trial {
	before, after := wavy(r, 100, 70), wavy(r, 100, 70)
	return trial{
		buffers: map[string]*image{"before": before, "after": after}, output: blank("f4", 100, 70, 2),
		want: func(at []int) float64 {
			var xx, xy, yy, xt, yt float64
			for i := range 25 {
				x, y := at[0]+i%5-2, at[1]+i/5-2
				dx := (before.near(x+1, y) - before.near(x-1, y)) / 2
				dy := (before.near(x, y+1) - before.near(x, y-1)) / 2
				dt := after.near(x, y) - before.near(x, y)
				xx, xy, yy, xt, yt = xx+dx*dx, xy+dx*dy, yy+dy*dy, xt+dx*dt, yt+dy*dt
			}
			determinant := xx*yy - xy*xy + 1e-3
			return []float64{xy*yt - yy*xt, xy*xt - xx*yt}[at[2]] / determinant
		},
		relative: 1e-3, absolute: 1e-4,
	}
}

func dct(r *rand.Rand) trial {
	in, quantum := random(r, "u1", 64, 40), random(r, "u1", 8, 8)
	quantum.v[5] = 0
	basis := func(u, i int) float64 {
		scale := 0.5
		if u == 0 {
			scale = math.Sqrt(0.125)
		}
		return scale * math.Cos(float64((2*i+1)*u)*math.Pi/16)
	}
	return trial{
		buffers: map[string]*image{"input": in, "quantum": quantum}, output: blank("i2", in.n...),
		want: func(at []int) float64 {
			u, v := at[0]%8, at[1]%8
			var sum float64
			for j := range 8 {
				for i := range 8 {
					sum += basis(u, i) * basis(v, j) * (in.at(at[0]-u+i, at[1]-v+j) - 128)
				}
			}
			return math.RoundToEven(sum / max(quantum.at(u, v), 1))
		},
		absolute: 1, // halves may be rounded either way
	}
}

func bilinearResize(r *rand.Rand) trial {
	in := random(r, "u1", 60, 50, 3)
	const scale = 1.7
	split := func(v int) (int, float64) {
		at := f32(f32(float64(v)+0.5)/f32(scale)) - 0.5
		return int(math.Floor(at)), at - math.Floor(at)
	}
	return trial{
		buffers: map[string]*image{"input": in}, scalars: map[string]float64{"scale": scale}, output: blank("u1", 102, 85, 3),
		want: func(at []int) float64 {
			x, fx := split(at[0])
			y, fy := split(at[1])
			row := func(x int) float64 { return (1-fy)*in.near(x, y, at[2]) + fy*in.near(x, y+1, at[2]) }
			return math.RoundToEven((1-fx)*row(x) + fx*row(x+1))
		},
		absolute: 1, // halves may be rounded either way
	}
}

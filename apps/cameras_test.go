package apps

import (
	"math"
	"math/rand"
)

func cameraPipe(r *rand.Rand) trial {
	const width, height, marginX, marginY = 160, 66, 16, 12
	const temperature, gammaValue, contrast, strength, black, white = 4000, 2.0, 50, 1.5, 25, 1023
	in := blank("u2", width+2*marginX, height+2*marginY)
	for i := range in.v { // far from black, where the tone curve rises steeply
		in.v[i] = float64(400 + r.Intn(200))
	}
	warm, cold := blank("f4", 4, 3), blank("f4", 4, 3)
	for row := range 3 {
		for column := range 4 {
			i := row*4 + column
			warm.v[i], cold.v[i] = f32(r.Float64()/4), f32(r.Float64()/4)
			if column == row {
				warm.v[i], cold.v[i] = warm.v[i]+1, cold.v[i]+1
			}
			if column == 3 {
				warm.v[i], cold.v[i] = -20*warm.v[i], -20*cold.v[i]
			}
		}
	}

	pixel := func(x, y int) int { return int(in.at(x+marginX, y+marginY)) }
	denoised := func(x, y int) int {
		around := max(pixel(x-2, y), pixel(x+2, y), pixel(x, y-2), pixel(x, y+2))
		return min(pixel(x, y), around)
	}
	// The four colours of a quad, each a plane of quarter size.
	type plane = func(x, y int) int
	site := func(dx, dy int) plane {
		return func(x, y int) int { return denoised(2*x+dx, 2*y+dy) }
	}
	gr, red, blue, gb := site(0, 0), site(1, 0), site(0, 1), site(1, 1)
	mean := func(p, q int) int { return (p + q + 1) / 2 }
	apart := func(p, q int) int { return max(p-q, q-p) }
	// Green where it was not measured, along the axis on which it changes less.
	green := func(left, right, above, below int) int {
		if apart(left, right) < apart(above, below) {
			return mean(left, right)
		}
		return mean(above, below)
	}
	greenAtRed := func(x, y int) int { return green(gr(x, y), gr(x+1, y), gb(x, y-1), gb(x, y)) }
	greenAtBlue := func(x, y int) int { return green(gb(x-1, y), gb(x, y), gr(x, y), gr(x, y+1)) }
	// Another colour between two places where it was measured, corrected by how far
	// green there is from green here.
	between := func(here int, color, green plane, px, py, qx, qy int) int {
		return here - mean(green(px, py), green(qx, qy)) + mean(color(px, py), color(qx, qy))
	}
	across := func(here int, color, green plane, p, q, s, t [2]int) int {
		if apart(color(p[0], p[1]), color(q[0], q[1])) < apart(color(s[0], s[1]), color(t[0], t[1])) {
			return between(here, color, green, p[0], p[1], q[0], q[1])
		}
		return between(here, color, green, s[0], s[1], t[0], t[1])
	}
	demosaiced := func(x, y int) [3]int {
		qx, qy := floorDiv(x, 2), floorDiv(y, 2)
		switch {
		case x == 2*qx && y == 2*qy:
			g := gr(qx, qy)
			return [3]int{between(g, red, greenAtRed, qx-1, qy, qx, qy), g, between(g, blue, greenAtBlue, qx, qy, qx, qy-1)}
		case y == 2*qy:
			g := greenAtRed(qx, qy)
			return [3]int{red(qx, qy), g, across(g, blue, greenAtBlue,
				[2]int{qx, qy}, [2]int{qx + 1, qy - 1}, [2]int{qx + 1, qy}, [2]int{qx, qy - 1})}
		case x == 2*qx:
			g := greenAtBlue(qx, qy)
			return [3]int{across(g, red, greenAtRed,
				[2]int{qx, qy}, [2]int{qx - 1, qy + 1}, [2]int{qx - 1, qy}, [2]int{qx, qy + 1}), g, blue(qx, qy)}
		default:
			g := gb(qx, qy)
			return [3]int{between(g, red, greenAtRed, qx, qy, qx, qy+1), g, between(g, blue, greenAtBlue, qx, qy, qx+1, qy)}
		}
	}

	var matrix [3][4]int
	alpha := (1.0/temperature - 1.0/3200) / (1.0/7000 - 1.0/3200)
	for row := range matrix {
		for column := range matrix[row] {
			matrix[row][column] = int((warm.at(column, row)*alpha + cold.at(column, row)*(1-alpha)) * 256)
		}
	}
	tone := func(v int) int {
		switch v = min(max(v, 0), 1023); {
		case v <= black:
			return 0
		case v > white:
			return 255
		}
		g := math.Pow(float64(v-black)/(white-black), 1/gammaValue)
		linear := 2 - math.Pow(2, contrast/100.0)
		parabola := func(t float64) float64 { return (2-2*linear)*t*t + linear*t }
		toned := parabola(g)
		if g > 0.5 {
			toned = 1 - parabola(1-g)
		}
		return int(clamp(toned*255+0.5, 0, 255))
	}
	curved := memo(func(x, y, c int) float64 {
		rgb := demosaiced(x, y)
		sum := matrix[c][3]
		for i, v := range rgb {
			sum += matrix[c][i] * v
		}
		return float64(tone(floorDiv(sum, 256)))
	})
	return trial{
		buffers: map[string]*image{"input": in, "matrix_3200": warm, "matrix_7000": cold},
		scalars: map[string]float64{
			"color_temp": temperature, "gamma": gammaValue, "contrast": contrast, "sharpen_strength": strength,
			"black_level": black, "white_level": white,
		},
		output: blank("u1", width, height, 3),
		want: func(at []int) float64 {
			smooth := func(p, q, s int) int { return mean(mean(p, s), q) }
			here := func(dx, dy int) int { return int(curved(at[0]+dx, at[1]+dy, at[2])) }
			column := func(dx int) int { return smooth(here(dx, -1), here(dx, 0), here(dx, 1)) }
			detail := here(0, 0) - smooth(column(-1), column(0), column(1))
			return clamp(float64(here(0, 0)+floorDiv(detail*int(strength*32), 32)), 0, 255)
		},
		// A level of the tone curve next to a half may be rounded either way.
		absolute: 3, strays: 1e-2,
	}
}

func lensBlur(r *rand.Rand) trial {
	const side, slices, focus, scale, samples, levels = 128, 8, 3, 0.5, 8, 8
	left := wavy(r, side, side, 3)
	left.kind = "u1"
	for i := range left.v {
		left.v[i] = math.Floor(255 * left.v[i])
	}
	right := blank("u1", left.n...)
	for i := range right.v { // the same scene, farther to the right the lower it is
		x, y, c := i%side, i/side%side, i/side/side
		right.v[i] = left.near(x-y/10, y, c)
	}

	cost := memo(func(x, y, z int) (sum float64) {
		for c := range 3 {
			l := left.near(x, y, c)
			d := min(math.Abs(l-right.near(x+2*z, y, c)), math.Abs(l-right.near(x+2*z+1, y, c)))
			sum += d * d
		}
		return sum
	})
	confidence := memo(func(x, y, _ int) float64 {
		var squares, mean float64
		for z := range slices {
			v := cost(x, y, z)
			squares, mean = squares+v*v/slices, mean+v/slices
		}
		return squares - mean*mean
	})
	// The third coordinate counts costs and confidences of all slices.
	kept := []level{memo(func(x, y, k int) float64 {
		if k%2 == 1 {
			return confidence(x, y, 0)
		}
		return cost(x, y, k/2) * confidence(x, y, 0)
	})}
	for i := 1; i < levels; i++ {
		last, whole := side>>i-1, halved(kept[i-1])
		kept = append(kept, func(x, y, k int) float64 {
			return whole(min(max(x, 0), last), min(max(y, 0), last), k)
		})
	}
	pushed := kept[levels-1]
	for i := levels - 2; i >= 0; i-- {
		coarse, here := doubled(pushed), kept[i]
		pushed = memo(func(x, y, k int) float64 { return (coarse(x, y, k) + here(x, y, k)) / 2 })
	}
	depth := memo(func(x, y, _ int) float64 {
		best, least := 0, math.Inf(1)
		for z := range slices {
			if v := pushed(x, y, 2*z) / pushed(x, y, 2*z+1); v < least {
				best, least = z, v
			}
		}
		return float64(best)
	})
	radius := func(x, y int) float64 { return math.Abs(depth(x, y, 0)-focus) * scale }
	const reach = (slices - focus) / 2
	widest := memo(func(x, y, _ int) (v float64) {
		for dy := -reach; dy <= reach; dy++ {
			for dx := -reach; dx <= reach; dx++ {
				v = max(v, radius(x+dx, y+dy))
			}
		}
		return v
	})
	tr := trial{
		buffers: map[string]*image{"left": left, "right": right}, output: blank("f4", left.n...),
		scalars: map[string]float64{
			"slices": slices, "focus_depth": focus, "blur_radius_scale": scale, "aperture_samples": samples,
		},
		// Where two slices match equally well either may be taken.
		relative: 1e-4, strays: 1e-2, points: 12000,
	}
	// Halide mixes into a random number the number of the definition that it stands in.
	// That is no part of the algorithm: one of them has to explain the whole image.
	for definition := range 200 {
		tr.anyOf = append(tr.anyOf, func(at []int) float64 {
			x, y := at[0], at[1]
			value, weight := left.at(at...), 255.0
			for s := range samples {
				offset := func(which int) int {
					unit := halideRandom(which, definition, s, y, x)
					v := math.Trunc(f32(f32((unit-0.5)*2) * widest(x, y, 0)))
					return int(clamp(v, -reach, reach))
				}
				dx, dy := offset(0), offset(1)
				there, here := radius(x+dx, y+dy), radius(x, y)
				far := float64(dx*dx + dy*dy)
				inFront := depth(x+dx, y+dy, 0) < depth(x, y, 0)
				if (far < here*here || inFront) && far < there*there {
					value, weight = value+left.near(x+dx, y+dy, at[2]), weight+255
				}
			}
			return value / weight
		})
	}
	return tr
}

// halideRandom is Halide's random_float of these arguments: a quadratic permutation of
// 32 bits, which takes them in one after the other.
func halideRandom(arguments ...int) float64 {
	var state uint32
	for _, a := range arguments {
		state += uint32(a)
		state = (1040796640*state+1121052041)*state + 576942909
	}
	state ^= state >> 16
	return float64(math.Float32frombits(127<<23|state>>9)) - 1
}

package apps

import (
	"math"
	"math/rand"
)

// signed shifts numbers of [0, 1) to [-1/2, 1/2), so that rectifiers have something to
// rectify.
func signed(m *image) *image {
	for i := range m.v {
		m.v[i] -= 0.5
	}
	return m
}

func convLayer(r *rand.Rand) trial {
	const channels, taps = 128, 3
	in := signed(random(r, "f4", channels, 102, 82, 5))
	filter := signed(random(r, "f4", channels, taps, taps, channels))
	bias := random(r, "f4", channels)
	return trial{
		buffers: map[string]*image{"input": in, "filter": filter, "bias": bias}, of: "relu", output: blank("f4", channels, 100, 80, 5),
		want: func(at []int) float64 {
			sum := bias.at(at[0])
			for k := range channels {
				for j := range taps {
					for i := range taps {
						sum += filter.at(at[0], i, j, k) * in.at(k, at[1]+i, at[2]+j, at[3])
					}
				}
			}
			return max(sum, 0)
		},
		relative: 1e-4, absolute: 1e-3, points: 1000,
	}
}

func matMul(r *rand.Rand) trial {
	const n = 128
	a, b := signed(random(r, "f4", n, n)), random(r, "f4", n, n)
	return trial{
		params: param("size", "128"), buffers: map[string]*image{"a": a, "b": b}, output: a,
		want: func(at []int) (sum float64) {
			for k := range n {
				sum += a.at(at[0], k) * b.at(k, at[1])
			}
			return sum
		},
		relative: 1e-4, absolute: 1e-4,
	}
}

func depthwiseSeparableConv(r *rand.Rand) trial {
	const channels, out, width, height, images = 32, 16, 18, 13, 2
	in := signed(random(r, "f4", channels, width, height, images))
	depthwise, pointwise := random(r, "f4", 1, channels, 3, 3), signed(random(r, "f4", out, channels))
	bias := random(r, "f4", out)
	return trial{
		buffers: map[string]*image{"input": in, "depthwise_filter": depthwise, "pointwise_filter": pointwise, "bias": bias},
		output:  blank("f4", out, width, height, images),
		want: func(at []int) float64 {
			sum := bias.at(at[0])
			for c := range channels {
				var one float64
				for j := range 3 {
					for i := range 3 {
						if x, y := at[1]+i-1, at[2]+j-1; x >= 0 && x < width && y >= 0 && y < height {
							one += depthwise.at(0, c, i, j) * in.at(c, x, y, at[3])
						}
					}
				}
				sum += pointwise.at(at[0], c) * one
			}
			return max(sum, 0)
		},
		relative: 1e-4, absolute: 1e-4,
	}
}

// A strided layer that ends a block.
func resnetBlockEnd(r *rand.Rand) trial {
	return resnet(r, "/block_end", 16, 3, 2, 14, true)
}

// The layer that the network begins with: few channels, large filters.
func resnetStem(r *rand.Rand) trial {
	return resnet(r, "/stem", 3, 7, 2, 14, false)
}

func resnet(r *rand.Rand, name string, channels, kernel, stride, size int, shortcut bool) trial {
	const out = 64
	side := size * stride
	filter, in := signed(random(r, "f4", out, kernel, kernel, channels)), random(r, "f4", channels, side, side)
	mean, variance := signed(random(r, "f4", out)), random(r, "f4", out)
	gamma, beta := random(r, "f4", out), signed(random(r, "f4", out))
	buffers := map[string]*image{
		"input": in, "filter": filter, "mean": mean, "variance": variance, "gamma": gamma, "beta": beta,
	}
	added := blank("f4", out, size, size)
	params := append(param("channels_in", itoa(channels)), param("channels_out", itoa(out))...)
	params = append(append(params, param("kernel", itoa(kernel))...), param("stride", itoa(stride))...)
	params = append(params, param("size", itoa(size))...)
	if shortcut {
		params = append(params, param("shortcut", "true")...)
		added = signed(random(r, "f4", out, size, size))
		buffers["shortcut_input"] = added
	}
	return trial{
		name: name, params: params, buffers: buffers, output: added,
		want: func(at []int) float64 {
			c := at[0]
			var sum float64
			for k := range channels {
				for j := range kernel {
					for i := range kernel {
						x, y := stride*at[1]+i-kernel/2, stride*at[2]+j-kernel/2
						if x >= 0 && x < side && y >= 0 && y < side {
							sum += filter.at(c, i, j, k) * in.at(k, x, y)
						}
					}
				}
			}
			normal := (sum-mean.at(c))/math.Sqrt(variance.at(c)+1e-5)*gamma.at(c) + beta.at(c)
			return max(normal+added.at(at...), 0)
		},
		relative: 1e-3, absolute: 1e-3,
	}
}

func softmax(r *rand.Rand) trial {
	in := random(r, "f4", 100, 40) // a width that no vector divides
	for i := range in.v {
		in.v[i] = f32(200*in.v[i] - 20) // exponentials that would overflow
	}
	return trial{
		buffers: map[string]*image{"input": in}, output: in,
		want: func(at []int) float64 {
			var total float64
			for x := range in.n[0] {
				total += math.Exp(in.at(x, at[1]) - in.at(at...))
			}
			return 1 / total
		},
		relative: 1e-3, absolute: 1e-6,
	}
}

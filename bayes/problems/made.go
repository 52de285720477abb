package problems

import (
	"fmt"
	"math"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
)

func spmm(s *space.Space) Problem {
	return Problem{"spmm", s, func(c space.Config) bayes.Outcome {
		p := c.Order("p")
		v := 10 * Hump(c.Float("cs"), 64, 3) * Hump(c.Float("uf"), 8, 2.5) * Hump(c.Float("ocs"), 16, 5)
		v *= 1 + 6/c.Float("ont") + 0.004*c.Float("ont")*c.Float("ocs")/16
		if c.Text("ost") == "static" {
			v *= 1.15 + 0.02*math.Log2(c.Float("ocs"))
		}
		return bayes.Value(v * (1 + 0.25*position(p, 2) + 0.15*math.Abs(position(p, 4)-2) + 0.3*position(p, 0)/4) * jitter(c, 0.03))
	}}
}

func sddmm(s *space.Space) Problem {
	return Problem{"sddmm-hidden", s, func(c space.Config) bayes.Outcome {
		if c.Float("uf")*c.Float("cs") > 1<<13 || c.Float("ont") > 8 && c.Float("ocs") > 64 {
			return bayes.Failure(bayes.Crashed, "does not compile")
		}
		p := c.Order("p")
		v := 5 * Hump(c.Float("cs"), 256, 2) * Hump(c.Float("uf"), 16, 1.5) * (1 + 4/c.Float("ont")) * Hump(c.Float("ocs"), 32, 4)
		return bayes.Value(v * (1 + 0.5*math.Abs(position(p, 3)-3)) * jitter(c, 0.02))
	}}
}

func mttkrp(s *space.Space) Problem {
	return Problem{"mttkrp", s, func(c space.Config) bayes.Outcome {
		p := c.Order("p")
		v := 20 * Hump(c.Float("cs"), 128, 3) * Hump(c.Float("uf"), 4, 2) * (1 + 8/c.Float("ont") + c.Float("ont")/200) * Hump(c.Float("ocs"), 8, 4)
		for i := range 5 {
			v *= 1 + 0.2*math.Abs(position(p, i)-float64((i*3+1)%5))
		}
		return bayes.Value(v * jitter(c, 0.05))
	}}
}

func matmul() Problem {
	s := made([]space.Param{
		PowersOf2("tile1", 1, 1024), PowersOf2("tile2", 1, 1024), PowersOf2("split", 1, 1024), PowersOf2("vec", 2, 128),
		{Name: "p", Type: space.Permutation, Size: 6},
	}, "tile1 % vec == 0", "(p_i0 < p_i3) & (p_i1 < p_i4) & (p_i2 < p_i5)")
	return Problem{"mm_cpu-hidden", s, func(c space.Config) bayes.Outcome {
		if c.Float("tile1")*c.Float("tile2") > 1<<16 || c.Float("vec") > 32 {
			return bayes.Failure(bayes.Crashed, "out of registers")
		}
		p := c.Order("p")
		v := 2 * Hump(c.Float("tile1")*c.Float("tile2"), 2048, 3) * Hump(c.Float("tile1"), 64, 4) * Hump(c.Float("vec"), 8, 2) * Hump(c.Float("split"), 8, 5)
		return bayes.Value(v * (1 + 0.4*(5-position(p, 5)) + 0.3*position(p, 0)) * jitter(c, 0.02))
	}}
}

func gpu(s *space.Space) Problem {
	return Problem{"mm_gpu-hidden", s, func(c space.Config) bayes.Outcome {
		if c.Float("ls0")*c.Float("ls1") > 256 || c.Float("v3")*c.Float("v4") > 256 {
			return bayes.Failure(bayes.Infeasible, "CL_OUT_OF_RESOURCES")
		}
		v := 3 * Hump(c.Float("v5"), 64, 3) * Hump(c.Float("v7"), 64, 3) * Hump(c.Float("v8"), 16, 3) * Hump(c.Float("v3"), 8, 2) *
			Hump(c.Float("v4"), 4, 3) * Hump(c.Float("v6"), 16, 4) * Hump(c.Float("ls0")*c.Float("ls1"), 128, 3) * Hump(c.Float("gs0"), 256, 4) * Hump(c.Float("gs1"), 256, 5)
		return bayes.Value(v * jitter(c, 0.03))
	}}
}

func flags() Problem {
	params := []space.Param{{Name: "level", Type: space.Categorical, Categories: []string{"O1", "O2", "O3", "Ofast"}},
		{Name: "inline", Type: space.Integer, Min: 10, Max: 600, Log: true}, {Name: "unroll", Type: space.Integer, Min: 1, Max: 16, Log: true},
		{Name: "align", Type: space.Ordinal, Values: []float64{1, 16, 32, 64}}, {Name: "ratio", Type: space.Real, Min: 0, Max: 1}}
	for i := range 6 {
		params = append(params, space.Param{Name: fmt.Sprintf("f%d", i), Type: space.Categorical, Categories: []string{"off", "on"}})
	}
	return Problem{"flags", made(params), func(c space.Config) bayes.Outcome {
		v := map[string]float64{"O1": 1.6, "O2": 1.2, "O3": 1.1, "Ofast": 1}[c.Text("level")]
		v *= 1 + 0.1*math.Pow(math.Log2(c.Float("inline")/120)/3, 2) + 0.2*math.Pow(math.Log2(c.Float("unroll")/4)/2, 2)
		v *= 1 + 0.3*math.Pow(c.Float("ratio")-0.3, 2)
		for i := range 6 {
			if (c.Text(fmt.Sprintf("f%d", i)) == "on") != (i%2 == 0) {
				v *= 1 + 0.05*float64(i+1)
			}
		}
		if c.Text("f0") == "on" && c.Text("f1") == "on" {
			v *= 0.8
		}
		return bayes.Value(v * jitter(c, 0.01))
	}}
}

// Eight extends the problem spmm by two parameters, eight in all, and a hidden
// constraint.
func Eight(inner Problem) Problem {
	params := append(inner.Space.Params(), PowersOf2("vec", 1, 32), PowersOf2("pf", 1, 64))
	return Problem{"eight-hidden", made(params, inner.Space.Constraints()...), func(c space.Config) bayes.Outcome {
		m := c.Map()
		vec, pf := m["vec"].(float64), m["pf"].(float64)
		delete(m, "vec")
		delete(m, "pf")
		if vec*pf > 512 {
			return bayes.Failure(bayes.Crashed, "does not compile")
		}
		part, err := inner.Space.Parse(m)
		if err != nil {
			panic(err) // the constraints are the same
		}
		return bayes.Value(inner.Cost(part).Value * Hump(vec, 8, 3) * Hump(pf, 16, 5))
	}}
}

// valley is a curved valley (Rosenbrock's) in two reals and an integer; outside a
// disc nothing works.
func valley() Problem {
	s := made([]space.Param{{Name: "x", Type: space.Real, Min: -2, Max: 2}, {Name: "y", Type: space.Real, Min: -1, Max: 3}, {Name: "n", Type: space.Integer, Min: 1, Max: 9}},
		"x + y <= 3")
	return Problem{"valley-hidden", s, func(c space.Config) bayes.Outcome {
		x, y, n := c.Float("x"), c.Float("y"), c.Float("n")
		if x*x+(y-0.5)*(y-0.5) > 2.2 {
			return bayes.Failure(bayes.Infeasible, "diverged")
		}
		return bayes.Value(1 + 10*math.Pow(y-x*x, 2) + math.Pow(1-x, 2) + math.Pow(n-4, 2)/10)
	}}
}

// threads shares 64 workers among three stages; two stages that are out of
// proportion dead-lock.
func threads() Problem {
	s := made([]space.Param{
		{Name: "a", Type: space.Integer, Min: 1, Max: 62}, {Name: "b", Type: space.Integer, Min: 1, Max: 62}, {Name: "c", Type: space.Integer, Min: 1, Max: 62},
		PowersOf2("queue", 1, 1024), {Name: "policy", Type: space.Categorical, Categories: []string{"fifo", "lifo", "steal"}},
	}, "a + b + c <= 64", "queue >= a")
	return Problem{"threads-hidden", s, func(c space.Config) bayes.Outcome {
		a, b, d := c.Float("a"), c.Float("b"), c.Float("c")
		if a > 3*b || d > 4*b {
			return bayes.Failure(bayes.TimedOut, "dead-locked")
		}
		v := math.Max(math.Max(8/a, 20/b), 10/d) * Hump(c.Float("queue"), 64, 6)
		return bayes.Value(v * map[string]float64{"fifo": 1.1, "lifo": 1.3, "steal": 1}[c.Text("policy")] * jitter(c, 0.02))
	}}
}

// orders is a nest of seven loops; the optimiser knows two dependences of three.
func orders() Problem {
	s := made([]space.Param{{Name: "p", Type: space.Permutation, Size: 7}, PowersOf2("tile", 1, 256)}, "p_i0 < p_i3", "p_i1 < p_i4")
	return Problem{"orders-hidden", s, func(c space.Config) bayes.Outcome {
		p := c.Order("p")
		if position(p, 2) > position(p, 5) {
			return bayes.Failure(bayes.Crashed, "wrong output")
		}
		v := Hump(c.Float("tile"), 32, 3)
		for i := range 7 {
			v *= 1 + 0.1*math.Abs(position(p, i)-float64((i*2)%7))
		}
		return bayes.Value(v * jitter(c, 0.02))
	}}
}

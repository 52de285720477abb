package bayes_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
)

// problem is a made-up tuning task whose cost behaves as a compiler's does:
// products of smooth effects of tile sizes on a log scale, loop orders that
// matter by who is inside whom, interactions, measurement noise of a few
// percent that is a function of the configuration, and failures.
type problem struct {
	name  string
	space *space.Space
	cost  func(c space.Config) bayes.Outcome
}

func readSpace(t testing.TB, name string) *space.Space {
	t.Helper()
	f, err := os.Open(filepath.Join("space", "testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc, err := space.ReadScenario(f)
	if err != nil {
		t.Fatal(err)
	}
	return sc.Space
}

func mustSpace(t testing.TB, params []space.Param, constraints ...string) *space.Space {
	t.Helper()
	s, err := space.New(params, constraints...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// jitter is noise in [1, 1+amount) that belongs to the configuration.
func jitter(c space.Config, amount float64) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.String()))
	return 1 + amount*float64(h.Sum32())/math.MaxUint32
}

// hump is 1 at the best value and grows with the distance in octaves.
func hump(v, best, width float64) float64 {
	d := (math.Log2(v) - math.Log2(best)) / width
	return 1 + d*d
}

func position(order []int, e int) float64 {
	for k, x := range order {
		if x == e {
			return float64(k)
		}
	}
	return -1
}

func powersOf2(name string, lo, hi float64) space.Param {
	p := space.Param{Name: name, Type: space.Ordinal, Log: true}
	for v := lo; v <= hi; v *= 2 {
		p.Values = append(p.Values, v)
	}
	return p
}

// problems are spaces of different shapes; those ending in -hidden have
// constraints the optimiser is not told.
func problems(t testing.TB) []problem {
	spmm := func(c space.Config) float64 {
		p := c.Order("p")
		v := 10 * hump(c.Float("cs"), 64, 3) * hump(c.Float("uf"), 8, 2.5) * hump(c.Float("ocs"), 16, 5)
		v *= 1 + 6/c.Float("ont") + 0.004*c.Float("ont")*c.Float("ocs")/16
		if c.Text("ost") == "static" {
			v *= 1.15 + 0.02*math.Log2(c.Float("ocs"))
		}
		return v * (1 + 0.25*position(p, 2) + 0.15*math.Abs(position(p, 4)-2) + 0.3*position(p, 0)/4)
	}
	mm := mustSpace(t, []space.Param{
		powersOf2("tile1", 1, 1024), powersOf2("tile2", 1, 1024), powersOf2("split", 1, 1024), powersOf2("vec", 2, 128),
		{Name: "p", Type: space.Permutation, Size: 6},
	}, "tile1 % vec == 0", "(p_i0 < p_i3) & (p_i1 < p_i4) & (p_i2 < p_i5)")
	flags := []space.Param{{Name: "level", Type: space.Categorical, Categories: []string{"O1", "O2", "O3", "Ofast"}},
		{Name: "inline", Type: space.Integer, Min: 10, Max: 600, Log: true}, {Name: "unroll", Type: space.Integer, Min: 1, Max: 16, Log: true},
		{Name: "align", Type: space.Ordinal, Values: []float64{1, 16, 32, 64}}, {Name: "ratio", Type: space.Real, Min: 0, Max: 1}}
	for i := range 6 {
		flags = append(flags, space.Param{Name: fmt.Sprintf("f%d", i), Type: space.Categorical, Categories: []string{"off", "on"}})
	}
	gpu := readSpace(t, "mm_gpu")
	return []problem{
		{"spmm", readSpace(t, "spmm"), func(c space.Config) bayes.Outcome { return bayes.Value(spmm(c) * jitter(c, 0.03)) }},
		{"sddmm-hidden", readSpace(t, "sddmm"), func(c space.Config) bayes.Outcome {
			if c.Float("uf")*c.Float("cs") > 1<<13 || c.Float("ont") > 8 && c.Float("ocs") > 64 {
				return bayes.Failure(bayes.Crashed, "does not compile")
			}
			p := c.Order("p")
			v := 5 * hump(c.Float("cs"), 256, 2) * hump(c.Float("uf"), 16, 1.5) * (1 + 4/c.Float("ont")) * hump(c.Float("ocs"), 32, 4)
			return bayes.Value(v * (1 + 0.5*math.Abs(position(p, 3)-3)) * jitter(c, 0.02))
		}},
		{"mttkrp", readSpace(t, "mttkrp"), func(c space.Config) bayes.Outcome {
			p := c.Order("p")
			v := 20 * hump(c.Float("cs"), 128, 3) * hump(c.Float("uf"), 4, 2) * (1 + 8/c.Float("ont") + c.Float("ont")/200) * hump(c.Float("ocs"), 8, 4)
			for i := range 5 {
				v *= 1 + 0.2*math.Abs(position(p, i)-float64((i*3+1)%5))
			}
			return bayes.Value(v * jitter(c, 0.05))
		}},
		{"mm_cpu-hidden", mm, func(c space.Config) bayes.Outcome {
			if c.Float("tile1")*c.Float("tile2") > 1<<16 || c.Float("vec") > 32 {
				return bayes.Failure(bayes.Crashed, "out of registers")
			}
			p := c.Order("p")
			v := 2 * hump(c.Float("tile1")*c.Float("tile2"), 2048, 3) * hump(c.Float("tile1"), 64, 4) * hump(c.Float("vec"), 8, 2) * hump(c.Float("split"), 8, 5)
			return bayes.Value(v * (1 + 0.4*(5-position(p, 5)) + 0.3*position(p, 0)) * jitter(c, 0.02))
		}},
		{"mm_gpu-hidden", gpu, func(c space.Config) bayes.Outcome {
			if c.Float("ls0")*c.Float("ls1") > 256 || c.Float("v3")*c.Float("v4") > 256 {
				return bayes.Failure(bayes.Infeasible, "CL_OUT_OF_RESOURCES")
			}
			v := 3 * hump(c.Float("v5"), 64, 3) * hump(c.Float("v7"), 64, 3) * hump(c.Float("v8"), 16, 3) * hump(c.Float("v3"), 8, 2) *
				hump(c.Float("v4"), 4, 3) * hump(c.Float("v6"), 16, 4) * hump(c.Float("ls0")*c.Float("ls1"), 128, 3) * hump(c.Float("gs0"), 256, 4) * hump(c.Float("gs1"), 256, 5)
			return bayes.Value(v * jitter(c, 0.03))
		}},
		{"flags", mustSpace(t, flags), func(c space.Config) bayes.Outcome {
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
		}},
	}
}

// play runs a study on a problem and returns it.
func play(t testing.TB, p problem, o bayes.Options, store bayes.Store, budget int) *bayes.Study {
	t.Helper()
	ctx := context.Background()
	s, err := bayes.Open(ctx, p.space, o, store)
	if err != nil {
		t.Fatal(err)
	}
	for len(s.Trials()) < budget {
		trials, err := s.Ask(ctx, 1)
		if errors.Is(err, bayes.ErrExhausted) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Tell(ctx, trials[0].ID, p.cost(trials[0].Config)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// with gives p the cost of the problem it extends by two parameters.
func (p problem) with(inner problem) problem {
	p.cost = func(c space.Config) bayes.Outcome {
		m := c.Map()
		vec, pf := m["vec"].(float64), m["pf"].(float64)
		delete(m, "vec")
		delete(m, "pf")
		if vec*pf > 512 {
			return bayes.Failure(bayes.Crashed, "does not compile")
		}
		part, err := inner.space.Parse(m)
		if err != nil {
			panic(err)
		}
		return bayes.Value(inner.cost(part).Value * hump(vec, 8, 3) * hump(pf, 16, 5))
	}
	return p
}

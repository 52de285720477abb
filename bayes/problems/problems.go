// Package problems has made-up tuning tasks: tests, benchmarks and claims play
// optimisers on them. They behave as compilers do, and measure none.
package problems

import (
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
)

// Problem is a made-up tuning task whose cost behaves as a compiler's does:
// products of smooth effects of tile sizes on a log scale, loop orders that
// matter by who is inside whom, interactions, measurement noise of a few
// percent that is a function of the configuration, and failures.
type Problem struct {
	Name  string
	Space *space.Space
	Cost  func(c space.Config) bayes.Outcome
}

// read reads a scenario's space.
func read(dir, name string) (*space.Space, error) {
	f, err := os.Open(filepath.Join(dir, name+".json"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sc, err := space.ReadScenario(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return sc.Space, nil
}

func made(params []space.Param, constraints ...string) *space.Space {
	s, err := space.New(params, constraints...)
	if err != nil {
		panic(err) // a mistake in this package
	}
	return s
}

// jitter is noise in [1, 1+amount) that belongs to the configuration.
func jitter(c space.Config, amount float64) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.String()))
	return 1 + amount*float64(h.Sum32())/math.MaxUint32
}

// Hump is 1 at the best value and grows with the distance in octaves.
func Hump(v, best, width float64) float64 {
	d := (math.Log2(v) - math.Log2(best)) / width
	return 1 + d*d
}

func position(order []int, e int) float64 { return float64(slices.Index(order, e)) }

// PowersOf2 is an ordinal parameter on a log scale.
func PowersOf2(name string, lo, hi float64) space.Param {
	p := space.Param{Name: name, Type: space.Ordinal, Log: true}
	for v := lo; v <= hi; v *= 2 {
		p.Values = append(p.Values, v)
	}
	return p
}

// All reads the paper's spaces from dir (bayes/space/testdata) and returns ten
// problems of different shapes; those ending in -hidden have constraints the
// optimiser is not told.
func All(dir string) ([]Problem, error) {
	spaces := map[string]*space.Space{}
	for _, name := range []string{"spmm", "sddmm", "mttkrp", "mm_gpu"} {
		s, err := read(dir, name)
		if err != nil {
			return nil, err
		}
		spaces[name] = s
	}
	first := []Problem{spmm(spaces["spmm"]), sddmm(spaces["sddmm"]), mttkrp(spaces["mttkrp"]), matmul(), gpu(spaces["mm_gpu"]), flags()}
	return append(first, Eight(first[0]), valley(), threads(), orders()), nil
}

// Hidden reports whether some configurations fail.
func (p Problem) Hidden() bool { return strings.HasSuffix(p.Name, "-hidden") }

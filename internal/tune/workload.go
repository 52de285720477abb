package tune

import (
	"crypto/sha256"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/tunedb"
)

// workload spells out everything that changes what a schedule's time is.
func workload(o Options, g *bridge.Generator, p *pipeline.Pipeline, inputs []bridge.Input) (tunedb.Workload, error) {
	w := tunedb.Workload{
		Algorithm: p.Algorithm, Generator: g.Name, Structure: slices.Clone(p.Structure), Halide: g.Toolchain.Halide.Version,
		HalideBuild: g.Toolchain.Halide.Build, Target: p.Target, Host: HostName(), Threads: o.Threads, Protocol: measure.ProtocolVersion,
		Tolerance: o.Protocol.IntegerEvery, PermitUnroll: g.PermitsUnroll(),
	}
	for _, param := range g.Params {
		w.Params = append(w.Params, param.Name+"="+param.Value)
	}
	slices.Sort(w.Params)
	for _, f := range p.Funcs {
		if f.Output {
			w.Estimates = append(w.Estimates, fmt.Sprintf("%s %v", f.Name, f.Estimate))
		}
	}
	for _, param := range p.Params {
		w.Estimates = append(w.Estimates, fmt.Sprintf("%s %v %v %s", param.Name, param.Mins, param.Extents, param.Value))
	}
	for _, in := range inputs {
		text := in.Name + "=" + in.Fill
		if path, ok := strings.CutPrefix(in.Fill, "raw:"); ok {
			content, err := os.ReadFile(path)
			if err != nil {
				return w, err
			}
			text = fmt.Sprintf("%s=sha256:%x", in.Name, sha256.Sum256(content))
		}
		if in.Value != "" {
			text = in.Name + "=" + in.Value
		}
		w.Inputs = append(w.Inputs, fmt.Sprintf("%s %v", text, in.Extents))
	}
	return w, nil
}

// Stream is a source of randomness of its own for each purpose, all from one seed,
// so that one purpose's use of it does not shift another's.
func Stream(seed int64, name string) *rand.Rand {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s", seed, name))
	var s int64
	for _, b := range sum[:8] {
		s = s<<8 | int64(b)
	}
	return rand.New(rand.NewSource(s))
}

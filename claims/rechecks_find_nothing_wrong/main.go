// Claim: of the candidates that a 30-minute run over the six apps found right, a
// random 5% are right by other means too. Each is built ahead of time and run by
// Halide's own RunGen on its random inputs, and so is the Generator's hand-written
// schedule, which protuner has no part in; what the two write to files is compared.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/tune"
	"github.com/protuner/protuner/internal/tunedb"
)

const (
	share = 0.05
	least = 3 // rechecked of an app
)

func main() {
	minutes := flag.Float64("minutes", 30, "of tuning, all six apps together")
	seed := flag.Int64("seed", time.Now().UnixNano(), "of the draw and of the inputs")
	flag.Parse()
	fmt.Printf("seed %d\n", *seed)
	ctx := claim.Context()
	dir := claim.TempDir()
	rng := rand.New(rand.NewSource(*seed))
	budget := time.Duration(*minutes * float64(time.Minute) / float64(len(claim.Apps)))
	measured, checked, wrong := 0, 0, 0
	for _, name := range claim.Apps {
		found := tuned(ctx, name, budget, dir)
		r := newRecheck(ctx, name, filepath.Join(dir, name), *seed)
		rng.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		drawn := found[:min(len(found), max(least, int(math.Ceil(share*float64(len(found))))))]
		for _, m := range drawn {
			s, err := schedule.Parse(m.Text)
			claim.Fail(err)
			if why := r.differs(ctx, s); why != "" {
				wrong++
				fmt.Printf("%s: schedule %s: %s\n%s\n", name, m.Hash, why, m.Text)
			}
		}
		measured, checked = measured+len(found), checked+len(drawn)
		fmt.Printf("%-16s %4d found right, %3d rechecked\n", name, len(found), len(drawn))
	}
	os.RemoveAll(dir)
	claim.Say(wrong == 0 && checked > 0, "%d wrong of %d rechecked, drawn from %d", wrong, checked, measured)
}

// tuned is what a run of tune found right.
func tuned(ctx context.Context, name string, budget time.Duration, dir string) []tunedb.Measurement {
	o := tune.Defaults()
	o.Generator.Path = claim.Source(name)
	o.Budget, o.DB, o.Seeds, o.Baselines = budget, filepath.Join(dir, name+".db"), nil, nil
	_, err := tune.Run(ctx, o, tune.Events{}, nil)
	claim.Fail(err)
	db, err := tunedb.Open(ctx, o.DB)
	claim.Fail(err)
	defer db.Close()
	runs, err := db.Runs(ctx, "")
	claim.Fail(err)
	found, err := db.Fastest(ctx, runs[0].Key, 0)
	claim.Fail(err)
	return found
}

// recheck compares builds of one app.
type recheck struct {
	gen      *bridge.Generator
	floats   map[string]bool // by output: whether its values are
	protocol measure.Protocol
	rungen   claim.RunGen
	dir      string
	seed     int64
	want     map[string][]float64 // by output
	n        int
}

func newRecheck(ctx context.Context, name, dir string, seed int64) *recheck {
	claim.Fail(os.MkdirAll(dir, 0o755))
	g, err := bridge.Open(ctx, bridge.Options{Path: claim.Source(name)})
	claim.Fail(err)
	p, err := g.Describe(ctx)
	claim.Fail(err)
	r := &recheck{gen: g, floats: map[string]bool{}, protocol: measure.DefaultProtocol().ForPipeline(p), dir: dir, seed: seed % 1000,
		rungen: claim.NewRunGen(ctx, g.Toolchain.Halide, dir)}
	for _, f := range p.Funcs {
		if f.Output {
			name, _, _ := strings.Cut(f.Name, "$")
			r.floats[name] = strings.HasPrefix(f.Types[0], "float")
		}
	}
	r.want = r.outputs(ctx, func(e bridge.Emission) error { return g.Emit(ctx, "", nil, bridge.Limits{}, e) })
	return r
}

// outputs builds, runs and reads what came out.
func (r *recheck) outputs(ctx context.Context, emit func(bridge.Emission) error) map[string][]float64 {
	r.n++
	dir := filepath.Join(r.dir, fmt.Sprint(r.n))
	claim.Fail(os.Mkdir(dir, 0o755))
	defer os.RemoveAll(dir)
	claim.Fail(emit(bridge.Emission{Dir: dir, Function: r.gen.Name, Outputs: []string{"static_library", "c_header", "registration"}}))
	args := []string{"--output_extents=estimate", "--default_input_scalars=estimate",
		fmt.Sprintf("--default_input_buffers=random:%d:estimate_then_auto", r.seed)}
	files := map[string]string{}
	for name := range r.floats {
		files[name] = filepath.Join(dir, name+".npy")
		args = append(args, name+"="+files[name])
	}
	claim.Run(ctx, r.rungen.Link(ctx, dir, r.gen.Name), args...)
	out := map[string][]float64{}
	for name, file := range files {
		_, values, err := measure.ReadNumPy(file)
		claim.Fail(err)
		out[name] = values
	}
	return out
}

// differs says where the results of a schedule differ by more than screening allows;
// empty for nowhere.
func (r *recheck) differs(ctx context.Context, s schedule.Schedule) string {
	got := r.outputs(ctx, func(e bridge.Emission) error { return r.gen.Apply(ctx, s, "", e) })
	for name, float := range r.floats {
		if why := r.compare(got[name], r.want[name], float); why != "" {
			return name + ": " + why
		}
	}
	return ""
}

func (r *recheck) compare(got, want []float64, float bool) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d values where %d belong", len(got), len(want))
	}
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	off, far := 0, 0
	example := ""
	for i, w := range want {
		d := math.Abs(got[i] - w)
		switch {
		case float && !(d <= r.protocol.Relative*math.Abs(w)+r.protocol.Absolute*largest),
			!float && d > max(float64(r.protocol.Integer), r.protocol.IntegerRelative*largest):
			far++
			example = fmt.Sprintf("value %d is %g and should be %g", i, got[i], w)
		case d > 0:
			off++
		}
	}
	switch n := float64(len(want)); {
	case float64(far) > r.protocol.Stray*n:
		return fmt.Sprintf("%d of %d are far off: %s", far, len(want), example)
	case !float && float64(off) > r.protocol.IntegerShare*n:
		return fmt.Sprintf("%d of %d integers are off", off, len(want))
	}
	return ""
}

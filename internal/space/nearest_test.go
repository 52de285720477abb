package space

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// What is passed over is no nearer than what is found: the list is that of going
// through all there is. Decisions of one schedule are wanted in another, where most of
// them are not to be had.
func TestNearestAreNearest(t *testing.T) {
	compared, elsewhere := 0, 0
	for _, name := range []string{"harris.h21", "conv_layer.h21", "bilateral_grid.h21", "camera_pipe.h21", "product_in.h21"} {
		for _, unchecked := range []bool{false, true} {
			o := Defaults(2)
			if o.Unchecked = unchecked; unchecked {
				o = Adams(1)
			}
			sp := newSpace(t, pipelinetest.Described(t, name), o)
			rng := rand.New(rand.NewSource(3))
			for range 3 {
				trace := sp.Start().SampleDown(rng).Trace()
				for s := sp.Start(); !s.Complete(); {
					f, kind := s.Deciding()
					for i := range trace {
						if d := &trace[i]; kind == Compute && d.Func == f && d.Kind == Compute {
							compareNearest(t, s, d, f)
							compared++
							if d.Compute.Func >= 0 {
								elsewhere++
							}
						}
					}
					a, _ := s.Sample(rng)
					s = s.Next(a)
				}
			}
		}
	}
	if compared < 50 || elsewhere < 20 {
		t.Errorf("%d decisions compared, %d of them for within other loops: too few", compared, elsewhere)
	}
}

func compareNearest(t *testing.T, s *State, want *Decision, f int) {
	t.Helper()
	const most = 12
	type found struct {
		a   Action
		far float64
	}
	p := s.placing(f)
	defer p.free()
	p.families(listed)
	var all []found
	p.each(func(a *Action, _ int) {
		store, compute := p.places.places(p.path, a)
		all = append(all, found{*a, 2*p.seek.ratios.far(compute, want.Compute) + p.seek.ratios.far(store, want.Store)})
	})
	slices.SortStableFunc(all, func(x, y found) int {
		if d := x.far - y.far; math.Abs(d) > 1e-9 {
			return int(math.Copysign(1, d))
		}
		return 0
	})
	p.families(sought)
	p.findNearest(want, most)
	if len(p.seek.near.order) != min(most, len(all)) {
		t.Fatalf("%d found of %d", len(p.seek.near.order), len(all))
	}
	for i, o := range p.seek.near.order {
		got := &p.seek.near.actions[o.action]
		if math.Abs(o.far-all[i].far) > 1e-9 {
			t.Fatalf("%d: %v is %g off, where %v is %g off", i, got, o.far, all[i].a, all[i].far)
		}
		// Those as far as the last one may be others: rounding decides about the order.
		if o.far < all[min(most, len(all))-1].far-1e-9 && !slices.ContainsFunc(all[:min(most, len(all))], func(x found) bool { return x.a.Same(*got) }) {
			t.Fatalf("%d: %v is not among the nearest", i, got)
		}
	}
}

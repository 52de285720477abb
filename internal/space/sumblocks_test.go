package space

import (
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// Tiles of six and of twelve rows are blocks of sums that registers have room for, of what is
// added up there alone.
func TestSumBlocks(t *testing.T) {
	blocks := func(sp *Space) map[[2]int64]int {
		s := stateOf(t, sp, "output compute root vector x\noutput tasks [64,1024]\n")
		out := map[[2]int64]int{}
		before := stateBefore(t, s, "product")
		for _, a := range before.Actions(nil) {
			trace := before.Next(a).Trace()
			d := &trace[len(trace)-1]
			if d.Kind == Compute && len(d.Compute.Tile) == 2 && d.Compute.Equal(d.Store) && d.Compute.Tile[1]%6 == 0 {
				out[[2]int64{d.Compute.Tile[0], d.Compute.Tile[1]}]++
			}
		}
		return out
	}
	o := Defaults(2)
	p := pipelinetest.Described(t, "product.h21")
	got := blocks(newSpace(t, p, o))
	for _, block := range [][2]int64{{8, 6}, {16, 6}, {8, 12}} {
		if got[block] == 0 {
			t.Errorf("no block of %v", block)
		}
		delete(got, block)
	}
	if len(got) > 0 {
		t.Errorf("there are others: %v", got)
	}
	// No tiling comes up twice, as three of 48 rows would.
	set, seen := new(tileSet), map[string]bool{}
	set.init([]int64{128, 48}, splits)
	before := set.total
	set.add([]int64{64, 16})
	set.add([]int64{64, 5})
	set.add([]int64{64, 5})
	for i := range set.total {
		seen[sizeKey(set.tiling(i))] = true
	}
	if set.total != before+1 || len(seen) != set.total || !set.holds([]int64{64, 5}) {
		t.Errorf("%d tilings, %d of them different, of %d before", set.total, len(seen), before)
	}
	o.SumBlocks = false
	if got := blocks(newSpace(t, p, o)); len(got) > 0 {
		t.Errorf("without them there are %v", got)
	}
	for name, has := range map[string]bool{"product_in.h21": true, "conv_layer.h21": true, "harris.h21": false, "hist_parts.h21": false} {
		sp := newSpace(t, pipelinetest.Described(t, name), Defaults(2))
		some := false
		for f := range sp.Funcs() {
			some = some || sp.SumBlocks(f)
		}
		if some != has {
			t.Errorf("%s has blocks of sums: %v", name, some)
		}
	}
}

// stateBefore is the state on the way to one in which a Func is to be computed.
func stateBefore(t *testing.T, s *State, name string) *State {
	t.Helper()
	for ; s != nil; s = s.Parent() {
		if f, kind := s.Deciding(); kind == Compute && s.Pipeline().Funcs[f].Name == name {
			return s
		}
	}
	t.Fatalf("%s is never decided", name)
	return nil
}

package space

import (
	"math/rand"
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// What two states differ in shows from the depth on that the comment of
// StructuralHash gives, and not before.
func TestStructuralHash(t *testing.T) {
	sp := newSpace(t, toy(64, 64, 2, 2), Defaults(2))
	state := func(trace string) *State {
		t.Helper()
		ds, err := sp.ParseTrace(trace)
		if err != nil {
			t.Fatal(err)
		}
		s, repaired, err := sp.Replay(ds, Nearest)
		if err != nil || len(repaired) > 0 || !s.Complete() {
			t.Fatalf("%q: repaired %v, %v", trace, repaired, err)
		}
		return s
	}
	base := "a compute root vector x\na tasks [64,8]\n"
	for name, c := range map[string]struct {
		a, b string
		from int
	}{
		"equal":          {base + "b inline\nc inline\n", base + "b inline\nc inline\n", 1000},
		"at root or not": {base + "b compute root vector x\nb tasks [64,8]\nc inline\n", base + "b compute a [64,4] vector x\nc inline\n", 0},
		"inlined inside": {base + "b compute root vector x\nb tasks [64,8]\nc inline\n", base + "b compute root vector x\nb tasks [64,8]\nc compute b [64,8] vector x\n", 2},
		"loop sizes":     {base + "b compute root vector x\nb tasks [64,8]\nc inline\n", "a compute root vector x\na tasks [64,4]\nb compute root vector x\nb tasks [64,8]\nc inline\n", 2},
		"loop or not":    {base + "b inline\nc inline\n", "a compute root vector x\na tasks [32,32]\nb inline\nc inline\n", 1},
		"deeper sizes":   {base + "b compute a [64,4] vector x\nc inline\n", base + "b compute a [64,2] vector x\nc inline\n", 4},
	} {
		a, b := state(c.a), state(c.b)
		for depth := -3; depth < 12; depth++ {
			if same := a.StructuralHash(depth) == b.StructuralHash(depth); same != (depth < c.from) {
				t.Errorf("%s: hashes at depth %d the same: %v\n%v\n%v", name, depth, same, a, b)
			}
		}
	}
}

// Finer hashes tell apart whatever coarser ones do, and the finest no more than Key.
func TestStructuralHashRefines(t *testing.T) {
	sp := newSpace(t, pipelinetest.Described(t, "harris.h21"), Adams(2))
	rng := rand.New(rand.NewSource(4))
	coarser := map[[2]uint64]uint64{} // by depth and hash, the hash one depth less
	depths := map[uint64]uint64{}     // by Key, the finest hash
	for range 30 {
		for s := sp.Start(); ; {
			for depth := range 12 {
				k := [2]uint64{uint64(depth), s.StructuralHash(depth)}
				less := s.StructuralHash(depth - 1)
				if have, ok := coarser[k]; ok && have != less {
					t.Fatalf("depth %d tells less than %d:\n%v", depth, depth-1, s)
				}
				coarser[k] = less
			}
			fine := s.StructuralHash(100)
			if have, ok := depths[s.Key()]; ok && have != fine {
				t.Fatalf("equal states, other hashes:\n%v", s)
			}
			depths[s.Key()] = fine
			a, ok := s.Sample(rng)
			if !ok {
				break
			}
			s = s.Next(a)
		}
	}
}

// What a state has besides its loop nest makes it another one, whichever kind of thing it is.
func TestKeysOfProperties(t *testing.T) {
	s := newSpace(t, toy(64, 64, 1), Defaults(2)).Start()
	slice := &Decision{Func: 1, Kind: Slice, Dim: 7}
	block := []Decision{{Func: 1, Kind: Block, Dim: 7, Factor: int64(Sized)}}
	lanes := []Decision{{Func: 1, Kind: Lanes, Factor: int64(Sized)}}
	seen := map[uint64]int{}
	for i, of := range []*State{s, s.with(block, nil, nil, false), s.with(nil, lanes, nil, false), s.with(nil, nil, slice, true), s.with(nil, nil, slice, false), s.with(nil, nil, nil, true)} {
		if before, ok := seen[of.Key()]; ok {
			t.Errorf("states %d and %d have one key", before, i)
		}
		seen[of.Key()] = i
	}
}

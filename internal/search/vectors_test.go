package search

import (
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// Prototypes unroll as many vectors of what is packed as it takes to begin anew, so that they
// are one; nothing else has such blocks.
func TestWholePeriods(t *testing.T) {
	sp := newSpace(t, "packed.h21", 2)
	for _, c := range Prototypes(sp) {
		trace := sp.FormatTrace(c.State.Trace())
		inlined := strings.Contains(trace, "value inline\n")
		if !strings.Contains(trace, "means block x 3\n") || strings.Contains(trace, "values block x 3\n") != inlined {
			t.Errorf("%s:\n%s", c.Origin, trace)
		}
		if !inlined && !strings.Contains(trace, "value block x 3\n") {
			t.Errorf("%s: value is no whole periods in\n%s", c.Origin, trace)
		}
	}
	for _, c := range Prototypes(newSpace(t, "harris.h21", 2)) {
		if trace := c.State.Space().FormatTrace(c.State.Trace()); strings.Contains(trace, "block x") {
			t.Errorf("%s:\n%s", c.Origin, trace)
		}
	}
}

// Where a row of a block is half a vector, four rows are unrolled, which are two vectors.
func TestEnoughPoints(t *testing.T) {
	for lanes, want := range map[int]bool{8: false, 16: true} {
		p := pipelinetest.Described(t, "dct.h21")
		f := slices.IndexFunc(p.Funcs, func(f pipeline.Func) bool { return f.Name == "both" })
		p.Funcs[f].VectorSize, p.Funcs[f].Stages[0].VectorSize = lanes, lanes
		sp := spacetest.New(t, p, space.Defaults(2))
		c := prototype(t, sp, "prototype:strips-32-light")
		if trace := sp.FormatTrace(c.Trace()); strings.Contains(trace, "both block v 4\n") != want {
			t.Errorf("%d lanes:\n%s", lanes, trace)
		}
	}
}

// A tile of 64 values and eight rows is sixteen pixels wide where those have four channels,
// which vectors are along, and 64 where there are images of few channels.
func TestTilesOfPixels(t *testing.T) {
	for _, want := range [][2][]int64{{{4, 1280, 720}, {4, 16, 8}}, {{1280, 720, 3}, {64, 8, 3}}} {
		p := pipelinetest.Described(t, "hist.h21")
		f := slices.IndexFunc(p.Funcs, func(f pipeline.Func) bool { return f.Output })
		for d, n := range want[0] {
			p.Funcs[f].Estimate[d] = pipeline.Span{Max: n - 1}
		}
		sp := spacetest.New(t, p, space.Defaults(2))
		plan := newPlan(sp)
		plan.place[f] = space.Decision{Func: f, Kind: space.Compute, Vector: 0}
		if tile, _ := plan.tile(f, 0, 64, 8, false); !slices.Equal(tile.Tile, want[1]) {
			t.Errorf("of %v a tile is %v, not %v", want[0], tile.Tile, want[1])
		}
	}
}

// Sums of products of bytes are made several at once in prototypes and every other schedule
// given, and otherwise where a move has it so.
func TestSumsSeveralAtOnce(t *testing.T) {
	sp := newSpace(t, "dots.h21", 2)
	bytes := funcs(t, sp, "by_bytes")[0]
	said := func(s *space.State) map[space.Kind]int64 { return planOf(sp.Start(), s).vectors[bytes] }
	usual := map[space.Kind]int64{space.Dot: 2}
	var from *space.State
	for _, c := range Prototypes(sp) {
		if planOf(sp.Start(), c.State).place[bytes].Kind != space.Compute {
			continue
		}
		from = c.State
		if got := said(from); !maps.Equal(got, usual) {
			t.Errorf("%s: %v, not %v", c.Origin, got, usual)
		}
	}
	moved(t, from, space.Dot, bytes, sp.Dots(bytes), (*mover).dot)
}

// The fastest is tried with half as long vectors of what it looks up, once where it stays the
// fastest or they are.
func TestHalvesAreTried(t *testing.T) {
	for name, want := range map[string]int{"bilateral_grid.h21": 1, "harris.h21": 0} {
		for _, seconds := range []float64{0.5, 2} {
			sp := newSpace(t, name, 2)
			e := NewEvolve(sp, rand.New(rand.NewSource(1)), EvolveDefaults())
			tried := 0
			for i := range 30 {
				cs, err := e.Propose(t.Context(), 1)
				if err != nil || len(cs) != 1 {
					t.Fatalf("proposed %d: %v", len(cs), err)
				}
				o := Outcome{Candidate: cs[0], OK: true, Seconds: 1 + float64(i)/100}
				if cs[0].Origin == "halves" {
					tried++
					o.Seconds = seconds
					if trace := sp.FormatTrace(cs[0].State.Trace()); !strings.Contains(trace, "lanes 4\n") || i != promptly {
						t.Errorf("%s: candidate %d is\n%s", name, i, trace)
					}
				}
				if err := e.Observe([]Outcome{o}); err != nil {
					t.Fatal(err)
				}
			}
			if tried != want {
				t.Errorf("%s: tried %d times, not %d", name, tried, want)
			}
		}
	}
}

// A copy of the weights lies as they are added up, four at once, in tiles of two vectors.
func TestDottedCopies(t *testing.T) {
	sp := newSpace(t, "dots_in.h21", 2)
	weights, bytes := funcs(t, sp, "weights_im_in_by_bytes")[0], funcs(t, sp, "by_bytes")[0]
	p := planOf(sp.Start(), prototype(t, sp, "prototype:tiles-light-dotted"))
	if d := p.place[weights]; d.Kind != space.Compute || d.Vector != 1 || !d.Compute.Equal(space.Root) {
		t.Errorf("the weights' copy: %+v", d)
	}
	if d := p.place[bytes]; p.vectors[bytes][space.Dot] != 4 || len(d.Compute.Tile) == 0 || d.Compute.Tile[0] != twoVectors(sp) {
		t.Errorf("the sums: %+v, %d at once", d, p.vectors[bytes][space.Dot])
	}
	for _, c := range Prototypes(newSpace(t, "dots.h21", 2)) {
		if strings.Contains(c.Origin, "dotted") {
			t.Errorf("%s where there is no copy", c.Origin)
		}
	}
}

// moved checks that moves from a state say each of these of the vectors of f, and nothing.
func moved(t *testing.T, from *space.State, kind space.Kind, f int, factors []int64, move func(m *mover, from, other *space.State) (*space.State, bool)) {
	t.Helper()
	begin := from.Space().Start()
	m := newMover(begin, rand.New(rand.NewSource(1)))
	seen := map[int64]bool{}
	for range 200 {
		next, ok := move(m, from, nil)
		if !ok || next.Key() == from.Key() {
			t.Fatalf("%s: a move changed nothing", kind)
		}
		seen[planOf(begin, next).vectors[f][kind]] = true // 0 where nothing is said
		from = next
	}
	for _, n := range append(slices.Clone(factors), 0) {
		if !seen[n] {
			t.Errorf("%s: never %d", kind, n)
		}
	}
}

// What is stored as bytes has vectors of fewer where a move has it so.
func TestLanes(t *testing.T) {
	sp := newSpace(t, "lookups.h21", 2)
	bytes := funcs(t, sp, "bytes")[0]
	moved(t, everyRoot(sp, false).state(), space.Lanes, bytes, sp.Shorter(bytes), (*mover).lanes)
}

// Prototypes have rows that begin where a reduction looks up one after the other, but no
// points that begin anywhere themselves.
func TestShiftedRows(t *testing.T) {
	sp := newSpace(t, "lookups.h21", 2)
	shifted, scattered := funcs(t, sp, "shifted")[0], funcs(t, sp, "scattered")[0]
	computed := 0
	for _, c := range Prototypes(sp) {
		p := planOf(sp.Start(), c.State)
		if p.place[shifted].Kind == space.Compute {
			computed++
			if _, ok := p.vectors[shifted][space.Interchange]; !ok {
				t.Errorf("%s has the reduction inside", c.Origin)
			}
		}
		if _, ok := p.vectors[scattered][space.Interchange]; ok {
			t.Errorf("%s has a reduction around points that have places of their own", c.Origin)
		}
	}
	if computed == 0 {
		t.Error("no prototype computes it")
	}
}

// Some prototypes add up rows in vectors along them, and otherwise a move has it so.
func TestSumsAlongRows(t *testing.T) {
	sp := newSpace(t, "softmax.h21", 2)
	total := funcs(t, sp, "total")[0]
	said := func(s *space.State) int64 { return planOf(sp.Start(), s).vectors[total][space.Across] }
	for _, name := range []string{"prototype:across-light", "prototype:across-64-light", "prototype:across-64-light-by-4"} {
		if got := said(prototype(t, sp, name)); got != slices.Max(sp.Across(total)) {
			t.Errorf("%d iterations to a vector in %s", got, name)
		}
	}
	for _, c := range Prototypes(sp) {
		if !strings.HasPrefix(c.Origin, "prototype:across") && said(c.State) != 0 {
			t.Errorf("%s adds up along rows too", c.Origin)
		}
	}
	m := newMover(sp.Start(), rand.New(rand.NewSource(1)))
	from := prototype(t, sp, "prototype:root-light")
	seen := map[int64]bool{}
	for range 50 {
		next, ok := m.across(from, nil)
		if !ok {
			t.Fatal("no move")
		}
		seen[said(next)] = true
		from = next
	}
	if len(seen) != 1+len(sp.Across(total)) {
		t.Errorf("moves made vectors of %v", seen)
	}
}

// What adds up something else than rows has several vectors of its sums side by side there.
func TestSumsBesideRows(t *testing.T) {
	sp := newSpace(t, "softmax_parts.h21", 2)
	ids := funcs(t, sp, "total", "total_parts")
	p := planOf(sp.Start(), prototype(t, sp, "prototype:across-64-light"))
	if len(p.blocks[ids[0]]) > 0 || len(p.blocks[ids[1]]) == 0 {
		t.Errorf("blocks of %v and %v", p.blocks[ids[0]], p.blocks[ids[1]])
	}
}

// A vector has no more lanes than its dimension has points, where a shorter one holds them.
func TestEnoughLanes(t *testing.T) {
	small := pipelinetest.Described(t, "lookups.h21")
	output := slices.IndexFunc(small.Funcs, func(f pipeline.Func) bool { return f.Output })
	for d, n := range []int64{12, 8} { // with more rows vectors would go along y
		small.Funcs[output].Estimate[d] = pipeline.Span{Max: n - 1}
	}
	held := 0
	for _, described := range []*pipeline.Pipeline{small, pipelinetest.Described(t, "dots.h21")} {
		sp := spacetest.New(t, described, space.Defaults(2))
		p := everyRoot(sp, false)
		for f := range sp.Pipeline().Funcs {
			if p.place[f].Kind != space.Compute || p.vector(f) < 0 {
				continue
			}
			fn := &sp.Pipeline().Funcs[f]
			points := sp.Extents(f, 0)[fn.Stages[0].PureLoop(p.vector(f))]
			got := p.enoughLanes(f)
			if got > 0 {
				held++
			}
			if got > 0 && (got < points || got >= int64(fn.VectorSize)) {
				t.Errorf("%s: %d lanes for %d points, in place of %d", fn.Name, got, points, fn.VectorSize)
			}
			for _, lanes := range sp.Shorter(f) {
				if lanes >= points && (got == 0 || got > lanes) {
					t.Errorf("%s: %d lanes where %d hold all %d points", fn.Name, got, lanes, points)
				}
			}
		}
	}
	if held == 0 {
		t.Error("no shorter vector holds all points: this shows nothing")
	}
}

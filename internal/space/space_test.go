package space

import (
	"errors"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
)

func TestOptions(t *testing.T) {
	for _, o := range []Options{Defaults(1), Adams(64)} {
		if err := o.Validate(); err != nil {
			t.Error(err)
		}
	}
	for name, change := range map[string]func(*Options){
		"parallelism": func(o *Options) { o.Parallelism = 0 },
		"tasks":       func(o *Options) { o.TasksPerCore = 0 },
		"idle":        func(o *Options) { o.IdleLimit = math.NaN() },
		"retile":      func(o *Options) { o.RetileIdleLimit = 0.5 },
		"recompute":   func(o *Options) { o.Recompute = 0 },
		"inlined":     func(o *Options) { o.InlinedCalls = 0 },
		"unroll":      func(o *Options) { o.UnrollLimit = 0 },
		"sums":        func(o *Options) { o.SumsLimit = -1 },
		"stack":       func(o *Options) { o.StackBytes = -1 },
		"memory":      func(o *Options) { o.MemoryLimit = -1 },
	} {
		o := Defaults(2)
		change(&o)
		err := o.Validate()
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := New(toy(16, 8), o); err == nil {
			t.Errorf("%s: New took it", name)
		}
	}
}

func TestRefusesPipelines(t *testing.T) {
	far := toy(16, 8)
	far.Funcs[0].Estimate[0].Max = 1 << 40
	backwards := toy(16, 8, 1)
	backwards.Funcs[0].Stages[0].Edges[0].Producer = 0
	for want, p := range map[string]*pipeline.Pipeline{
		"no Funcs":               {Generator: "none"},
		"leaves Halide's int32":  far,
		"region of a is empty":   toy(0, 8),
		"does not come after it": backwards,
	} {
		if _, err := New(p, Defaults(2)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestTilings(t *testing.T) {
	for _, size := range [][]int64{{1}, {2}, {7}, {16}, {1530, 2554}, {5, 1, 3}, {64, 64, 3, 3}} {
		full := 1.0
		for _, s := range size {
			full *= float64(s)
		}
		seen := map[string]bool{}
		for _, kind := range []tilingKind{splits, whole} {
			clear(seen)
			for _, u := range tilings(size, kind) {
				if len(u) != len(size) || seen[sizeKey(u)] {
					t.Fatalf("%v: tiling %v", size, u)
				}
				seen[sizeKey(u)] = true
				outer := 1.0
				for i := range u {
					inner := ceilDiv(size[i], u[i])
					if u[i] < 1 || inner*u[i]*7 > max(size[i]*8, size[i]*7) {
						t.Errorf("%v: tiling %v wastes too much", size, u)
					}
					if kind == whole && u[i] != 1 && u[i] != size[i] {
						t.Errorf("%v: %v splits a loop", size, u)
					}
					outer *= float64(u[i])
				}
				if outer == 1 || outer == full {
					t.Errorf("%v: tiling %v is trivial", size, u)
				}
			}
		}
	}
	// By hand: inner sizes 1 2 4 8, outer sizes 1 2 (4 and up are there already),
	// and 3, for two loops of which not both may be trivial.
	got := tilings([]int64{1, 16}, splits)
	want := [][]int64{{1, 8}, {1, 4}, {1, 2}, {1, 6}}
	if len(got) != len(want) {
		t.Fatalf("tilings of a loop of 16: %v, want %v", got, want)
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("tilings of a loop of 16: %v, want %v", got, want)
		}
	}
}

// complete walks the whole space and returns the keys of its complete states.
func complete(t *testing.T, sp *Space, check func(*State)) map[uint64]*State {
	t.Helper()
	out := map[uint64]*State{}
	var walk func(s *State)
	walk = func(s *State) {
		as := s.Actions(nil)
		if len(as) == 0 {
			if !s.Complete() {
				t.Fatalf("no action, and not complete:\n%v", s)
			}
			out[s.Key()] = s
			return
		}
		if s.Complete() {
			t.Fatalf("complete, and still %d actions", len(as))
		}
		check(s)
		for i, a := range as {
			for _, b := range as[:i] {
				if a.Same(b) {
					t.Fatalf("action %v twice", a)
				}
			}
			next := s.Next(a)
			if next.Depth() <= s.Depth() {
				t.Fatalf("%v leads nowhere", a)
			}
			walk(next)
		}
	}
	walk(sp.Start())
	return out
}

// Every state of small spaces: Sample draws exactly the legal actions, each with
// the probability its comment gives; all complete states have valid schedules that
// their traces rebuild; and drawing to the end finds all of them and no other.
func TestBruteForce(t *testing.T) {
	for name, c := range map[string]struct {
		p *pipeline.Pipeline
		o Options
	}{
		"stencil":     {toy(8, 6, 2), Defaults(2)},
		"one core":    {toy(8, 4, 1), Defaults(1)},
		"adams":       {toy(8, 6, 2), Adams(2)},
		"with input":  {asInput(toy(8, 4, 1, 1)), Defaults(2)},
		"three Funcs": {toy(8, 2, 0, 1), Adams(2)},
		"Mullapudi":   {toy(8, 6, 2), narrow(2)},
	} {
		t.Run(name, func(t *testing.T) {
			sp := newSpace(t, c.p, c.o)
			rng := rand.New(rand.NewSource(3))
			states := 0
			all := complete(t, sp, func(s *State) {
				if states++; states <= 60 {
					checkSample(t, s, rng)
				}
			})
			if len(all) < 4 {
				t.Fatalf("only %d complete states: nothing was tested", len(all))
			}
			for _, s := range all {
				if err := s.Schedule().Check(c.p.Binding()); err != nil {
					t.Fatalf("%v\n%v", err, s)
				}
				again, _, err := sp.Replay(s.Trace(), Strict)
				if err != nil || again.Key() != s.Key() {
					t.Fatalf("its trace gives another state (%v):\n%v", err, s)
				}
			}
			found := map[uint64]bool{}
			for range 60 * len(all) {
				s := sp.Start().SampleDown(rng)
				if all[s.Key()] == nil {
					t.Fatalf("drew what is not in the space:\n%v", s)
				}
				found[s.Key()] = true
			}
			if len(found) < len(all)*9/10 {
				t.Errorf("60 draws a state found %d of %d", len(found), len(all))
			}
		})
	}
}

// narrow is their ablation.
func narrow(cores int) Options {
	o := Adams(cores)
	o.NoSubtiling = true
	return o
}

// checkSample draws from one state and compares with what Sample documents by
// Pearson's chi-squared test, at a level that one in a million tests exceeds.
func checkSample(t *testing.T, s *State, rng *rand.Rand) {
	t.Helper()
	as := s.Actions(nil)
	p := documented(s, as)
	const draws = 2000
	count := make([]int, len(as))
	for range draws {
		a, ok := s.Sample(rng)
		i := slices.IndexFunc(as, a.Same)
		if !ok || i < 0 {
			t.Fatalf("drew %v, which is not legal in\n%v", a, s)
		}
		count[i]++
	}
	chi, freedom := 0.0, -1.0
	rest, restCount := 0.0, 0 // cells too small for the test are taken together
	for i := range as {
		if p[i] <= 0 {
			t.Fatalf("legal action %v is never drawn", as[i])
		}
		if e := p[i] * draws; e < 5 {
			rest, restCount = rest+e, restCount+count[i]
		} else {
			chi += (float64(count[i]) - e) * (float64(count[i]) - e) / e
			freedom++
		}
	}
	if rest > 0 {
		chi += (float64(restCount) - rest) * (float64(restCount) - rest) / rest
		freedom++
	}
	// Wilson and Hilferty's approximation of the quantile, 4.75 deviations out.
	if freedom > 0 {
		v := 2 / (9 * freedom)
		if limit := freedom * math.Pow(1-v+4.75*math.Sqrt(v), 3); chi > max(limit, 24) {
			t.Errorf("chi-squared %.1f over %.1f with %g degrees of freedom: %v drawn, %v expected in\n%v", chi, limit, freedom, count, p, s)
		}
	}
}

// documented computes the probabilities that Sample's comment gives.
func documented(s *State, as []Action) []float64 {
	p := make([]float64, len(as))
	f, kind := s.Deciding()
	if kind == Tasks {
		for i := range p {
			p[i] = 1 / float64(len(p))
		}
		return p
	}
	inline, can := s.inlining(f)
	at := s.placing(f)
	at.families(listed)
	fams := at.fams
	if can && s.sp.nodes[f].onlyInline {
		fams = nil
	}
	total := 0.0
	put := func(a Action, w float64) {
		if i := slices.IndexFunc(as, a.Same); i >= 0 {
			p[i] += w
			total += w
		}
	}
	if can {
		put(inline, 1)
	}
	for _, fam := range fams {
		tiles := fam.tiles
		if tiles == nil {
			tiles = [][]int64{nil}
		}
		for _, tile := range tiles {
			a := fam.action(f)
			a.Tile = tile
			inners := fam.inners
			if inners == nil {
				inners = [][]int64{nil}
			}
			if fam.deep {
				inners = append([][]int64{nil}, at.deepInners(&a)...)
			}
			for _, inner := range inners {
				a.Inner = inner
				put(a, 1/float64(len(tiles)*len(inners)))
			}
		}
	}
	for i := range p {
		p[i] /= total
	}
	return p
}

func TestStatesAreShared(t *testing.T) {
	sp := newSpace(t, pipelinetest.Described(t, "harris.h21"), Defaults(2))
	want := sp.Start().SampleDown(rand.New(rand.NewSource(9))).Key()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got := sp.Start().SampleDown(rand.New(rand.NewSource(9))).Key(); got != want {
				t.Errorf("the same draws gave %x and %x", got, want)
			}
		})
	}
	group.Wait()
}

// A space that forgets between decisions, and lets go of what it knew of the loops at
// root, leads to the same states; those made before keep what they had.
func TestForgetting(t *testing.T) {
	p := pipelinetest.Described(t, "harris.h21")
	keeps, forgets := newSpace(t, p, Defaults(2)), newSpace(t, p, Defaults(2))
	for seed := range int64(20) {
		before := forgets.Start().SampleDown(rand.New(rand.NewSource(seed)))
		text, was := before.String(), known(before.Root())
		s, rng := forgets.Start(), rand.New(rand.NewSource(seed))
		for {
			forgets.Forget()
			a, ok := s.Sample(rng)
			if !ok {
				break
			}
			s = s.Next(a)
		}
		want := keeps.Start().SampleDown(rand.New(rand.NewSource(seed)))
		if s.Key() != want.Key() || s.String() != want.String() {
			t.Fatalf("seed %d: a space that forgets gives\n%s\nand one that does not\n%s", seed, s, want)
		}
		if before.String() != text || !slices.Equal(known(before.Root()), was) {
			t.Fatalf("seed %d: a state made before is no longer what it was:\n%s\nand now\n%s", seed, text, before)
		}
	}
	remembered := func(sp *Space) (n int) {
		for f := range sp.levels {
			if sp.levels[f].Load() != nil {
				n++
			}
		}
		return n
	}
	forgets.Forget()
	if remembered(keeps) == 0 || remembered(forgets) > 0 {
		t.Fatalf("the loops of %d Funcs are remembered, and of %d after all was forgotten", remembered(keeps), remembered(forgets))
	}
}

// known are the regions that levels inside the root know of what they read: the same
// ones as long as they are not worked out again.
func known(n *Nest) (out []*Bound) {
	for f := range n.site.sp.nodes {
		if !n.IsRoot() && n.Reads(f) {
			out = append(out, n.Bounds(f))
		}
	}
	for _, c := range n.Children {
		out = append(out, known(c)...)
	}
	return out
}

// A step changes the path to what it touches and nothing else.
func TestSharing(t *testing.T) {
	sp := newSpace(t, pipelinetest.Described(t, "harris.h21"), Defaults(2))
	var s *State
	for s = sp.Start(); !s.Complete(); {
		f, kind := s.Deciding()
		a := Action{Kind: kind, Func: f, Vector: 0}
		if kind == Tasks {
			a = s.Actions(nil)[0]
		}
		next := s.Next(a)
		for i, l := range s.root.Children {
			if l.Func != f && next.root.Children[i] != l {
				t.Fatalf("deciding about %s copied %s", sp.nodes[f].Name, sp.nodes[l.Func].Name)
			}
		}
		s = next
	}
}

func TestReplayRepairs(t *testing.T) {
	p := toy(64, 64, 2, 2)
	sp := newSpace(t, p, Defaults(2))
	trace, err := sp.ParseTrace("b compute a [64,1] store a [64,16] vector x\nc inline\n")
	if err != nil {
		t.Fatal(err)
	}
	if s, _, err := sp.Replay(trace, Strict); err != nil || s.Complete() || s.Depth() != 0 {
		t.Errorf("a strict replay without the output's decision: %v, %v", s, err)
	}
	s, repaired, err := sp.Replay(trace, Nearest)
	if err != nil || !s.Complete() || len(repaired) > 0 {
		t.Fatalf("repaired %v, %v", repaired, err)
	}
	// An output cannot be inlined.
	bad := append([]Decision{{Func: 0, Kind: Inline}}, trace...)
	if _, _, err := sp.Replay(bad, Strict); !errors.Is(err, ErrIllegal) {
		t.Errorf("strict: %v", err)
	}
	if s, repaired, err := sp.Replay(bad, Nearest); err != nil || !slices.Equal(repaired, []int{0}) || !s.Complete() {
		t.Errorf("nearest: repaired %v, %v", repaired, err)
	}
	if _, _, err := sp.Replay([]Decision{{Func: 7, Kind: Inline}}, Nearest); err == nil {
		t.Error("a Func that is not there was replayed")
	}
}

// Where computing more would read beyond an input nothing is rounded up, and a
// sliding window that would have to start early is not offered.
func TestInputsAreNotOverread(t *testing.T) {
	unclamped := asInput(toy(64, 64, 2, 2, 2))
	free := toy(64, 64, 2, 2, 2)
	rng := rand.New(rand.NewSource(5))
	tails := func(p *pipeline.Pipeline) map[string]int {
		sp := newSpace(t, p, Defaults(2))
		words := map[string]int{}
		for range 200 {
			for _, d := range sp.Start().SampleDown(rng).Schedule().Directives {
				if d.Op == schedule.Split {
					words[d.Word]++
				}
			}
		}
		return words
	}
	if w := tails(unclamped); w[roundUp] > 0 || w[shift] == 0 {
		t.Errorf("tails with an input that ends: %v", w)
	}
	if w := tails(free); w[roundUp] == 0 {
		t.Errorf("tails without inputs: %v", w)
	}
	// Four rows at a time, of which the next four need two again: the extra iteration would
	// begin two rows early, or, where the last rows are read first, end two rows late.
	for _, p := range []*pipeline.Pipeline{unclamped, flipped(asInput(toy(64, 64, 2, 2, 2)), 2)} {
		sp := newSpace(t, p, Defaults(2))
		for rows, slides := range map[int]bool{1: true, 2: true, 4: false} {
			trace, err := sp.ParseTrace(fmt.Sprintf("a tasks [64,32]\nb compute a [64,%d] store a [64,32] vector x\n", rows))
			if err != nil {
				t.Fatal(err)
			}
			if s, repaired, _ := sp.Replay(trace, Nearest); slices.Contains(repaired, 1) == slides {
				t.Errorf("by %d rows over an overlap of two it slides: %v\n%v", rows, !slides, s)
			}
		}
	}
	// Every other row: each iteration, and so the first, would compute the one before it too.
	apart := asInput(toy(64, 64, 0, 0))
	rows := &apart.Funcs[0].Stages[0].Edges[0].Bounds[1]
	rows.Min.Coeff, rows.Max.Coeff = 2, 2
	sp := newSpace(t, apart, Defaults(2))
	trace, err := sp.ParseTrace("a tasks [64,32]\nb compute a [64,1] store a [64,32] vector x\n")
	if err != nil {
		t.Fatal(err)
	}
	if s, repaired, _ := sp.Replay(trace, Nearest); len(repaired) == 0 {
		t.Errorf("slides by two rows of which it needs one:\n%v", s)
	}
}

// What is computed in a loop that moves none of it, and kept around that, is computed in the
// first iteration: in all others there is nothing to shift a tile to.
func TestWindowsThatStand(t *testing.T) {
	for moves, want := range map[int64]string{1: shift, 0: guard} {
		p := asInput(toy(64, 4, 0, 0))
		rows := &p.Funcs[0].Stages[0].Edges[0].Bounds[1]
		rows.Min.Coeff, rows.Max.Coeff = moves, moves
		s := stateOf(t, newSpace(t, p, Defaults(2)), "a compute root vector x\na tasks [32,4]\nb compute a [32,1] store a [32,4] vector x\n")
		if got := directivesOf(s, "b"); !strings.Contains(got, "store_at") || !strings.Contains(got, "split(x, x, xi, 4, "+want+")") {
			t.Errorf("rows move by %d:\n%s", moves, got)
		}
	}
}

// A copy that fills the tile of an update is not shifted by what the update guards, unless
// the reduction moves along it too.
func TestTilesThatUpdatesFill(t *testing.T) {
	one, none := pipeline.Rational{Num: 1, Den: 1}, pipeline.Rational{Num: 0, Den: 1}
	for moves, want := range map[pipeline.Rational]string{none: guard, one: shift} {
		p := asInput(toy(64, 64, 0, 0, 0))
		b := &p.Funcs[1]
		update := b.Stages[0]
		update.Name = "b.update(0)"
		update.Loops = append([]pipeline.Loop{{Var: "r", RVar: true, PureDim: -1, ComputedDim: -1, Const: &[2]int64{0, 7}}}, update.Loops...)
		update.Edges = []pipeline.Edge{update.Edges[0]}
		point := func(loop int, end bool) pipeline.Bound { return pipeline.Bound{Coeff: 1, Dim: loop, UsesMax: end} }
		update.Edges[0].Bounds = []pipeline.Bounds{{Min: point(1, false), Max: point(1, true)}, {Min: point(0, false), Max: point(0, true)}}
		update.Edges[0].Jacobians = []pipeline.Jacobian{{Count: 1, Coeffs: [][]pipeline.Rational{{moves, one, none}, {one, none, none}}}}
		b.Stages[0].Edges = nil
		b.Stages = append(b.Stages, update)
		s := stateOf(t, newSpace(t, p, Defaults(2)), "a compute root vector x\na tasks [16,64]\nb compute a [8,16] vector x\nc compute b.update(0) [2,8,16] vector x\n")
		if got := directivesOf(s, "c"); !strings.Contains(got, "compute_at(b") || !strings.Contains(got, "split(x, x, xi, 4, "+want+")") {
			t.Errorf("the reduction moves it by %d:\n%s", moves.Num, got)
		}
	}
}

// What is read or written where stored values say is computed as far as it is required and no
// further: those values are not there. Where the stage bounds them itself it may be further.
func TestPlacesThatValuesSay(t *testing.T) {
	const text = `output compute root vector x
output tasks [64,8]
stored compute output [64,2] vector x
promised compute output [64,2] vector x
counts compute output [64,2] vector x
used compute output [64,2] vector x
typed compute output [64,2] vector x
clamped compute output [64,2] vector x
raw compute output [64,2] vector x
bytes compute output [64,2] vector x
`
	for _, name := range []string{"lookups.h19", "lookups.h21"} {
		state := stateOf(t, newSpace(t, pipelinetest.Described(t, name), Defaults(2)), text)
		for stage, further := range map[string]bool{"stored": false, "promised": false, "counts": false, "counts.update(0)": false, "used": true, "typed": true} {
			if got := directivesOf(state, stage); !strings.Contains(got, "split(x, ") || strings.Contains(got, roundUp) != further {
				t.Errorf("%s of %s:\n%s", stage, name, got)
			}
		}
	}
}

// A loop whose extent a parameter decides is not unrolled, whatever its estimate; Adams
// et al.'s space unrolls it.
func TestParametersAreNotUnrolled(t *testing.T) {
	for _, unchecked := range []bool{false, true} {
		o := Defaults(2)
		o.Unchecked = unchecked
		sp := newSpace(t, pipelinetest.Described(t, "parametric.h21"), o)
		unrolled := 0
		for seed := range int64(300) {
			for _, d := range sp.Start().SampleDown(rand.New(rand.NewSource(seed))).Schedule().Directives {
				if d.Op == schedule.Unroll && d.Func == "level" && d.Vars[0] == "k" {
					unrolled++
				}
			}
		}
		if (unrolled > 0) != unchecked {
			t.Errorf("unchecked %v: k is unrolled %d times", unchecked, unrolled)
		}
	}
}

// What slides computes a step at a time: a vector along that dimension which holds more
// must not be shifted back, to before what is there. Halide says so where it runs:
// claims/toy_schedules_are_right.
func TestStepsShorterThanVectors(t *testing.T) {
	for _, c := range []struct {
		rows   int64
		upward bool
		want   string
	}{{2, false, guard}, {4, false, shift}, {2, true, guard}, {4, true, shift}} {
		p, rows, want := asInput(toy(8, 16, c.rows, 0)), c.rows, c.want
		if c.upward {
			flipped(p, rows)
		}
		sp := newSpace(t, p, Defaults(2))
		trace, err := sp.ParseTrace(fmt.Sprintf("a tasks [8,%d]\nb compute a [8,%d] store a [8,8] vector y\n", rows, rows))
		if err != nil {
			t.Fatal(err)
		}
		s, repaired, err := sp.Replay(trace, Nearest)
		if err != nil || len(repaired) > 0 {
			t.Fatalf("%v, repaired %v:\n%v", err, repaired, s)
		}
		found := false
		for _, d := range s.Schedule().Directives {
			if d.Op == schedule.Split && d.Func == "b" {
				found = true
				if d.Word != want {
					t.Errorf("%d rows a step: %v in\n%v", rows, d, s.Schedule())
				}
			}
		}
		if !found {
			t.Errorf("nothing of b is split:\n%v", s.Schedule())
		}
	}
}

// A replay that begins where a trace parts from the state it was read off ends where one
// from further up does.
func TestShared(t *testing.T) {
	sp, err := New(pipelinetest.Described(t, "harris.h21"), Defaults(2))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewSource(5))
	further := 0
	for range 100 {
		s, other := sp.Start().SampleDown(rng), sp.Start().SampleDown(rng)
		base := sp.Start()
		if rng.Intn(2) > 0 {
			for base = s.Parent(); base.Depth() > 6; base = base.Parent() {
			}
		}
		f := rng.Intn(sp.Funcs())
		var trace []Decision
		for _, from := range []struct {
			*State
			take bool
		}{{s, false}, {other, true}} {
			for _, d := range from.Trace() {
				if (d.Func == f) == from.take {
					trace = append(trace, d)
				}
			}
		}
		begin := s.Shared(base, trace)
		if begin.Depth() > base.Depth() {
			further++
		}
		want, _, err := base.Replay(trace, Nearest)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := begin.Replay(trace, Nearest); err != nil || got.Key() != want.Key() {
			t.Fatalf("%v, from depth %d:\n%v\nand from depth %d:\n%v", err, begin.Depth(), got, base.Depth(), want)
		}
		if other.Shared(s, trace) != s {
			t.Error("a state that is not above another is shared with it")
		}
	}
	if further < 50 {
		t.Errorf("only %d of 100 begin further down", further)
	}
}

func FuzzParseTrace(f *testing.F) {
	b := toy(64, 64, 2, 2)
	sp, err := New(b, Defaults(2))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("b compute a [64,1] store a [64,16] vector x\nc inline\na tasks serial\n")
	f.Add("a compute root vector none")
	f.Add("\"a\" tasks [1,2]")
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := sp.ParseTrace(text)
		if err != nil {
			return
		}
		again, err := sp.ParseTrace(sp.FormatTrace(trace))
		if err != nil || sp.FormatTrace(again) != sp.FormatTrace(trace) {
			t.Fatalf("%q reads as %q, and that not again: %v", text, sp.FormatTrace(trace), err)
		}
		if s, _, err := sp.Replay(trace, Nearest); err != nil || !s.Complete() {
			t.Fatal(err)
		}
	})
}

// A strip of 32 of harris's 2554 rows needs 36 of its 2558 grey ones, and there are 80.
func TestRepeats(t *testing.T) {
	p := pipelinetest.Described(t, "harris.h21")
	sp, err := New(p, Defaults(2))
	if err != nil {
		t.Fatal(err)
	}
	find := func(name string) int {
		return slices.IndexFunc(p.Funcs, func(f pipeline.Func) bool { return f.Name == name })
	}
	output, luma := find("output"), find("luma")
	for rows, want := range map[int64]float64{32: 80 * 36 / 2558.0, 1: 5 * 2554 / 2558.0, 2554: 1} {
		tile := sp.Extents(output, 0)
		tile[1] = rows
		if got := sp.Repeats(luma, Place{Func: output, Tile: tile}); math.Abs(got-want) > 1e-9 {
			t.Errorf("strips of %d: %g times, not %g", rows, got, want)
		}
	}
}

// A schedule is good for an output that is a little smaller than estimated: a vector of more
// than that, which would read before an input's start, is guarded.
func TestVectorsOfNearlyEverything(t *testing.T) {
	for width, want := range map[int64]string{64: guard, 70: guard, 74: shift, 128: shift} {
		p := asInput(toy(width, 64, 1))
		p.Funcs[0].VectorSize, p.Funcs[0].Stages[0].VectorSize = 64, 64
		got := directivesOf(stateOf(t, newSpace(t, p, Defaults(2)), "a compute root vector x\n"), "a")
		if !strings.Contains(got, "split(x, x, xi, 64, "+want+")") {
			t.Errorf("%d points to a row:\n%s", width, got)
		}
		// So is one of what is computed for whole rows of that.
		p = asInput(toy(width, 64, 1, 1))
		p.Funcs[1].VectorSize, p.Funcs[1].Stages[0].VectorSize = 64, 64
		strips := fmt.Sprintf("a compute root vector x\na tasks [%[1]d,32]\nb compute a [%[1]d,8] vector x\n", width)
		got = directivesOf(stateOf(t, newSpace(t, p, Defaults(2)), strips), "b")
		if !strings.Contains(got, "compute_at") || !strings.Contains(got, "split(x, x, xi, 64, "+want+")") {
			t.Errorf("%d points to a row of a strip:\n%s", width, got)
		}
	}
}

// The short loops of what is all reduction are unrolled inside the long ones, unless they
// are many or there are points.
func TestShortReductionsInside(t *testing.T) {
	long := loopVar{name: "r", extent: 20000, constant: true}
	short := func(name string, extent int64) loopVar { return loopVar{name: name, extent: extent, constant: true} }
	for _, c := range []struct {
		loops []loopVar
		want  string
	}{
		{[]loopVar{long, short("s", 2), short("t", 2)}, "s* t* r"},
		{[]loopVar{long, short("s", 1), short("t", 3)}, "s t* r"},
		{[]loopVar{long, short("s", 2), short("t", 5)}, "s* r t"},
		{[]loopVar{long, short("s", 4), short("t", 4), short("u", 2)}, "r s t u"},
		{[]loopVar{long, {name: "s", extent: 2}}, "r s"},
		{[]loopVar{long, short("s", 2), {name: "x", extent: 4, constant: true, pure: true}}, "r s x"},
	} {
		s := stageLoops{vars: c.loops}
		s.shortInside()
		var got []string
		for _, v := range s.vars {
			name := v.name
			if v.unrolled {
				name += "*"
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v, not %s", got, c.want)
		}
	}
}

// What a reduction with a condition reads may be needed in part only, wherever it is computed
// but at root: its vectors are guarded.
func TestPartsOfWhatConditionsNeed(t *testing.T) {
	for predicate, want := range map[bool]string{false: shift, true: guard} {
		p := asInput(toy(128, 128, 1, 1))
		p.Funcs[0].Stages[0].Predicate = predicate
		sp := newSpace(t, p, Defaults(2))
		inside := directivesOf(stateOf(t, sp, "a compute root vector x\na tasks [128,32]\nb compute a [128,8] vector x\n"), "b")
		if !strings.Contains(inside, "compute_at") || !strings.Contains(inside, "split(x, x, xi, 4, "+want+")") {
			t.Errorf("with a condition %v:\n%s", predicate, inside)
		}
		root := directivesOf(stateOf(t, sp, "a compute root vector x\nb compute root vector x\n"), "b")
		if !strings.Contains(root, "split(x, x, xi, 4, shift_inwards)") {
			t.Errorf("at root, with a condition %v:\n%s", predicate, root)
		}
	}
}

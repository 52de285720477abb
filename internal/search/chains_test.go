package search

import (
	"maps"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// funcs numbers Funcs by name.
func funcs(t *testing.T, sp *space.Space, names ...string) []int {
	t.Helper()
	var out []int
	for _, n := range names {
		f := slices.IndexFunc(sp.Pipeline().Funcs, func(f pipeline.Func) bool { return f.Name == n })
		if f < 0 {
			t.Fatalf("no Func %s", n)
		}
		out = append(out, f)
	}
	return out
}

// prototype is the one of that origin.
func prototype(t *testing.T, sp *space.Space, origin string) *space.State {
	t.Helper()
	cs := Prototypes(sp)
	i := slices.IndexFunc(cs, func(c Candidate) bool { return c.Origin == origin })
	if i < 0 {
		t.Fatalf("there is no %s", origin)
	}
	return cs[i].State
}

// isHandWritten holds for harris as people write it: strips of rows in parallel;
// the grey image and both gradients stored per strip and computed per row, along
// which they are vectorised; all else inlined.
func isHandWritten(sp *space.Space, s *space.State, rows string) bool {
	want := strings.ReplaceAll(`output compute root vector x
output tasks [1536,ROWS]
grad_y compute output [1536,1] store output [1536,ROWS] vector x
grad_x compute output [1536,1] store output [1536,ROWS] vector x
luma compute output [1536,1] store output [1536,ROWS] vector x
`, "ROWS", rows)
	var lines []string
	for _, l := range strings.SplitAfter(sp.FormatTrace(s.Trace()), "\n") {
		if !strings.HasSuffix(l, " inline\n") {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "") == want
}

// From everything inlined, and from everything at root, one chain move over the
// last layers and one over the others make the hand-written harris.
func TestChainMovesReachTheHandWrittenHarris(t *testing.T) {
	// Strips of 32 of its 2554 rows are 80 tasks: within 16 a core from 5 cores on.
	sp := newSpace(t, "harris.h21", 8)
	stencils := funcs(t, sp, "grad_x", "grad_y", "luma")
	output := funcs(t, sp, "output")[0]
	others := slices.DeleteFunc(sp.Upstream(output), func(f int) bool { return slices.Contains(stencils, f) })
	slide := func(s *space.State, of []int) *space.State {
		t.Helper()
		p := planOf(sp.Start(), s)
		if !p.slide(chain{owner: space.Reader{Func: output}, funcs: of}, 1, 32) {
			t.Fatalf("cannot slide in\n%v", s)
		}
		return p.state()
	}
	inline := func(s *space.State) *space.State {
		p := planOf(sp.Start(), s)
		for _, f := range others {
			p.inline(f)
		}
		return p.state()
	}
	for name, s := range map[string]*space.State{
		"inlined": slide(everyInline(sp).state(), stencils),
		"root":    inline(slide(everyRoot(sp, false).state(), sp.Upstream(output))),
	} {
		if name == "inlined" {
			s = inline(s) // what could not be inlined while luma was
		}
		if !isHandWritten(sp, s, "32") {
			t.Errorf("from everything %s:\n%s%v", name, sp.FormatTrace(s.Trace()), s)
		}
	}
	// The sets that moves draw their chains from hold those layers.
	bands := layers(sp, output)
	if last := slices.Sorted(slices.Values(slices.Concat(bands[len(bands)-2:]...))); !slices.Equal(last, slices.Sorted(slices.Values(stencils))) {
		t.Errorf("the last two layers of harris are %v, not %v", last, stencils)
	}
}

// The search itself finds it from nothing: a judge that pays for nothing else
// than closeness in time to what we know of harris leads there in a few hundred
// candidates.
func TestEvolutionFindsSlidingChains(t *testing.T) {
	sp := newSpace(t, "harris.h21", 8)
	s := newStrategy(t, "evolve", sp, 1)
	found := false
	run(t, s, 30, 10, func(c Candidate) Outcome {
		slid := 0
		seconds := 10.0
		for _, d := range c.State.Trace() {
			switch {
			case d.Kind == space.Compute && !d.Compute.Equal(d.Store):
				slid++
				seconds--
			case d.Kind == space.Inline:
				seconds -= 0.2
			}
		}
		found = found || slid >= 3
		return Outcome{Candidate: c, OK: true, Seconds: seconds + pretend(c)}
	})
	if !found {
		t.Error("no chain of three slides in 300 candidates")
	}
}

// Every move, on whatever parents, gives complete states with valid schedules, and
// each kind of move changes something sometimes.
func TestMovesStayLegal(t *testing.T) {
	for _, name := range []string{"harris.h21", "hist.h21", "conv_layer.h21", "multi_output.h21", "scan.h21", "dots.h21", "softmax.h21"} {
		p := pipelinetest.Described(t, name)
		sp := sizedSpace(t, name, true)
		rng := rand.New(rand.NewSource(4))
		m := newMover(sp.Start(), rng)
		var parents []*space.State
		for _, c := range Prototypes(sp) {
			parents = append(parents, c.State)
		}
		for range 5 {
			parents = append(parents, sp.Start().SampleDown(rng))
		}
		for _, mv := range moves {
			changed := 0
			for range 30 {
				from, other := parents[rng.Intn(len(parents))], parents[rng.Intn(len(parents))]
				s, ok := mv.apply(m, from, other)
				if !ok {
					continue
				}
				if err := s.Schedule().Check(p.Binding()); err != nil || !s.Complete() {
					t.Fatalf("%s: %s: %v\n%v", name, mv.name, err, s)
				}
				if s.Key() != from.Key() {
					changed++
				}
			}
			// harris does not fall apart, the images of a batch do; nothing in it scatters or
			// adds up rows or anything else in a loop, and all of it are floats.
			where, special := map[string]string{"slice": "conv_layer.h21", "scalar": "hist.h21", "lanes": "dots.h21", "dot": "dots.h21", "across": "softmax.h21", "interchange": "conv_layer.h21", "terms": "conv_layer.h21"}[mv.name]
			if !special {
				where = "harris.h21"
			}
			if changed == 0 && name == where {
				t.Errorf("%s: %s changed nothing in 30 tries", name, mv.name)
			}
		}
	}
}

func TestPrototypesDiffer(t *testing.T) {
	for _, name := range []string{"harris.h21", "hist.h21", "bilateral_grid.h21", "camera_pipe.h21", "scalar.h21"} {
		sp := newSpace(t, name, 2)
		cs := Prototypes(sp)
		if len(cs) < 1 || name == "harris.h21" && len(cs) < 12 {
			t.Errorf("%s: %d prototypes", name, len(cs))
		}
		seen := map[uint64]bool{}
		for _, c := range cs {
			if seen[c.Hash] {
				t.Errorf("%s: %s is there twice", name, c.Origin)
			}
			seen[c.Hash] = true
			if err := c.Schedule.Check(pipelinetest.Described(t, name).Binding()); err != nil {
				t.Errorf("%s: %s: %v", name, c.Origin, err)
			}
		}
	}
}

// Those that keep apart what several Funcs read compute it at root, and inline nothing
// else than light Funcs and those that are not computed more than a few times for it.
func TestPrototypesApart(t *testing.T) {
	sp := newSpace(t, "harris.h21", 2)
	shared := funcs(t, sp, "grad_x", "grad_y", "luma")
	for _, want := range []struct {
		origin string
		root   bool
	}{{"prototype:strips-32-apart-few", true}, {"prototype:strips-32-light", false}} {
		trace, computed, atRoot := prototype(t, sp, want.origin).Trace(), 0, 0
		for _, d := range trace {
			if d.Kind == space.Compute && slices.Contains(shared, d.Func) {
				computed++
				if d.Compute.Equal(space.Root) {
					atRoot++
				}
			}
		}
		if computed != len(shared) || want.root && atRoot != computed || !want.root && atRoot > 0 {
			t.Errorf("%s: of %d %d are computed, %d at root:\n%s", want.origin, len(shared), computed, atRoot, sp.FormatTrace(trace))
		}
	}
	// A blur's rows are three taps of its columns, which come in three of it.
	sp = newSpace(t, "unsharp.h21", 2)
	p := grouped(sp, grouping{inlined: few, rows: 8}, func(p *plan, f int, owner space.Reader) bool {
		at, ok := p.strip(owner.Func, owner.Stage, 1)
		p.at(f, at, at)
		return ok
	})
	for f := range p.place {
		fn := sp.Pipeline().Funcs[f]
		if p.place[f].Kind == space.Inline && !isLight(sp, f) && (len(sp.Readers(f)) != 1 || sp.Calls(f) > fewTimes) {
			t.Errorf("%s is inlined", fn.Name)
		}
	}
}

// Sparing groups compute little twice, and what is left out of one begins the next.
func TestPrototypesSparing(t *testing.T) {
	slid, cut := 0, 0
	for _, name := range pipelinetest.Names(t) {
		sp := newSpace(t, name, 2)
		for _, c := range Prototypes(sp) {
			if c.Origin != "prototype:strips-64-sparing-light" {
				continue
			}
			all := c.State.Trace()
			for _, d := range all {
				if d.Kind != space.Compute || d.Store.Equal(space.Root) {
					continue
				}
				slid++
				if often := sp.Repeats(d.Func, d.Store); often > fewRepeats {
					t.Errorf("%s: %s is computed %.2f times", name, sp.Pipeline().Funcs[d.Func].Name, often)
				}
				if slices.ContainsFunc(all, func(o space.Decision) bool {
					return o.Kind == space.Compute && o.Func == d.Store.Func && !o.Compute.Equal(space.Root)
				}) {
					t.Errorf("%s: the strips that %s is in are not at root", name, sp.Pipeline().Funcs[d.Func].Name)
				}
			}
			cut++
		}
	}
	if slid == 0 || cut == 0 {
		t.Errorf("%d Funcs in strips of %d pipelines: nothing was tested", slid, cut)
	}
}

// Merging goes as far as nothing is computed often, and no further.
func TestPrototypesMerged(t *testing.T) {
	merges := 0
	for _, name := range pipelinetest.Names(t) {
		sp := newSpace(t, name, 2)
		for _, rows := range []int64{1, 16} {
			p := merged(sp, rows)
			for f, d := range p.place {
				if d.Kind != space.Compute || d.Compute.Equal(space.Root) {
					continue
				}
				merges++
				if often := sp.Repeats(f, d.Compute); often > mostRepeats {
					t.Errorf("%s: %s is computed %.2f times in strips of %d", name, sp.Pipeline().Funcs[f].Name, often, rows)
				}
				if owner := p.place[d.Compute.Func]; !owner.Compute.Equal(space.Root) {
					t.Errorf("%s: %s is in strips of a Func that is not at root", name, sp.Pipeline().Funcs[f].Name)
				}
			}
		}
	}
	if merges == 0 {
		t.Error("nothing was ever merged")
	}
	// A stencil's rows are shared by several strips if these are low.
	sp := newSpace(t, "harris.h21", 2)
	stencil := funcs(t, sp, "grad_x")[0]
	for rows, together := range map[int64]bool{1: false, 64: true} {
		if p := merged(sp, rows); p.place[stencil].Compute.Equal(space.Root) == together {
			t.Errorf("in strips of %d rows:\n%s", rows, sp.FormatTrace(p.state().Trace()))
		}
	}
}

// Of three channels, all are made together, and of rows with a table each, eight are counted
// side by side, as far as tasks have so many.
func TestPrototypesOfChannels(t *testing.T) {
	sp := newSpace(t, "hist.h21", 2)
	output, tables := funcs(t, sp, "output")[0], funcs(t, sp, "row_counts")[0]
	for _, name := range []string{"prototype:strips-32-light-channels", "prototype:root-light-channels"} {
		s := prototype(t, sp, name)
		if !slices.ContainsFunc(s.Blocks(), func(d space.Decision) bool { return d.Func == output && d.Dim == 2 && d.Factor == 3 }) || len(s.Blocks()) != 2 {
			t.Errorf("%s:\n%s", name, sp.FormatTrace(s.Trace()))
		}
		if !slices.ContainsFunc(s.Blocks(), func(d space.Decision) bool { return d.Func == tables && d.Dim == 1 && d.Factor == 8 }) {
			t.Errorf("%s:\n%s", name, sp.FormatTrace(s.Trace()))
		}
		if text := s.Schedule().String(); !strings.Contains(text, "output.split(c, c, ci, 3,") || !strings.Contains(text, "output.unroll(ci)") || !strings.Contains(text, "row_counts.update(0).reorder(yii, column$x, yi, y)") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// Where each of five values has a formula of its own all are computed together, there and
// in what reads them one by one; the five images beside them are not.
func TestPrototypesOfFormulas(t *testing.T) {
	sp := newSpace(t, "formulas.h21", 2)
	unrolled := map[string]int64{}
	for _, c := range Prototypes(sp) {
		if strings.Contains(c.Origin, "-channels") {
			for _, d := range c.State.Blocks() {
				if d.Dim == 2 {
					unrolled[sp.Pipeline().Funcs[d.Func].Name] = d.Factor
				}
			}
		}
	}
	if want := map[string]int64{"product": 5, "sums": 5}; !maps.Equal(unrolled, want) {
		t.Errorf("unrolled are %v", unrolled)
	}
}

// Copies are light, boundary conditions of any kind and what is moved; what is turned
// round, looked up, computed or chosen by data is not.
func TestLightCopies(t *testing.T) {
	sp := newSpace(t, "copies.h21", 2)
	for name, want := range map[string]bool{
		"mirror_interior": true, "constant_exterior": true, "moved": true, "turned": false, "placed": false, "scaled": false, "cut": false,
	} {
		if f := funcs(t, sp, name)[0]; isLight(sp, f) != want {
			t.Errorf("%s is light: %v", name, !want)
		}
	}
}

// What one stage calls once for each of its points is light, by however many calls: the four
// of a mosaic's cell, two slices at a time. Two stages of one Func may be long apart.
func TestLightOncePerPoint(t *testing.T) {
	for _, c := range []struct {
		golden, name string
		want         bool
	}{
		{"camera_pipe.h21", "denoised", true}, {"bilateral_grid.h21", "slice", true},
		{"camera_pipe.h21", "quads", false}, {"hist.h21", "luma", false}, {"copies.h21", "rows", false},
		// Called once by what is inlined where it is called five times.
		{"edges.h21", "first", false}, {"edges.h21", "again", true},
	} {
		sp := newSpace(t, c.golden, 2)
		if f := funcs(t, sp, c.name)[0]; isLight(sp, f) != c.want {
			t.Errorf("%s of %s is light: %v", c.name, c.golden, !c.want)
		}
	}
}

// What is read by a stage that writes where the data say is not light, but for copies.
func TestScatteredIsNotLight(t *testing.T) {
	for name, want := range map[string]bool{"denoised": false, "shifted": true} {
		p := pipelinetest.Described(t, "camera_pipe.h21")
		f := slices.IndexFunc(p.Funcs, func(f pipeline.Func) bool { return f.Name == name })
		for i := range p.Funcs {
			for _, st := range p.Funcs[i].Stages {
				if slices.ContainsFunc(st.Edges, func(e pipeline.Edge) bool { return e.Producer == f }) {
					st.Loops[0].Scatters = true
				}
			}
		}
		sp := spacetest.New(t, p, space.Defaults(2))
		if isLight(sp, f) != want {
			t.Errorf("%s is light: %v", name, !want)
		}
	}
}

// Histograms are written point by point in prototypes and every other schedule given, and
// in vectors again where a move has it so.
func TestScatteringPointByPoint(t *testing.T) {
	sp := newSpace(t, "bilateral_grid.h21", 2)
	grid := funcs(t, sp, "grid")[0]
	const vector = "grid.update(0).vectorize("
	check := func(what string, s *space.State, scalar bool) {
		t.Helper()
		realised := planOf(sp.Start(), s).place[grid].Kind == space.Compute
		if text := s.Schedule().String(); len(s.Vectors()) > 0 != scalar || realised && strings.Contains(text, vector) == scalar {
			t.Errorf("%s, which scatters point by point: %v:\n%s%s", what, scalar, sp.FormatTrace(s.Trace()), text)
		}
	}
	for _, c := range Prototypes(sp) {
		check(c.Origin, c.State, true)
	}
	root := prototype(t, sp, "prototype:root-light")
	text := sp.FormatTrace(root.Trace())
	trace, err := sp.ParseTrace(text)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := sp.Replay(trace, space.Strict)
	if err != nil || again.Key() != root.Key() || again.Schedule().Hash() != root.Schedule().Hash() {
		t.Errorf("another schedule once read: %v\n%s", err, text)
	}
	m := newMover(sp.Start(), rand.New(rand.NewSource(1)))
	vectors, ok := m.scalar(root, nil)
	if !ok || vectors.Key() == root.Key() {
		t.Fatal("the move changed nothing")
	}
	check("the move", vectors, false)
	back, _ := m.scalar(vectors, nil)
	check("the move back", back, true)
	given := []Candidate{NewCandidate(vectors, "given"), NewCandidate(vectors, "given")}
	for i, o := range begin(given, nil) {
		if o.kind != isGiven || o.Origin != "given" {
			t.Errorf("given as %q", o.Origin)
		}
		check("given", o.State, i%2 == 0)
	}
	sp = newSpace(t, "harris.h21", 2)
	if m := newMover(sp.Start(), rand.New(rand.NewSource(1))); slices.ContainsFunc(Prototypes(sp), func(c Candidate) bool {
		_, changed := m.scalar(c.State, nil)
		return changed || len(c.State.Vectors()) > 0
	}) {
		t.Error("harris scatters")
	}
}

// What tiles of a column would each compute nearly whole is computed for the column.
func TestTilesOfScansAreColumns(t *testing.T) {
	sp := newSpace(t, "scan.h21", 2)
	p, scans := tiled(sp, grouping{inlined: light, rows: 8}, 64, 64)
	if _, none := tiled(newSpace(t, "harris.h21", 2), grouping{inlined: light, rows: 8}, 64, 64); !scans || none {
		t.Errorf("scans where there are some: %v, and where there are none: %v", scans, none)
	}
	for name, want := range map[string][]int64{"run": {64, 8}, "total": {64, 240}} {
		if got := p.place[funcs(t, sp, name)[0]].Compute.Tile; !slices.Equal(got, want) {
			t.Errorf("%s in tiles of %v, not %v", name, got, want)
		}
	}
	if got := p.tasks[funcs(t, sp, "output")[0]].Task; !slices.Equal(got, []int64{64, 240}) {
		t.Errorf("tasks of %v", got)
	}
}

// Columns may be of one channel, with what reduces inside their tiles in registers.
func TestColumnsOfOneChannel(t *testing.T) {
	sp := newSpace(t, "max_filter.h21", 2)
	text := prototype(t, sp, "prototype:columns-64-light-planes-sums").Schedule().String()
	for _, want := range []string{
		"output.fuse(x, c, x)", "tall.compute_at(output, xi)",
		"disc.update(0).reorder(xi, xii, yi, across$x, x, y, c)", "disc.update(0).unroll(xii)", "disc.update(0).unroll(yi)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// Of a batch, an image is done with before the next, in prototypes and by a move, which
// also takes that back.
func TestSlices(t *testing.T) {
	sp := newSpace(t, "conv_layer.h21", 2)
	s := prototype(t, sp, "prototype:root-light-sliced")
	if text := s.Schedule().String(); !strings.Contains(text, "sum.compute_at(relu, n)") {
		t.Errorf("not sliced:\n%s", text)
	}
	m := newMover(sp.Start(), rand.New(rand.NewSource(1)))
	whole, ok := m.slice(s, nil)
	if !ok || strings.Contains(whole.Schedule().String(), "compute_at(relu, n)") || whole.Key() == s.Key() {
		t.Errorf("still sliced:\n%s", whole.Schedule())
	}
	again, ok := m.slice(whole, nil)
	if !ok || again.Key() != s.Key() {
		t.Errorf("sliced in another way:\n%s", again.Schedule())
	}
	// Other moves keep it.
	for range 20 {
		if next, ok := m.retask(s, nil); ok && !strings.Contains(sp.FormatTrace(next.Trace()), "relu slice n") {
			t.Errorf("lost:\n%s", sp.FormatTrace(next.Trace()))
		}
	}
	harris := newSpace(t, "harris.h21", 2)
	if _, ok := newMover(harris.Start(), m.rng).slice(prototype(t, harris, "prototype:root-light"), nil); ok {
		t.Error("harris was sliced")
	}
}

// Of a mosaic two rows are made at a time, and all channels: what a point is made of is
// known then.
func TestPrototypesOfMosaics(t *testing.T) {
	sp := newSpace(t, "camera_pipe.h21", 2)
	s := prototype(t, sp, "prototype:strips-64-light-by-2-channels")
	demosaiced := funcs(t, sp, "demosaiced")[0]
	held := map[int]int64{}
	for _, d := range s.Blocks() {
		if d.Func == demosaiced {
			held[d.Dim] = d.Factor
		}
	}
	if len(held) != 2 || held[1] != 2 || held[2] != 3 {
		t.Errorf("its blocks are %v of\n%s", held, sp.FormatTrace(s.Trace()))
	}
	if text := sp.FormatTrace(s.Trace()); !strings.Contains(text, "\nred_at_r inline\n") || !strings.Contains(text, "\nblue_at_gb inline\n") {
		t.Errorf("its planes are no part of it:\n%s", text)
	}
}

// One move makes the hand-written harris compute two rows at a time, unrolled, and its
// trace says so again once written and read.
func TestChainBlockMakesRowsTogether(t *testing.T) {
	sp := newSpace(t, "harris.h21", 8)
	p := planOf(sp.Start(), prototype(t, sp, "prototype:strips-32-light"))
	if !p.jam(p.realised(), 2) {
		t.Fatal("nothing to block")
	}
	s := p.state()
	text := sp.FormatTrace(s.Trace())
	for _, f := range []string{"grad_x", "grad_y", "luma"} {
		for _, want := range []string{f + " compute output [1536,2] store output", f + " block y 2"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
	if n := strings.Count(s.Schedule().String(), "unroll("); n != 4 {
		t.Errorf("%d Funcs are unrolled, not 4:\n%v", n, s.Schedule())
	}
	trace, err := sp.ParseTrace(text)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := sp.Replay(trace, space.Strict)
	if err != nil || again.Key() != s.Key() || again.Schedule().Hash() != s.Schedule().Hash() {
		t.Errorf("another schedule once read: %v", err)
	}
	// Other moves keep blocks.
	m := newMover(sp.Start(), rand.New(rand.NewSource(2)))
	for range 20 {
		if next, ok := m.retask(s, nil); ok && len(next.Blocks()) != len(s.Blocks()) {
			t.Errorf("%d blocks are left of %d", len(next.Blocks()), len(s.Blocks()))
		}
	}
}

func TestCreditFollowsPay(t *testing.T) {
	c := newCredit(4)
	rng := rand.New(rand.NewSource(1))
	for range 200 {
		k := c.draw(rng)
		reward := 0.0
		if k == 2 {
			reward = 0.5
		}
		c.pay(k, reward)
	}
	count := make([]int, 4)
	for range 1000 {
		count[c.draw(rng)]++
	}
	if count[2] < 500 {
		t.Errorf("the kind that pays is drawn %d times in 1000", count[2])
	}
	for k, n := range count {
		if n < 30 {
			t.Errorf("kind %d was given up: %d times in 1000", k, n)
		}
	}
}

// Reshaping moves all tiles of a stage, and its tasks, in step.
func TestReshapeMovesTilesTogether(t *testing.T) {
	sp := newSpace(t, "harris.h21", 8)
	from := prototype(t, sp, "prototype:tiles-128x32-light")
	output := funcs(t, sp, "output")[0]
	m := newMover(sp.Start(), rand.New(rand.NewSource(1)))
	kept := 0
	for range 100 {
		s, ok := m.reshape(from, nil)
		if !ok {
			t.Fatalf("nothing to reshape in\n%v", from)
		}
		var tile []int64
		for _, d := range s.Trace() {
			if d.Kind != space.Compute || d.Compute.Func != output {
				continue
			}
			if tile == nil {
				tile = d.Compute.Tile
			}
			if !slices.Equal(d.Compute.Tile, tile) || !d.Store.Equal(d.Compute) {
				t.Fatalf("tiles differ:\n%s", sp.FormatTrace(s.Trace()))
			}
		}
		if area := float64(128 * 32); tile != nil && tile[0] != 128 && tile[1] != 32 && math.Abs(math.Log2(float64(tile[0]*tile[1])/area)) < 1 {
			kept++ // there is not every size
		}
	}
	if kept == 0 {
		t.Errorf("no tile of another shape covers about as much:\n%s", sp.FormatTrace(from.Trace()))
	}
}

// One move makes a Func in the middle of a long chain the head of a group that slides in
// its tiles.
func TestChainTileCutsLongChains(t *testing.T) {
	sp := newSpace(t, "camera_pipe.h21", 2)
	from := prototype(t, sp, "prototype:strips-32-light")
	before := len(planOf(sp.Start(), from).heads(true))
	m := newMover(sp.Start(), rand.New(rand.NewSource(1)))
	for range 300 {
		s, ok := m.chainTile(from, nil)
		if !ok {
			continue
		}
		p := planOf(sp.Start(), s)
		if len(p.heads(true)) <= before {
			continue
		}
		slid := map[int]int{}
		for _, d := range p.place {
			if d.Kind == space.Compute && d.Compute.Func == d.Store.Func && !d.Compute.Equal(d.Store) && d.Store.Tile[0] < sp.Extents(d.Store.Func, 0)[0] {
				slid[d.Store.Func]++
			}
		}
		for head, n := range slid {
			if n >= 4 && !planOf(sp.Start(), from).place[head].Compute.Equal(space.Root) {
				return
			}
		}
	}
	t.Errorf("no group slides in tiles of a new head, in 300 moves from\n%v", from)
}

// sizedSpace is newSpace with versions for the estimated sizes or without.
func sizedSpace(t testing.TB, name string, allowed bool) *space.Space {
	t.Helper()
	o := space.Defaults(4)
	o.Sized = allowed
	return spacetest.New(t, pipelinetest.Described(t, name), o)
}

// A copy that is read by columns goes to root, stored so that these are loaded in vectors.
func TestTurnedCopies(t *testing.T) {
	sp := newSpace(t, "turned_in.h21", 2)
	copied := funcs(t, sp, "input_im_in_output")[0]
	p := everyRoot(sp, true)
	if p.place[copied].Kind != space.Inline {
		t.Fatal("it is computed anyway")
	}
	if !p.turn() || p.place[copied].Kind != space.Compute || p.place[copied].Vector != 1 {
		t.Errorf("%+v", p.place[copied])
	}
	if p := everyRoot(newSpace(t, "harris.h21", 2), true); p.turn() {
		t.Error("harris has copies to turn")
	}
}

// One prototype keeps a block of sums in registers, in tasks that have as many, with a version
// for the sizes that make it whole; where nothing is added up there is none.
func TestBlocksOfSumsInPrototypes(t *testing.T) {
	sp := sizedSpace(t, "dots.h21", true)
	root := prototype(t, sp, "prototype:root-light-sums")
	words := funcs(t, sp, "by_words")[0]
	p := planOf(sp.Start(), root)
	blocks := map[int]int64{}
	for _, b := range p.blocks[words] {
		blocks[b.Dim] = b.Factor
	}
	most := sp.UnrollLimit(words, 1)
	if n := blocks[1]; len(blocks) != 2 || blocks[0] != 2 || n < 4 || 2*n > most || p.tasks[words].Task[1] < n {
		t.Errorf("blocks %v in tasks of %v, with room for %d vectors", blocks, p.tasks[words].Task, most)
	}
	if !root.Sized() || !strings.Contains(root.Schedule().String(), "by_words.update(0).unroll(yi") {
		t.Errorf("nothing is unrolled:\n%s", root.Schedule())
	}
	for _, c := range Prototypes(sizedSpace(t, "harris.h21", true)) {
		if strings.HasSuffix(c.Origin, "-sums") {
			t.Errorf("harris adds up nothing, and there is %s", c.Origin)
		}
	}
}

// Where tables of eight rows are added up to one, and then those, the rows are counted side by
// side, in tasks of the first sums.
func TestPrototypesOfPartialResults(t *testing.T) {
	sp := newSpace(t, "hist_parts.h21", 2)
	trace := sp.FormatTrace(prototype(t, sp, "prototype:strips-32-light-channels").Trace())
	for _, want := range []string{"counts_parts compute root", "counts_parts tasks [256,20]",
		"row_counts compute counts_parts.update(0) [8,1,256]", "row_counts block y 8"} {
		if !strings.Contains(trace, want) {
			t.Errorf("no %s in\n%s", want, trace)
		}
	}
}

// What is added up never leaves the registers where what reads it is made in tiles of two
// vectors by as many points as are unrolled; tasks are of whole tiles, where the space has such.
func TestPrototypesInRegisters(t *testing.T) {
	sp := sizedSpace(t, "conv_layer.h21", true)
	for origin, tasks := range map[string]string{"prototype:registers-0": "relu tasks [128,4,80,5]", "prototype:registers-8": "relu tasks [128,7,80,5]"} {
		s := prototype(t, sp, origin)
		trace, text := sp.FormatTrace(s.Trace()), s.Schedule().String()
		for _, want := range []string{tasks, "sum compute relu [16,4,1,1]"} {
			if !strings.Contains(trace, want) {
				t.Errorf("%s: no %s in\n%s", origin, want, trace)
			}
		}
		if !strings.Contains(text, "sum.update(0).reorder(ci, c, x, ") || !strings.Contains(text, "sum.update(0).unroll(x)") {
			t.Errorf("%s: the sums are not in registers:\n%s", origin, text)
		}
	}
	// What a column of such tiles, of six rows, reads over and over is copied for all of them;
	// and what only a copy of the whole input would serve is not. Products are unrolled by two.
	for name, said := range map[string][]string{
		"dots_in.h21":    {"by_bytes compute output [16,6]", "bytes_im_in_by_bytes compute output [64,36]", "output tasks [64,32]"},
		"product_in.h21": {"product compute output [16,6]", "a_im_in_product compute output [64,1026]", "b_im_in_product inline", "output tasks [64,1024]"},
	} {
		sp := sizedSpace(t, name, true)
		trace := sp.FormatTrace(prototype(t, sp, "prototype:columns-64-registers").Trace())
		unrolled := sp.FormatTrace(prototype(t, sp, "prototype:columns-64-registers-terms").Trace())
		for _, want := range said {
			if !strings.Contains(trace, want) || !strings.Contains(unrolled, want) {
				t.Errorf("no %s in\n%s\n%s", want, trace, unrolled)
			}
		}
		if strings.Contains(trace, " terms ") || !strings.Contains(unrolled, " terms 2\n") {
			t.Errorf("unrolled are\n%s\n%s", trace, unrolled)
		}
	}
	for _, name := range []string{"harris.h21", "exposure.h21"} {
		for _, c := range Prototypes(sizedSpace(t, name, true)) {
			if strings.HasPrefix(c.Origin, "prototype:registers") || strings.HasSuffix(c.Origin, "-registers") {
				t.Errorf("%s adds up nothing in tiles, and there is %s", name, c.Origin)
			}
		}
	}
}

package space

import (
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
)

// Reduction loops whose iterations are independent are vectors, with leave to race where
// Halide has no proof, if no other is inside them; all others are plain loops, as they are
// for Adams et al.
func TestIndependentRVars(t *testing.T) {
	const text = `output compute root vector x
output tasks [16,16]
path compute root vector x
best compute root vector x
next compute root vector x
running compute root vector x
inside compute root vector x
others compute root vector x
spread compute root vector x
turns compute root vector x
stripes compute root vector x
echo compute root vector x
flutter compute root vector x
steps compute root vector x
`
	vectors := map[string]string{
		"path.update(0)":    "allow_race_conditions()\nvectorize(p$xi)\n",
		"best.update(0)":    "allow_race_conditions()\nvectorize(b$xi)\n",
		"next.update(0)":    "split(c$y, c$y, c$yi, 8, guard_with_if)\nreorder(c$x, c$yi, c$y, c$z)\nallow_race_conditions()\nvectorize(c$yi)\n",
		"running.update(0)": "",
		"inside.update(0)":  "vectorize(i$xi)\n",
		"others.update(0)":  "",
		"others.update(1)":  "",
		"spread.update(0)":  "",
		"turns.update(0)":   "allow_race_conditions()\nvectorize(m$xi)\n",
		"stripes.update(0)": "",
		"echo.update(0)":    "allow_race_conditions()\nparallel(y)\nvectorize(g$xi)\n",
		"flutter.update(0)": "",
	}
	for _, name := range []string{"recurrences.h19", "recurrences.h21"} {
		p := pipelinetest.Described(t, name)
		state := stateOf(t, newSpace(t, p, Defaults(2)), text)
		if err := state.Schedule().Check(p.Binding()); err != nil {
			t.Error(err)
		}
		readAgain(t, state)
		for stage, want := range vectors {
			got := directivesOf(state, stage)
			if !strings.Contains(got, want) || strings.Contains(got, "vectorize") != (want != "") || strings.Contains(got, "allow_race") != strings.Contains(want, "allow_race") {
				t.Errorf("%s of %s:\n%s", stage, name, got)
			}
			if got := directivesOf(stateOf(t, newSpace(t, p, Adams(2)), text), stage); strings.Contains(got, "vectorize") {
				t.Errorf("theirs, %s of %s:\n%s", stage, name, got)
			}
		}
	}
}

// An update that has rows of points keeps its vectors along these: a reduction loop over its
// columns is none, though it would be if the rows were no loop of the update.
func TestColumnsAreNoVectors(t *testing.T) {
	for rows, want := range map[bool]int{true: -1, false: 0} {
		p := toy(64, 64)
		along := 1
		update := pipeline.Stage{Name: "a.update(0)", VectorSize: 4, Features: make([]int32, 287), Loops: []pipeline.Loop{
			{Var: "r", RVar: true, Along: &along, PureDim: -1, ComputedDim: -1, Const: &[2]int64{0, 63}},
		}}
		if rows {
			update.Loops = append(update.Loops, p.Funcs[0].Stages[0].Loops[0])
		}
		p.Funcs[0].Stages = append(p.Funcs[0].Stages, update)
		sp := newSpace(t, p, Defaults(2))
		for _, l := range sp.loops(sp.root, 0, 1) {
			if l.Stage == 1 && l.VectorLoop != want {
				t.Errorf("rows %v: the vector of the update is loop %d", rows, l.VectorLoop)
			}
		}
	}
}

// Tasks go along the loops of updates that are independent, and inside of others where they
// are so while these stand still and it is worth it.
func TestTasksAlongRVars(t *testing.T) {
	p := pipelinetest.Described(t, "recurrences.h21")
	state := stateOf(t, newSpace(t, p, Defaults(2)), "inside compute root vector x\ninside tasks [64,16]\npath compute root vector x\npath tasks [64,16]\n"+
		"others compute root vector x\nothers tasks [64,16]\n")
	if got := directivesOf(state, "others.update(0)"); !strings.Contains(got, "parallel(e$y)") {
		t.Errorf("every other row is no task:\n%s", got)
	}
	if got := directivesOf(state, "inside.update(0)"); !strings.Contains(got, "parallel(i$y)") {
		t.Errorf("no tasks:\n%s", got)
	}
	steps := stateOf(t, newSpace(t, p, Defaults(2)), "steps compute root vector x\nsteps tasks [256,32,4]\n")
	if got := directivesOf(steps, "steps.update(0)"); !strings.Contains(got, "reorder(k$xi, k$x, k$yi, k$y, k$z)\nallow_race_conditions()\nparallel(k$y)\nvectorize(k$xi)\n") {
		t.Errorf("steps in time:\n%s", got)
	}
	if got := directivesOf(state, "path.update(0)"); strings.Contains(got, "parallel") {
		t.Errorf("rows that are made of those before are tasks:\n%s", got)
	}
	readAgain(t, state)
	readAgain(t, steps)
	without := steps.Schedule()
	without.Directives = slices.DeleteFunc(without.Directives, func(d schedule.Directive) bool { return d.Op == schedule.AllowRaceConditions && d.Func == "steps" })
	if _, err := steps.Space().ImportSchedule(without); err == nil || !strings.Contains(err.Error(), "would also say steps.update(0).allow_race_conditions()") {
		t.Errorf("without leave to race: %v", err)
	}
}

// readAgain imports what a state's directives say.
func readAgain(t *testing.T, s *State) {
	t.Helper()
	want := s.Schedule()
	again, err := s.Space().ImportSchedule(want)
	if err != nil {
		t.Errorf("read again: %v", err)
	} else if got := again.Schedule(); got.Hash() != want.Hash() {
		t.Errorf("read again as\n%v\nfor\n%v", got, want)
	}
}

// Vectors may be left out of an update whose sums end where the data of a point have it, not
// of one whose terms are each there or not, nor where all points have as many.
func TestDivergentStages(t *testing.T) {
	for _, name := range []string{"ragged.h19", "ragged.h21"} {
		sp := newSpace(t, pipelinetest.Described(t, name), Defaults(2))
		sums := slices.IndexFunc(sp.Pipeline().Funcs, func(f pipeline.Func) bool { return f.Name == "sums" })
		if got := sp.Divergent(sums); !slices.Equal(got, []int{1}) {
			t.Errorf("%s: stages %v of sums diverge", name, got)
		}
		const text = "output compute root vector x\noutput tasks [16]\nsums compute output [16] vector x\n"
		for _, c := range []struct {
			trace string
			want  [4]bool
		}{{text, [4]bool{true, true, true, true}}, {text + "sums scalar\n", [4]bool{true, false, true, true}}} {
			state := stateOf(t, sp, c.trace)
			for s, want := range c.want {
				stage := sp.Pipeline().Funcs[sums].Stages[s].Name
				if got := directivesOf(state, stage); strings.Contains(got, "vectorize") != want {
					t.Errorf("%s of %s has vectors: %v\n%s", stage, name, !want, got)
				} else if inside := "reorder(run$x, xi, x)"; !want && !strings.Contains(got, inside) {
					t.Errorf("%s of %s without %s:\n%s", stage, name, inside, got)
				}
			}
		}
	}
}

// Rows of sums that end where their data have it share no loop over the terms; others do.
func TestRaggedRowsApart(t *testing.T) {
	for ragged, want := range map[bool]string{true: "reorder(xi, x, r, y)", false: "reorder(xi, x, y, r)"} {
		p := toy(64, 64, 2)
		loops := p.Funcs[1].Stages[0].Loops
		rows := loops[1]
		rows.Ragged = ragged
		p.Funcs[1].Stages = append(p.Funcs[1].Stages, pipeline.Stage{Name: "b.update(0)", VectorSize: 4, Features: make([]int32, 287),
			Loops: []pipeline.Loop{{Var: "r", RVar: true, PureDim: -1, ComputedDim: -1, Const: &[2]int64{0, 63}}, loops[0], rows}})
		got := directivesOf(stateOf(t, newSpace(t, p, Defaults(2)), "a compute root vector x\na tasks [64,8]\nb compute a [8,2] vector x\n"), "b.update(0)")
		if !strings.Contains(got, want) || strings.Contains(got, "unroll(y)") == ragged {
			t.Errorf("ragged %v:\n%s", ragged, got)
		}
	}
}

package space_test

import (
	"errors"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// The directives of a schedule drawn give a state with the same directives, but for tail
// strategies and the order of splits here and there, and mostly the very nest: the bars are
// somewhat below what was counted when they were set. What directives leave open
// docs/import.md says.
func TestImportOfOwnSchedules(t *testing.T) {
	var all, nests, features, others, failed int
	for _, name := range []string{"harris", "unsharp", "hist", "bilateral_grid", "conv_layer", "multi_output", "boundary", "gather", "scan", "predicate", "tuple_update", "types", "recurrences"} {
		for _, o := range []space.Options{space.Defaults(2), space.Adams(16), space.Defaults(1)} {
			sp := spacetest.New(t, pipelinetest.Described(t, name+".h21"), o)
			x := feature.New(sp)
			rng := rand.New(rand.NewSource(3))
			for range 12 {
				s := sp.Start().SampleDown(rng)
				want := s.Schedule()
				all++
				again, err := sp.ImportSchedule(want)
				if err != nil {
					failed++
					continue
				}
				if got := again.Schedule(); compared(got) != compared(want) {
					t.Fatalf("%s: other directives\n%v\nfor\n%v", name, got, want)
				} else if got.Hash() != want.Hash() {
					others++
				}
				if again.String() == s.String() {
					nests++
				}
				if slices.Equal(x.Features(s, nil), x.Features(again, nil)) {
					features++
				}
			}
		}
	}
	t.Logf("%d schedules: %d the same nest, %d the same features, %d other tails or splits in another order, %d not read", all, nests, features, others, failed)
	if failed*100 > all || others*50 > all || nests*100 < 85*all || features*100 < 90*all {
		t.Errorf("of %d schedules %d give the same nest, %d the same features, %d none", all, nests, features, failed)
	}
}

// compared is what an import compares: a schedule's text, its lines sorted, without tail
// strategies.
func compared(s schedule.Schedule) string {
	s.Directives = slices.Clone(s.Directives)
	for i := range s.Directives {
		if d := &s.Directives[i]; d.Op == schedule.Split {
			d.Word = ""
		}
	}
	return sortedLines(s)
}

// What the space cannot say is named, and the nearest state that it can is found.
func TestImportOfForeignSchedules(t *testing.T) {
	sp := spacetest.New(t, pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	own := "output.compute_root()\noutput.split(y, y, yi, 32, shift_inwards)\noutput.split(x, x, xi, 8, shift_inwards)\noutput.reorder(xi, x, yi, y)\noutput.parallel(y)\noutput.vectorize(xi)\n"
	for _, c := range []struct{ more, says string }{
		{"", ""},
		{"luma.compute_at(output, yi)\nluma.store_at(output, y)\n", "luma"},
		{"output.unroll(yi)\n", "output.unroll(yi): the space says otherwise"},
		{"output.prefetch(luma, yi, yi, 2)\n", "the space has nothing like it"},
		{"output.fold_storage(x, 4)\n", "the space has nothing like it"},
		{"output.parallel(x)\n", "parallel loops are outermost"},
		{"output.fuse(x, yi, z)\n", "only parallel loops are fused"},
		{"output.split(yi, yi, yii, 4)\n", "output.split"},
		{"luma.compute_root()\nluma.split(x, x, xi, 32)\nluma.split(xi, xi, xii, 8)\n", "nothing is computed between"},
		{"luma.compute_root()\nluma.split(x, x, xi, 4)\nluma.vectorize(xi)\n", "lanes in the space"},
		{"luma.compute_root()\nluma.vectorize(y)\n", "vectors are innermost"},
		{"luma.compute_at(output, yi)\nluma.parallel(y)\n", "only Funcs at root have parallel loops"},
		{"nothing.compute_root()\n", "nothing"},
		{"luma.compute_at(output, yo)\n", "yo"},
		{"luma.compute_at(grad_x, y)\n", "is also read outside of the loops of grad_x"},
		{"w = luma.in()\n", "makes a Func"},
		{"output.allow_race_conditions()\n", "are independent for Halide"},
	} {
		s, err := schedule.Parse(own + c.more)
		if err != nil {
			t.Fatal(err)
		}
		state, err := sp.ImportSchedule(s)
		if c.says == "" {
			if err != nil {
				t.Error(err)
			} else if again := state.Schedule(); again.Hash() != s.Hash() {
				t.Errorf("other directives:\n%v", again)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v", c.more, err)
			continue
		}
		near, err2 := sp.NearSchedule(s)
		var foreign *space.Foreign
		if errors.As(err, &foreign) != (err2 == nil) {
			t.Errorf("%q: the nearest state: %v", c.more, err2)
		} else if err2 == nil && (near.Exact || len(near.Foreign) == 0 || !near.State.Complete()) {
			t.Errorf("%q: exact %v, foreign %v", c.more, near.Exact, near.Foreign)
		}
	}
}

// loops is a schedule's text without the places of storage, which directives may
// leave open.
func loops(s schedule.Schedule) string {
	s.Directives = slices.DeleteFunc(slices.Clone(s.Directives), func(d schedule.Directive) bool { return d.Op == schedule.StoreIn })
	return sortedLines(s)
}

// sortedLines is a schedule's text with its lines sorted: splits of different loops may come in
// either order.
func sortedLines(s schedule.Schedule) string {
	lines := strings.Split(s.String(), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// A schedule of the space is its own nearest.
func TestNearestOfOwnSchedules(t *testing.T) {
	for _, name := range []string{"harris", "hist", "multi_output"} {
		sp := spacetest.New(t, pipelinetest.Described(t, name+".h21"), space.Defaults(2))
		rng := rand.New(rand.NewSource(5))
		exact := 0
		for range 10 {
			s := sp.Start().SampleDown(rng)
			near, err := sp.NearSchedule(s.Schedule())
			if err != nil {
				t.Fatal(err)
			}
			got, want := near.State.Schedule(), s.Schedule()
			if near.Exact {
				exact++
				if loops(got) != loops(want) {
					t.Errorf("%s: exact, but\n%v\nfor\n%v", name, got, want)
				}
			}
		}
		if exact < 8 {
			t.Errorf("%s: %d of 10 schedules of the space are found to be of it", name, exact)
		}
	}
}

func FuzzImportSchedule(f *testing.F) {
	sp := spacetest.New(f, pipelinetest.Described(f, "multi_output.h21"), space.Adams(2))
	rng := rand.New(rand.NewSource(1))
	for range 8 {
		f.Add(sp.Start().SampleDown(rng).Schedule().String())
	}
	f.Add("detail.compute_root()\nblurred.compute_at(detail, x)\nrows.compute_at(blurred, __outermost)\n")
	f.Add("detail.fuse(x, y, t)\ndetail.parallel(t)\nblurred.compute_at(detail, t)\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := schedule.Parse(text)
		if err != nil {
			return
		}
		state, err := sp.ImportSchedule(s)
		if err != nil {
			return
		}
		if _, err := sp.ImportSchedule(state.Schedule()); err != nil {
			t.Errorf("its own directives are not read: %v\n%v", err, state.Schedule())
		}
	})
}

package space

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// What is found legal before it is built is within the limits once it is, and what
// is not found legal breaks one, or slides where that does not work.
func TestLegalBeforeBuilt(t *testing.T) {
	tight := Adams(4)
	tight.Recompute = 1.3
	memory := Defaults(2)
	memory.MemoryLimit = 6 << 20
	refused := 0
	for _, name := range []string{"harris.h21", "hist.h21", "camera_pipe.h21"} {
		for _, o := range []Options{tight, Defaults(2), memory, Adams(1)} {
			sp := newSpace(t, pipelinetest.Described(t, name), o)
			rng := rand.New(rand.NewSource(8))
			for range 4 {
				for s := sp.Start(); !s.Complete(); {
					if f, kind := s.Deciding(); kind == Compute && !sp.nodes[f].onlyInline {
						refused += checkLegal(t, s, f, rng)
					}
					a, _ := s.Sample(rng)
					s = s.Next(a)
				}
			}
		}
	}
	if refused == 0 {
		t.Error("nothing was refused: nothing was tested")
	}
}

func checkLegal(t *testing.T, s *State, f int, rng *rand.Rand) (refused int) {
	t.Helper()
	p := s.placing(f)
	p.families(listed)
	p.each(func(each *Action, _ int) {
		a := *each
		if rng.Intn(20) > 0 {
			return
		}
		cut := a
		if a.Tile != nil {
			cut.cut = s.sp.cutSite(p.path[a.Level], p.path[a.Level-1].site, a.Tile)
			if a.Slide && !s.sp.mayDeepen(p.path[a.Level], cut.cut, &a) {
				return // there is no such loop nest
			}
		}
		root := s.sp.place(p.path, &a)
		want := s.sp.broken(root, s.spared) == nil
		if a.Slide && !s.sp.o.Unchecked && !s.sp.slidesCleanly(slid(root, f), f) {
			want = false
		}
		if !want {
			refused++
		}
		if got := p.legal(&a); got != want {
			t.Fatalf("%v: found legal %v, is %v", a, got, want)
		}
	})
	if inline, ok := s.inlining(f); s.sp.nodes[f].inlinable() {
		if want := s.sp.broken(s.sp.inline(s.root, f), s.spared) == nil; ok != want {
			t.Fatalf("%v: found legal %v, is %v", inline, ok, want)
		}
	}
	return refused
}

// No loop is cut into the same tiles twice, as numbers of tiles or as sizes: their
// code, which does not look for duplicates, lists none either.
func TestNoDuplicates(t *testing.T) {
	for size := int64(1); size < 5000; size++ {
		for _, factor := range []int64{2, 4, 16} {
			counts, sizes := map[int64]bool{}, map[int64]bool{}
			eachSplit(size, factor, false, false, func(tiles int64) {
				if counts[tiles] || sizes[ceilDiv(size, tiles)] {
					t.Fatalf("a loop of %d is cut into %d tiles twice", size, tiles)
				}
				counts[tiles], sizes[ceilDiv(size, tiles)] = true, true
			})
		}
	}
}

// Mullapudi's space has one level of tiles at most, no Func inside two Funcs, and
// decides about tasks last.
func TestNoSubtiling(t *testing.T) {
	sp := newSpace(t, pipelinetest.Described(t, "camera_pipe.h21"), narrow(4))
	rng := rand.New(rand.NewSource(6))
	for range 30 {
		s, depth := sp.Start(), -1
		tasks := false
		for !s.Complete() {
			_, kind := s.Deciding()
			if tasks && kind != Tasks || s.Depth() <= depth {
				t.Fatalf("depth %d after %d, kind %v", s.Depth(), depth, kind)
			}
			tasks, depth = kind == Tasks, s.Depth()
			if tasks && s.Placed() != sp.Funcs() {
				t.Fatalf("tasks with %d Funcs placed", s.Placed())
			}
			a, _ := s.Sample(rng)
			s = s.Next(a)
		}
		for _, l := range s.root.Children {
			for _, c := range l.Children {
				for in := c; in != nil; in = in.innerLevel() {
					if in.Parallel || in.Func != l.Func && len(in.StoreAt) > 0 {
						t.Fatalf("levels within levels:\n%v", s)
					}
				}
			}
		}
	}
}

// Equally even tasks are in the order in which the C++ library's std::sort left them
// (GCC 12's, whose order has not changed in years).
func TestTasksAreSortedAsTheirs(t *testing.T) {
	for _, c := range []struct {
		n    int
		idle func(i int) int
		want string
	}{
		{17, func(int) int { return 1 }, "8 16 15 14 13 12 11 10 9 0 7 6 5 4 3 2 1"},
		{40, func(i int) int { return i * i * 7 % 11 }, "11 22 33 0 4 18 26 15 29 7 37 9 31 13 2 24 35 20 32 1 34 23 21 10 12 19 3 36 8 30 14 25 28 27 16 6 5 17 38 39"},
		{100, func(i int) int { return i * 37 % 7 }, "84 21 70 63 77 14 56 28 0 49 7 91 35 98 42 39 53 32 46 25 60 67 18 74 95 81 11 4 88 50 99 43 92 85 78 57 71 64 1 22 36 15 8 29 68 19 61 75 26 12 54 82 89 47 33 5 96 40 9 86 79 93 16 72 2 37 65 23 44 30 58 51 20 41 97 34 6 90 48 83 55 27 13 76 69 62 24 38 66 17 3 94 45 73 80 59 31 87 10 52"},
	} {
		options := make([]taskOption, c.n)
		for i := range options {
			options[i] = taskOption{tasks: []int64{int64(i)}, idle: float64(c.idle(i))}
		}
		sortOptions(options, true)
		var got []string
		for _, o := range options {
			got = append(got, fmt.Sprint(o.tasks[0]))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%d options: %v", c.n, got)
		}
		if !slices.IsSortedFunc(options, func(a, b taskOption) int { return cmp.Compare(a.idle, b.idle) }) {
			t.Errorf("%d options are not sorted", c.n)
		}
	}
}

// The largest buffer is what a Func takes where it is stored; outputs are somebody else's.
func TestLargestAllocation(t *testing.T) {
	sp := newSpace(t, pipelinetest.Described(t, "dots.h21"), Defaults(2))
	var inside strings.Builder
	inside.WriteString("output compute root vector x\noutput tasks serial\n")
	for f := 1; f < sp.Funcs(); f++ {
		if sp.Scheduled(f) {
			fmt.Fprintf(&inside, "%s compute output [128,1] vector x\n", sp.nodes[f].Name)
		}
	}
	for text, want := range map[string]float64{"output compute root vector x\n": 128 * 64 * 4, inside.String(): 128 * 4} {
		if got := stateOf(t, sp, text).LargestAllocation(); got != want {
			t.Errorf("%g bytes, not %g, of\n%s", got, want, text)
		}
	}
	// Floats and bytes side by side are two buffers, the larger one of floats.
	p := toy(64, 16, 0)
	p.Funcs[1].Types, p.Funcs[1].BytesPerPoint = []string{"uint8", "float32", "uint1"}, 6
	s := stateOf(t, newSpace(t, p, Defaults(2)), "b compute root vector x\n")
	if got := s.LargestAllocation(); got != 64*16*4 {
		t.Errorf("%g bytes of\n%s", got, s)
	}
}

// What moves by all that it holds is not stored around a loop over which something that it reads
// slides, where an input may be read before its start: harris's sums of products move by the two
// rows that an iteration is of, and the gradients that they read by two of four.
func TestWindowsThatJump(t *testing.T) {
	for _, name := range []string{"harris.h19", "harris.h21"} {
		sp := newSpace(t, pipelinetest.Described(t, name), Defaults(2))
		traces := func(rows int) string {
			var b strings.Builder
			b.WriteString("output compute root vector x\noutput tasks [1536,80]\n")
			for f, n := range sp.nodes {
				if sp.Scheduled(f) && !n.Output {
					fmt.Fprintf(&b, "%s compute output [1536,%d] store output [1536,80] vector x\n", n.Name, rows)
				}
			}
			return b.String()
		}
		for rows, slides := range map[int]bool{1: true, 2: false} {
			got := stateOf(t, sp, traces(rows)).Schedule().String()
			for f, want := range map[string]bool{"grad_x": true, "luma": true, "xx_sum": slides} {
				if strings.Contains(got, f+".store_at(output, y)") != want {
					t.Errorf("%s, %d rows: %s slides: %v\n%s", name, rows, f, !want, got)
				}
			}
		}
	}
}

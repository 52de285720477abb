package space

import (
	"math/rand"
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
					if f, kind := s.Deciding(); kind == Compute && !sp.nodes[f].onlyInline && sp.nodes[f].MustInline == "" {
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
	p := s.placing(f, false)
	p.each(nil, func(each *Action, _ int) {
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

package space

import "slices"

// A tiling of a loop nest gives, per loop, how many tiles it is cut into: the
// extents of the outer loops. The inner loops' extents are what a tile holds,
// rounded up.

// tilingKind says which tilings of a loop nest are wanted.
type tilingKind uint8

const (
	// splits cut each loop into power-of-two numbers of tiles, or tiles of
	// power-of-two (or three) iterations.
	splits tilingKind = iota
	// whole leaves each loop either all outside or all inside.
	whole
)

// maxTilings is where, per step of the factor, the number of tilings of the
// inner loops makes those of the outer ones coarser.
const maxTilings = 100

// tilings lists the tilings of a nest of these extents, innermost loop first, as
// Adams et al.'s code does it (their section 3.1 leaves the sizes open): sizes
// grow by powers of two, inner ones first, then outer ones; an inner size of
// three is added for register blocking; tilings that compute more than 8/7 of
// what is needed are left out, and so are the two trivial ones. Where the inner
// loops already have many tilings, the outer loops are stepped more coarsely.
// No tiling comes up twice.
func tilings(size []int64, kind tilingKind) [][]int64 {
	if len(size) == 0 {
		return nil
	}
	return extend(size, len(size)-1, 2, kind)
}

// extend lists the tilings of loops 0..d.
func extend(size []int64, d int, factor int64, kind tilingKind) [][]int64 {
	if d < 0 {
		return [][]int64{nil}
	}
	inner := extend(size, d-1, factor, kind)
	for int64(len(inner)) > factor*maxTilings {
		factor *= 2
	}
	var out [][]int64
	for _, t := range inner {
		// Only the outermost loop can tell whether the whole tiling is trivial.
		ones, full := d == len(size)-1, d == len(size)-1
		for i := range t {
			ones = ones && t[i] == 1
			full = full && t[i] == size[i]
		}
		add := func(outer int64) {
			next := make([]int64, d+1)
			copy(next, t)
			next[d] = outer
			out = append(out, next)
		}
		if kind == whole {
			if !ones {
				add(1)
			}
			if size[d] != 1 && !full {
				add(size[d])
			}
			continue
		}
		eachSplit(size[d], factor, ones, full, add)
	}
	return out
}

// eachSplit calls add with each number of tiles to cut a loop of extent s into.
// ones and full say that one tile, or a tile an iteration, would be trivial.
func eachSplit(s, factor int64, ones, full bool, add func(outer int64)) {
	wasteful := func(inner, outer int64) bool { return inner*outer*7 > s*8 }
	trivial := func(outer int64) bool { return ones && outer == 1 || full && outer == s }
	var largest int64
	for inner := int64(1); inner < s; inner *= factor {
		outer := ceilDiv(s, inner)
		if trivial(outer) {
			continue
		}
		if inner > 1 && wasteful(inner, outer) {
			break
		}
		largest = inner
		add(outer)
	}
	for outer := int64(1); outer <= s; outer *= factor {
		inner := ceilDiv(s, outer)
		if trivial(outer) {
			continue
		}
		if outer > 1 && inner < largest*2 || wasteful(inner, outer) {
			break
		}
		add(outer)
	}
	if outer := ceilDiv(s, 3); factor == 2 && s > 3 && outer < s && outer > 1 && !wasteful(3, outer) {
		add(outer)
	}
}

// A filter says which tilings of a size are remembered under it, beyond the kind:
// the stage whose loops they cut and what else they are picked by.
type filter uint64

const all filter = 0

func tilesOf(stage int, parallel bool) filter {
	if parallel {
		return filter(stage)<<8 | 2
	}
	return filter(stage)<<8 | 1
}

func stripsOf(stage, vectorLoop int) filter { return filter(stage)<<8 | 3 + filter(vectorLoop+1) }

// tilings are remembered: the same extents come up again and again.
func (sp *Space) tilings(size []int64, kind tilingKind) [][]int64 {
	return sp.remembered(size, all+filter(kind)<<62, func() [][]int64 { return tilings(size, kind) })
}

// tilingSet is one list that the space remembers.
type tilingSet struct {
	size  []int64
	by    filter
	tiles [][]int64
	next  *tilingSet
}

// remembered gives the tilings of a size picked by a filter, made on first use.
func (sp *Space) remembered(size []int64, by filter, make func() [][]int64) [][]int64 {
	h := newHash()
	h.add(uint64(by))
	for _, s := range size {
		h.add(uint64(s))
	}
	bucket := &sp.tiled[uint64(h)%uint64(len(sp.tiled))]
	first := bucket.Load()
	for t := first; t != nil; t = t.next {
		if t.by == by && slices.Equal(t.size, size) {
			return t.tiles
		}
	}
	t := &tilingSet{size: slices.Clone(size), by: by, tiles: make(), next: first}
	bucket.CompareAndSwap(first, t) // losing a race loses no more than the memory of it
	return t.tiles
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

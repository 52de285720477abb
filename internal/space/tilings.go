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
	// stepped is whole, or leaves tiles of so many iterations as slideSteps says inside.
	stepped
)

// slideSteps are how many iterations a step of a window that slides over a strip may be
// beside one: a stencil makes several rows from not many more loads than one.
var slideSteps = [...]int64{2, 4}

// has holds where a loop of extent s may be cut into so many tiles, waste aside.
func (k tilingKind) has(s, tiles int64) bool {
	steps := func(n int64) bool { return tiles*n == s }
	return k == splits || tiles == 1 || tiles == s || k == stepped && slices.ContainsFunc(slideSteps[:], steps)
}

// maxTilings is where, per step of the factor, the number of tilings of the
// inner loops makes those of the outer ones coarser.
const maxTilings = 100

// tileSet is the set of tilings of a nest of one size, innermost loop first, as
// Adams et al.'s code lists them (their section 3.1 leaves the sizes open): numbers
// of tiles grow by powers of two, those with small tiles first, then the others; a
// tile of three is added for register blocking; tilings that compute more than 8/7
// of what is needed are left out, and so are the two trivial ones. Where the inner
// loops already have many tilings, the outer loops are stepped more coarsely. No
// tiling comes up twice.
//
// The choices for a loop do not depend on those for the others, except that those
// for the outermost one must not make the whole trivial. So a set is a product, and
// one of it can be drawn without the others.
type tileSet struct {
	flat   []int64   // holds all choices
	inner  [][]int64 // choices for all loops but the outermost
	outer  []int64   // choices for the outermost, by default
	trivia [2]trivial
	tuples int // of inner choices
	total  int
	more   [][]int64 // tilings that are no such product, after all others
}

// trivial is a choice for the inner loops that leaves them entirely inside, or
// entirely outside, and what the outermost loop can then be.
type trivial struct {
	at    int // number of the inner choice; -1 where there is none
	outer []int64
}

// init makes t the set of a size, in the memory it has.
func (t *tileSet) init(size []int64, kind tilingKind) {
	*t = tileSet{flat: t.flat[:0], inner: t.inner[:0], more: t.more[:0], tuples: 1}
	if len(size) == 0 {
		return
	}
	last := len(size) - 1
	factor := int64(2)
	choices := func(s int64, ones, full bool) []int64 {
		from := len(t.flat)
		t.flat = appendChoices(t.flat, s, factor, kind, ones, full)
		return t.flat[from:len(t.flat):len(t.flat)]
	}
	for _, s := range size[:last] {
		of := choices(s, false, false)
		t.inner = append(t.inner, of)
		for k, all := range [2]int64{1, s} {
			i := slices.Index(of, all)
			if i < 0 {
				t.trivia[k].at = -1
			} else if t.trivia[k].at >= 0 {
				t.trivia[k].at = t.trivia[k].at*len(of) + i
			}
		}
		t.tuples *= len(of)
		for int64(t.tuples) > factor*maxTilings {
			factor *= 2
		}
	}
	t.outer = choices(size[last], false, false)
	t.total = t.tuples * len(t.outer)
	ones, full := &t.trivia[0], &t.trivia[1]
	if ones.at == full.at {
		full.at = -1
		if ones.at >= 0 {
			ones.outer = choices(size[last], true, true)
		}
	} else if ones.at >= 0 {
		ones.outer = choices(size[last], true, false)
	}
	if full.at >= 0 {
		full.outer = choices(size[last], false, true)
	}
	if full.at >= 0 && full.at < ones.at {
		*ones, *full = *full, *ones
	}
	for _, x := range t.trivia {
		if x.at >= 0 {
			t.total += len(x.outer) - len(t.outer)
		}
	}
}

// add puts one more tiling into the set, unless it is there.
func (t *tileSet) add(tiling []int64) {
	if !t.holds(tiling) {
		t.more = append(t.more, tiling)
		t.total++
	}
}

// at sets dst to tiling i, in the order of their code: the outermost loop's choices
// change first.
func (t *tileSet) at(i int, dst []int64) {
	if more := i - t.total + len(t.more); more >= 0 {
		copy(dst, t.more[more])
		return
	}
	tuple, outer := 0, t.outer
	for _, x := range t.trivia {
		if x.at < 0 {
			continue
		}
		if before := (x.at - tuple) * len(t.outer); i < before {
			break
		} else {
			i, tuple = i-before, x.at
		}
		if i < len(x.outer) {
			outer = x.outer
			break
		}
		i, tuple = i-len(x.outer), tuple+1
	}
	if len(outer) > 0 {
		tuple += i / len(outer)
		i %= len(outer)
	}
	dst[len(t.inner)] = outer[i]
	for k := len(t.inner) - 1; k >= 0; k-- {
		of := t.inner[k]
		dst[k] = of[tuple%len(of)]
		tuple /= len(of)
	}
}

// outers are the choices for the outermost loop with a choice for the inner ones, and
// whether some of them would make the tiling trivial.
func (t *tileSet) outers(tuple int) (choices []int64, trivial bool) {
	for _, x := range t.trivia {
		if x.at == tuple {
			return x.outer, true
		}
	}
	return t.outer, false
}

// holds reports whether a tiling of the size is in the set.
func (t *tileSet) holds(tiling []int64) bool {
	return t.combines(tiling) || contains(t.more, tiling)
}

// combines reports whether it is a combination of the choices for each loop.
func (t *tileSet) combines(tiling []int64) bool {
	if t.total == 0 || len(tiling) != len(t.inner)+1 {
		return false
	}
	tuple := 0
	for k, of := range t.inner {
		i := slices.Index(of, tiling[k])
		if i < 0 {
			return false
		}
		tuple = tuple*len(of) + i
	}
	outers, _ := t.outers(tuple)
	return slices.Contains(outers, tiling[len(t.inner)])
}

// tiling is tiling i of the set.
func (t *tileSet) tiling(i int) []int64 {
	dst := make([]int64, len(t.inner)+1)
	t.at(i, dst)
	return dst
}

// tilings lists the set.
func tilings(size []int64, kind tilingKind) [][]int64 {
	var t tileSet
	t.init(size, kind)
	out := make([][]int64, t.total)
	flat := make([]int64, t.total*len(size))
	for i := range out {
		out[i], flat = flat[:len(size):len(size)], flat[len(size):]
		t.at(i, out[i])
	}
	return out
}

// appendChoices appends the numbers of tiles to cut a loop of extent s into. ones
// and full say that one tile, or a tile an iteration, would be trivial.
func appendChoices(dst []int64, s, factor int64, kind tilingKind, ones, full bool) []int64 {
	if kind == splits {
		eachSplit(s, factor, ones, full, func(outer int64) { dst = append(dst, outer) })
		return dst
	}
	if !ones {
		dst = append(dst, 1)
	}
	if s != 1 && !full {
		dst = append(dst, s)
	}
	if kind == stepped {
		for _, n := range slideSteps {
			if s%n == 0 && s > n {
				dst = append(dst, s/n)
			}
		}
	}
	return dst
}

// eachSplit calls add with each number of tiles to cut a loop of extent s into.
// ones and full say that one tile, or a tile an iteration, would be trivial.
func eachSplit(s, factor int64, ones, full bool, add func(outer int64)) {
	trivial := func(outer int64) bool { return ones && outer == 1 || full && outer == s }
	var largest int64
	for inner := int64(1); inner < s; inner *= factor {
		outer := ceilDiv(s, inner)
		if trivial(outer) {
			continue
		}
		if inner > 1 && wasteful(s, inner, outer) {
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
		if outer > 1 && inner < largest*2 || wasteful(s, inner, outer) {
			break
		}
		add(outer)
	}
	if outer := ceilDiv(s, 3); factor == 2 && s > 3 && outer < s && outer > 1 && !wasteful(s, 3, outer) {
		add(outer)
	}
}

// wasteful holds where so many tiles of so many iterations make more than 8/7 of a loop.
func wasteful(s, inner, outer int64) bool { return inner*outer*7 > s*8 }

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

func contains(list [][]int64, t []int64) bool {
	return slices.ContainsFunc(list, func(u []int64) bool { return slices.Equal(u, t) })
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

package space

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
// Duplicates, which their enumeration has, are dropped.
func tilings(size []int64, kind tilingKind) [][]int64 {
	if len(size) == 0 {
		return nil
	}
	out := extend(size, len(size)-1, 2, kind)
	seen := make(map[string]bool, len(out))
	kept := out[:0]
	for _, t := range out {
		k := sizeKey(t)
		if !seen[k] {
			seen[k] = true
			kept = append(kept, t)
		}
	}
	return kept
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

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// sizeKey packs extents into a map key.
func sizeKey(size []int64) string {
	b := make([]byte, 0, 3*len(size))
	for _, s := range size {
		for s >= 0x80 {
			b = append(b, byte(s)|0x80)
			s >>= 7
		}
		b = append(b, byte(s))
	}
	return string(b)
}

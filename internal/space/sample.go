package space

import "math/rand"

// maxDraws is how many draws Sample makes before it lists the legal actions
// instead. Where one in ten is legal it misses once in 850 times.
const maxDraws = 64

// Sample draws one legal action without making the others; false when the state
// is complete. Every legal action has a positive probability and no other one
// has any:
//
//   - where to compute: inlining, if it is legal, and each family of placements
//     (vector dimension, loop level, direct or in tiles, slid or not) are equally
//     likely; within a family the tile sizes are, and given those the splits of
//     the level further in. Draws that break a limit are drawn again; after 64 of
//     them in a row, one of the legal actions is taken with equal probability.
//   - tasks: each legal tiling is equally likely.
func (s *State) Sample(rng *rand.Rand) (Action, bool) {
	f, kind := s.Deciding()
	switch kind {
	case Compute:
		return s.sampleCompute(rng, f), true
	case Tasks:
		var store [64]Action
		as := s.taskActions(store[:0], f)
		return as[rng.Intn(len(as))], true
	}
	return Action{}, false
}

func (s *State) sampleCompute(rng *rand.Rand, f int) Action {
	n := &s.sp.nodes[f]
	inline, can := s.inlining(f)
	if can && n.onlyInline || n.MustInline != "" {
		return inline
	}
	p := s.placing(f)
	choices := len(p.fams)
	if can {
		choices++
	}
	for range maxDraws {
		k := rng.Intn(choices)
		if k == len(p.fams) {
			return inline
		}
		if a := p.draw(rng, &p.fams[k]); p.legal(&a) {
			return a
		}
	}
	as := s.computeActions(nil, f)
	return as[rng.Intn(len(as))]
}

// draw draws an action of a family, its members being as likely as Sample says.
func (p *placing) draw(rng *rand.Rand, fam *family) Action {
	a := fam.action(p.f)
	if fam.tiles != nil {
		a.Tile = fam.tiles[rng.Intn(len(fam.tiles))]
	}
	inners, none := fam.inners, 0
	if fam.deep {
		inners, none = p.deepInners(&a), 1
	}
	if len(inners) > 0 {
		if k := rng.Intn(len(inners) + none); k >= none {
			a.Inner = inners[k-none]
		}
	}
	return a
}

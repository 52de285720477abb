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
		return s.sampleTasks(rng, f), true
	}
	return Action{}, false
}

// SampleDown samples until the state is complete.
func (s *State) SampleDown(rng *rand.Rand) *State {
	for a, ok := s.Sample(rng); ok; a, ok = s.Sample(rng) {
		s = s.Next(a)
	}
	return s
}

func (s *State) sampleCompute(rng *rand.Rand, f int) Action {
	n := &s.sp.nodes[f]
	inline, can := s.inlining(f)
	if can && n.onlyInline {
		return inline
	}
	p := s.placing(f)
	defer p.free()
	p.families(drawn)
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
	if n := fam.cuts(); n > 0 {
		if i := rng.Intn(n); fam.set != nil {
			a.Tile = fam.set.tiling(i)
		} else {
			a.Tile = fam.tiles[i]
		}
	}
	switch {
	case fam.deep:
		p.halve(&a)
		if k := rng.Intn(p.half.total + 1); k > 0 {
			a.Inner = p.half.tiling(k - 1)
		}
	case len(fam.inners) > 0:
		a.Inner = fam.inners[rng.Intn(len(fam.inners))]
	}
	return a
}

func (s *State) sampleTasks(rng *rand.Rand, f int) Action {
	options := s.sp.tasks(s.root, f)
	if s.sp.o.NoSubtiling || len(options) == 0 {
		return s.taskActions(nil, f)[0]
	}
	legal := 1
	for legal < len(options) && options[legal].idle <= s.sp.o.IdleLimit {
		legal++
	}
	return s.cutInto(f, &options[rng.Intn(legal)])
}

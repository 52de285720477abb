package feature

import (
	"hash/maphash"

	"github.com/protuner/protuner/internal/space"
)

// block is one child of the root of a loop nest with everything inside it: the unit
// that is remembered from state to state. Nests are immutable and shared, so one
// pointer stands for all of it. A step of a search makes new ones of those that it
// changes; of the others only the surroundings may have changed.
//
// (Halide's Adams2019 remembers features by the same parts. It tells surroundings
// apart by a hash of where producers are stored; here it is all that enters, see
// context.)
type block struct {
	nest     *space.Nest
	levels   []level // outermost first; levels[0] is the root
	computed []placed
	inlined  []placed // in the order visited, a stage once for each place
	outside  []int    // Funcs read in here that are neither inputs nor realised here
	once     bool     // it serves one state only, and is not remembered

	results [4]result // in the surroundings met last
	next    int       // which of them to replace
	filled  int
}

// level is one level of a block's nest.
type level struct {
	nest          *space.Nest
	parent, depth int32
}

// placed is a stage that is computed in a block.
type placed struct {
	stage int
	level int32 // the innermost one
	site  site
}

// result is what the computation of a block gave in one context.
type result struct {
	context []int32
	feats   []Schedule // of the stages computed
	calls   []call     // of the Funcs inlined
	live    int64      // storage in use inside
}

// shape finds everything in b's nest: where it is computed and stored, and what is
// read from outside.
func (x *Extractor) shape(b *block) {
	b.levels = append(b.levels, level{nest: x.root})
	x.addLevel(b, b.nest, 0)
	for i := range b.computed {
		c := &b.computed[i]
		if c.site.store == nil {
			c.site.store = x.root
		}
		x.see(x.stages[c.stage].fn)
	}
	for i := range b.inlined {
		x.see(x.stages[b.inlined[i].stage].fn)
	}
	for f := range x.p.Funcs {
		if b.nest.Reads(f) && !x.p.Funcs[f].Input && !x.seen[f] {
			b.outside = append(b.outside, f)
		}
	}
	x.forget()
}

// addLevel adds n, which is inside levels[parent].
func (x *Extractor) addLevel(b *block, n *space.Nest, parent int32) {
	at := int32(len(b.levels))
	b.levels = append(b.levels, level{n, parent, b.levels[parent].depth + 1})
	stage := x.first[n.Func] + n.Stage
	if around := b.levels[parent].nest; around.Func != n.Func {
		x.nth[stage] = len(b.computed)
		b.computed = append(b.computed, placed{stage: stage, site: site{compute: around, produce: n}})
	}
	for _, c := range n.Children {
		x.addLevel(b, c, at)
	}
	if n.Innermost {
		c := &b.computed[x.nth[stage]]
		c.site.innermost, c.level = n, at
	}
	for _, f := range n.StoreAt {
		for s := range x.p.Funcs[f].Stages {
			b.computed[x.nth[x.first[f]+s]].site.store = n
		}
	}
	for _, in := range n.Inlined {
		b.inlined = append(b.inlined, placed{stage: x.first[in.Func], level: at,
			site: site{compute: n, store: n, produce: n, innermost: n, inlined: true}})
	}
}

// result is what b gives in the state, computed only if none of the contexts that it was
// computed in last is the same.
func (x *Extractor) result(b *block) *result {
	for k := range b.results[:b.filled] {
		if r := &b.results[k]; x.sameContext(b, r) {
			return r
		}
	}
	r := &b.results[b.next]
	b.filled = max(b.filled, b.next+1)
	b.next = (b.next + 1) % len(b.results)
	r.context = r.context[:0]
	for _, f := range b.outside {
		r.context = append(r.context, x.context(f))
	}
	x.compute(b, r)
	return r
}

func (x *Extractor) sameContext(b *block, r *result) bool {
	for k, f := range b.outside {
		if r.context[k] != x.context(f) {
			return false
		}
	}
	return true
}

// context is all that the features of a block's stages depend on, of a Func outside
// the block that it reads: a Func that is decided about is at root, and then it is
// the dimension that is innermost in storage; of others it is where they are taken
// to be.
func (x *Extractor) context(f int) int32 {
	if n := x.sites[x.first[f]].produce; n != nil {
		return int32(x.vectorDim(n)) + 1
	}
	at := x.at[x.first[f]]
	if at.level == 0 {
		return -1
	}
	return -1 - at.level
}

// compute computes b from its surroundings in the state.
func (x *Extractor) compute(b *block, r *result) {
	for i := range b.computed {
		c := &b.computed[i]
		x.sites[c.stage] = c.site
		x.feats[c.stage] = Schedule{}
	}
	for i := range b.inlined {
		x.sites[b.inlined[i].stage] = b.inlined[i].site
	}
	for i := range b.computed {
		if c := &b.computed[i]; c.site.store.IsRoot() {
			x.realise(x.root, c.stage, 1)
		}
	}
	x.calls = r.calls[:0]
	r.live = x.level(b.nest, around{parent: x.root, instances: 1, parallelism: 1})
	r.calls = x.calls
	r.feats = r.feats[:0]
	for i := range b.computed {
		c := &b.computed[i]
		ft := &x.feats[c.stage]
		x.atRoot(ft, c)
		r.feats = append(r.feats, *ft)
	}
}

// cache holds blocks by their nests: those used since it last aged, and those used
// before that, which are the next to be forgotten. A nest is remembered when it comes
// up a second time: most states that a search makes it looks at once.
type cache struct {
	young, old map[*space.Nest]*block
	free       []*block
	levels     int // in young blocks
	most       int // how many make them age

	seed maphash.Seed
	met  [1 << 10]uint64 // hashes of nests that came up

	once []*block // blocks of this state that are not remembered
	used int      // how many of once are in use
}

// maxLevels is how many levels of nests the cache holds of each age. A level keeps
// about 2 KB of the space's bounds alive in the largest of Halide's apps: 4096 of
// them are 8 MB.
const maxLevels = 4096

func newCache() cache {
	return cache{young: map[*space.Nest]*block{}, old: map[*space.Nest]*block{}, most: maxLevels, seed: maphash.MakeSeed()}
}

// begin ends the use of all blocks of the state before, and forgets the old ones if
// there are many young ones, which then are the old.
func (c *cache) begin() {
	c.used = 0
	if c.levels < c.most {
		return
	}
	for _, b := range c.old {
		b.forget()
		c.free = append(c.free, b)
	}
	clear(c.old)
	c.young, c.old, c.levels = c.old, c.young, 0
}

// block is the block of n, which stays as it is until the next state.
func (x *Extractor) block(n *space.Nest) *block {
	c := &x.known
	b := c.young[n]
	if b != nil {
		return b
	}
	if b = c.old[n]; b != nil {
		delete(c.old, n)
	} else {
		b = c.empty(n)
		x.shape(b)
		if b.once {
			return b
		}
	}
	c.young[n] = b
	c.levels += len(b.levels)
	return b
}

// empty is an empty block for n: to be remembered if n came up before.
func (c *cache) empty(n *space.Nest) *block {
	h := maphash.Comparable(c.seed, n)
	if met := &c.met[h%uint64(len(c.met))]; *met != h {
		*met = h
		if c.used == len(c.once) {
			c.once = append(c.once, &block{once: true})
		}
		b := c.once[c.used]
		c.used++
		b.forget()
		b.nest = n
		return b
	}
	b := &block{}
	if last := len(c.free) - 1; last >= 0 {
		b, c.free = c.free[last], c.free[:last]
	}
	b.nest = n
	return b
}

// forget empties a block but for memory to use again.
func (b *block) forget() {
	b.nest = nil
	clear(b.levels)
	clear(b.computed)
	clear(b.inlined)
	b.levels, b.computed, b.inlined, b.outside = b.levels[:0], b.computed[:0], b.inlined[:0], b.outside[:0]
	b.next, b.filled = 0, 0
}

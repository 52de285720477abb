// Package feature turns schedules into numbers: the features of Adams et al. 2019,
// "Learning to Optimize Halide with Tree Search and Random Programs", section 4.1,
// as version 3 of Halide's Adams2019 computes them, and the files that hold them.
// docs/features.md lists them all and says what is peculiar about some.
package feature

import (
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/space"
)

// Schedule holds the schedule features of one stage, by index.
type Schedule [NumSchedule]float64

// StageID names a stage: its Func, and its number within that.
type StageID struct{ Func, Stage int }

// Stages lists the stages of p that have features, in the order of Halide's files:
// Funcs with consumers first, inputs left out, each with its last update first.
func Stages(p *pipeline.Pipeline) []StageID {
	var out []StageID
	for f := range p.Funcs {
		if p.Funcs[f].Input {
			continue
		}
		for s := len(p.Funcs[f].Stages) - 1; s >= 0; s-- {
			out = append(out, StageID{f, s})
		}
	}
	return out
}

// Extractor computes features of states of one space. It keeps scratch memory
// between calls, so that a call allocates nothing once it has seen states as
// large; it is not safe for concurrent use.
type Extractor struct {
	sp      *space.Space
	p       *pipeline.Pipeline
	cores   int64
	first   []int // number of each Func's first stage
	order   []int // numbers of the stages in the order of Stages
	stages  []stage
	readers [][]pipeline.Reader

	root  *space.Nest
	sites []site // per stage
	feats []Schedule

	levels  []levelInfo // of the nest at hand, outermost first
	pending []int
	seen    []bool // Funcs
	seenAt  []int  // those to clear
	loads   loads
}

// stage is what stays the same about a stage.
type stage struct {
	*pipeline.Stage
	fn, idx int
	f       *pipeline.Func
	loopOf  []int // per dimension of the Func, the loop over it, -1 for none
}

// site says where a stage is computed and stored: levels of the nest, nil where
// not known.
type site struct {
	compute, store, produce, innermost, task *space.Nest
	computeAt, innermostAt                   int // indices of levels
	inlined                                  bool
}

type levelInfo struct {
	nest          *space.Nest
	parent, depth int
}

// New prepares an extractor for states of sp.
func New(sp *space.Space) *Extractor {
	p := sp.Pipeline()
	x := &Extractor{sp: sp, p: p, cores: int64(sp.Options().Parallelism), readers: p.Readers(), seen: make([]bool, len(p.Funcs))}
	for f := range p.Funcs {
		fn := &p.Funcs[f]
		x.first = append(x.first, len(x.stages))
		for s := range fn.Stages {
			st := stage{Stage: &fn.Stages[s], fn: f, idx: s, f: fn, loopOf: make([]int, len(fn.Args))}
			for d, arg := range fn.Args {
				st.loopOf[d] = -1
				for l := range st.Loops {
					if st.Loops[l].Var == arg {
						st.loopOf[d] = l
						break
					}
				}
			}
			x.stages = append(x.stages, st)
		}
		if len(fn.Stages) == 0 { // an input takes one place, for its site
			x.stages = append(x.stages, stage{Stage: &pipeline.Stage{}, fn: f, f: fn})
		}
	}
	for _, id := range Stages(p) {
		x.order = append(x.order, x.first[id.Func]+id.Stage)
	}
	x.sites = make([]site, len(x.stages))
	x.feats = make([]Schedule, len(x.stages))
	return x
}

// Features appends the features of the stages that s schedules, in the order of
// Stages: of all stages where s is complete, of the first ones otherwise. About
// stages not yet scheduled it assumes the best: as far in as they could be, and
// vectorised along whatever dimension suits each reader (section 3.2). Stages that
// nothing needs have zeros.
func (x *Extractor) Features(s *space.State, dst []Schedule) []Schedule {
	x.root = s.Root()
	clear(x.sites)
	clear(x.feats)
	x.levels = x.levels[:0]
	x.addSites(x.root, -1, nil)
	x.guessSites()
	x.rootLevel()
	funcs, kind := s.Deciding()
	if s.Complete() {
		funcs = len(x.p.Funcs)
	} else if kind == space.Tasks {
		funcs++
	}
	for _, st := range x.order {
		if x.stages[st].fn >= funcs {
			break
		}
		dst = append(dst, x.feats[st])
	}
	return dst
}

// addSites finds, of everything in n, where it is computed and stored.
func (x *Extractor) addSites(n *space.Nest, parent int, task *space.Nest) {
	at := len(x.levels)
	depth := 0
	if parent >= 0 {
		depth = x.levels[parent].depth + 1
	}
	x.levels = append(x.levels, levelInfo{n, parent, depth})
	if task == nil && !n.IsRoot() {
		task = n
	}
	for _, c := range n.Children {
		x.addSites(c, at, task)
	}
	if parent >= 0 && x.levels[parent].nest.Func != n.Func {
		t := &x.sites[x.first[n.Func]+n.Stage]
		t.compute, t.computeAt, t.produce, t.task = x.levels[parent].nest, parent, n, task
	}
	for _, f := range n.StoreAt {
		for s := range x.p.Funcs[f].Stages {
			x.sites[x.first[f]+s].store = n
		}
	}
	for _, in := range n.Inlined {
		x.sites[x.first[in.Func]] = site{compute: n, store: n, produce: n, innermost: n, task: task,
			computeAt: at, innermostAt: at, inlined: true}
	}
	if n.Innermost {
		t := &x.sites[x.first[n.Func]+n.Stage]
		t.innermost, t.innermostAt = n, at
	}
}

// guessSites places what the state has not decided about: inputs and outputs at
// root, others in the innermost level around all their readers.
func (x *Extractor) guessSites() {
	for f := range x.p.Funcs {
		fn := &x.p.Funcs[f]
		if fn.Input {
			x.sites[x.first[f]].compute, x.sites[x.first[f]].store = x.root, x.root
			continue
		}
		if x.sites[x.first[f]].compute != nil {
			continue
		}
		at := -1
		if fn.Output {
			at = 0
		}
		for _, r := range x.readers[f] {
			t := &x.sites[x.first[r.Func]+r.Stage]
			if fn.Output || t.compute == nil {
				continue
			}
			l := t.computeAt
			if t.innermost != nil {
				l = t.innermostAt
			}
			if at >= 0 {
				l = x.ancestor(at, l)
			}
			at = l
		}
		if at < 0 {
			continue // nothing reads it
		}
		for s := range fn.Stages {
			t := &x.sites[x.first[f]+s]
			t.compute, t.store, t.computeAt = x.levels[at].nest, x.levels[at].nest, at
		}
	}
}

// ancestor is the deepest level around both a and b. Where one of two different
// levels is around the other it is the level around both of them, as in Adams et
// al.'s code, which their weights and search are used to.
func (x *Extractor) ancestor(a, b int) int {
	if a == b || a == 0 || b == 0 {
		return min(a, b)
	}
	for x.levels[a].depth > x.levels[b].depth {
		a = x.levels[a].parent
	}
	for x.levels[b].depth > x.levels[a].depth {
		b = x.levels[b].parent
	}
	for {
		a, b = x.levels[a].parent, x.levels[b].parent
		if a == b {
			return a
		}
	}
}

// scheduled reports whether the state has decided about the stage.
func (x *Extractor) scheduled(stage int) bool { return x.sites[stage].produce != nil }

// vectorDim is the innermost dimension in the storage of what n computes. Adams et
// al.'s code has 0 where there is nothing to vectorise.
func (x *Extractor) vectorDim(n *space.Nest) int {
	if n.VectorDim < 0 && len(x.p.Funcs[n.Func].Args) == 0 {
		return 0
	}
	return n.VectorDim
}

package space

import (
	"slices"
	"strconv"
	"strings"
)

// broken returns the Funcs that a loop nest computes too often, or inlines too
// often into one place, or would read out of bounds, those in spared aside; nil if
// there are none. The first is the pruning of section 3.2 that depends on bounds:
// at most Recompute times the points that must be computed, stages that only copy
// excepted; for the last see mixes.
func (sp *Space) broken(root *Nest, spared bitset) bitset {
	w := sp.workOf(root)
	var out bitset
	report := func(f int) {
		if spared != nil && spared.has(f) {
			return
		}
		if out == nil {
			out = sp.newSet()
		}
		out.set(f)
	}
	for f := range sp.nodes {
		n := &sp.nodes[f]
		if n.given || n.Wrapper {
			continue
		}
		for s, least := range n.minimum {
			if w.computed[n.first+s]+w.called[f] > sp.o.Recompute*least {
				report(f)
			}
		}
	}
	for _, f := range w.bloated {
		report(f)
	}
	for _, f := range root.early {
		report(f)
	}
	if sp.o.MemoryLimit > 0 && w.memory > float64(sp.o.MemoryLimit) {
		report(len(sp.nodes)) // no Func in particular
	}
	return out
}

// work counts the points each stage computes in a loop nest.
type work struct {
	sp       *Space
	computed []float64 // per stage, realised
	called   []float64 // per Func, inlined
	bloated  []int     // Funcs inlined too often into one loop
	memory   float64   // bytes allocated
}

// workOf is that of a whole nest.
func (sp *Space) workOf(root *Nest) *work {
	w := &work{sp: sp, computed: make([]float64, len(sp.stages)), called: make([]float64, len(sp.nodes))}
	w.visit(root, nil, 1)
	return w
}

// visit counts what level n, inside of those above it and entered so often, computes.
func (w *work) visit(n *Nest, above []level, entered float64) {
	instances := entered * product(n.Size)
	here := w.sp.below(above, n, entered)
	for _, f := range n.StoreAt {
		node := &w.sp.nodes[f]
		b := n.Bounds(f)
		for s := range node.Stages {
			w.computed[node.first+s] = points(b.Loops(s)) * instances
		}
	}
	for _, in := range n.Inlined {
		w.called[in.Func] += in.Executed * instances
		if in.Calls > w.sp.o.InlinedCalls {
			w.bloated = append(w.bloated, in.Func)
		}
	}
	for _, c := range n.Children {
		if w.sp.o.MemoryLimit > 0 && c.Func != n.Func && c.Stage == 0 {
			w.memory += w.sp.allocated(c.Func, n)
		}
		w.visit(c, here, instances*anew(here, c))
	}
}

// allocated is how many bytes a Func that is computed in level n takes of the memory
// limit. Adams et al.'s code takes an output back once for each of its stages.
func (sp *Space) allocated(f int, n *Nest) float64 {
	node := &sp.nodes[f]
	bytes := sp.bytes(f, n)
	if node.Output {
		return bytes * float64(1-len(node.Stages))
	}
	return bytes
}

// bytes is what f takes where it is computed whole for an iteration of level n.
func (sp *Space) bytes(f int, n *Nest) float64 {
	return float64(sp.nodes[f].BytesPerPoint) * points(n.Bounds(f).computed())
}

// LargestAllocation is how many bytes the buffer takes that is the largest of those a
// complete state allocates, for Funcs that are neither inputs nor outputs. Of what slides, and
// is stored further out than it is computed, Halide keeps no more than is computed at a time
// and what is still read of it.
func (s *State) LargestAllocation() float64 {
	most := 0.0
	var visit func(n *Nest)
	visit = func(n *Nest) {
		for _, c := range n.Children {
			if node := &s.sp.nodes[c.Func]; c.Func != n.Func && c.Stage == 0 && !node.Output {
				most = max(most, float64(node.widest())*points(n.Bounds(c.Func).computed()))
			}
			visit(c)
		}
	}
	visit(s.root)
	return most
}

// widest is how many bytes the widest of a Func's values takes: each value of a Tuple has a
// buffer of its own.
func (n *node) widest() int {
	most := 0
	for _, t := range n.Types {
		bits, _ := strconv.Atoi(strings.TrimLeft(t, "abcdefghijklmnopqrstuvwxyz")) // none of a handle, which nothing stores
		most = max(most, (bits+7)/8)
	}
	return most
}

// mixes lists what would be read before its start because of sliding windows over
// level n. Halide starts each window with extra iterations of the loop, one
// consumer after the other. Where a Func is read by one that so started early and
// by one that did not, it takes both to need it early, and the extra iterations
// add up beyond what is required: harmless behind a boundary condition, an error
// at an input that ends there.
func (sp *Space) mixes(n *Nest) []int {
	leads := make([]int64, len(n.Children))
	early := sp.newSet()
	any := false
	for i, c := range n.Children {
		if !n.slides(c) || !sp.nodes[c.Func].spills {
			continue
		}
		if leads[i] = n.lead(c.Func); leads[i] > 0 {
			early.union(c.reads)
			any = true
		}
	}
	if !any {
		return nil
	}
	var out []int
	for f := range sp.nodes {
		if !early.has(f) || !sp.nodes[f].spills {
			continue
		}
		lead := int64(-1)
		for i, c := range n.Children {
			if c.Reads(f) {
				if lead >= 0 && leads[i] != lead {
					out = append(out, f)
					break
				}
				lead = leads[i]
			}
		}
	}
	return out
}

// lead is how many points of f, which slides over level n, one iteration still
// needs of what those before computed, along the dimension with most.
func (n *Nest) lead(f int) int64 {
	most := int64(0)
	n.eachStep(f, func(_ int, step, overlap int64) {
		if step > 0 {
			most = max(most, overlap)
		}
	})
	return most
}

// eachStep calls do, per loop of level n that iterates and dimension of f, with
// how far the region of f moves from one iteration to the next, whichever way, and how
// much of it both need.
func (n *Nest) eachStep(f int, do func(dim int, step, overlap int64)) {
	now := n.Bounds(f)
	for i, size := range n.Size {
		if size == 1 {
			continue
		}
		next := n.site.ahead(i, n.Stage).bounds(f)
		for d := range now.computed() {
			step := next.Computed(d).Min - now.Computed(d).Min
			step = max(step, -step)
			do(d, step, now.Computed(d).Extent()-step)
		}
	}
}

// stands holds where one of the loops of level n that iterate moves no part of the region of f.
func (n *Nest) stands(f int) bool {
	now := n.Bounds(f).computed()
	for i, size := range n.Size {
		if size > 1 && slices.Equal(now, n.site.ahead(i, n.Stage).bounds(f).computed()) {
			return true
		}
	}
	return false
}

// swells holds where one of the reduction loops of level n that iterate changes how large the
// region of f is, moving one end of it and not the other.
func (n *Nest) swells(f int) bool {
	now := n.Bounds(f).computed()
	for i, loop := range n.site.sp.stages[n.stageNumber()].Loops {
		if n.Size[i] == 1 || !loop.RVar {
			continue
		}
		for d, next := range n.site.ahead(i, n.Stage).bounds(f).computed() {
			if next.Extent() != now[d].Extent() {
				return true
			}
		}
	}
	return false
}

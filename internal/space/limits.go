package space

// broken returns the Funcs that a loop nest computes too often, or inlines too
// often into one place, those in spared aside; nil if there are none. It is the
// pruning of section 3.2 that depends on bounds: at most Recompute times the
// points that must be computed, stages that only copy excepted.
func (sp *Space) broken(root *Nest, spared bitset) bitset {
	w := work{sp: sp, computed: make([]float64, len(sp.stages)), called: make([]float64, len(sp.nodes))}
	w.visit(root, 1)
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
		if n.Input || n.Wrapper {
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
	return out
}

// work counts the points each stage computes in a loop nest.
type work struct {
	sp       *Space
	computed []float64 // per stage, realised
	called   []float64 // per Func, inlined
	bloated  []int     // Funcs inlined too often into one loop
}

func (w *work) visit(n *Nest, instances float64) {
	for _, s := range n.Size {
		instances *= float64(s)
	}
	for _, f := range n.StoreAt {
		node := &w.sp.nodes[f]
		b := n.Bounds(f)
		for s := range node.Stages {
			w.computed[node.first+s] = points(b.Loops(s)) * instances
		}
	}
	for _, in := range n.Inlined {
		w.called[in.Func] += float64(in.Calls) * instances
		if in.Calls > w.sp.o.InlinedCalls {
			w.bloated = append(w.bloated, in.Func)
		}
	}
	for _, c := range n.Children {
		w.visit(c, instances)
	}
}

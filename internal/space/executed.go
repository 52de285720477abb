package space

import "slices"

// level is a level of a loop nest and how often it is entered.
type level struct {
	n       *Nest
	entered float64
}

// runs is how often its body runs.
func (l level) runs() float64 { return l.entered * product(l.n.Size) }

// below is levels with n, which is entered so often, at the end; none where nothing in it
// slides or that does not matter.
func (sp *Space) below(levels []level, n *Nest, entered float64) []level {
	if !n.slid || !sp.o.Executed {
		return nil
	}
	return append(slices.Clip(levels), level{n, entered})
}

// anew is the share of the iterations of the last of levels, from the root inwards, in
// which its child c, the outermost level of a stage, has anything left to compute: below 1
// where c slides over it, so that what an iteration needs was mostly computed by those
// before. It is 1 where there are no levels.
func anew(levels []level, c *Nest) float64 {
	if len(levels) == 0 {
		return 1
	}
	in := levels[len(levels)-1]
	if !in.n.slides(c) {
		return 1
	}
	for _, l := range slices.Backward(levels) {
		if slices.Contains(l.n.StoreAt, c.Func) {
			kept := points(l.n.Bounds(c.Func).Loops(c.Stage)) * l.runs()
			return min(1, kept/(points(in.n.Bounds(c.Func).Loops(c.Stage))*in.runs()))
		}
	}
	return 1
}

// countTogether finds how many of the calls of each consumer are executed (consumer.executed):
// a point that all channels call is computed once where these are unrolled.
func (sp *Space) countTogether() {
	for f := range sp.nodes {
		for i := range sp.nodes[f].consumers {
			c := &sp.nodes[f].consumers[i]
			channels := 1.0
			extents := sp.Extents(c.fn, c.idx)
			for l, loop := range sp.stages[c.stage].Loops {
				if loop.Pure && loop.PureDim >= 0 && sp.Channels(c.fn, loop.PureDim) && !c.edge.Moves(l) {
					channels *= float64(extents[l])
				}
			}
			c.executed = c.edge.Executed()
			if channels > 1 {
				c.executed = min(c.executed, float64(c.edge.Distinct())/channels)
			}
		}
	}
}

// callsIn counts the calls of a Func that the innermost level of a stage, with what is inlined
// there, makes for one point, and how many of them are executed on average: all, unless
// Options.Executed.
func (sp *Space) callsIn(stage int, inlined []Inlined, to *node) (calls int64, executed float64) {
	for _, e := range to.consumers {
		if e.stage == stage {
			calls += int64(e.edge.Calls)
			executed += e.executed
		}
		if in, ok := inlinedIn(inlined, e.fn); ok {
			calls += in.Calls * int64(e.edge.Calls)
			executed += in.Executed * e.executed
		}
	}
	if !sp.o.Executed {
		executed = float64(calls)
	}
	return calls, executed
}

package space

import (
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// Reductions that no schedule of the space can vectorise or run on several cores become
// such that can when they are split and factored first (Suriana, Adams and Kamil,
// "Parallel associative reductions in Halide", CGO 2017). Adams et al. leave that to the
// author of the algorithm.

// Numbers of Factoring. A reduction in parallel is not worth waking the cores for where
// it takes fewer iterations than leastParallel; stripsPerCore keeps all of them busy when
// some tasks take longer; vectorsAtOnce vectors hide an addition's latency; partial results
// are little against a reduction of littleShare times as many iterations.
const (
	leastParallel = 1 << 15
	stripsPerCore = 4
	vectorsAtOnce = 4
	littleShare   = 4
)

// Factoring are the structural directives after which associative reductions can be
// scheduled better than they are, none where that goes for no reduction:
//
//   - One that reads memory along a reduction loop, and nothing that moves with one along
//     any other, gets the lanes of a few vectors as a loop of their own, each summing up its
//     share.
//   - One that at root has fewer independent iterations than cores could use gets tasks,
//     as long as what these add up to, all lanes of each, is little against the reduction.
//   - One that adds up tables, one for each iteration of a loop, gets tasks of as many as
//     are counted side by side: these are in a cache when they are added up.
//
// Sums of floats are rounded otherwise then.
func (sp *Space) Factoring() []schedule.Directive {
	var out []schedule.Directive
	for f := range sp.nodes {
		n := &sp.nodes[f]
		if n.given || n.Extern {
			continue
		}
		for s := 1; s < len(n.Stages); s++ {
			if c := (factoring{sp: sp, f: f, s: s}); n.Stages[s].Associative {
				out = append(out, c.directives()...)
			}
		}
	}
	return out
}

// factoring is how one update is factored.
type factoring struct {
	sp   *Space
	f, s int
	out  []schedule.Directive
	kept []string // loops that become Vars
	vars []string // these
}

func (c *factoring) directives() []schedule.Directive {
	lanes, count := c.lanes()
	tasks, chunk := c.tasks()
	switch {
	case lanes < 0 && tasks < 0:
		return nil
	case lanes >= 0 && tasks >= 0:
		if few := c.inStrips(lanes, count, tasks, chunk); few > 0 {
			count = few
		} else {
			tasks = -1
		}
	}
	loops := c.sp.nodes[c.f].Stages[c.s].Loops
	// Lanes come first: the innermost dimension of what is summed up, and of its storage
	// where the Func has none.
	var task, rest string
	if tasks >= 0 {
		task, rest = c.split(loops[tasks].Var, "strip", "line", chunk)
	}
	if lanes >= 0 {
		loop := loops[lanes].Var
		if lanes == tasks {
			loop = rest
		}
		_, lane := c.split(loop, "step", "lane", count)
		c.keep(lane)
	}
	if tasks >= 0 {
		c.keep(task)
	}
	n := &c.sp.nodes[c.f]
	as := n.Name + "_part" + strings.Repeat("s", c.s)
	if slices.ContainsFunc(c.sp.nodes, func(n node) bool { return n.Name == as }) {
		return nil
	}
	return append(c.out, schedule.Directive{Op: schedule.RFactor, Func: n.Name, Stage: c.s, Vars: c.kept, New: c.vars, As: as})
}

// split splits a reduction loop by a factor into two named after it.
func (c *factoring) split(loop, outer, inner string, factor int64) (string, string) {
	base := strings.ReplaceAll(loop, "$", "_") + "_"
	outer, inner = base+outer, base+inner
	c.out = append(c.out, schedule.Directive{Op: schedule.Split, Func: c.sp.nodes[c.f].Name, Stage: c.s,
		Vars: []string{loop}, New: []string{outer, inner}, Ints: []int64{factor}, Word: guard})
	return outer, inner
}

// keep makes a loop a dimension of the new Func.
func (c *factoring) keep(loop string) {
	c.kept, c.vars = append(c.kept, loop), append(c.vars, loop+"_var")
}

// lanes picks the reduction loop to vectorise and into how many lanes, -1 where there is
// none: one that something is read along densely, where nothing that moves with it is along
// any other loop.
func (c *factoring) lanes() (loop int, count int64) {
	n := &c.sp.nodes[c.f]
	st := &n.Stages[c.s]
	if c.sp.writesElsewhere(c.f, c.s) {
		return -1, 0 // each lane would need the whole table
	}
	dense := -1
	for e := range st.Edges {
		for k := range st.Edges[e].Jacobians {
			j := &st.Edges[e].Jacobians[k]
			for i, l := range st.Loops {
				switch one := isDense(j, i); {
				case one && l.RVar:
					dense = i
				case one && reduced(st, j):
					return -1, 0
				}
			}
		}
	}
	if dense < 0 {
		return -1, 0
	}
	extent := c.sp.Extents(c.f, c.s)[dense]
	for count = vectorsAtOnce * int64(n.VectorSize); count >= int64(n.VectorSize); count /= 2 {
		if 2*count <= extent {
			return dense, count
		}
	}
	return -1, 0
}

// inStrips is how many of so many lanes go into each strip of chunk iterations of the loop that
// is cut into tasks: as many as leave each lane two terms at least and little to add up; 0 where
// not even a vector does.
func (c *factoring) inStrips(lanes int, count int64, tasks int, chunk int64) int64 {
	extents := c.sp.Extents(c.f, c.s)
	line, strips := extents[lanes], ceilDiv(extents[tasks], chunk)
	if lanes == tasks {
		line = chunk
	}
	for ; count >= int64(c.sp.nodes[c.f].VectorSize); count /= 2 {
		if 2*count <= line && c.isLittle(strips*count) {
			return count
		}
	}
	return 0
}

// isLittle holds where so many partial results of each point are little against the reduction.
func (c *factoring) isLittle(partial int64) bool {
	return float64(partial)*points(c.sp.root.bounds(c.f).computed()) <= product(c.sp.Extents(c.f, c.s))/littleShare
}

// reduced holds where a load moves with a reduction loop. What does not is the same for all
// lanes of one, as the mean that is taken off everything before it is squared.
func reduced(st *pipeline.Stage, j *pipeline.Jacobian) bool {
	return slices.ContainsFunc(j.Coeffs, func(row []pipeline.Rational) bool { return rowReduced(st, row) })
}

// rowReduced holds where one coordinate of a load does.
func rowReduced(st *pipeline.Stage, row []pipeline.Rational) bool {
	for i, c := range row {
		if st.Loops[i].RVar && c.Moves() {
			return true
		}
	}
	return false
}

// tasks picks the reduction loop to run in parallel and how many iterations of it are a
// task, -1 where there is none: the outermost. A loop over the entries of tables does not
// count as independent iterations: whoever needs one entry has all of a table counted.
func (c *factoring) tasks() (loop int, chunk int64) {
	n := &c.sp.nodes[c.f]
	st := &n.Stages[c.s]
	cores := int64(c.sp.o.Parallelism)
	extents := c.sp.Extents(c.f, c.s)
	loop = -1
	for i, l := range st.Loops {
		if l.RVar {
			loop = i
		}
	}
	if loop < 0 {
		return -1, 0
	}
	tables, entries := c.tables(loop)
	free := int64(1)
	for i, l := range st.Loops {
		if l.Pure && !l.RVar && !entries[i] {
			free *= extents[i]
		}
	}
	wanted := stripsPerCore * cores
	if cores < 2 || free >= wanted*int64(n.VectorSize) || extents[loop] < wanted || product(extents) < leastParallel {
		return -1, 0
	}
	chunk = ceilDiv(extents[loop], wanted)
	if tables > 0 {
		chunk = min(chunk, tables)
	}
	if !c.isLittle(ceilDiv(extents[loop], chunk)) {
		return -1, 0
	}
	return loop, chunk
}

// tables says of a reduction that adds up tables, one for each iteration of a loop, how many
// are counted side by side, and which loops go over their entries; 0 and none of others.
func (c *factoring) tables(loop int) (many int64, entries []bool) {
	st := &c.sp.nodes[c.f].Stages[c.s]
	entries = make([]bool, len(st.Loops))
	for e := range st.Edges {
		from := st.Edges[e].Producer
		within := c.sp.withinTables(from)
		if within == nil {
			continue
		}
		for k := range st.Edges[e].Jacobians {
			j := &st.Edges[e].Jacobians[k]
			if !j.Moves(loop) {
				continue
			}
			many = min(c.sp.Tables(from), TablesAtOnce)
			for d, row := range j.Coeffs {
				for i := range row {
					entries[i] = entries[i] || within[d] && row[i].Moves()
				}
			}
		}
	}
	if many < 2 || entries[loop] { // of none or one, or of one that is added up along itself
		return 0, make([]bool, len(st.Loops))
	}
	return many, entries
}

// keepsStrips holds where a loop that rfactor keeps is the outer part of one: partial results
// are then of strips of it.
func (sp *Space) keepsStrips(d schedule.Directive) bool {
	return slices.ContainsFunc(sp.head.Directives, func(split schedule.Directive) bool {
		return split.Op == schedule.Split && split.Func == d.Func && split.Stage == d.Stage && slices.Contains(d.Vars, split.New[0])
	})
}

// Strips says whether f holds partial results of strips of a reduction, one along its last
// dimension for each: what is factored so (Factoring) is to run in parallel.
func (sp *Space) Strips(f int) bool { return sp.nodes[f].strips }

// writesElsewhere holds where an update writes elsewhere than at its own loops' coordinates.
func (sp *Space) writesElsewhere(f, s int) bool {
	pure := 0
	for _, l := range sp.nodes[f].Stages[s].Loops {
		if l.Pure && !l.RVar {
			pure++
		}
	}
	return pure < sp.nodes[f].dims
}

package feature

import (
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/space"
)

// loads is the scratch of one stage's analysis of what it reads.
type loads struct {
	now, next []access
	rats      []pipeline.Rational // products of Jacobians
	dense     float64
	broadcast float64
	gather    float64
	stride    [5]float64 // by stride, 2 to 4
	all       float64
}

// access is a load of a producer: the derivative of its coordinates by the loops
// of the stage analysed, rows by columns, and how many loads share it.
type access struct {
	producer   int
	count      int64
	rows, cols int
	coeffs     [][]pipeline.Rational // as described
	product    []pipeline.Rational   // or, row by row, as found through inlined Funcs
}

func (a *access) at(row, col int) pipeline.Rational {
	if a.product != nil {
		return a.product[row*a.cols+col]
	}
	return a.coeffs[row][col]
}

// through is the derivative of what a Func inlined reads, outer, after that of the
// loads of the Func, inner.
func (l *loads) through(outer *pipeline.Jacobian, inner *access, producer int) access {
	out := access{producer: producer, count: outer.Count * inner.count, rows: len(outer.Coeffs), cols: inner.cols}
	from := len(l.rats)
	for _, row := range outer.Coeffs {
		for j := range inner.cols {
			sum := pipeline.Rational{Den: 1}
			for k := range row {
				sum = sum.Plus(row[k].Times(inner.at(k, j)))
			}
			l.rats = append(l.rats, sum)
		}
	}
	out.product = l.rats[from:len(l.rats):len(l.rats)]
	return out
}

// follow brings the loads up to date with one edge of the stage whose loads are
// analysed (own), or of a Func inlined into it: the loads of that Func become
// loads of what it reads.
//
// Adams et al.'s code gives all loads of an inlined Func to the first producer of
// its that comes up, and then knows of none for the others. The features are what
// their weights were trained on, so this does the same.
func (l *loads) follow(e *pipeline.Edge, own bool, consumer, cols int) {
	if own {
		for i := range e.Jacobians {
			j := &e.Jacobians[i]
			l.now = append(l.now, access{producer: e.Producer, count: j.Count, rows: len(j.Coeffs), cols: cols, coeffs: j.Coeffs})
		}
		return
	}
	l.next = l.next[:0]
	for i := range l.now {
		a := &l.now[i]
		if a.producer != consumer {
			l.next = append(l.next, *a)
			continue
		}
		for j := range e.Jacobians {
			l.next = append(l.next, l.through(&e.Jacobians[j], a, e.Producer))
		}
	}
	l.now, l.next = l.next, l.now
}

func (l *loads) reset() {
	l.now, l.rats = l.now[:0], l.rats[:0]
	l.dense, l.broadcast, l.gather, l.all = 0, 0, 0, 0
	l.stride = [5]float64{}
}

// classify counts the loads of one producer at the innermost level n by what they
// are for a vector. dim is the producer's innermost dimension, -1 where it is not
// known yet: then whichever suits.
func (x *Extractor) classify(n, parent *space.Nest, st, producer, dim int, known bool) {
	l := &x.loads
	for i := range l.now {
		a := &l.now[i]
		if a.producer != producer {
			continue
		}
		count := float64(a.count) / float64(x.invariant(a, parent, st))
		l.all += count
		kind := 0 // broadcast: also where nothing is vectorised
		if n.VectorLoop >= 0 {
			if known {
				kind = strideAlong(a, n.VectorLoop, dim)
			} else {
				kind = bestStride(a, n.VectorLoop)
			}
		}
		switch kind {
		case 0:
			l.broadcast += count
		case 1:
			l.dense += count
		case 2, 3, 4:
			l.stride[kind] += count
		default:
			l.gather += count
		}
	}
}

const gathered = -1

// strideAlong is by how much a load moves from lane to lane where the producer's
// storage is dense in dimension dim: 0 to 4, or gathered.
func strideAlong(a *access, loop, dim int) int {
	broadcast, rest := true, true
	for i := range a.rows {
		zero := a.at(i, loop).Is(0)
		broadcast = broadcast && zero
		rest = rest && (zero || i == dim)
	}
	if broadcast {
		return 0
	}
	if !rest {
		return gathered
	}
	return smallStride(a.at(dim, loop))
}

// bestStride is strideAlong for the dimension that suits best.
func bestStride(a *access, loop int) int {
	zeros, moving := 0, gathered
	for i := range a.rows {
		r := a.at(i, loop)
		if r.Is(0) {
			zeros++
		} else {
			moving = smallStride(r)
		}
	}
	switch zeros {
	case a.rows:
		return 0
	case a.rows - 1:
		return moving
	}
	return gathered
}

func smallStride(r pipeline.Rational) int {
	for k := 1; k <= 4; k++ {
		if r.Is(int64(k)) {
			return k
		}
	}
	return gathered
}

// invariant is for how many vectors of an unrolled block a load is done once.
func (x *Extractor) invariant(a *access, parent *space.Nest, st int) int64 {
	if x.feats[st][UnrolledLoopExtent] <= 1 {
		return 1
	}
	shared := int64(1)
	for loop := range x.stages[st].Loops {
		if x.stages[st].Loops[loop].RVar {
			continue
		}
		moves := false
		for i := range a.rows {
			moves = moves || !a.at(i, loop).Is(0)
		}
		if !moves {
			shared *= parent.Size[loop]
		}
	}
	return shared
}

package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Decode reads a description and checks it whole, so that what uses a Pipeline
// need not: indices are in range, lengths agree, producers stand after consumers,
// exactly one form of each bound is given. The error names the place.
func Decode(b []byte) (*Pipeline, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var p Pipeline
	if err := dec.Decode(&p); err != nil {
		return nil, fmt.Errorf("pipeline description: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("pipeline description: more than one value")
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("pipeline description: %w", err)
	}
	return &p, nil
}

func (p *Pipeline) validate() error {
	if p.Version != Version {
		return fmt.Errorf("version %d, not %d: made by another protuner", p.Version, Version)
	}
	if _, err := strconv.ParseUint(p.Algorithm, 16, 64); err != nil || len(p.Algorithm) != 16 {
		return fmt.Errorf("algorithm %q is no hash of 16 hex digits", p.Algorithm)
	}
	if len(p.Funcs) == 0 {
		return errors.New("no Funcs")
	}
	if !p.Funcs[0].Output {
		return fmt.Errorf("first Func %s is no output", p.Funcs[0].Name)
	}
	if p.CustomPasses < 0 {
		return errors.New("negative number of custom passes")
	}
	params := map[string]int{}
	for i := range p.Params {
		q := &p.Params[i]
		if err := q.validate(); err != nil {
			return fmt.Errorf("param %s: %w", q.Name, err)
		}
		if _, twice := params[q.Name]; twice {
			return fmt.Errorf("param %s: twice", q.Name)
		}
		params[q.Name] = i
	}
	if err := p.validateNumbering(); err != nil {
		return err
	}
	for i := range p.Funcs {
		f := &p.Funcs[i]
		if f.Param != "" {
			if q, ok := params[f.Param]; !ok || !f.Input || !p.Params[q].Buffer {
				return fmt.Errorf("func %s: reads param %q, which is no input buffer", f.Name, f.Param)
			}
		}
		if err := p.validateFunc(i); err != nil {
			return fmt.Errorf("func %s: %w", f.Name, err)
		}
	}
	for i, r := range p.Readers() {
		f := &p.Funcs[i]
		if len(r) == 0 && !f.Output && f.MustInline == "" {
			return fmt.Errorf("func %s: nothing reads it", f.Name)
		}
		if len(r) != 0 && f.MustInline != "" {
			return fmt.Errorf("func %s: must be inlined, yet has an edge", f.Name)
		}
	}
	return nil
}

// maxIndex bounds the numbers of Pipeline::get_func, and so what Binding allocates.
const maxIndex = 1<<16 - 1

// validateNumbering checks that names and numbers are unique. Numbers may be
// missing: a structural directive can leave a Func without readers.
func (p *Pipeline) validateNumbering() error {
	names := map[string]bool{}
	numbers := map[int]bool{}
	for i := range p.Funcs {
		f := &p.Funcs[i]
		if f.Name == "" || names[f.Name] {
			return fmt.Errorf("func %d: name %q is empty or taken", i, f.Name)
		}
		names[f.Name] = true
		if f.Index < -1 || f.Index > maxIndex || numbers[f.Index] {
			return fmt.Errorf("func %s: index %d is out of range or taken", f.Name, f.Index)
		}
		if f.Index >= 0 {
			numbers[f.Index] = true
		}
	}
	return nil
}

func (q *Param) validate() error {
	switch {
	case q.Name == "" || q.Type == "":
		return errors.New("no name or type")
	case len(q.Mins) != len(q.Extents):
		return fmt.Errorf("%d mins, %d extents", len(q.Mins), len(q.Extents))
	case !q.Buffer && len(q.Mins) != 0:
		return errors.New("a scalar with extents")
	case !q.Buffer && q.Value == "":
		return errors.New("a scalar without a value")
	case q.Buffer && q.Value != "":
		return errors.New("a buffer with a scalar's value")
	}
	for d, e := range q.Extents {
		if e < 1 {
			return fmt.Errorf("dimension %d: extent %d", d, e)
		}
	}
	return nil
}

func (p *Pipeline) validateFunc(i int) error {
	f := &p.Funcs[i]
	dims := len(f.Args)
	switch {
	case len(f.Types) == 0:
		return errors.New("no types")
	case f.BytesPerPoint < 1:
		return fmt.Errorf("%d bytes per point", f.BytesPerPoint)
	case f.VectorSize < 1:
		return fmt.Errorf("vector size %d", f.VectorSize)
	case f.Input && (f.Output || f.MustRoot != "" || f.MustInline != ""):
		return errors.New("an input that is an output or scheduled")
	case f.Input && (len(f.Stages) != 1 || len(f.Stages[0].Edges) != 0):
		return errors.New("an input that is computed from Funcs")
	case f.MustInline != "" && (f.Output || f.MustRoot != "" || len(f.Stages) > 1):
		return errors.New("must be inlined, yet cannot be")
	case f.Output && len(f.Estimate) != dims, !f.Output && len(f.Estimate) != 0:
		return fmt.Errorf("%d estimates for %d dimensions", len(f.Estimate), dims)
	case len(f.Computed) != dims:
		return fmt.Errorf("%d regions computed for %d dimensions", len(f.Computed), dims)
	case len(f.Stages) == 0:
		return errors.New("no stages")
	}
	for _, d := range f.InnermostDims {
		if d < 0 || d >= dims {
			return fmt.Errorf("innermost dimension %d of %d", d, dims)
		}
	}
	for d, s := range f.Estimate {
		if s.Max < s.Min {
			return fmt.Errorf("dimension %d: estimated [%d, %d]", d, s.Min, s.Max)
		}
	}
	for d := range f.Computed {
		if err := f.Computed[d].validate(dims); err != nil {
			return fmt.Errorf("region computed, dimension %d: %w", d, err)
		}
	}
	for s := range f.Stages {
		if err := p.validateStage(i, &f.Stages[s]); err != nil {
			return fmt.Errorf("stage %d: %w", s, err)
		}
	}
	return nil
}

// formula checks that e, if it is there, refers to no span beyond n.
func formula(e *Expr, n int) error {
	switch {
	case e == nil:
		return nil
	case e.text == "":
		return errors.New("an empty formula")
	case e.ends > n:
		return fmt.Errorf("formula %s refers to a span beyond %d", e, n)
	}
	return nil
}

// oneForm checks that exactly one of the given forms is set, Min and Max together.
func oneForm(lo, hi *Expr, spans int, others ...bool) error {
	n := 0
	for _, o := range others {
		if o {
			n++
		}
	}
	if (lo == nil) != (hi == nil) {
		return errors.New("one end without the other")
	}
	if lo != nil {
		n++
	}
	if n != 1 {
		return fmt.Errorf("%d forms instead of one", n)
	}
	if err := formula(lo, spans); err != nil {
		return err
	}
	return formula(hi, spans)
}

func (c *Computed) validate(dims int) error {
	return oneForm(c.Min, c.Max, dims, c.EqualsRequired, c.Union != nil)
}

func (p *Pipeline) validateStage(i int, s *Stage) error {
	f := &p.Funcs[i]
	if n := s.SummedAtOnce; n != 0 && (!s.Associative || n != 2 && n != 4) {
		return fmt.Errorf("%d summed at once", n)
	}
	if s.VectorSize < 1 {
		return fmt.Errorf("vector size %d", s.VectorSize)
	}
	if len(s.Features) != NumFeatures {
		return fmt.Errorf("%d features, not %d", len(s.Features), NumFeatures)
	}
	for n, v := range s.Features {
		if v < 0 {
			return fmt.Errorf("feature %d is %d", n, v)
		}
	}
	vars := map[string]bool{}
	for n := range s.Loops {
		l := &s.Loops[n]
		if l.Var == "" || vars[l.Var] {
			return fmt.Errorf("loop %d: name %q is empty or taken", n, l.Var)
		}
		vars[l.Var] = true
		if err := l.validate(len(f.Args)); err != nil {
			return fmt.Errorf("loop %s: %w", l.Var, err)
		}
	}
	producers := map[int]bool{}
	for n := range s.Edges {
		e := &s.Edges[n]
		if e.Producer <= i || e.Producer >= len(p.Funcs) || producers[e.Producer] {
			return fmt.Errorf("edge %d: producer %d stands before its consumer, is not there, or comes twice", n, e.Producer)
		}
		producers[e.Producer] = true
		if err := e.validate(len(p.Funcs[e.Producer].Args), len(s.Loops)); err != nil {
			return fmt.Errorf("edge to %s: %w", p.Funcs[e.Producer].Name, err)
		}
	}
	return nil
}

func (l *Loop) validate(dims int) error {
	if l.PureDim < -1 || l.PureDim >= dims || l.ComputedDim < -1 || l.ComputedDim >= dims {
		return fmt.Errorf("dimension %d or %d of %d", l.PureDim, l.ComputedDim, dims)
	}
	if l.Along != nil && (!l.RVar || *l.Along < 0 || *l.Along >= dims) {
		return fmt.Errorf("writes along dimension %d of %d", *l.Along, dims)
	}
	if l.Stride != 0 && (l.Along == nil || l.Stride < 2) {
		return fmt.Errorf("writes %d points apart", l.Stride)
	}
	if l.Apart != 0 && (l.Along == nil || l.Apart < 2) {
		return fmt.Errorf("iterations that meet are %d apart", l.Apart)
	}
	if l.Const != nil && l.Const[1] < l.Const[0] {
		return fmt.Errorf("runs from %d to %d", l.Const[0], l.Const[1])
	}
	return oneForm(l.Min, l.Max, dims, l.ComputedDim >= 0, l.Const != nil)
}

func (e *Edge) validate(dims, loops int) error {
	if e.Calls < 0 {
		return fmt.Errorf("%d calls", e.Calls)
	}
	if !(e.Points >= 0 && e.Points <= float64(e.Calls)) {
		return fmt.Errorf("%g of %d calls", e.Points, e.Calls)
	}
	if len(e.Bounds) != dims {
		return fmt.Errorf("%d bounds for %d dimensions", len(e.Bounds), dims)
	}
	for d := range e.Bounds {
		for _, b := range []*Bound{&e.Bounds[d].Min, &e.Bounds[d].Max} {
			if err := b.validate(loops); err != nil {
				return fmt.Errorf("dimension %d: %w", d, err)
			}
		}
	}
	for n := range e.Jacobians {
		if err := e.Jacobians[n].validate(dims, loops); err != nil {
			return fmt.Errorf("jacobian %d: %w", n, err)
		}
	}
	return nil
}

func (b *Bound) validate(loops int) error {
	if b.Expr != nil {
		if b.Coeff != 0 || b.Const != 0 || b.Dim != 0 || b.UsesMax {
			return errors.New("both a formula and affine")
		}
		return formula(b.Expr, loops)
	}
	if b.Coeff == 0 && (b.Dim != 0 || b.UsesMax) {
		return errors.New("a constant that follows a loop")
	}
	if b.Coeff != 0 && (b.Dim < 0 || b.Dim >= loops) {
		return fmt.Errorf("follows loop %d of %d", b.Dim, loops)
	}
	return nil
}

func (j *Jacobian) validate(dims, loops int) error {
	if j.LookedUp < 0 || j.Shifted < 0 || j.LookedUp+j.Shifted > j.Count {
		return fmt.Errorf("of %d loads %d are looked up and %d shifted", j.Count, j.LookedUp, j.Shifted)
	}
	if j.Count < 1 {
		return fmt.Errorf("count %d", j.Count)
	}
	if len(j.Coeffs) != dims {
		return fmt.Errorf("%d rows for %d dimensions", len(j.Coeffs), dims)
	}
	for _, row := range j.Coeffs {
		if len(row) != loops {
			return fmt.Errorf("%d columns for %d loops", len(row), loops)
		}
	}
	if len(j.Offsets) != 0 && int64(len(j.Offsets)) != j.Count {
		return fmt.Errorf("%d offsets for %d loads", len(j.Offsets), j.Count)
	}
	for _, o := range j.Offsets {
		if o != nil && len(o) != dims {
			return fmt.Errorf("an offset of %d dimensions, not %d", len(o), dims)
		}
	}
	return nil
}

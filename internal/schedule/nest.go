package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Outermost is Halide's name for the loop of one iteration around every stage's
// nest: a level, never a loop that can be scheduled.
const Outermost = "__outermost"

// LoopKind says how a loop runs.
type LoopKind uint8

// The kinds of loops. The zero LoopKind is invalid.
const (
	SerialLoop LoopKind = iota + 1
	ParallelLoop
	VectorizedLoop
	UnrolledLoop
)

func (k LoopKind) String() string {
	switch k {
	case SerialLoop:
		return "serial"
	case ParallelLoop:
		return "parallel"
	case VectorizedLoop:
		return "vectorized"
	case UnrolledLoop:
		return "unrolled"
	}
	return "invalid"
}

// LoopState is one loop of a scheduled stage.
type LoopState struct {
	Name      string
	Kind      LoopKind
	Reduction bool // made from a reduction variable (Halide's RVar)
}

// Nest gives the loops of one stage of fn, innermost first, after every
// directive of s: stage 0 is the pure definition, k its update k-1. fn may be a
// Func that s makes. It is an error where any directive of s, of this stage or
// another, names a Func, a stage, a loop or a dimension that is not there.
//
// Loops keep the short names that directives give them; Halide's own spell out
// where they came from ("x.xi").
func (s Schedule) Nest(b Binding, fn string, stage int) ([]LoopState, error) {
	n, err := s.nests(b)
	if err != nil {
		return nil, err
	}
	loops, err := n.stage(fn, stage)
	if err != nil {
		return nil, err
	}
	return slices.Clone(loops), nil
}

// Check validates s and ties every name in it to b: the error of Nest alone.
func (s Schedule) Check(b Binding) error {
	_, err := s.nests(b)
	return err
}

func (s Schedule) nests(b Binding) (*nests, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	n := newNests(b)
	for i, d := range s.Directives {
		if err := n.apply(d); err != nil {
			return nil, fmt.Errorf("directive %d, %s: %w", i+1, d, err)
		}
	}
	for i, d := range s.Directives {
		if d.At == nil {
			continue
		}
		if _, err := n.level(*d.At); err != nil {
			return nil, fmt.Errorf("directive %d, %s: %w", i+1, d, err)
		}
	}
	return n, nil
}

// nests plays directives on the loops of every stage. It is the one thing here
// that changes as it goes, and no caller outside sees it.
type nests struct {
	funcs map[string]*funcNest
}

type funcNest struct {
	dims   []string
	stages [][]LoopState
}

func newNests(b Binding) *nests {
	n := &nests{funcs: map[string]*funcNest{}}
	for _, f := range b.Funcs {
		fn := &funcNest{dims: f.Dims}
		for k, loops := range f.Stages {
			fn.stages = append(fn.stages, initialLoops(f.Dims, k, loops))
		}
		n.funcs[f.Name] = fn
	}
	return n
}

func initialLoops(dims []string, stage int, loops []string) []LoopState {
	out := make([]LoopState, len(loops))
	for i, l := range loops {
		out[i] = LoopState{Name: l, Kind: SerialLoop, Reduction: stage > 0 && !slices.Contains(dims, l)}
	}
	return out
}

func (n *nests) fn(name string) (*funcNest, error) {
	if f, ok := n.funcs[name]; ok {
		return f, nil
	}
	return nil, fmt.Errorf("no Func %s in this pipeline", name)
}

func (n *nests) stage(name string, stage int) ([]LoopState, error) {
	f, err := n.fn(name)
	if err != nil {
		return nil, err
	}
	if stage < 0 || stage >= len(f.stages) {
		return nil, fmt.Errorf("the Func %s has no stage %d, it has %d", name, stage, len(f.stages))
	}
	return f.stages[stage], nil
}

// level finds the loop a level means; the first stage that has it where the
// level leaves the stage open.
func (n *nests) level(at Level) (LoopState, error) {
	f, err := n.fn(at.Func)
	if err != nil {
		return LoopState{}, err
	}
	if at.Loop == Outermost {
		return LoopState{Name: Outermost, Kind: SerialLoop}, nil
	}
	from, to := 0, len(f.stages)
	if at.Stage != AnyStage {
		if _, err := n.stage(at.Func, at.Stage); err != nil {
			return LoopState{}, err
		}
		from, to = at.Stage, at.Stage+1
	}
	for _, loops := range f.stages[from:to] {
		if i := findLoop(loops, at.Loop); i >= 0 {
			return loops[i], nil
		}
	}
	return LoopState{}, fmt.Errorf("the Func %s has no loop %s", at.Func, at.Loop)
}

// findLoop gives the index of the loop a name means, -1 where there is none. As
// in Halide a name also means a loop whose full name it ends, after a dot.
func findLoop(loops []LoopState, name string) int {
	return slices.IndexFunc(loops, func(l LoopState) bool {
		return l.Name == name || strings.HasSuffix(l.Name, "."+name)
	})
}

// apply plays one valid directive. Levels are left for the end, since Halide
// reads them only when it lowers and a later directive may make their loop.
func (n *nests) apply(d Directive) error {
	f, err := n.fn(d.Func)
	if err != nil {
		return err
	}
	loops, err := n.stage(d.Func, d.Stage)
	if err != nil {
		return err
	}
	for _, name := range d.Funcs {
		if _, err := n.fn(name); err != nil {
			return err
		}
	}
	if d.As != "" && n.funcs[d.As] != nil {
		return fmt.Errorf("the pipeline has a Func %s already", d.As)
	}
	for _, a := range signatures[d.Op].slots {
		if a.kind != dimSlot && a.kind != dimsSlot && a.kind != boxSlot {
			continue
		}
		for _, v := range d.Vars {
			if !slices.Contains(f.dims, v) {
				return fmt.Errorf("the Func %s has no dimension %s", d.Func, v)
			}
		}
	}
	switch d.Op {
	case In:
		n.funcs[d.As] = &funcNest{dims: f.dims, stages: [][]LoopState{initialLoops(f.dims, 0, f.dims)}}
		return nil
	case CloneIn:
		c := &funcNest{dims: f.dims}
		for _, s := range f.stages {
			c.stages = append(c.stages, slices.Clone(s))
		}
		n.funcs[d.As] = c
		return nil
	case RFactor:
		return n.rfactor(d, f, loops)
	}
	loops, err = playLoops(d, slices.Clone(loops))
	if err != nil {
		return err
	}
	f.stages[d.Stage] = loops
	return nil
}

// playLoops plays a directive on the loops of its own stage.
func playLoops(d Directive, loops []LoopState) ([]LoopState, error) {
	at := make([]int, 0, len(d.Vars))
	for _, a := range signatures[d.Op].slots {
		if a.kind != loopSlot && a.kind != loopsSlot {
			continue
		}
		for len(at) < len(d.Vars) {
			v := d.Vars[len(at)]
			i := findLoop(loops, v)
			if i < 0 {
				return nil, fmt.Errorf("no loop %s, there are %s", v, loopNames(loops))
			}
			at = append(at, i)
		}
	}
	for _, v := range d.New {
		if i := findLoop(loops, v); i >= 0 && !slices.Contains(at, i) || v == Outermost {
			return nil, fmt.Errorf("there is a loop %s already", v)
		}
	}
	switch d.Op {
	case Split:
		outer, inner := loops[at[0]], loops[at[0]]
		outer.Name, inner.Name = d.New[0], d.New[1]
		loops[at[0]] = outer
		loops = slices.Insert(loops, at[0], inner)
	case Fuse:
		inner, outer := loops[at[0]], loops[at[1]]
		loops[at[0]] = LoopState{Name: d.New[0], Kind: inner.Kind, Reduction: inner.Reduction || outer.Reduction}
		loops = slices.Delete(loops, at[1], at[1]+1)
	case Reorder:
		places := slices.Clone(at)
		slices.Sort(places)
		before := slices.Clone(loops)
		for i, p := range places {
			loops[p] = before[at[i]]
		}
	case Rename:
		loops[at[0]].Name = d.New[0]
	case Serial:
		loops[at[0]].Kind = SerialLoop
	case Parallel:
		loops[at[0]].Kind = ParallelLoop
	case Vectorize:
		loops[at[0]].Kind = VectorizedLoop
	case Unroll:
		loops[at[0]].Kind = UnrolledLoop
	}
	return loops, nil
}

func loopNames(loops []LoopState) string {
	if len(loops) == 0 {
		return "none"
	}
	names := make([]string, len(loops))
	for i, l := range loops {
		names[i] = l.Name
	}
	return strings.Join(names, " ")
}

// rfactor makes the intermediate Func: the dimensions of f and one for each
// reduction loop that becomes pure, in the order of the loops, as Halide 21 does
// (19 keeps the order given). What is left in the stage of f reduces over those
// loops alone.
func (n *nests) rfactor(d Directive, f *funcNest, loops []LoopState) error {
	pure := map[int]string{}
	for i, v := range d.Vars {
		l := findLoop(loops, v)
		if l < 0 || !loops[l].Reduction {
			return fmt.Errorf("no reduction loop %s, there are %s", v, loopNames(loops))
		}
		pure[l] = d.New[i]
	}
	for _, u := range d.New {
		if slices.Contains(f.dims, u) || findLoop(loops, u) >= 0 {
			return errors.New("the new Var " + u + " is in use in " + d.Func)
		}
	}
	made := &funcNest{dims: slices.Clone(f.dims)}
	var inner, rest []LoopState
	for i, l := range loops {
		u, becomesPure := pure[i]
		if becomesPure {
			made.dims = append(made.dims, u)
			inner = append(inner, LoopState{Name: u, Kind: SerialLoop})
		} else {
			inner = append(inner, l)
		}
		if becomesPure || !l.Reduction {
			rest = append(rest, l)
		}
	}
	for _, v := range f.dims {
		if findLoop(rest, v) < 0 && findLoop(loops, v) < 0 {
			rest = append(rest, LoopState{Name: v, Kind: SerialLoop})
		}
	}
	made.stages = [][]LoopState{initialLoops(made.dims, 0, made.dims), inner}
	n.funcs[d.As] = made
	f.stages[d.Stage] = rest
	return nil
}

package pipeline

import (
	"fmt"
	"strings"

	"github.com/protuner/protuner/internal/schedule"
)

// Binding ties schedule files to the pipeline: its Funcs as Pipeline::get_func
// numbers them, with the loops that the algorithm leaves. Funcs that a structural
// directive made have no number and are not in it; the entry of one that
// structural directives left without readers has no name.
func (p *Pipeline) Binding() schedule.Binding {
	n := 0
	for i := range p.Funcs {
		n = max(n, p.Funcs[i].Index+1)
	}
	b := schedule.Binding{Funcs: make([]schedule.FuncBinding, n)}
	for i := range p.Funcs {
		if f := &p.Funcs[i]; f.Index >= 0 {
			b.Funcs[f.Index] = f.Binding()
		}
	}
	return b
}

// Binding is the Func's own part of one, whatever its number.
func (f *Func) Binding() schedule.FuncBinding {
	b := schedule.FuncBinding{Name: f.Name, Dims: f.Args, Stages: make([][]string, len(f.Stages))}
	for s := range f.Stages {
		loops := make([]string, len(f.Stages[s].Loops))
		for l := range loops {
			loops[l] = f.Stages[s].Loops[l].Var
		}
		b.Stages[s] = loops
	}
	return b
}

// StructureSchedule is the structural directives that p was described after.
func (p *Pipeline) StructureSchedule() (schedule.Schedule, error) {
	s, err := schedule.Parse(strings.Join(p.Structure, "\n"))
	if err != nil {
		return s, fmt.Errorf("structure of %s: %w", p.Generator, err)
	}
	return s, nil
}

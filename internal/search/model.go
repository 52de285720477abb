package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// rerunSuffix on a name runs that search again and again with new seeds.
const rerunSuffix = "_reruns"

// Extensions are configurations beyond the paper, by name: "protuner", which is what
// tuning uses, and the paper's default with one option each, for ablations.
// docs/search.md says what each brings.
func Extensions() map[string]MCTSOptions {
	with := func(change func(*MCTSOptions)) MCTSOptions {
		o := MCTSDefaults()
		change(&o)
		return o
	}
	return map[string]MCTSOptions{
		"protuner":       with(func(o *MCTSOptions) { o.Vary, o.Lead = 0.9, 0.5 }),
		"mcts_lazy":      with(func(o *MCTSOptions) { o.Lazy = true }),
		"mcts_transpose": with(func(o *MCTSOptions) { o.Transpose = true }),
		"mcts_keep":      with(func(o *MCTSOptions) { o.KeepSubtree = true }),
		"mcts_widen":     with(func(o *MCTSOptions) { o.Widen = 2 }),
		"mcts_rave":      with(func(o *MCTSOptions) { o.Share = 100 }),
		"mcts_siblings":  with(func(o *MCTSOptions) { o.Share, o.ShareDepth = 100, 2 }),
		"mcts_spread":    with(func(o *MCTSOptions) { o.Formula = Spread }),
		"mcts_shrink":    with(func(o *MCTSOptions) { o.Shrink = 0.8 }),
		"mcts_batch":     with(func(o *MCTSOptions) { o.Standard, o.Greedy, o.Batch = 1, 1, 8 }),
		"mcts_prior":     with(func(o *MCTSOptions) { o.Prior = 1 }),
		"mcts_vary":      with(func(o *MCTSOptions) { o.Vary = 0.5 }),
		"mcts_lead":      with(func(o *MCTSOptions) { o.Lead = 0.5 }),
		"mcts_front":     with(func(o *MCTSOptions) { o.Front = 3 }),
	}
}

func configurations() map[string]MCTSOptions {
	all := Presets()
	maps.Copy(all, Extensions())
	return all
}

// ModelNames lists the searches that NewModel knows. Each may be followed by
// "_reruns".
func ModelNames() []string {
	return append(slices.Sorted(maps.Keys(configurations())), "anneal", "beam", "draws", "greedy")
}

// NewModel makes the search guided by a model of that name, with its defaults:
//
//	greedy    a beam of 1
//	beam      of 32 with five passes, as Halide's Adams2019
//	draws     complete schedules drawn at random
//	anneal    simulated annealing
//	protuner  the best of the ensembles here
//	mcts...   the others: ProTuner's own (Presets) and more (Extensions)
//
// A change, unless nil, is made to the options of the ensembles, and refused for
// others.
func NewModel(name string, change func(*MCTSOptions)) (Searcher, error) {
	if inner, ok := strings.CutSuffix(name, rerunSuffix); ok {
		s, err := NewModel(inner, change)
		if err != nil {
			return nil, err
		}
		r := Rerun{Inner: s}
		switch s := s.(type) {
		case *Beam:
			if s.o.Dropout == 100 {
				s.o.Dropout = 50
			}
		case *MCTS:
			if s.o.RootTime == 0 {
				r.Part = 0.1
			}
		default:
			r.Part = 0.1
		}
		return r, nil
	}
	if o, ok := configurations()[name]; ok {
		if change != nil {
			change(&o)
		}
		if err := o.Validate(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return NewMCTS(o), nil
	}
	if change != nil {
		return nil, fmt.Errorf("search: %s has no options of a tree search to change", name)
	}
	switch name {
	case "greedy":
		return NewBeam(Greedy()), nil
	case "beam":
		return NewBeam(BeamDefaults()), nil
	case "draws":
		return Draws{}, nil
	case "anneal":
		return NewAnneal(AnnealDefaults()), nil
	}
	return nil, fmt.Errorf("search: there is no search %q guided by a model: choose one of %s", name, strings.Join(ModelNames(), ", "))
}

// Candidates are the solutions as candidates to measure, in their order.
func Candidates(found []Solution, origin string) []Candidate {
	var out []Candidate
	for _, x := range found {
		out = append(out, newCandidate(x.Node.(*StateNode).State(), origin))
	}
	return out
}

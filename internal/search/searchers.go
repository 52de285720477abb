package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// rerunSuffix on a name runs that search again and again with new seeds.
const rerunSuffix = "_reruns"

// Addition is an option beyond the paper: On turns it on in a configuration, Off off.
type Addition struct {
	Name    string
	On, Off func(*MCTSOptions)
}

// Additions lists all of them, in the order of docs/search.md.
func Additions() []Addition {
	type o = MCTSOptions
	return []Addition{
		{"vary", func(o *o) { o.Vary = 0.9 }, func(o *o) { o.Vary = 0 }},
		{"lazy", func(o *o) { o.Lazy = true }, func(o *o) { o.Lazy = false }},
		{"transpose", func(o *o) { o.Transpose = true }, func(o *o) { o.Transpose = false }},
		{"keep", func(o *o) { o.KeepSubtree = true }, func(o *o) { o.KeepSubtree = false }},
		{"widen", func(o *o) { o.Widen = 2 }, func(o *o) { o.Widen = 0 }},
		{"rave", func(o *o) { o.Share, o.ShareDepth = 100, -1 }, func(o *o) { o.Share, o.ShareDepth = 0, -1 }},
		{"siblings", func(o *o) { o.Share, o.ShareDepth = 100, 2 }, func(o *o) { o.Share, o.ShareDepth = 0, -1 }},
		{"spread", func(o *o) { o.Formula = Spread }, func(o *o) { o.Formula = Product }},
		{"shrink", func(o *o) { o.Shrink = 0.8 }, func(o *o) { o.Shrink = 1 }},
		{"batch", func(o *o) { o.Batch = 8 }, func(o *o) { o.Batch = 1 }},
		{"prior", func(o *o) { o.Prior = 1 }, func(o *o) { o.Prior = 0 }},
		{"heat", func(o *o) { o.Heat = 0.1 }, func(o *o) { o.Heat = 0 }},
		{"cross", func(o *o) { o.Cross = 0.5 }, func(o *o) { o.Cross = 0 }},
		{"stay", func(o *o) { o.Stay = 5 }, func(o *o) { o.Stay = 0 }},
		{"lead", func(o *o) { o.Lead = 0.5 }, func(o *o) { o.Lead = 0 }},
		{"anneal", func(o *o) { o.Anneal = 0.5 }, func(o *o) { o.Anneal = 0 }},
		{"settle", func(o *o) { o.Settle = 50 }, func(o *o) { o.Settle = 0 }},
		{"front", func(o *o) { o.Front = 3 }, func(o *o) { o.Front = 1 }},
	}
}

// Extensions are configurations beyond the paper, by name: "protuner", which is what
// tuning uses, "protuner_deep", whose trees search the first roots longer and cross what
// they find, for cheaper predictions on large pipelines, and "mcts_" with the name of an
// addition, which is the paper's default with that on. "mcts_heat", "mcts_cross",
// "mcts_stay" and "mcts_anneal" also vary; "mcts_batch" is an ensemble of two trees, of
// which each keeps all workers busy. docs/search.md says what each brings.
func Extensions() map[string]MCTSOptions {
	all := map[string]MCTSOptions{}
	for _, a := range Additions() {
		o := MCTSDefaults()
		a.On(&o)
		all["mcts_"+a.Name] = o
	}
	for _, name := range []string{"mcts_heat", "mcts_cross", "mcts_stay", "mcts_anneal"} {
		o := all[name]
		o.Vary = 0.9
		all[name] = o
	}
	batch := all["mcts_batch"]
	batch.Standard, batch.Greedy = 1, 1
	all["mcts_batch"] = batch
	best := MCTSDefaults()
	best.Vary, best.Heat, best.Lead, best.Front = 0.9, 0.1, 0.5, 3
	all["protuner"] = best
	best.Lead, best.Anneal, best.Cross, best.Stay, best.FrontLeast = 0.1, 0.6, 0.5, 5, 0.1
	all["protuner_deep"] = best
	return all
}

func configurations() map[string]MCTSOptions {
	all := Presets()
	maps.Copy(all, Extensions())
	return all
}

// SearcherNames lists the searches that NewSearcher knows. Each may be followed by
// "_reruns", but for those that measure.
func SearcherNames() []string {
	return append(slices.Sorted(maps.Keys(configurations())), "anneal", "beam", "draws", "greedy")
}

// IsSearcher says whether NewSearcher knows a name.
func IsSearcher(name string) bool {
	return slices.Contains(SearcherNames(), strings.TrimSuffix(name, rerunSuffix)) && !(Reruns(name) && Measures(name))
}

// Reruns says whether the search of that name is run again and again.
func Reruns(name string) bool { return strings.HasSuffix(name, rerunSuffix) }

// Measures says whether the search of that name times schedules inside its trees: its
// options then need a Choose.
func Measures(name string) bool { return Presets()[strings.TrimSuffix(name, rerunSuffix)].NeedsChoose }

// RootTime is how long the search of that name, or each of its runs, stays at a root; 0
// where that depends on the budget.
func RootTime(name string) time.Duration {
	return Presets()[strings.TrimSuffix(name, rerunSuffix)].RootTime
}

// TreeOptions are the defaults of the tree search of that name, or of each of its runs;
// false where the name is that of none.
func TreeOptions(name string) (o MCTSOptions, tree bool) {
	if !IsSearcher(name) {
		return o, false
	}
	o, tree = configurations()[strings.TrimSuffix(name, rerunSuffix)]
	return o, tree
}

// NewSearcher makes the search guided by a model of that name, with its defaults:
//
//	greedy    a beam of 1
//	beam      of 32 with five passes, as Halide's Adams2019
//	draws     complete schedules drawn at random
//	anneal    simulated annealing
//	protuner  the ensemble that tuning begins with; protuner_deep predicts cheaper
//	mcts...   the others: ProTuner's own (Presets) and more (Extensions)
//
// A change, unless nil, is made to the options of the ensembles, and refused for
// others.
func NewSearcher(name string, change func(*MCTSOptions)) (Searcher, error) {
	if inner, ok := strings.CutSuffix(name, rerunSuffix); ok && !Reruns(inner) {
		if Measures(inner) {
			return nil, fmt.Errorf("search: %s ends with what measuring picked, and runs are compared by the model's costs; leave out %s", inner, rerunSuffix)
		}
		s, err := NewSearcher(inner, change)
		if err != nil {
			return nil, err
		}
		r := Rerun{Inner: s}
		switch s := s.(type) {
		case *Beam:
			if s.o.Dropout == 100 {
				r.First = NewBeam(s.o)
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
	return nil, fmt.Errorf("search: there is no search %q guided by a model: choose one of %s", name, strings.Join(SearcherNames(), ", "))
}

// Candidates are the solutions as candidates to measure, in their order.
func Candidates(found []Solution, origin string) []Candidate {
	var out []Candidate
	for _, x := range found {
		out = append(out, NewCandidate(x.Node.(*StateNode).State(), origin))
	}
	return out
}

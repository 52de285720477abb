package tune

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/search"
)

// byKey costs nodes by what they are, without weights.
type byKey struct{}

func (byKey) Evaluate(_ context.Context, dst []float64, batch []search.Node) error {
	for i, n := range batch {
		dst[i] = float64(n.Key(search.Exact)%1000 + 1)
	}
	return nil
}

// Every search that tuning takes can be made, and of those that do not measure none spends
// all of its budget at the first root.
func TestAskingMovesTheRoot(t *testing.T) {
	sp, _ := solutions(t, 1)
	choose := func(context.Context, []search.Solution) (int, error) { return 0, nil }
	for _, name := range search.SearcherNames() {
		if _, err := searcherOf(name, choose); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"mcts_30s", "mcts_0.5s", "mcts_Cp10_30s", "mcts_sqrt2_30s"} {
		s, err := searcherOf(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		const budget = 600
		r, err := s.Search(t.Context(), search.Problem{Root: search.Start(sp), Evaluator: byKey{}}, search.Budget{Evaluations: budget}, 1)
		if err != nil || !r.Node.Complete() {
			t.Fatalf("%s: %v", name, err)
		}
		// Of what is left each of the many decisions to come gets an equal part.
		if len(r.Roots) == 0 || r.Roots[0].Evaluations > budget/2 {
			t.Errorf("%s: %d roots, of which the first took %v", name, len(r.Roots), r.Roots[:min(1, len(r.Roots))])
		}
	}
	o := valid()
	if o.Search = "mcts_cost+real_1s_reruns"; o.Validate() == nil {
		t.Error("what measures is run again and again")
	}
}

// Where no weights are installed the default search measures from the start; whoever asked for
// the model, or named weights, is told.
func TestDoingWithoutWeights(t *testing.T) {
	_, none := ReadWeights(&bridge.Halide{}, "")
	_, missing := ReadWeights(&bridge.Halide{}, filepath.Join(t.TempDir(), "my.weights"))
	if none == nil || missing == nil {
		t.Fatalf("weights that are not there were read: %v, %v", none, missing)
	}
	for name, c := range map[string]struct {
		set  func(*Options)
		err  error
		want bool
	}{
		"by default":                  {func(*Options) {}, none, true},
		"by default, while searching": {func(*Options) {}, &UsageError{none}, true},
		"a beam":                      {func(o *Options) { o.Search = "beam" }, none, false},
		"unmeasured":                  {func(o *Options) { o.Unmeasured = true }, none, false},
		"a named file":                {func(*Options) {}, missing, false},
		"with weights":                {func(*Options) {}, nil, false},
	} {
		u := &tuner{o: valid()}
		c.set(&u.o)
		if got := u.doWithout(c.err); got != c.want {
			t.Errorf("%s: %v is done without: %t", name, c.err, got)
		}
	}
}

package bench

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/bridge/bridgetest"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// What several searches ended with is tried from the cheapest on, then what else they
// found, each schedule once; one that was not done in time has nothing to offer.
func TestFoundTogether(t *testing.T) {
	sp := spacetest.New(t, pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	rng := rand.New(rand.NewSource(1))
	solution := func(cost float64) search.Solution {
		return search.Solution{Node: search.NewStateNode(sp.Start()).SampleDown(rng), Cost: cost}
	}
	a, b, c, d := solution(1), solution(2), solution(3), solution(4)
	of := func(fallback bool, end search.Solution, top ...search.Solution) search.Result {
		return search.Result{Solution: end, Top: top, Fallback: fallback}
	}
	found, late := together([]search.Result{of(false, c, b, c), of(true, solution(0)), of(false, a, a, b), of(false, a, a, d)})
	var costs []float64
	for _, x := range found {
		costs = append(costs, x.Cost)
	}
	if late != 1 || !slices.Equal(costs, []float64{1, 1, 3, 1, 1, 2, 2, 3, 4}) {
		t.Errorf("%d late, costs %v", late, costs)
	}
	hash := func(x search.Solution) uint64 { return x.Node.(*search.StateNode).State().Schedule().Hash() }
	var hashes []uint64
	for _, s := range different(found, 3) {
		hashes = append(hashes, s.Hash())
	}
	if !slices.Equal(hashes, []uint64{hash(a), hash(c), hash(b)}) {
		t.Errorf("tried %x of %x, %x, %x, %x", hashes, hash(a), hash(b), hash(c), hash(d))
	}
}

// A search whose roots have their time needs no other, unless it is run again and again; what
// ends by itself ends at the peers' limit, and all else has the budget.
func TestBudgetsOfPlans(t *testing.T) {
	j := &job{o: valid(), budget: time.Minute, limits: bridge.Limits{Time: time.Hour}}
	for name, want := range map[string]time.Duration{
		"mcts_30s": 0, "mcts_cost+real_1s": 0, "mcts_30s_reruns": time.Minute, "mcts_0.5s_reruns": time.Minute,
		"mcts": time.Minute, "mcts_reruns": time.Minute, "beam": time.Hour, "greedy": time.Hour, "beam_reruns": time.Minute,
	} {
		p, err := planned(name)
		if got := p.budget(j); err != nil || got != (search.Budget{Time: want}) {
			t.Errorf("%s: %+v, %v, not %v", name, got, err, want)
		}
	}
	for _, name := range []string{"protuner:mcts_cost+real_1s_reruns", "protuner:measured:mcts_cost+real_1s_reruns"} {
		if _, err := parseMethod(name); err == nil {
			t.Errorf("%q is a method, though it picks by measuring", name)
		}
	}
}

// A search that times at its roots ends with its fork server, as a fault of the machine: what the
// model alone decided is not to stand for it.
func TestSearchesEndWithTheirServer(t *testing.T) {
	hello := fmt.Sprintf(`{"type":"hello","protocol":%d}`, bridge.Protocol)
	g := stub(t, fmt.Sprintf(`[ "$1" = -r ] || printf '\%03o\000\000\000%s' >&4`, len(hello), hello))
	// Nothing that is compiled here is ever run.
	g.Toolchain.Cache, g.Toolchain.Compiler, g.Toolchain.Linker = bridge.Cache{Dir: t.TempDir()}, "true", "ld"
	server, err := g.Serve(t.Context(), bridge.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	bridgetest.Settled(t, func() bool { return server.Ended() != nil }, func() string { return "the server lives on" })

	sp := spacetest.New(t, pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	found := search.Solution{Node: search.NewStateNode(sp.Start()).SampleDown(rand.New(rand.NewSource(1)))}
	s := &stage{server: server, ref: &bridge.Reference{}, protocol: measure.DefaultProtocol(), threads: 1}
	if _, err = s.timer().Choose(t.Context(), []search.Solution{found}); err == nil {
		t.Fatal("a root was decided")
	}
	if status, message := failure(err); status != measure.InfraFailed || !strings.Contains(message, "fork server ended") {
		t.Errorf("%s: %s", status, message)
	}
}

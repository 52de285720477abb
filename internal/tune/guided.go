package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/nn"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
)

// A search guided by the model takes a sixth of the budget, half a minute at most,
// before anything is measured; what it found, of each kind the best, is measured among
// the first. One that measures by itself (ProTuner's cost+real) may take all of it.
const (
	modelShare = 6
	modelMost  = 30 * time.Second
	modelKeep  = 24 // schedules handed to measuring
	modelDepth = 2  // of the structural hash by which they differ
)

// errNoWeights says that no weights are installed and none were named.
var errNoWeights = errors.New("no Adams2019 plugin to take the model's weights from; name a .weights file with --weights")

// ReadWeights reads the model's weights: a .weights file, or where none is named those
// inside the installed Adams2019 plugin.
func ReadWeights(h *bridge.Halide, path string) (*nn.Weights, error) {
	if path == "" {
		if path = h.Plugins[adams2019]; path == "" {
			return nil, fmt.Errorf("the Halide at %s has %w", h.Root, errNoWeights)
		}
	}
	w, err := nn.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("weights: %w; name a .weights file of version 3, as Halide 19 and 21 write them, with --weights", err)
	}
	return w, nil
}

// advice is what the model says of one of the spaces.
type advice struct {
	model *cost.Model
	found []search.Solution // first what the search ended with, then the cheapest first
}

// askModel asks the model about each of the spaces. A search that measures by itself, for all
// the time there is, begins by measuring what is given.
func (t *tuner) askModel(ctx context.Context, stop <-chan struct{}, begin []search.Candidate) ([]advice, error) {
	weights, err := ReadWeights(t.gen.Toolchain.Halide, t.o.Weights)
	if err != nil {
		return nil, &UsageError{err}
	}
	var out []advice
	for _, sp := range t.spaces {
		model, err := cost.New(weights, sp.Pipeline(), t.o.Threads)
		if err != nil {
			return nil, &UsageError{fmt.Errorf("the weights are not for %s: %w", t.gen.Name, err)}
		}
		found, err := t.guided(ctx, sp, model, stop, begin)
		if err != nil {
			return nil, err
		}
		out = append(out, advice{model, found})
	}
	return out, nil
}

// guided asks the model about one of the spaces, which share the time. Closing stop ends
// that with what was found until then.
func (t *tuner) guided(ctx context.Context, sp *space.Space, model *cost.Model, stop <-chan struct{}, begin []search.Candidate) ([]search.Solution, error) {
	asking, cancel := Stoppable(ctx, stop)
	defer cancel()
	budget := min(t.o.Budget/modelShare, modelMost) / time.Duration(len(t.spaces))
	var choose func(context.Context, []search.Solution) (int, error)
	if search.Measures(t.o.Search) {
		timer, err := t.rootTimer(ctx)
		if err != nil {
			return nil, err
		}
		if err := timer.time(asking, begin); err != nil && asking.Err() == nil {
			return nil, err
		}
		budget, choose = max(time.Second, t.o.Budget-time.Since(t.began)), timer.Choose
	}
	searcher, err := searcherOf(t.o.Search, choose)
	if err != nil {
		return nil, err
	}
	t.events.phase("modelling")
	result, err := searcher.Search(asking, search.Problem{
		Root: search.Start(sp), Evaluator: search.NewModelEvaluator(sp, model), Workers: t.o.Threads,
		Keep: modelKeep, KeepDepth: modelDepth,
	}, search.Budget{Time: budget}, t.o.Seed)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && asking.Err() == nil {
		return nil, fmt.Errorf("asking the model about %s: %w", t.gen.Name, err)
	}
	// What a search falls back on that is stopped before it costed anything has no cost.
	found := slices.DeleteFunc(result.Ranked(), func(s search.Solution) bool { return math.IsInf(s.Cost, 1) })
	if len(found) > 0 {
		if seconds := found[0].Cost / 1e3; t.report.Predicted == 0 || seconds < t.report.Predicted {
			t.report.Predicted = seconds
		}
		t.events.note("the model costed %d schedules in %.1f s; its best should take %.3g ms", result.Evaluations, result.Elapsed.Seconds(), found[0].Cost)
	}
	return found, nil
}

// searcherOf is the search of a name; choose is for one that measures, which stays at each
// root as long as the paper has it. For others that would be all the time there is, so that
// the root would hardly move: the decisions to come share the budget instead.
func searcherOf(name string, choose func(context.Context, []search.Solution) (int, error)) (search.Searcher, error) {
	var change func(*search.MCTSOptions)
	switch {
	case search.Measures(name):
		change = func(o *search.MCTSOptions) { o.Choose = choose }
	case search.RootTime(name) > 0:
		change = func(o *search.MCTSOptions) { o.RootTime = 0 }
	}
	return search.NewSearcher(name, change)
}

// predict takes the model's best that computes the right thing, and times nothing.
func (t *tuner) predict(ctx context.Context, stop <-chan struct{}) error {
	advised, err := t.askModel(ctx, stop, nil)
	if err != nil {
		return err
	}
	// What the searches ended with comes before all else that they found.
	var all, rest []search.Solution
	for _, a := range advised {
		all, rest = append(all, a.found[:min(1, len(a.found))]...), append(rest, a.found[min(1, len(a.found)):]...)
	}
	slices.SortStableFunc(all, search.ByCost)
	slices.SortStableFunc(rest, search.ByCost)
	all = append(all, rest...)
	t.events.phase("checking")
	checking, cancel := Stoppable(ctx, stop)
	defer cancel()
	for _, c := range search.Candidates(all, t.o.Search) {
		err := measure.CheckOnce(checking, t.server, bridge.BuildRequest{Schedule: c.Schedule}, t.o.Protocol, t.o.Threads)
		if err == nil {
			decisions := c.Decisions()
			c.State = nil
			t.best = []ranked{{candidate: c, decisions: decisions}}
			return nil
		}
		if end := cmp.Or(ctx.Err(), t.gone()); end != nil {
			return end
		}
		if stopped(stop) {
			break
		}
		t.events.note("left out: schedule %s: %v", c.Schedule.HashString(), err)
	}
	return nil
}

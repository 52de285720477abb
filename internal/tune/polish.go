package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strconv"

	"github.com/protuner/protuner/bayes"
	bayesspace "github.com/protuner/protuner/bayes/space"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
)

// polished is the origin of schedules whose numbers were optimised, narrowed of those whose
// vectors were made half as long.
const (
	polished = "polish"
	narrowed = "narrow"
)

// When numbers are polished, and how.
const (
	// polishFrom is the share of the budget after which every other proposal is polished.
	polishFrom = 0.6
	// polishLeast is how many schedules must have worked by then: where fewer do, each is
	// better spent on another structure.
	polishLeast = 32
	// narrowLeast is the same for half as long vectors, which take one schedule to try, and
	// narrowLanes how many lanes those have that are halved.
	narrowLeast = 8
	narrowLanes = 8
	// polishHoles is how many numbers are polished at a time. What a schedule of fifty Funcs
	// has is more than the few dozen schedules that there is time for could tell apart.
	polishHoles = 8
	// polishPatience is after how many schedules that are no faster others are.
	polishPatience = 10
	// polishReach is how many times as large, or as small, a number may become at a time.
	polishReach = 3
	// polishKnown is how many outcomes a study begins with at most, and polishMost with how
	// many it ends: making its model takes the third power of that, and nothing is timed
	// meanwhile.
	polishKnown = 200
	polishMost  = 250
)

// polisher has another strategy find structures, and later in the budget takes turns with it
// and optimises the numbers of the fastest (BaCO, docs/bayes.md): its schedule is opened as a
// template, some of whose holes are parameters close to what they are. What was measured of
// the same structure before, whoever proposed it, is known to the optimiser. A number may be
// one that no decision of the space leads to, such as 20 rows.
//
// Before that it has all vectors of the other's fastest made half as long, once for each
// structure: where lanes are looked up one by one, some processors are faster with half of
// AVX-512's.
type polisher struct {
	then   search.Strategy
	spaces []*space.Space
	spent  func() float64 // the share of the budget that is
	note   func(format string, args ...any)
	rng    *rand.Rand

	known  map[uint64]outcome // all outcomes, by the schedules' hashes
	order  []uint64           // of them as they came
	asked  map[uint64]bool    // schedules that were proposed, by whomever
	worked int                // so many of them
	best   outcome
	other  outcome         // the other strategy's fastest
	narrow map[uint64]bool // shapes that were tried with shorter vectors
	study  *study          // nil until the best has one
	turns  int
	off    bool // the optimiser failed
}

// outcome is what became of a schedule; seconds is 0 where it failed.
type outcome struct {
	schedule schedule.Schedule
	shape    uint64 // of the schedule, whatever its numbers
	seconds  float64
}

// study optimises some numbers of one structure.
type study struct {
	template schedule.Template
	fixed    map[string]int64 // holes that stay
	bayes    *bayes.Study
	trials   map[uint64]int // those asked for, by the schedules' hashes
	shape    uint64
	best     float64 // seconds
	idle     int     // so many outcomes since that was found
	rest     int     // so many were measured before and are not learnt from
}

// newPolisher makes one for a search whose spaces these are.
func newPolisher(then search.Strategy, spaces []*space.Space, spent func() float64, note func(string, ...any), rng *rand.Rand) *polisher {
	return &polisher{then: then, spaces: spaces, spent: spent, note: note, rng: rng, known: map[uint64]outcome{}, asked: map[uint64]bool{}, narrow: map[uint64]bool{}}
}

// polishes says whether numbers are polished. A search that measures by itself (ProTuner's
// cost+real) is left as the paper has it.
func (t *tuner) polishes() bool {
	return t.o.Polish && t.o.asksModel() && !search.Measures(t.o.Search)
}

// Propose implements search.Strategy.
func (p *polisher) Propose(ctx context.Context, n int) ([]search.Candidate, error) {
	var out []search.Candidate
	for len(out) < n {
		made, err := p.one(ctx)
		if err != nil || len(made) == 0 {
			return out, err
		}
		for _, c := range made {
			if !p.asked[c.Hash] { // else the other came to the same, and it is being measured
				p.asked[c.Hash] = true
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// one makes one candidate: a polished one where it is its turn, or where the other strategy
// has no more.
func (p *polisher) one(ctx context.Context) ([]search.Candidate, error) {
	mine, late := false, p.spent() >= polishFrom
	if late && p.worked >= narrowLeast {
		if c, ok := p.narrower(); ok {
			return []search.Candidate{c}, nil
		}
	}
	if late && p.worked >= polishLeast {
		p.turns++
		mine = p.turns%2 == 1
	}
	if mine {
		if made := p.polish(ctx); len(made) > 0 {
			return made, nil
		}
	}
	made, err := p.then.Propose(ctx, 1)
	if err != nil || len(made) > 0 || mine {
		return made, err
	}
	return p.polish(ctx), ctx.Err()
}

// failed ends polishing where err is not the context's: a search goes on without it.
func (p *polisher) failed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		p.off = true
		p.note("numbers are not polished any more: %v", err)
	}
}

// Observe implements search.Strategy.
func (p *polisher) Observe(outcomes []search.Outcome) error {
	for _, o := range outcomes {
		known := outcome{schedule: o.Candidate.Schedule, shape: shapeOf(o.Candidate.Schedule)}
		if o.OK {
			known.seconds = o.Seconds
			p.worked++
			if p.best.seconds == 0 || o.Seconds < p.best.seconds {
				p.best = known
			}
			if o.Candidate.State != nil && (p.other.seconds == 0 || o.Seconds < p.other.seconds) {
				p.other = known
			}
		}
		if _, again := p.known[o.Candidate.Hash]; !again {
			p.order = append(p.order, o.Candidate.Hash)
		}
		p.known[o.Candidate.Hash] = known
		p.failed(context.Background(), p.study.tell(o.Candidate.Hash, known))
	}
	return p.then.Observe(outcomes)
}

// narrower is the other strategy's fastest with vectors half as long, false where that was
// tried of its structure or it has none that are long.
func (p *polisher) narrower() (search.Candidate, bool) {
	if p.other.seconds == 0 || p.narrow[p.other.shape] {
		return search.Candidate{}, false
	}
	p.narrow[p.other.shape] = true
	template, ok := p.template(p.other)
	if !ok {
		return search.Candidate{}, false
	}
	values := template.Values()
	for _, h := range template.Holes {
		if h.Role == schedule.VectorRole && h.Value >= narrowLanes && slices.Contains(h.Values, h.Value/2) {
			values[h.Name] = h.Value / 2
		}
	}
	s, err := template.Fill(values)
	hash := s.Hash()
	_, known := p.known[hash]
	return search.Candidate{Schedule: s, Origin: narrowed, Hash: hash}, err == nil && !known
}

// polish makes one schedule that was not measured yet; none where the fastest has no numbers
// to polish.
func (p *polisher) polish(ctx context.Context) []search.Candidate {
	for range polishPatience {
		if p.off || p.best.seconds == 0 {
			return nil
		}
		if !p.study.of(p.best) || p.study.idle >= polishPatience {
			var err error
			if p.study, err = p.open(ctx); p.study == nil {
				p.failed(ctx, err)
				return nil
			}
		}
		c, err := p.study.ask(ctx, p.known, p.asked)
		if errors.Is(err, bayes.ErrExhausted) {
			p.study = nil
			continue
		}
		if err != nil {
			p.failed(ctx, err)
			return nil
		}
		return []search.Candidate{c}
	}
	return nil
}

// template opens a schedule; false where it is of no space.
func (p *polisher) template(o outcome) (schedule.Template, bool) {
	sp := spaceOf(p.spaces, o.schedule)
	if sp == nil {
		return schedule.Template{}, false
	}
	return schedule.Open(o.schedule, extentsIn(sp)), true
}

// open begins a study of the fastest schedule, of some of its numbers; nil where it has none
// that could be others, or is of no space.
func (p *polisher) open(ctx context.Context) (*study, error) {
	template, ok := p.template(p.best)
	if !ok {
		return nil, nil
	}
	st := &study{template: template, fixed: template.Values(), trials: map[uint64]int{}, shape: p.best.shape, best: p.best.seconds}
	var params []bayesspace.Param
	for _, i := range p.rng.Perm(len(template.Holes)) {
		h := template.Holes[i]
		if values := near(h); len(values) > 1 && len(params) < polishHoles {
			params = append(params, bayesspace.Param{Name: h.Name, Type: bayesspace.Ordinal, Values: values, Log: true})
			delete(st.fixed, h.Name)
		}
	}
	if len(params) == 0 {
		return nil, nil
	}
	var constraints []string
	for _, c := range template.Constraints {
		if text, open := fix(c.String(), st.fixed); open {
			constraints = append(constraints, text)
		}
	}
	numbers, err := bayesspace.New(params, constraints...)
	if err != nil {
		return nil, fmt.Errorf("polishing schedule %s: %w", p.best.schedule.HashString(), err)
	}
	st.bayes, err = bayes.Open(ctx, numbers, bayes.Options{Seed: p.rng.Int63(), NoDefault: true}, nil)
	if err != nil {
		return nil, err
	}
	var known []tried
	for _, hash := range p.order {
		o := p.known[hash]
		if o.shape != st.shape {
			continue
		}
		if c, ok := st.config(o.schedule); ok {
			known = append(known, tried{c, o.seconds})
		}
	}
	some, rest := instructive(known)
	for _, k := range some {
		if err := st.bayes.Import(ctx, k.config, valued(k.seconds)); err != nil {
			return nil, err
		}
	}
	for _, k := range rest { // of which none is to be asked for
		if err := st.bayes.Import(ctx, k.config, bayes.Failure(bayes.Lost, "not learnt from")); err != nil {
			return nil, err
		}
	}
	st.rest = len(rest)
	return st, nil
}

// tried is a configuration of a study that was measured before; seconds is 0 where it failed.
type tried struct {
	config  bayesspace.Config
	seconds float64
}

// instructive are those, in their order, that a study learns from: all, or where they are too
// many the fastest, for half of the room, and the latest, which lie near what is fastest now
// and say what fails there; and the rest.
func instructive(all []tried) (some, rest []tried) {
	if len(all) <= polishKnown {
		return all, nil
	}
	var worked []int
	for i, k := range all {
		if k.seconds > 0 {
			worked = append(worked, i)
		}
	}
	slices.SortStableFunc(worked, func(a, b int) int { return cmp.Compare(all[a].seconds, all[b].seconds) })
	taken := map[int]bool{}
	for _, i := range worked[:min(len(worked), polishKnown/2)] {
		taken[i] = true
	}
	for i := len(all) - 1; len(taken) < polishKnown; i-- {
		taken[i] = true
	}
	for i, k := range all {
		if taken[i] {
			some = append(some, k)
		} else {
			rest = append(rest, k)
		}
	}
	return some, rest
}

// learnt is how many outcomes the study's model is made of, those to come included.
func (st *study) learnt() int { return len(st.bayes.Trials()) - st.rest }

// of holds where nothing that the study did not ask for became the fastest since.
func (st *study) of(best outcome) bool {
	return st != nil && st.shape == best.shape && st.best == best.seconds
}

// ask makes a schedule that is neither known nor asked for. The error is bayes.ErrExhausted
// also where the study has grown too large: another one begins then.
func (st *study) ask(ctx context.Context, known map[uint64]outcome, asked map[uint64]bool) (search.Candidate, error) {
	for {
		if st.learnt() >= polishMost {
			return search.Candidate{}, bayes.ErrExhausted
		}
		trials, err := st.bayes.Ask(ctx, 1)
		if err != nil {
			return search.Candidate{}, err
		}
		values := st.template.Values()
		for _, param := range st.bayes.Space().Params() {
			values[param.Name] = int64(trials[0].Config.Int(param.Name))
		}
		s, err := st.template.Fill(values)
		hash := s.Hash()
		outcome := bayes.Failure(bayes.Lost, "it is being measured")
		_, waits := st.trials[hash]
		if err != nil {
			outcome = bayes.Failure(bayes.Infeasible, err.Error())
		} else if o, ok := known[hash]; ok { // several numbers of tasks come to one factor
			outcome = valued(o.seconds)
		} else if !waits {
			st.trials[hash] = trials[0].ID
			if asked[hash] {
				continue // tell has the outcome once it is measured
			}
			return search.Candidate{Schedule: s, Origin: polished, Hash: hash}, nil
		}
		if err := st.bayes.Tell(ctx, trials[0].ID, outcome); err != nil {
			return search.Candidate{}, err
		}
	}
}

// tell takes the outcome of a schedule, if it was asked for.
func (st *study) tell(hash uint64, o outcome) error {
	if st == nil {
		return nil
	}
	id, ok := st.trials[hash]
	if !ok {
		return nil
	}
	delete(st.trials, hash)
	st.idle++
	if o.seconds > 0 && o.seconds < st.best {
		st.best, st.idle = o.seconds, 0
	}
	return st.bayes.Tell(context.Background(), id, valued(o.seconds))
}

// config is the configuration that makes s, if one does.
func (st *study) config(s schedule.Schedule) (bayesspace.Config, bool) {
	values, ok := st.template.Read(s)
	if !ok {
		return bayesspace.Config{}, false
	}
	for name, v := range st.fixed {
		if values[name] != v {
			return bayesspace.Config{}, false
		}
	}
	numbers := map[string]any{}
	for _, param := range st.bayes.Space().Params() {
		numbers[param.Name] = float64(values[param.Name])
	}
	c, err := st.bayes.Space().Parse(numbers)
	return c, err == nil // out of reach otherwise
}

// valued is the outcome of a schedule that took so many seconds; 0 means that it failed.
func valued(seconds float64) bayes.Outcome {
	if seconds > 0 {
		return bayes.Value(seconds)
	}
	return bayes.Failure(bayes.Infeasible, "")
}

// near are the values close to a hole's own; none of a fold, which only takes more memory
// where it is larger.
func near(h schedule.Hole) []float64 {
	if h.Role == schedule.FoldRole || h.Value == 0 {
		return nil
	}
	var out []float64
	take := func(v int64) {
		if v*polishReach >= h.Value && v <= h.Value*polishReach {
			out = append(out, float64(v))
		}
	}
	for _, v := range h.Values {
		take(v)
	}
	if len(h.Values) > 0 {
		return out
	}
	for v := max(1, h.Min); v <= min(h.Value*polishReach, h.Max); v++ {
		if v == h.Value || smooth(v) || h.Extent > 0 && h.Extent%v == 0 {
			take(v)
		}
	}
	return out
}

// smooth holds for what tiles people write: products of 2, 3 and 5.
func smooth(v int64) bool {
	for _, d := range []int64{2, 3, 5} {
		for v%d == 0 {
			v /= d
		}
	}
	return v == 1
}

var identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// fix puts the values of holes that stay into a constraint; open says whether others are left.
func fix(constraint string, fixed map[string]int64) (text string, open bool) {
	text = identifier.ReplaceAllStringFunc(constraint, func(name string) string {
		if v, ok := fixed[name]; ok {
			return strconv.FormatInt(v, 10)
		}
		open = true
		return name
	})
	return text, open
}

// shapeOf tells schedules apart by all but the numbers that may be holes.
func shapeOf(s schedule.Schedule) uint64 {
	out := slices.Clone(s.Directives)
	for i, d := range out {
		switch d.Op {
		case schedule.Split, schedule.FoldStorage, schedule.AlignStorage, schedule.Prefetch:
			out[i].Ints = []int64{1}
		}
	}
	return schedule.Schedule{Directives: out}.Hash()
}

// spaceOf is the space of the pipeline as a schedule structures it; nil where there is none.
func spaceOf(spaces []*space.Space, s schedule.Schedule) *space.Space {
	head := schedule.Schedule{Directives: s.Structure()}.Hash()
	i := slices.IndexFunc(spaces, func(sp *space.Space) bool {
		return schedule.Schedule{Directives: sp.Structure()}.Hash() == head
	})
	if i < 0 {
		return nil
	}
	return spaces[i]
}

// extentsIn gives the estimated extents of loops, as schedule.Open asks for them.
func extentsIn(sp *space.Space) func(fn string, stage int, loop string) (int64, bool) {
	p := sp.Pipeline()
	return func(fn string, stage int, loop string) (int64, bool) {
		f := slices.IndexFunc(p.Funcs, func(f pipeline.Func) bool { return f.Name == fn })
		if f < 0 || !sp.Scheduled(f) || stage >= len(p.Funcs[f].Stages) {
			return 0, false
		}
		i := slices.IndexFunc(p.Funcs[f].Stages[stage].Loops, func(l pipeline.Loop) bool { return l.Var == loop })
		if i < 0 {
			return 0, false
		}
		return sp.Extents(f, stage)[i], true
	}
}

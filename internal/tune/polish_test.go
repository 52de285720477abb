package tune

import (
	"context"
	"errors"
	"maps"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/protuner/protuner/bayes"
	bayesspace "github.com/protuner/protuner/bayes/space"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// nothing is a strategy that finds nothing.
type nothing struct{ observed int }

func (*nothing) Propose(context.Context, int) ([]search.Candidate, error) { return nil, nil }

func (n *nothing) Observe(outcomes []search.Outcome) error {
	n.observed += len(outcomes)
	return nil
}

// distance is how far, in logarithms, the factors of a schedule's splits are from want; those
// that are multiples of seven fail.
func distance(s schedule.Schedule, want int64) (far float64, ok bool) {
	for _, d := range s.Directives {
		if d.Op == schedule.Split {
			far += math.Abs(math.Log(float64(d.Ints[0]) / float64(want)))
			if d.Ints[0]%7 == 0 {
				return 0, false
			}
		}
	}
	return far, true
}

// Numbers of the fastest are moved to where they are best, which no power of two is, whatever
// fails on the way; nothing is proposed twice, and all outcomes reach the other strategy.
func TestNumbersArePolished(t *testing.T) {
	sp := spacetest.New(t, pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	const want = 20
	then := &nothing{}
	spent := 0.0
	p := newPolisher(then, []*space.Space{sp}, func() float64 { return spent }, t.Errorf, rand.New(rand.NewSource(1)))
	seconds := func(s schedule.Schedule) (float64, bool) {
		far, ok := distance(s, want)
		return math.Exp(far / 10), ok
	}
	observe := func(c search.Candidate) {
		t.Helper()
		took, ok := seconds(c.Schedule)
		if err := p.Observe([]search.Outcome{{Candidate: c, OK: ok, Seconds: took}}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := p.Propose(t.Context(), 1); err != nil || len(got) > 0 {
		t.Fatalf("proposed %v, %v, with nothing known", got, err)
	}
	seen := map[uint64]bool{}
	told := 0
	for seed := int64(0); told < polishLeast+8; seed++ {
		state := drawn(sp, seed)
		s := state.Schedule()
		if !seen[s.Hash()] {
			seen[s.Hash()] = true
			told++
			observe(search.Candidate{State: state, Schedule: s, Hash: s.Hash(), Origin: "random"})
		}
	}
	begin := p.best
	spent = polishFrom
	halved := 0
	for range 60 {
		made, err := p.Propose(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range made {
			if c.Origin == narrowed {
				halved++
			} else if c.Origin != polished {
				t.Errorf("proposed by %s", c.Origin)
			}
			if seen[c.Hash] || shapeOf(c.Schedule) != begin.shape {
				t.Fatalf("seen %v:\n%s\nof\n%s", seen[c.Hash], c.Schedule, begin.schedule)
			}
			seen[c.Hash] = true
			told++
			observe(c)
		}
	}
	if halved > 1 {
		t.Errorf("one structure was tried with shorter vectors %d times", halved)
	}
	if then.observed != told {
		t.Errorf("%d outcomes of %d reached the other strategy", then.observed, told)
	}
	before, _ := distance(begin.schedule, want)
	after, _ := distance(p.best.schedule, want)
	if after > before/2 {
		t.Errorf("numbers were %.2f away from the best and are %.2f:\n%s", before, after, p.best.schedule)
	}
}

// Every other proposal is polished, from so much of the budget on and once enough worked.
func TestPolishingTakesTurns(t *testing.T) {
	sp := spacetest.New(t, pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	random, err := search.New("random", sp, rand.New(rand.NewSource(1)))
	if err != nil {
		t.Fatal(err)
	}
	spent := 0.0
	p := newPolisher(search.NewBegun(nil, random), []*space.Space{sp}, func() float64 { return spent }, t.Errorf, rand.New(rand.NewSource(1)))
	origin := func() string {
		t.Helper()
		made, err := p.Propose(t.Context(), 1)
		if err != nil || len(made) != 1 {
			t.Fatalf("proposed %v, %v", made, err)
		}
		far, _ := distance(made[0].Schedule, 20)
		if err := p.Observe([]search.Outcome{{Candidate: made[0], OK: true, Seconds: 1 + far}}); err != nil {
			t.Fatal(err)
		}
		return made[0].Origin
	}
	polishedOf := func(n int) (count int) {
		t.Helper()
		for n > 0 {
			switch origin() {
			case narrowed: // which takes nobody's turn
				continue
			case polished:
				count++
			}
			n--
		}
		return count
	}
	spent = 1
	for p.worked < polishLeast {
		if origin() == polished {
			t.Errorf("polished after %d schedules", p.worked-1)
		}
	}
	spent = 0
	if n := polishedOf(10); n > 0 {
		t.Errorf("%d were polished early in the budget", n)
	}
	spent = polishFrom
	if n := polishedOf(20); n != 10 {
		t.Errorf("%d of 20 were polished late in the budget, want 10", n)
	}
}

// The fastest of the other strategy is tried with vectors half as long, once for each
// structure; what that brings is polished from there on.
func TestVectorsAreNarrowed(t *testing.T) {
	sp := spacetest.New(t, pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	late := 0.0
	p := newPolisher(&nothing{}, []*space.Space{sp}, func() float64 { return late }, t.Errorf, rand.New(rand.NewSource(1)))
	for seed := int64(0); p.worked < narrowLeast; seed++ {
		state := drawn(sp, seed)
		s := state.Schedule()
		if err := p.Observe([]search.Outcome{{Candidate: search.Candidate{State: state, Schedule: s, Hash: s.Hash()}, OK: true, Seconds: 2 + float64(seed)}}); err != nil {
			t.Fatal(err)
		}
	}
	first := p.best.schedule
	if c, err := p.Propose(t.Context(), 1); err != nil || len(c) == 1 && c[0].Origin == narrowed {
		t.Fatalf("proposed %v, %v, early in the budget", c, err)
	}
	late = 1
	made, err := p.Propose(t.Context(), 1)
	if err != nil || len(made) != 1 || made[0].Origin != narrowed {
		t.Fatalf("proposed %v, %v", made, err)
	}
	lanes := vectorLengths(sp, first)
	short := vectorLengths(sp, made[0].Schedule)
	if len(lanes) == 0 || len(lanes) != len(short) {
		t.Fatalf("%d vectors became %d", len(lanes), len(short))
	}
	for name, n := range lanes {
		if want := n / 2; n >= narrowLanes && short[name] != want || n < narrowLanes && short[name] != n {
			t.Errorf("%s of %d lanes has %d", name, n, short[name])
		}
	}
	if err := p.Observe([]search.Outcome{{Candidate: made[0], OK: true, Seconds: 1}}); err != nil {
		t.Fatal(err)
	}
	next, err := p.Propose(t.Context(), 1)
	if err != nil || len(next) != 1 || next[0].Origin != polished {
		t.Fatalf("proposed %v, %v after that", next, err)
	}
	if p.study.template.Values()[anyOf(lanes)] != short[anyOf(lanes)] {
		t.Errorf("what is polished is not what was fastest")
	}
}

// A study begins with so many outcomes at most, and ends with so many.
func TestStudiesStaySmall(t *testing.T) {
	sp := spacetest.New(t, pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	s, err := schedule.Parse("luma.compute_root()\nluma.split(y, yo, yi, 20)\noutput.split(x, xo, xi, 40)\noutput.split(y, yo, yi, 30)\n")
	if err != nil {
		t.Fatal(err)
	}
	p := newPolisher(&nothing{}, []*space.Space{sp}, func() float64 { return 1 }, t.Errorf, rand.New(rand.NewSource(1)))
	observe := func(s schedule.Schedule, seconds float64) {
		t.Helper()
		if err := p.Observe([]search.Outcome{{Candidate: search.Candidate{Schedule: s, Hash: s.Hash()}, OK: true, Seconds: seconds}}); err != nil {
			t.Fatal(err)
		}
	}
	open := func(known int) *study {
		t.Helper()
		st, err := p.open(t.Context())
		if err != nil || st == nil || st.learnt() != known || len(st.bayes.Trials()) != len(p.known) {
			t.Fatalf("of %d outcomes a study was made that is not of %d: %v", len(p.known), known, err)
		}
		return st
	}
	observe(s, 1)
	first := open(1)
	rng := rand.New(rand.NewSource(2))
	draw := func() bayesspace.Config {
		t.Helper()
		x, err := first.bayes.Space().Sample(rng)
		if err != nil {
			t.Fatal(err)
		}
		return first.bayes.Space().Config(x)
	}
	for seconds := 2.0; len(p.known) < polishMost; seconds++ {
		c, values := draw(), first.template.Values()
		for _, param := range first.bayes.Space().Params() {
			values[param.Name] = int64(c.Int(param.Name))
		}
		made, err := first.template.Fill(values)
		if err != nil {
			t.Fatal(err)
		}
		observe(made, seconds)
	}
	full := open(polishKnown)
	for range 10 * polishMost {
		if full.learnt() < polishMost {
			_ = full.bayes.Import(t.Context(), draw(), bayes.Value(1)) // or it is there
		}
	}
	if _, err := full.ask(t.Context(), p.known, p.asked); full.learnt() != polishMost || !errors.Is(err, bayes.ErrExhausted) {
		t.Errorf("with %d outcomes asked on: %v", full.learnt(), err)
	}
}

// Of too many outcomes a study knows the fastest that worked and the latest of all others.
func TestFastestAndLatestAreInstructive(t *testing.T) {
	const n, half = 3 * polishKnown, polishKnown / 2
	var nowhere *bayesspace.Space
	for name, c := range map[string]struct {
		seconds func(i int) float64
		want    func(i int) bool
	}{
		"the first are the fastest": {func(i int) float64 { return float64(1 + i) }, func(i int) bool { return i < half || i >= n-half }},
		"the last are the fastest":  {func(i int) float64 { return float64(n - i) }, func(i int) bool { return i >= n-polishKnown }},
		"every other one failed":    {func(i int) float64 { return float64((1 + i) * (i % 2)) }, func(i int) bool { return i < polishKnown && i%2 == 1 || i >= n-half }},
		"nothing worked":            {func(int) float64 { return 0 }, func(i int) bool { return i >= n-polishKnown }},
	} {
		var all []tried
		var want, got []float64
		for i := range n {
			all = append(all, tried{nowhere.Config(bayesspace.Point{float64(i)}), c.seconds(i)})
			if c.want(i) {
				want = append(want, float64(i))
			}
		}
		some, rest := instructive(all)
		if len(some)+len(rest) != n {
			t.Errorf("%s: %d and %d of %d", name, len(some), len(rest), n)
		}
		for _, k := range some {
			got = append(got, k.config.Point()[0])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if few, none := instructive(all[:polishKnown]); len(few) != polishKnown || none != nil {
			t.Errorf("%s: of %d, which are not too many, %d", name, polishKnown, len(few))
		}
	}
}

// vectorLengths are the lanes of a schedule's vectors by their holes.
func vectorLengths(sp *space.Space, s schedule.Schedule) map[string]int64 {
	out := map[string]int64{}
	for _, h := range schedule.Open(s, extentsIn(sp)).Holes {
		if h.Role == schedule.VectorRole {
			out[h.Name] = h.Value
		}
	}
	return out
}

// anyOf is the first of the names that has lanes to spare.
func anyOf(lanes map[string]int64) string {
	for _, name := range slices.Sorted(maps.Keys(lanes)) {
		if lanes[name] >= narrowLanes {
			return name
		}
	}
	return ""
}

// A template's holes stay close to what they are, and are none where only one value is left.
func TestNearHoles(t *testing.T) {
	for _, c := range []struct {
		hole schedule.Hole
		want []float64
	}{
		{schedule.Hole{Role: schedule.FactorRole, Min: 1, Max: 14, Extent: 14, Value: 6}, []float64{2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14}},
		{schedule.Hole{Role: schedule.UnrollRole, Min: 1, Max: 16, Extent: 28, Value: 7}, []float64{3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16}},
		{schedule.Hole{Role: schedule.VectorRole, Min: 1, Max: 64, Value: 16, Values: []int64{1, 2, 4, 8, 16, 32, 64}}, []float64{8, 16, 32}},
		{schedule.Hole{Role: schedule.FactorRole, Min: 1, Max: 1, Extent: 1, Value: 1}, []float64{1}},
		{schedule.Hole{Role: schedule.FoldRole, Min: 6, Max: 48, Value: 6, Values: []int64{6, 12, 24, 48}}, nil},
		{schedule.Hole{Role: schedule.PrefetchRole, Min: 0, Max: 16, Value: 0}, nil},
	} {
		if got := near(c.hole); !slices.Equal(got, c.want) {
			t.Errorf("near %+v: %v, want %v", c.hole, got, c.want)
		}
	}
}

// A constraint speaks of the holes that are open alone.
func TestFixedConstraints(t *testing.T) {
	for _, c := range []struct {
		text, want string
		open       bool
	}{
		{"out_yii * (out_yi - 1) < 1530", "out_yii * (4 - 1) < 1530", true},
		{"out_yi <= out_xi", "4 <= 9", false},
	} {
		got, open := fix(c.text, map[string]int64{"out_yi": 4, "out_xi": 9})
		if got != c.want || open != c.open {
			t.Errorf("%s became %s, open %v", c.text, got, open)
		}
	}
}

package tune

import (
	"context"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/space"
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
	sp, err := space.New(pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	if err != nil {
		t.Fatal(err)
	}
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
	for range 60 {
		made, err := p.Propose(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range made {
			if c.Origin != polished || seen[c.Hash] || shapeOf(c.Schedule) != begin.shape {
				t.Fatalf("proposed by %s, seen %v:\n%s\nof\n%s", c.Origin, seen[c.Hash], c.Schedule, begin.schedule)
			}
			seen[c.Hash] = true
			told++
			observe(c)
		}
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
	sp, err := space.New(pipelinetest.Described(t, "harris.h21"), space.Defaults(2))
	if err != nil {
		t.Fatal(err)
	}
	random, err := search.New("random", sp, rand.New(rand.NewSource(1)))
	if err != nil {
		t.Fatal(err)
	}
	spent := 0.0
	p := newPolisher(search.NewBegun(nil, random), []*space.Space{sp}, func() float64 { return spent }, t.Errorf, rand.New(rand.NewSource(1)))
	polishedOf := func(n int) (count int) {
		t.Helper()
		for range n {
			made, err := p.Propose(t.Context(), 1)
			if err != nil || len(made) != 1 {
				t.Fatalf("proposed %v, %v", made, err)
			}
			if made[0].Origin == polished {
				count++
			}
			far, _ := distance(made[0].Schedule, 20)
			if err := p.Observe([]search.Outcome{{Candidate: made[0], OK: true, Seconds: 1 + far}}); err != nil {
				t.Fatal(err)
			}
		}
		return count
	}
	spent = 1
	if n := polishedOf(polishLeast); n > 0 {
		t.Errorf("%d were polished of the first %d", n, polishLeast)
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

// A template's holes stay close to what they are, and are none where only one value is left.
func TestNearHoles(t *testing.T) {
	for _, c := range []struct {
		hole schedule.Hole
		want []float64
	}{
		{schedule.Hole{Role: schedule.FactorRole, Min: 1, Max: 14, Value: 6}, []float64{2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14}},
		{schedule.Hole{Role: schedule.VectorRole, Min: 1, Max: 64, Value: 16, Values: []int64{1, 2, 4, 8, 16, 32, 64}}, []float64{8, 16, 32}},
		{schedule.Hole{Role: schedule.FactorRole, Min: 1, Max: 1, Value: 1}, []float64{1}},
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

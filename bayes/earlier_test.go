package bayes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
)

// sized is a kernel of a size: its times grow with it, its best tile hardly moves.
func sized(t testing.TB, size float64) problem {
	s := mustSpace(t, []space.Param{
		{Name: "tile", Type: space.Integer, Min: 1, Max: 200, Log: true},
		{Name: "vec", Type: space.Ordinal, Values: []float64{1, 2, 4, 8, 16}, Log: true},
		{Name: "order", Type: space.Permutation, Size: 4},
		{Name: "mode", Type: space.Categorical, Categories: []string{"a", "b", "c"}},
	}, "tile >= vec")
	return problem{Name: "sized", Space: s, Cost: func(c space.Config) bayes.Outcome {
		order := c.Order("order")
		if order[0] == 3 {
			return bayes.Failure(bayes.Crashed, "three is not first")
		}
		v := 1 + math.Abs(math.Log2(c.Float("tile")/(40+size/100))) + math.Abs(math.Log2(c.Float("vec")/8))
		if order[3] != 0 {
			v *= 2
		}
		if c.Text("mode") != "b" {
			v *= 1.5
		}
		return bayes.Value(size * v)
	}}
}

// known plays a search and returns what it found out.
func known(t testing.TB, p problem, n int) []bayes.Known {
	var out []bayes.Known
	for _, tr := range play(t, p, bayes.Options{Seed: 99}, nil, n).Trials() {
		out = append(out, bayes.Known{Config: tr.Config, Outcome: tr.Outcome})
	}
	return out
}

func TestEarlierSearchesHelp(t *testing.T) {
	before, now := sized(t, 1), sized(t, 1000)
	search := known(t, before, 40)
	best := search[0]
	for _, k := range search {
		if k.Outcome.Status == bayes.OK && (best.Outcome.Status != bayes.OK || k.Outcome.Value < best.Outcome.Value) {
			best = k
		}
	}
	with, without := 0.0, 0.0
	for seed := range int64(4) {
		s := play(t, now, bayes.Options{Seed: seed, Earlier: [][]bayes.Known{search}}, nil, 8)
		with += math.Log(s.Trace()[7])
		if first := s.Trials()[0]; first.Origin != "earlier" || first.Config.String() != best.Config.String() {
			t.Errorf("first of all %+v, not the best known %v", first, best.Config)
		}
		without += math.Log(play(t, now, bayes.Options{Seed: seed}, nil, 8).Trace()[7])
	}
	if with > without-4*math.Log(1.5) {
		t.Errorf("after 8 evaluations %v with an earlier search, %v without", math.Exp(with/4), math.Exp(without/4))
	}
}

// TestMisleadingEarlierSearch: what an earlier search liked is bad now, and that is
// found out.
func TestMisleadingEarlierSearch(t *testing.T) {
	now := sized(t, 1)
	search := known(t, now, 40)
	for i := range search {
		if o := &search[i].Outcome; o.Status == bayes.OK {
			o.Value = 1 / o.Value
		}
	}
	s := play(t, now, bayes.Options{Seed: 1, Earlier: [][]bayes.Known{search}}, nil, 40)
	if v := s.Trace()[39]; v > 1.5 {
		t.Errorf("best %v of 1", v)
	}
}

func TestEarlierSearchesOfOtherSpaces(t *testing.T) {
	now := sized(t, 1)
	other := mustSpace(t, []space.Param{
		{Name: "vec", Type: space.Integer, Min: 1, Max: 64},
		{Name: "gone", Type: space.Real, Min: 0, Max: 1},
		{Name: "mode", Type: space.Categorical, Categories: []string{"z", "b"}},
	})
	c, err := other.Parse(map[string]any{"vec": 9, "gone": 0.5, "mode": "b"})
	if err != nil {
		t.Fatal(err)
	}
	all := [][]bayes.Known{known(t, now, 10), {{Config: c, Outcome: bayes.Value(-3)}, {Config: c, Outcome: bayes.Failure(bayes.Lost, "")}},
		{{Config: c, Outcome: bayes.Failure(bayes.TimedOut, "")}}}
	a := configs(play(t, now, bayes.Options{Earlier: all}, nil, 12))
	if b := configs(play(t, now, bayes.Options{Earlier: all}, nil, 12)); a != b {
		t.Errorf("one seed, two searches:\n%s\n%s", a, b)
	}
	text, err := json.Marshal(bayes.Options{Earlier: all})
	if err != nil || !json.Valid(text) {
		t.Errorf("options with earlier searches: %s, %v", text, err)
	}
	for _, bad := range []bayes.Known{{}, {Config: c}, {Config: c, Outcome: bayes.Value(math.NaN())}} {
		if _, err := bayes.Open(context.Background(), now.Space, bayes.Options{Earlier: [][]bayes.Known{{bad}}}, nil); err == nil {
			t.Errorf("%+v is not refused", bad)
		}
	}
}

// A search of which nothing worked does not shift the numbers of those after it.
func TestEarlierSearchWithoutAValue(t *testing.T) {
	now := sized(t, 1)
	good := known(t, now, 12)
	bad := []bayes.Known{{Config: good[0].Config, Outcome: bayes.Failure(bayes.Crashed, "")}}
	all, own := bayes.Predicted(t, now.Space, [][]bayes.Known{bad, good}, 1)
	if len(all) == 0 || !slices.Equal(all, own) {
		t.Errorf("after one that failed %.3f is expected, by itself %.3f", all, own)
	}
}

// TestMeasuredNoise: among two measurements of which the better is the less certain,
// the search is not misled.
func TestMeasuredNoise(t *testing.T) {
	sp := mustSpace(t, []space.Param{{Name: "x", Type: space.Real, Min: 0, Max: 1}})
	ctx := context.Background()
	near := func(measured bool) float64 {
		s, err := bayes.Open(ctx, sp, bayes.Options{Surrogate: bayes.Surrogate{MeasuredNoise: measured}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 21 {
			x := float64(k) / 20
			o := bayes.Value(math.Exp((x - 0.75) * (x - 0.75) * 8))
			o.Deviation = 0.01 * o.Value
			if k == 3 { // lucky, and known to be uncertain
				o.Value, o.Deviation = o.Value/20, 19*o.Value
			}
			c, err := sp.Parse(map[string]any{"x": x})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Import(ctx, c, o); err != nil {
				t.Fatal(err)
			}
		}
		trials, err := s.Ask(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		return trials[0].Config.Float("x")
	}
	if x := near(true); math.Abs(x-0.75) > 0.2 {
		t.Errorf("with the measured noise it asks for %v", x)
	}
}

func TestReachFollowsLuck(t *testing.T) {
	p := sized(t, 1)
	luck := func(values ...float64) int { return bayes.ReachAfter(t, p.Space, values) }
	for _, c := range []struct {
		values []float64
		want   int
	}{
		{nil, 2}, {[]float64{9, 8}, 2}, {[]float64{9, 8, 7}, 4}, {[]float64{9, 8, 7, 6, 5, 4}, 8},
		{[]float64{1, 2, 2, 2, 2}, 1}, {[]float64{1, 2, 2, 2, 2, 2, 2, 2, 2}, 0}, {[]float64{1, 2, 2, 2, 2, 2, 2, 2, 2, 0.5}, 2},
		{[]float64{1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 2},
	} {
		if got := luck(c.values...); got != c.want {
			t.Errorf("after %v it reaches %d, not %d", c.values, got, c.want)
		}
	}
}

// Of more searches than trials are kept of them the first are known with their best.
func TestManyEarlierSearches(t *testing.T) {
	now := sized(t, 1)
	good := known(t, now, 6)
	many := slices.Repeat([][]bayes.Known{good}, 61)
	all, own := bayes.Predicted(t, now.Space, many, 0)
	if len(all) == 0 || len(own) != len(all) {
		t.Errorf("%d and %d expected of %d searches", len(all), len(own), len(many))
	}
}

// TestBatchRules: what is pending and counts as the worst keeps the others away, in a forest
// too.
func TestBatchRules(t *testing.T) {
	for _, forest := range []bool{false, true} {
		batchRules(t, forest)
	}
}

func batchRules(t *testing.T, forest bool) {
	sp := mustSpace(t, []space.Param{{Name: "x", Type: space.Real, Min: 0, Max: 1}})
	ctx := context.Background()
	spread := func(rule bayes.Batch) float64 {
		s, err := bayes.Open(ctx, sp, bayes.Options{Initial: 5, Surrogate: bayes.Surrogate{Forest: forest}, Acquisition: bayes.Acquisition{Batch: rule}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			trials, err := s.Ask(ctx, 1)
			if err != nil {
				t.Fatal(err)
			}
			x := trials[0].Config.Float("x")
			if err := s.Tell(ctx, trials[0].ID, bayes.Value(1+(x-0.4)*(x-0.4))); err != nil {
				t.Fatal(err)
			}
		}
		trials, err := s.Ask(ctx, 3)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, t := range trials[1:] {
			sum += math.Abs(t.Config.Float("x") - trials[0].Config.Float("x"))
		}
		return sum
	}
	if worst, best := spread(bayes.LiarWorst), spread(bayes.LiarBest); worst <= best {
		t.Errorf("forest %v: those that count as the worst are %v apart, as the best %v", forest, worst, best)
	}
}

func TestReadKnown(t *testing.T) {
	p := sized(t, 1)
	search := known(t, p, 12)
	trials, err := json.Marshal(map[string]any{"best": 1, "trials": play(t, p, bayes.Options{Seed: 99}, nil, 12).Trials()})
	if err != nil {
		t.Fatal(err)
	}
	got, err := bayes.ReadKnown(bytes.NewReader(trials), p.Space)
	if err != nil || len(got) != len(search) {
		t.Fatalf("%d of %d trials came back: %v", len(got), len(search), err)
	}
	for i := range got {
		if got[i].Config.String() != search[i].Config.String() || got[i].Outcome != search[i].Outcome {
			t.Errorf("%v %+v, not %v %+v", got[i].Config, got[i].Outcome, search[i].Config, search[i].Outcome)
		}
	}
	for text, want := range map[string]string{
		`{`: "EOF", `[]`: "array", `{"trials":[]}`: "no trials", `{"trials":[{"status":"lost"}]}`: "no trials",
		`{"trials":[{"id":4,"status":"ok"}]}`: "trial 4", `{"trials":[{"status":"better"}]}`: "better",
		`{"trials":[{"id":2,"status":"crashed","value":3}]}`: "trial 2",
	} {
		if _, err := bayes.ReadKnown(strings.NewReader(text), p.Space); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, which does not say %q", text, err, want)
		}
	}
}

func FuzzReadKnown(f *testing.F) {
	f.Add(`{"trials":[{"id":1,"config":{"tile":1e9,"vec":"x","order":[0,0],"mode":3},"status":"ok","value":2}]}`)
	f.Add(`{"trials":[{"config":{"tile":-1,"order":[3,2,1,0],"mode":"b"},"status":"timed-out"}]}`)
	f.Add(`{"trials":[{"config":{"tile":1e300,"order":[0,1e300,2,-1e300],"mode":"b"},"status":"ok","value":2}]}`)
	p := sized(f, 1)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := bayes.ReadKnown(strings.NewReader(text), p.Space)
		for _, k := range got {
			if again, e := p.Space.Parse(k.Config.Map()); err == nil && len(p.Space.Violated(k.Config.Point())) == 0 && (e != nil || again.String() != k.Config.String()) {
				t.Errorf("%v is not of the space: %v", k.Config, e)
			}
		}
	})
}

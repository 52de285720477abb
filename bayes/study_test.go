package bayes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/problems"
	"github.com/protuner/protuner/bayes/space"
)

func open(t testing.TB, p problem, o bayes.Options, store bayes.Store) *bayes.Study {
	t.Helper()
	s, err := bayes.Open(context.Background(), p.Space, o, store)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTellRefuses(t *testing.T) {
	ctx := context.Background()
	s := open(t, all(t)[0], bayes.Options{}, nil)
	asked, err := s.Ask(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	id := asked[0].ID
	for want, tell := range map[string]func() error{
		"trial 99 was not asked":     func() error { return s.Tell(ctx, 99, bayes.Value(1)) },
		"trial 0 was not asked":      func() error { return s.Tell(ctx, 0, bayes.Value(1)) },
		"the value is NaN":           func() error { return s.Tell(ctx, id, bayes.Value(math.NaN())) },
		"the value is +Inf":          func() error { return s.Tell(ctx, id, bayes.Value(math.Inf(1))) },
		"cannot be pending":          func() error { return s.Tell(ctx, id, bayes.Outcome{}) },
		"a crashed outcome has no":   func() error { return s.Tell(ctx, id, bayes.Outcome{Status: bayes.Crashed, Value: 3}) },
		"an outcome cannot be statu": func() error { return s.Tell(ctx, id, bayes.Outcome{Status: 77}) },
	} {
		if err := tell(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := s.Tell(ctx, id, bayes.Value(2)); err != nil {
		t.Fatalf("after refusals: %v", err)
	}
	if err := s.Tell(ctx, id, bayes.Value(2)); err == nil || !strings.Contains(err.Error(), "was told before, as ok") {
		t.Errorf("told twice: %v", err)
	}
	if b, ok := s.Best(); !ok || b.Outcome.Value != 2 {
		t.Errorf("best %+v", b)
	}
}

func TestStartDefaultImport(t *testing.T) {
	ctx := context.Background()
	p := all(t)[0]
	expert, err := p.Space.ParseJSON([]byte(`{"cs":32,"uf":4,"ocs":8,"ont":4,"ost":"dynamic","p":[0,1,3,2,4]}`))
	if err != nil {
		t.Fatal(err)
	}
	known, err := p.Space.ParseJSON([]byte(`{"cs":64,"uf":4,"ocs":8,"ont":4,"ost":"dynamic","p":[0,1,3,2,4]}`))
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, p, bayes.Options{Start: []space.Config{expert}}, nil)
	if err := s.Import(ctx, known, bayes.Value(7)); err != nil {
		t.Fatal(err)
	}
	if err := s.Import(ctx, known, bayes.Value(7)); err == nil || !strings.Contains(err.Error(), "is trial 1 already") {
		t.Errorf("imported twice: %v", err)
	}
	asked, err := s.Ask(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	def, err := p.Space.Default()
	if err != nil {
		t.Fatal(err)
	}
	if asked[0].Config.String() != expert.String() || asked[0].Origin != "start" || asked[0].ID != 2 {
		t.Errorf("first %+v", asked[0])
	}
	if asked[1].Config.String() != def.String() || asked[1].Origin != "default" {
		t.Errorf("second %+v", asked[1])
	}
	if asked[2].Origin != "initial" {
		t.Errorf("third %+v", asked[2])
	}
	if b, _ := s.Best(); b.Origin != "import" {
		t.Errorf("best %+v", b)
	}
	if tr := s.Trace(); len(tr) != 4 || tr[3] != 7 {
		t.Errorf("trace %v", tr)
	}
}

// A configuration of another space, or one that breaks a constraint, could be stored but
// never read again.
func TestForeignConfigurationsAreRefused(t *testing.T) {
	ctx := context.Background()
	p := all(t)[0]
	good, err := p.Space.ParseJSON([]byte(`{"cs":64,"uf":4,"ocs":8,"ont":4,"ost":"dynamic","p":[0,1,3,2,4]}`))
	if err != nil {
		t.Fatal(err)
	}
	values := good.Map()
	values["cs"], values["uf"] = 4.0, 8.0
	broken := p.Space.Adopt(values)
	one := mustSpace(t, []space.Param{{Name: "x", Type: space.Integer, Min: 1, Max: 9}})
	foreign, err := one.Parse(map[string]any{"x": 3})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]space.Config{"broken": broken, "foreign": foreign, "none": {}} {
		if _, err := bayes.Open(ctx, p.Space, bayes.Options{Start: []space.Config{good, c}}, nil); err == nil || !strings.Contains(err.Error(), "start configuration 2: ") {
			t.Errorf("%s as a start: %v", name, err)
		}
		s := open(t, p, bayes.Options{}, nil)
		if err := s.Import(ctx, c, bayes.Value(1)); err == nil || !strings.HasPrefix(err.Error(), "import: ") || len(s.Trials()) > 0 {
			t.Errorf("%s imported: %v", name, err)
		}
	}
}

// One element can only be in one order, whatever the metric.
func TestPermutationOfOneElement(t *testing.T) {
	for _, metric := range []string{"", "kendall", "spearman", "hamming"} {
		sp := mustSpace(t, []space.Param{{Name: "p", Type: space.Permutation, Size: 1}})
		s, err := bayes.Open(context.Background(), sp, bayes.Options{Surrogate: bayes.Surrogate{Metric: metric}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := s.Ask(context.Background(), 2)
		if err != nil || len(asked) != 1 {
			t.Fatalf("%s: %v, %v", metric, asked, err)
		}
		if err := s.Tell(context.Background(), asked[0].ID, bayes.Value(1)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ask(context.Background(), 1); !errors.Is(err, bayes.ErrExhausted) {
			t.Errorf("%s: %v", metric, err)
		}
	}
}

func TestImportedTrialsCountAsInitial(t *testing.T) {
	ctx := context.Background()
	p := all(t)[0]
	cold := play(t, p, small(t, "default"), nil, 40)
	s := open(t, p, small(t, "default"), nil)
	for _, tr := range cold.Trials() {
		if err := s.Import(ctx, tr.Config, tr.Outcome); err != nil {
			t.Fatal(err)
		}
	}
	asked, err := s.Ask(ctx, 1)
	if err != nil || asked[0].Origin != "model" {
		t.Fatalf("the first after a warm start is %+v, %v", asked, err)
	}
}

func TestOptionsValidate(t *testing.T) {
	for want, o := range map[string]bayes.Options{
		`unknown method "magic"`:    {Method: "magic"},
		"off or empty":              {Surrogate: bayes.Surrogate{LogObjective: "maybe"}},
		"unknown permutation metri": {Surrogate: bayes.Surrogate{Metric: "cosine"}},
		"initial is -1":             {Initial: -1},
		"candidates is -2":          {Acquisition: bayes.Acquisition{Candidates: -2}},
		"xi is -1":                  {Acquisition: bayes.Acquisition{Xi: -1}},
		"full_every is a growth":    {Surrogate: bayes.Surrogate{FullEvery: 0.5}},
		"off and a penalty":         {Feasibility: bayes.Feasibility{Off: true, Penalty: true}},
		"global is a part of 1":     {Acquisition: bayes.Acquisition{Global: 1.5}},
		"threshold is a prob":       {Feasibility: bayes.Feasibility{Threshold: 2}},
		"belongs to no space":       {Start: []space.Config{{}}},
	} {
		_, err := bayes.Open(context.Background(), all(t)[0].Space, o, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	names, says := bayes.Presets()
	for i, n := range names {
		o, err := bayes.Preset(n)
		if err != nil || o.Validate() != nil || says[i] == "" {
			t.Errorf("preset %s: %v, %v", n, err, o.Validate())
		}
		text, err := json.Marshal(o)
		var back bayes.Options
		if err != nil || json.Unmarshal(text, &back) != nil || fmt.Sprint(back) != fmt.Sprint(o) {
			t.Errorf("preset %s does not survive JSON: %s", n, text)
		}
	}
	if _, err := bayes.Preset("best"); err == nil || !strings.Contains(err.Error(), "ytopt-forest") {
		t.Errorf("unknown preset: %v", err)
	}
}

func TestStoreRefusesAnotherStudy(t *testing.T) {
	ctx := context.Background()
	ps := all(t)
	for name, store := range stores(t) {
		if err := open(t, ps[0], bayes.Options{Seed: 1}, store()).Close(); err != nil {
			t.Fatal(err)
		}
		st := store()
		_, err := bayes.Open(ctx, ps[0].Space, bayes.Options{Seed: 2}, st)
		if !errors.Is(err, bayes.ErrMismatch) || !strings.Contains(err.Error(), `"seed":1`) {
			t.Errorf("%s: another seed: %v", name, err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		st = store()
		_, err = bayes.Open(ctx, ps[1].Space, bayes.Options{Seed: 1}, st)
		if !errors.Is(err, bayes.ErrMismatch) || !strings.Contains(err.Error(), "other parameters or constraints") {
			t.Errorf("%s: another space: %v", name, err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestJSONLinesRepairsATornLine(t *testing.T) {
	p := tiny(t)
	path := filepath.Join(t.TempDir(), "t.jsonl")
	st, err := bayes.OpenJSONLines(path, "study")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bayes.OpenJSONLines(path, "study"); err == nil || !strings.Contains(err.Error(), "another process holds it") {
		t.Errorf("opened twice: %v", err)
	}
	s := play(t, p, bayes.Options{}, st, 5)
	want := configs(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < 60; cut += 7 {
		if err := os.WriteFile(path, append(append([]byte{}, whole...), whole[len(whole)-60:len(whole)-cut]...), 0o644); err != nil {
			t.Fatal(err)
		}
		if st, err = bayes.OpenJSONLines(path, "study"); err != nil {
			t.Fatal(err)
		}
		s := open(t, p, bayes.Options{}, st)
		if got := configs(s); got != want {
			t.Errorf("cut %d: %s", cut, got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.SplitAfter(string(whole), "\n")
	lines[2] = "{\"id\": oops}\n"
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	if st, err = bayes.OpenJSONLines(path, "study"); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := bayes.Open(context.Background(), p.Space, bayes.Options{}, st); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("damaged line: %v", err)
	}
}

// A write that fails half-way leaves no half line before the next; what is no store of ours
// is left alone.
func TestJSONLinesStaysWhole(t *testing.T) {
	p := tiny(t)
	path := filepath.Join(t.TempDir(), "t.jsonl")
	st, err := bayes.OpenJSONLines(path, "study")
	if err != nil {
		t.Fatal(err)
	}
	s := play(t, p, bayes.Options{}, st, 3)
	want := configs(s)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	// Room for a few more bytes, as on a disk that is full.
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	limit := was
	limit.Cur = uint64(info.Size()) + 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Skipf("no limit on files can be set: %v", err)
	}
	_, err = s.Ask(context.Background(), 1)
	if e := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); e != nil {
		t.Fatal(e)
	}
	if err == nil {
		t.Fatal("a full disk is no error")
	}
	if now, err := os.Stat(path); err != nil || now.Size() != info.Size() {
		t.Errorf("%d bytes are left of %d, %v", now.Size(), info.Size(), err)
	}
	if _, err := s.Ask(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err = bayes.OpenJSONLines(path, "study"); err != nil {
		t.Fatal(err)
	}
	s = open(t, p, bayes.Options{}, st)
	if got := configs(s); !strings.HasPrefix(got, want) || len(s.Trials()) != 4 {
		t.Errorf("read again: %s", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	const notes = `{"notes": "of somebody else"}`
	if err := os.WriteFile(path, []byte(notes), 0o644); err != nil {
		t.Fatal(err)
	}
	if st, err = bayes.OpenJSONLines(path, "study"); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := bayes.Open(context.Background(), p.Space, bayes.Options{}, st); err == nil || !strings.Contains(err.Error(), "no store of trials") {
		t.Errorf("notes: %v", err)
	}
	if left, err := os.ReadFile(path); err != nil || string(left) != notes {
		t.Errorf("left of them: %s, %v", left, err)
	}
}

func TestSQLiteHoldsManyStudiesAndNoticesASecondWriter(t *testing.T) {
	ctx := context.Background()
	p := tiny(t)
	path := filepath.Join(t.TempDir(), "t.db")
	var studies []*bayes.Study
	for _, name := range []string{"a", "b", "a"} {
		st, err := bayes.OpenSQLite(ctx, path, name)
		if err != nil {
			t.Fatal(err)
		}
		studies = append(studies, open(t, p, bayes.Options{}, st))
	}
	for i, s := range studies[:2] {
		if _, err := s.Ask(ctx, i+1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := studies[2].Ask(ctx, 1); err == nil || !strings.Contains(err.Error(), "another process works on it") {
		t.Errorf("two writers of one study: %v", err)
	}
	for _, s := range studies {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// failing is a store that cannot write.
type failing struct{ bayes.Store }

func (f failing) Put(context.Context, bayes.Record) error { return errors.New("disk full") }

func TestStoreFailureLosesNothing(t *testing.T) {
	ctx := context.Background()
	p := tiny(t)
	st, err := bayes.OpenJSONLines(filepath.Join(t.TempDir(), "t.jsonl"), "study")
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, p, bayes.Options{}, failing{st})
	if _, err := s.Ask(ctx, 1); err == nil || len(s.Trials()) != 0 {
		t.Errorf("a trial that is not stored was asked: %v", err)
	}
}

func TestSearchBeatsRandom(t *testing.T) {
	p := all(t)[2]
	logs := map[string]float64{}
	for _, name := range []string{"default", "uniform", "bandit"} {
		for seed := range int64(4) {
			o := small(t, name)
			o.Acquisition.Candidates = 300
			o.Seed = seed
			b, _ := play(t, p, o, nil, 50).Best()
			logs[name] += math.Log(b.Outcome.Value) / 4
		}
	}
	if logs["default"] > logs["uniform"]-math.Log(1.5) || logs["default"] > logs["bandit"] {
		t.Errorf("mean logarithms of the best of 50: %v", logs)
	}
}

// TestFeasibilityIsLearned: with the model of hidden constraints at most half as many
// suggestions fail as without it, where enough do to tell.
func TestFeasibilityIsLearned(t *testing.T) {
	p := all(t)[4]
	failed := func(o bayes.Options) (n int) {
		for seed := range int64(3) {
			o.Seed = seed
			for _, tr := range play(t, p, o, nil, 60).Trials()[30:] {
				if tr.Outcome.Status.Failed() {
					n++
				}
			}
		}
		return n
	}
	with, without := small(t, "default"), small(t, "default")
	without.Feasibility.Off = true
	if a, b := failed(with), failed(without); b < 10 || a*2 > b {
		t.Errorf("%d of 90 fail with the model, %d without", a, b)
	}
}

func TestThousandParametersSearch(t *testing.T) {
	var params []space.Param
	for i := range 1000 {
		params = append(params, space.Param{Name: fmt.Sprintf("x%d", i), Type: space.Integer, Min: 0, Max: 9})
	}
	p := problem{Name: "thousand", Space: mustSpace(t, params), Cost: func(c space.Config) bayes.Outcome { return bayes.Value(1 + c.Float("x3")) }}
	s := play(t, p, small(t, "default"), nil, 7)
	if len(s.Trials()) != 7 {
		t.Errorf("%d trials", len(s.Trials()))
	}
}

func TestImportance(t *testing.T) {
	p := all(t)[0]
	p.Cost = func(c space.Config) bayes.Outcome {
		return bayes.Value(problems.Hump(c.Float("cs"), 64, 1) * (1 + 0.1*c.Float("ont")/32))
	}
	s := play(t, p, small(t, "default"), nil, 3)
	ctx := context.Background()
	if _, err := s.Importance(ctx); !errors.Is(err, bayes.ErrTooFew) {
		t.Errorf("with 3 values: %v", err)
	}
	o := small(t, "uniform")
	s = play(t, p, o, nil, 60)
	list, err := s.Importance(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 6 || list[0].Name != "cs" || list[0].Effect < 0.8 || list[2].Effect > 0.15 {
		t.Errorf("importance %+v", list)
	}
	for _, looks := range []int{0, 1, 100} { // before the fit, in it and after it
		if list, err := s.Importance(&ending{ctx, looks}); !errors.Is(err, context.Canceled) || list != nil {
			t.Errorf("interrupted after %d looks: %v, %v", looks, list, err)
		}
	}
}

// TestImportanceOfMany: of many values only some are fitted, the best and others at even
// steps, and the rest change nothing.
func TestImportanceOfMany(t *testing.T) {
	const n, kept = 700, 300
	ctx := context.Background()
	sp := mustSpace(t, []space.Param{{Name: "x", Type: space.Real, Min: 0, Max: 1}, {Name: "y", Type: space.Real, Min: 0, Max: 1}})
	studied := func(value func(i int) float64) *bayes.Study {
		s, err := bayes.Open(ctx, sp, small(t, "uniform"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			c, err := sp.Parse(map[string]any{"x": float64(i) / n, "y": float64(i*11%n) / n})
			if err == nil {
				err = s.Import(ctx, c, bayes.Value(value(i)))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	s := studied(func(i int) float64 { return 1 + float64(i) })
	fitted := map[int]bool{}
	last := 0
	for k, tr := range bayes.Telling(s) {
		// In this study they come in the order of their values.
		if k < kept/2 && tr.ID != k+1 || tr.ID <= last || tr.ID > last+4 {
			t.Errorf("value %d is that of trial %d, after %d", k+1, tr.ID, last)
		}
		last = tr.ID
		fitted[tr.ID] = true
	}
	if len(fitted) != kept || last < n-4 {
		t.Errorf("%d values up to that of trial %d", len(fitted), last)
	}
	want, err := s.Importance(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got, err := studied(func(i int) float64 {
		if fitted[i+1] {
			return 1 + float64(i)
		}
		return 1.5 + float64(i)
	}).Importance(ctx)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, and with others left out %+v", got, err, want)
	}
}

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tunedb"
)

func valid() Options {
	o := Defaults()
	o.Out, o.AppsDir, o.Apps = "out", "testdata/apps", []string{"tiny_blur"}
	return o
}

func TestOptionsAreValidated(t *testing.T) {
	if err := valid().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for want, spoil := range map[string]func(*Options){
		"no application":      func(o *Options) { o.Apps = nil },
		"no method was named": func(o *Options) { o.Methods = nil },
		"a budget of 0s":      func(o *Options) { o.Budget = 0 },
		"limits of other":     func(o *Options) { o.PeerMemory = 0 },
		"1 to 10, not by 11":  func(o *Options) { o.Divide = 11 },
		"1 to 10, not by 0.5": func(o *Options) { o.Divide = 0.5 },
		"0 seeds":             func(o *Options) { o.Repeat = 0 },
		"-1 layers":           func(o *Options) { o.Layers = -1 },
		"between 10 and 9":    func(o *Options) { o.MaxRounds = 9 },
		"0 finalists":         func(o *Options) { o.Finalists = 0 },
		"0 threads":           func(o *Options) { o.Threads = 0 },
		"no folder":           func(o *Options) { o.Out = "" },
	} {
		o := valid()
		spoil(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want one line with %q", err, want)
		}
	}
}

// What there is none of is named, and the rest is known.
func TestTheUnknownIsLeftOut(t *testing.T) {
	o := valid()
	o.Apps = []string{"all", "tiny_blur", "gold", "tiny_layer"}
	o.Methods = []string{"alchemy", "expert", "protuner:gold", "expert", "protuner:mcts_cost+real_30s_reruns"}
	known, unknown := o.Known()
	if !slices.Equal(known.Apps, []string{"all", "tiny_blur", "tiny_layer"}) || !slices.Equal(known.Methods, []string{"expert", "expert"}) {
		t.Errorf("known are %q and %q", known.Apps, known.Methods)
	}
	said := (&LeftOut{unknown}).Error()
	for _, want := range []string{`no application "gold" in testdata/apps`, `no method "alchemy"`, `no method "protuner:gold"`, "compared by the model's"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %q", want, said)
		}
	}
	if len(unknown) != 4 || strings.Contains(said, "\n") {
		t.Errorf("said %q", said)
	}
}

func TestMethodsAreParsed(t *testing.T) {
	for name, want := range map[string]method{
		"protuner":                         {random: true, alone: true},
		"protuner:evolve":                  {random: true, alone: true},
		"protuner:random":                  {random: true, alone: true},
		"protuner:measured:mcts":           {random: true, alone: true},
		"protuner:mcts_30s":                {random: true, alone: true},
		"protuner:mcts_cost+real_1s":       {random: true, alone: true},
		"protuner:beam":                    {alone: true},
		"protuner:greedy":                  {alone: true},
		"protuner:mix_15_1":                {random: true, alone: true},
		"protuner:mix_0_16":                {random: true, alone: true},
		"protuner:beams_16":                {random: true, alone: true},
		"protuner:autotune:mcts_0.5s":      {random: true, alone: true},
		"protuner:autotune:beam":           {random: true, alone: true},
		"protuner:beam_reruns":             {random: true, alone: true},
		"protuner:mcts_30s_reruns":         {random: true, alone: true},
		"protuner:mcts_reruns":             {random: true, alone: true},
		"random":                           {random: true, alone: true},
		"expert":                           {},
		"adams2019:beam":                   {},
		"adams2019:greedy":                 {},
		"adams2019:autotune":               {random: true, alone: true},
		"mullapudi2016":                    {},
		"mullapudi2016:autotune":           {random: true, alone: true},
		"li2018":                           {},
		"protuner:mix_0_0":                 {name: "!"},
		"protuner:mix_1000_1":              {name: "!"},
		"protuner:beams_0":                 {name: "!"},
		"protuner:measured:":               {name: "!"},
		"protuner:measured:alchemy":        {name: "!"},
		"protuner:autotune:":               {name: "!"},
		"protuner:autotune:mcts_cost+real": {name: "!"},
		"protuner:":                        {name: "!"},
		"adams2019":                        {name: "!"},
		"":                                 {name: "!"},
	} {
		got, err := parseMethod(name)
		switch {
		case want.name == "!":
			if err == nil {
				t.Errorf("%q is a method", name)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case got.random != want.random || got.alone != want.alone || got.make == nil:
			t.Errorf("%s: random %v, alone %v", name, got.random, got.alone)
		}
	}
}

// A method may be raced against itself; each time it has a name and a folder of its own.
func TestMethodsGivenTwice(t *testing.T) {
	methods, err := parseMethods([]string{"expert", "protuner:mcts_1s", "expert", "expert"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	folders := map[string]bool{}
	for _, m := range methods {
		names = append(names, m.name)
		folders[folder(m.name)] = true
	}
	if got := strings.Join(names, " "); got != "expert protuner:mcts_1s expert#2 expert#3" || len(folders) != 4 {
		t.Errorf("%s in %v", got, folders)
	}
}

func TestPartsAreRead(t *testing.T) {
	one, err := parts("testdata/apps", "tiny_blur", 0)
	if err != nil || len(one) != 1 || one[0].label() != "tiny_blur" || one[0].times != 1 {
		t.Errorf("tiny_blur: %+v, %v", one, err)
	}
	all, err := parts("testdata/apps", "tiny_layer", 0)
	if err != nil || len(all) != 3 || all[1].label() != "tiny_layer/middle" || all[1].times != 3 || all[1].options.Params[0].Value != "48" {
		t.Fatalf("tiny_layer: %+v, %v", all, err)
	}
	two, err := parts("testdata/apps", "tiny_layer", 2)
	if err != nil || len(two) != 2 || two[0].name != "middle" || two[1].name != "last" || two[0].of != 2 {
		t.Errorf("two layers: %+v, %v", two, err)
	}
	if _, err := parts("testdata/nowhere", "tiny_blur", 0); err == nil || !strings.Contains(err.Error(), "no applications in the folder testdata/nowhere") {
		t.Error(err)
	}
	if _, err := parts("testdata/apps", "alchemy", 0); err == nil || !strings.Contains(err.Error(), `no application "alchemy" in testdata/apps; choose of broken, tiny_blur, tiny_layer, or all`) {
		t.Errorf("got %v", err)
	}
}

// Parts share the budget, but none has less than takes to find anything.
func TestBudgetsAreShared(t *testing.T) {
	o := valid()
	o.Budget, o.Divide = 5*time.Minute, 2
	for want, of := range map[time.Duration]int{150 * time.Second: 1, 15 * time.Second: 10, 10 * time.Second: 100} {
		if got := o.budget(&part{of: of}); got != want {
			t.Errorf("%d parts have %v each, want %v", of, got, want)
		}
	}
	if got := o.peerLimits(&part{of: 1}).Time; got != 150*time.Second {
		t.Errorf("peers have %v", got)
	}
	if o.PeerTime = time.Minute; o.peerLimits(&part{of: 1}).Time != 30*time.Second {
		t.Errorf("peers have %v", o.peerLimits(&part{of: 1}).Time)
	}
}

// Every profile is a comparison that can be run, with times divided by ten at most.
func TestProfilesAreValid(t *testing.T) {
	for _, name := range ProfileNames() {
		p, err := FindProfile(name)
		if err != nil {
			t.Fatal(err)
		}
		o := Defaults()
		p.Set(&o)
		o.Out = "out"
		if err := o.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		o.AppsDir = "../../apps"
		if _, err := o.expand(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, unknown := o.Known(); len(unknown) > 0 {
			t.Errorf("%s: %v", name, unknown)
		}
	}
	if _, err := FindProfile("fig6"); err == nil || !strings.Contains(err.Error(), "choose of adams-ablations, adams8, fig4") {
		t.Errorf("got %v", err)
	}
}

// A race is done with where it has all that there is to race: what was made after it has not
// raced, what failed never does, and what is not there is made first.
func TestRacesAreWhole(t *testing.T) {
	o := valid()
	o.Repeat = 2
	key := func(method string, repeat int) entryKey { return entryKey{"harris", "harris", method, repeat} }
	r := &runner{o: o, methods: []method{{name: "expert"}, {name: "random", random: true}}, entries: map[entryKey]tunedb.BenchEntry{
		key("expert", 1): {Status: measure.OK},
		key("random", 1): {Status: measure.OK},
		key("random", 2): {Status: measure.TimedOut},
	}}
	race := tunedb.BenchRace{App: "harris", Part: "harris", Lanes: []tunedb.BenchLane{{Method: "expert", Repeat: 1}}}
	if r.whole(race) {
		t.Error("a schedule that was made since counts as raced")
	}
	race.Lanes = append(race.Lanes, tunedb.BenchLane{Method: "random", Repeat: 1})
	if !r.whole(race) {
		t.Error("what failed is to be raced")
	}
	race.Lanes[1].Status, race.Lanes[1].Failure = measure.WrongOutput, "wrong_output: it differs"
	if !r.whole(race) {
		t.Error("what failed in the race is to be raced again")
	}
	race.Lanes[1].Status = measure.InfraFailed
	if r.whole(race) {
		t.Error("what the machine failed in the race counts as raced")
	}
	race.Lanes[1].Status = measure.Invalid
	if delete(r.entries, key("random", 2)); r.whole(race) {
		t.Error("what is not there counts as raced")
	}
}

// A folder's run goes on under its own options only; where things lie is none of them,
// and applications and methods may be added.
func TestOtherOptionsAreRefused(t *testing.T) {
	o := valid()
	first, err := json.Marshal(Manifest{Options: o, Command: "protuner bench run"})
	if err != nil {
		t.Fatal(err)
	}
	moved := o
	moved.Out, moved.AppsDir, moved.Apps, moved.Methods = "elsewhere", "other", []string{"unsharp"}, []string{"expert"}
	had, err := sameRun(first, Manifest{Options: moved, Profile: "quick"}, "out")
	if err != nil || !slices.Equal(had.Options.Apps, o.Apps) || !slices.Equal(had.Options.Methods, o.Methods) {
		t.Errorf("%v, %v, %v", had.Options.Apps, had.Options.Methods, err)
	}
	o.Seed = 2
	if _, err := sameRun(first, Manifest{Options: o}, "out"); err == nil || !strings.Contains(err.Error(), "under other options (protuner bench run)") {
		t.Errorf("got %v", err)
	}
	m := Manifest{Options: valid(), Command: "protuner bench run", Halide: "21.0.0", HalideBuild: "12ab", CPU: "one", Host: "2 processors", Program: "v1"}
	if first, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	m.Options.HalideDir, m.Program = "elsewhere", "v2"
	if _, err := sameRun(first, m, "out"); err != nil {
		t.Errorf("the same Halide elsewhere, another protuner: %v", err)
	}
	for want, change := range map[string]func(*Manifest){
		"out holds a run under Halide 21.0.0, and this is 19.0.0; go on with that one (--halide DIR), or name another folder with --out":          func(m *Manifest) { m.Halide = "19.0.0" },
		"out holds a run under the build of Halide 12ab, and this is 34cd; go on with that one (--halide DIR), or name another folder with --out": func(m *Manifest) { m.HalideBuild = "34cd" },
		"out holds a run on the CPU one, and this is two; go on there, or name another folder with --out":                                         func(m *Manifest) { m.CPU = "two" },
		"out holds a run on a machine of 2 processors, and this is 4 processors; go on there, or name another folder with --out":                  func(m *Manifest) { m.Host, m.Options.Threads = "4 processors", 100 },
	} {
		now := m
		change(&now)
		if _, err := sameRun(first, now, "out"); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	m.Options.Weights, m.WeightsHash = "my.weights", "1a"
	if first, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	for hash, want := range map[string]string{"1a": "", "2b": "out holds a run with the weights of my.weights as they were before that file changed; name another folder with --out"} {
		m.WeightsHash = hash
		if _, err := sameRun(first, m, "out"); (err != nil || want != "") && fmt.Sprint(err) != want {
			t.Errorf("with weights %s: %v", hash, err)
		}
	}
	m.Parts = []Part{{App: "hist", Times: 1, Source: "one"}}
	if first, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	for source, refused := range map[string]bool{"one": false, "": false, "two": true} {
		m.Parts[0].Source = source
		if _, err := sameRun(first, m, "out"); (err != nil) != refused || refused && err.Error() != "out holds a run on hist as it was before its files changed; name another folder with --out" {
			t.Errorf("with the files %q: %v", source, err)
		}
	}
	if got := union([]string{"b", "a"}, []string{"c", "a", "a"}); !slices.Equal(got, []string{"b", "a", "c", "a"}) {
		t.Errorf("together %q", got)
	}
}

// TestSchedulersBesideEachOther: none waits for another's core or memory.
func TestSchedulersBesideEachOther(t *testing.T) {
	const whole = int64(6 << 30)
	cores := runtime.NumCPU()
	for _, c := range []struct {
		threads int
		free    int64
		want    int
	}{
		{1, 100 * whole, 1}, {1000, int64(1000*cores) * whole, cores}, {1000, 0, cores}, {1000, whole, 1}, {1000, whole / 2, 1},
	} {
		if got := (Options{Threads: c.threads, PeerMemory: whole}).beside(c.free); got != c.want {
			t.Errorf("%d threads, %d bytes free: %d at once, want %d", c.threads, c.free, got, c.want)
		}
	}
	if free := availableMemory(); free < 1<<20 {
		t.Errorf("%d bytes are free on a machine that runs this", free)
	}
}

// TestOneRunHasAFolder: a second would remove what the first has built.
func TestOneRunHasAFolder(t *testing.T) {
	dir := t.TempDir()
	release, err := hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	var usage *UsageError
	if _, err := hold(dir); !errors.As(err, &usage) || !strings.Contains(err.Error(), "another protuner is working on the run in "+dir) {
		t.Errorf("a second: %v", err)
	}
	release()
	if release, err = hold(dir); err != nil {
		t.Fatalf("once the first is over: %v", err)
	}
	release()
}

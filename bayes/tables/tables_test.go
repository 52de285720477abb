package tables_test

import (
	"bytes"
	"compress/gzip"
	"math"
	"strings"
	"testing"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/tables"
)

// sizes are those of docs/bayes.md; hides says whether some configurations fail.
var sizes = map[string]struct {
	points int
	hides  bool
}{"spmm": {8640, false}, "sddmm": {8960, true}, "spmv": {5000, false}, "ttv": {30720, true}, "mttkrp": {9120, false}, "mm_cpu": {3920, true}}

func TestTables(t *testing.T) {
	names := tables.Names()
	if len(names) != 18 {
		t.Errorf("%d tables, not 6 kernels on 3 inputs: %v", len(names), names)
	}
	for _, name := range names {
		x, err := tables.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		want := sizes[x.Kernel]
		if x.Points != want.points || x.Name() != name || x.CPU == "" || x.Compiler == "" || x.Date == "" {
			t.Errorf("%s: %+v", name, x.Header)
		}
		if hides := x.Failing() > 0; hides != want.hides || x.Failing() > 0.9 {
			t.Errorf("%s: %.1f%% fail", name, 100*x.Failing())
		}
		least := math.Inf(1)
		for _, c := range tables.Configs(x.Space) {
			switch o := x.Outcome(c); {
			case o.Status == bayes.OK:
				least = math.Min(least, o.Value)
			case !o.Status.Failed():
				t.Fatalf("%s: %v has no outcome", name, c)
			}
		}
		if least != x.Best || !(least > 1) || least > 1e5 {
			t.Errorf("%s: the best is %v, said to be %v microseconds", name, least, x.Best)
		}
	}
	if _, err := tables.Load("spmm-nothing"); err == nil || !strings.Contains(err.Error(), "there is no table spmm-nothing; there are ") {
		t.Error(err)
	}
}

func TestConfigsAreAscending(t *testing.T) {
	s, err := tables.Space("mm_cpu")
	if err != nil {
		t.Fatal(err)
	}
	configs := tables.Configs(s)
	if got := configs[0].String(); got != "tile1=2 tile2=2 split=4 vec=2 order=0,1,2,3,4,5" {
		t.Errorf("the first is %s", got)
	}
	if got := configs[1].String(); got != "tile1=2 tile2=2 split=4 vec=2 order=0,1,2,4,3,5" {
		t.Errorf("the second is %s", got)
	}
}

func packed(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // to memory
	_ = z.Close()
	return b.Bytes()
}

func TestReadRefuses(t *testing.T) {
	head := `{"kernel": "spmv", "input": "uniform", "points": 5000}` + "\n"
	for text, want := range map[string]string{
		"":                                 "empty",
		"hello\n":                          "its header",
		`{"kernel": "no"}` + "\n":          "there is no kernel no",
		`{"kernel": "spmv"}` + "\n":        "the space of spmv has 5000",
		head + "12\n":                      "ends after 1 of 5000",
		head + "12\nfast\n":                `line 3: "fast" is neither`,
		head + "-1\n":                      `"-1" is neither`,
		head + "NaN\n":                     `"NaN" is neither`,
		head + strings.Repeat("b\n", 5001): "more than 5001 lines",
	} {
		if _, err := tables.Read(bytes.NewReader(packed(text))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, not %q", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(packed(`{"kernel": "spmv", "input": "uniform", "points": 5000}` + "\n1.5\nb\nw\n"))
	f.Add([]byte("no gzip"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if x, err := tables.Read(bytes.NewReader(data)); err == nil && x.Points == 0 {
			t.Error("a table without points was read")
		}
	})
}

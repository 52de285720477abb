package nn

import (
	"bytes"
	"errors"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func made(seed int64) *Weights { return Random(rand.New(rand.NewSource(seed))) }

func TestWeightsRoundTrip(t *testing.T) {
	w := made(1)
	b := w.Append(nil)
	if len(b) != 17136 { // as long as Halide's own
		t.Fatalf("%d bytes", len(b))
	}
	got, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if *got != *w {
		t.Error("other weights read back")
	}
}

func TestWeightsRefused(t *testing.T) {
	whole := made(1).Append(nil)
	changed := func(at int, v byte) []byte {
		b := bytes.Clone(whole)
		b[at] = v
		return b
	}
	for _, c := range []struct {
		file []byte
		says string
	}{
		{nil, "ends before the magic number"},
		{whole[:100], "ends before the end of head1 filter"},
		{append(bytes.Clone(whole), 0), "1 bytes follow"},
		{changed(0, 0), "the magic number is"},
		{changed(4, 2), "the version of the pipeline features is 2, not 3"},
		{changed(8, 4), "the version of the schedule features is 4, not 3"},
		{changed(12, 5), "the number of buffers is 5"},
		{changed(24, 41), "extent 1 of head1 filter is 41, not 40"},
		{append(bytes.Clone(whole[:len(whole)-4]), 0, 0, 0xc0, 0x7f), "number 31 of conv1 bias is NaN"},
	} {
		if _, err := Parse(c.file); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want %q, got %v", c.says, err)
		}
	}
}

// A file that holds no weights says its name, and what about it is wrong.
func TestReadFileRefuses(t *testing.T) {
	whole := made(1).Append(nil)
	version := bytes.Clone(whole)
	version[4] = 2
	shape := bytes.Clone(whole)
	shape[20] = 9
	dir := t.TempDir()
	for name, c := range map[string]struct {
		file []byte
		says string
	}{
		"empty":     {nil, "ends before the magic number"},
		"text":      {[]byte("weights, honestly"), "the magic number is"},
		"program":   {[]byte("\x7fELF and nothing else"), "no weights of feature version 3"},
		"version":   {version, "the version of the pipeline features is 2, not 3"},
		"shape":     {shape, "extent 0 of head1 filter is 9, not 8"},
		"truncated": {whole[:len(whole)-1], "the file ends before the end of conv1 bias"},
		"longer":    {append(bytes.Clone(whole), whole...), "17136 bytes follow"},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, c.file, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(file); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: want %q, got %v", name, c.says, err)
		}
	}
	for _, file := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := ReadFile(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// Weights are found in the middle of other data, also behind something that begins
// like them.
func TestFind(t *testing.T) {
	w := made(2)
	whole := w.Append(nil)
	b := append([]byte("\x7fELF code 1fwh"), whole[:60]...)
	b = append(append(b, whole...), "more"...)
	got, err := Find(b)
	if err != nil || *got != *w {
		t.Errorf("not found: %v", err)
	}
	file := filepath.Join(t.TempDir(), "plugin.so")
	if err := os.WriteFile(file, b[:len(b)-10], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(file); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), file) {
		t.Errorf("half of them found: %v", err)
	}
	if err := os.WriteFile(file, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err = ReadFile(file); err != nil || *got != *w {
		t.Errorf("the file was not read: %v", err)
	}
}

// The network against the sums written out in double.
func TestCoefficientsAgainstDefinition(t *testing.T) {
	w := made(3)
	n := New(w)
	rng := rand.New(rand.NewSource(4))
	counts := make([]int32, Ops*Types)
	for i := range counts {
		if rng.Intn(3) == 0 {
			counts[i] = int32(rng.Intn(20))
		}
	}
	features := drawn(rng)
	var f [Padded]float32
	var got [Outputs]float32
	if !n.Coefficients(n.Stage(counts), &features, &f, &got) {
		t.Fatal("good features refused")
	}
	for k, v := range f {
		if k < Inputs && v != float32(features[k]) || k >= Inputs && v != 0 {
			t.Errorf("feature %d is %g", k, v)
		}
	}
	var both [Algorithm + Schedule]float64
	for c := range Algorithm {
		both[c] = float64(w.Head1Bias[c])
		for op := range Ops {
			for typ := range Types {
				f := 1 / (1 + math.Exp(-float64(w.Head1Filter[c+Algorithm*(op+Ops*typ)])))
				both[c] += f * float64(counts[op*Types+typ])
			}
		}
	}
	for c := range Schedule {
		v := float64(w.Head2Bias[c])
		for k := range Inputs {
			v += float64(w.Head2Filter[c+Schedule*k]) * math.Log(features[k]+1)
		}
		both[Algorithm+c] = max(0, v)
	}
	positive := 0
	for c := range Outputs {
		want := float64(w.Conv1Bias[c])
		for i, v := range both {
			want += float64(w.Conv1Filter[c+Outputs*i]) * v
		}
		want = max(0, want)
		if want > 0 {
			positive++
		}
		if math.Abs(float64(got[c])-want) > 1e-3 {
			t.Errorf("coefficient %d is %g, not %g", c, got[c], want)
		}
	}
	if positive < 5 {
		t.Errorf("only %d coefficients are positive: the test shows little", positive)
	}
}

func FuzzParse(f *testing.F) {
	whole := made(1).Append(nil)
	f.Add(whole)
	f.Add(whole[:200])
	f.Add([]byte("hwf1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if w, err := Parse(b); err == nil && !bytes.Equal(w.Append(nil), b) {
			t.Error("another file written than read")
		}
		if w, err := Find(b); err == nil && !bytes.Contains(b, w.Append(nil)) {
			t.Error("weights found that are not there")
		}
	})
}

func BenchmarkCoefficients(b *testing.B) {
	n := New(made(1))
	s := n.Stage(make([]int32, Ops*Types))
	in := drawn(rand.New(rand.NewSource(1)))
	var f [Padded]float32
	var out [Outputs]float32
	for name, do := range kernels {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do(&n.w, s, &in, &f, &out)
			}
		})
	}
}

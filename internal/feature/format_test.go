package feature_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/pipeline"
)

// What is written of our features is, byte for byte, what Adams2019 wrote.
func TestFilesAreTheSameBytes(t *testing.T) {
	for _, g := range goldens(t) {
		rows, err := feature.Rows(g.State.Pipeline(), feature.New(g.State.Space()).Features(g.State, nil))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(feature.AppendFeaturization(nil, rows), g.file) {
			t.Errorf("%s: another file", g.Name)
		}
	}
}

func TestSampleRoundTrip(t *testing.T) {
	g := goldens(t)[0]
	want := feature.Sample{Rows: g.rows, Milliseconds: 1.25, Pipeline: -7, Schedule: 1 << 30}
	b := feature.AppendSample(nil, want)
	if len(b) != len(g.file)+12 || !bytes.Equal(b[:len(g.file)], g.file) {
		t.Fatalf("%d bytes for a featurization of %d", len(b), len(g.file))
	}
	got, err := feature.ParseSample(b)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Rows, want.Rows) || got.Milliseconds != want.Milliseconds || got.Pipeline != want.Pipeline || got.Schedule != want.Schedule {
		t.Errorf("read back %v %d %d", got.Milliseconds, got.Pipeline, got.Schedule)
	}
}

func TestFilesRefused(t *testing.T) {
	g := goldens(t)[0]
	bad := slices.Clone(g.file)
	binary.LittleEndian.PutUint32(bad[4*feature.NumVectors:], math.Float32bits(float32(math.NaN())))
	for name, c := range map[string]struct {
		file []byte
		says string
	}{
		"empty":     {nil, "0 bytes"},
		"truncated": {g.file[:len(g.file)-1], "no whole number of stages"},
		"NaN":       {bad, "stage 0: feature num_vectors is NaN"},
	} {
		if _, err := feature.ParseFeaturization(c.file); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := feature.ParseSample(g.file[:8]); err == nil {
		t.Error("a sample of 8 bytes was read")
	}
	if _, err := feature.ParseSample(append(slices.Clone(g.file), make([]byte, 12)...)); err == nil || !strings.Contains(err.Error(), "run time") {
		t.Errorf("a run time of nothing: %v", err)
	}
	if _, err := feature.Rows(g.State.Pipeline(), nil); err == nil {
		t.Error("features of no stages joined")
	}
}

// Files say their names where they cannot be read: those that are not there,
// truncated, foreign, or of another pipeline.
func TestReadFilesRefuses(t *testing.T) {
	gs := goldens(t)
	g, other := gs[0], gs[0]
	for _, o := range gs {
		if len(o.rows) != len(g.rows) {
			other = o
		}
	}
	sample := feature.AppendSample(nil, feature.Sample{Rows: g.rows, Milliseconds: 1})
	dir := t.TempDir()
	file := filepath.Join(dir, "x")
	for name, c := range map[string]struct {
		file []byte
		p    *pipeline.Pipeline
		says string
	}{
		"truncated":        {g.file[:len(g.file)-4], g.State.Pipeline(), "no whole number of stages"},
		"foreign":          {bytes.Repeat([]byte("\xff"), len(g.file)), g.State.Pipeline(), "stage 0: feature num_realizations is NaN"},
		"another pipeline": {g.file, other.State.Pipeline(), "has " + strconv.Itoa(len(other.rows))},
	} {
		for what, read := range map[string]func([]byte) error{
			"featurization": func(b []byte) error { _, err := feature.ReadFeaturization(file, c.p); return err },
			"sample":        func(b []byte) error { _, err := feature.ReadSample(file, c.p); return err },
		} {
			b := c.file
			if what == "sample" {
				b = append(slices.Clone(b), sample[len(g.file):]...)
			}
			if err := os.WriteFile(file, b, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := read(b); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s, %s: want %q, got %v", what, name, c.says, err)
			}
		}
	}
	if err := os.WriteFile(file, sample, 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := feature.ReadSample(file, g.State.Pipeline()); err != nil || s.Milliseconds != 1 || !slices.Equal(s.Rows, g.rows) {
		t.Errorf("a good sample is not read: %v", err)
	}
	if _, err := feature.ReadFeaturization(file+"none", g.State.Pipeline()); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestCheckTellsPipelinesApart(t *testing.T) {
	g := goldens(t)[0]
	if err := feature.Check(g.rows[1:], g.State.Pipeline()); err == nil || !strings.Contains(err.Error(), "stages") {
		t.Errorf("a stage less: %v", err)
	}
	rows := slices.Clone(g.rows)
	rows[0].Pipeline[40]++
	if err := feature.Check(rows, g.State.Pipeline()); err == nil || !strings.Contains(err.Error(), "another pipeline") {
		t.Errorf("another operation: %v", err)
	}
}

func TestEveryFeatureIsNamed(t *testing.T) {
	seen := map[string]bool{}
	for k := range feature.NumSchedule + feature.NumPipeline {
		name := feature.FeatureName(k)
		if name == "" || seen[name] {
			t.Errorf("feature %d is named %q", k, name)
		}
		seen[name] = true
	}
	for k, info := range feature.Table {
		if info.Unit == "" || info.Meaning == "" {
			t.Errorf("feature %d has no unit or meaning", k)
		}
	}
	if got := feature.FeatureName(feature.NumSchedule + 7*5 + 5); got != pipeline.FeatureRows[5]+".float" {
		t.Errorf("an addition of floats is named %s", got)
	}
}

func FuzzParseFeaturization(f *testing.F) {
	g := goldens(f)[0]
	f.Add(g.file[:1304])
	f.Add(g.file[:1000])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := feature.ParseFeaturization(b)
		if err == nil && len(feature.AppendFeaturization(nil, rows)) != len(b) {
			t.Errorf("%d bytes read as %d stages", len(b), len(rows))
		}
	})
}

func FuzzParseSample(f *testing.F) {
	g := goldens(f)[0]
	f.Add(feature.AppendSample(nil, feature.Sample{Rows: g.rows[:1], Milliseconds: 3, Pipeline: 1, Schedule: 2}))
	f.Add(make([]byte, 12))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := feature.ParseSample(b)
		if err != nil {
			return
		}
		again, err := feature.ParseSample(feature.AppendSample(nil, s))
		if err != nil || !slices.Equal(again.Rows, s.Rows) {
			t.Errorf("not read back: %v", err)
		}
	})
}

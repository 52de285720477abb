package feature_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
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
	if _, err := feature.Rows(g.State.Pipeline(), nil); err == nil {
		t.Error("features of no stages joined")
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

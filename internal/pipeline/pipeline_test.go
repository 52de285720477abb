package pipeline

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// goldens are real descriptions, by file name.
func goldens(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.h*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden descriptions: %v", err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = b
	}
	return out
}

func TestGoldensRoundTrip(t *testing.T) {
	for name, b := range goldens(t) {
		p, err := Decode(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(again, bytes.TrimSpace(b)) {
			t.Errorf("%s: marshalled differently:\n%s", name, diff(again, b))
		}
		q, err := Decode(again)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(p, q) {
			t.Errorf("%s: changed by a round trip", name)
		}
	}
}

// diff shows where two texts part.
func diff(a, b []byte) string {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			lo := max(0, i-60)
			return string(a[lo:min(len(a), i+60)]) + "\n" + string(b[lo:min(len(b), i+60)])
		}
	}
	return "one is a prefix of the other"
}

package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/protuner/protuner/internal/schedule"
)

// goldens lists the descriptions that internal/pipeline/testdata holds, and what is
// refused.
type goldens struct {
	Target       string
	Versions     []int
	Descriptions []golden
	Refusals     []golden
}

type golden struct {
	Name, Source, Generator, Error string
	Params                         []string
	Structure                      []schedule.Directive
}

func (g golden) String() string {
	if g.Name != "" {
		return g.Name
	}
	return strings.Join(append([]string{g.Generator}, g.Params...), ",")
}

const goldenDir = "../pipeline/testdata"

func readGoldens(t *testing.T) goldens {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(goldenDir, "goldens.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all goldens
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// opened keeps one Generator for each source, so that each is compiled and asked
// for its names once, whichever test needs it first.
type opened struct {
	mu sync.Mutex
	of map[string]*source
}

type source struct {
	once sync.Once
	gen  *Generator // nil where it could not be opened
}

func (o *opened) get(t *testing.T, version, target string, g golden) *Generator {
	t.Helper()
	k := version + " " + g.Source
	o.mu.Lock()
	if o.of[k] == nil {
		o.of[k] = &source{}
	}
	from := o.of[k]
	o.mu.Unlock()
	from.once.Do(func() {
		from.gen = openApp(t, version, filepath.Join("..", "..", g.Source), Options{Name: g.Generator})
	})
	if from.gen == nil {
		t.Fatalf("%s was not opened by another test", g.Source)
	}
	out := *from.gen
	out.Name, out.Params = g.Generator, []Param{{"target", target}}
	for _, p := range g.Params {
		name, value, _ := strings.Cut(p, "=")
		out.Params = append(out.Params, Param{name, value})
	}
	return &out
}

// Outputs are computed at root, whether or not the Generator says so.
func TestOutputsMayBeAtRoot(t *testing.T) {
	needsHalide(t)
	everyVersion(t, func(t *testing.T, version string) {
		g := openApp(t, version, testGenerators, Options{Name: "already_scheduled", Params: []Param{{"how", "output"}}})
		if _, err := g.Describe(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What code may count on is part of the algorithm; what it may count on anyway is not.
func TestPromisesChangeTheHash(t *testing.T) {
	needsHalide(t)
	everyVersion(t, func(t *testing.T, version string) {
		promised := map[string]string{} // by hash
		for _, also := range []string{"nothing", "bytes", "alignment", "output", "least", "most", "requirement"} {
			p, err := openApp(t, version, testGenerators, Options{Name: "promises", Params: []Param{{"also", also}}}).Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			before, ok := promised[p.Algorithm]
			if promised[p.Algorithm] = also; ok != (also == "bytes") || ok && before != "nothing" {
				t.Errorf("%q has the hash of %q", also, before)
			}
		}
	})
}

// TestDescriptionsAreGolden describes every pipeline of the list under both
// versions and compares the bytes.
func TestDescriptionsAreGolden(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
	all := readGoldens(t)
	sources := &opened{of: map[string]*source{}}
	for _, major := range all.Versions {
		version := fmt.Sprintf("%d.0.0", major)
		for _, g := range all.Descriptions {
			t.Run(fmt.Sprintf("%s.h%d", g, major), func(t *testing.T) {
				t.Parallel()
				got, err := sources.get(t, version, all.Target, g).describe(t.Context(), g.Structure)
				if err != nil {
					t.Fatal(err)
				}
				file := filepath.Join(goldenDir, fmt.Sprintf("%s.h%d.json", g, major))
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				var compact bytes.Buffer
				if err := json.Compact(&compact, got); err != nil {
					t.Fatal(err)
				}
				compact.WriteByte('\n')
				if !bytes.Equal(compact.Bytes(), want) {
					at := 0
					for at < min(compact.Len(), len(want)) && compact.Bytes()[at] == want[at] {
						at++
					}
					from := max(0, at-80)
					t.Errorf("%s differs at byte %d:\ngot  %s\nwant %s", file, at,
						compact.Bytes()[from:min(compact.Len(), at+80)], want[from:min(len(want), at+80)])
				}
			})
		}
		for _, g := range all.Refusals {
			t.Run(fmt.Sprintf("refused/%s.h%d", g, major), func(t *testing.T) {
				t.Parallel()
				_, err := sources.get(t, version, all.Target, g).describe(t.Context(), g.Structure)
				var ge *GeneratorError
				if !errors.As(err, &ge) || ge.Reason != g.Error {
					t.Errorf("got %v\nwant %s", err, g.Error)
				}
			})
		}
	}
}

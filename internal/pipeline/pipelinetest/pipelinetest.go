// Package pipelinetest gives the tests of other packages the golden descriptions of
// package pipeline.
package pipelinetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// Folder is a folder of golden files.
type Folder string

// Beside is the folder that lies so from that of the source file which asks, whichever
// package's tests run.
func Beside(path ...string) Folder {
	_, here, _, _ := runtime.Caller(1)
	return Folder(filepath.Join(filepath.Dir(here), filepath.Join(path...)))
}

// Names names the files of a pattern, without what their names end with.
func (f Folder) Names(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(string(f), pattern))
	if err != nil || len(files) < 6 {
		t.Fatalf("%d goldens %s, %v", len(files), pattern, err)
	}
	var out []string
	for _, file := range files {
		out = append(out, strings.TrimSuffix(filepath.Base(file), filepath.Ext(pattern)))
	}
	return out
}

// Read reads a file of it.
func (f Folder) Read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(string(f), file))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var dir = Beside("..", "testdata")

// Described is the golden description of that name ("harris.h21": harris as Halide
// 21 has it), with the directives that it was made after.
func Described(t testing.TB, name string) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.Decode(dir.Read(t, name+".json"))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p.WithStructure(structure(t, name))
}

// Binding is what schedules of the golden description of that name are tied to: the Funcs
// and loops as they are before the directives that it was made after.
func Binding(t testing.TB, name string) schedule.Binding {
	t.Helper()
	p := Described(t, name)
	if base, _, ok := strings.Cut(name, "_"); ok && len(p.Structure) > 0 {
		_, version, _ := strings.Cut(name, ".")
		p = Described(t, base+"."+version)
	}
	return p.Binding()
}

// Names names the golden descriptions of Halide 21.
func Names(t testing.TB) []string {
	t.Helper()
	return dir.Names(t, "*.h21.json")
}

// structure gives the directives that a golden was described after.
func structure(t testing.TB, name string) []string {
	t.Helper()
	var all struct {
		Descriptions []struct {
			Name      string
			Structure []schedule.Directive
		}
	}
	if err := json.Unmarshal(dir.Read(t, "goldens.json"), &all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range all.Descriptions {
		if base, _, _ := strings.Cut(name, "."); base == d.Name {
			for _, s := range d.Structure {
				out = append(out, s.String())
			}
		}
	}
	return out
}

// Package lint holds the rules that every other package keeps, as tests.
package lint

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/protuner/protuner"

// rooms in the order in which data flows: a package imports only what stands
// before it. bayes imports nothing of ours.
var rooms = []string{
	"schedule", "pipeline", "nn", "space", "feature", "cost", "search", "bayes", "randprog", "bridge",
	"measure", "tunedb", "fleet", "train", "tune", "bench", "report", "cmd", "claims", "apps",
}

// room of a package; empty for the module's root, which only carries the C++
// sources, and for lint.
func room(path string) string {
	rest, ok := strings.CutPrefix(path, module+"/")
	if !ok {
		return ""
	}
	rest = strings.TrimPrefix(rest, "internal/")
	name, _, _ := strings.Cut(rest, "/")
	if name == "lint" {
		return ""
	}
	return name
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = root(t)
	var words bytes.Buffer // what is downloaded, say
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &words)
	}
	return out
}

func TestDataFlowsOneWay(t *testing.T) {
	type pkg struct {
		ImportPath string
		Imports    []string
	}
	dec := json.NewDecoder(bytes.NewReader(run(t, "go", "list", "-json=ImportPath,Imports", "./...")))
	for dec.More() {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		from := room(p.ImportPath)
		if from == "" {
			continue
		}
		at := slices.Index(rooms, from)
		if at < 0 {
			t.Errorf("%s is in no room of the list", p.ImportPath)
			continue
		}
		for _, i := range p.Imports {
			to := room(i)
			if to == "" || to == from {
				continue
			}
			if from == "bayes" {
				t.Errorf("%s imports %s: bayes stands alone", p.ImportPath, i)
			}
			if slices.Index(rooms, to) >= at {
				t.Errorf("%s imports %s, which stands to its right", p.ImportPath, i)
			}
		}
	}
}

func TestFormatted(t *testing.T) {
	if out := run(t, "gofmt", "-l", "."); len(out) > 0 {
		t.Errorf("not formatted; run gofmt -w on:\n%s", out)
	}
}

func TestVetAndStaticcheck(t *testing.T) {
	run(t, "go", "vet", "./...")
	run(t, "go", "tool", "staticcheck", "./...")
}

// leftovers of work that was not done, and names of hosts that installs must not
// depend on.
var leftovers = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b|not implemented|(proxy\.golang|pypi|registry\.npmjs|deb\.debian)\.(org|io)`)

func TestNothingIsLeftOver(t *testing.T) {
	err := filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "bin", "out", "testdata"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".cpp", ".h", ".md", ".sh", ".py", ".sql", ""}, filepath.Ext(path)) || strings.HasSuffix(path, "lint_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if m := leftovers.Find(text); m != nil {
			t.Errorf("%s holds %q", path, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Long files have more than one purpose.
func TestFilesAreShort(t *testing.T) {
	const most = 800
	for _, dir := range []string{"internal", "bayes", "cmd", "halide"} {
		err := filepath.WalkDir(filepath.Join(root(t), dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".go", ".cpp", ".h"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			if n := bytes.Count(text, []byte("\n")); n > most {
				t.Errorf("%s has %d lines, more than %d: split it", path, n, most)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

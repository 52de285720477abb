package tune

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What was built takes the place of what is there, and nothing else is touched but a
// .schedule.h of another winner's where the Generator's own schedule is what was built.
func TestPublishing(t *testing.T) {
	type files map[string]string // contents
	library := files{"f.a": "new", "f.h": "new"}
	whole := files{"f.a": "new", "f.h": "new", "f.schedule.h": "new"}
	write := func(content files) string {
		t.Helper()
		dir := t.TempDir()
		for file, text := range content {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for name, c := range map[string]struct {
		kept        bool
		built, want files
	}{
		"a winner":                   {false, whole, files{"f.a": "new", "f.h": "new", "f.schedule.h": "new", "notes": "old"}},
		"one without its schedule":   {false, library, files{"f.a": "new", "f.h": "new", "f.schedule.h": "old", "notes": "old"}},
		"the Generator's own stands": {true, library, files{"f.a": "new", "f.h": "new", "notes": "old"}},
	} {
		u := &tuner{o: valid(), report: &Report{Kept: c.kept}}
		u.o.Function, u.o.Out = "ours::f", write(files{"f.a": "old", "f.schedule.h": "old", "notes": "old"})
		if err := u.publish(write(c.built)); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(u.o.Out)
		if err != nil {
			t.Fatal(err)
		}
		left := files{}
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(u.o.Out, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			left[e.Name()] = string(text)
		}
		if !maps.Equal(left, c.want) {
			t.Errorf("%s: there is %v, not %v", name, left, c.want)
		}
		var moved []string
		for _, file := range slices.Sorted(maps.Keys(c.built)) {
			moved = append(moved, filepath.Join(u.o.Out, file))
		}
		if !slices.Equal(u.report.Files, moved) || u.report.Out != u.o.Out {
			t.Errorf("%s: told of %v in %s, not %v", name, u.report.Files, u.report.Out, moved)
		}
	}
}

// Where not all can be written the report names no files, and whatever cannot be replaced stays
// as it is, with nothing beside it.
func TestUnwritableFiles(t *testing.T) {
	built, out := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(built, "f.a"), filepath.Join(built, "f.h"), filepath.Join(out, "notes")} {
		if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"f.h", filepath.Join(".protuner-notes", "taken")} {
		if err := os.MkdirAll(filepath.Join(out, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	u := &tuner{o: valid(), report: &Report{}}
	u.o.Out = out
	if err := u.publish(built); err == nil || u.report.Out != "" || len(u.report.Files) > 0 {
		t.Errorf("%v, told of %v in %q", err, u.report.Files, u.report.Out)
	}
	if err := WriteWhole(filepath.Join(out, "notes"), []byte("new")); err == nil {
		t.Error("written where there is no room beside it")
	}
	if text, err := os.ReadFile(filepath.Join(out, "notes")); err != nil || string(text) != "text" {
		t.Errorf("what was there is %q, %v", text, err)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{".protuner-notes", "f.a", "f.h", "notes"}; !slices.Equal(left, want) {
		t.Errorf("there is %v, not %v", left, want)
	}
}

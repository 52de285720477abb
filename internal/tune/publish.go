package tune

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/protuner/protuner/internal/bridge"
)

// emission is what a winner's folder holds.
func (t *tuner) emission(out string) bridge.Emission {
	outputs := slices.Clone(standardOutputs)
	for _, e := range t.o.Emit {
		if !slices.Contains(outputs, e) {
			outputs = append(outputs, e)
		}
	}
	return bridge.Emission{Dir: out, Function: t.function(), Outputs: outputs}
}

// keepOwn hands back the Generator's own schedule. There is no .schedule.h of it.
func (t *tuner) keepOwn(ctx context.Context, out string) error {
	e := t.emission(out)
	e.Outputs = slices.DeleteFunc(e.Outputs, func(o string) bool { return o == "schedule" })
	if err := os.Remove(filepath.Join(out, t.plainName()+".schedule.h")); err != nil {
		return err
	}
	t.events.note("the Generator's own schedule leads the race, so it is handed back as it stands")
	return t.gen.Emit(ctx, "", nil, t.o.BaselineLimits, e)
}

// publish moves what was built into the user's folder, each file once it is whole: what an
// earlier run left there stays until there is something in its place.
func (t *tuner) publish(built string) error {
	out, err := filepath.Abs(t.o.Out)
	if err != nil {
		return err
	}
	if err := bridge.Writable(out); err != nil {
		return err
	}
	entries, err := os.ReadDir(built)
	if err != nil {
		return err
	}
	var files []string
	for _, e := range entries {
		to := filepath.Join(out, e.Name())
		if err := put(filepath.Join(built, e.Name()), to); err != nil {
			return err
		}
		files = append(files, to)
	}
	if t.report.Kept { // of which there is no .schedule.h, but one of another winner's may be there
		if err := os.Remove(filepath.Join(out, t.plainName()+".schedule.h")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	t.report.Out, t.report.Files = out, files // all of them
	return nil
}

// put copies a file, which may be to another file system.
func put(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return WriteWhole(to, content)
}

// WriteWhole writes a file beside its place and moves it there once it is whole: where that
// fails, what is there stays.
func WriteWhole(path string, content []byte) error {
	beside := filepath.Join(filepath.Dir(path), ".protuner-"+filepath.Base(path))
	err := os.WriteFile(beside, content, 0o644)
	if err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		os.Remove(beside)
	}
	return err
}

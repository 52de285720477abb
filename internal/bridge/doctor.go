package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Check is one thing that protuner needs or can use.
type Check struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`          // what is there, or why it is not
	Mend  string `json:"mend,omitempty"` // the command that mends it, or that would get more
}

// Doctor looks at everything protuner needs, and really compiles its plugin.
func Doctor(ctx context.Context, halideDir string) []Check {
	var out []Check
	add := func(name string, err error, found string) bool {
		var missing *MissingError
		switch {
		case err == nil:
			out = append(out, Check{Name: name, OK: true, Found: found})
		case errors.As(err, &missing):
			out = append(out, Check{Name: name, Found: missing.Why, Mend: missing.Mend})
		default:
			out = append(out, Check{Name: name, Found: err.Error()})
		}
		return err == nil
	}
	h, err := FindHalide(halideDir)
	if !add("Halide", err, "") {
		return out
	}
	found := &out[len(out)-1]
	found.Found = fmt.Sprintf("%s in %s", h.Version, h.Root)
	if !slices.Contains(TestedVersions, h.Version) {
		found.Mend = "protuner is tested on " + strings.Join(TestedVersions, " and ") + "; this one may work"
	}
	gengen := error(nil)
	if h.GenGen == "" {
		gengen = &MissingError{What: "GenGen", Why: "it is needed to compile a Generator's .cpp; built Generators work without", Mend: mendHalide()}
	}
	add("GenGen", gengen, h.GenGen)
	var plugins []string
	for name := range h.Plugins {
		plugins = append(plugins, name)
	}
	slices.Sort(plugins)
	if len(plugins) == 0 {
		plugins = []string{"none: there will be no baselines but the Generator's own schedule"}
	}
	add("autoschedulers", nil, strings.Join(plugins, ", "))

	cache := DefaultCache()
	t, err := NewToolchain(h, cache)
	if !add("C++ compiler", err, "") {
		return out
	}
	out[len(out)-1].Found = t.Compiler + ": " + t.identity
	add("linker", nil, t.Linker)
	if !add("cache", runnable(cache.Dir), cache.Dir) {
		out[len(out)-1].Mend = "name a folder that can be written, and programs run from, in " + cacheVariable
		return out
	}
	plugin, err := t.Plugin(ctx, false)
	add("plugin", err, plugin)
	if !add("scratch", runnable(os.TempDir()), os.TempDir()) {
		out[len(out)-1].Mend = "name a folder that can be written, and programs run from, in TMPDIR"
	}
	return out
}

// runnable says whether files can be written to a folder, which it makes, and run from there.
func runnable(dir string) error {
	if err := Writable(dir); err != nil {
		return err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if fs.Flags&unix.ST_NOEXEC != 0 {
		return fmt.Errorf("%s is mounted noexec: no program there can be run", dir)
	}
	return nil
}

// Writable makes a folder, and sure that files can be written to it.
func Writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".protuner-")
	if err != nil {
		return err
	}
	return cmp.Or(probe.Close(), os.Remove(probe.Name()))
}

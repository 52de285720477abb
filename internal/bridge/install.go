package bridge

import (
	"bufio"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Halide is one installation of Halide: a wheel, an install tree or a system
// package.
type Halide struct {
	Root    string            // what was named or found
	Version string            // of its header, e.g. "21.0.0"
	Build   string            // of its library: another where it was built anew under the same version
	Include string            // holds Halide.h
	Lib     string            // holds libHalide.so
	GenGen  string            // libHalide_GenGen.a or its source; empty if it has none
	Tools   string            // holds RunGenMain.cpp; empty if it has none
	Plugins map[string]string // autoscheduler name (adams2019, ...) to its library
}

// DefaultVersion is the Halide that `make` installs and that protuner prefers
// where it finds several.
const DefaultVersion = "21.0.0"

// TestedVersions are those the tests run on; others that compile are welcome.
var TestedVersions = []string{"21.0.0", "19.0.0"}

// A MissingError says what is not there and the command that mends it.
type MissingError struct {
	What  string
	Why   string
	Mend  string
	Named bool // the user named it, and wrongly
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: %s; %s", e.What, e.Why, e.Mend)
}

// Lacking says whether the machine lacks what err names; if not it is the user's to mend.
func Lacking(err error) bool {
	var missing *MissingError
	return errors.As(err, &missing) && !missing.Named
}

// mendHalide is the command that installs the default Halide where FindHalide
// looks for it; it needs no root.
func mendHalide() string {
	return "install it with `python3 -m pip install --target " + ownDefault() + " --upgrade --no-deps halide==" +
		DefaultVersion + "`, or name an installation with --halide DIR"
}

// dataVariable names another folder for DataDir.
const dataVariable = "PROTUNER_DATA"

// DataDir is where protuner keeps what outlives a run besides databases: Halide
// installations that `make` unpacked. PROTUNER_DATA overrides it. Without a home it is in
// the system's temporary folder, of which FindHalide takes only what others cannot have put
// there.
func DataDir() string {
	if d := os.Getenv(dataVariable); d != "" {
		return d
	}
	if d := os.Getenv("XDG_DATA_HOME"); d != "" {
		return filepath.Join(d, "protuner")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return temporary()
	}
	return filepath.Join(home, ".local", "share", "protuner")
}

// FindHalide returns the installation that dir names, or else the first of
// PROTUNER_HALIDE, Halide_ROOT, protuner's own data directory (default version
// first), the Python environment and the system's prefixes. The error is a
// *MissingError.
func FindHalide(dir string) (*Halide, error) {
	for _, named := range []struct{ from, dir string }{
		{"--halide", dir},
		{"PROTUNER_HALIDE", os.Getenv("PROTUNER_HALIDE")},
		{"Halide_ROOT", os.Getenv("Halide_ROOT")},
	} {
		if named.dir == "" {
			continue
		}
		h, err := openHalide(named.dir)
		if err != nil {
			return nil, &MissingError{"Halide", fmt.Sprintf("%s names %s, but %v", named.from, named.dir, err), mendHalide(), true}
		}
		return h, nil
	}
	for _, d := range usualPlaces() {
		h, err := openHalide(d)
		switch {
		case err != nil && d == ownDefault() && exists(d): // another version would take its place unsaid
			return nil, &MissingError{What: "Halide", Why: "what is in " + d + " is not whole: " + err.Error(), Mend: mendHalide()}
		case err != nil:
			continue
		}
		if data := DataDir(); strings.HasPrefix(d, data+"/") {
			if err := checkTemporary(data, dataVariable); err != nil {
				return nil, err
			}
		}
		return h, nil
	}
	return nil, &MissingError{What: "Halide", Why: "no installation was found", Mend: mendHalide()}
}

// ownDefault is where `make` and mendHalide put the default version.
func ownDefault() string { return filepath.Join(DataDir(), "halide", DefaultVersion) }

func usualPlaces() []string {
	places := []string{ownDefault()}
	others, _ := filepath.Glob(filepath.Join(filepath.Dir(ownDefault()), "*"))
	slices.Sort(others)
	slices.Reverse(others)
	places = append(places, others...)
	if python, err := exec.LookPath("python3"); err == nil {
		out, err := exec.Command(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib')); print(sysconfig.get_path('platlib'))").Output()
		if err == nil {
			places = append(places, strings.Split(strings.TrimSpace(string(out)), "\n")...)
		}
	}
	return append(places, "/usr/local", "/opt/halide", "/usr")
}

// openHalide reads an installation's layout. A wheel keeps everything in a folder
// named halide, so both it and its parent may be named.
func openHalide(root string) (*Halide, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	for _, base := range []string{root, filepath.Join(root, "halide"), filepath.Join(root, "site-packages", "halide")} {
		include := filepath.Join(base, "include")
		if !exists(filepath.Join(include, "Halide.h")) {
			continue
		}
		h := &Halide{Root: base, Include: include, Plugins: map[string]string{}}
		for _, lib := range []string{"lib64", "lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "bin"} {
			if exists(filepath.Join(base, lib, "libHalide.so")) {
				h.Lib = filepath.Join(base, lib)
				break
			}
		}
		if h.Lib == "" {
			return nil, fmt.Errorf("%s has Halide.h but no libHalide.so", base)
		}
		if h.Version, err = headerVersion(filepath.Join(include, "Halide.h")); err != nil {
			return nil, err
		}
		if h.Build, err = libraryBuild(filepath.Join(h.Lib, "libHalide.so")); err != nil {
			return nil, err
		}
		h.complete(base)
		return h, nil
	}
	return nil, fmt.Errorf("there is no include/Halide.h in it")
}

func (h *Halide) complete(base string) {
	for _, f := range []string{
		filepath.Join(h.Lib, "libHalide_GenGen.a"),
		filepath.Join(base, "share/tools/GenGen.cpp"),
		filepath.Join(base, "share/Halide/tools/GenGen.cpp"),
	} {
		if exists(f) {
			h.GenGen = f
			break
		}
	}
	for _, d := range []string{"share/tools", "share/Halide/tools"} {
		if exists(filepath.Join(base, d, "RunGenMain.cpp")) {
			h.Tools = filepath.Join(base, d)
			break
		}
	}
	plugins, _ := filepath.Glob(filepath.Join(h.Lib, "libautoschedule_*.so"))
	for _, p := range plugins {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(p), "libautoschedule_"), ".so")
		h.Plugins[name] = p
	}
}

var versionMacro = regexp.MustCompile(`^#define HALIDE_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)`)

func headerVersion(header string) (string, error) {
	f, err := os.Open(header)
	if err != nil {
		return "", err
	}
	defer f.Close()
	parts := map[string]string{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && len(parts) < 3 {
		if m := versionMacro.FindStringSubmatch(lines.Text()); m != nil {
			parts[m[1]] = m[2]
		}
	}
	if len(parts) < 3 {
		return "", fmt.Errorf("%s names no version", header)
	}
	return parts["MAJOR"] + "." + parts["MINOR"] + "." + parts["PATCH"], nil
}

// libraryBuild is the ID that the linker gave a library's code, in hexadecimal, or the hash of
// its content where it gave none.
func libraryBuild(library string) (string, error) {
	if f, err := elf.Open(library); err == nil {
		defer f.Close()
		if section := f.Section(".note.gnu.build-id"); section != nil {
			// The lengths of name and ID and the kind, four bytes each; "GNU" and a zero; the ID.
			const before = 16
			if note, err := section.Data(); err == nil && len(note) > before {
				return hex.EncodeToString(note[before:]), nil
			}
		}
	}
	return hashFile(library)
}

// halideOf finds the installation that a built Generator was linked against, by
// its run path; nil where that tells nothing.
func halideOf(binary string) (*Halide, error) {
	f, err := elf.Open(binary)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	libs, err := f.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(libs, func(l string) bool { return strings.HasPrefix(l, "libHalide.so") }) {
		return nil, errors.New("it is not linked against libHalide.so; build the Generator with the shared library")
	}
	var paths []string
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		values, _ := f.DynString(tag)
		for _, v := range values {
			paths = append(paths, strings.Split(v, ":")...)
		}
	}
	if binary, err = filepath.Abs(binary); err == nil {
		binary, err = filepath.EvalSymlinks(binary)
	}
	if err != nil {
		return nil, err
	}
	origin := strings.NewReplacer("$ORIGIN", filepath.Dir(binary), "${ORIGIN}", filepath.Dir(binary))
	for _, p := range paths {
		p = filepath.Clean(origin.Replace(p))
		if !exists(filepath.Join(p, "libHalide.so")) {
			continue
		}
		for up := p; up != "/" && up != "."; up = filepath.Dir(up) { // a run path may be relative
			if h, err := openHalide(up); err == nil {
				return h, nil
			}
		}
	}
	return nil, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist) && err == nil
}

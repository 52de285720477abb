package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Two caches of one folder stand for two processes: the lock is a file's, and each
// call opens it anew.
func TestEntriesAreMadeOnce(t *testing.T) {
	dir := t.TempDir()
	var made atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := Cache{dir}.entry(t.Context(), "thing", nil, func(d string) error {
				made.Add(1)
				time.Sleep(20 * time.Millisecond) // long enough for the others to come
				return os.WriteFile(filepath.Join(d, "content"), []byte("whole"), 0o600)
			})
			if err != nil {
				t.Error(err)
				return
			}
			if text, err := os.ReadFile(filepath.Join(got, "content")); err != nil || string(text) != "whole" {
				t.Errorf("found %q, %v", text, err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}

func TestWhatWasKilledHalfWayIsNoEntry(t *testing.T) {
	dir := t.TempDir()
	// What a process leaves that is killed while it fills the entry.
	writeFile(t, filepath.Join(dir, "thing.tmp123", "content"), "ha")
	writeFile(t, filepath.Join(dir, "thing.lock"), "")
	c := Cache{dir}
	failure := errors.New("no room")
	if _, err := c.entry(t.Context(), "thing", nil, func(d string) error {
		writeFile(t, filepath.Join(d, "content"), "hal")
		return failure
	}); !errors.Is(err, failure) {
		t.Fatalf("got %v", err)
	}
	if exists(filepath.Join(dir, "thing")) {
		t.Fatal("a failure left an entry")
	}
	if _, err := c.entry(t.Context(), "thing", nil, func(d string) error {
		writeFile(t, filepath.Join(d, "content"), "whole")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*.tmp*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestEntriesAreMadeAnewWhenStale(t *testing.T) {
	dir, header := t.TempDir(), filepath.Join(t.TempDir(), "a folder with #", "part.h")
	inRule := strings.NewReplacer(" ", `\ `, "#", `\#`).Replace(header)
	writeFile(t, header, "one")
	made := 0
	get := func() {
		t.Helper()
		if _, err := (Cache{dir}).entry(t.Context(), "thing", depsFresh, func(d string) error {
			made++
			rule := filepath.Join(d, "rule")
			writeFile(t, rule, "out: \\\n "+inRule+" \\\n /usr/include/stdio.h /skipped/Halide.h\n")
			return writeDeps(d, rule, "/skipped")
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		change func()
		want   int
	}{
		{func() {}, 1},
		{func() {}, 1},
		{func() { writeFile(t, header, "two") }, 2},
		{func() { writeFile(t, filepath.Join(dir, "thing", depsFile), "garbage") }, 3},
		{func() { os.Remove(filepath.Join(dir, "thing", depsFile)) }, 4},
	} {
		step.change()
		if get(); made != step.want {
			t.Fatalf("made %d times, want %d", made, step.want)
		}
	}
}

// What a Generator is compiled from is the user's wherever it lies, but for Halide's own
// folder.
func TestDependenciesAreTheUsersFiles(t *testing.T) {
	root := t.TempDir()
	header, halide, ours := filepath.Join(root, "halide-filters", "part.h"), filepath.Join(root, "halide"), filepath.Join(root, "halide", "Halide.h")
	writeFile(t, header, "")
	writeFile(t, ours, "")
	const below = "/usr/bin/env" // some file there is
	rule := filepath.Join(root, "rule")
	writeFile(t, rule, "out: "+below+" "+header+" "+ours+"\n")
	if err := writeDeps(root, rule, halide); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, depsFile))
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{below: true, header: true, ours: false} {
		if got := strings.Contains(string(text), " "+file+"\n"); got != want {
			t.Errorf("%s is a dependency: %v, want %v", file, got, want)
		}
	}
}

// fakeCompiler makes empty files, and a rule that names the last source alone, as compilers do.
const fakeCompiler = `#!/bin/sh
for a; do
	case "$last" in -MF) rule=$a;; -o) out=$a;; esac
	case "$a" in *.cpp) source=$a;; esac
	last=$a
done
[ -z "$rule" ] || echo "out: $source" >"$rule"
[ -z "$out" ] || : >"$out"
echo fake
`

// fakeTools compile nothing, with a Halide of empty files, for a source that is empty too.
func fakeTools(t *testing.T) (tools *Toolchain, source string) {
	t.Helper()
	compiler := filepath.Join(t.TempDir(), "compiler")
	if err := os.WriteFile(compiler, []byte(fakeCompiler), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CXX", compiler)
	h, err := FindHalide(layout(t, "21.0.0", "include/Halide.h", "lib/libHalide.so", "share/Halide/tools/GenGen.cpp"))
	if err != nil {
		t.Fatal(err)
	}
	tools, err = NewToolchain(h, Cache{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	source = filepath.Join(t.TempDir(), "source.cpp")
	writeFile(t, source, "")
	return tools, source
}

// What is compiled against one build of Halide is not taken for another's that is put in its
// place.
func TestUpgradesOfHalideMakeEntriesAnew(t *testing.T) {
	tools, source := fakeTools(t)
	all := func() []string {
		t.Helper()
		plugin, err1 := tools.Plugin(t.Context(), false)
		generator, err2 := tools.GeneratorBinary(t.Context(), source, nil)
		runtime, err3 := tools.Runtime(t.Context(), "true", "host")
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		return []string{plugin, generator, runtime}
	}
	before := all()
	if again := all(); !slices.Equal(again, before) {
		t.Errorf("nothing changed: %v, then %v", before, again)
	}
	library := filepath.Join(tools.Halide.Lib, "libHalide.so")
	reopen := func() {
		t.Helper()
		h, err := FindHalide(tools.Halide.Root)
		if err != nil {
			t.Fatal(err)
		}
		tools.Halide = h
	}
	if err := os.Chtimes(library, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	reopen()
	if again := all(); !slices.Equal(again, before) {
		t.Errorf("the same library at another time: %v, then %v", before, again)
	}
	writeFile(t, library, "more")
	reopen()
	for i, after := range all() {
		if after == before[i] {
			t.Errorf("another library: %s is still taken", after)
		}
	}
}

// TestBuildsOfALibraryAreTold: by the linker's ID, which says the same of a stripped library,
// and by the content where there is none.
func TestBuildsOfALibraryAreTold(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip(err)
	}
	build := func(source string, flags ...string) string {
		t.Helper()
		dir := t.TempDir()
		file, library := filepath.Join(dir, "lib.c"), filepath.Join(dir, "libHalide.so")
		writeFile(t, file, source)
		args := append([]string{"-shared", "-fPIC", "-o", library, file}, flags...)
		if out, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		id, err := libraryBuild(library)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	const one, other = "int f(void) { return 1; }", "int f(void) { return 2; }"
	if got := build(one, "-Wl,--build-id=0x0123abcd"); got != "0123abcd" {
		t.Errorf("the ID is %s", got)
	}
	for _, id := range []string{"-Wl,--build-id=sha1", "-Wl,--build-id=none"} {
		if build(one, id) == build(other, id) {
			t.Errorf("%s: two libraries are one", id)
		}
	}
	if _, err := libraryBuild(filepath.Join(t.TempDir(), "libHalide.so")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a library: %v", err)
	}
}

// Where GenGen.cpp is compiled with the Generator its source is a dependency still.
func TestSourcesBesideGenGenAreDependencies(t *testing.T) {
	tools, source := fakeTools(t)
	binary, err := tools.GeneratorBinary(t.Context(), source, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !depsFresh(filepath.Dir(binary)) {
		t.Error("what was compiled just now is stale")
	}
	writeFile(t, source, "changed")
	if depsFresh(filepath.Dir(binary)) {
		t.Error("fresh after its source changed")
	}
}

func TestWaitingForAnEntryEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	holding, release := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		_, err := Cache{dir}.entry(t.Context(), "thing", nil, func(string) error {
			close(holding)
			<-release
			return nil
		})
		done <- err
	}()
	<-holding
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := (Cache{dir}).entry(ctx, "thing", nil, func(string) error { return errors.New("both hold it") }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestUnwritableCacheSaysHowToMend(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, "")
	_, err := Cache{filepath.Join(file, "below")}.entry(t.Context(), "thing", nil, func(string) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "set PROTUNER_CACHE") {
		t.Errorf("got %v", err)
	}
}

// withoutHome is the temporary folder of a user without a home, which is not there yet.
func withoutHome(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", cacheVariable, dataVariable, "PROTUNER_HALIDE", "Halide_ROOT"} {
		t.Setenv(name, "")
	}
	t.Setenv("TMPDIR", t.TempDir())
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("protuner-%d", os.Geteuid()))
	if got := DefaultCache().Dir; got != dir {
		t.Fatalf("without a home the cache is %s, want %s", got, dir)
	}
	if got := DataDir(); got != dir {
		t.Fatalf("without a home data are in %s, want %s", got, dir)
	}
	return dir
}

// What others could have put into a temporary folder is not run.
func TestTemporaryCachesAreTheUsersOwn(t *testing.T) {
	dir := withoutHome(t)
	filled := 0
	get := func() error {
		_, err := DefaultCache().entry(t.Context(), "thing", nil, func(string) error {
			filled++
			return nil
		})
		return err
	}
	refused := func(why string) {
		t.Helper()
		var missing *MissingError
		err := get()
		if !errors.As(err, &missing) || !strings.Contains(err.Error(), dir) || !strings.Contains(missing.Why, why) || !strings.Contains(missing.Mend, "set PROTUNER_CACHE") {
			t.Errorf("got %v, want %q", err, why)
		}
	}
	if err := get(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("it was made as %v, %v", info, err)
	}
	for _, mode := range []os.FileMode{0o720, 0o702, 0o777} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		refused("others may write to it")
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := get(); err != nil {
		t.Errorf("where others may only look: %v", err)
	}
	if err := os.Rename(dir, dir+"-elsewhere"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+"-elsewhere", dir); err != nil {
		t.Fatal(err)
	}
	refused("a link and no folder")
	if filled != 1 {
		t.Errorf("filled %d times", filled)
	}
	// A cache that was named is the user's affair.
	t.Setenv(cacheVariable, dir+"-elsewhere")
	if err := os.Chmod(dir+"-elsewhere", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := get(); err != nil {
		t.Errorf("a cache that was named: %v", err)
	}
}

func TestFoldersOfOtherUsersAreDistrusted(t *testing.T) {
	info, err := os.Lstat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if why := distrust(info, os.Geteuid()); why != "" {
		t.Errorf("the user's own: %s", why)
	}
	if why := distrust(info, os.Geteuid()+1); !strings.Contains(why, "belongs to another user") {
		t.Errorf("another's: %q", why)
	}
}

// The library of an installation is run, too.
func TestTemporaryInstallationsAreTheUsersOwn(t *testing.T) {
	dir := withoutHome(t)
	at := filepath.Join(dir, "halide", DefaultVersion)
	if err := os.CopyFS(at, os.DirFS(layout(t, DefaultVersion, "include/Halide.h", "lib/libHalide.so"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if h, err := FindHalide(""); err != nil || h.Root != at {
		t.Fatalf("the user's own: %+v, %v", h, err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	var missing *MissingError
	if _, err := FindHalide(""); !errors.As(err, &missing) || !strings.Contains(missing.Why, "others may write to it") || !strings.Contains(missing.Mend, "set PROTUNER_DATA") {
		t.Errorf("where others may write: %v", err)
	}
	if _, err := FindHalide(at); err != nil {
		t.Errorf("named by the user: %v", err)
	}
}

func TestKeysHoldTheirPartsApart(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{{"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}, {"", "abc"}, {"2:ab;"}, {}} {
		k := key(parts...)
		if other, ok := seen[k]; ok {
			t.Errorf("%q and %q have one key", parts, other)
		}
		seen[k] = parts
	}
}

// layout makes an installation out of empty files.
func layout(t *testing.T, version string, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range files {
		text := ""
		if strings.HasSuffix(f, "Halide.h") && version != "" {
			p := strings.Split(version, ".")
			text = "#define HALIDE_VERSION_MAJOR " + p[0] + "\n#define HALIDE_VERSION_MINOR " + p[1] + "\n#define HALIDE_VERSION_PATCH " + p[2] + "\n"
		}
		writeFile(t, filepath.Join(root, f), text)
	}
	return root
}

func TestInstallationsAreRead(t *testing.T) {
	wheel := []string{"halide/include/Halide.h", "halide/lib64/libHalide.so", "halide/lib64/libHalide_GenGen.a",
		"halide/lib64/libautoschedule_adams2019.so", "halide/share/tools/RunGenMain.cpp"}
	for name, c := range map[string]struct {
		version string
		files   []string
		below   string // what is named, below the root
		want    Halide // paths below the root
		err     string
	}{
		"wheel": {"21.0.0", wheel, "", Halide{Root: "halide", Version: "21.0.0", Include: "halide/include", Lib: "halide/lib64",
			GenGen: "halide/lib64/libHalide_GenGen.a", Tools: "halide/share/tools",
			Plugins: map[string]string{"adams2019": "halide/lib64/libautoschedule_adams2019.so"}}, ""},
		"inside the wheel": {"19.0.0", wheel, "halide", Halide{Root: "halide", Version: "19.0.0", Include: "halide/include", Lib: "halide/lib64",
			GenGen: "halide/lib64/libHalide_GenGen.a", Tools: "halide/share/tools",
			Plugins: map[string]string{"adams2019": "halide/lib64/libautoschedule_adams2019.so"}}, ""},
		"install tree": {"20.1.2", []string{"include/Halide.h", "lib/libHalide.so", "share/Halide/tools/GenGen.cpp", "share/Halide/tools/RunGenMain.cpp"}, "",
			Halide{Version: "20.1.2", Include: "include", Lib: "lib", GenGen: "share/Halide/tools/GenGen.cpp", Tools: "share/Halide/tools"}, ""},
		"system package":  {"21.0.0", []string{"include/Halide.h", "lib/x86_64-linux-gnu/libHalide.so"}, "", Halide{Version: "21.0.0", Include: "include", Lib: "lib/x86_64-linux-gnu"}, ""},
		"nothing":         {"", nil, "", Halide{}, "there is no include/Halide.h in it"},
		"headers only":    {"21.0.0", []string{"include/Halide.h"}, "", Halide{}, "has Halide.h but no libHalide.so"},
		"another library": {"", []string{"include/Halide.h", "lib/libHalide.so"}, "", Halide{}, "names no version"},
	} {
		t.Run(name, func(t *testing.T) {
			root := layout(t, c.version, c.files...)
			h, err := openHalide(filepath.Join(root, c.below))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []struct{ what, got, want string }{
				{"root", h.Root, c.want.Root}, {"include", h.Include, c.want.Include}, {"lib", h.Lib, c.want.Lib},
				{"gengen", h.GenGen, c.want.GenGen}, {"tools", h.Tools, c.want.Tools}, {"plugin", h.Plugins["adams2019"], c.want.Plugins["adams2019"]},
			} {
				want := filepath.Join(root, p.want)
				if p.want == "" && p.what != "root" {
					want = ""
				}
				if p.got != want {
					t.Errorf("%s is %q, want %q", p.what, p.got, want)
				}
			}
			if h.Version != c.want.Version {
				t.Errorf("version %s", h.Version)
			}
		})
	}
}

func TestNamedInstallationsComeInOrder(t *testing.T) {
	files := []string{"include/Halide.h", "lib/libHalide.so"}
	flag, own, root := layout(t, "1.0.0", files...), layout(t, "2.0.0", files...), layout(t, "3.0.0", files...)
	data, empty := t.TempDir(), t.TempDir()
	for _, v := range []string{"20.0.0", DefaultVersion, "22.0.0"} {
		at := filepath.Join(data, "halide", v)
		if err := os.CopyFS(at, os.DirFS(layout(t, v, files...))); err != nil {
			t.Fatal(err)
		}
	}
	find := func(dir string) string {
		h, err := FindHalide(dir)
		if err != nil {
			return err.Error()
		}
		return h.Version
	}
	t.Setenv("PROTUNER_DATA", data)
	t.Setenv("PROTUNER_HALIDE", own)
	t.Setenv("Halide_ROOT", root)
	if got := find(flag); got != "1.0.0" {
		t.Errorf("--halide: %s", got)
	}
	if got := find(""); got != "2.0.0" {
		t.Errorf("PROTUNER_HALIDE: %s", got)
	}
	t.Setenv("PROTUNER_HALIDE", "")
	if got := find(""); got != "3.0.0" {
		t.Errorf("Halide_ROOT: %s", got)
	}
	t.Setenv("Halide_ROOT", "")
	if got := find(""); got != DefaultVersion {
		t.Errorf("the data directory: %s", got)
	}
	os.RemoveAll(filepath.Join(data, "halide", DefaultVersion))
	if got := find(""); got != "22.0.0" {
		t.Errorf("the data directory without the default: %s", got)
	}
	// What is there in part is said, not passed over, and so is what is named and is none.
	part := filepath.Join(data, "halide", DefaultVersion)
	writeFile(t, filepath.Join(part, "include", "Halide.h"), "")
	if got, want := find(""), "Halide: what is in "+part+" is not whole: "+part+" has Halide.h but no libHalide.so; install it with"; !strings.HasPrefix(got, want) {
		t.Errorf("the default in part: %s", got)
	}
	os.RemoveAll(part)
	_, err := FindHalide(empty)
	var missing *MissingError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "--halide names "+empty) || !strings.Contains(missing.Mend, "pip install") {
		t.Errorf("--halide of an empty folder: %v", err)
	}
	t.Setenv("Halide_ROOT", empty)
	if _, err := FindHalide(""); !errors.As(err, &missing) || !strings.Contains(err.Error(), "Halide_ROOT names "+empty) {
		t.Errorf("Halide_ROOT of an empty folder: %v", err)
	}
}

// TestFlagsOfCXXCount: CXX may name what starts the compiler, and its flags come after ours, of
// which the last of a kind counts.
func TestFlagsOfCXXCount(t *testing.T) {
	tools, source := fakeTools(t)
	log := filepath.Join(t.TempDir(), "log")
	logging := filepath.Join(t.TempDir(), "logging-g++-12")
	if err := os.WriteFile(logging, []byte("#!/bin/sh\necho \"$@\" >>"+log+"\nexec "+tools.Compiler+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CXX", "env -u NOTHING "+logging+" -std=c++20 -O0")
	tools, err := NewToolchain(tools.Halide, Cache{t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tools.GeneratorBinary(t.Context(), source, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	last := lines[len(lines)-1]
	if ours := strings.Index(last, "-std=c++17"); ours < 0 || strings.Index(last, "-std=c++20") < ours || strings.Index(last, "-O0") < strings.Index(last, "-O1") {
		t.Errorf("compiled with %s", last)
	}
}

func TestWhereFlagsOfCXXBegin(t *testing.T) {
	for words, want := range map[string]int{
		"g++": 1, "g++ -O0 -g": 1, "ccache clang++-15 -O0": 2, "zig c++": 2, "nice -n 10 g++ -O0": 4, "env -u X x86_64-linux-gnu-g++": 4,
		"mine -x g++": 3, "mine -O0": 1, "g++ -x c++": 1, "clang++ -Xclang -load -Xclang ./clang-plugin.so": 1,
	} {
		if got := firstFlag(strings.Fields(words)); got != want {
			t.Errorf("%s: from word %d on, want %d", words, got, want)
		}
	}
}

func TestToolchainNamesWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CXX", "")
	_, err := NewToolchain(&Halide{}, Cache{t.TempDir()})
	var missing *MissingError
	if !errors.As(err, &missing) || missing.What != "C++ compiler" || !strings.Contains(missing.Mend, "apt-get install g++") {
		t.Errorf("without a compiler: %v", err)
	}
	t.Setenv("CXX", "g++-of-old -O0")
	if _, err := NewToolchain(&Halide{}, Cache{t.TempDir()}); !errors.As(err, &missing) || !missing.Named || !strings.Contains(err.Error(), "CXX names g++-of-old, which was not found") {
		t.Errorf("with a compiler that is not there: %v", err)
	}
	// A compiler that is no program that runs.
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CXX", broken)
	if _, err := NewToolchain(&Halide{}, Cache{t.TempDir()}); !errors.As(err, &missing) || !strings.Contains(err.Error(), "does not run") {
		t.Errorf("with a broken compiler: %v", err)
	}
}

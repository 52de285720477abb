package bridge

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tiny is a Generator's whole source.
const tiny = `#include "Halide.h"
#ifdef WITH_HEADER
#include "gain.h"
#else
#define GAIN 2
#endif
class Tiny : public Halide::Generator<Tiny> {
public:
    Input<Buffer<int32_t, 1>> input{"input"};
    GeneratorParam<int> offset{"offset", 1};
    Output<Buffer<int32_t, 1>> output{"output"};
    void generate() {
        Halide::Var x("x");
        output(x) = input(x) * GAIN + offset;
        input.set_estimates({{0, 256}});
        output.set_estimates({{0, 256}});
    }
};
HALIDE_REGISTER_GENERATOR(Tiny, tiny)
`

func needsHalide(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
}

func TestGeneratorsAreNamed(t *testing.T) {
	needsHalide(t)
	o := Options{Path: testGenerators, HalideDir: halideDir(t, DefaultVersion)}
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "has several Generators; name one with -g: ") ||
		!strings.Contains(err.Error(), "scan") {
		t.Errorf("without a name: %v", err)
	}
	o.Name = "skan"
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "there is no Generator skan in ") ||
		!strings.Contains(err.Error(), "scan") {
		t.Errorf("with a wrong name: %v", err)
	}
	o.Path, o.Name = appSource("harris"), ""
	g, err := Open(t.Context(), o)
	if err != nil || g.Name != "harris" {
		t.Errorf("the only one: %v, %v", g, err)
	}
}

func TestBadGeneratorParametersAreNamed(t *testing.T) {
	needsHalide(t)
	g := openApp(t, DefaultVersion, testGenerators, Options{Name: "corners", Params: []Param{{"cornr", "scalar"}}})
	_, err := g.Describe(t.Context())
	var ge *GeneratorError
	if !errors.As(err, &ge) || !strings.Contains(err.Error(), "cornr") {
		t.Errorf("an unknown parameter: %v", err)
	}
	g = openApp(t, DefaultVersion, testGenerators, Options{Name: "unbounded", Params: []Param{{"estimated", "perhaps"}}})
	if _, err = g.Describe(t.Context()); !errors.As(err, &ge) || !strings.Contains(err.Error(), "perhaps") {
		t.Errorf("a value that cannot be: %v", err)
	}
}

func TestBrokenGeneratorsGiveTheCompilersWords(t *testing.T) {
	needsHalide(t)
	dir := t.TempDir()
	source := filepath.Join(dir, "broken.cpp")
	writeFile(t, source, "int main() { return undeclared_thing; }\n")
	cache := Cache{t.TempDir()}
	h, err := FindHalide(halideDir(t, DefaultVersion))
	if err != nil {
		t.Fatal(err)
	}
	tools, err := NewToolchain(h, cache)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a failure is not kept
		_, err = tools.GeneratorBinary(t.Context(), source, nil)
		var ce *CompileError
		if !errors.As(err, &ce) || !strings.Contains(ce.Words, "undeclared_thing") || !strings.HasPrefix(err.Error(), source+" does not compile") {
			t.Fatalf("got %v", err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(cache.Dir, "*.tmp*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	// Mended, it compiles.
	writeFile(t, source, tiny)
	if _, err := tools.GeneratorBinary(t.Context(), source, nil); err != nil {
		t.Errorf("mended: %v", err)
	}
}

func TestWhatIsNoGeneratorIsNamed(t *testing.T) {
	needsHalide(t)
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nsleep 100\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	unregistered := filepath.Join(dir, "none.cpp")
	if err := os.WriteFile(unregistered, []byte("#include \"Halide.h\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "missing.cpp"): "cannot read the Generator",
		dir:                               "is a folder",
		script:                            "is no Generator",
		unregistered:                      "registers no Generator; it takes HALIDE_REGISTER_GENERATOR",
		"/bin/true":                       "is not linked against libHalide.so",
	} {
		if _, err := Open(t.Context(), Options{Path: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
	// With a Halide named, a program is run without being looked into: it then ends
	// without a word on the wire.
	_, err := Open(t.Context(), Options{Path: "/bin/true", HalideDir: halideDir(t, DefaultVersion)})
	var ge *GeneratorError
	if !errors.As(err, &ge) || !strings.Contains(err.Error(), "no Generator that runs") {
		t.Errorf("/bin/true with a Halide: got %v", err)
	}
}

// TestPrebuiltGenerators takes a Generator compiled with flags and a header of its
// own through the compiler once, and then as the program that made.
func TestPrebuiltGenerators(t *testing.T) {
	needsHalide(t)
	everyVersion(t, func(t *testing.T, version string) {
		dir := filepath.Join(t.TempDir(), "a folder")
		source := filepath.Join(dir, "tiny.cpp")
		writeFile(t, source, tiny)
		writeFile(t, filepath.Join(dir, "include", "gain.h"), "#define GAIN 3\n")
		// The Generator's own binary goes to a cache of the test's; the plugin is shared.
		h, err := FindHalide(halideDir(t, version))
		if err != nil {
			t.Fatal(err)
		}
		tools, err := NewToolchain(h, Cache{t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		flags := []string{"-DWITH_HEADER", "-I" + filepath.Join(dir, "include")}
		binary, err := tools.GeneratorBinary(t.Context(), source, flags)
		if err != nil {
			t.Fatal(err)
		}
		again, err := tools.GeneratorBinary(t.Context(), source, flags)
		if err != nil || again != binary {
			t.Fatalf("compiled again: %s, %v", again, err)
		}
		prebuilt := filepath.Join(dir, "tiny_generator")
		if err := os.Link(binary, prebuilt); err != nil {
			t.Fatal(err)
		}
		// Its Halide is found by its run path.
		g, err := Open(t.Context(), Options{Path: prebuilt, Params: []Param{{"offset", "5"}}})
		if err != nil {
			t.Fatal(err)
		}
		if g.Name != "tiny" || g.Toolchain.Halide.Version != version {
			t.Errorf("opened %s with Halide %s", g.Name, g.Toolchain.Halide.Version)
		}
		p, err := g.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s, err := g.Serve(t.Context(), ServerOptions{BuildTime: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.Reference(t.Context(), plain(p)); err != nil {
			t.Fatal(err)
		}
		if err := runsOf(t.Context(), s, BuildRequest{Schedule: plain(p)}, 1); err != nil {
			t.Fatal(err)
		}
		// What was opened stays what it was when the program is made anew.
		writeFile(t, filepath.Join(dir, "include", "gain.h"), "#define GAIN 4\n")
		if binary, err = tools.GeneratorBinary(t.Context(), source, flags); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Remove(prebuilt), os.Link(binary, prebuilt)); err != nil {
			t.Fatal(err)
		}
		anew, err := Open(t.Context(), Options{Path: prebuilt, Params: g.Params})
		if err != nil {
			t.Fatal(err)
		}
		for opened, same := range map[*Generator]bool{g: true, anew: false} {
			if now, err := opened.Describe(t.Context()); err != nil || (now.Algorithm == p.Algorithm) != same {
				t.Errorf("after it was made anew: the same %v, %v", !same, err)
			}
		}
		// A header that changes makes the binary stale.
		writeFile(t, filepath.Join(dir, "include", "gain.h"), "#error changed\n")
		var ce *CompileError
		if _, err := tools.GeneratorBinary(t.Context(), source, flags); !errors.As(err, &ce) {
			t.Errorf("after its header changed: %v", err)
		}
	})
}

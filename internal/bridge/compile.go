package bridge

import (
	"bytes"
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
	"time"

	"github.com/protuner/protuner"
)

// lockPoll is how often a process looks whether another has finished an entry.
const lockPoll = 50 * time.Millisecond

// Toolchain compiles against one Halide and keeps what it made.
type Toolchain struct {
	Halide   *Halide
	Compiler string // path of the C++ compiler, or of what starts it, as ccache does
	Linker   string // path of the linker that links candidates
	Cache    Cache
	starts   []string // what CXX names behind that: the compiler that it starts, and its own flags
	flags    []string // that CXX names behind the compiler; they come last, and so count
	identity string   // of the compiler: its version line
}

// NewToolchain finds the compiler (CXX, which may have flags behind it, else g++, else
// clang++) and the linker. The error is a *MissingError.
func NewToolchain(h *Halide, cache Cache) (*Toolchain, error) {
	t := &Toolchain{Halide: h, Cache: cache}
	const mend = "install one with `apt-get install g++`, or name it in CXX"
	compilers := []string{"g++", "clang++"}
	named := strings.Fields(os.Getenv("CXX"))
	if len(named) > 0 {
		first := firstFlag(named)
		compilers, t.starts, t.flags = named[:1], named[1:first], named[first:]
	}
	for _, c := range compilers {
		if p, err := exec.LookPath(c); err == nil {
			t.Compiler = p
			break
		}
	}
	switch {
	case t.Compiler == "" && len(named) > 0:
		return nil, &MissingError{What: "C++ compiler", Why: "CXX names " + named[0] + ", which was not found", Mend: mend, Named: true}
	case t.Compiler == "":
		return nil, &MissingError{What: "C++ compiler", Why: "neither g++ nor clang++ was found", Mend: mend}
	}
	out, err := exec.Command(t.Compiler, slices.Concat(t.starts, t.flags, []string{"--version"})...).Output()
	if err != nil {
		return nil, &MissingError{What: "C++ compiler", Why: fmt.Sprintf("%s does not run: %v", t.Compiler, err), Mend: mend}
	}
	version, _, _ := strings.Cut(string(out), "\n")
	t.identity = strings.Join(slices.Concat([]string{version}, t.starts, t.flags), " ")
	if t.Linker, err = exec.LookPath("ld"); err != nil {
		return nil, &MissingError{What: "linker", Why: "ld was not found", Mend: "install it with `apt-get install binutils`"}
	}
	return t, nil
}

// A CompileError carries the compiler's own words.
type CompileError struct {
	What  string
	Words string
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("%s does not compile; the compiler says:\n%s", e.What, strings.TrimSpace(e.Words))
}

// firstFlag is where the compiler's flags begin among CXX's words: at the first flag, or where
// that is a flag of what starts the compiler, as in nice -n 10 g++ -O0, behind the compiler.
func firstFlag(words []string) int {
	flag := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") })
	if flag < 0 {
		return len(words)
	}
	flag = max(flag, 1)
	if slices.ContainsFunc(words[:flag], isCompiler) {
		return flag
	}
	if at := slices.IndexFunc(words[flag:], isCompiler); at >= 0 {
		return flag + at + 1
	}
	return flag
}

// isCompiler goes by the name, which may have a target before it and a version behind it.
func isCompiler(word string) bool {
	base := filepath.Base(word)
	return !strings.HasPrefix(word, "-") && (strings.Contains(base, "++") || strings.Contains(base, "clang") || strings.Contains(base, "gcc"))
}

// compile makes the file out; what the compiler keeps for itself meanwhile is beside it.
func (t *Toolchain) compile(ctx context.Context, what, out string, args ...string) error {
	cmd := exec.Command(t.Compiler, slices.Concat(t.starts, args, t.flags, []string{"-o", out})...)
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Dir(out))
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &words, &words
	err := runLimited(ctx, cmd, Limits{})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &CompileError{what, words.String()}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.Compiler, err)
	}
	return nil
}

// Plugin returns the plugin's library for this Halide, compiled on first use.
// With faults it is the test build that can be made to fail on purpose.
func (t *Toolchain) Plugin(ctx context.Context, faults bool) (string, error) {
	units, _, err := embedded()
	if err != nil {
		return "", err
	}
	units = slices.DeleteFunc(units, func(u string) bool { return slices.Contains(protuner.Entries, u) })
	flags := append([]string{"-fPIC"}, faultFlags(faults)...)
	return t.product(ctx, "libautoschedule_protuner.so", units, flags, []string{"-shared", "-ldl", "-lpthread"})
}

func faultFlags(faults bool) []string {
	if faults {
		return []string{"-DPROTUNER_FAULTS"}
	}
	return nil
}

// names returns the plugin that tells which Generators a program registers.
func (t *Toolchain) names(ctx context.Context) (string, error) {
	return t.product(ctx, "libprotuner_names.so", protuner.NamesUnits, []string{"-fPIC"}, []string{"-shared"})
}

// Runner returns the program that checks and times candidates and ahead-of-time
// builds. With faults it is the test build.
func (t *Toolchain) Runner(ctx context.Context, faults bool) (string, error) {
	return t.product(ctx, "runner", protuner.RunnerUnits, faultFlags(faults), []string{"-ldl"})
}

// product compiles embedded units into one file of the cache.
func (t *Toolchain) product(ctx context.Context, file string, units, flags, linkFlags []string) (string, error) {
	_, all, err := embedded()
	if err != nil {
		return "", err
	}
	flags = append([]string{"-std=c++17", "-I" + t.Halide.Include}, flags...)
	name := file + "-" + key(append(flags, t.identity, t.Halide.Version, t.Halide.Build, all)...)
	dir, err := t.Cache.entry(ctx, name, nil, func(dir string) error {
		return t.buildUnits(ctx, "protuner's own "+file, dir, units, flags, linkFlags, file)
	})
	return filepath.Join(dir, file), err
}

// embedded lists the C++ units and concatenates all sources, for hashing.
func embedded() (units []string, all string, err error) {
	var content strings.Builder
	sources := protuner.BridgeSources()
	err = fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(sources, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&content, "%s\n%s\n", path, text)
		if strings.HasSuffix(path, ".cpp") {
			units = append(units, path)
		}
		return nil
	})
	return units, content.String(), err
}

// buildUnits compiles embedded units two at a time and links them into dir/out.
func (t *Toolchain) buildUnits(ctx context.Context, what, dir string, units, flags, linkFlags []string, out string) error {
	src := filepath.Join(dir, "src")
	if err := os.CopyFS(src, protuner.BridgeSources()); err != nil {
		return err
	}
	defer os.RemoveAll(src)
	objects := make([]string, len(units))
	errs := make([]error, len(units))
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for i, u := range units {
		objects[i] = filepath.Join(src, u+".o")
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			// What only drives Halide is not worth the time that optimising its headers takes.
			level := "-O0"
			if slices.Contains(protuner.HotUnits, u) {
				level = "-O3"
			}
			errs[i] = t.compile(ctx, what, objects[i], slices.Concat(flags, []string{level, "-c", filepath.Join(src, u)})...)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return t.compile(ctx, what, filepath.Join(dir, out), slices.Concat(objects, linkFlags)...)
}

// GeneratorBinary returns a Generator's program: source compiled with flags (-I
// and -D of the user's) and cached by the content of all it includes.
func (t *Toolchain) GeneratorBinary(ctx context.Context, source string, flags []string) (string, error) {
	abs, err := filepath.Abs(source)
	if err != nil {
		return "", err
	}
	if t.Halide.GenGen == "" {
		return "", &MissingError{What: "Halide " + t.Halide.Version, Why: "it has neither libHalide_GenGen.a nor GenGen.cpp, which a Generator's program needs", Mend: mendHalide()}
	}
	const binary = "generator"
	name := "generator-" + key(append([]string{abs, t.identity, t.Halide.Root, t.Halide.Version, t.Halide.Build}, flags...)...)
	dir, err := t.Cache.entry(ctx, name, depsFresh, func(dir string) error {
		rule := filepath.Join(dir, "rule")
		args := []string{"-std=c++17", "-O1", "-I" + t.Halide.Include, "-I" + filepath.Dir(abs)}
		if t.Halide.Tools != "" {
			args = append(args, "-I"+t.Halide.Tools)
		}
		args = append(args, flags...)
		archive := strings.HasSuffix(t.Halide.GenGen, ".a")
		if !archive {
			args = append(args, t.Halide.GenGen) // first: each source overwrites the rule of the one before
		}
		args = append(args, "-MMD", "-MF", rule, abs)
		if archive {
			args = append(args, "-Wl,--whole-archive", t.Halide.GenGen, "-Wl,--no-whole-archive")
		}
		args = append(args, "-L"+t.Halide.Lib, "-lHalide", "-Wl,-rpath,"+t.Halide.Lib, "-lpthread", "-ldl", "-rdynamic")
		if err := t.compile(ctx, source, filepath.Join(dir, binary), args...); err != nil {
			return err
		}
		return writeDeps(dir, rule, t.Halide.Include)
	})
	return filepath.Join(dir, binary), err
}

// Runtime returns Halide's runtime as a static library for a target, which is
// linked into every candidate. Any Generator's program can write it.
func (t *Toolchain) Runtime(ctx context.Context, generator, target string) (string, error) {
	// Halide 21 cannot compile its runtime by itself with strict floats, and nothing in it
	// depends on them.
	target = strings.ReplaceAll(target, "-strict_float", "")
	name := "runtime-" + key(t.Halide.Version, t.Halide.Build, t.Halide.Root, target, hostIdentity())
	dir, err := t.Cache.entry(ctx, name, nil, func(dir string) error {
		words := new(tail)
		cmd := exec.Command(generator, "-r", "runtime", "-e", "static_library", "-o", dir, "target="+target)
		cmd.Env, cmd.Stdout, cmd.Stderr = t.environ(), words, words
		if err := runLimited(ctx, cmd, Limits{}); err != nil {
			return fmt.Errorf("%s cannot write Halide's runtime for %s: %w\n%s", generator, target, err, words)
		}
		return nil
	})
	return filepath.Join(dir, "runtime.a"), err
}

// hostIdentity tells hosts apart that share a cache: `host` as a target means
// another thing on each.
func hostIdentity() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "flags") || strings.HasPrefix(line, "Features") {
			return key(line)
		}
	}
	return ""
}

// environ is the environment of every Generator that is run: protuner's own with
// the libraries of its Halide where a prebuilt program may look for them.
func (t *Toolchain) environ(extra ...string) []string {
	env := append(os.Environ(), "LD_LIBRARY_PATH="+strings.TrimSuffix(t.Halide.Lib+":"+os.Getenv("LD_LIBRARY_PATH"), ":"))
	return append(env, extra...)
}

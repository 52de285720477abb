package claim

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/protuner/protuner/internal/bridge"
)

// RunGen is Halide's own program that runs a pipeline compiled ahead of time, as an
// object still to be linked with one.
type RunGen struct {
	halide *bridge.Halide
	object string
}

// NewRunGen compiles it into dir.
func NewRunGen(ctx context.Context, h *bridge.Halide, dir string) RunGen {
	r := RunGen{h, filepath.Join(dir, "RunGenMain.o")}
	Run(ctx, "c++", "-std=c++17", "-I", h.Include, "-c", r.source(), "-o", r.object, "-DHALIDE_NO_PNG", "-DHALIDE_NO_JPEG")
	return r
}

func (r RunGen) source() string { return filepath.Join(r.halide.Tools, "RunGenMain.cpp") }

// Link makes the program from what a Generator wrote into dir (static_library,
// registration) under that function's name, and returns its path.
func (r RunGen) Link(ctx context.Context, dir, function string) string {
	return r.link(ctx, dir, function, r.object)
}

// Compile does the same from RunGen's source, as Halide's autotune loop does.
func (r RunGen) Compile(ctx context.Context, dir, function string) string {
	return r.link(ctx, dir, function, r.source(), "-DHALIDE_NO_PNG", "-DHALIDE_NO_JPEG")
}

func (r RunGen) link(ctx context.Context, dir, function, main string, flags ...string) string {
	program := filepath.Join(dir, "rungen")
	args := append([]string{"-std=c++17", "-I", r.halide.Include, main, filepath.Join(dir, function+".registration.cpp"),
		filepath.Join(dir, function+".a"), "-o", program, "-ldl", "-lpthread"}, flags...)
	Run(ctx, "c++", args...)
	return program
}

// Run runs a command that must succeed and returns what it printed.
func Run(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		Fail(fmt.Errorf("%s: %w\n%s", name, err, out))
	}
	return string(out)
}

// Package apps holds nothing but tests: every Generator's hand-scheduled output is
// compared with the algorithm written down plainly in Go.
package apps

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
)

// image holds numbers in any number of dimensions, the first one the fastest. kind is
// the type that Halide has it in, f4, u1, u2 or i2, with its size in bytes.
type image struct {
	kind string
	n    []int
	v    []float64
}

func blank(kind string, n ...int) *image {
	size := 1
	for _, e := range n {
		size *= e
	}
	return &image{kind, n, make([]float64, size)}
}

// random fills an image: [0, 1) for floats, the whole range for integers.
func random(r *rand.Rand, kind string, n ...int) *image {
	m := blank(kind, n...)
	for i := range m.v {
		switch kind {
		case "f4":
			m.v[i] = float64(r.Float32())
		case "u1":
			m.v[i] = float64(r.Intn(1 << 8))
		case "u2":
			m.v[i] = float64(r.Intn(1 << 16))
		}
	}
	return m
}

// wavy is a random image of floats in [0, 1) that changes slowly, with a little noise.
func wavy(r *rand.Rand, n ...int) *image {
	m := blank("f4", n...)
	i, phase := 0, 6*r.Float64()
	for c := 0; c*n[0]*n[1] < len(m.v); c++ {
		for y := range n[1] {
			for x := range n[0] {
				wave := 0.5 + 0.3*math.Sin(float64(x)/9+float64(c)+phase)*math.Cos(float64(y)/7-float64(c))
				m.v[i] = float64(float32(wave + 0.15*r.Float64()))
				i++
			}
		}
	}
	return m
}

func (m *image) at(i ...int) float64 {
	index, stride := 0, 1
	for d, p := range i {
		if p < 0 || p >= m.n[d] {
			panic(fmt.Sprintf("%v is outside of %v", i, m.n))
		}
		index += p * stride
		stride *= m.n[d]
	}
	return m.v[index]
}

// near repeats the image's edge in its first two dimensions.
func (m *image) near(x, y int, rest ...int) float64 {
	x, y = min(max(x, 0), m.n[0]-1), min(max(y, 0), m.n[1]-1)
	if len(rest) == 0 {
		return m.at(x, y)
	}
	return m.at(x, y, rest[0])
}

// write puts the numbers into a file, in Halide's type.
func (m *image) write(path string) error {
	var b []byte
	for _, v := range m.v {
		switch m.kind {
		case "f4":
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		case "u2":
			b = binary.LittleEndian.AppendUint16(b, uint16(v))
		case "u1":
			b = append(b, byte(v))
		}
	}
	return os.WriteFile(path, b, 0o600)
}

// read is the other way round.
func (m *image) read(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if want := len(m.v) * int(m.kind[1]-'0'); len(b) != want {
		return fmt.Errorf("%s has %d bytes, not %d", path, len(b), want)
	}
	for i := range m.v {
		switch m.kind {
		case "f4":
			m.v[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		case "u2":
			m.v[i] = float64(binary.LittleEndian.Uint16(b[2*i:]))
		case "i2":
			m.v[i] = float64(int16(binary.LittleEndian.Uint16(b[2*i:])))
		case "u1":
			m.v[i] = float64(b[i])
		}
	}
	return nil
}

// shape is a buffer's part of the runner's command line.
func shape(from, extents []int) string {
	var s strings.Builder
	for d, e := range extents {
		first := 0
		if from != nil {
			first = from[d]
		}
		fmt.Fprintf(&s, ":%d,%d", first, e)
	}
	return s.String()
}

// trial is one run of an app and what it should compute.
type trial struct {
	name    string // where an app has several
	params  []bridge.Param
	buffers map[string]*image
	scalars map[string]float64
	of      string                   // the output that is looked at; empty: "output"
	output  *image                   // its type and extents; the values are not used
	others  map[string]*image        // outputs besides, likewise
	from    []int                    // its first point; nil: the origin
	want    func(at []int) float64   // the value at a point
	anyOf   []func(at []int) float64 // instead of want: one of them has to be right throughout

	// Values may differ by absolute + relative * |value|, and the share of strays by
	// anything: where a value decides between two branches, rounding may decide.
	relative, absolute, strays float64
	points                     int // how many are looked at; 0: all
}

var halideDir = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(bridge.DataDir(), "halide", bridge.DefaultVersion)
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("Halide is missing: %w; run scripts/halide.sh %s", err, bridge.DefaultVersion)
	}
	return dir, nil
})

// check runs the app and compares.
func check(t *testing.T, app string, tr trial) {
	dir := t.TempDir()
	program := program(t, app, tr.params)
	out := filepath.Join(dir, "out")
	args := []string{cmp.Or(tr.of, "output") + "=" + out + shape(tr.from, tr.output.n)}
	for name, m := range tr.others {
		args = append(args, name+"="+filepath.Join(dir, name)+shape(nil, m.n))
	}
	for name, m := range tr.buffers {
		path := filepath.Join(dir, name)
		if err := m.write(path); err != nil {
			t.Fatal(err)
		}
		args = append(args, name+"="+path+shape(nil, m.n))
	}
	for name, v := range tr.scalars {
		args = append(args, name+"="+strconv.FormatFloat(v, 'g', -1, 32))
	}
	if words, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, words)
	}
	got := blank(tr.output.kind, tr.output.n...)
	if err := got.read(out); err != nil {
		t.Fatal(err)
	}
	wants := tr.anyOf
	if wants == nil {
		wants = append(wants, tr.want)
	}
	var wrong string
	for _, want := range wants {
		if wrong = mistakes(tr, want, got.v); wrong == "" {
			return
		}
	}
	t.Error(wrong)
}

// mistakes tells of the first value that is wrong where too many are, and of none
// otherwise.
func mistakes(tr trial, want func(at []int) float64, got []float64) string {
	step := 1
	if tr.points > 0 {
		step = len(got)/tr.points | 1 // odd, so that all residues of even extents are seen
	}
	strays, first := 0, ""
	at := make([]int, len(tr.output.n))
	for i := 0; i < len(got); i += step {
		rest := i
		for d, e := range tr.output.n {
			at[d] = rest % e
			if tr.from != nil {
				at[d] += tr.from[d]
			}
			rest /= e
		}
		w := want(at)
		if off := math.Abs(got[i] - w); off <= tr.absolute+tr.relative*math.Abs(w) {
			continue
		}
		if strays++; first == "" {
			first = fmt.Sprintf("at %v it is %v and should be %v", at, got[i], w)
		}
		if float64(strays) > tr.strays*float64(len(got)/step) {
			return fmt.Sprintf("of the first %d values %d are wrong; %s", i/step+1, strays, first)
		}
	}
	return ""
}

const runner = "testdata/run.cpp"

// program builds the app with its own schedule into a program that runs it on files.
// It is kept in protuner's cache until the Generator's program changes.
func program(t *testing.T, app string, params []bridge.Param) string {
	if testing.Short() {
		t.Skip("compiles with a real Halide")
	}
	halide, err := halideDir()
	if err != nil {
		t.Fatal(err)
	}
	g, err := bridge.Open(t.Context(), bridge.Options{
		Path: filepath.Join(app, app+"_generator.cpp"), Params: params, HalideDir: halide,
	})
	if err != nil {
		t.Fatal(err)
	}
	tool := g.Toolchain
	dir := filepath.Join(tool.Cache.Dir, "apps-"+identity(t, g))
	done := filepath.Join(dir, "run")
	if _, err := os.Stat(done); err == nil {
		return done
	}
	tmp := t.TempDir()
	err = g.Emit(t.Context(), "", nil, bridge.Limits{Time: 3 * time.Minute},
		bridge.Emission{Dir: tmp, Function: app, Outputs: []string{"static_library"}})
	if err != nil {
		t.Fatal(err)
	}
	built := filepath.Join(tmp, "run")
	compile(t, tool, "-DAPP="+app, runner, filepath.Join(tmp, app+".a"), "-ldl", "-lpthread", "-o", built)
	place(t, built, done)
	return done
}

func compile(t *testing.T, tool *bridge.Toolchain, args ...string) {
	args = append([]string{"-std=c++17", "-I", tool.Halide.Include}, args...)
	if words, err := exec.CommandContext(t.Context(), tool.Compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, words)
	}
}

// place brings a file to its place in the cache whole or not at all.
func place(t *testing.T, built, done string) {
	if err := os.MkdirAll(filepath.Dir(done), 0o755); err != nil {
		t.Fatal(err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(done), "tmp")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(tmp.Name())
	from, err := os.Open(built)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	if _, err := io.Copy(tmp, from); err != nil {
		t.Fatal(err)
	}
	if err := tmp.Chmod(0o755); err != nil {
		t.Fatal(err)
	}
	if err := tmp.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp.Name(), done); err != nil {
		t.Fatal(err)
	}
}

// identity names what a build depends on: the Generator's program, its parameters,
// Halide and the processor.
func identity(t *testing.T, g *bridge.Generator) string {
	h := sha256.New()
	for _, file := range []string{g.Binary, runner} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(text)
	}
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(cpu)) {
		if strings.HasPrefix(line, "flags") || strings.HasPrefix(line, "Features") {
			io.WriteString(h, line)
			break
		}
	}
	fmt.Fprintln(h, g.Toolchain.Halide.Version, g.Params)
	return fmt.Sprintf("%x", h.Sum(nil))[:24]
}

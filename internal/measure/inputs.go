package measure

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // so that image.Decode knows them
	_ "image/png"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sbinet/npyio/npy"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/pipeline"
)

// An InputError names the input that cannot be had and why.
type InputError struct {
	Input string
	Why   string
}

func (e *InputError) Error() string { return "input " + e.Input + ": " + e.Why }

// Inputs turns --input settings (NAME=random:SEED, of integers NAME=random:SEED:BITS too,
// NAME=constant:V, NAME=FILE.png, .jpg or .npy, and for scalars NAME=VALUE) into what the
// bridge needs. Inputs that are not named are random with the given seed. Files are
// converted into dir, which must live as long as the fork server.
func Inputs(p *pipeline.Pipeline, settings []string, seed int64, dir string) ([]bridge.Input, error) {
	given := map[string]string{}
	for _, s := range settings {
		name, value, ok := strings.Cut(s, "=")
		if !ok || value == "" {
			return nil, &InputError{s, "write NAME=random:SEED, NAME=random:SEED:BITS, NAME=constant:V, NAME=FILE.png or NAME=FILE.npy"}
		}
		given[name] = value
	}
	var out []bridge.Input
	for _, param := range p.Params {
		value, named := given[param.Name]
		delete(given, param.Name)
		in := bridge.Input{Name: param.Name}
		switch {
		case !param.Buffer && !named:
			continue
		case !param.Buffer:
			var err error
			if in.Value, err = number(param.Type, value); err != nil {
				return nil, &InputError{param.Name, fmt.Sprintf("it is a scalar, %v", err)}
			}
		case !named:
			in.Fill = fmt.Sprintf("random:%d", seed)
		default:
			var err error
			if in, err = bufferInput(param, value, dir); err != nil {
				return nil, err
			}
		}
		out = append(out, in)
	}
	if len(given) > 0 {
		var names []string
		for _, param := range p.Params {
			names = append(names, param.Name)
		}
		unknown := slices.Sorted(maps.Keys(given))[0]
		return nil, &InputError{unknown, "the pipeline has no such input; it has " + strings.Join(names, ", ")}
	}
	return out, nil
}

func bufferInput(param pipeline.Param, value, dir string) (bridge.Input, error) {
	in := bridge.Input{Name: param.Name}
	rule, arg, _ := strings.Cut(value, ":")
	switch {
	case rule == "random":
		seed, room, narrow := strings.Cut(arg, ":")
		if _, err := strconv.ParseUint(seed, 10, 63); err != nil {
			return in, &InputError{param.Name, fmt.Sprintf("%q is no seed", seed)}
		}
		if most := bitsOf(param.Type); narrow && most == 0 {
			return in, &InputError{param.Name, fmt.Sprintf("only integers have bits, it is %s; write random:SEED", param.Type)}
		} else if n, err := strconv.Atoi(room); narrow && (err != nil || n < 1 || n > most) {
			return in, &InputError{param.Name, fmt.Sprintf("%q is no number of bits between 1 and the %d of %s", room, most, param.Type)}
		}
		in.Fill = value
		return in, nil
	case rule == "constant":
		v, err := number(param.Type, arg)
		if err != nil {
			return in, &InputError{param.Name, err.Error()}
		}
		in.Fill = "constant:" + v
		return in, nil
	}
	var data *tensor
	var err error
	switch strings.ToLower(filepath.Ext(value)) {
	case ".png", ".jpg", ".jpeg":
		data, err = readImage(value, param)
	case ".npy":
		data, err = readNumPy(value)
	default:
		err = errors.New("neither random:SEED[:BITS] nor constant:V nor a .png, .jpg or .npy file")
	}
	if err != nil {
		return in, &InputError{param.Name, fmt.Sprintf("%s: %v", value, err)}
	}
	if len(data.extents) != len(param.Extents) {
		return in, &InputError{param.Name, fmt.Sprintf("%s has %d dimensions, the input has %d", value, len(data.extents), len(param.Extents))}
	}
	raw, err := data.encode(param.Type)
	if err != nil {
		return in, &InputError{param.Name, fmt.Sprintf("%s: %v", value, err)}
	}
	path := filepath.Join(dir, "input-"+strings.Map(fileSafe, param.Name))
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		return in, err
	}
	in.Fill, in.Extents = "raw:"+path, data.extents
	return in, nil
}

// number is a value of a type in the words of the bridge, where it has one: whole numbers
// in all their digits, and 0 and 1 for what is false and true.
func number(typ, text string) (string, error) {
	real, err := strconv.ParseFloat(text, 64)
	isNumber := err == nil
	var value any = real
	switch bits := bitsOf(typ); {
	case typ == "bool" || bits == 1:
		var on bool
		if on, err = strconv.ParseBool(text); on {
			value = 1
		} else {
			value = 0
		}
	case bits > 0 && strings.HasPrefix(typ, "u"):
		value, err = strconv.ParseUint(text, 10, bits)
	case bits > 0:
		value, err = strconv.ParseInt(text, 10, bits)
	}
	if err != nil && isNumber {
		return "", fmt.Errorf("%q is no %s", text, typ)
	} else if err != nil {
		return "", fmt.Errorf("%q is no number", text)
	}
	return fmt.Sprint(value), nil
}

// bitsOf are the bits of an integer type, 0 of any other.
func bitsOf(typ string) int {
	for _, kind := range []string{"uint", "int"} {
		if bits, ok := strings.CutPrefix(typ, kind); ok {
			n, _ := strconv.Atoi(bits)
			return n
		}
	}
	return 0
}

// shortBits are the most that integers have whose random values are of their whole range:
// sums of those may overflow.
const shortBits = 16

// Narrower are inputs of which random short integers keep to three quarters of their bits,
// as what cameras and sound cards give does, so that sums of some of them fit. The settings
// say those that did not before as Inputs takes them; none where all do.
func Narrower(p *pipeline.Pipeline, inputs []bridge.Input) (narrower []bridge.Input, settings []string) {
	narrower = slices.Clone(inputs)
	for i, in := range inputs {
		at := slices.IndexFunc(p.Params, func(q pipeline.Param) bool { return q.Name == in.Name })
		bits := bitsOf(p.Params[at].Type)
		if strings.HasPrefix(in.Fill, "random:") && strings.Count(in.Fill, ":") == 1 && bits > 1 && bits <= shortBits {
			narrower[i].Fill = fmt.Sprintf("%s:%d", in.Fill, bits*3/4)
			settings = append(settings, in.Name+"="+narrower[i].Fill)
		}
	}
	return narrower, settings
}

func fileSafe(r rune) rune {
	if r == '/' || r == 0 {
		return '_'
	}
	return r
}

// tensor holds numbers with dimension 0 fastest. Images are in [0, 1].
type tensor struct {
	extents []int64
	values  any    // []float64; of integers, which must not be rounded, []int64 or []uint64
	kind    string // NumPy's name of the numbers' type without the order of bytes: f4, u1
	unit    bool   // values are in [0, 1] and stand for an integer type's whole range
}

// readImage gives width x height, or width x height x channels where the input has
// three dimensions (as many channels as its estimate says, at most four).
func readImage(path string, param pipeline.Param) (*tensor, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	img, _, err := image.Decode(f)
	if err != nil {
		return nil, err
	}
	b := img.Bounds()
	channels := int64(1)
	t := &tensor{extents: []int64{int64(b.Dx()), int64(b.Dy())}, unit: true}
	if len(param.Extents) == 3 {
		channels = min(param.Extents[2], 4)
		t.extents = append(t.extents, channels)
	}
	plane := b.Dx() * b.Dy()
	values := make([]float64, int64(plane)*channels)
	for y := range b.Dy() {
		for x := range b.Dx() {
			r, g, bl, a := img.At(b.Min.X+x, b.Min.Y+y).RGBA()
			rgba := [4]uint32{r, g, bl, a}
			if channels == 1 {
				// The luma of ITU-R BT.601.
				rgba[0] = (299*r + 587*g + 114*bl) / 1000
			}
			for c := range int(channels) {
				values[c*plane+y*b.Dx()+x] = float64(rgba[c]) / 65535
			}
		}
	}
	t.values = values
	return t, nil
}

// ReadNumPy reads the numbers of a .npy file, dimension 0 the fastest: the last axis
// as NumPy writes it. Integers of more than 53 bits are rounded. The error names the file.
func ReadNumPy(path string) (kind string, values []float64, err error) {
	t, err := readNumPy(path)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	switch whole := t.values.(type) {
	case []int64:
		return t.kind, converted[int64, float64](whole), nil
	case []uint64:
		return t.kind, converted[uint64, float64](whole), nil
	}
	return t.kind, t.values.([]float64), nil
}

// numPyHeader reads what stands before the data, which begins at the offset it gives,
// and ends it as NumPy itself does: Halide's image files leave out the comma after the
// shape, of which the reader would then drop the last extent. The reader allocates what
// a header claims, so that is held to the file's size.
func numPyHeader(f *os.File, size int64) (header []byte, data int64, err error) {
	var start [12]byte
	if _, err := f.ReadAt(start[:], 0); err != nil {
		return nil, 0, errors.New("it is no NumPy array")
	}
	at, n := int64(10), int64(binary.LittleEndian.Uint16(start[8:]))
	if start[6] > 1 {
		at, n = 12, int64(binary.LittleEndian.Uint32(start[8:]))
	}
	if at+n > size {
		return nil, 0, errors.New("it is shorter than its header says")
	}
	text := make([]byte, n)
	if _, err := f.ReadAt(text, at); err != nil {
		return nil, 0, err
	}
	dict := strings.TrimRight(string(text), " \n")
	if body, ok := strings.CutSuffix(dict, "}"); ok {
		dict = strings.TrimRight(body, ", ") + ", }\n"
	}
	header = slices.Clone(start[:8])
	if start[6] > 1 {
		header = binary.LittleEndian.AppendUint32(header, uint32(len(dict)))
	} else if len(dict) > math.MaxUint16 {
		return nil, 0, errors.New("its header is too long")
	} else {
		header = binary.LittleEndian.AppendUint16(header, uint16(len(dict)))
	}
	return append(header, dict...), at + n, nil
}

// readNumPy reads an array; NumPy's last axis is Halide's first, whichever of them
// the file has fastest.
func readNumPy(path string) (t *tensor, err error) {
	// The reader panics on headers that are cut off or no literal of Python's.
	defer func() {
		if p := recover(); p != nil {
			t, err = nil, fmt.Errorf("it is no NumPy array: %v", p)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	header, data, err := numPyHeader(f, info.Size())
	if err != nil {
		return nil, err
	}
	r, err := npy.NewReader(io.MultiReader(bytes.NewReader(header), io.NewSectionReader(f, data, info.Size()-data)))
	if err != nil {
		return nil, err
	}
	t = &tensor{}
	room, count := info.Size(), 1
	for _, n := range r.Header.Descr.Shape {
		if n < 1 || int64(n) > room {
			return nil, fmt.Errorf("a shape of %v is not in a file of %d bytes", r.Header.Descr.Shape, info.Size())
		}
		room /= int64(n)
		count *= n
		t.extents = append(t.extents, int64(n))
	}
	slices.Reverse(t.extents)
	// What is missing at the end would be read as zeros, and what is too much not at all.
	t.kind = strings.TrimLeft(r.Header.Descr.Type, "<>|=")
	if width, err := strconv.Atoi(strings.TrimLeft(t.kind, "fiu")); err == nil && info.Size()-data != int64(count)*int64(width) {
		return nil, fmt.Errorf("its %d bytes of data are too few or too many for the shape %v", info.Size()-data, r.Header.Descr.Shape)
	}
	if t.values, err = readNumbers(r, t.extents); err != nil {
		return nil, err
	}
	return t, nil
}

// reversedAxes brings values whose last dimension is the fastest into the order
// that has dimension 0 fastest.
func reversedAxes[T any](values []T, extents []int64) []T {
	stride := make([]int64, len(extents)) // of each dimension in values
	s := int64(1)
	for d := len(extents) - 1; d >= 0; d-- {
		stride[d] = s
		s *= extents[d]
	}
	out := make([]T, 0, len(values))
	at, position := int64(0), make([]int64, len(extents))
	for range values {
		out = append(out, values[at])
		for d := range extents {
			at += stride[d]
			if position[d]++; position[d] < extents[d] {
				break
			}
			at -= stride[d] * extents[d]
			position[d] = 0
		}
	}
	return out
}

// readNumbers reads any of NumPy's plain number types, as a tensor's values.
func readNumbers(r *npy.Reader, extents []int64) (any, error) {
	switch strings.TrimLeft(r.Header.Descr.Type, "<>|=") {
	case "f8":
		return numbers[float64, float64](r, extents)
	case "f4":
		return numbers[float32, float64](r, extents)
	case "i8":
		return numbers[int64, int64](r, extents)
	case "i4":
		return numbers[int32, int64](r, extents)
	case "i2":
		return numbers[int16, int64](r, extents)
	case "i1":
		return numbers[int8, int64](r, extents)
	case "u8":
		return numbers[uint64, uint64](r, extents)
	case "u4":
		return numbers[uint32, uint64](r, extents)
	case "u2":
		return numbers[uint16, uint64](r, extents)
	case "u1":
		return numbers[uint8, uint64](r, extents)
	}
	return nil, fmt.Errorf("arrays of %s are not read; convert it to a plain number type", r.Header.Descr.Type)
}

type (
	integer interface{ int64 | uint64 }
	wide    interface{ integer | float64 }
	plain   interface {
		int8 | int16 | int32 | uint8 | uint16 | uint32 | float32 | wide
	}
)

func numbers[From plain, To wide](r *npy.Reader, extents []int64) (any, error) {
	var xs []From
	if err := r.Read(&xs); err != nil {
		return nil, err
	}
	out := converted[From, To](xs)
	if r.Header.Descr.Fortran {
		out = reversedAxes(out, extents)
	}
	return out, nil
}

func converted[From plain, To wide](xs []From) []To {
	out := make([]To, len(xs))
	for i, x := range xs {
		out[i] = To(x)
	}
	return out
}

// encode gives the bytes of Halide's type, little-endian, dimension 0 fastest. The error
// names a value that the type cannot hold, or a type that no file can fill.
func (t *tensor) encode(typ string) ([]byte, error) {
	kind := strings.TrimRight(typ, "0123456789")
	bits, err := strconv.Atoi(typ[len(kind):])
	if err != nil || bits%8 != 0 || (kind != "uint" && kind != "int" && kind != "float") || (kind == "float" && bits < 32) {
		return nil, fmt.Errorf("files cannot fill inputs of type %s", typ)
	}
	switch whole := t.values.(type) {
	case []int64:
		return encodeIntegers(whole, kind, bits)
	case []uint64:
		return encodeIntegers(whole, kind, bits)
	}
	values := t.values.([]float64)
	scale, low, high := 1.0, 0.0, math.Pow(2, float64(bits))-1
	if kind == "int" {
		low, high = -math.Pow(2, float64(bits-1)), math.Pow(2, float64(bits-1))-1
	}
	if t.unit && kind != "float" {
		scale = high
	}
	out := make([]byte, 0, len(values)*bits/8)
	for i, v := range values {
		v *= scale
		if kind == "float" {
			out = appendFloat(out, v, bits)
			continue
		}
		v = math.RoundToEven(v)
		// Of 64 bits the largest rounds up to a power of two, which is one too many.
		if !(v >= low && v <= high) || (bits == 64 && v == high) {
			return nil, cannotHold(i, v, kind, bits)
		}
		whole := uint64(int64(v))
		if v >= math.MaxInt64 {
			whole = uint64(v)
		}
		out = appendInteger(out, whole, bits)
	}
	return out, nil
}

func encodeIntegers[T integer](values []T, kind string, bits int) ([]byte, error) {
	out := make([]byte, 0, len(values)*bits/8)
	for i, v := range values {
		switch {
		case kind == "float":
			out = appendFloat(out, v, bits)
		case !holds(v, kind, bits):
			return nil, cannotHold(i, v, kind, bits)
		default:
			out = appendInteger(out, uint64(v), bits)
		}
	}
	return out, nil
}

// holds says whether a type of integers has the value.
func holds[T integer](v T, kind string, bits int) bool {
	if v < 0 {
		return kind == "int" && int64(v) >= int64(-1)<<(bits-1)
	}
	if kind == "int" {
		bits--
	}
	return uint64(v)>>bits == 0
}

func cannotHold(element int, v any, kind string, bits int) error {
	return fmt.Errorf("element %d is %v, which %s%d cannot hold", element, v, kind, bits)
}

func appendFloat[T wide](out []byte, v T, bits int) []byte {
	if bits == 32 {
		return binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(v)))
	}
	return binary.LittleEndian.AppendUint64(out, math.Float64bits(float64(v)))
}

// appendInteger appends the lower bits.
func appendInteger(out []byte, v uint64, bits int) []byte {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], v)
	return append(out, word[:bits/8]...)
}

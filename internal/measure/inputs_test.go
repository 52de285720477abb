package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/pipeline"
)

func param(name, typ string, extents ...int64) pipeline.Param {
	return pipeline.Param{Name: name, Type: typ, Buffer: len(extents) > 0, Extents: extents, Mins: make([]int64, len(extents))}
}

func pipe(params ...pipeline.Param) *pipeline.Pipeline { return &pipeline.Pipeline{Params: params} }

func file(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// npyFile is NumPy's format, version 1.0, written by hand.
func npyFile(t *testing.T, descr string, fortran bool, shape string, data []byte) string {
	t.Helper()
	order := "False"
	if fortran {
		order = "True"
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
	for (10+len(header)+1)%64 != 0 {
		header += " "
	}
	header += "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	return file(t, "array.npy", append(append(out, header...), data...))
}

// picture is 3 wide and 2 high, every channel different.
func picture(t *testing.T) string {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 3, 2))
	for y := range 2 {
		for x := range 3 {
			img.SetNRGBA(x, y, color.NRGBA{uint8(10*x + 100*y), uint8(50 + x), uint8(200 - y), 255})
		}
	}
	path := filepath.Join(t.TempDir(), "picture.png")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, img); err != nil {
		t.Fatal(err)
	}
	return path
}

// content is what the file behind an input holds.
func content(t *testing.T, in bridge.Input) []byte {
	t.Helper()
	path, ok := strings.CutPrefix(in.Fill, "raw:")
	if !ok {
		t.Fatalf("%s is filled by %s", in.Name, in.Fill)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func one(t *testing.T, p pipeline.Param, value string) bridge.Input {
	t.Helper()
	list, err := Inputs(pipe(p), []string{p.Name + "=" + value}, 1, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 {
		t.Fatalf("got %v", list)
	}
	return list[0]
}

func TestInputsByRule(t *testing.T) {
	p := pipe(param("a", "uint8", 8, 8), param("gain", "float32"), param("b", "float32", 8), param("shift", "int32"))
	list, err := Inputs(p, []string{"gain=1.5", "b=constant:-2.5e3"}, 7, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 3 || list[0].Fill != "random:7" || list[1].Value != "1.5" || list[2].Fill != "constant:-2500" {
		t.Errorf("got %+v", list)
	}
	for _, fill := range []string{"random:42", "random:42:6"} {
		if in := one(t, param("a", "uint8", 8), fill); in.Fill != fill || in.Extents != nil {
			t.Errorf("got %+v", in)
		}
	}
}

// Numbers are as large as their type allows, and not rounded.
func TestInputsKeepTheirDigits(t *testing.T) {
	for _, c := range []struct{ typ, setting, want string }{
		{"int64", "9007199254740993", "9007199254740993"},
		{"int64", "-9223372036854775808", "-9223372036854775808"},
		{"uint64", "18446744073709551615", "18446744073709551615"},
		{"uint8", "255", "255"},
		{"uint1", "true", "1"},
		{"uint1", "0", "0"},
		{"float32", "-Inf", "-Inf"},
		{"float64", "0.1", "0.1"},
	} {
		if in := one(t, param("a", c.typ), c.setting); in.Value != c.want {
			t.Errorf("%s %s: got %q", c.typ, c.setting, in.Value)
		}
		if in := one(t, param("a", c.typ, 8), "constant:"+c.setting); in.Fill != "constant:"+c.want {
			t.Errorf("%s %s: got %q", c.typ, c.setting, in.Fill)
		}
	}
}

// Short integers that are random over their whole range are not any more; nothing else changes.
func TestNarrower(t *testing.T) {
	p := pipe(param("a", "uint8", 8), param("b", "int16", 8), param("c", "int32", 8), param("d", "float16", 8), param("gain", "int16"), param("on", "uint1", 8), param("e", "uint16", 8))
	before, err := Inputs(p, []string{"gain=3", "e=constant:5"}, 7, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	after, settings := Narrower(p, before)
	if got := strings.Join(settings, " "); got != "a=random:7:6 b=random:7:12" {
		t.Fatalf("%q is narrower", got)
	}
	want := map[string]string{"a": "random:7:6", "b": "random:7:12", "c": "random:7", "d": "random:7", "gain": "", "on": "random:7", "e": "constant:5"}
	for i, in := range after {
		if in.Fill != want[in.Name] {
			t.Errorf("%s is %q, not %q", in.Name, in.Fill, want[in.Name])
		}
		if before[i].Fill != "random:7" && before[i].Fill != in.Fill || strings.Count(before[i].Fill, ":") > 1 {
			t.Errorf("%s was %q", in.Name, before[i].Fill)
		}
	}
	if _, again := Narrower(p, after); len(again) > 0 {
		t.Errorf("%v is still narrower", again)
	}
}

func TestPictures(t *testing.T) {
	path := picture(t)
	in := one(t, param("rgb", "uint8", 100, 100, 3), path)
	if fmt.Sprint(in.Extents) != "[3 2 3]" {
		t.Errorf("extents %v", in.Extents)
	}
	want := []byte{0, 10, 20, 100, 110, 120, 50, 51, 52, 50, 51, 52, 200, 200, 200, 199, 199, 199}
	if got := content(t, in); string(got) != string(want) {
		t.Errorf("planes %v, want %v", got, want)
	}
	// One plane: the luma. A white pixel would be 255.
	grey := content(t, one(t, param("grey", "uint8", 100, 100), path))
	for i, at := range [][3]float64{{0, 50, 200}, {10, 51, 200}} {
		if want := math.Round(.299*at[0] + .587*at[1] + .114*at[2]); math.Abs(float64(grey[i])-want) > 1 {
			t.Errorf("luma of %v is %d, want %v", at, grey[i], want)
		}
	}
	// Wider types use their whole range, floats [0, 1].
	wide := content(t, one(t, param("wide", "uint16", 9, 9, 3), path))
	if v := binary.LittleEndian.Uint16(wide[2*6:]); v != 50*257 {
		t.Errorf("as uint16: %d, want %d", v, 50*257)
	}
	float := content(t, one(t, param("float", "float32", 9, 9, 3), path))
	if v := math.Float32frombits(binary.LittleEndian.Uint32(float[4*6:])); math.Abs(float64(v)-50.0/255) > 1e-6 {
		t.Errorf("as float: %v", v)
	}
}

func TestArrays(t *testing.T) {
	f32 := func(xs ...float32) (out []byte) {
		for _, x := range xs {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
		return out
	}
	// Two rows of three: NumPy's last axis is Halide's first.
	in := one(t, param("a", "float32", 9, 9), npyFile(t, "<f4", false, "(2, 3)", f32(0, 1, 2, 10, 11, 12)))
	if fmt.Sprint(in.Extents) != "[3 2]" || string(content(t, in)) != string(f32(0, 1, 2, 10, 11, 12)) {
		t.Errorf("got %+v", in)
	}
	// The same array stored column by column is the same input.
	in = one(t, param("a", "float32", 9, 9), npyFile(t, "<f4", true, "(2, 3)", f32(0, 10, 1, 11, 2, 12)))
	if fmt.Sprint(in.Extents) != "[3 2]" || string(content(t, in)) != string(f32(0, 1, 2, 10, 11, 12)) {
		t.Errorf("in Fortran's order: extents %v", in.Extents)
	}
	for descr, data := range map[string][]byte{
		"|u1": {1, 2}, "|i1": {1, 2}, "<u2": {1, 0, 2, 0}, ">i2": {0, 1, 0, 2}, "<i4": {1, 0, 0, 0, 2, 0, 0, 0},
		"<u8": {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0},
	} {
		in := one(t, param("a", "uint8", 9), npyFile(t, descr, false, "(2,)", data))
		if got := content(t, in); string(got) != "\x01\x02" {
			t.Errorf("%s: %v", descr, got)
		}
	}
	in = one(t, param("a", "int64", 9), npyFile(t, "<i8", false, "(1,)", []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}))
	if got := content(t, in); int64(binary.LittleEndian.Uint64(got)) != -2 {
		t.Errorf("-2 became %v", got)
	}
}

// Integers are neither rounded nor refused where their type has them, and no type takes one
// that it has not.
func TestArraysOfIntegersAreExact(t *testing.T) {
	signed := func(v int64) uint64 { return uint64(v) }
	for _, c := range []struct {
		descr string
		bits  uint64 // of the element as the file has it
		typ   string
		want  string // of the element as the type has it; a refusal begins with "element"
	}{
		{"<i8", math.MaxInt64, "int64", "9223372036854775807"},
		{"<i8", signed(math.MinInt64), "int64", "-9223372036854775808"},
		{"<i8", 1<<53 + 1, "int64", "9007199254740993"},
		{">i8", signed(-1<<53 - 1), "int64", "-9007199254740993"},
		{"<i8", math.MaxInt64, "uint64", "9223372036854775807"},
		{"<i8", signed(-1), "uint64", "element 0 is -1, which uint64 cannot hold"},
		{"<u8", math.MaxUint64, "uint64", "18446744073709551615"},
		{"<u8", 1<<53 + 1, "uint64", "9007199254740993"},
		{"<u8", math.MaxInt64, "int64", "9223372036854775807"},
		{"<u8", 1 << 63, "int64", "element 0 is 9223372036854775808, which int64 cannot hold"},
		{"<u8", math.MaxUint64, "int64", "element 0 is 18446744073709551615, which int64 cannot hold"},
		{"<i8", math.MaxInt32, "int32", "2147483647"},
		{"<i8", 1 << 31, "int32", "element 0 is 2147483648, which int32 cannot hold"},
		{"<i8", signed(math.MinInt32), "int32", "-2147483648"},
		{"<i8", signed(math.MinInt32 - 1), "int32", "element 0 is -2147483649, which int32 cannot hold"},
		{"<u8", math.MaxUint32, "uint32", "4294967295"},
		{"<u8", 1 << 32, "uint32", "element 0 is 4294967296, which uint32 cannot hold"},
		{"<i8", signed(-128), "int8", "-128"},
		{"<i8", signed(-129), "int8", "element 0 is -129, which int8 cannot hold"},
		{"<u8", 128, "int8", "element 0 is 128, which int8 cannot hold"},
		{"<i8", 255, "uint8", "255"},
		{"<i8", 256, "uint8", "element 0 is 256, which uint8 cannot hold"},
		{"<i8", math.MaxInt64, "int16", "element 0 is 9223372036854775807, which int16 cannot hold"},
		{"<i8", 1<<24 + 1, "float64", "16777217"},
		{"<i8", 1<<24 + 1, "float32", "16777216"},
		// Rounded once: by way of 64 bits it would be 2^60.
		{"<i8", 1<<60 + 1<<36 + 1, "float32", "1152921642045800448"},
	} {
		var order binary.AppendByteOrder = binary.LittleEndian
		if c.descr[0] == '>' {
			order = binary.BigEndian
		}
		// All others are 1, so that the refused one is named.
		data := order.AppendUint64(order.AppendUint64(nil, c.bits), 1)
		setting := "a=" + npyFile(t, c.descr, false, "(2,)", data)
		in, err := Inputs(pipe(param("a", c.typ, 9)), []string{setting}, 1, t.TempDir())
		if strings.HasPrefix(c.want, "element") {
			if err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("%s %#x as %s: %v, want %q", c.descr, c.bits, c.typ, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %#x as %s: %v", c.descr, c.bits, c.typ, err)
			continue
		}
		if got := first(t, content(t, in[0]), c.typ); got != c.want {
			t.Errorf("%s %#x as %s: got %s, want %s", c.descr, c.bits, c.typ, got, c.want)
		}
	}
}

// first is the first element of two of a type, in digits.
func first(t *testing.T, raw []byte, typ string) string {
	t.Helper()
	var v any
	switch typ {
	case "int8":
		v = new([2]int8)
	case "int32":
		v = new([2]int32)
	case "int64":
		v = new([2]int64)
	case "uint8":
		v = new([2]uint8)
	case "uint32":
		v = new([2]uint32)
	case "uint64":
		v = new([2]uint64)
	case "float32":
		v = new([2]float32)
	case "float64":
		v = new([2]float64)
	default:
		t.Fatalf("no type %s", typ)
	}
	if n, err := binary.Decode(raw, binary.LittleEndian, v); err != nil || n != len(raw) {
		t.Fatalf("%d bytes for two of %s, %v", len(raw), typ, err)
	}
	e := reflect.ValueOf(v).Elem().Index(0)
	if e.CanFloat() {
		return strconv.FormatFloat(e.Float(), 'f', 0, 64)
	}
	return fmt.Sprint(e.Interface())
}

// Halide's own image files have no comma after the shape and no spaces in it.
func TestArraysThatHalideWrote(t *testing.T) {
	header := "{'descr': '|u1', 'fortran_order': False, 'shape': (2,3)}\n"
	head := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	path := file(t, "halide.npy", append(append(head, header...), 1, 2, 3, 4, 5, 6))
	kind, values, err := ReadNumPy(path)
	if err != nil || kind != "u1" || fmt.Sprint(values) != "[1 2 3 4 5 6]" {
		t.Errorf("got %s %v, %v", kind, values, err)
	}
	path = file(t, "long.npy", append(append(head, header...), 1, 2, 3, 4, 5, 6, 7))
	if _, _, err := ReadNumPy(path); err == nil || !strings.Contains(err.Error(), "too few or too many for the shape [2 3]") {
		t.Errorf("a byte too many: %v", err)
	}
}

func TestBadInputsAreNamed(t *testing.T) {
	bytes8 := make([]byte, 8)
	nan := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN()))
	huge := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Pow(2, 64)))
	for name, c := range map[string]struct {
		param   pipeline.Param
		setting string
		want    string
	}{
		"no value":         {param("a", "uint8", 8), "a", "write NAME=random:SEED"},
		"an empty value":   {param("a", "uint8", 8), "a=", "write NAME=random:SEED"},
		"an unknown input": {param("a", "uint8", 8), "b=random:1", "the pipeline has no such input; it has a"},
		"no seed":          {param("a", "uint8", 8), "a=random:x", `"x" is no seed`},
		"a negative seed":  {param("a", "uint8", 8), "a=random:-1", `"-1" is no seed`},
		"no constant":      {param("a", "uint8", 8), "a=constant:red", `"red" is no number`},
		"no scalar":        {param("g", "float32"), "g=random:1", `it is a scalar, "random:1" is no number`},
		"too large":        {param("g", "uint8"), "g=300", `"300" is no uint8`},
		"a sign":           {param("a", "uint32", 8), "a=constant:-1", `"-1" is no uint32`},
		"no whole number":  {param("g", "int32"), "g=1.5", `"1.5" is no int32`},
		"neither":          {param("a", "uint8", 8), "a=picture.tiff", "neither random:SEED"},
		"no file":          {param("a", "uint8", 8, 8), "a=/nowhere/p.png", "no such file"},
		"no picture":       {param("a", "uint8", 8, 8), "a=" + file(t, "p.png", []byte("not one")), "unknown format"},
		"no array":         {param("a", "uint8", 8, 8), "a=" + file(t, "a.npy", []byte("not one")), "a.npy"},
		"an empty array":   {param("a", "uint8", 8, 8), "a=" + file(t, "a.npy", nil), "a.npy"},
		"dimensions":       {param("a", "uint8", 8), "a=" + picture(t), "has 2 dimensions, the input has 1"},
		"a half":           {param("a", "float16", 8, 8), "a=" + picture(t), "files cannot fill inputs of type float16"},
		"a boolean":        {param("a", "uint1", 8, 8), "a=" + picture(t), "files cannot fill inputs of type uint1"},
		"out of range":     {param("a", "uint8", 8), "a=" + npyFile(t, "<i2", false, "(1,)", []byte{0, 1}), "element 0 is 256, which uint8 cannot hold"},
		"below range":      {param("a", "uint8", 8), "a=" + npyFile(t, "|i1", false, "(1,)", []byte{0xff}), "element 0 is -1, which uint8 cannot hold"},
		"not a number":     {param("a", "int32", 8), "a=" + npyFile(t, "<f8", false, "(1,)", nan), "element 0 is NaN, which int32 cannot hold"},
		"2^64":             {param("a", "uint64", 8), "a=" + npyFile(t, "<f8", false, "(1,)", huge), "which uint64 cannot hold"},
		"complex numbers":  {param("a", "float32", 8), "a=" + npyFile(t, "<c16", false, "(1,)", append(bytes8, bytes8...)), "arrays of <c16 are not read"},
		"a short array":    {param("a", "float64", 8), "a=" + npyFile(t, "<f8", false, "(4,)", bytes8), "array.npy"},
		"a vast array":     {param("a", "uint8", 8, 8), "a=" + npyFile(t, "|u1", false, "(4611686018427387904, 4611686018427387904)", bytes8), "array.npy"},
		"a large claim":    {param("a", "uint8", 8), "a=" + npyFile(t, "|u1", false, "(1099511627776,)", bytes8), "array.npy"},
		"a negative shape": {param("a", "uint8", 8), "a=" + npyFile(t, "|u1", false, "(-1,)", bytes8), "array.npy"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Inputs(pipe(c.param), []string{c.setting}, 1, t.TempDir())
			var ie *InputError
			if !errors.As(err, &ie) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Of several the same one is named every time.
func TestTheFirstUnknownInputIsNamed(t *testing.T) {
	_, err := Inputs(pipe(param("a", "uint8", 8)), []string{"d=1", "b=1", "c=1"}, 1, t.TempDir())
	var ie *InputError
	if !errors.As(err, &ie) || ie.Input != "b" {
		t.Errorf("got %v, want one that names b", err)
	}
}

func FuzzReadNumPy(f *testing.F) {
	f.Add([]byte("\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }          \n\x00\x00\x00\x00\x00\x00\x80\x3f"))
	f.Add([]byte("\x93NUMPY\x01\x00\x46\x00{'descr': '|u1', 'fortran_order': True, 'shape': (3, 9999999999), }\n"))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.npy")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := readNumPy(path)
		if err != nil {
			return
		}
		n := int64(1)
		for _, e := range a.extents {
			n *= e
		}
		count := reflect.ValueOf(a.values).Len()
		if n != int64(count) || count > len(data) {
			t.Fatalf("%d values for the extents %v in %d bytes", count, a.extents, len(data))
		}
	})
}

package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/protuner/protuner/claims/claim"
)

// differing is the share of values in which two outputs differ by more than rounding:
// one part in a thousand, or one of an integer.
func differing(a, b string) float64 {
	kind, x := values(a)
	other, y := values(b)
	if kind != other || len(x) != len(y) || len(x) == 0 {
		claim.Fail(fmt.Errorf("%s holds %d values of %s, %s %d of %s", a, len(x), kind, b, len(y), other))
	}
	allowed := 1e-5
	if kind != "<f4" {
		allowed = 1
	}
	n := 0
	for i := range x {
		if !(math.Abs(x[i]-y[i]) <= allowed+1e-3*math.Abs(y[i])) {
			n++
		}
	}
	return float64(n) / float64(len(x))
}

// values reads the numbers of a .npy file in the order in which they lie, and its name
// for their type.
func values(file string) (kind string, out []float64) {
	text, err := os.ReadFile(file)
	claim.Fail(err)
	if len(text) < 10 {
		claim.Fail(fmt.Errorf("%s is no array", file))
	}
	start := 10 + int(binary.LittleEndian.Uint16(text[8:]))
	_, kind, _ = strings.Cut(string(text[10:start]), "'descr': '")
	kind, _, _ = strings.Cut(kind, "'")
	data := text[start:]
	switch {
	case kind == "<f4":
		for ; len(data) >= 4; data = data[4:] {
			out = append(out, float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
		}
	case kind == "<u2":
		for ; len(data) >= 2; data = data[2:] {
			out = append(out, float64(binary.LittleEndian.Uint16(data)))
		}
	case strings.HasSuffix(kind, "u1"):
		for _, b := range data {
			out = append(out, float64(b))
		}
	default:
		claim.Fail(fmt.Errorf("%s holds numbers of type %s", file, kind))
	}
	return kind, out
}

package nn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
)

// A .weights file of Halide's, little-endian: a magic number, the versions of the
// pipeline and the schedule features, the number of buffers; per buffer the number
// of dimensions, the extents and the float32 data.
const (
	magic   = 0x68776631
	version = 3
	buffers = 6
)

// ErrNotFound says that a file has no weights in it.
var ErrNotFound = errors.New("no weights of feature version 3 in it")

// Parse reads a .weights file. Errors say which number is wrong and what it must
// be.
func Parse(b []byte) (*Weights, error) {
	w, rest, err := parse(b)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes follow the weights", len(rest))
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

func parse(b []byte) (*Weights, []byte, error) {
	number := func(what string) (uint32, error) {
		if len(b) < 4 {
			return 0, fmt.Errorf("the file ends before %s", what)
		}
		v := binary.LittleEndian.Uint32(b)
		b = b[4:]
		return v, nil
	}
	want := func(what string, n uint32) error {
		v, err := number(what)
		if err == nil && v != n {
			err = fmt.Errorf("%s is %d, not %d", what, v, n)
		}
		return err
	}
	for _, head := range []struct {
		what string
		n    uint32
	}{{"the magic number", magic}, {"the version of the pipeline features", version}, {"the version of the schedule features", version}, {"the number of buffers", buffers}} {
		if err := want(head.what, head.n); err != nil {
			return nil, nil, err
		}
	}
	w := new(Weights)
	for _, buf := range w.buffers() {
		if err := want("the number of dimensions of "+buf.name, uint32(len(buf.extents))); err != nil {
			return nil, nil, err
		}
		for d, n := range buf.extents {
			if err := want(fmt.Sprintf("extent %d of %s", d, buf.name), n); err != nil {
				return nil, nil, err
			}
		}
		for i := range buf.data {
			bits, err := number("the end of " + buf.name)
			if err != nil {
				return nil, nil, err
			}
			v := math.Float32frombits(bits)
			if v != v || math.IsInf(float64(v), 0) {
				return nil, nil, fmt.Errorf("number %d of %s is %g", i, buf.name, v)
			}
			buf.data[i] = v
		}
	}
	return w, b, nil
}

// Append writes a .weights file.
func (w *Weights) Append(dst []byte) []byte {
	for _, n := range []uint32{magic, version, version, buffers} {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	for _, buf := range w.buffers() {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(buf.extents)))
		for _, n := range buf.extents {
			dst = binary.LittleEndian.AppendUint32(dst, n)
		}
		for _, v := range buf.data {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
		}
	}
	return dst
}

// Find reads the weights embedded in a file, such as Halide's Adams2019 plugin:
// the first that are whole. ErrNotFound where there are none.
func Find(b []byte) (*Weights, error) {
	var head []byte
	for _, n := range []uint32{magic, version, version, buffers, 3, Algorithm, Ops, Types} {
		head = binary.LittleEndian.AppendUint32(head, n)
	}
	for {
		at := bytes.Index(b, head)
		if at < 0 {
			return nil, ErrNotFound
		}
		if w, _, err := parse(b[at:]); err == nil {
			return w, nil
		}
		b = b[at+4:]
	}
}

// ReadFile reads the weights in a file: a .weights file, or Halide's Adams2019
// plugin. Errors name the file.
func ReadFile(path string) (*Weights, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var w *Weights
	if bytes.HasPrefix(b, []byte("\x7fELF")) {
		w, err = Find(b)
	} else {
		w, err = Parse(b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

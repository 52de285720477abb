package space

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Point is a configuration as numbers: one slot a parameter, in the order of
// the space, but Size slots for a permutation (slot k holds the element at
// position k). A categorical's slot holds the index of its value. Points are
// never changed once handed out.
type Point []float64

// Key identifies a point: equal keys, equal configurations.
func (x Point) Key() string {
	b := make([]byte, 0, 8*len(x))
	for _, v := range x {
		if v == 0 {
			v = 0 // -0 is 0
		}
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return string(b)
}

// Config is a point together with its space: what users see. Configs are
// immutable. The zero Config belongs to no space.
type Config struct {
	space *Space
	x     Point
}

// Config wraps a point of the space.
func (s *Space) Config(x Point) Config { return Config{space: s, x: x} }

// Point returns the configuration as numbers.
func (c Config) Point() Point { return c.x }

// Valid reports whether the Config belongs to a space.
func (c Config) Valid() bool { return c.space != nil }

// Space returns the space the configuration belongs to, nil for the zero Config.
func (c Config) Space() *Space { return c.space }

func (c Config) slots(name string) (*Param, []float64) {
	i, ok := c.space.index[name]
	if !ok {
		panic(fmt.Sprintf("bayes/space: there is no parameter %q", name))
	}
	return &c.space.params[i], c.x[c.space.offset[i]:][:c.space.params[i].width()]
}

// Float returns the value of a real, integer or ordinal parameter. Like the
// other accessors it panics when there is no such parameter.
func (c Config) Float(name string) float64 { _, x := c.slots(name); return x[0] }

// Int is Float, rounded.
func (c Config) Int(name string) int { return int(math.Round(c.Float(name))) }

// Text returns the value of the named parameter as text.
func (c Config) Text(name string) string {
	p, x := c.slots(name)
	return p.text(x)
}

// Order returns a permutation: element k of the result is at position k.
func (c Config) Order(name string) []int {
	_, x := c.slots(name)
	out := make([]int, len(x))
	for i, v := range x {
		out[i] = int(v)
	}
	return out
}

func (p *Param) text(x []float64) string {
	switch p.Type {
	case Categorical:
		return p.Categories[int(x[0])]
	case Permutation:
		parts := make([]string, len(x))
		for i, v := range x {
			parts[i] = strconv.Itoa(int(v))
		}
		return strings.Join(parts, ",")
	}
	return number(x[0])
}

// number writes x as JSON does: programs that read {name} know no exponent in 1048576.
func number(x float64) string {
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

func (p *Param) value(x []float64) any {
	switch p.Type {
	case Categorical:
		return p.Categories[int(x[0])]
	case Permutation:
		out := make([]int, len(x))
		for i, v := range x {
			out[i] = int(v)
		}
		return out
	case Integer:
		return int(x[0])
	}
	return x[0]
}

// Map returns the configuration by name: float64 (real, ordinal), int
// (integer), string (categorical) or []int (permutation).
func (c Config) Map() map[string]any {
	m := make(map[string]any, len(c.space.params))
	for i := range c.space.params {
		p := &c.space.params[i]
		m[p.Name] = p.value(c.x[c.space.offset[i]:][:p.width()])
	}
	return m
}

// String lists name=value in the order of the space.
func (c Config) String() string {
	if c.space == nil {
		return "(no configuration)"
	}
	var b strings.Builder
	for i := range c.space.params {
		if i > 0 {
			b.WriteByte(' ')
		}
		p := &c.space.params[i]
		fmt.Fprintf(&b, "%s=%s", p.Name, p.text(c.x[c.space.offset[i]:][:p.width()]))
	}
	return b.String()
}

// MarshalJSON writes an object in the order of the space.
func (c Config) MarshalJSON() ([]byte, error) {
	if c.space == nil {
		return []byte("null"), nil
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range c.space.params {
		if i > 0 {
			b.WriteByte(',')
		}
		p := &c.space.params[i]
		name, err := json.Marshal(p.Name)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(p.value(c.x[c.space.offset[i]:][:p.width()]))
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Parse makes a configuration from values by name. Every parameter must be
// there, no other, and all known constraints must hold.
func (s *Space) Parse(values map[string]any) (Config, error) {
	x := make(Point, s.width)
	for i := range s.params {
		p := &s.params[i]
		v, ok := values[p.Name]
		if !ok {
			return Config{}, fmt.Errorf("parameter %s has no value", p.Name)
		}
		if err := p.parse(v, x[s.offset[i]:][:p.width()]); err != nil {
			return Config{}, err
		}
	}
	if len(values) > len(s.params) {
		var extra []string
		for name := range values {
			if _, ok := s.index[name]; !ok {
				extra = append(extra, name)
			}
		}
		sort.Strings(extra)
		return Config{}, fmt.Errorf("there is no parameter %s", strings.Join(extra, ", "))
	}
	if broken := s.Violated(x); len(broken) > 0 {
		return Config{}, fmt.Errorf("the configuration breaks %q", broken)
	}
	return s.Config(x), nil
}

// ParseJSON is Parse of a JSON object.
func (s *Space) ParseJSON(data []byte) (Config, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return Config{}, fmt.Errorf("not a JSON object: %w", err)
	}
	return s.Parse(m)
}

// Default returns the configuration of the parameters' defaults. The error
// says which default is missing or which constraint they break.
func (s *Space) Default() (Config, error) {
	values := map[string]any{}
	var missing []string
	for i := range s.params {
		p := &s.params[i]
		if p.Default == nil {
			missing = append(missing, p.Name)
			continue
		}
		values[p.Name] = p.Default
	}
	if missing != nil {
		return Config{}, fmt.Errorf("no default for %s", strings.Join(missing, ", "))
	}
	c, err := s.Parse(values)
	if err != nil {
		return Config{}, fmt.Errorf("default configuration: %w", err)
	}
	return c, nil
}

// Params returns the parameters in order.
func (s *Space) Params() []Param { return slices.Clone(s.params) }

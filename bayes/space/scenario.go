package space

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/protuner/protuner/bayes/expr"
)

// Scenario is a tuning task as BaCO and HyperMapper publish them: a JSON
// object with input_parameters and settings. Settings that have no counterpart
// here are listed in Ignored.
type Scenario struct {
	Name       string // application_name
	Objective  string // the one of optimization_objectives
	Space      *Space
	Initial    int    // design_of_experiment.number_of_samples; 0: not given
	Iterations int    // optimization_iterations; -1: not given
	Log        *bool  // log_transform_output
	Model      string // models.model, "gaussian_process" or "random_forest"
	// FeasibleField, FeasibleTrue: the output that says whether a
	// configuration was valid (feasible_output), and its value when it was.
	FeasibleField, FeasibleTrue string
	// Ignored lists keys that change nothing here, in the order of the file.
	Ignored []string
}

// maxScenario bounds the size of a scenario in bytes.
const maxScenario = 16 << 20

// ReadScenario reads a scenario. Errors give the line and column of a syntax
// error, else the path of the key and, in a constraint, the column.
func ReadScenario(r io.Reader) (*Scenario, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxScenario+1))
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	if len(data) > maxScenario {
		return nil, fmt.Errorf("scenario: longer than %d bytes", maxScenario)
	}
	var probe json.RawMessage
	if err := json.Unmarshal(data, &probe); err != nil {
		return nil, located(data, err)
	}
	top, err := members(data)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	sc := &Scenario{Iterations: -1}
	b := &scenarioBuilder{paths: map[string]string{}}
	for _, m := range top {
		if err := b.top(sc, m); err != nil {
			return nil, fmt.Errorf("scenario: %w", err)
		}
	}
	if len(b.params) == 0 {
		return nil, errors.New("scenario: input_parameters: no parameter")
	}
	if err := b.checkDependencies(); err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	sc.Space, err = New(b.params, b.constraints...)
	if err != nil {
		var e *expr.Error
		if errors.As(err, &e) {
			return nil, fmt.Errorf("scenario: %s: %w", b.paths[e.Text], err)
		}
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return sc, nil
}

// located turns the byte offset of a JSON error into a line and column.
func located(data []byte, err error) error {
	var se *json.SyntaxError
	if !errors.As(err, &se) {
		return fmt.Errorf("scenario: %w", err)
	}
	before := data[:min(max(int(se.Offset)-1, 0), len(data))]
	line := bytes.Count(before, []byte("\n")) + 1
	col := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("scenario: line %d, column %d: %w", line, col, err)
}

// member is one key of a JSON object.
type member struct {
	key string
	raw json.RawMessage
}

// members reads an object in the order of the file.
func members(raw json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	t, err := d.Token()
	if err != nil || t != json.Delim('{') {
		return nil, errors.New("a JSON object was expected")
	}
	var out []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: key.(string)}
		if slices.ContainsFunc(out, func(o member) bool { return o.key == m.key }) {
			return nil, fmt.Errorf("the key %q is there twice", m.key)
		}
		if err := d.Decode(&m.raw); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

type scenarioBuilder struct {
	params       []Param
	constraints  []string
	paths        map[string]string // constraint -> where it stands
	dependencies [][2]string       // path, name
}

func read(path string, raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) {
			return fmt.Errorf("%s: a %v was expected, not a %s", path, te.Type, te.Value)
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (b *scenarioBuilder) top(sc *Scenario, m member) error {
	switch m.key {
	case "application_name":
		return read(m.key, m.raw, &sc.Name)
	case "optimization_objectives":
		var names []string
		if err := read(m.key, m.raw, &names); err != nil {
			return err
		}
		if len(names) != 1 {
			return fmt.Errorf("%s: one objective is supported, not %d", m.key, len(names))
		}
		sc.Objective = names[0]
	case "optimization_iterations":
		return b.count(m.key, m.raw, &sc.Iterations)
	case "log_transform_output":
		return read(m.key, m.raw, &sc.Log)
	case "constraints":
		return b.constrain(m.key, m.raw)
	case "models":
		return b.fields(sc, m, map[string]func(json.RawMessage) error{
			"model": func(raw json.RawMessage) error { return read("models.model", raw, &sc.Model) },
		})
	case "design_of_experiment":
		return b.fields(sc, m, map[string]func(json.RawMessage) error{
			"number_of_samples": func(raw json.RawMessage) error { return b.count(m.key+".number_of_samples", raw, &sc.Initial) },
			"doe_type":          func(json.RawMessage) error { return nil },
		})
	case "feasible_output":
		return b.fields(sc, m, map[string]func(json.RawMessage) error{
			"name":                      func(raw json.RawMessage) error { return read(m.key+".name", raw, &sc.FeasibleField) },
			"true_value":                func(raw json.RawMessage) error { return b.scalar(m.key+".true_value", raw, &sc.FeasibleTrue) },
			"false_value":               func(json.RawMessage) error { return nil },
			"enable_feasible_predictor": func(json.RawMessage) error { return nil },
		})
	case "input_parameters":
		list, err := members(m.raw)
		if err != nil {
			return fmt.Errorf("%s: %w", m.key, err)
		}
		for _, p := range list {
			if err := b.param(sc, p); err != nil {
				return err
			}
		}
	default:
		sc.Ignored = append(sc.Ignored, m.key)
	}
	return nil
}

// fields hands the members of an object to their readers; the others are
// ignored.
func (b *scenarioBuilder) fields(sc *Scenario, m member, known map[string]func(json.RawMessage) error) error {
	list, err := members(m.raw)
	if err != nil {
		return fmt.Errorf("%s: %w", m.key, err)
	}
	for _, f := range list {
		if set := known[f.key]; set == nil {
			sc.Ignored = append(sc.Ignored, m.key+"."+f.key)
		} else if err := set(f.raw); err != nil {
			return err
		}
	}
	return nil
}

func (b *scenarioBuilder) count(path string, raw json.RawMessage, into *int) error {
	var f float64
	if err := read(path, raw, &f); err != nil {
		return err
	}
	if f < 0 || f != math.Trunc(f) || f > 1e9 {
		return fmt.Errorf("%s: a number of evaluations was expected, not %v", path, f)
	}
	*into = int(f)
	return nil
}

// scalar reads a text, number or boolean as text.
func (b *scenarioBuilder) scalar(path string, raw json.RawMessage, into *string) error {
	var v any
	if err := read(path, raw, &v); err != nil {
		return err
	}
	switch v.(type) {
	case string, float64, bool:
		*into = fmt.Sprint(v)
		return nil
	}
	return fmt.Errorf("%s: a text, number or boolean was expected", path)
}

func (b *scenarioBuilder) constrain(path string, raw json.RawMessage) error {
	var texts []string
	if err := read(path, raw, &texts); err != nil {
		return err
	}
	for k, t := range texts {
		if _, ok := b.paths[t]; !ok {
			b.paths[t] = fmt.Sprintf("%s[%d]", path, k)
			b.constraints = append(b.constraints, t)
		}
	}
	return nil
}

func (b *scenarioBuilder) param(sc *Scenario, m member) error {
	path := "input_parameters." + m.key
	list, err := members(m.raw)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	p := Param{Name: m.key}
	var values []any
	for _, f := range list {
		at := path + "." + f.key
		switch f.key {
		case "parameter_type":
			var name string
			if err := read(at, f.raw, &name); err != nil {
				return err
			}
			i := slices.Index(typeNames[:], name)
			if i < int(Real) {
				return fmt.Errorf("%s: %q is none of %s", at, name, strings.Join(typeNames[Real:], ", "))
			}
			p.Type = Type(i)
		case "values":
			err = read(at, f.raw, &values)
		case "parameter_default":
			err = read(at, f.raw, &p.Default)
		case "transform":
			var name string
			err = read(at, f.raw, &name)
			if p.Log = name == "log"; err == nil && name != "log" && name != "none" {
				return fmt.Errorf("%s: %q is neither none nor log", at, name)
			}
		case "parametrization":
			var name string
			if err = read(at, f.raw, &name); err == nil {
				if p.Metric, err = ParseMetric(name); err != nil {
					err = fmt.Errorf("%s: %w", at, err)
				}
			}
		case "constraints":
			err = b.constrain(at, f.raw)
		case "dependencies":
			var names []string
			err = read(at, f.raw, &names)
			for k, n := range names {
				b.dependencies = append(b.dependencies, [2]string{fmt.Sprintf("%s[%d]", at, k), n})
			}
		case "prior", "prior_parameters":
			sc.Ignored = append(sc.Ignored, at)
		default:
			return fmt.Errorf("%s: unknown key", at)
		}
		if err != nil {
			return err
		}
	}
	if p.Type == 0 {
		return fmt.Errorf("%s: parameter_type is missing", path)
	}
	if err := p.setValues(values); err != nil {
		return fmt.Errorf("%s.values: %w", path, err)
	}
	b.params = append(b.params, p)
	return nil
}

// setValues spreads the published "values" list over the fields of the type.
func (p *Param) setValues(values []any) error {
	if p.Type == Categorical {
		for _, v := range values {
			switch v := v.(type) {
			case string, bool:
				p.Categories = append(p.Categories, fmt.Sprint(v))
			case float64:
				p.Categories = append(p.Categories, number(v))
			default:
				return fmt.Errorf("%v is neither text nor number", v)
			}
		}
		return nil
	}
	numbers := make([]float64, len(values))
	for i, v := range values {
		f, ok := v.(float64)
		if !ok {
			return fmt.Errorf("a number was expected, not %v", v)
		}
		numbers[i] = f
	}
	switch p.Type {
	case Ordinal:
		p.Values = numbers
	case Permutation:
		if len(numbers) != 1 || numbers[0] != math.Trunc(numbers[0]) || math.Abs(numbers[0]) > 1e6 {
			return fmt.Errorf("the number of elements was expected, not %v", values)
		}
		p.Size = int(numbers[0])
	default:
		if len(numbers) != 2 {
			return fmt.Errorf("the lowest and the highest value were expected, not %v", values)
		}
		p.Min, p.Max = numbers[0], numbers[1]
	}
	return nil
}

func (b *scenarioBuilder) checkDependencies() error {
	for _, d := range b.dependencies {
		if !slices.ContainsFunc(b.params, func(p Param) bool { return p.Name == d[1] }) {
			return fmt.Errorf("%s: there is no parameter %q", d[0], d[1])
		}
	}
	return nil
}

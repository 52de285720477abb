package space_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/bayes/space"
)

func TestReadScenario(t *testing.T) {
	sc := scenario(t, "sddmm")
	if sc.Name != "sddmm" || sc.Objective != "compute_time" || sc.Iterations != 50 || sc.Initial != 10 ||
		sc.Log == nil || !*sc.Log || sc.Model != "gaussian_process" || sc.FeasibleField != "Valid" || sc.FeasibleTrue != "True" {
		t.Errorf("settings: %+v", sc)
	}
	var names []string
	for _, p := range sc.Space.Params() {
		names = append(names, p.Name)
	}
	if want := []string{"cs", "uf", "ocs", "ont", "ost", "p"}; !slices.Equal(names, want) {
		t.Errorf("parameters %q, not in the order of the file", names)
	}
	b := scenario(t, "branin")
	if want := []string{"input_parameters.x2.prior", "log_file"}; !slices.Equal(b.Ignored, want) {
		t.Errorf("ignored %q, want %q", b.Ignored, want)
	}
	if b.Iterations != 5 || b.Initial != 0 || b.Log != nil {
		t.Errorf("settings: %+v", b)
	}
}

func TestScenarioErrors(t *testing.T) {
	wrap := func(params string) string {
		return `{"optimization_objectives":["t"],"input_parameters":{` + params + `}}`
	}
	for in, want := range map[string]string{
		"{\n  \"a\": 1,\n  ]\n}":                "line 3, column 3",
		`[]`:                                    "a JSON object was expected",
		`{}`:                                    "input_parameters: no parameter",
		`{"optimization_objectives":["a","b"]}`: "one objective is supported, not 2",
		`{"optimization_iterations":-1}`:        "optimization_iterations: a number of evaluations",
		wrap(`"a":{"parameter_type":"ordinal","values":[1],"constraint":[]}`):           "input_parameters.a.constraint: unknown key",
		wrap(`"a":{"parameter_type":"ordinal","values":[1,2],"constraints":["a < b"]}`): `input_parameters.a.constraints[0]: constraint "a < b", column 5: unknown parameter b`,
		wrap(`"a":{"parameter_type":"ordinal","values":[1,2],"constraints":["a <"]}`):   "column 4: the expression ends too early",
		wrap(`"a":{"parameter_type":"ordinal","values":[1,2],"dependencies":["z"]}`):    `dependencies[0]: there is no parameter "z"`,
		wrap(`"a":{"parameter_type":"nominal","values":[1]}`):                           `"nominal" is none of real, integer, ordinal`,
		wrap(`"a":{"values":[1]}`):                                                                    "parameter_type is missing",
		wrap(`"a":{"parameter_type":"real","values":[1]}`):                                            "the lowest and the highest value",
		wrap(`"a":{"parameter_type":"ordinal","values":["x"]}`):                                       "a number was expected, not x",
		wrap(`"a":{"parameter_type":"permutation","values":[1,2]}`):                                   "the number of elements was expected",
		wrap(`"a":{"parameter_type":"permutation","values":[3],"parametrization":"cosine"}`):          "unknown permutation metric",
		wrap(`"a":{"parameter_type":"integer","values":[0,4],"transform":"log"}`):                     "a log transform needs values above 0",
		wrap(`"a":{"parameter_type":"integer","values":[0,4],"transform":"exp"}`):                     "neither none nor log",
		wrap(`"a":{"parameter_type":"ordinal","values":[1]},"a":{}`):                                  `the key "a" is there twice`,
		wrap(`"a":{"parameter_type":"ordinal","values":[1,2],"constraints":["a<1"]}`):                 `these clash: "a<1"`,
		wrap(`"a":{"parameter_type":"ordinal","values":[1,2],"constraints":["a<2","a>1"]}`):           `these clash: "a<2" and "a>1"`,
		wrap(`"a":{"parameter_type":"ordinal","values":{"x":1}}`):                                     "input_parameters.a.values: a",
		wrap(`"a":{"parameter_type":"categorical","values":["x","y"],"constraints":["a == 'q'"]}`):    `"q" is none of the values x, y`,
		wrap(`"a":{"parameter_type":"permutation","values":[3],"constraints":["a_i3 < a_i0"]}`):       "unknown parameter a_i3",
		wrap(`"a":{"parameter_type":"permutation","values":[3],"parameter_default":[0,1]}`):           "has 2 elements, not 3",
		wrap(`"a":{"parameter_type":"categorical","values":[["x"]]}`):                                 "neither text nor number",
		wrap(`"a":{"parameter_type":"integer","values":[0,4],"parameter_default":9}`):                 "9 is not among its values",
		wrap(`"a":{"parameter_type":"integer","values":[0,4]},"a-b":{"parameter_type":"integer"}`):    "the lowest and the highest",
		wrap(`"a":{"parameter_type":"integer","values":[0,1e300]}`):                                   "beyond 2^53",
		`{"input_parameters":{"a":{"parameter_type":"integer","values":[0,4]}},"constraints":["a<"]}`: "constraints[0]",
	} {
		_, err := space.ReadScenario(strings.NewReader(in))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n\terror %v\n\twant %q", in, err, want)
		}
	}
	_, err := space.ReadScenario(strings.NewReader(wrap(`"a":{"parameter_type":"ordinal","values":[1,2],"constraints":["a<1"]}`)))
	if !errors.Is(err, space.ErrEmpty) {
		t.Errorf("emptiness is not ErrEmpty: %v", err)
	}
}

func FuzzReadScenario(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"input_parameters":{"a":{"parameter_type":"real","values":[0,1]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		defer space.SetMaxNodes(1000)()
		sc, err := space.ReadScenario(strings.NewReader(string(data)))
		if err == nil && sc.Space == nil {
			t.Fatal("neither a space nor an error")
		}
	})
}

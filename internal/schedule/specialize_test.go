package schedule

import (
	"strings"
	"testing"
)

// A version for one box has everything inside it, is written and read like any other
// schedule, and goes back to what it was made of.
func TestSpecialized(t *testing.T) {
	b := binding(t, "unsharp")
	plain := mustParse(t, `kernel.compute_root()
output.split(y, yo, yi, 32)
output.parallel(yo)
gray.compute_at(output, yi)
gray.store_root()
ratio.compute_at(output, yi)
`)
	special := plain.Specialized([]Version{{Func: "output", Dims: []string{"x", "y", "c"}, Spans: []Span{{0, 0, 1536}, {3, 64, 2560}, {0, 0, 3}},
		Inputs: []Input{{Name: "input", Box: []int64{-2, 1540, -8, 2560}}, {Name: "lut", Box: []int64{0, 256}}}}},
		func(string) string { return "output" })
	want := `kernel.compute_at(output, __outermost)
output.split(y, yo, yi, 32)
output.parallel(yo)
gray.compute_at(output, yi)
gray.store_at(output, __outermost)
ratio.compute_at(output, yi)
output.specialize(x, 0, 1536, y, 3%64, 2560, c, 0, 3, input[-2, 1540, -8, 2560], lut[0, 256])
`
	if got := special.String(); got != want {
		t.Fatalf("it is\n%s", got)
	}
	if special.General().Hash() != plain.Hash() || !special.Specializes() || plain.Specializes() {
		t.Errorf("it goes back to\n%s", special.General())
	}
	if plain.General().Hash() != plain.Hash() {
		t.Error("a schedule without one changes")
	}
	checkRoundTrip(t, special)
	body, err := special.HalideBody(b, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(body, ".specialize(output.output_buffer().dim(0).min() == 0 && output.output_buffer().dim(0).extent() == 1536 && "+
		"output.output_buffer().dim(1).min() % 64 == 3 && output.output_buffer().dim(1).extent() == 2560 && ") ||
		!strings.Contains(body, `.extent() == 3 && protuner_input("input", {-2, 1540, -8, 2560}) && protuner_input("lut", {0, 256}))`) {
		t.Errorf("written as\n%s", body)
	}
	again, err := ParseHalide([]byte(body), b)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	if again.General().Hash() != plain.Hash() || !again.Specializes() {
		t.Errorf("read as\n%s", again)
	}
}

// What a box may not be is refused, wherever it stands.
func TestBadBoxes(t *testing.T) {
	for text, want := range map[string]string{
		"f.specialize()":                 "no dimension",
		"f.specialize(x)":                "expected ','",
		"f.specialize(x, 0)":             "expected ','",
		"f.specialize(x, 0, 0)":          "no part of a dimension",
		"f.specialize(x, 0, 1, x, 0, 1)": "named twice",

		"f.specialize(x, 0, 1, i[0, 1], i[0, 1])": "the input i named twice",
		"f.specialize(x, 0, 1, i[])":              "0 numbers of the input i",
		"f.specialize(x, 0%, 1)":                  "expected the step of its min",
		"f.specialize(x, 4%4, 1)":                 "left of a division by 4 is 0 to 3",
		"f.specialize(x, -1%4, 1)":                "left of a division by 4 is 0 to 3",
		"f.specialize(x, 0%-4, 1)":                "left of a division",
		"f.specialize(x, 0, 1, i[0%4, 1])":        "expected ','",
		"f.specialize(x, 0, 1, i[0])":             "1 numbers of the input i",
		"f.specialize(x, 0, 1, i[0 1])":           "expected ','",
		"f.specialize(x, 0, 1, i[0, 0])":          "no part of a dimension",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	b := binding(t, "unsharp")
	for _, condition := range []string{
		"", "output.width() > 16", "output.output_buffer().dim(0).min() == 0", "output.output_buffer().dim(1).extent() == 4 && output.output_buffer().dim(0).min() == 0", "output.output_buffer().dim(9).min() == 0 && output.output_buffer().dim(9).extent() == 4",
		"output.output_buffer().dim(0).min() % x == 0 && output.output_buffer().dim(0).extent() == 4", "output.output_buffer().dim(0).extent() % 2 == 0",
		"output.output_buffer().dim(0).min() == 0 & output.output_buffer().dim(0).extent() == 4", "gray.output_buffer().dim(0).min() == 0",
		`protuner_input("input", {0, 4})`, `output.output_buffer().dim(0).min() == 0 && output.output_buffer().dim(0).extent() == 4 && protuner_input(output, {0, 4})`,
		`output.output_buffer().dim(0).min() == 0 && output.output_buffer().dim(0).extent() == 4 && protuner_input("input", {0, output})`,
	} {
		if _, err := ParseHalide([]byte("output.specialize("+condition+");"), b); err == nil {
			t.Errorf("%q is read", condition)
		}
	}
	if s, err := ParseHalide([]byte("output.specialize(output.output_buffer().dim(1).extent() == 4 && output.output_buffer().dim(1).min() == -2);"), b); err != nil ||
		s.String() != "output.specialize(y, -2, 4)\n" {
		t.Errorf("the other way round it is %v %v", s, err)
	}
}

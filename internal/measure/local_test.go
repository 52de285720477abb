package measure

import (
	"slices"
	"testing"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/schedule"
)

// Where no second size is checked, what a schedule does at others is built by itself.
func TestVersionsWhereThereIsOneSize(t *testing.T) {
	plain, err := schedule.Parse("f.vectorize(x)\n")
	if err != nil {
		t.Fatal(err)
	}
	special := plain.Specialized([]schedule.Version{{Func: "f", Dims: []string{"x"}, Spans: []schedule.Span{{Extent: 8}}}}, func(string) string { return "f" })
	if !special.Specializes() {
		t.Fatalf("no version in\n%s", special)
	}
	texts := func(of schedule.Schedule) (out []string) {
		for _, s := range versions(&bridge.Server{}, of) {
			out = append(out, s.String())
		}
		return out
	}
	if got := texts(special); !slices.Equal(got, []string{special.String(), plain.String()}) {
		t.Errorf("of a schedule with a version %q", got)
	}
	if got := texts(plain); !slices.Equal(got, []string{plain.String()}) {
		t.Errorf("of one without %q", got)
	}
}

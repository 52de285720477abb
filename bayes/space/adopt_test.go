package space_test

import (
	"testing"

	"github.com/protuner/protuner/bayes/space"
)

func TestAdopt(t *testing.T) {
	from, err := space.New([]space.Param{
		{Name: "tile", Type: space.Integer, Min: 1, Max: 4096},
		{Name: "order", Type: space.Permutation, Size: 3},
		{Name: "longer", Type: space.Permutation, Size: 4},
		{Name: "mode", Type: space.Categorical, Categories: []string{"a", "b", "c"}},
		{Name: "flag", Type: space.Categorical, Categories: []string{"new"}},
		{Name: "share", Type: space.Real, Min: 0, Max: 9},
		{Name: "threads", Type: space.Ordinal, Values: []float64{1, 2, 64}},
	})
	if err != nil {
		t.Fatal(err)
	}
	to, err := space.New([]space.Param{
		{Name: "share", Type: space.Real, Min: 0, Max: 1},
		{Name: "flag", Type: space.Categorical, Categories: []string{"x", "y"}, Default: "y"},
		{Name: "mode", Type: space.Categorical, Categories: []string{"c", "a"}},
		{Name: "order", Type: space.Permutation, Size: 3},
		{Name: "longer", Type: space.Permutation, Size: 2},
		{Name: "tile", Type: space.Ordinal, Values: []float64{4, 16, 64}, Log: true},
		{Name: "threads", Type: space.Integer, Min: 1, Max: 8},
		{Name: "unknown", Type: space.Ordinal, Values: []float64{3, 5}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := from.Parse(map[string]any{"tile": 33, "order": []int{2, 0, 1}, "longer": []int{3, 2, 1, 0}, "mode": "a", "flag": "new", "share": 7.5, "threads": 64})
	if err != nil {
		t.Fatal(err)
	}
	const want = "share=1 flag=y mode=a order=2,0,1 longer=0,1 tile=64 threads=8 unknown=3"
	got := to.Adopt(c.Map())
	if got.String() != want {
		t.Errorf("%v\nnot %v", got, want)
	}
	if again := to.Adopt(got.Map()); again.String() != want {
		t.Errorf("a space changes its own configuration to %v", again)
	}
	if b, err := from.Parse(map[string]any{"tile": 1, "order": []int{0, 1, 2}, "longer": []int{0, 1, 2, 3}, "mode": "b", "flag": "new", "share": 0.5, "threads": 2}); err != nil {
		t.Fatal(err)
	} else if got := to.Adopt(b.Map()); got.Text("mode") != "c" || got.Int("tile") != 4 || got.Float("share") != 0.5 {
		t.Errorf("%v", got)
	}
}

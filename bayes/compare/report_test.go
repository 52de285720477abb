package main

import (
	"math"
	"testing"
)

func values(v ...float64) []*float64 {
	out := make([]*float64, len(v))
	for i := range v {
		if v[i] > 0 {
			out[i] = &v[i]
		}
	}
	return out
}

func TestTraces(t *testing.T) {
	// A failure first counts as the worst; what was not evaluated changes nothing.
	got := logs(values(0, 8, 16, 4), 6, 4, 64)
	for i, want := range []float64{16, 2, 2, 1, 1, 1} {
		if math.Abs(math.Exp(got[i])-want) > 1e-9 {
			t.Errorf("after %d: %v, not %v", i+1, math.Exp(got[i]), want)
		}
	}
	m := mean([][]float64{{2, 1}, {4, 3}, {100, 100}}, []int{0, 1})
	if m[0] != 3 || m[1] != 2 {
		t.Errorf("mean %v", m)
	}
	for target, want := range map[float64]float64{3: 1, 2.5: 2, 2: 2, 1: 4} {
		if r := reach(m, target); r != want {
			t.Errorf("%v is reached after %v, not %v", target, r, want)
		}
	}
}

func TestMissingSeeds(t *testing.T) {
	b, err := openBook(t.TempDir() + "/out/book.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	path := b.f.Name()
	for _, g := range []game{{Table: "t", Player: "p", Seed: 2, Outcomes: values(1, 2)}, {Table: "t", Player: "p", Seed: 3, Outcomes: values(1)},
		{Table: "t", Player: "p", Seed: 4, Outcomes: values(1), Stuck: true}, {Table: "t", Player: "q", Seed: 1, Outcomes: values(1, 2)}} {
		if err := b.add(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	if b, err = openBook(path); err != nil {
		t.Fatal(err)
	}
	if got := b.missing("t", "p", 4, 2); len(got) != 2 || got[0] != 1 || got[1] != 3 {
		t.Errorf("missing %v, not 1 and 3", got)
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
}

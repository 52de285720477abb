package space_test

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/protuner/protuner/bayes/space"
)

// distanceOrders is the semimetric between two orders (paper section 4.1). The
// Kendall distance counts each discordant pair twice, as the paper's double
// sum does.
func distanceOrders(m space.Metric, a, b []int) float64 {
	n := len(a)
	pa, pb := make([]int, n), make([]int, n)
	for k := range n {
		pa[a[k]], pb[b[k]] = k, k
	}
	d := 0.0
	for i := range n {
		switch m {
		case space.Spearman:
			d += math.Pow(float64(pa[i]-pb[i]), 2)
		case space.Hamming, space.Naive:
			if a[i] != b[i] {
				d++
			}
		case space.Kendall:
			for j := range n {
				if (pa[i] < pa[j]) != (pb[i] < pb[j]) {
					d++
				}
			}
		}
	}
	if m == space.Naive {
		return math.Min(d, 1)
	}
	return d
}

// orders is the space of orders of n elements, and the semimetric as its columns say it.
func orders(t *testing.T, m space.Metric, n int) (*space.Space, func(a, b space.Point) float64) {
	t.Helper()
	s, err := space.New([]space.Param{{Name: "p", Type: space.Permutation, Size: n, Metric: m}})
	if err != nil {
		t.Fatal(err)
	}
	// Kendall's double sum counts each pair twice; Spearman's columns are over n.
	scale := map[space.Metric]float64{space.Spearman: float64(n * n), space.Kendall: 2, space.Hamming: 1, space.Naive: 1}[m]
	enc := s.Encoder(space.EncodeOptions{})
	return s, func(a, b space.Point) float64 {
		ea, eb := enc.Encode(nil, a), enc.Encode(nil, b)
		d := 0.0
		for c, col := range enc.Columns() {
			switch {
			case !col.Equal:
				d += (ea[c] - eb[c]) * (ea[c] - eb[c])
			case ea[c] != eb[c]:
				d++
			}
		}
		return d * scale
	}
}

// TestPermutationEncodings checks that the squared distance of the encodings
// is proportional to each semimetric of paper section 4.1.
func TestPermutationEncodings(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, m := range []space.Metric{space.Spearman, space.Kendall, space.Hamming, space.Naive} {
		s, distance := orders(t, m, 6)
		for range 200 {
			a, _ := s.Sample(rng)
			b, _ := s.Sample(rng)
			got, want := distance(a, b), distanceOrders(m, s.Config(a).Order("p"), s.Config(b).Order("p"))
			if math.Abs(got-want) > 1e-9 {
				t.Fatalf("%v of %v and %v: columns say %v, definition %v", m, a, b, got, want)
			}
		}
	}
}

// TestPaperFigure3 is the worked example of the paper: (1 2 3 4) and (2 4 3 1).
func TestPaperFigure3(t *testing.T) {
	a, b := []int{0, 1, 2, 3}, []int{1, 3, 2, 0}
	for m, want := range map[space.Metric]float64{space.Kendall: 8, space.Spearman: 14, space.Hamming: 3, space.Naive: 1} {
		s, distance := orders(t, m, len(a))
		var points []space.Point
		for _, order := range [][]int{a, b} {
			c, err := s.Parse(map[string]any{"p": order})
			if err != nil {
				t.Fatal(err)
			}
			points = append(points, c.Point())
		}
		if got, defined := distance(points[0], points[1]), distanceOrders(m, a, b); math.Abs(got-want) > 1e-9 || defined != want {
			t.Errorf("%v: columns say %v, definition %v, the paper %v", m, got, defined, want)
		}
	}
}

func TestEncodeUnit(t *testing.T) {
	s, err := space.New([]space.Param{
		{Name: "tile", Type: space.Ordinal, Values: []float64{64, 1, 8}, Log: true},
		{Name: "one", Type: space.Integer, Min: 3, Max: 3},
		{Name: "mode", Type: space.Categorical, Categories: []string{"a", "b"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Parse(map[string]any{"tile": 8, "one": 3, "mode": "b"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Encoder(space.EncodeOptions{}).Encode(nil, c.Point()); math.Abs(got[0]-0.5) > 1e-12 || got[1] != 0 || got[2] != 1 {
		t.Errorf("log: %v", got)
	}
	if got := s.Encoder(space.EncodeOptions{NoLog: true}).Encode(nil, c.Point()); math.Abs(got[0]-7.0/63) > 1e-12 {
		t.Errorf("no log: %v", got)
	}
}

func TestSeveralMetrics(t *testing.T) {
	for size, want := range map[int]string{4: "0:6 1:4", 7: "0:21 1:7"} {
		s, err := space.New([]space.Param{{Name: "x", Type: space.Real, Min: 0, Max: 1}, {Name: "p", Type: space.Permutation, Size: size}})
		if err != nil {
			t.Fatal(err)
		}
		enc := s.Encoder(space.EncodeOptions{Metrics: []space.Metric{space.Kendall, space.Spearman, space.Kendall}})
		parts := map[int]int{}
		for _, c := range enc.Columns()[1:] {
			if c.Param != 1 {
				t.Errorf("size %d: column %+v", size, c)
			}
			parts[c.Part]++
		}
		got := fmt.Sprintf("0:%d", parts[0])
		if parts[1] > 0 {
			got += fmt.Sprintf(" 1:%d", parts[1])
		}
		x, err := s.Sample(rand.New(rand.NewSource(1)))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(enc.Encode(nil, x)); got != want || n != len(enc.Columns()) {
			t.Errorf("size %d: columns %s, not %s; %d inputs of %d columns", size, got, want, n, len(enc.Columns()))
		}
	}
}

package pipeline

import "testing"

// Descriptions have derivatives that are not in lowest terms.
func TestRationalIs(t *testing.T) {
	for _, c := range []struct {
		r    Rational
		n    int64
		want bool
	}{
		{Rational{1, 1}, 1, true},
		{Rational{3, 3}, 1, true},
		{Rational{-3, -3}, 1, true},
		{Rational{6, 3}, 2, true},
		{Rational{0, 3}, 0, true},
		{Rational{1, 3}, 1, false},
		{Rational{1, 3}, 0, false},
		{Rational{0, 0}, 0, false}, // no constant
		{Rational{1, 0}, 1, false},
	} {
		if got := c.r.Is(c.n); got != c.want {
			t.Errorf("%v is %d: %v", c.r, c.n, got)
		}
	}
}

func TestRationalSumsAndProducts(t *testing.T) {
	half, none, anyhow := Rational{1, 2}, Rational{0, 1}, Rational{}
	if got := half.Plus(Rational{1, 3}); got != (Rational{5, 6}) {
		t.Errorf("a half and a third are %v", got)
	}
	if got := half.Plus(anyhow); got.Den != 0 {
		t.Errorf("what nobody knows and a half are %v", got)
	}
	if got := half.Times(Rational{2, 3}); !got.Times(Rational{3, 1}).Is(1) {
		t.Errorf("half of two thirds is %v", got)
	}
	if !none.Times(anyhow).Is(0) || !anyhow.Times(none).Is(0) || half.Times(anyhow).Den != 0 {
		t.Error("nothing times what nobody knows is nothing, a half of it is not known")
	}
}

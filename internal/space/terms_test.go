package space

import (
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
)

// Short reductions can be unrolled, one after the other, long ones, of which no two points have
// as many iterations, and scans over an image cannot.
func TestTerms(t *testing.T) {
	for name, want := range map[string]map[string][]int64{
		"conv_layer.h21": {"sum": {3, 9}},
		"dct.h21":        {"across": {8}, "both": {8}},
		"product.h21":    {"product": {2}},
		"dots.h21":       {"whole": {2}, "largest": {2}, "by_words": {2}, "by_shorts": {2}, "by_bytes": {2}, "added": {2}},
		"hist.h21":       {},
		"ragged.h21":     {"sums": {8}},
		"scan.h21":       {},
	} {
		p := pipelinetest.Described(t, name)
		sp := newSpace(t, p, Defaults(2))
		for f, fn := range p.Funcs {
			if got := sp.Terms(f); sp.Scheduled(f) && !slices.Equal(got, want[fn.Name]) {
				t.Errorf("%s of %s: %v, not %v", fn.Name, name, got, want[fn.Name])
			}
		}
	}
}

// Of a long reduction some are unrolled, of several products at once too, and each vector along
// it is as long as before.
func TestSomeTerms(t *testing.T) {
	sp := newSpace(t, pipelinetest.Described(t, "dots.h21"), Defaults(2))
	for said, want := range map[string][]string{
		"by_bytes terms 2\n":                 {"split(k$x, k$x, k$xi, 2, guard_with_if)\n", "unroll(k$xi)\n", "reorder(xi, k$xi, "},
		"by_bytes terms 2\nby_bytes dot 4\n": {"split(k$x, k$x, k$xi, 8, guard_with_if)\n", "split(k$xi, k$xi, k$xii, 4, guard_with_if)\n", "unroll(k$xi)\n", "vectorize(k$xii)\n"},
	} {
		s := stateOf(t, sp, "output compute root vector x\nby_bytes compute root vector x\n"+said)
		if err := s.Schedule().Check(sp.Pipeline().Binding()); err != nil {
			t.Error(err)
		}
		got := directivesOf(s, "by_bytes.update(0)")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%q: no %s in\n%s", said, w, got)
			}
		}
		if n := strings.Count(got, "unroll(k"); n != strings.Count(strings.Join(want, ""), "unroll(k") {
			t.Errorf("%q: %d loops are unrolled in\n%s", said, n, got)
		}
	}
}

// A copy of an input that is read where it lies is no more code than the input.
func TestTermsOfCopies(t *testing.T) {
	sp := newSpace(t, pipelinetest.Described(t, "product_in.h21"), Defaults(2))
	for text, unrolled := range map[string]bool{
		"product compute output [16,6] vector x\nb_im_in_product inline\na_im_in_product inline\nproduct terms 2\n":   true,
		"product compute output [8,12] vector x\nb_im_in_product inline\na_im_in_product inline\nproduct terms 2\n":   true,
		"product compute output [512,64] vector x\nb_im_in_product inline\na_im_in_product inline\nproduct terms 2\n": true,
		"product compute output [16,6] vector x\nb_im_in_product inline\na_im_in_product inline\n":                    false,
	} {
		got := directivesOf(stateOf(t, sp, "output compute root vector x\n"+text), "product.update(0)")
		if strings.Contains(got, "unroll(k$xi)") != unrolled {
			t.Errorf("%s: unrolled %v:\n%s", text, !unrolled, got)
		}
	}
}

// They are unrolled around the points that are, inside everything else, as many as the state
// says and as code has room for.
func TestUnrolledTerms(t *testing.T) {
	o := Defaults(2)
	o.Sized = true
	sp := newSpace(t, pipelinetest.Described(t, "conv_layer.h21"), o)
	const text = "relu compute root vector c\nsum compute root vector c\n"
	for said, want := range map[string][]string{
		"":                               {"reorder(ci, r$x, r$y, r$z, c, x, "},
		"sum terms 3\n":                  {"reorder(ci, r$y, r$x, r$z, c, x, ", "unroll(r$y)\n"},
		"sum terms 9\n":                  {"reorder(ci, r$y, r$z, r$x, c, x, ", "unroll(r$y)\n", "unroll(r$z)\n"},
		"sum block x 4\nsum terms 9\n":   {"reorder(ci, xi, r$y, r$z, r$x, c, x, ", "unroll(xi)\n", "unroll(r$y)\n", "unroll(r$z)\n"},
		"sum block x 50\nsum terms 9\n":  {"reorder(ci, xi, r$y, r$x, r$z, c, x, ", "unroll(xi)\n", "unroll(r$y)\n"},
		"sum terms 9\nsum interchange\n": {"reorder(ci, c, x, yi, n, r$x, r$y, r$z"},
	} {
		s := stateOf(t, sp, text+said+"relu sized\n")
		stands(t, s)
		got := directivesOf(s, "sum.update(0)")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%q: no %s in\n%s", said, w, got)
			}
		}
		if n := strings.Count(got, "unroll("); n != len(want)-1 {
			t.Errorf("%q: %d loops are unrolled in\n%s", said, n, got)
		}
	}
}

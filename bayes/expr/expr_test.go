package expr_test

import (
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/protuner/protuner/bayes/expr"
)

// vars: a..d whole numbers in slots 0..3, x real, mode and kind categorical,
// size categorical with numbers for values.
func resolve(name string) (expr.Var, bool) {
	switch name {
	case "a", "b", "c", "d":
		return expr.Var{Slot: int(name[0] - 'a'), Integer: true}, true
	case "x":
		return expr.Var{Slot: 4}, true
	case "mode":
		return expr.Var{Slot: 5, Categories: []string{"static", "dynamic"}}, true
	case "kind":
		return expr.Var{Slot: 6, Categories: []string{"dynamic", "guided", "static"}}, true
	case "size":
		return expr.Var{Slot: 7, Categories: []string{"16", "32"}}, true
	}
	return expr.Var{}, false
}

func TestHolds(t *testing.T) {
	// a=6 b=4 c=0 d=-3 x=2.5 mode=dynamic kind=dynamic size=32
	at := []float64{6, 4, 0, -3, 2.5, 1, 0, 1}
	for text, want := range map[string]bool{
		"a == 6":                               true,
		"a % b == 2":                           true,
		"d % b == 1":                           true, // Python's sign
		"d // b == -1":                         true,
		"-a // b == -2":                        true,
		"2 ** 3 ** 2 == 512":                   true,
		"-2 ** 2 == -4":                        true,
		"a - b - 1 == 1":                       true,
		"a - (b - 1) == 3":                     true,
		"a / b == 1.5":                         true,
		"1 < b < a":                            true,
		"1 < a < b":                            false,
		"a > b >= 4 > c":                       true,
		"(a % 2 == 0) | (a == 1)":              true,
		"((a < b) & (b < a)) | (c == 0)":       true,
		"~(a == 6)":                            false,
		"not a == 5 and b == 4":                true,
		"a == 5 or b == 4 and c == 1":          false,
		"!(a == 5) && (b == 4 || c == 1)":      true,
		"(a & (a - 1)) == 4":                   true,
		"a ^ 3 | 8":                            true,
		"1 << b == 16":                         true,
		"a in [2, 4, 6]":                       true,
		"a not in (2, 4, 6)":                   false,
		"mode == 'dynamic'":                    true,
		"'static' == mode":                     false,
		"mode != \"static\"":                   true,
		"mode in ['static', 'dynamic']":        true,
		"mode == kind":                         true,
		"size == '32'":                         true,
		"size == 32":                           true,
		"size / 2 >= 16":                       true,
		"min(a, b, c) == 0 and max(a, b) == 6": true,
		"abs(d) == 3":                          true,
		"log2(b) == 2":                         true,
		"floor(x) == 2 and ceil(x) == 3":       true,
		"round(x) == 2":                        true, // half to even
		"sqrt(b) == 2":                         true,
		"where(a > b, a, b) == 6":              true,
		"a % c == 0":                           false, // no value
		"not (a % c == 0)":                     false, // still none
		"c == 0 or a % c == 0":                 true,
		"a % c == 0 or c == 0":                 true,
		"c != 0 and a % c == 0":                false,
		"log(c) < 1":                           false,
		"c":                                    false,
		"a":                                    true,
		"True":                                 true,
		"(a > 5) + (b > 5) == 1":               true,
		"1e2 == 100. and .5 < 1":               true,
		"49152 - a * b * 4 - 4 * b >= 0":       true,
	} {
		e, err := expr.Parse(text, resolve)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := e.Holds(at); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "column 1: empty",
		"a <":               "column 4: the expression ends too early",
		"a < csx":           "column 5: unknown parameter csx",
		"a = 3":             "column 3: = found; equality is ==",
		"a < 3 & b < 4":     "column 7: & | and ^ bind tighter than comparisons",
		"(a < 3":            "the parenthesis opened at column 1 is not closed",
		"a < 3)":            "column 6",
		"a $ b":             "column 3: unexpected character '$'",
		"mode == 'auto'":    `column 9: "auto" is none of the values static, dynamic`,
		"mode < 3":          "is not a number",
		"a == 'six'":        "column 6: text \"six\" is compared with a number",
		"mode":              "a condition was expected",
		"'x":                "text without its closing '",
		"foo(a)":            "unknown function foo",
		"sqrt(a, b)":        "wrong number of arguments for sqrt: 2",
		"a in 3":            "a list such as",
		"a in []":           "an empty list",
		"1.2.3 < a":         `"1.2.3" is not a number`,
		"a in [3] == 1":     "column 10: no comparison can follow in",
		"a 3":               `"3" found where an operator`,
		"é < 3":             "column 1: unknown parameter é",
		"é == é and a < b1": "column 1",
		"a < 3 and é":       "column 11: unknown parameter é",
	} {
		_, err := expr.Parse(text, resolve)
		var pe *expr.Error
		if !errors.As(err, &pe) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := expr.Parse(strings.Repeat("(", 1000), resolve); err == nil || !strings.Contains(err.Error(), "nested deeper") {
		t.Errorf("deep nesting: %v", err)
	}
}

// text makes a random expression over a..d.
func text(rng *rand.Rand, depth int, boolean bool) string {
	if boolean {
		if depth > 0 && rng.Intn(2) == 0 {
			op := []string{"and", "or", "&", "|"}[rng.Intn(4)]
			s := fmt.Sprintf("((%s) %s (%s))", text(rng, depth-1, true), op, text(rng, depth-1, true))
			if rng.Intn(4) == 0 {
				s = "(not " + s + ")"
			}
			return s
		}
		op := []string{"<", "<=", ">", ">=", "==", "!="}[rng.Intn(6)]
		return fmt.Sprintf("((%s) %s (%s))", text(rng, depth, false), op, text(rng, depth, false))
	}
	if depth == 0 || rng.Intn(3) == 0 {
		if rng.Intn(3) == 0 {
			return fmt.Sprint(rng.Intn(9) - 3)
		}
		return string(rune('a' + rng.Intn(4)))
	}
	l, r := text(rng, depth-1, false), text(rng, depth-1, false)
	switch rng.Intn(7) {
	case 0:
		return fmt.Sprintf("min(%s, %s)", l, r)
	case 1:
		return fmt.Sprintf("abs(%s)", l)
	case 2:
		return fmt.Sprintf("where((%s) > 1, %s, %s)", l, r, l)
	}
	return fmt.Sprintf("((%s) %s (%s))", l, []string{"+", "-", "*", "/", "//", "%"}[rng.Intn(6)], r)
}

// TestIntervalsAreSound: a verdict over a box agrees with every point in it,
// and equal residuals mean equal futures.
func TestIntervalsAreSound(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	values := []float64{-2, -1, 0, 1, 2, 3}
	decided := 0
	for range 3000 {
		src := text(rng, 3, true)
		e, err := expr.Parse(src, resolve)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		// a and b settled, c and d open.
		lo, hi := []float64{0, 0, -2, -2}, []float64{0, 0, 3, 3}
		futures := map[string]string{}
		for _, a := range values {
			for _, b := range values {
				lo[0], hi[0], lo[1], hi[1] = a, a, b, b
				verdict := e.Verdict(lo, hi)
				var future strings.Builder
				for _, c := range values {
					for _, d := range values {
						holds := e.Holds([]float64{a, b, c, d})
						if verdict == expr.Holds && !holds || verdict == expr.Fails && holds {
							t.Fatalf("%s: verdict %d for a=%v b=%v, but c=%v d=%v gives %v", src, verdict, a, b, c, d, holds)
						}
						fmt.Fprint(&future, holds)
					}
				}
				if verdict != expr.Open {
					decided++
				}
				key := string(e.AppendResidual(nil, lo, hi, func(int) {}))
				if old, ok := futures[key]; ok && old != future.String() {
					t.Fatalf("%s: one residual, two futures (a=%v b=%v)", src, a, b)
				}
				futures[key] = future.String()
			}
		}
	}
	if decided < 3000 {
		t.Errorf("intervals decided only %d of %d boxes", decided, 3000*36)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a < b", "(a % 2 == 0) | (b == 1)", "mode in ['static']", "1 < a <= b != 3",
		"where(a > b, a, b) ** 2 // 3", "not ~(a << 2)", "a - -b", "min(a,b) & 7", "'", "((((", "a not in (1,2)"} {
		f.Add(s)
	}
	at := []float64{6, 4, 0, -3, 2.5, 1, 0, 1}
	lo := []float64{0, 0, 0, -5, 0, 0, 0, 0}
	hi := []float64{9, 9, 9, 5, 5, 1, 2, 1}
	f.Fuzz(func(t *testing.T, src string) {
		e, err := expr.Parse(src, resolve)
		if err != nil {
			var pe *expr.Error
			if !errors.As(err, &pe) || pe.Pos < 0 || pe.Pos > len(src) {
				t.Fatalf("%q: %v", src, err)
			}
			return
		}
		point, box := e.Verdict(at, at), e.Verdict(lo, hi)
		if point == expr.Open {
			t.Fatalf("%q is open at a point", src)
		}
		if box != expr.Open && box != point {
			t.Fatalf("%q: %d in the box, %d at a point of it", src, box, point)
		}
	})
}

package pipeline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

func TestExpr(t *testing.T) {
	datadriven.RunTest(t, "testdata/expr", func(t *testing.T, d *datadriven.TestData) string {
		var e Expr
		// Not json.Unmarshal, which never hands null to a value.
		if err := e.UnmarshalJSON([]byte(d.Input)); err != nil {
			return fmt.Sprintf("error: %v\n", err)
		}
		var ends [4]int64
		for i, a := range d.CmdArgs {
			n, err := strconv.ParseInt(a.Key, 10, 64)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			ends[i] = n
		}
		again, err := json.Marshal(&e)
		if err != nil || e.String() != strings.TrimSpace(d.Input) {
			d.Fatalf(t, "marshals to %s, %v", again, err)
		}
		spans := []Span{{Min: ends[0], Max: ends[1]}, {Min: ends[2], Max: ends[3]}}
		return fmt.Sprintln(e.Eval(spans))
	})
}

// formulaCase is a line of testdata/formulas.json, which halide/testdata's
// formulas.cpp writes: the ends of two spans and Halide's own value.
type formulaCase struct {
	Expr  *Expr      `json:"expr"`
	Cases [][5]int64 `json:"cases"`
}

func TestFormulasAgreeWithHalide(t *testing.T) {
	file, err := os.Open("testdata/formulas.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	checked := 0
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c formulaCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		for _, v := range c.Cases {
			spans := []Span{{Min: v[0], Max: v[1]}, {Min: v[2], Max: v[3]}}
			if got := c.Expr.Eval(spans); got != v[4] {
				t.Errorf("%s over %v: %d, Halide says %d", c.Expr, v[:4], got, v[4])
			}
			checked++
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if checked < 1000 {
		t.Errorf("only %d cases", checked)
	}
}

// A formula too deep, too long or too nested is refused, whatever it is made of.
func TestExprLimits(t *testing.T) {
	nested := func(open, leaf, close string, n int) string {
		return strings.Repeat(open, n) + leaf + strings.Repeat(close, n)
	}
	for _, tt := range []struct{ name, formula, want string }{
		{"deep", nested(`["+",1,`, "1", "]", maxExprDepth), "intermediate values"},
		{"nested", nested(`["~",`, "1", "]", 5*maxExprDepth), "nested deeper"},
		{"long", nested(`["+",`, "1", `,1]`, maxExprDepth-1), ""},
	} {
		var e Expr
		err := json.Unmarshal([]byte(tt.formula), &e)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	wide := "1"
	for range 15 {
		wide = `["+",` + wide + "," + wide + "]"
	}
	if err := new(Expr).UnmarshalJSON([]byte(wide)); err == nil || !strings.Contains(err.Error(), "operations") {
		t.Errorf("wide: %v", err)
	}
}

func FuzzExpr(f *testing.F) {
	for _, s := range []string{
		`["max",["+","min:0",3],["cast","int32",["floor",["*",["cast","float32","max:1"],["const","float32","0.37"]]]]]`,
		`["select",["<",["cast","uint64","min:0"],["const","uint64","5"]],["/","min:0","max:0"],["%","min:1","max:1"]]`,
		`[">>",["<<","min:0","max:0"],"min:1"]`,
		`["absd",["cast","int64","min:0"],["const","int64","-9223372036854775808"]]`,
	} {
		f.Add([]byte(s), int64(3), int64(-9))
	}
	f.Fuzz(func(t *testing.T, b []byte, lo, hi int64) {
		var e Expr
		if json.Unmarshal(b, &e) != nil || e.String() == "" {
			return
		}
		spans := make([]Span, e.ends)
		for i := range spans {
			spans[i] = Span{Min: lo + int64(i), Max: hi - int64(i)}
		}
		v := e.Eval(spans)
		var again Expr
		if err := json.Unmarshal([]byte(e.String()), &again); err != nil {
			t.Fatalf("%s: %v", e.String(), err)
		}
		if w := again.Eval(spans); w != v || again.String() != e.String() {
			t.Fatalf("%s gives %d, then %s gives %d", e.String(), v, again.String(), w)
		}
	})
}

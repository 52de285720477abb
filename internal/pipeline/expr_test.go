package pipeline

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

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

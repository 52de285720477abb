package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/bridge"
)

// A folder without a Halide in it is said to be none, with the command that installs one, and
// nothing is looked at that needs it.
func TestDoctorWithoutHalide(t *testing.T) {
	dir := t.TempDir()
	why, mend := "--halide names "+dir+", but there is no include/Halide.h in it", "install it with `python3 -m pip install "
	o := execute(t, t.TempDir(), "doctor", "--halide", dir)
	if o.code != exitFailed || !strings.HasPrefix(o.out, "MISSING  Halide ") || !strings.Contains(o.out, why) || !strings.Contains(o.out, mend) || strings.Count(o.out, "\n") != 2 {
		t.Errorf("code %d:\n%s", o.code, o.out)
	}
	if !strings.Contains(o.words, "something is missing; each line above says how to get it") {
		t.Errorf("it says %q", o.words)
	}

	o = execute(t, t.TempDir(), "doctor", "--halide", dir, "--json")
	var checks []bridge.Check
	if err := json.Unmarshal([]byte(o.out), &checks); err != nil || o.code != exitFailed || len(checks) != 1 {
		t.Fatalf("code %d, %v:\n%s", o.code, err, o.out)
	}
	if c := checks[0]; c.Name != "Halide" || c.OK || c.Found != why || !strings.HasPrefix(c.Mend, mend) {
		t.Errorf("got %+v", c)
	}
}

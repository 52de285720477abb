package search

import (
	"math"
	"math/rand"
	"testing"
)

// Where schedules may have a version for the estimated sizes most begin with one, and go on
// so while the fastest has one, and where those fail no more; where they may not, or the
// output is of two values, none has.
func TestSizedFromTheBeginning(t *testing.T) {
	for _, c := range []struct {
		pipeline string
		allowed  bool
		worth    float64 // times as long as one without takes one with
		first    int     // of ten have one
		most     bool    // of all that follow
	}{{"harris.h21", true, 0.5, 8, true}, {"harris.h21", true, 2, 4, false}, {"harris.h21", true, math.Inf(1), 4, false}, {"harris.h21", false, 1, 0, false}, {"tuple_update.h21", true, 1, 0, false}} {
		e := NewEvolve(sizedSpace(t, c.pipeline, c.allowed), rand.New(rand.NewSource(1)), EvolveDefaults())
		of, with := 0, 0
		for of < 200 {
			proposed, err := e.Propose(t.Context(), 1)
			if err != nil {
				t.Fatalf("%s: %v", c.pipeline, err)
			}
			if len(proposed) == 0 && of > 10 {
				break // there are no more
			}
			p := proposed[0]
			if p.Schedule.Specializes() != p.State.Sized() {
				t.Fatalf("%s: %s says %v, its state %v", c.pipeline, p.Origin, p.Schedule.Specializes(), p.State.Sized())
			}
			took := 1 + pretend(p)
			if of++; p.State.Sized() {
				with++
				took *= c.worth
			}
			o := Outcome{Candidate: p}
			if !math.IsInf(took, 1) {
				o.OK, o.Seconds = true, took
			}
			if err := e.Observe([]Outcome{o}); err != nil {
				t.Fatal(err)
			}
			if of == 10 && (with < c.first || with > c.first+2) {
				t.Errorf("%s, %g: %d of ten have a version for the estimated sizes", c.pipeline, c.worth, with)
			}
		}
		if (2*with > of) != c.most || c.first == 0 && with > 0 {
			t.Errorf("%s, %g, allowed %v: %d of %d have a version for the estimated sizes", c.pipeline, c.worth, c.allowed, with, of)
		}
	}
}

// A move that has nothing to change costs no turn: hist has no chains that slide, no vectors
// to shorten and no sums of products.
func TestMovesWithNothingToChange(t *testing.T) {
	e := NewEvolve(newSpace(t, "hist.h21", 2), rand.New(rand.NewSource(1)), EvolveDefaults())
	run(t, e, 40, 1, func(c Candidate) Outcome { return Outcome{Candidate: c, OK: true, Seconds: pretend(c)} })
	idle := map[string]bool{}
	for _, m := range moves {
		if _, ok := m.apply(e.mover, e.best[0].state, e.best[0].state); !ok {
			idle[m.name] = true
		}
	}
	made := 0
	for range 200 {
		if _, _, ok := e.next(); ok {
			made++
		}
	}
	if len(idle) < 4 || made < 190 {
		t.Errorf("%d of 200 turns changed something, where of %d moves %d cannot: %v", made, len(moves), len(idle), idle)
	}
}

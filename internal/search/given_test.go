package search

import (
	"math/rand"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/space"
)

// givenTo draws n candidates of a space at random, to be given to an evolution.
func givenTo(t *testing.T, sp *space.Space, n int) []Candidate {
	t.Helper()
	given, err := NewRandom(sp, rand.New(rand.NewSource(9))).Propose(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range given {
		given[i].Origin = "given"
	}
	return given
}

// What evolution is given comes among the first with the prototypes where they are as fast,
// all of it in the end, and what came first is changed before all of it has been measured.
func TestGivenTakeTurns(t *testing.T) {
	sp := newSpace(t, "harris.h21", 2)
	given := givenTo(t, sp, 24)
	o := EvolveDefaults()
	o.Given = given
	var kinds []string
	missing := map[uint64]bool{} // a change may lead to a prototype before its turn
	for _, c := range Prototypes(sp) {
		missing[c.Hash] = true
	}
	run(t, NewEvolve(sp, rand.New(rand.NewSource(1)), o), (len(given)+2)*oneMore, 1, func(c Candidate) Outcome {
		delete(missing, c.Hash)
		kind := "changed"
		switch {
		case c.Origin == "given":
			kind = "given"
		case len(c.Origin) > 10 && c.Origin[:10] == "prototype:":
			kind = "prototype"
		}
		kinds = append(kinds, kind)
		return Outcome{Candidate: c, OK: true, Seconds: 1}
	})
	count := func(from, to int) map[string]int {
		n := map[string]int{}
		for _, k := range kinds[from:to] {
			n[k]++
		}
		return n
	}
	if n := count(0, promptly); n["given"] != promptly/2 || n["prototype"] != promptly/2 {
		t.Errorf("it began with %v", n)
	}
	if n := count(promptly, 3*promptly); n["changed"] < promptly-1 || n["given"] == 0 || n["prototype"] == 0 {
		t.Errorf("it went on with %v", n)
	}
	if n := count(0, len(kinds)); n["given"] != len(given) || len(missing) > 0 {
		t.Errorf("in the end it was %v, of %d given, and %d prototypes were left out", n, len(given), len(missing))
	}
}

// Of many that are given some are measured, and one more now and then.
func TestGivenAreSpared(t *testing.T) {
	sp := newSpace(t, "harris.h21", 2)
	o := EvolveDefaults()
	o.Given = givenTo(t, sp, 100)
	given := 0
	run(t, NewEvolve(sp, rand.New(rand.NewSource(1)), o), 4*oneMore, 1, func(c Candidate) Outcome {
		if c.Origin == "given" {
			given++
		}
		return Outcome{Candidate: c, OK: true, Seconds: pretend(c)}
	})
	if given < givenFirst+1 || given > givenFirst+4 {
		t.Errorf("%d of 100 given among the first %d", given, 4*oneMore)
	}
}

// What was measured before, as by an earlier run, has no part in how many of those given are
// tried, nor in whose turn it is.
func TestKnownOpeningsDoNotCount(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		sp := sizedSpace(t, "harris.h21", allowed)
		o := EvolveDefaults()
		o.Given = givenTo(t, sp, 24)
		e := NewEvolve(sp, rand.New(rand.NewSource(1)), o)
		var known []Outcome
		for _, c := range e.first[:12] { // all of these are given
			plain, other := NewCandidate(c.State, c.Origin), c.Candidate
			if allowed {
				other = NewCandidate(sized(c.State), c.Origin)
			}
			known = append(known, Outcome{Candidate: plain}, Outcome{Candidate: other})
		}
		if err := e.Observe(known); err != nil {
			t.Fatal(err)
		}
		proposed := map[int]float64{}
		run(t, e, 2*oneMore, 1, func(c Candidate) Outcome {
			switch {
			case c.Origin == "given":
				proposed[isGiven]++
			case strings.HasPrefix(c.Origin, "prototype:"):
				proposed[isPrototype]++
			}
			return Outcome{Candidate: c, OK: true, Seconds: 1}
		})
		if proposed[isGiven] < givenFirst || e.given != int(proposed[isGiven]) || e.dues[isPrototype].turns != proposed[isPrototype] {
			t.Errorf("sized %v: %v proposed; %d given and %g turns of prototypes are counted", allowed, proposed, e.given, e.dues[isPrototype].turns)
		}
	}
}

// Kinds of openings whose fastest takes twice as long as the other's have few turns after
// their trial.
func TestSlowOpeningsHaveFewTurns(t *testing.T) {
	sp := newSpace(t, "harris.h21", 2)
	given := givenTo(t, sp, 24)
	for slow, trial := range map[string]int{"given": givenTrial, "prototype": prototypesTrial} {
		o := EvolveDefaults()
		o.Given = given
		n := 0
		run(t, NewEvolve(sp, rand.New(rand.NewSource(1)), o), 4*promptly, 1, func(c Candidate) Outcome {
			seconds := 1.0
			if strings.HasPrefix(c.Origin, slow) {
				seconds = 2
				n++
			}
			return Outcome{Candidate: c, OK: true, Seconds: seconds}
		})
		if n < trial || n > trial+1 {
			t.Errorf("%d of the slow %s had turns, after a trial of %d", n, slow, trial)
		}
	}
}

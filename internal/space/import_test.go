package space

import (
	"math/rand"
	"testing"
)

// A nest is found again from its text: the same loops with the same bounds.
func TestImportOfOwnText(t *testing.T) {
	for _, name := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			p := described(t, name)
			for _, o := range []Options{Defaults(2), Adams(16), Adams(1)} {
				sp := newSpace(t, p, o)
				rng := rand.New(rand.NewSource(7))
				for range 10 {
					s := rollout(sp.Start(), rng)
					again, err := sp.Import(s.String())
					if err != nil {
						t.Fatalf("%v\n%v\n%v", err, s, sp.FormatTrace(s.Trace()))
					}
					if again.Key() != s.Key() && again.String() != s.String() {
						t.Fatalf("another nest:\n%v\nfor\n%v", again, s)
					}
				}
			}
		})
	}
}

package space

import (
	"math/rand"
	"slices"
	"testing"
)

// Directives of long chains of Funcs in tiles inside tasks are read too: there a wrong
// guess at the tasks, which shows only in that a level is missing in the end, has to
// be noticed when it is made, for there are too many ways to go on from it.
func TestImportOfLongChains(t *testing.T) {
	rows := make([]int64, 24)
	for i := range rows {
		rows[i] = 2
	}
	sp := newSpace(t, toy(384, 256, rows...), Adams(2))
	rng := rand.New(rand.NewSource(1))
	for deep := 0; deep < 12; {
		s := sp.Start().SampleDown(rng)
		i := slices.IndexFunc(s.Root().Children, func(c *Nest) bool { return c.Func == 0 })
		tasks := s.Root().Children[i]
		if len(tasks.StoreAt) > 0 || len(tasks.Children) > 1 || len(tasks.Children[0].StoreAt) < 2 {
			continue
		}
		deep++
		if _, err := sp.ImportSchedule(s.Schedule()); err != nil {
			t.Errorf("%v:\n%v", err, s)
		}
	}
}

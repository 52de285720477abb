// Package spacetest gives the tests of other packages spaces, and schedules that Adams2019
// made.
package spacetest

import (
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/space"
)

// New is the space of a pipeline that there is one of.
func New(t testing.TB, p *pipeline.Pipeline, o space.Options) *space.Space {
	t.Helper()
	sp, err := space.New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return sp
}

var goldens = pipelinetest.Beside("..", "..", "feature", "testdata")

// Golden is a schedule that Adams2019 made of a golden description on two cores.
type Golden struct {
	Name  string // the description's, and a number
	State *space.State
}

// Goldens are all of them.
func Goldens(t testing.TB) []Golden {
	t.Helper()
	var out []Golden
	for _, name := range goldens.Names(t, "*.nest") {
		g := Golden{Name: name}
		sp := New(t, pipelinetest.Described(t, g.Description()), space.Adams(2))
		var err error
		if g.State, err = sp.Import(string(g.File(t, ".nest"))); err != nil {
			t.Fatalf("%s: %v", g.Name, err)
		}
		out = append(out, g)
	}
	return out
}

// Description is the name of the description that it is of.
func (g Golden) Description() string { return g.Name[:strings.LastIndex(g.Name, ".")] }

// File is what Adams2019 wrote of it with that ending.
func (g Golden) File(t testing.TB, ending string) []byte {
	t.Helper()
	return goldens.Read(t, g.Name+ending)
}

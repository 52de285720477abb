package space

import (
	"fmt"
	"slices"
	"strings"
)

// Kind says what is decided about a Func.
type Kind uint8

const (
	// Inline computes the Func wherever it is called.
	Inline Kind = iota + 1
	// Compute realises it somewhere, and says over which dimension to vectorise.
	Compute
	// Tasks says into which parallel tasks the loops of a Func at root are cut.
	Tasks
	// Block unrolls some iterations of a Func around its vector. It is no action: a
	// trace may end with some, see Replay.
	Block
	// Slice computes what is at root slice by slice of an output, a slice being one
	// iteration of one of its loops. It is no action either.
	Slice
	// Scalar makes one point after the other of a Func's stages that diverge, in place of
	// a vector of points. It is no action either.
	Scalar
	// Lanes makes the vectors of a Func that are longer of several of so many lanes. It is
	// no action either.
	Lanes
	// Dot adds up so many iterations of a reduction at once in each lane. It is no action
	// either.
	Dot
	// Across makes a vector of so many iterations of a reduction, which is added up in the
	// end, in place of a vector of points. It is no action either.
	Across
	// Interchange has the reductions of a Func's updates around what no level cuts of their
	// loops over points, in place of inside these. It is no action either.
	Interchange
	// Terms unrolls so many iterations of the reductions of a Func's updates, around what
	// Block unrolls of its points. It is no action either.
	Terms
	// Sized gives everything a second version for the estimated sizes. It is said of the
	// output, and is no action either.
	Sized
)

// about is what all Kinds have in common.
type about struct {
	name string
	// dim and factor say that a decision has a Dim and a Factor, and factor what that is.
	dim    bool
	factor string
	// vectors says that it is about the vectors of a Func, see State.Vectors.
	vectors bool
}

// kinds are the Kinds by number.
var kinds = [...]about{
	Inline:      {name: "inline"},
	Compute:     {name: "compute"},
	Tasks:       {name: "tasks"},
	Block:       {name: "block", dim: true, factor: "number of iterations to unroll"},
	Slice:       {name: "slice", dim: true},
	Scalar:      {name: "scalar", vectors: true},
	Lanes:       {name: "lanes", factor: "number of lanes", vectors: true},
	Dot:         {name: "dot", factor: "number of iterations to add up", vectors: true},
	Across:      {name: "across", factor: "number of iterations to a vector", vectors: true},
	Interchange: {name: "interchange", vectors: true},
	Terms:       {name: "terms", factor: "number of iterations to unroll", vectors: true},
	Sized:       {name: "sized"},
}

// about is empty for what is no Kind.
func (k Kind) about() about {
	if int(k) < len(kinds) {
		return kinds[k]
	}
	return about{}
}

func (k Kind) String() string {
	if name := k.about().name; name != "" {
		return name
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// OfVectors says whether a decision of that Kind is about the vectors of a Func, of which a
// state has one of each Kind at most (see State.Vectors).
func (k Kind) OfVectors() bool { return k.about().vectors }

// Action is one decision as a step from one state. It means something only
// together with that state: Decision says the same by intent. Its slices are
// shared and must not be written to.
type Action struct {
	Kind Kind
	Func int
	// Vector is, for Compute, the dimension to vectorise, -1 for none.
	Vector int
	// Level counts, for Compute, loop levels from the root (0) down to the one
	// whose body the Func is put into, following those that read it.
	Level int
	// Tile, unless nil, first splits that level into so many tiles, and the Func
	// goes into the body of the tiles. For Tasks it is the number of tasks per
	// dimension of the Func; nil leaves the loops serial.
	Tile []int64
	// Slide stores the Func there and computes it one level further in, so that
	// successive iterations reuse what earlier ones computed.
	Slide bool
	// Inner, unless nil, first splits that further level, and the Func is
	// computed in the body of its tiles.
	Inner []int64

	// What listing or drawing it found out, of use to state of only.
	of   *State      // nil for actions that were made up
	cut  *site       // inside a tile
	task *taskOption // which of the tasks
	made *State      // what it leads to
}

// Same reports whether two actions of one state are the same.
func (a Action) Same(b Action) bool {
	return a.Kind == b.Kind && a.Func == b.Func && a.Vector == b.Vector && a.Level == b.Level &&
		a.Slide == b.Slide && slices.Equal(a.Tile, b.Tile) && slices.Equal(a.Inner, b.Inner) &&
		(a.Tile == nil) == (b.Tile == nil) && (a.Inner == nil) == (b.Inner == nil)
}

// Forget lets go of what listing the action found out of where it leads: regions of
// many Funcs, mostly, and several times its own size. Next works it out again. For
// lists of actions that are kept.
func (a *Action) Forget() { a.cut, a.made = nil, nil }

// String shows the action for people; Funcs are numbers.
func (a Action) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", a.Kind, a.Func)
	if a.Kind == Compute {
		fmt.Fprintf(&b, " vector %d level %d", a.Vector, a.Level)
	}
	if a.Tile != nil {
		fmt.Fprintf(&b, " tile %v", a.Tile)
	}
	if a.Slide {
		b.WriteString(" slide")
	}
	if a.Inner != nil {
		fmt.Fprintf(&b, " inner %v", a.Inner)
	}
	return b.String()
}

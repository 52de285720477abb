package schedule

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// slotKind says what one argument of a directive is, which is also the field of
// Directive it lives in.
type slotKind uint8

const (
	loopSlot  slotKind = iota + 1 // next of Vars: a loop of the stage
	loopsSlot                     // rest of Vars: loops, one argument each
	groupSlot                     // rest of Vars: reduction loops, bracketed
	dimSlot                       // next of Vars: a dimension of the Func's storage
	dimsSlot                      // rest of Vars: dimensions, one argument each
	boxSlot                       // rest of Vars, and Ints: dimensions, each with its Span; Inputs
	newSlot                       // next of New: a name that must not be there yet
	newsSlot                      // rest of New, bracketed, as many as Vars
	funcSlot                      // next of Funcs
	funcsSlot                     // rest of Funcs, one argument each
	levelSlot                     // At, two arguments: Func or stage, loop
	stageSlot                     // At as levelSlot, with the stage named: a bare Func means stage 0
	intSlot                       // next of Ints
	wordSlot                      // Word, optional when the signature has a default
	flagSlot                      // Flag, optional
)

// slot is one argument of a directive, in the order of the text form.
type slot struct {
	kind  slotKind
	what  string   // for messages
	least int64    // intSlot: smallest value; list slots: smallest length
	def   *int64   // intSlot: value when left out
	words []string // wordSlot: what it may be
	word  string   // wordSlot: what "" means; "" when the word is required
	flag  bool     // flagSlot: value when left out of the text form
}

// signature is everything that differs between Ops: it drives validation,
// printing and parsing.
type signature struct {
	stages bool // may be said of an update stage
	update bool // must be said of an update stage
	makes  bool // makes a Func, named As
	slots  []slot
}

var (
	tailWords = []string{"auto", "round_up", "guard_with_if", "predicate", "predicate_loads", "predicate_stores",
		"shift_inwards", "shift_inwards_and_blend", "round_up_and_blend"}
	alignWords    = []string{"auto", "align_start", "align_end", "no_align"}
	prefetchWords = []string{"guard_with_if", "clamp", "non_faulting"}
	memoryWords   = []string{"auto", "heap", "stack", "register"}

	zero = int64(0)

	anyInt  = int64(math.MinInt32)
	loopArg = slot{kind: loopSlot, what: "loop"}
	dimArg  = slot{kind: dimSlot, what: "dimension"}
	level   = slot{kind: levelSlot, what: "level"}
)

func positive(what string) slot { return slot{kind: intSlot, what: what, least: 1} }

// signatures is the one definition of every Op's arguments.
var signatures = map[Op]signature{
	ComputeRoot:      {},
	ComputeInline:    {},
	ComputeAt:        {slots: []slot{level}},
	StoreRoot:        {},
	StoreAt:          {slots: []slot{level}},
	HoistStorage:     {slots: []slot{level}},
	HoistStorageRoot: {},

	StoreIn:        {slots: []slot{{kind: wordSlot, what: "memory type", words: memoryWords}}},
	ReorderStorage: {slots: []slot{{kind: dimsSlot, what: "dimension", least: 1}}},
	FoldStorage:    {slots: []slot{dimArg, positive("fold factor"), {kind: flagSlot, what: "fold_forward", flag: true}}},
	AlignStorage:   {slots: []slot{dimArg, positive("alignment")}},
	BoundStorage:   {slots: []slot{dimArg, positive("bound")}},
	Bound:          {slots: []slot{dimArg, {kind: intSlot, what: "min", least: anyInt}, positive("extent")}},
	BoundExtent:    {slots: []slot{dimArg, positive("extent")}},
	AlignBounds:    {slots: []slot{dimArg, positive("modulus"), {kind: intSlot, what: "remainder", least: anyInt, def: &zero}}},
	AlignExtent:    {slots: []slot{dimArg, positive("modulus")}},

	Split: {stages: true, slots: []slot{loopArg, {kind: newSlot, what: "outer loop"}, {kind: newSlot, what: "inner loop"},
		positive("factor"), {kind: wordSlot, what: "tail strategy", words: tailWords, word: "auto"}}},
	Fuse: {stages: true, slots: []slot{{kind: loopSlot, what: "inner loop"}, {kind: loopSlot, what: "outer loop"},
		{kind: newSlot, what: "fused loop"}}},
	Reorder:   {stages: true, slots: []slot{{kind: loopsSlot, what: "loop", least: 1}}},
	Rename:    {stages: true, slots: []slot{loopArg, {kind: newSlot, what: "new name"}}},
	Serial:    {stages: true, slots: []slot{loopArg}},
	Parallel:  {stages: true, slots: []slot{loopArg}},
	Vectorize: {stages: true, slots: []slot{loopArg}},
	Unroll:    {stages: true, slots: []slot{loopArg}},
	Atomic:    {stages: true, slots: []slot{{kind: flagSlot, what: "override"}}},

	AllowRaceConditions: {stages: true},

	ComputeWith: {stages: true, slots: []slot{{kind: stageSlot, what: "level"},
		{kind: wordSlot, what: "align strategy", words: alignWords, word: "auto"}}},
	Prefetch: {stages: true, slots: []slot{{kind: funcSlot, what: "prefetched Func"}, {kind: loopSlot, what: "at loop"},
		{kind: loopSlot, what: "from loop"}, {kind: intSlot, what: "offset", least: 0},
		{kind: wordSlot, what: "bound strategy", words: prefetchWords, word: "guard_with_if"}}},

	Specialize: {stages: true, slots: []slot{{kind: boxSlot, what: "dimension", least: 1}}},

	RFactor: {stages: true, update: true, makes: true, slots: []slot{{kind: groupSlot, what: "reduction loop", least: 1},
		{kind: newsSlot, what: "pure Var", least: 1}}},
	In:      {makes: true, slots: []slot{{kind: funcsSlot, what: "consumer"}}},
	CloneIn: {makes: true, slots: []slot{{kind: funcsSlot, what: "consumer", least: 1}}},
}

// Validate checks every directive for itself (known Op, the fields its Op reads
// and no others, numbers in range of Halide's int32) and the Funcs that rfactor,
// in and clone_in make: named once, and not used before. It does not know the
// pipeline: Nest does. The error says which directive, counted from 1.
func (s Schedule) Validate() error {
	var c checker
	for i, d := range s.Directives {
		if err := c.add(d); err != nil {
			return fmt.Errorf("directive %d, %s of %s: %w", i+1, orNone(string(d.Op)), orNone(d.Func), err)
		}
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// checker validates directives in their order.
type checker struct {
	used map[string]bool // Funcs named so far
	made map[string]bool // Funcs made so far
}

func (c *checker) add(d Directive) error {
	if err := d.validate(); err != nil {
		return err
	}
	if c.used == nil {
		c.used, c.made = map[string]bool{}, map[string]bool{}
	}
	c.used[d.Func] = true
	for _, f := range d.Funcs {
		c.used[f] = true
	}
	if d.At != nil {
		c.used[d.At.Func] = true
	}
	if d.As == "" {
		return nil
	}
	switch {
	case c.made[d.As]:
		return fmt.Errorf("a Func %s was made before", d.As)
	case c.used[d.As]:
		return fmt.Errorf("the Func %s is used before it is made", d.As)
	}
	c.made[d.As] = true
	return nil
}

// validate checks one directive against its signature.
func (d Directive) validate() error {
	sig, ok := signatures[d.Op]
	if !ok {
		return fmt.Errorf("unknown directive %q", string(d.Op))
	}
	switch {
	case !isName(d.Func):
		return errors.New("no Func")
	case d.Stage < 0 || d.Stage > math.MaxInt32:
		return fmt.Errorf("stage %d", d.Stage)
	case d.Stage > 0 && !sig.stages:
		return errors.New("belongs to a Func, not to an update stage")
	case d.Stage == 0 && sig.update:
		return errors.New("needs an update stage")
	case sig.makes && !isName(d.As):
		return errors.New("the Func it makes has no name")
	case !sig.makes && d.As != "":
		return errors.New("makes no Func that could be named " + d.As)
	}
	rest := d
	for _, s := range sig.slots {
		if err := s.take(&rest); err != nil {
			return err
		}
	}
	switch {
	case len(rest.Vars) > 0:
		return fmt.Errorf("one loop or dimension too many: %s", rest.Vars[0])
	case len(rest.New) > 0:
		return fmt.Errorf("one new name too many: %s", rest.New[0])
	case len(rest.Funcs) > 0:
		return fmt.Errorf("one Func too many: %s", rest.Funcs[0])
	case len(rest.Ints) > 0:
		return fmt.Errorf("one number too many: %d", rest.Ints[0])
	case rest.At != nil:
		return errors.New("takes no level")
	case rest.Word != "":
		return fmt.Errorf("takes no word %q", rest.Word)
	case rest.Flag:
		return errors.New("takes no flag")
	case len(rest.Inputs) > 0:
		return fmt.Errorf("says nothing of inputs: %s", rest.Inputs[0].Name)
	}
	return d.distinct()
}

// distinct refuses names that would make two loops one.
func (d Directive) distinct() error {
	for _, names := range [][]string{d.Vars, d.New, d.Funcs} {
		for i, n := range names {
			if slices.Contains(names[:i], n) && d.Op != Prefetch {
				return fmt.Errorf("%s named twice", n)
			}
		}
	}
	for i, in := range d.Inputs {
		if slices.ContainsFunc(d.Inputs[:i], func(o Input) bool { return o.Name == in.Name }) {
			return fmt.Errorf("the input %s named twice", in.Name)
		}
	}
	if d.Op == RFactor && len(d.Vars) != len(d.New) {
		return fmt.Errorf("%d reduction loops for %d pure Vars", len(d.Vars), len(d.New))
	}
	if d.As != "" && (d.As == d.Func || slices.Contains(d.Funcs, d.As)) {
		return fmt.Errorf("the Func it makes cannot be named %s too", d.As)
	}
	return nil
}

// take checks the slot against the fields left in d and removes what it read.
func (s slot) take(d *Directive) error {
	switch s.kind {
	case loopSlot, dimSlot:
		return s.takeName(&d.Vars)
	case loopsSlot, groupSlot, dimsSlot:
		return s.takeNames(&d.Vars)
	case boxSlot:
		return s.takeBox(d)
	case newSlot:
		return s.takeName(&d.New)
	case newsSlot:
		return s.takeNames(&d.New)
	case funcSlot:
		return s.takeName(&d.Funcs)
	case funcsSlot:
		return s.takeNames(&d.Funcs)
	case levelSlot, stageSlot:
		return s.takeLevel(d)
	case intSlot:
		if len(d.Ints) == 0 {
			return fmt.Errorf("no %s", s.what)
		}
		n := d.Ints[0]
		if n < s.least || n > math.MaxInt32 {
			return fmt.Errorf("%s %d is not in [%d, %d]", s.what, n, s.least, math.MaxInt32)
		}
		d.Ints = d.Ints[1:]
	case wordSlot:
		if d.Word == "" && s.word == "" {
			return fmt.Errorf("no %s", s.what)
		}
		if d.Word != "" && !slices.Contains(s.words, d.Word) {
			return fmt.Errorf("unknown %s %q, one of %s", s.what, d.Word, strings.Join(s.words, ", "))
		}
		d.Word = ""
	case flagSlot:
		d.Flag = false
	}
	return nil
}

// isName accepts what JSON and the text form can both carry.
func isName(s string) bool { return s != "" && utf8.ValidString(s) }

func (s slot) takeName(names *[]string) error {
	if len(*names) == 0 || !isName((*names)[0]) {
		return fmt.Errorf("no %s", s.what)
	}
	*names = (*names)[1:]
	return nil
}

func (s slot) takeNames(names *[]string) error {
	if int64(len(*names)) < s.least {
		return fmt.Errorf("no %s", s.what)
	}
	if slices.ContainsFunc(*names, func(n string) bool { return !isName(n) }) {
		return fmt.Errorf("a %s without a name", s.what)
	}
	*names = nil
	return nil
}

func (s slot) takeBox(d *Directive) error {
	n := len(d.Vars)
	for i := range n {
		span, ok := d.span(i)
		if !ok {
			return fmt.Errorf("%d numbers: each of %d dimensions needs a min, its step and an extent", len(d.Ints), n)
		}
		if err := checkSpan(span, d.Vars[i]); err != nil {
			return err
		}
	}
	for _, in := range d.Inputs {
		if !isName(in.Name) || len(in.Box) == 0 || len(in.Box)%2 != 0 {
			return fmt.Errorf("%d numbers of the input %s: each of its dimensions needs a min and an extent", len(in.Box), orNone(in.Name))
		}
		for i := 0; i < len(in.Box); i += 2 {
			if err := checkSpan(Span{Min: in.Box[i], Extent: in.Box[i+1]}, in.Name); err != nil {
				return err
			}
		}
	}
	d.Ints, d.Inputs = d.Ints[3*n:], nil
	return s.takeNames(&d.Vars)
}

func checkSpan(s Span, of string) error {
	for _, n := range []int64{s.Min, s.Step, s.Extent} {
		if n < math.MinInt32 || n > math.MaxInt32 {
			return fmt.Errorf("%d of %s is no part of a dimension", n, of)
		}
	}
	if s.Extent < 1 {
		return fmt.Errorf("from %s on %d points of %s is no part of a dimension", s.begin(), s.Extent, of)
	}
	if s.Step < 0 || s.Step > 0 && (s.Min < 0 || s.Min >= s.Step) {
		return fmt.Errorf("%s begins at %s: what is left of a division by %d is 0 to %d", of, s.begin(), s.Step, s.Step-1)
	}
	return nil
}

func (s slot) takeLevel(d *Directive) error {
	at := d.At
	switch {
	case at == nil:
		return fmt.Errorf("no %s", s.what)
	case !isName(at.Func) || !isName(at.Loop):
		return fmt.Errorf("the %s needs a Func and a loop", s.what)
	case at.Stage < AnyStage || at.Stage > math.MaxInt32:
		return fmt.Errorf("the %s has stage %d", s.what, at.Stage)
	case at.Stage == AnyStage && s.kind == stageSlot:
		return fmt.Errorf("the %s must name its stage", s.what)
	case at.Func == d.Func:
		return fmt.Errorf("the %s is %s itself", s.what, at.Func)
	}
	d.At = nil
	return nil
}

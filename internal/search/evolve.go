package search

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"slices"

	"github.com/protuner/protuner/internal/space"
)

// EvolveOptions set the evolution's few numbers.
type EvolveOptions struct {
	// Population is how many of the best measured schedules are built upon.
	// Default 16.
	Population int
	// Alike is how many of those may have the same structure: else a few sizes of one
	// idea crowd out all others. Default 3.
	Alike int
	// Fresh is the share of proposals drawn at random. Default 0.05.
	Fresh float64
	// Stack is the probability that one more move is made on top of each. Default
	// 0.25.
	Stack float64
	// Judge, unless nil, chooses among Choices changes the one to propose. Judged is the
	// share of proposals it chooses; the others are taken as they come. Default 6 and
	// 0.8.
	Judge   *Judge
	Choices int
	Judged  float64
	// Given are complete schedules to begin with beside the prototypes, the likeliest
	// first: what a search guided by the model found.
	Given []Candidate
	// Lateness remembers what was given up. Evolutions of several spaces of one pipeline
	// may share it. Default its own.
	Lateness *Lateness
}

// EvolveDefaults is what New uses: without a judge.
func EvolveDefaults() EvolveOptions {
	return EvolveOptions{Population: 16, Alike: 3, Fresh: 0.05, Stack: 0.25, Choices: 6, Judged: 0.8}
}

// Validate names the first option out of range.
func (o EvolveOptions) Validate() error {
	switch {
	case o.Population < 1:
		return fmt.Errorf("search: a population of %d: at least 1", o.Population)
	case o.Alike < 1:
		return fmt.Errorf("search: %d alike: at least 1", o.Alike)
	case !(o.Fresh >= 0 && o.Fresh <= 1):
		return fmt.Errorf("search: a fresh share of %g: between 0 and 1", o.Fresh)
	case !(o.Stack >= 0 && o.Stack < 1):
		return fmt.Errorf("search: a stacking probability of %g: at least 0 and below 1", o.Stack)
	case o.Choices < 1:
		return fmt.Errorf("search: %d choices: at least 1", o.Choices)
	case !(o.Judged >= 0 && o.Judged <= 1):
		return fmt.Errorf("search: a judged share of %g: between 0 and 1", o.Judged)
	}
	return nil
}

// Evolve begins with what it was given and the prototypes (see begin) and goes on with
// changes of the best schedules measured so far. Which changes is learned while it goes
// (see credit): a move is paid by how much faster its result is than what it started
// from, in logarithms, and twice that where the result is the best so far. Where there
// is a judge most proposals are the most promising of several changes: making one takes
// a thousandth of the time that measuring it does. What is hopeless is not proposed.
type Evolve struct {
	sp     *space.Space
	rng    *rand.Rand
	o      EvolveOptions
	mover  *mover
	credit *credit
	seen   seen
	first  []opening // given and prototypes, not yet proposed
	given  int       // how many of those given were proposed
	dues   []due     // by kind
	begun  int       // candidates proposed
	best   []member  // fastest first
	born   map[uint64]birth

	halvesAt    int  // candidates proposed when shorter vectors are tried next
	sizes       int  // times that beginsSized had a choice
	sizedWorked bool // a schedule with a version for the estimated sizes did
	sizedFailed int  // so many of those did not
}

// promptly is how many candidates are of those to begin with before the best of them are
// changed. From then on they and changes take turns: where building one takes seconds,
// going through dozens that are much alike would be all that a budget is good for.
const promptly = 6

// spread is the step in which given candidates are gone through: those next to each
// other in what the model thinks of them are much alike.
const spread = 4

// begin is what was given and the prototypes. The model knows vectors of one kind alone, so
// those of every other one given are made as those of prototypes are.
func begin(given, prototypes []Candidate) []opening {
	var out []opening
	for k := range spread {
		for i := k; i < len(given); i += spread {
			c := given[i]
			if len(out)%2 == 0 {
				c = withVectors(c)
			}
			out = append(out, opening{c, isGiven})
		}
	}
	for _, c := range prototypes {
		out = append(out, opening{c, isPrototype})
	}
	return out
}

// withVectors is the candidate with vectors as prototypes have them; itself where those
// have none of their own.
func withVectors(c Candidate) Candidate {
	p := planOf(c.State.Space().Start(), c.State)
	if !p.fitVectors() {
		return c
	}
	return NewCandidate(p.state(), c.Origin)
}

// opening is one of the candidates to begin with.
type opening struct {
	Candidate
	kind int
}

// The kinds of candidates to begin with, of which the one whose fastest is the faster has
// more turns (whoseTurn): by less than of spaces, and later where it is the prototypes that
// are slower, which differ much among themselves.
const (
	isGiven = iota
	isPrototype
	openingEagerness = 2
	givenTrial       = 2
	prototypesTrial  = 5
)

// Of those given some are tried first, and one more whenever so many candidates were
// proposed: what the model finds is much alike.
const (
	givenFirst = 6
	oneMore    = 16
)

// triesEach bounds how often a choice is tried to be made: near the end of a small space
// nearly all changes lead to what was measured.
const triesEach = 2

type member struct {
	state   *space.State
	hash    uint64
	shape   uint64 // its StructuralHash at shapeDepth
	seconds float64
}

// shapeDepth is down to where two schedules have to be built alike to count so. There are
// two depths a level: this one is what is at root, with the sizes of the loops there, and
// what is right inside of these, without sizes.
const shapeDepth = 2

// birth records where a candidate came from: the move and its parent's time (0 for none),
// or the source whose turn it was.
type birth struct {
	kind    int
	seconds float64
	from    *due // nil for no opening
}

// NewEvolve makes an evolution; it panics on options that do not validate.
func NewEvolve(sp *space.Space, rng *rand.Rand, o EvolveOptions) *Evolve {
	if err := o.Validate(); err != nil {
		panic(err)
	}
	if o.Lateness == nil {
		o.Lateness = new(Lateness)
	}
	first := slices.DeleteFunc(begin(o.Given, Prototypes(sp)), func(c opening) bool { return tooLarge(c.State) })
	return &Evolve{sp: sp, rng: rng, o: o, mover: newMover(sp.Start(), rng), credit: newCredit(len(moves)),
		seen: seen{}, first: first, halvesAt: promptly, dues: newDues(givenTrial, prototypesTrial), born: map[uint64]birth{}}
}

// One opening in otherwise is of the other kind than the fastest so far: with a version for
// the estimated sizes, or without.
const otherwise = 5

// sizedTrial is how many schedules with a version for the estimated sizes have to fail for
// those without to be the faster ones.
const sizedTrial = 4

// beginsSized says whether the next candidate that is no change of another has a version
// for the estimated sizes. With one they compile sooner and most run faster, so most have
// it at first; but where constants keep Halide from folding storage they run at half the
// speed or less.
func (e *Evolve) beginsSized() bool {
	if _, ok := e.sp.Sizable(); !ok {
		return false
	}
	e.sizes++
	known := e.sizedWorked || e.sizedFailed >= sizedTrial
	plainLeads := known && len(e.best) > 0 && !e.best[0].state.Sized()
	return plainLeads == (e.sizes%otherwise == 0)
}

// Propose implements Strategy.
func (e *Evolve) Propose(ctx context.Context, n int) ([]Candidate, error) {
	var out []Candidate
	for repeats := 0; len(out) < n && repeats < maxRepeats; {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		c, b, ok := e.choose(repeats < maxRepeats/2)
		if !ok || !e.seen.take(c) {
			repeats++
			continue
		}
		repeats = 0
		e.begun++
		if b.from != nil {
			b.from.turns++
		}
		if b.from == &e.dues[isGiven] {
			e.given++
		}
		if b != (birth{}) {
			e.born[c.Hash] = b
		}
		out = append(out, c)
	}
	return out, nil
}

// choose makes one candidate, or several of which it takes the most promising. It may
// be an old one. Where changes have brought nothing new for long, it is none.
func (e *Evolve) choose(changes bool) (Candidate, birth, bool) {
	if e.begun >= e.halvesAt && len(e.best) > 0 {
		e.halvesAt = 2 * e.begun
		if c, ok := e.halves(); ok {
			return c, birth{}, true
		}
	}
	if e.begun < promptly || e.begun%2 == 1 || len(e.best) == 0 || !changes {
		if c, from, ok := e.open(changes); ok {
			return c, birth{from: from}, true
		}
	}
	if e.o.Judge == nil || len(e.best) == 0 || e.rng.Float64() >= e.o.Judged {
		return e.next()
	}
	var made []Candidate
	var births []birth
	for tries := 0; len(made) < e.o.Choices && tries < triesEach*e.o.Choices; tries++ {
		if c, b, ok := e.next(); ok && !e.seen[c.Hash] {
			made, births = append(made, c), append(births, b)
		}
	}
	if len(made) == 0 {
		return Candidate{}, birth{}, false
	}
	i := e.mostPromising(made)
	return made[i], births[i], true
}

// halves is the fastest with the vectors half as long of what looks something up, false where
// they are or where it has none. That is tried early, and again whenever twice as many were
// proposed, whatever the judge says: to the model a vector more is one more, though what is
// looked up comes lane by lane however many there are.
func (e *Evolve) halves() (Candidate, bool) {
	p := planOf(e.sp.Start(), e.best[0].state)
	if !p.halves() {
		return Candidate{}, false
	}
	c := NewCandidate(p.state(), "halves")
	return c, !e.seen[c.Hash]
}

// open takes the most promising of the candidates to begin with, of the kind whose turn it
// is, false where there is none. The turn counts once it is proposed: it may be known already.
// While there is something to change it spares those that are hopeless, and turns of those
// given of which there were enough for now are for changes.
func (e *Evolve) open(changes bool) (Candidate, *due, bool) {
	all := !changes || len(e.best) == 0
	at := make([][]int, len(e.dues))
	for i, c := range e.first {
		if all || !e.o.Lateness.hopeless(c.State) {
			at[c.kind] = append(at[c.kind], i)
		}
	}
	kind := whoseTurn(e.dues, func(k int) bool { return len(at[k]) > 0 }, openingEagerness)
	if kind < 0 {
		return Candidate{}, nil, false
	}
	if kind == isGiven && !all && e.given >= givenFirst+e.begun/oneMore {
		e.dues[kind].turns++
		return Candidate{}, nil, false
	}
	fit := make([]Candidate, len(at[kind]))
	for i, k := range at[kind] {
		fit[i] = e.first[k].Candidate
	}
	i := at[kind][e.mostPromising(fit)]
	c := e.first[i].Candidate
	e.first = slices.Delete(e.first, i, i+1)
	if e.beginsSized() {
		c = NewCandidate(sized(c.State), c.Origin)
	}
	return c, &e.dues[kind], true
}

// mostPromising is the index of the candidate that the judge would measure; the first
// one where it does not know yet.
func (e *Evolve) mostPromising(cs []Candidate) int {
	best, least := 0, math.Inf(1)
	if e.o.Judge == nil {
		return best
	}
	for i, c := range cs {
		if promise, known := e.o.Judge.promise(c.State); known && promise < least {
			best, least = i, promise
		}
	}
	return best
}

// tooLarge holds where a Func takes more than Halide allocates at once. (With large buffers
// in its target it would; nobody waits for a candidate that fills one.)
func tooLarge(s *space.State) bool { return s.LargestAllocation() > math.MaxInt32 }

// hopeless holds for what is too large and where Lateness has it so.
func (e *Evolve) hopeless(s *space.State) bool { return tooLarge(s) || e.o.Lateness.hopeless(s) }

// next makes one candidate, which may be an old one; none where it would be hopeless.
func (e *Evolve) next() (Candidate, birth, bool) {
	if len(e.best) == 0 || e.rng.Float64() < e.o.Fresh {
		s := e.sp.Start().SampleDown(e.rng)
		if e.beginsSized() {
			s = sized(s)
		}
		return NewCandidate(s, "random"), birth{}, !e.hopeless(s)
	}
	from, other := e.parent(), e.parent()
	kind, s, ok := e.change(from, other)
	if !ok {
		return Candidate{}, birth{}, false
	}
	origin := moves[kind].name
	for e.rng.Float64() < e.o.Stack {
		more := e.rng.Intn(len(moves))
		if t, ok := moves[more].apply(e.mover, s, other.state); ok {
			s = t
			origin += "+" + moves[more].name
		}
	}
	if e.hopeless(s) {
		return Candidate{}, birth{}, false
	}
	return NewCandidate(s, origin), birth{kind: kind, seconds: from.seconds}, true
}

// change makes the first move drawn that has something to change: most pipelines have nothing
// for some of them, which nothing that is measured would ever tell credit.
func (e *Evolve) change(from, other member) (kind int, s *space.State, ok bool) {
	for range 2 * len(moves) {
		kind = e.credit.draw(e.rng)
		if s, ok = moves[kind].apply(e.mover, from.state, other.state); ok {
			return kind, s, true
		}
	}
	return kind, nil, false
}

// parent draws one of the population; each is 1.25 times as likely as the next, and the
// less so the slower it is: by the third power of its time.
func (e *Evolve) parent() member {
	total := 0.0
	for i := range e.best {
		total += e.preference(i)
	}
	x := e.rng.Float64() * total
	for i := range e.best {
		if x -= e.preference(i); x < 0 {
			return e.best[i]
		}
	}
	return e.best[0]
}

// preference is the weight of the member of a rank among the parents.
func (e *Evolve) preference(rank int) float64 {
	return math.Pow(0.8, float64(rank)) * math.Pow(e.best[0].seconds/e.best[rank].seconds, 3)
}

// Observe implements Strategy.
func (e *Evolve) Observe(outcomes []Outcome) error {
	for _, o := range outcomes {
		if err := validate(o); err != nil {
			return err
		}
		e.seen[o.Candidate.Hash] = true
		if e.o.Judge != nil {
			e.o.Judge.learn(o.Candidate.State, o.Seconds, o.OK)
		}
		e.o.Lateness.learn(o)
		reward := 0.0
		b := e.born[o.Candidate.Hash]
		delete(e.born, o.Candidate.Hash)
		if b.from != nil {
			b.from.learn(o)
		}
		if o.OK {
			if o.Seconds < b.seconds {
				reward = math.Log(b.seconds / o.Seconds)
				if o.Seconds < e.best[0].seconds {
					reward *= 2
				}
			}
			e.sizedWorked = e.sizedWorked || o.Candidate.State.Sized()
			e.admit(member{o.Candidate.State, o.Candidate.Hash, o.Candidate.State.StructuralHash(shapeDepth), o.Seconds})
		} else if o.Candidate.State.Sized() {
			e.sizedFailed++
		}
		if b.seconds > 0 {
			e.credit.pay(b.kind, math.Min(reward, 1))
		}
	}
	return nil
}

// admit keeps the population sorted, small and diverse. A schedule measured again keeps
// its better time.
func (e *Evolve) admit(m member) {
	if i := slices.IndexFunc(e.best, func(o member) bool { return o.hash == m.hash }); i >= 0 {
		if e.best[i].seconds <= m.seconds {
			return
		}
		e.best = slices.Delete(e.best, i, i+1)
	}
	i, _ := slices.BinarySearchFunc(e.best, m.seconds, func(o member, s float64) int {
		if o.seconds <= s {
			return -1
		}
		return 1
	})
	e.best = slices.Insert(e.best, i, m)
	alike := 0
	e.best = slices.DeleteFunc(e.best, func(o member) bool {
		if o.shape == m.shape {
			alike++
		}
		return o.shape == m.shape && alike > e.o.Alike
	})
	if len(e.best) > e.o.Population {
		e.best = e.best[:e.o.Population]
	}
}

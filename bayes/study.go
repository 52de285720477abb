package bayes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand"
	"slices"
	"sync"

	"github.com/protuner/protuner/bayes/space"
)

// ErrExhausted is returned by Ask when every configuration of the space has
// been asked.
var ErrExhausted = errors.New("every configuration of the space has been tried")

// Study is a search: it is asked for configurations and told how they did, in
// any order. Its methods may be called from several goroutines.
type Study struct {
	space *space.Space
	opts  Options
	store Store

	mu      sync.Mutex
	trials  []*Trial // by ID - 1
	seen    map[string]*Trial
	again   []*Trial // pending since before the study was resumed
	propose proposer
}

// proposer chooses the next configuration. It must be a function of the
// study's trials and rng alone: that is what makes a resumed study go on as
// it would have. It returns ErrExhausted when nothing is left. When ctx ends it
// comes to an end soon, with whatever it has.
type proposer interface {
	next(ctx context.Context, h *history, rng *rand.Rand) (x space.Point, origin string, n note, err error)
}

// history is what a proposer sees.
type history struct {
	space  *space.Space
	opts   *Options
	trials []*Trial
	seen   map[string]*Trial
}

func (h *history) isNew(x space.Point) bool { return h.seen[x.Key()] == nil }

// told lists the trials with an outcome something is learned from.
func (h *history) told() []*Trial {
	var out []*Trial
	for _, t := range h.trials {
		if t.Outcome.Status == OK || t.Outcome.Status.Failed() {
			out = append(out, t)
		}
	}
	return out
}

// best returns the trials with a value, the best first.
func (h *history) best() []*Trial {
	var out []*Trial
	for _, t := range h.trials {
		if t.Outcome.Status == OK {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b *Trial) int {
		va, vb := h.sign()*a.Outcome.Value, h.sign()*b.Outcome.Value
		switch {
		case va < vb:
			return -1
		case va > vb:
			return 1
		}
		return a.ID - b.ID
	})
	return out
}

// sign turns the objective into one to minimise.
func (h *history) sign() float64 {
	if h.opts.Maximize {
		return -1
	}
	return 1
}

// Open begins a study, or resumes the one in the store. A nil store keeps
// nothing. Trials that were asked but not told when the study was interrupted
// are the first that Ask returns, under their old IDs.
func Open(ctx context.Context, sp *space.Space, opts Options, store Store) (*Study, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts.Start = slices.Clone(opts.Start)
	for i, c := range opts.Start {
		var err error
		if opts.Start[i], err = own(sp, c); err != nil {
			return nil, fmt.Errorf("options: start configuration %d: %w", i+1, err)
		}
	}
	if store == nil {
		store = memory{}
	}
	s := &Study{space: sp, opts: opts.filled(), store: store, seen: map[string]*Trial{}}
	text, err := json.Marshal(s.opts)
	if err != nil {
		return nil, err
	}
	h := Header{Version: recordVersion, Space: sp.Fingerprint(), Options: text}
	stored, records, err := store.Begin(ctx, h)
	if err != nil {
		return nil, err
	}
	if err := h.match(stored); err != nil {
		return nil, err
	}
	for i, r := range records {
		if err := s.restore(i, r); err != nil {
			return nil, err
		}
	}
	s.propose = s.opts.proposer()
	return s, nil
}

// own is c as a configuration of sp, or an error where it is none, or breaks constraints.
func own(sp *space.Space, c space.Config) (space.Config, error) {
	if !c.Valid() || len(c.Point()) == 0 {
		return c, errors.New("it belongs to no space")
	}
	return sp.Parse(c.Map())
}

func (s *Study) restore(i int, r Record) error {
	if r.ID != i+1 {
		return fmt.Errorf("stored trial %d is missing", i+1)
	}
	c, err := s.space.ParseJSON(r.Config)
	if err != nil {
		return fmt.Errorf("stored trial %d: %w", r.ID, err)
	}
	t := &Trial{ID: r.ID, Config: c, Origin: r.Origin, Outcome: r.Outcome}
	if r.Outcome.Status != Pending {
		if err := r.Outcome.validate(); err != nil {
			return fmt.Errorf("stored trial %d: %w", r.ID, err)
		}
	}
	if len(r.Note) > 0 {
		if err := json.Unmarshal(r.Note, &t.note); err != nil {
			return fmt.Errorf("stored trial %d: %w", r.ID, err)
		}
	}
	if old := s.seen[c.Point().Key()]; old != nil {
		return fmt.Errorf("stored trials %d and %d are one configuration", old.ID, t.ID)
	}
	s.trials = append(s.trials, t)
	s.seen[c.Point().Key()] = t
	if t.Outcome.Status == Pending {
		s.again = append(s.again, t)
	}
	return nil
}

// stream returns a random stream that only depends on its arguments.
func stream(seed int64, name string, n int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s/%d", seed, name, n)
	return rand.New(rand.NewSource(int64(h.Sum64() >> 1)))
}

// Ask returns n configurations to evaluate, or fewer when the space has no
// more, and ErrExhausted when it has none. No configuration is ever returned
// twice, except those that were pending when a study was resumed.
// Configurations asked for together, or while others are pending, are chosen
// apart from each other. What Ask returns is stored. When ctx ends while it chooses it
// returns the error of ctx, with what it chose before.
func (s *Study) Ask(ctx context.Context, n int) ([]Trial, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Trial
	for len(out) < n {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		if len(s.again) > 0 {
			if t := s.again[0]; t.Outcome.Status == Pending {
				out = append(out, *t)
			}
			s.again = s.again[1:]
			continue
		}
		t, err := s.choose(ctx)
		if errors.Is(err, ErrExhausted) && len(out) > 0 {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		if err := s.add(ctx, t); err != nil {
			return out, err
		}
		out = append(out, *t)
	}
	return out, nil
}

// choose makes the next trial.
func (s *Study) choose(ctx context.Context) (*Trial, error) {
	h := s.history()
	for _, c := range s.opts.Start {
		if h.isNew(c.Point()) {
			return &Trial{Config: c, Origin: "start"}, nil
		}
	}
	if c, err := s.space.Default(); err == nil && !s.opts.NoDefault && h.isNew(c.Point()) {
		return &Trial{Config: c, Origin: "default"}, nil
	}
	rng := stream(s.opts.Seed, "ask", len(s.trials))
	x, origin, n, err := s.propose.next(ctx, h, rng)
	if err == nil {
		err = ctx.Err() // under which x is not what it would have been
	}
	if err != nil {
		return nil, err
	}
	return &Trial{Config: s.space.Config(x), Origin: origin, note: n}, nil
}

func (s *Study) history() *history {
	return &history{space: s.space, opts: &s.opts, trials: s.trials, seen: s.seen}
}

// add numbers and stores a trial.
func (s *Study) add(ctx context.Context, t *Trial) error {
	t.ID = len(s.trials) + 1
	if err := s.put(ctx, t); err != nil {
		return err
	}
	s.trials = append(s.trials, t)
	s.seen[t.Config.Point().Key()] = t
	return nil
}

func (s *Study) put(ctx context.Context, t *Trial) error {
	config, err := t.Config.MarshalJSON()
	if err != nil {
		return err
	}
	text, err := json.Marshal(t.note)
	if err != nil {
		return err
	}
	return s.store.Put(ctx, Record{ID: t.ID, Config: config, Origin: t.Origin, Note: text, Outcome: t.Outcome})
}

// Tell stores the outcome of a trial that Ask returned. It is an error, and
// changes nothing, when there is no such trial, it was told before, or the
// outcome says OK without a finite value.
func (s *Study) Tell(ctx context.Context, id int, o Outcome) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id < 1 || id > len(s.trials) {
		return fmt.Errorf("trial %d was not asked", id)
	}
	t := s.trials[id-1]
	if t.Outcome.Status != Pending {
		return fmt.Errorf("trial %d was told before, as %v", id, t.Outcome.Status)
	}
	if err := o.validate(); err != nil {
		return fmt.Errorf("trial %d: %w", id, err)
	}
	told := *t
	told.Outcome = o
	if err := s.put(ctx, &told); err != nil {
		return err
	}
	t.Outcome = o
	return nil
}

// Import adds an outcome known from elsewhere, a warm start. The
// configuration must be feasible under the known constraints and new.
func (s *Study) Import(ctx context.Context, c space.Config, o Outcome) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := o.validate(); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	c, err := own(s.space, c)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if old := s.seen[c.Point().Key()]; old != nil {
		return fmt.Errorf("import of %v: it is trial %d already", c, old.ID)
	}
	return s.add(ctx, &Trial{Config: c, Origin: "import", Outcome: o})
}

// Best returns the trial with the best value; ok is false when none has one.
func (s *Study) Best() (t Trial, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	best := s.history().best()
	if len(best) == 0 {
		return Trial{}, false
	}
	return *best[0], true
}

// Trials returns copies of all trials, by ID.
func (s *Study) Trials() []Trial {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Trial, len(s.trials))
	for i, t := range s.trials {
		out[i] = *t
	}
	return out
}

// Trace returns, for each trial by ID, the best value among it and those
// before; entries before the first value are NaN.
func (s *Study) Trace() []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return trace(s.trials, s.opts.Maximize)
}

// Space returns the study's space.
func (s *Study) Space() *space.Space { return s.space }

// Options returns the study's options, defaults filled in.
func (s *Study) Options() Options { return s.opts }

// Close closes the store.
func (s *Study) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.Close()
}

package bayes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Record is a trial as a Store keeps it.
type Record struct {
	ID      int             `json:"id"`
	Config  json.RawMessage `json:"config"`
	Origin  string          `json:"origin"`
	Note    json.RawMessage `json:"note,omitempty"`
	Outcome Outcome         `json:"outcome"`
}

// Header identifies a study: it is only resumed under the same one.
type Header struct {
	Version int             `json:"version"` // of the records
	Space   string          `json:"space"`   // fingerprint
	Options json.RawMessage `json:"options"`
	Study   string          `json:"study,omitempty"` // its name, where the Store does not go by it
}

const recordVersion = 1

// Store keeps one study.
type Store interface {
	// Begin returns the header and the records of the study, by ascending ID,
	// or, when there is none yet, writes h and returns it with no record.
	Begin(ctx context.Context, h Header) (Header, []Record, error)
	// Put adds a record or replaces the one of the same ID. When it returns,
	// the record survives the death of the process.
	Put(ctx context.Context, r Record) error
	Close() error
}

// ErrMismatch is matched by the error of Open when the store holds a study of
// another name, another space or other options.
var ErrMismatch = errors.New("the stored study is another one")

// errNotOurs refuses a file that something else made.
var errNotOurs = errors.New("this is no store of trials, and was left as it was")

func (h Header) match(stored Header) error {
	switch {
	case stored.Version != h.Version:
		return fmt.Errorf("%w: its records have version %d, this program writes %d", ErrMismatch, stored.Version, h.Version)
	case stored.Space != h.Space:
		return fmt.Errorf("%w: its space has other parameters or constraints (%s, not %s)", ErrMismatch, stored.Space, h.Space)
	}
	same, err := equalJSON(stored.Options, h.Options)
	if err != nil {
		return fmt.Errorf("%w: its options cannot be read: %w", ErrMismatch, err)
	}
	if !same {
		return fmt.Errorf("%w: it has options %s, not %s", ErrMismatch, stored.Options, h.Options)
	}
	return nil
}

func equalJSON(a, b json.RawMessage) (bool, error) {
	var va, vb any
	if err := errors.Join(json.Unmarshal(a, &va), json.Unmarshal(b, &vb)); err != nil {
		return false, err
	}
	na, err := json.Marshal(va) // with sorted keys
	if err != nil {
		return false, err
	}
	nb, err := json.Marshal(vb)
	return string(na) == string(nb), err
}

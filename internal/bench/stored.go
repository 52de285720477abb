package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/protuner/protuner/internal/tunedb"
)

// Stored is a run as its folder holds it, finished or not.
type Stored struct {
	Dir      string
	Manifest Manifest
	Began    time.Time
	Ended    time.Time // zero where something is left to do
	Entries  []tunedb.BenchEntry
	Races    []tunedb.BenchRace
}

// Load reads a run's folder, or its database.
func Load(ctx context.Context, dir string) (*Stored, error) {
	file := dir
	if info, err := os.Stat(dir); err != nil {
		return nil, &UsageError{fmt.Errorf("there is no run: %w", err)}
	} else if info.IsDir() {
		file = DBFile(dir)
	} else {
		dir = filepath.Dir(dir)
	}
	if _, err := os.Stat(file); err != nil {
		return nil, &UsageError{fmt.Errorf("%s holds no run of bench: %w", dir, err)}
	}
	db, err := tunedb.OpenToRead(ctx, file)
	if err != nil {
		return nil, &UsageError{err}
	}
	defer db.Close()
	s := &Stored{Dir: dir}
	var manifest json.RawMessage
	manifest, s.Began, s.Ended, err = db.Bench(ctx)
	if errors.Is(err, tunedb.ErrNoBench) {
		return nil, &UsageError{fmt.Errorf("%s holds no run of bench", file)}
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(manifest, &s.Manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if s.Entries, err = db.BenchEntries(ctx); err != nil {
		return nil, err
	}
	s.Races, err = db.BenchRaces(ctx)
	return s, err
}

// entry of a part, nil where it was not made yet.
func (s *Stored) entry(p Part, method string, repeat int) *tunedb.BenchEntry {
	for i := range s.Entries {
		e := &s.Entries[i]
		if e.App == p.App && e.Part == p.Name && e.Method == method && e.Repeat == repeat {
			return e
		}
	}
	return nil
}

// race of a part, nil where there was none yet.
func (s *Stored) race(p Part) *tunedb.BenchRace {
	for i := range s.Races {
		if r := &s.Races[i]; r.App == p.App && r.Part == p.Name {
			return r
		}
	}
	return nil
}

// laps of an entry; empty where it did not finish the race.
func laps(r *tunedb.BenchRace, method string, repeat int) (all []time.Duration, failed *tunedb.BenchLane) {
	if r == nil {
		return nil, nil
	}
	for i, l := range r.Lanes {
		if l.Method == method && l.Repeat == repeat {
			if l.Failure != "" {
				return nil, &r.Lanes[i]
			}
			return l.Laps, nil
		}
	}
	return nil, nil
}

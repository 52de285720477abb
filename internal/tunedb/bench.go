package tunedb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/protuner/protuner/internal/measure"
)

// BenchEntry is what one method made of a part of an application.
type BenchEntry struct {
	App    string         `json:"app"`
	Part   string         `json:"part"` // empty where the application is one
	Method string         `json:"method"`
	Repeat int            `json:"repeat"` // from 1
	Seed   int64          `json:"seed"`
	Status measure.Status `json:"status"`
	// Message says why it failed, or with which limit, or why what did not fail could not
	// be raced; Note what is wrong with it besides.
	Message string `json:"message,omitempty"`
	Note    string `json:"note,omitempty"`
	// Cut says that a limit ended it before all was done that the method does; Note says what
	// was not done. What older programs made has the note alone.
	Cut      bool          `json:"cut,omitempty"`
	Lenient  bool          `json:"lenient,omitempty"`  // right at the estimated size only
	Checked  bool          `json:"checked,omitempty"`  // its output was compared with the reference's
	Schedule string        `json:"schedule,omitempty"` // as directives, where directives can say it
	Took     time.Duration `json:"took_ns"`            // until the build was there
	Measured int           `json:"measured,omitempty"` // schedules timed on the way
	Made     time.Time     `json:"made"`

	// What the model had to do with it. Cost is what it predicts, in milliseconds; 0 where
	// it was not asked. Roots counts the decisions of a tree search, Greedy those that a
	// tree with greedy rollouts won.
	Cost        float64 `json:"cost,omitempty"`
	Evaluations int64   `json:"evaluations,omitempty"`
	Roots       int     `json:"roots,omitempty"`
	Greedy      int     `json:"greedy,omitempty"`
}

// BenchRace is the race of everything that was made of a part.
type BenchRace struct {
	App      string          `json:"app"`
	Part     string          `json:"part"`
	Times    int             `json:"times"` // how often the part occurs in its application
	Lanes    []BenchLane     `json:"lanes"`
	Sentinel []time.Duration `json:"sentinel_ns"` // the first lane timed a second time in each round
	Rounds   int             `json:"rounds"`
	Thrown   int             `json:"thrown"` // rounds that did not count: the machine was disturbed
	// Disturbed are the sentinel's laps of these; of runs by older programs there are none.
	Disturbed []time.Duration `json:"disturbed_ns,omitempty"`
	Load      string          `json:"load,omitempty"`
	Taken     time.Time       `json:"taken"`
}

// BenchLane is one entry's part in a race.
type BenchLane struct {
	Method    string          `json:"method"`
	Repeat    int             `json:"repeat"`
	Laps      []time.Duration `json:"laps_ns"`                // one a round; 0 where it was no longer in
	Disturbed []time.Duration `json:"disturbed_ns,omitempty"` // one a round that did not count
	Status    measure.Status  `json:"status,omitempty"`       // of the failure
	Failure   string          `json:"failure,omitempty"`
}

// BeginBench registers the database's comparison, or tells which one it has begun
// already: first is the manifest that was stored first.
func (db *DB) BeginBench(ctx context.Context, manifest any) (first json.RawMessage, err error) {
	text, err := json.Marshal(manifest)
	if err != nil {
		return nil, err
	}
	err = db.tx(ctx, func(tx *sql.Tx) error {
		var stored string
		err := tx.QueryRowContext(ctx, `INSERT INTO bench (id, manifest, started) VALUES (1, ?, ?)
			ON CONFLICT (id) DO UPDATE SET id = id RETURNING manifest`, string(text), stamp(time.Now())).Scan(&stored)
		first = json.RawMessage(stored)
		return err
	})
	return first, err
}

// ExtendBench stores another manifest of the comparison, by which something is left to do.
func (db *DB) ExtendBench(ctx context.Context, manifest any) error {
	text, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	_, err = db.sql.ExecContext(ctx, `UPDATE bench SET manifest = ?, ended = NULL`, string(text))
	return db.explain(err)
}

// ErrNoBench is the error of a database that holds no comparison.
var ErrNoBench = errors.New("the database holds no comparison of methods; make one with protuner bench run")

// Bench returns the comparison's manifest and when it began and ended; ended is zero
// where something is left to do, and the error is ErrNoBench where there is none.
func (db *DB) Bench(ctx context.Context) (manifest json.RawMessage, began, ended time.Time, err error) {
	var text, start string
	var end sql.NullString
	err = db.sql.QueryRowContext(ctx, `SELECT manifest, started, ended FROM bench`).Scan(&text, &start, &end)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, began, ended, ErrNoBench
	}
	if err != nil {
		return nil, began, ended, db.explain(err)
	}
	if began, err = time.Parse(time.RFC3339Nano, start); err == nil && end.Valid {
		ended, err = time.Parse(time.RFC3339Nano, end.String)
	}
	return json.RawMessage(text), began, ended, err
}

// EndBench says that nothing is left to do.
func (db *DB) EndBench(ctx context.Context) error {
	_, err := db.sql.ExecContext(ctx, `UPDATE bench SET ended = ? WHERE ended IS NULL`, stamp(time.Now()))
	return db.explain(err)
}

// PutBenchEntry stores an entry in the place of what was known of it.
func (db *DB) PutBenchEntry(ctx context.Context, e BenchEntry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return db.tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO bench_entries (app, part, method, repeat, entry) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET entry = excluded.entry`, e.App, e.Part, e.Method, e.Repeat, string(text))
		return err
	})
}

// PutBenchRace stores a race in the place of one of fewer entries.
func (db *DB) PutBenchRace(ctx context.Context, r BenchRace) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return db.tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO bench_races (app, part, race) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET race = excluded.race`,
			r.App, r.Part, string(text))
		return err
	})
}

// BenchEntries returns all entries, sorted by app, part, method and repeat.
func (db *DB) BenchEntries(ctx context.Context) ([]BenchEntry, error) {
	return decodeAll[BenchEntry](ctx, db, `SELECT entry FROM bench_entries ORDER BY app, part, method, repeat`)
}

// BenchRaces returns all races, sorted by app and part.
func (db *DB) BenchRaces(ctx context.Context) ([]BenchRace, error) {
	return decodeAll[BenchRace](ctx, db, `SELECT race FROM bench_races ORDER BY app, part`)
}

func decodeAll[T any](ctx context.Context, db *DB, query string) ([]T, error) {
	rows, err := db.sql.QueryContext(ctx, query)
	if err != nil {
		return nil, db.explain(err)
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, db.explain(err)
		}
		var x T
		if err := json.Unmarshal([]byte(text), &x); err != nil {
			return nil, fmt.Errorf("database %s: %w", db.path, err)
		}
		out = append(out, x)
	}
	return out, db.explain(rows.Err())
}

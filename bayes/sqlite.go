package bayes

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// SQLite is a Store in a database file, which can hold many named studies.
type SQLite struct {
	db    *sql.DB
	study string
}

const schema = `
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS study (
	name   TEXT PRIMARY KEY,
	header TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS trial (
	study  TEXT NOT NULL REFERENCES study (name),
	id     INTEGER NOT NULL,
	status TEXT NOT NULL,
	value  REAL,
	config TEXT NOT NULL,
	record TEXT NOT NULL,
	PRIMARY KEY (study, id)
) STRICT;`

// foreign says whether a database is another program's: it has tables, and not our first
// one, after which a killed process may have made no other.
const foreign = `SELECT count(*) > 0 AND (SELECT group_concat(name) FROM pragma_table_info('study')) IS NOT 'name,header'
	FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`

// OpenSQLite opens or creates the database and the study of that name in it. A file of
// another program's is refused and left as it was. The columns status, value and config
// are for queries; record is the truth.
func OpenSQLite(ctx context.Context, path, study string) (*SQLite, error) {
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() +
		"?_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("trial store: %w", err)
	}
	db.SetMaxOpenConns(1)
	if err := makeOurs(ctx, db, path); err != nil {
		return nil, errors.Join(fmt.Errorf("trial store %s: %w; name another file", path, err), db.Close())
	}
	return &SQLite{db: db, study: study}, nil
}

// openPoll is how often a process looks whether another has made its database.
const openPoll = 5 * time.Millisecond

// makeOurs changes nothing, not even the journal's mode, before it is known whose it is.
func makeOurs(ctx context.Context, db *sql.DB, path string) error {
	// Those that make one database at once take turns: a change of the journal's mode does
	// not wait for anybody. The lock is on the folder, so that it leaves no file.
	turn := flock.New(filepath.Dir(path), flock.SetFlag(os.O_RDONLY))
	if _, err := turn.TryLockContext(ctx, openPoll); err != nil {
		return fmt.Errorf("its folder cannot be locked: %w", err)
	}
	defer turn.Close()
	var others bool
	if err := db.QueryRowContext(ctx, foreign).Scan(&others); err != nil {
		return err
	}
	if others {
		return errNotOurs
	}
	_, err := db.ExecContext(ctx, schema)
	return err
}

// Begin implements Store.
func (s *SQLite) Begin(ctx context.Context, h Header) (Header, []Record, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return h, nil, err
	}
	if _, err := s.db.ExecContext(ctx, `INSERT INTO study (name, header) VALUES (?, ?) ON CONFLICT DO NOTHING`, s.study, string(text)); err != nil {
		return h, nil, fmt.Errorf("trial store: %w", err)
	}
	var stored string
	if err := s.db.QueryRowContext(ctx, `SELECT header FROM study WHERE name = ?`, s.study).Scan(&stored); err != nil {
		return h, nil, fmt.Errorf("trial store: %w", err)
	}
	h = Header{} // not decoded over the caller's, whose bytes it would reuse
	if err := decode([]byte(stored), &h); err != nil {
		return h, nil, fmt.Errorf("trial store: study %s: %w", s.study, err)
	}
	rows, err := s.db.QueryContext(ctx, `SELECT id, record FROM trial WHERE study = ? ORDER BY id`, s.study)
	if err != nil {
		return h, nil, fmt.Errorf("trial store: %w", err)
	}
	defer rows.Close()
	var out []Record
	for rows.Next() {
		var id int
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return h, nil, fmt.Errorf("trial store: %w", err)
		}
		var r Record
		if err := decode([]byte(text), &r); err != nil {
			return h, nil, fmt.Errorf("trial store: study %s, trial %d: %w", s.study, id, err)
		}
		out = append(out, r)
	}
	return h, out, rows.Err()
}

// Put implements Store. A pending trial is always new: that its ID is taken
// means that another process works on the study.
func (s *SQLite) Put(ctx context.Context, r Record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var value any
	if r.Outcome.Status == OK {
		value = r.Outcome.Value
	}
	conflict := ` ON CONFLICT (study, id) DO UPDATE SET status = excluded.status, value = excluded.value, record = excluded.record`
	if r.Outcome.Status == Pending {
		conflict = ` ON CONFLICT DO NOTHING`
	}
	res, err := s.db.ExecContext(ctx,
		`INSERT INTO trial (study, id, status, value, config, record) VALUES (?, ?, ?, ?, ?, ?)`+conflict,
		s.study, r.ID, r.Outcome.Status.String(), value, string(r.Config), string(text))
	if err != nil {
		return fmt.Errorf("trial store: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return errors.Join(fmt.Errorf("trial store: study %s has a trial %d already: another process works on it", s.study, r.ID), err)
	}
	return nil
}

// Close implements Store.
func (s *SQLite) Close() error { return s.db.Close() }

// Package tunedb is the only truth about measurements: a SQLite database of
// workloads, schedules, measurements and runs. Under one key no schedule is kept
// twice, and what was committed survives a kill at any moment (WAL).
package tunedb

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/protuner/protuner/internal/measure"
)

//go:embed migrations/*.sql
var migrations embed.FS

// DB is an open database. Its methods may be called concurrently, also by several
// processes.
type DB struct {
	sql  *sql.DB
	path string
}

// Open opens the database, makes it if it is not there, and brings its schema up
// to date. A file that is no database or comes from a newer protuner is refused
// and left as it was.
func Open(ctx context.Context, path string) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the folder of the database %s: %w", path, err)
	}
	// Two that make one database at once would meet half-made: a change of the journal's
	// mode does not wait for anybody, and migrations do not expect each other. The lock
	// is on the folder, so that it leaves no file.
	turn := flock.New(filepath.Dir(path), flock.SetFlag(os.O_RDONLY))
	if _, err := turn.TryLockContext(ctx, openPoll); err != nil {
		return nil, fmt.Errorf("cannot lock the folder of the database %s: %w; name one that can be written with --db", path, err)
	}
	defer turn.Close()
	if err := checkOurs(ctx, path); err != nil {
		return nil, err
	}
	// A writer waits for another instead of failing; immediate transactions take their
	// lock at the start, so that none fails half-way. What was stored is there after a power
	// cut, too.
	handle, err := sql.Open("sqlite", "file:"+escape(path)+
		"?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db := &DB{handle, path}
	if err := db.migrate(ctx); err != nil {
		handle.Close()
		return nil, db.explain(err)
	}
	return db, nil
}

// openPoll is how often a process looks whether another has opened its database.
const openPoll = 5 * time.Millisecond

// checkOurs refuses a database of another program's, before anything is changed in
// it. A file that is not there or empty becomes ours.
func checkOurs(ctx context.Context, path string) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil
	}
	handle, err := sql.Open("sqlite", "file:"+escape(path)+"?_pragma=busy_timeout(60000)")
	if err != nil {
		return err
	}
	defer handle.Close()
	all, ours, err := (&DB{handle, path}).tables(ctx)
	if err != nil {
		return err
	}
	if all > 0 && ours == 0 {
		return fmt.Errorf(notOurs, path)
	}
	return nil
}

// tables counts all tables, and those that only a database of protuner's has.
func (db *DB) tables(ctx context.Context) (all, ours int, err error) {
	err = db.sql.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE name = 'goose_db_version')
		FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`).Scan(&all, &ours)
	return all, ours, db.explain(err)
}

const notOurs = "%s is no protuner database; name another file with --db (it was left as it is)"

// escape keeps a path a path inside a URI.
func escape(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

func (db *DB) migrate(ctx context.Context) error {
	provider, _, _, err := db.schema(ctx)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// schema gives what brings the database up to date, the version that it has and the newest
// that this protuner knows. A newer one is refused.
func (db *DB) schema(ctx context.Context) (provider *goose.Provider, have, newest int64, err error) {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, 0, 0, err
	}
	if provider, err = goose.NewProvider(goose.DialectSQLite3, db.sql, sub); err != nil {
		return nil, 0, 0, err
	}
	if have, err = provider.GetDBVersion(ctx); err != nil {
		return nil, 0, 0, err
	}
	sources := provider.ListSources()
	if newest = sources[len(sources)-1].Version; have > newest {
		return nil, 0, 0, fmt.Errorf("the database %s has schema %d and this protuner knows %d; update protuner or name another with --db", db.path, have, newest)
	}
	return provider, have, newest, nil
}

// explain turns SQLite's errors into what a user can act on.
func (db *DB) explain(err error) error {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return err
	}
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf(notOurs, db.path)
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
		return fmt.Errorf("cannot write the database %s: %w; make room on its disk and run again, nothing measured is lost", db.path, err)
	case sqlite3.SQLITE_BUSY:
		return fmt.Errorf("the database %s is locked by another program: %w; run again once that has ended, nothing measured is lost", db.path, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fmt.Errorf("cannot open the database %s: %w; name one that can be written with --db", db.path, err)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("the database %s is damaged: %w; export what can be read with `protuner db export` and import it into a new one", db.path, err)
	}
	return fmt.Errorf("database %s: %w", db.path, err)
}

// Close closes the database.
func (db *DB) Close() error { return db.sql.Close() }

// Path is the database's file.
func (db *DB) Path() string { return db.path }

// Workload is everything that changes what a schedule's time is.
type Workload struct {
	Algorithm string   `json:"algorithm"` // hash of what is computed
	Generator string   `json:"generator"`
	Params    []string `json:"params"`    // Generator parameters, name=value, sorted
	Estimates []string `json:"estimates"` // sizes and scalars that are run on
	Inputs    []string `json:"inputs"`    // how inputs are filled; files by the hash of their content
	Structure []string `json:"structure"` // structural directives that came first
	Halide    string   `json:"halide"`
	// HalideBuild tells apart libraries of one version; empty in measurements of before it was
	// asked for.
	HalideBuild string `json:"halide_build,omitempty"`
	Target      string `json:"target"`
	Host        string `json:"host"` // CPU model and core count: times do not carry over
	Threads     int    `json:"threads"`
	Protocol    int    `json:"protocol"` // of measuring
	// What decides whether a schedule counts as working, where it is not the default:
	// how far integer results may be off, and whether Halide may keep loops that it
	// cannot unroll.
	Tolerance    int64 `json:"tolerance,omitempty"`
	PermitUnroll bool  `json:"permit_unroll,omitempty"`
}

// Key is the workload's identity.
func (w Workload) Key() string {
	text, err := json.Marshal(w)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Measurement is one schedule's, under one workload.
type Measurement struct {
	Hash    string          `json:"hash"`
	Text    string          `json:"text"` // the schedule's text form
	Origin  string          `json:"origin"`
	Trace   string          `json:"trace"`
	Status  measure.Status  `json:"status"`
	Message string          `json:"message"`
	Samples []time.Duration `json:"samples_ns"`
	Best    time.Duration   `json:"best_ns"` // 0 unless Status is OK
	Lower   time.Duration   `json:"lower_ns"`
	Link    time.Duration   `json:"link_ns"`
	Check   time.Duration   `json:"check_ns"`
	Time    time.Duration   `json:"time_ns"`
	// BuildLimit is, of one that timed out while it was built, how long its run had for a
	// build at most; 0 of all others, and where that is not known.
	BuildLimit time.Duration `json:"build_limit_ns,omitempty"`
	// MemoryLimit is, of one that ran out of memory, how many bytes it might have; 0 of all
	// others, and where that is not known.
	MemoryLimit int64     `json:"memory_limit,omitempty"`
	Taken       time.Time `json:"taken"`
}

// Run is one run of a search on a workload.
type Run struct {
	ID       int64           `json:"id"`
	Key      string          `json:"key"` // of its workload
	Workload Workload        `json:"workload"`
	Manifest json.RawMessage `json:"manifest"`
	Started  time.Time       `json:"started"`
	Ended    time.Time       `json:"ended"` // zero where it never ended
	Report   json.RawMessage `json:"report"`
}

// Recorder stores the measurements of one run.
type Recorder struct {
	db  *DB
	w   Workload
	id  int64 // of the workload
	run int64
}

// Begin registers a run of the workload.
func (db *DB) Begin(ctx context.Context, w Workload, manifest any) (*Recorder, error) {
	text, err := json.Marshal(manifest)
	if err != nil {
		return nil, err
	}
	r := &Recorder{db: db, w: w}
	err = db.tx(ctx, func(tx *sql.Tx) error {
		if r.id, err = putWorkload(ctx, tx, w); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `INSERT INTO runs (workload, manifest, started) VALUES (?, ?, ?) RETURNING id`,
			r.id, string(text), stamp(time.Now())).Scan(&r.run)
	})
	return r, err
}

// RunID is the run's number, by which `show` and `export` name it.
func (r *Recorder) RunID() int64 { return r.run }

func putWorkload(ctx context.Context, tx *sql.Tx, w Workload) (id int64, err error) {
	text, err := json.Marshal(w)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, `INSERT INTO workloads (key, generator, manifest) VALUES (?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET key = key RETURNING id`, w.Key(), w.Generator, string(text)).Scan(&id)
	return id, err
}

// stamp writes a time so that texts sort as times do: RFC 3339 with all nine digits.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000000Z07:00") }

func (db *DB) tx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := db.sql.BeginTx(ctx, nil)
	if err != nil {
		return db.explain(err)
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return db.explain(err)
	}
	return db.explain(tx.Commit())
}

// Record stores a measurement. Where the schedule was measured under this key
// before, by this or another process, what is there stays, unless that was a
// failure of the infrastructure, or timed out while it was built, in a run that had less
// time for that or if it does not now, or ran out of memory, in one that had less of it or if
// it does not now.
func (r *Recorder) Record(ctx context.Context, m Measurement) error {
	return r.db.tx(ctx, func(tx *sql.Tx) error { return putMeasurement(ctx, tx, r.id, r.run, r.w.Algorithm, m, true) })
}

// putMeasurement stores as Record does. Whether what timed out without a limit was built by then
// is told: a measurement of an older program's does not say.
func putMeasurement(ctx context.Context, tx *sql.Tx, workload, run int64, algorithm string, m Measurement, told bool) error {
	var schedule int64
	err := tx.QueryRowContext(ctx, `INSERT INTO schedules (algorithm, hash, text) VALUES (?, ?, ?)
		ON CONFLICT (algorithm, hash) DO UPDATE SET hash = hash RETURNING id`, algorithm, m.Hash, m.Text).Scan(&schedule)
	if err != nil {
		return err
	}
	samples, err := json.Marshal(m.Samples)
	if err != nil {
		return err
	}
	best := sql.NullInt64{Int64: int64(m.Best), Valid: m.Status == measure.OK}
	_, err = tx.ExecContext(ctx, `INSERT INTO measurements
		(workload, schedule, run, origin, trace, status, message, best_ns, samples, lower_ns, link_ns, check_ns, time_ns, build_limit_ns, memory_limit, taken)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET run = excluded.run, origin = excluded.origin, trace = excluded.trace,
			status = excluded.status, message = excluded.message, best_ns = excluded.best_ns, samples = excluded.samples,
			lower_ns = excluded.lower_ns, link_ns = excluded.link_ns, check_ns = excluded.check_ns,
			time_ns = excluded.time_ns, build_limit_ns = excluded.build_limit_ns, memory_limit = excluded.memory_limit,
			taken = excluded.taken
		WHERE measurements.status = 'infra_failed'
			OR measurements.build_limit_ns > 0 AND excluded.status <> 'infra_failed'
				AND (excluded.build_limit_ns = 0 AND ? OR excluded.build_limit_ns > measurements.build_limit_ns)
			OR measurements.status = 'out_of_memory' AND excluded.status <> 'infra_failed'
				AND (excluded.status <> 'out_of_memory' OR excluded.memory_limit > measurements.memory_limit)`,
		workload, schedule, run, m.Origin, m.Trace, m.Status, m.Message, best, string(samples),
		int64(m.Lower), int64(m.Link), int64(m.Check), int64(m.Time), int64(m.BuildLimit), m.MemoryLimit, stamp(m.Taken),
		told || m.Status != measure.TimedOut)
	return err
}

// Raced is the origin of what no search tried: it failed in the races at a run's end.
const Raced = "race"

// Refute says of a schedule why it does not work, whatever it did when it was measured, if it
// was: status and message are those it failed with since, and its time no longer counts. It is
// not measured again.
func (r *Recorder) Refute(ctx context.Context, hash, text string, status measure.Status, message string) error {
	return r.db.tx(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE measurements SET status = ?, message = ?, best_ns = NULL, build_limit_ns = 0, memory_limit = 0
			WHERE workload = ? AND schedule = (SELECT id FROM schedules WHERE algorithm = ? AND hash = ?)`, status, message, r.id, r.w.Algorithm, hash)
		if err != nil {
			return err
		}
		if changed, err := done.RowsAffected(); err != nil || changed > 0 {
			return err
		}
		return putMeasurement(ctx, tx, r.id, r.run, r.w.Algorithm, Measurement{Hash: hash, Text: text, Origin: Raced, Status: status, Message: message, Taken: time.Now()}, true)
	})
}

// Status is how a schedule's measurement under this key ended, or what it failed with since;
// Invalid where there is none.
func (r *Recorder) Status(ctx context.Context, hash string) (measure.Status, error) {
	var status measure.Status
	err := r.db.sql.QueryRowContext(ctx, `SELECT m.status FROM measurements m JOIN schedules s ON s.id = m.schedule
		WHERE m.workload = ? AND s.algorithm = ? AND s.hash = ?`, r.id, r.w.Algorithm, hash).Scan(&status)
	if errors.Is(err, sql.ErrNoRows) {
		return measure.Invalid, nil
	}
	return status, r.db.explain(err)
}

// End marks the run as ended and stores its report; nil where there is none.
func (r *Recorder) End(ctx context.Context, report any) error {
	if report != nil {
		if err := r.Report(ctx, report); err != nil {
			return err
		}
	}
	_, err := r.db.sql.ExecContext(ctx, `UPDATE runs SET ended = ? WHERE id = ?`, stamp(time.Now()), r.run)
	return r.db.explain(err)
}

// Report stores the report of a run that has not ended, and may never: its user stopped it.
func (r *Recorder) Report(ctx context.Context, report any) error {
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	_, err = r.db.sql.ExecContext(ctx, `UPDATE runs SET report = ? WHERE id = ?`, string(text), r.run)
	return r.db.explain(err)
}

// Known returns all measurements of the recorder's workload in the order in which
// they were taken. Failures of the infrastructure prove nothing and are left out,
// so that their schedules are measured again.
func (r *Recorder) Known(ctx context.Context) ([]Measurement, error) {
	return r.db.measurements(ctx, `m.workload = ? AND m.status <> 'infra_failed' ORDER BY m.taken, s.hash`, r.id)
}

const selectMeasurements = `SELECT s.hash, s.text, m.origin, m.trace, m.status, m.message, m.best_ns, m.samples,
	m.lower_ns, m.link_ns, m.check_ns, m.time_ns, m.build_limit_ns, m.memory_limit, m.taken
	FROM measurements m JOIN schedules s ON s.id = m.schedule WHERE `

func (db *DB) measurements(ctx context.Context, where string, args ...any) ([]Measurement, error) {
	rows, err := db.sql.QueryContext(ctx, selectMeasurements+where, args...)
	if err != nil {
		return nil, db.explain(err)
	}
	defer rows.Close()
	var out []Measurement
	for rows.Next() {
		var m Measurement
		var best sql.NullInt64
		var samples, taken string
		if err := rows.Scan(&m.Hash, &m.Text, &m.Origin, &m.Trace, &m.Status, &m.Message, &best, &samples,
			&m.Lower, &m.Link, &m.Check, &m.Time, &m.BuildLimit, &m.MemoryLimit, &taken); err != nil {
			return nil, db.explain(err)
		}
		m.Best = time.Duration(best.Int64)
		if err := json.Unmarshal([]byte(samples), &m.Samples); err != nil {
			return nil, fmt.Errorf("database %s: the samples of schedule %s: %w", db.path, m.Hash, err)
		}
		if m.Taken, err = time.Parse(time.RFC3339Nano, taken); err != nil {
			return nil, fmt.Errorf("database %s: the time of schedule %s: %w", db.path, m.Hash, err)
		}
		out = append(out, m)
	}
	return out, db.explain(rows.Err())
}

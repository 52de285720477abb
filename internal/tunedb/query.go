package tunedb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Runs lists runs, the newest first. A generator's name narrows them down; empty
// takes all.
func (db *DB) Runs(ctx context.Context, generator string) ([]Run, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT r.id, w.key, w.manifest, r.manifest, r.started, r.ended, r.report
		FROM runs r JOIN workloads w ON w.id = r.workload WHERE ? = '' OR w.generator = ? ORDER BY r.id DESC`, generator, generator)
	if err != nil {
		return nil, db.explain(err)
	}
	defer rows.Close()
	var out []Run
	for rows.Next() {
		var r Run
		var workload, manifest, started string
		var ended, report sql.NullString
		if err := rows.Scan(&r.ID, &r.Key, &workload, &manifest, &started, &ended, &report); err != nil {
			return nil, db.explain(err)
		}
		if err := json.Unmarshal([]byte(workload), &r.Workload); err != nil {
			return nil, fmt.Errorf("database %s: the workload of run %d: %w", db.path, r.ID, err)
		}
		r.Manifest = json.RawMessage(manifest)
		if report.Valid {
			r.Report = json.RawMessage(report.String)
		}
		if r.Started, err = time.Parse(time.RFC3339Nano, started); err != nil {
			return nil, fmt.Errorf("database %s: the start of run %d: %w", db.path, r.ID, err)
		}
		if ended.Valid {
			if r.Ended, err = time.Parse(time.RFC3339Nano, ended.String); err != nil {
				return nil, fmt.Errorf("database %s: the end of run %d: %w", db.path, r.ID, err)
			}
		}
		out = append(out, r)
	}
	return out, db.explain(rows.Err())
}

// Fastest returns the n fastest schedules of a workload; all where n is 0.
func (db *DB) Fastest(ctx context.Context, key string, n int) ([]Measurement, error) {
	if n == 0 {
		n = -1
	}
	return db.measurements(ctx, `m.workload = (SELECT id FROM workloads WHERE key = ?) AND m.best_ns IS NOT NULL
		ORDER BY m.best_ns, s.hash LIMIT ?`, key, n)
}

// Counts tells how many measurements of a workload ended in each status.
func (db *DB) Counts(ctx context.Context, key string) (map[string]int, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT status, count(*) FROM measurements
		WHERE workload = (SELECT id FROM workloads WHERE key = ?) GROUP BY status`, key)
	if err != nil {
		return nil, db.explain(err)
	}
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var status string
		var n int
		if err := rows.Scan(&status, &n); err != nil {
			return nil, db.explain(err)
		}
		out[status] = n
	}
	return out, db.explain(rows.Err())
}

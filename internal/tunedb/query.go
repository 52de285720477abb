package tunedb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/protuner/protuner/internal/measure"
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
	return db.fastest(ctx, key, "", n)
}

// Failed are the hashes of the schedules of a workload that failed, when they were measured
// or since.
func (db *DB) Failed(ctx context.Context, key string) (map[string]bool, error) {
	all, err := db.measurements(ctx, `m.workload = (SELECT id FROM workloads WHERE key = ?) AND m.status NOT IN ('ok', 'infra_failed')`, key)
	out := map[string]bool{}
	for _, m := range all {
		out[m.Hash] = true
	}
	return out, err
}

// fastest is Fastest of those that meet another condition; all where n is negative.
func (db *DB) fastest(ctx context.Context, key, and string, n int) ([]Measurement, error) {
	return db.measurements(ctx, `m.workload = (SELECT id FROM workloads WHERE key = ?) AND m.best_ns IS NOT NULL`+and+`
		ORDER BY m.best_ns, s.hash LIMIT ?`, key, n)
}

// Elsewhere returns, of each of the n workloads that are likest to the recorder's, the fastest
// schedule with decisions, which one that was polished has not; the likest first. They are of
// the same Generator, with other sizes, parameters, inputs, threads, machine or Halide. Likest
// are those that have most of these in common, and of equals the newest. The times are not to
// be compared.
func (r *Recorder) Elsewhere(ctx context.Context, n int) ([]Measurement, error) {
	rows, err := r.db.sql.QueryContext(ctx, `SELECT key, manifest FROM workloads WHERE generator = ? AND id <> ? ORDER BY id DESC`, r.w.Generator, r.id)
	if err != nil {
		return nil, r.db.explain(err)
	}
	defer rows.Close()
	type other struct {
		key  string
		like int
	}
	var others []other
	for rows.Next() {
		var key, manifest string
		if err := rows.Scan(&key, &manifest); err != nil {
			return nil, r.db.explain(err)
		}
		var w Workload
		if err := json.Unmarshal([]byte(manifest), &w); err != nil {
			return nil, fmt.Errorf("database %s: workload %s: %w", r.db.path, key, err)
		}
		others = append(others, other{key, r.w.common(w)})
	}
	if err := rows.Err(); err != nil {
		return nil, r.db.explain(err)
	}
	slices.SortStableFunc(others, func(a, b other) int { return b.like - a.like })
	var out []Measurement
	for _, o := range others {
		if len(out) == n {
			break
		}
		fastest, err := r.db.fastest(ctx, o.key, ` AND m.trace <> ''`, 1)
		if err != nil {
			return nil, err
		}
		out = append(out, fastest...)
	}
	return out, nil
}

// common counts what two workloads have in common.
func (w Workload) common(v Workload) (n int) {
	for _, lists := range [][2][]string{
		{w.Params, v.Params}, {w.Estimates, v.Estimates}, {w.Inputs, v.Inputs}, {{w.Halide}, {v.Halide}}, {{w.Target}, {v.Target}}, {{w.Host}, {v.Host}},
	} {
		for _, x := range lists[0] {
			if slices.Contains(lists[1], x) {
				n++
			}
		}
	}
	if w.Threads == v.Threads {
		n++
	}
	return n
}

// Counts tells how many measurements of a workload ended in each status.
func (db *DB) Counts(ctx context.Context, key string) (map[measure.Status]int, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT status, count(*) FROM measurements
		WHERE workload = (SELECT id FROM workloads WHERE key = ?) GROUP BY status`, key)
	if err != nil {
		return nil, db.explain(err)
	}
	defer rows.Close()
	out := map[measure.Status]int{}
	for rows.Next() {
		var status measure.Status
		var n int
		if err := rows.Scan(&status, &n); err != nil {
			return nil, db.explain(err)
		}
		out[status] = n
	}
	return out, db.explain(rows.Err())
}

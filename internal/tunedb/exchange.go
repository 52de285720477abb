package tunedb

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/protuner/protuner/internal/measure"
)

// line is one line of an export: a measurement with the workload it belongs to.
type line struct {
	Version     int         `json:"version"`
	Workload    Workload    `json:"workload"`
	Measurement Measurement `json:"measurement"`
}

// exchangeVersion is raised whenever a line changes its meaning or has more to say; those
// from 1 on are read.
const exchangeVersion = 2

// maxLine bounds one line: the longest schedules have some thousand directives.
const maxLine = 16 << 20

// Export writes every measurement as one line of JSON, workloads and measurements
// in a fixed order.
func (db *DB) Export(ctx context.Context, w io.Writer) (n int, err error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT id, manifest FROM workloads ORDER BY key`)
	if err != nil {
		return 0, db.explain(err)
	}
	type entry struct {
		id   int64
		text string
	}
	var all []entry
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.id, &e.text); err != nil {
			rows.Close()
			return 0, db.explain(err)
		}
		all = append(all, e)
	}
	if err := cmp.Or(rows.Err(), rows.Close()); err != nil {
		return 0, db.explain(err)
	}
	out := json.NewEncoder(w)
	for _, e := range all {
		l := line{Version: exchangeVersion}
		if err := json.Unmarshal([]byte(e.text), &l.Workload); err != nil {
			return n, fmt.Errorf("database %s: workload %d: %w", db.path, e.id, err)
		}
		ms, err := db.measurements(ctx, `m.workload = ? ORDER BY m.taken, s.hash`, e.id)
		if err != nil {
			return n, err
		}
		for _, m := range ms {
			l.Measurement = m
			if err := out.Encode(l); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// Import takes in what Export wrote, all of it or, where a line cannot be read,
// none. What was measured under a key before stays as Record has it. Each workload of which
// something is taken in gets a run, which is Imported.
func (db *DB) Import(ctx context.Context, r io.Reader) (n int, err error) {
	// Read to its end before the transaction, during which a slow sender would lock others out.
	spool, err := os.CreateTemp("", "protuner-import-")
	if err != nil {
		return 0, fmt.Errorf("%w; set TMPDIR to a folder that can be written", err)
	}
	defer spool.Close()
	if err := os.Remove(spool.Name()); err != nil { // it goes with the process, whatever ends that
		return 0, err
	}
	if _, err := io.Copy(spool, r); errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return 0, fmt.Errorf("%w; set TMPDIR to a folder with room", err)
	} else if err != nil {
		return 0, err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(spool)
	lines.Buffer(nil, maxLine)
	err = db.tx(ctx, func(tx *sql.Tx) error {
		type target struct{ workload, run int64 }
		runs := map[string]target{}
		for number := 1; lines.Scan(); number++ {
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			l, err := decodeLine(lines.Bytes())
			if err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
			key := l.Workload.Key()
			t, ok := runs[key]
			if !ok {
				if t.workload, err = putWorkload(ctx, tx, l.Workload); err != nil {
					return err
				}
				now := stamp(time.Now())
				err = tx.QueryRowContext(ctx, `INSERT INTO runs (workload, manifest, started, ended) VALUES (?, '{"imported":true}', ?, ?) RETURNING id`,
					t.workload, now, now).Scan(&t.run)
				if err != nil {
					return err
				}
				runs[key] = t
			}
			if err := putMeasurement(ctx, tx, t.workload, t.run, l.Workload.Algorithm, l.Measurement, false); err != nil {
				return err
			}
			n++
		}
		if err := lines.Err(); err != nil {
			return err
		}
		for _, t := range runs {
			_, err := tx.ExecContext(ctx, `DELETE FROM runs WHERE id = ? AND NOT EXISTS (SELECT 1 FROM measurements WHERE workload = ? AND run = ?)`,
				t.run, t.workload, t.run)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// Imported says whether a run is what Import took in, and no search.
func (r Run) Imported() bool {
	var m struct {
		Imported bool `json:"imported"`
	}
	return json.Unmarshal(r.Manifest, &m) == nil && m.Imported
}

func decodeLine(text []byte) (line, error) {
	var l line
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(&l)
	of := struct{ Version int }{l.Version}
	if err != nil { // of a later version perhaps, which has what is not known here
		_ = json.Unmarshal(text, &of)
	}
	switch {
	case of.Version > exchangeVersion:
		return l, fmt.Errorf("it has version %d, this protuner reads up to %d", of.Version, exchangeVersion)
	case err != nil:
		return l, fmt.Errorf("it is no exported measurement: %w", err)
	case l.Version < 1:
		return l, errors.New("it is no exported measurement: it has no version")
	}
	if l.Workload.Algorithm == "" || l.Measurement.Hash == "" || l.Measurement.Status == measure.Invalid {
		return l, fmt.Errorf("it names no algorithm, schedule or status")
	}
	if _, err := dec.Token(); err != io.EOF {
		return l, errors.New("it is no exported measurement: something follows it")
	}
	if y := l.Measurement.Taken.UTC().Year(); y < 0 || y > 9999 {
		return l, fmt.Errorf("it was taken in the year %d", y)
	}
	if m := l.Measurement; m.Best < 0 || (m.Status == measure.OK) != (m.Best > 0) {
		return l, fmt.Errorf("its status %s and its time %v do not go together", l.Measurement.Status, l.Measurement.Best)
	}
	return l, nil
}

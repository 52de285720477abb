package tunedb

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/protuner/protuner/internal/measure"
)

// read is what another process says of a database that it opened to read: how many
// schedules it holds, and what became of storing something.
func read(path string) string {
	ctx := context.Background()
	db, err := OpenToRead(ctx, path)
	if err != nil {
		return err.Error()
	}
	defer db.Close()
	top, err := db.Fastest(ctx, workload("a1").Key(), 0)
	if err != nil {
		return err.Error()
	}
	_, err = db.Begin(ctx, workload("a1"), nil)
	return fmt.Sprintf("%d schedules; %v", len(top), err)
}

// recorded makes a database of so many schedules, which is left open.
func recorded(t *testing.T, path string, n int) *DB {
	t.Helper()
	db := open(t, path)
	r := begin(t, db, workload("a1"))
	for i := range n {
		record(t, r, measurement(i, measure.OK))
	}
	return db
}

// readsThree fails unless a database has the three schedules that were recorded.
func readsThree(t *testing.T, db *DB) {
	t.Helper()
	if top, err := db.Fastest(t.Context(), workload("a1").Key(), 0); err != nil || len(top) != 3 {
		t.Errorf("read %d schedules, %v", len(top), err)
	}
}

// older gives a database the schema before the newest.
func older(t *testing.T, db *DB) {
	t.Helper()
	_, err := db.sql.Exec(`ALTER TABLE measurements DROP COLUMN memory_limit; DELETE FROM goose_db_version WHERE version_id = 4`)
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadWhereNothingCanBeWritten(t *testing.T) {
	dir, try := unwritableFolder(t, func(dir string) {
		recorded(t, filepath.Join(dir, "closed.db"), 3).Close()
		old := recorded(t, filepath.Join(dir, "old.db"), 3)
		older(t, old)
		old.Close()
		// What a writer that was killed leaves, whole and without the index of its log.
		from := filepath.Join(t.TempDir(), "killed.db")
		recorded(t, from, 3)
		for name, endings := range map[string][]string{"killed.db": {"", "-wal", "-shm"}, "torn.db": {"", "-wal"}, "unread.db": {""}} {
			for _, e := range endings {
				text, err := os.ReadFile(from + e)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, name+e), text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := os.Chmod(filepath.Join(dir, "unread.db"), 0); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, "torn.db-wal")); err != nil || info.Size() == 0 {
			t.Fatalf("the log that is to be read is empty: %v", err)
		}
	})
	for name, want := range map[string][]string{
		"closed.db": {"3 schedules; cannot open the database ", "name one that can be written with --db"},
		"killed.db": {"3 schedules; "},
		"torn.db":   {"cannot read the database ", "torn.db-wal", "copy both files to such a folder"},
		"old.db":    {"has schema 3 and this protuner reads 4", "copy it"},
		"unread.db": {"cannot read the database ", "permission denied; name one that can be read with --db"},
		"none.db":   {"cannot read the database ", "no such file"},
	} {
		said := try(readerVariable, name)
		if strings.Contains(said, "\n") {
			t.Errorf("%s: it says more than a line: %q", name, said)
		}
		for _, w := range want {
			if !strings.Contains(said, w) {
				t.Errorf("%s: it says %q, not %q", name, said, w)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "closed.db-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The way without writing writes nothing even where it could.
func TestReadOnlyIsReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd name?#%20.db")
	recorded(t, path, 3).Close()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		db, err := openReadOnly(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		readsThree(t, db)
		if _, err := db.Begin(t.Context(), workload("a1"), nil); err == nil || !strings.Contains(err.Error(), "name one that can be written with --db") {
			t.Errorf("writing: %v", err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What is written meanwhile is in the log, which must not be left out.
func TestReadOnlySeesTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := recorded(t, path, 3)
	if log, size := logOf(path); log != path+"-wal" || size <= 0 {
		t.Fatalf("the log is %s of %d bytes", log, size)
	}
	reader, err := openReadOnly(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	record(t, begin(t, db, workload("a1")), measurement(3, measure.OK))
	if top, err := reader.Fastest(t.Context(), workload("a1").Key(), 0); err != nil || len(top) != 4 {
		t.Errorf("read %d schedules, %v", len(top), err)
	}
}

func TestWaysWithoutWriting(t *testing.T) {
	for log, want := range map[int64][]string{
		-1:   {"mode=ro&immutable=1"},
		0:    {"mode=ro", "mode=ro&immutable=1"},
		4152: {"mode=ro"},
	} {
		if got := withoutWriting(log); !slices.Equal(got, want) {
			t.Errorf("with a log of %d bytes: %q, want %q", log, got, want)
		}
	}
	path := filepath.Join(t.TempDir(), "a.db")
	if _, size := logOf(path); size != -1 {
		t.Errorf("no log has %d bytes", size)
	}
}

func TestReadOnlyRefusesOtherSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		want   string
	}{
		"newer":   {`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`, "has schema 999 and this protuner knows 4; update protuner"},
		"foreign": {`DROP TABLE goose_db_version`, "is no protuner database"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			db := recorded(t, path, 1)
			if _, err := db.sql.Exec(c.change); err != nil {
				t.Fatal(err)
			}
			db.Close()
			if _, err := openReadOnly(t.Context(), path); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openReadOnly(t.Context(), empty); err == nil || !strings.Contains(err.Error(), "is no protuner database") {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := OpenToRead(t.Context(), filepath.Dir(empty)); err == nil || !strings.Contains(err.Error(), "it is a folder; name a file with --db") {
		t.Errorf("a folder: %v", err)
	}
}

// Where it can be written a database is brought up to date before it is read.
func TestOlderSchemasAreBroughtUpToDateToRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	old := recorded(t, path, 3)
	older(t, old)
	old.Close()
	db, err := OpenToRead(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	readsThree(t, db)
}

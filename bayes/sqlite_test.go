package bayes_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/protuner/protuner/bayes"
)

// studyTable is the first that a store has, trialTable the second.
const (
	studyTable = `CREATE TABLE study (name TEXT PRIMARY KEY, header TEXT NOT NULL) STRICT;`
	trialTable = `CREATE TABLE trial (study TEXT NOT NULL REFERENCES study (name), id INTEGER NOT NULL, status TEXT NOT NULL,
		value REAL, config TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (study, id)) STRICT;`
)

// database is a file that SQLite made of statements.
func database(t *testing.T, statements string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.db")
	handle, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handle.Exec(statements); err != nil {
		t.Fatal(err)
	}
	if err := handle.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Another program's database is one of SQLite's, but not ours to write into; notes are none.
func TestWhatIsNotOursIsLeftAsItIs(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(notes, []byte(strings.Repeat("these are my notes\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ path, want string }{
		"another's tables":       {database(t, `CREATE TABLE songs (name TEXT); INSERT INTO songs VALUES ('a')`), "this is no store of trials, and was left as it was"},
		"in a journal like ours": {database(t, `PRAGMA journal_mode = WAL; CREATE TABLE songs (name TEXT)`), "this is no store of trials"},
		"a table of our name":    {database(t, `CREATE TABLE study (name TEXT, header TEXT, patients INTEGER)`), "this is no store of trials"},
		"our second table alone": {database(t, trialTable), "this is no store of trials"},
		"no database":            {notes, "file is not a database"},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := os.ReadFile(c.path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := bayes.OpenSQLite(t.Context(), c.path, "study")
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if said := err.Error(); !strings.HasPrefix(said, "trial store "+c.path+": ") || !strings.Contains(said, c.want) ||
				!strings.HasSuffix(said, "; name another file") || strings.Contains(said, "\n") {
				t.Errorf("got %q", said)
			}
			if after, err := os.ReadFile(c.path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file changed: %v", err)
			}
			if left, _ := filepath.Glob(c.path + "-*"); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// What is empty becomes ours, and what is ours stays so: also where a process was killed
// between two tables, and where an earlier version wrote beside another program's tables.
func TestWhatIsOursOpens(t *testing.T) {
	p := tiny(t)
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"new":              filepath.Join(t.TempDir(), "new.db"),
		"empty":            empty,
		"without a table":  database(t, `CREATE TABLE t (a); DROP TABLE t`),
		"half made":        database(t, `PRAGMA journal_mode = WAL;`+studyTable),
		"made earlier":     database(t, `PRAGMA journal_mode = WAL;`+studyTable+trialTable),
		"beside another's": database(t, `CREATE TABLE songs (name TEXT);`+studyTable+trialTable),
	} {
		t.Run(name, func(t *testing.T) {
			for trials := 2; trials < 5; trials++ { // it goes on each time
				store, err := bayes.OpenSQLite(t.Context(), path, "study")
				if err != nil {
					t.Fatal(err)
				}
				s := play(t, p, bayes.Options{}, store, trials)
				if n := len(s.Trials()); n != trials {
					t.Errorf("%d trials, not %d", n, trials)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			handle, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer handle.Close()
			var mode string
			if err := handle.QueryRow(`PRAGMA journal_mode`).Scan(&mode); err != nil || mode != "wal" {
				t.Errorf("journal %s, %v", mode, err)
			}
		})
	}
}

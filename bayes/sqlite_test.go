package bayes_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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

// Several that make one database at once all come to their studies.
func TestSeveralMakeOneDatabase(t *testing.T) {
	const several = 8
	for range 5 { // in one round alone they may miss each other
		path := filepath.Join(t.TempDir(), "a.db")
		begin := func(study int) (*bayes.SQLite, []bayes.Record, error) {
			s, err := bayes.OpenSQLite(t.Context(), path, strconv.Itoa(study))
			if err != nil {
				return nil, nil, err
			}
			_, records, err := s.Begin(t.Context(), bayes.Header{Space: "a space"})
			return s, records, err
		}
		var makers sync.WaitGroup
		for study := range several {
			makers.Go(func() {
				s, _, err := begin(study)
				if err != nil {
					t.Error(err)
					return
				}
				r := bayes.Record{ID: 1, Config: json.RawMessage(`{}`), Outcome: bayes.Value(float64(study))}
				if err := errors.Join(s.Put(t.Context(), r), s.Close()); err != nil {
					t.Error(err)
				}
			})
		}
		makers.Wait()
		if t.Failed() {
			return
		}
		for study := range several {
			s, records, err := begin(study)
			if err != nil {
				t.Fatal(err)
			}
			if len(records) != 1 || records[0].Outcome.Value != float64(study) {
				t.Errorf("study %d has %+v", study, records)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestMissingFolderIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "a.db")
	_, err := bayes.OpenSQLite(t.Context(), path, "study")
	if err == nil || !strings.HasPrefix(err.Error(), "trial store "+path+": its folder cannot be locked: ") || !strings.HasSuffix(err.Error(), "no such file or directory; name another file") {
		t.Errorf("got %v", err)
	}
}

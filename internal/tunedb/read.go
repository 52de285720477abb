package tunedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// OpenToRead opens a database of which nothing is wanted but what it holds: as Open does,
// and where the file or its folder cannot be written, without writing. What is opened so
// refuses to store anything. The error says what to do where the last changes of such a
// database cannot be read, or where its schema is older than this protuner's.
func OpenToRead(ctx context.Context, path string) (*DB, error) {
	db, err := Open(ctx, path)
	if err == nil || !unwritable(err) {
		return db, err
	}
	return openReadOnly(ctx, path)
}

// unwritable says whether an error may be owed to a file or folder that cannot be written.
func unwritable(err error) bool {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return errors.Is(err, fs.ErrPermission)
	}
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return true
	}
	return false
}

// openReadOnly opens a database and writes neither into it nor beside it.
func openReadOnly(ctx context.Context, path string) (*DB, error) {
	// To open and close the file here would undo SQLite's locks on it.
	if err := unix.Access(path, unix.R_OK); err != nil {
		return nil, fmt.Errorf("cannot read the database %s: %w; name one that can be read with --db", path, err)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("cannot read the database %s: it is a folder; name a file with --db", path)
	}
	log, size := logOf(path)
	var err error
	for _, how := range withoutWriting(size) {
		var handle *sql.DB
		if handle, err = sql.Open("sqlite", "file:"+escape(path)+"?"+how+"&_pragma=busy_timeout(60000)"); err != nil {
			return nil, err
		}
		db := &DB{handle, path}
		if err = db.checkCurrent(ctx); err == nil {
			return db, nil
		}
		handle.Close()
		if !unwritable(err) {
			return nil, err
		}
	}
	if size > 0 {
		return nil, fmt.Errorf("cannot read the database %s: its last changes are in %s, which can only be read where its folder can be written; "+
			"copy both files to such a folder and read the copy", path, log)
	}
	return nil, err
}

// logOf is the log of a database's last changes and its size in bytes, -1 where there is
// none. SQLite has it where the file lies, not where a link to it does.
func logOf(path string) (log string, size int64) {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	log = path + "-wal"
	info, err := os.Stat(log)
	if err != nil {
		return log, -1
	}
	return log, info.Size()
}

// withoutWriting are the ways to open a database that cannot be written, the first that
// works to be taken, where its log has so many bytes (-1: there is none). Where there is a
// log somebody may be writing, so SQLite has to look at it, which works if the log's index
// is there too. Without an index only what is said to be immutable can be read; that leaves
// the log out, so it must be empty.
func withoutWriting(log int64) []string {
	const looking, immutable = "mode=ro", "mode=ro&immutable=1"
	switch {
	case log < 0:
		return []string{immutable}
	case log == 0:
		return []string{looking, immutable}
	}
	return []string{looking}
}

// checkCurrent refuses a database that is not protuner's or has another schema than this
// protuner's. It writes nothing.
func (db *DB) checkCurrent(ctx context.Context) error {
	_, ours, err := db.tables(ctx)
	if err != nil {
		return err
	}
	if ours == 0 {
		return fmt.Errorf(notOurs, db.path)
	}
	_, have, newest, err := db.schema(ctx)
	if err != nil {
		return db.explain(err)
	}
	if have < newest {
		return fmt.Errorf("the database %s has schema %d and this protuner reads %d, to which it cannot be brought where it cannot be written; "+
			"copy it (and its -wal file, if it has one) to where the copy can be written, and read that", db.path, have, newest)
	}
	return nil
}

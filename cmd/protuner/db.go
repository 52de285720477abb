package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/protuner/protuner/internal/tunedb"
)

type dbCmd struct {
	Export dbExportCmd `cmd:"" help:"Write every measurement as a line of JSON."`
	Import dbImportCmd `cmd:"" help:"Take in what export wrote; what is there stays, but for what failed at a limit."`
}

type dbExportCmd struct {
	databaseFlag
	File string `arg:"" optional:"" help:"Where to write (default: stdout)."`
}

func (c *dbExportCmd) Run(g *globals) error {
	db, err := c.open(g)
	if err != nil {
		return err
	}
	defer db.Close()
	if c.File == "" {
		_, err := db.Export(g.ctx, os.Stdout)
		return err
	}
	for _, ending := range []string{"", "-wal", "-shm"} {
		if sameFile(c.File, c.DB+ending) {
			return badInputf("%s is the database itself; name another file to write to", c.File)
		}
	}
	n, err := c.write(g, db)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d measurements written to %s\n", n, c.File)
	return nil
}

// write exports to the file, or to what is no regular file, such as a pipe, as it stands.
func (c *dbExportCmd) write(g *globals, db *tunedb.DB) (int, error) {
	if info, err := os.Stat(c.File); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(c.File, os.O_WRONLY, 0)
		if err != nil {
			return 0, &badInput{err}
		}
		n, err := db.Export(g.ctx, f)
		return n, cmp.Or(err, f.Close())
	}
	name := c.File
	if to, err := filepath.EvalSymlinks(name); err == nil {
		name = to
	}
	// Beside it until it is whole: an earlier export stays where this one fails.
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return 0, &badInput{err}
	}
	defer os.Remove(f.Name())
	n, err := db.Export(g.ctx, f)
	if err = cmp.Or(err, f.Chmod(0o644), f.Close()); err != nil {
		return 0, err
	}
	return n, os.Rename(f.Name(), name)
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	second, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(first, second)
}

type dbImportCmd struct {
	databaseFlag
	File string `arg:"" help:"A file that export wrote."`
}

func (c *dbImportCmd) Run(g *globals) error {
	f, err := os.Open(c.File)
	if err != nil {
		return &badInput{err}
	}
	defer f.Close()
	db, err := tunedb.Open(g.ctx, c.DB)
	if err != nil {
		return &badInput{err}
	}
	defer db.Close()
	n, err := db.Import(g.ctx, f)
	if err != nil {
		return badInputf("%s: %w; nothing was imported", c.File, err)
	}
	fmt.Fprintf(os.Stderr, "%d measurements read from %s\n", n, c.File)
	return nil
}

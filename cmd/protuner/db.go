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
	Import dbImportCmd `cmd:"" help:"Take in what export wrote; what is there stays."`
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
	// Beside it until it is whole: an earlier export stays where this one fails.
	f, err := os.CreateTemp(filepath.Dir(c.File), filepath.Base(c.File)+".*")
	if err != nil {
		return &badInput{err}
	}
	defer os.Remove(f.Name())
	n, err := db.Export(g.ctx, f)
	if err = cmp.Or(err, f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), c.File); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d measurements written to %s\n", n, c.File)
	return nil
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

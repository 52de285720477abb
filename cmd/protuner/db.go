package main

import (
	"fmt"
	"os"

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
	f, err := os.Create(c.File)
	if err != nil {
		return &badInput{err}
	}
	n, err := db.Export(g.ctx, f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		fmt.Fprintf(os.Stderr, "%d measurements written to %s\n", n, c.File)
	}
	return err
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

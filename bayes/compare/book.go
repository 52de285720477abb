package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// key says which games are the same but for the seed. Whatever may change a game
// changes it, so that a game under the same key need never be played again.
type key struct {
	Table string `json:"table"`
	Data  string `json:"data"` // digest of the table
	// Player is a preset or a peer, Version the digest of what plays: of a peer its
	// requirements and its player, of a preset this program.
	Player  string `json:"player"`
	Version string `json:"version"`
	Budget  int    `json:"budget"` // evaluations of a game
	terms
}

// terms are what is different from the plain game, for presets alone.
type terms struct {
	Batch   int     `json:"batch,omitempty"`   // evaluations at a time; 0: one
	Noise   float64 `json:"noise,omitempty"`   // of half of the configurations, a fifth of it of the others; relative
	Earlier bool    `json:"earlier,omitempty"` // the kernel was tuned on another input before
}

// game is one search: the outcome of each evaluation, nil where it failed.
type game struct {
	key
	Seed     int        `json:"seed"`
	Outcomes []*float64 `json:"outcomes"`
	Seconds  float64    `json:"seconds"` // of the player's own processor time
	// Over says that the player had no more to propose before the budget was spent.
	Over bool `json:"over,omitempty"`
}

// played are games of the peers that somebody has waited for, hours of them: JSON
// lines, compressed. Those of other versions are no use and do no harm.
//
//go:embed played.jsonl.gz
var played []byte

// playedPath is where played comes from, from the repository's root.
const playedPath = "bayes/compare/played.jsonl.gz"

// book keeps games in a file of JSON lines. Games of other versions stay there.
type book struct {
	mu    sync.Mutex
	f     *os.File
	games map[key]map[int]game // by seed
}

func openBook(path string) (*book, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	b := &book{f: f, games: map[key]map[int]game{}}
	z, err := gzip.NewReader(bytes.NewReader(played))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", playedPath, err), f.Close())
	}
	return b, errors.Join(b.read(z, playedPath), b.read(f, path))
}

func (b *book) read(r io.Reader, name string) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var g game
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			return fmt.Errorf("%s, line %d: %w; delete the line", name, n, err)
		}
		b.keep(g)
	}
	return lines.Err()
}

// save writes the whole games of the peers of today's versions, for playedPath.
func (b *book) save(path string) error {
	var lines []string
	for k, games := range b.games {
		if v, err := peerVersion(k.Player); err != nil || v != k.Version {
			continue
		}
		for _, g := range games {
			text, err := json.Marshal(g)
			if err != nil {
				return err
			}
			if g.whole() {
				lines = append(lines, string(text))
			}
		}
	}
	slices.Sort(lines)
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if _, err := io.WriteString(z, l+"\n"); err != nil {
			return err
		}
	}
	return errors.Join(z.Close(), f.Close())
}

func (b *book) close() error { return b.f.Close() }

func (b *book) keep(g game) {
	if b.games[g.key] == nil {
		b.games[g.key] = map[int]game{}
	}
	if len(g.Outcomes) >= len(b.games[g.key][g.Seed].Outcomes) {
		b.games[g.key][g.Seed] = g
	}
}

func (b *book) add(g game) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keep(g)
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	_, err = b.f.Write(append(text, '\n'))
	return err
}

// of returns the whole games under a key of the first seeds, by seed.
func (b *book) of(k key, seeds int) []game {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []game
	for _, g := range b.games[k] {
		if g.Seed <= seeds && g.whole() {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b game) int { return a.Seed - b.Seed })
	return out
}

func (g game) whole() bool { return g.Over || len(g.Outcomes) > 0 && len(g.Outcomes) >= g.Budget }

// missing lists the seeds still to be played to the end.
func (b *book) missing(k key, seeds int) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []int
	for seed := 1; seed <= seeds; seed++ {
		if !b.games[k][seed].whole() {
			out = append(out, seed)
		}
	}
	return out
}

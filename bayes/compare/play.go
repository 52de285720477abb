package main

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
	"github.com/protuner/protuner/bayes/tables"
)

//go:embed peers/play.py
var playSource []byte

//go:embed peers/*.txt
var pins embed.FS

// game is one search: the outcome of each evaluation, nil where it failed.
type game struct {
	Table    string     `json:"table"`
	Player   string     `json:"player"`
	Seed     int        `json:"seed"`
	Outcomes []*float64 `json:"outcomes"`
	Seconds  float64    `json:"seconds"` // of the player's own processor time
	Stuck    bool       `json:"stuck,omitempty"`
}

// book keeps games in a file of JSON lines.
type book struct {
	mu    sync.Mutex
	f     *os.File
	games []game
}

func openBook(path string) (*book, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	b := &book{f: f}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var g game
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		b.games = append(b.games, g)
	}
	return b, lines.Err()
}

func (b *book) close() error { return b.f.Close() }

func (b *book) add(g game) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.games = append(b.games, g)
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	_, err = b.f.Write(append(text, '\n'))
	return err
}

// of returns the games of one player on one table, by seed.
func (b *book) of(table, player string) []game {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []game
	for _, g := range b.games {
		if g.Table == table && g.Player == player {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b game) int { return a.Seed - b.Seed })
	return out
}

// missing lists the seeds still to be played to the end.
func (b *book) missing(table, player string, seeds, budget int) []int {
	done := map[int]bool{}
	for _, g := range b.of(table, player) {
		done[g.Seed] = g.Stuck || len(g.Outcomes) >= budget
	}
	var out []int
	for seed := 1; seed <= seeds; seed++ {
		if !done[seed] {
			out = append(out, seed)
		}
	}
	return out
}

// playOurs searches with a preset, from no default configuration, as the peers do.
func playOurs(ctx context.Context, o settings, b *book, t *tables.Table, preset string, seeds []int) error {
	for _, seed := range seeds {
		opts, err := bayes.Preset(preset)
		if err != nil {
			return err
		}
		opts.Seed, opts.NoDefault = int64(seed), true
		study, err := bayes.Open(ctx, t.Space, opts, nil)
		if err != nil {
			return err
		}
		g := game{Table: t.Name(), Player: preset, Seed: seed}
		began := time.Now()
		for range o.budget {
			trials, err := study.Ask(ctx, 1)
			if errors.Is(err, bayes.ErrExhausted) {
				break
			}
			if err != nil {
				return err
			}
			outcome := t.Outcome(trials[0].Config)
			if err := study.Tell(ctx, trials[0].ID, outcome); err != nil {
				return err
			}
			g.Outcomes = append(g.Outcomes, nil)
			if outcome.Status == bayes.OK {
				g.Outcomes[len(g.Outcomes)-1] = &outcome.Value
			}
		}
		g.Seconds = time.Since(began).Seconds()
		if err := b.add(g); err != nil {
			return err
		}
	}
	return nil
}

// playPeer lets another program search.
func playPeer(ctx context.Context, o settings, b *book, table, peer, script, file string, seeds []int) error {
	args := []string{script, peer, file, strconv.Itoa(o.budget)}
	for _, seed := range seeds {
		args = append(args, strconv.Itoa(seed))
	}
	python, err := filepath.Abs(filepath.Join(o.env, peer, "bin", "python"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Dir = filepath.Dir(file)                                                              // some write where they stand
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "LC_ALL=C") // as ours: one core
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s is not installed; run with -install: %w", peer, err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		g := game{Table: table, Player: peer}
		if json.Unmarshal(lines.Bytes(), &g) != nil || g.Outcomes == nil {
			continue // chatter of the peer
		}
		g.Stuck = len(g.Outcomes) < o.budget
		if err := b.add(g); err != nil {
			return err
		}
	}
	if err := cmd.Wait(); err != nil {
		text := strings.TrimSpace(words.String())
		return fmt.Errorf("%s on %s: %w: %s", peer, table, err, text[max(0, len(text)-1500):])
	}
	return nil
}

// installPeers makes an environment for each, with pinned versions.
func installPeers(ctx context.Context, env string, peers []string) error {
	for _, peer := range peers {
		text, err := pins.ReadFile("peers/" + peer + ".txt")
		if err != nil {
			return fmt.Errorf("there is no peer %s; there are %s", peer, strings.Join(peerNames, ", "))
		}
		dir := filepath.Join(env, peer)
		if out, err := exec.CommandContext(ctx, "python3", "-m", "venv", dir).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", peer, err, out)
		}
		pip := exec.CommandContext(ctx, filepath.Join(dir, "bin", "pip"), append([]string{"install", "--quiet"}, strings.Fields(string(text))...)...)
		if out, err := pip.CombinedOutput(); err != nil {
			return fmt.Errorf("%s does not install: %w\n%s", peer, err, out)
		}
		fmt.Println(peer, "is installed")
	}
	return nil
}

// parameter is how peers see one: a list of values.
type parameter struct {
	Name    string `json:"name"`
	Ordered bool   `json:"ordered"`
	Values  []any  `json:"values"`
}

// export writes a table for the peers: the values that occur of each parameter, and a
// row of indices for every configuration. Permutations are lists of orders.
func export(path string, t *tables.Table) error {
	configs := tables.Configs(t.Space)
	var doc struct {
		Params []parameter `json:"params"`
		Rows   [][]int     `json:"rows"`
		Values []*float64  `json:"values"`
	}
	doc.Rows = make([][]int, len(configs))
	for _, p := range t.Space.Params() {
		q := parameter{Name: p.Name, Ordered: p.Type != space.Categorical && p.Type != space.Permutation}
		index := map[string]int{}
		var texts []string
		for _, c := range configs {
			if text := c.Text(p.Name); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		if q.Ordered {
			slices.SortFunc(texts, compareNumbers)
		}
		for i, text := range texts {
			index[text] = i
			q.Values = append(q.Values, text)
		}
		for r, c := range configs {
			doc.Rows[r] = append(doc.Rows[r], index[c.Text(p.Name)])
		}
		doc.Params = append(doc.Params, q)
	}
	for _, c := range configs {
		var value *float64
		if o := t.Outcome(c); o.Status == bayes.OK {
			value = &o.Value
		}
		doc.Values = append(doc.Values, value)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

func compareNumbers(a, b string) int {
	x, _ := strconv.ParseFloat(a, 64) // texts of numbers
	y, _ := strconv.ParseFloat(b, 64)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

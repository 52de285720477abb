package main

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
	"github.com/protuner/protuner/bayes/tables"
)

// peerFiles has the game, and of each peer what plays it and the versions it needs.
//
//go:embed peers
var peerFiles embed.FS

// peerVersion is the digest of all that a peer's games depend on.
func peerVersion(peer string) (string, error) {
	var parts [][]byte
	for _, name := range []string{"game.py", "play.py", peer + "/player.py", peer + "/requirements.txt"} {
		text, err := peerFiles.ReadFile("peers/" + name)
		if err != nil {
			return "", fmt.Errorf("there is no peer %s; there are %s", peer, strings.Join(peerNames, ", "))
		}
		parts = append(parts, text)
	}
	return digest(parts...), nil
}

// playPeer lets another program search; dir has the peers' files, file the table.
func playPeer(ctx context.Context, env string, b *book, k key, dir, file string, seeds []int) error {
	args := []string{filepath.Join(dir, "peers", "play.py"), k.Player, file, strconv.Itoa(k.Budget)}
	for _, seed := range seeds {
		args = append(args, strconv.Itoa(seed))
	}
	python, err := filepath.Abs(filepath.Join(env, k.Player, "bin", "python"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Dir = dir // some write where they stand
	cmd.Env = append(os.Environ(),
		"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", // as ours: one core
		"PYTHONHASHSEED=0", // the order of a set must not make another game
		"LC_ALL=C")
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s is not installed; run with -install: %w", k.Player, err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		g := game{key: k}
		if json.Unmarshal(lines.Bytes(), &g) != nil || g.Outcomes == nil {
			continue // chatter of the peer
		}
		g.Over = len(g.Outcomes) < k.Budget
		if err := b.add(g); err != nil {
			return err
		}
	}
	if err := cmd.Wait(); err != nil {
		text := strings.TrimSpace(words.String())
		return fmt.Errorf("%s on %s: %w: %s", k.Player, k.Table, err, text[max(0, len(text)-1500):])
	}
	return nil
}

// installPeers makes an environment for each, with every version pinned: left to
// itself pip picks what those of today do not agree on.
func installPeers(ctx context.Context, env string, peers []string) error {
	for _, peer := range peers {
		text, err := peerFiles.ReadFile("peers/" + peer + "/requirements.txt")
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

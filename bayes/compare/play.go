package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/tables"
)

// ownVersion is the digest of this program, so of all that its presets do.
var ownVersion = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	program, err := os.ReadFile(path)
	return digest(program), err
})

// digest is short enough to read and long enough to tell apart.
func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// playOurs searches with a preset, from no default configuration, as the peers do.
func playOurs(ctx context.Context, b *book, t *tables.Table, k key, seeds []int) error {
	for _, seed := range seeds {
		opts, err := bayes.Preset(k.Player)
		if err != nil {
			return err
		}
		opts.Seed, opts.NoDefault = int64(seed), true
		study, err := bayes.Open(ctx, t.Space, opts, nil)
		if err != nil {
			return err
		}
		g := game{key: k, Seed: seed}
		began := time.Now()
		for range k.Budget {
			trials, err := study.Ask(ctx, 1)
			if errors.Is(err, bayes.ErrExhausted) {
				g.Over = true
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

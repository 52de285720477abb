package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
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
		if k.Earlier {
			if opts.Earlier, err = earlier(ctx, t, k.Budget, seed); err != nil {
				return err
			}
		}
		g := game{key: k, Seed: seed}
		began := time.Now()
		if g.Outcomes, err = search(ctx, t, opts, k, nil); err != nil {
			return err
		}
		g.Over = len(g.Outcomes) < k.Budget
		g.Seconds = time.Since(began).Seconds()
		if err := b.add(g); err != nil {
			return err
		}
	}
	return nil
}

// search returns the outcome of each evaluation, without the noise that the optimiser
// was told; also, if it is not nil, what it was told.
func search(ctx context.Context, t *tables.Table, opts bayes.Options, k key, told *[]bayes.Known) ([]*float64, error) {
	study, err := bayes.Open(ctx, t.Space, opts, nil)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewSource(opts.Seed))
	var out []*float64
	for len(out) < k.Budget {
		trials, err := study.Ask(ctx, min(max(1, k.Batch), k.Budget-len(out)))
		if errors.Is(err, bayes.ErrExhausted) {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, trial := range trials {
			outcome := t.Outcome(trial.Config)
			out = append(out, nil)
			if outcome.Status == bayes.OK {
				value := outcome.Value
				out[len(out)-1] = &value
				outcome = noisy(outcome, trial.Config, k.Noise, rng)
			}
			if err := study.Tell(ctx, trial.ID, outcome); err != nil {
				return nil, err
			}
			if told != nil {
				*told = append(*told, bayes.Known{Config: trial.Config, Outcome: outcome})
			}
		}
	}
	return out, nil
}

// noisy is an outcome as a machine might measure it that is quiet for half of the
// configurations.
func noisy(o bayes.Outcome, c space.Config, noise float64, rng *rand.Rand) bayes.Outcome {
	if noise == 0 {
		return o
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.Point().Key())) // never fails
	if h.Sum32()>>16%2 == 0 {
		noise /= 5
	}
	o.Value *= math.Exp(noise * rng.NormFloat64())
	o.Deviation = noise * o.Value
	return o
}

// earlier is a search of the same kernel on its next input, under the default preset.
func earlier(ctx context.Context, t *tables.Table, budget, seed int) ([][]bayes.Known, error) {
	var same []string
	for _, name := range tables.Names() {
		if strings.HasPrefix(name, t.Kernel+"-") {
			same = append(same, name)
		}
	}
	other, err := tables.Load(same[(slices.Index(same, t.Name())+1)%len(same)])
	if err != nil {
		return nil, err
	}
	var told []bayes.Known
	_, err = search(ctx, other, bayes.Options{Seed: int64(seed), NoDefault: true}, key{Budget: budget}, &told)
	return [][]bayes.Known{told}, err
}

// Command compare replays the recorded tables of package tables with this project's
// optimiser, its baselines and other people's programs, and says who finds what after
// how many evaluations. Every search is kept in a file under the digests of the table
// and of the player: it may be stopped and goes on where it ended, and nothing is played
// twice. Run from the repository's root:
//
//	go run ./bayes/compare -install          # the peers, into environments of their own
//	go run ./bayes/compare -seeds 20
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/protuner/protuner/bayes/tables"
)

// peerNames are the programs of others; the file of each pins its versions.
var peerNames = []string{"optuna", "smac", "pyatf", "opentuner", "hypermapper"}

type settings struct {
	env, results string
	seeds        int
	budget       int
	jobs         int
	terms        terms
}

func main() {
	var o settings
	flag.StringVar(&o.env, "env", "out/peers", "folder of the peers' environments")
	flag.StringVar(&o.results, "results", "out/compare.jsonl", "every search that was made")
	flag.IntVar(&o.seeds, "seeds", 20, "searches of each player on each table")
	flag.IntVar(&o.budget, "budget", 100, "evaluations of a search")
	flag.IntVar(&o.jobs, "jobs", 1, "searches at a time")
	flag.IntVar(&o.terms.Batch, "batch", 0, "evaluations at a time, of presets alone; leave the peers out with -peers ''")
	flag.Float64Var(&o.terms.Noise, "noise", 0, "relative noise that is put on half of the outcomes, and a fifth of it on the others; of presets alone")
	flag.BoolVar(&o.terms.Earlier, "earlier", false, "presets know of an earlier search of the same kernel on another input")
	ours := flag.String("ours", "default,uniform,bandit", "presets of this project")
	peers := flag.String("peers", strings.Join(peerNames, ","), "programs of others")
	only := flag.String("tables", "", "tables (default: all)")
	install := flag.Bool("install", false, "install the peers and stop")
	bars := flag.Bool("bars", false, "fail where the bars are not met")
	report := flag.Bool("report", false, "only report what was played")
	keep := flag.Bool("keep", false, "put the peers' games into "+playedPath+" and stop")
	play := flag.Bool("play", false, "only play, report nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, list(*ours), list(*peers), list(*only), *install, *keep, *report, *play, *bars); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// key of the games of a player on a table.
func (o settings) key(t *tables.Table, player string) (key, error) {
	k := key{Table: t.Name(), Data: t.Digest, Player: player, Budget: o.budget, terms: o.terms}
	var err error
	if k.Version, err = ownVersion(); slices.Contains(peerNames, player) {
		k.terms = terms{}
		k.Version, err = peerVersion(player)
	}
	return k, err
}

func list(s string) []string { return strings.FieldsFunc(s, func(r rune) bool { return r == ',' }) }

func run(ctx context.Context, o settings, ours, peers, only []string, install, keep, report, play, bars bool) error {
	if o.terms != (terms{}) && len(peers) > 0 {
		return errors.New("batches, noise and earlier searches are for presets alone; leave the peers out with -peers ''")
	}
	if install {
		return installPeers(ctx, o.env, peers)
	}
	if len(only) == 0 {
		only = tables.Names()
	}
	var loaded []*tables.Table
	for _, name := range only {
		t, err := tables.Load(name)
		if err != nil {
			return err
		}
		loaded = append(loaded, t)
	}
	b, err := openBook(o.results)
	if err != nil {
		return err
	}
	if keep {
		return errors.Join(b.save(playedPath), b.close())
	}
	if !report {
		if err := playAll(ctx, o, b, loaded, ours, peers); err != nil {
			return errors.Join(err, b.close())
		}
	}
	if err := b.close(); err != nil || play {
		return err
	}
	return print(os.Stdout, o, b, loaded, append(ours, peers...), bars)
}

// playAll makes the searches that the book lacks.
func playAll(ctx context.Context, o settings, b *book, loaded []*tables.Table, ours, peers []string) error {
	dir, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, peerFiles); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	turns := make(chan struct{}, o.jobs)
	begin := func(f func() error) {
		turns <- struct{}{}
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := f(); err != nil {
				cancel(err)
			}
			<-turns
		}()
	}
	for _, t := range loaded {
		file := filepath.Join(dir, t.Name()+".json")
		if err := export(file, t); err != nil {
			return err
		}
		for _, preset := range ours {
			k, err := o.key(t, preset)
			if err != nil {
				return err
			}
			if seeds := b.missing(k, o.seeds); len(seeds) > 0 {
				begin(func() error { return playOurs(ctx, b, t, k, seeds) })
			}
		}
		for _, peer := range peers {
			k, err := o.key(t, peer)
			if err != nil {
				return err
			}
			if seeds := b.missing(k, o.seeds); len(seeds) > 0 {
				begin(func() error { return playPeer(ctx, o.env, b, k, dir, file, seeds) })
			}
		}
	}
	wg.Wait()
	return context.Cause(ctx)
}

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/tables"
)

func values(v ...float64) []*float64 {
	out := make([]*float64, len(v))
	for i := range v {
		if v[i] > 0 {
			out[i] = &v[i]
		}
	}
	return out
}

func TestTraces(t *testing.T) {
	// A failure first counts as the worst; what was not evaluated changes nothing.
	got := logs(values(0, 8, 16, 4), 6, 4, 64)
	for i, want := range []float64{16, 2, 2, 1, 1, 1} {
		if math.Abs(math.Exp(got[i])-want) > 1e-9 {
			t.Errorf("after %d: %v, not %v", i+1, math.Exp(got[i]), want)
		}
	}
	m := mean([][]float64{{2, 1}, {4, 3}, {100, 100}}, []int{0, 1})
	if m[0] != 3 || m[1] != 2 {
		t.Errorf("mean %v", m)
	}
	for target, want := range map[float64]float64{3: 1, 2.5: 2, 2: 2, 1: 4} {
		if r := reach(m, target); r != want {
			t.Errorf("%v is reached after %v, not %v", target, r, want)
		}
	}
}

func TestMissingSeeds(t *testing.T) {
	b, err := openBook(t.TempDir() + "/out/book.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	path := b.f.Name()
	k := key{Table: "t", Data: "d", Player: "p", Version: "1", Budget: 2}
	old, other := k, k
	old.Version, other.Budget = "0", 3
	for _, g := range []game{{key: k, Seed: 2, Outcomes: values(1, 2)}, {key: k, Seed: 3, Outcomes: values(1)},
		{key: k, Seed: 4, Outcomes: values(1), Over: true}, {key: old, Seed: 1, Outcomes: values(1, 2)}, {key: other, Seed: 1, Outcomes: values(1, 2, 3)}} {
		if err := b.add(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
	if b, err = openBook(path); err != nil {
		t.Fatal(err)
	}
	if got := b.missing(k, 4); len(got) != 2 || got[0] != 1 || got[1] != 3 {
		t.Errorf("missing %v, not 1 and 3", got)
	}
	if got := b.of(k, 3); len(got) != 1 || got[0].Seed != 2 || *got[0].Outcomes[1] != 2 {
		t.Errorf("games %v, not that of seed 2", got)
	}
	if err := b.close(); err != nil {
		t.Fatal(err)
	}
}

func TestSavedGamesComeBack(t *testing.T) {
	b, err := openBook(t.TempDir() + "/book.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	v, err := peerVersion("pyatf")
	if err != nil {
		t.Fatal(err)
	}
	now := key{Table: "t", Data: "d", Player: "pyatf", Version: v, Budget: 2}
	old, ours := now, now
	old.Version, ours.Player = "0", "default"
	for _, g := range []game{{key: now, Seed: 1, Outcomes: values(1, 0)}, {key: now, Seed: 2, Outcomes: values(1)},
		{key: old, Seed: 1, Outcomes: values(1, 2)}, {key: ours, Seed: 1, Outcomes: values(1, 2)}} {
		if err := b.add(g); err != nil {
			t.Fatal(err)
		}
	}
	path := t.TempDir() + "/played.gz"
	if err := errors.Join(b.save(path), b.close()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	again := &book{games: map[key]map[int]game{}}
	if err := again.read(z, path); err != nil {
		t.Fatal(err)
	}
	if got := again.of(now, 9); len(got) != 1 || got[0].Seed != 1 || got[0].Outcomes[1] != nil {
		t.Errorf("%v came back of the game that is whole", got)
	}
	if len(again.of(old, 9)) != 0 || len(again.of(ours, 9)) != 0 {
		t.Error("games of another version, or ours, were saved")
	}
}

func TestVersions(t *testing.T) {
	seen := map[string]string{}
	for _, peer := range peerNames {
		v, err := peerVersion(peer)
		if err != nil || seen[v] != "" {
			t.Errorf("%s has the version of %s: %v", peer, seen[v], err)
		}
		seen[v] = peer
	}
	if _, err := peerVersion("nobody"); err == nil {
		t.Error("nobody has a version")
	}
	if digest([]byte("ab"), []byte("c")) == digest([]byte("a"), []byte("bc")) {
		t.Error("the digest does not tell where parts end")
	}
}

// TestTerms: what is different from the plain game is another game, and is what it
// says.
func TestTerms(t *testing.T) {
	ctx := context.Background()
	table, err := tables.Load("mm_cpu-square")
	if err != nil {
		t.Fatal(err)
	}
	o := settings{budget: 9}
	plain, err := o.key(table, "uniform")
	if err != nil {
		t.Fatal(err)
	}
	o.terms = terms{Batch: 4, Noise: 0.5, Earlier: true}
	k, err := o.key(table, "uniform")
	if err != nil || k == plain {
		t.Fatalf("%v is the key of both games: %v", k, err)
	}
	peer, err := o.key(table, "pyatf")
	if err != nil || peer.terms != (terms{}) {
		t.Errorf("the peers play %+v: %v", peer.terms, err)
	}
	var told []bayes.Known
	outcomes, err := search(ctx, table, bayes.Options{Method: bayes.Uniform, NoDefault: true}, k, &told)
	if err != nil || len(outcomes) != 9 || len(told) != 9 {
		t.Fatalf("%d outcomes, %d told: %v", len(outcomes), len(told), err)
	}
	levels := map[string]bool{}
	for i, v := range outcomes {
		said := told[i].Outcome
		if v == nil {
			if said.Deviation != 0 {
				t.Errorf("the failure %+v has a deviation", said)
			}
			continue
		}
		if *v != table.Outcome(told[i].Config).Value || said.Value == *v {
			t.Errorf("%v: told %v of %v, kept %v", told[i].Config, said.Value, table.Outcome(told[i].Config).Value, *v)
		}
		levels[fmt.Sprintf("%.3f", said.Deviation/said.Value)] = true
	}
	if len(levels) != 2 || !levels["0.500"] || !levels["0.100"] {
		t.Errorf("relative deviations %v, not 0.5 and 0.1", levels)
	}
	before, err := earlier(ctx, table, 5, 1)
	if err != nil || len(before) != 1 || len(before[0]) != 5 {
		t.Fatalf("earlier searches %v: %v", before, err)
	}
	other, err := tables.Load("mm_cpu-tall")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range before[0] {
		if want := other.Outcome(k.Config); k.Outcome.Value != want.Value {
			t.Errorf("%v is %v, not %v as on the next input", k.Config, k.Outcome, want)
		}
	}
}

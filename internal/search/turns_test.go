package search

import (
	"errors"
	"sync"
	"testing"
)

// Trees take turns by what they have spent at the root, whoever asks, until each has
// had its part.
func TestTurns(t *testing.T) {
	var trees []*tree
	for i := range 4 {
		// They come from earlier roots with more or less behind them, which counts for
		// nothing.
		trees = append(trees, &tree{index: i, root: &vertex{}, spent: int64(100 * i), begun: int64(100 * i), evals: int64(100*i + 12), rounds: 1000})
	}
	trees[1].root.closed = true
	q := newTurns(trees)
	for range 9 { // of three trees, 4 evaluations a turn
		next := q.take()
		for _, o := range trees {
			if !o.done() && o.spent-o.begun < next.spent-next.begun {
				t.Fatalf("tree %d goes on after %d, tree %d waits after %d", next.index, next.spent-next.begun, o.index, o.spent-o.begun)
			}
		}
		next.spent += 4
		q.give(next, nil)
	}
	if next := q.take(); next != nil || trees[1].spent != trees[1].begun {
		t.Errorf("a turn after the last one, or one of a tree with nothing to search")
	}
}

// A worker waits for a tree that another one has, and no longer than that.
func TestTurnsWait(t *testing.T) {
	only := &tree{root: &vertex{}, evals: 100, rounds: 1000}
	q := newTurns([]*tree{only})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for x := q.take(); x != nil; x = q.take() {
				x.spent += 10
				q.give(x, nil)
			}
		})
	}
	wg.Wait()
	if only.spent != 100 {
		t.Errorf("%d of 100 spent", only.spent)
	}
	only.evals = 200
	q = newTurns([]*tree{only})
	q.give(q.take(), errors.New("broken"))
	if q.take() != nil {
		t.Error("a turn after an error")
	}
}

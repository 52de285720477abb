package search

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// Trees take turns by what they have spent at the root, whoever asks, until each has
// had its part.
func TestTurns(t *testing.T) {
	var trees []*tree
	for i := range 4 {
		// They come from earlier roots with more or less behind them, which counts for
		// nothing.
		trees = append(trees, &tree{index: i, root: &vertex{}, spent: int64(100 * i), begun: int64(100 * i), evals: int64(100*i + 12)})
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
	only := &tree{root: &vertex{}, evals: 100}
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
	// Nor is there one for a tree that another worker brings back afterwards.
	other := &tree{root: &vertex{}, evals: 100}
	q = newTurns([]*tree{only, other})
	mine, its := q.take(), q.take()
	q.give(mine, errors.New("broken"))
	q.give(its, nil)
	if q.take() != nil {
		t.Error("a turn of a tree that came back after an error")
	}
}

// After an error nothing more is begun, and the error is that of the first that failed.
func TestEachOfEndsWithAnError(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		var begun atomic.Int64
		errs := make([]error, 50)
		for i := range errs {
			errs[i] = fmt.Errorf("%d failed", i)
		}
		err := eachOf(len(errs), workers, func(i int) error {
			begun.Add(1)
			return errs[i]
		})
		if err != errs[0] || begun.Load() > int64(workers) {
			t.Errorf("%d workers: %v, after %d begun", workers, err, begun.Load())
		}
		begun.Store(0)
		if err := eachOf(len(errs), workers, func(int) error { begun.Add(1); return nil }); err != nil || begun.Load() != 50 {
			t.Errorf("%d workers: %v, %d begun of 50", workers, err, begun.Load())
		}
	}
}
